"""Training on one's own graph from files: a list of edges and a table of nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import neuraltrees as nt
from neuraltrees.cli import main
from neuraltrees.datasets import DataSpec

COUNT = 40


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A ring of people; the role of each is told by the sign of a feature, and two have none."""
    edges, nodes = tmp_path / "friends.csv", tmp_path / "people.csv"
    edges.write_text("source,target\n" + "".join(f"p{v},p{(v + 1) % COUNT}\n" for v in range(COUNT)))
    side = [v // 10 % 2 for v in range(COUNT)]
    role = [["chef", "cook"][side[v]] if v > 1 else "" for v in range(COUNT)]
    rows = [f"p{v},{(-1) ** side[v] * (1 + v % 5)},{v % 3},{role[v]}" for v in range(COUNT)]
    parts = ["test" if v % 5 == 3 else "val" if v % 5 == 1 else "train" for v in range(COUNT)]
    lines = ["id,skill,age,role,part", *(f"{row},{part}" for row, part in zip(rows, parts, strict=True)), "alone,9,9,,"]
    nodes.write_text("\n".join(lines) + "\n")
    return edges, nodes


def spec(files: tuple[Path, Path], **changes: object) -> DataSpec:
    edges, nodes = files
    values = {"dataset": str(edges), "nodes": str(nodes), "label": "role", "ignore": "part"} | changes
    return DataSpec(**values)  # type: ignore[arg-type]


def test_nodes_features_labels_and_edges(files: tuple[Path, Path]) -> None:
    task = nt.load_task(spec(files))
    (graph,) = task.graphs
    assert task.labels == {"node": ("chef", "cook")}
    assert graph.x.tolist()[:3] == [[1, 0], [2, 1], [3, 2]]
    assert graph.y.tolist()[:5] == [-1, -1, 0, 0, 0]
    assert graph.num_nodes == COUNT + 1  # a node of the table alone has no edges
    assert graph.edge_index.shape[1] == 2 * COUNT
    assert {tuple(pair) for pair in graph.edge_index.t().tolist()} >= {(0, 1), (1, 0), (COUNT - 1, 0)}


def test_splits_are_by_seed_or_by_column(files: tuple[Path, Path]) -> None:
    task = nt.load_task(spec(files))
    assert task.split(3) == nt.load_task(spec(files)).split(3) != task.split(4)
    assert sum(task.split(3).counts) == COUNT - 2  # those without a label are in no part
    assert nt.load_task(spec(files, train_share=0.3)).split(3).counts[0] < task.split(3).counts[0]
    stored = nt.load_task(spec(files, ignore=None, split_column="part")).split(7)
    assert stored.test.nonzero().flatten().tolist() == list(range(3, COUNT, 5))


def test_graphml_has_its_own_attributes(tmp_path: Path) -> None:
    import networkx as nx

    graph = nx.cycle_graph(12)
    for v in graph:
        graph.nodes[v].update(size=float(v), kind=["even", "odd"][v % 2])
    nx.write_graphml(graph, tmp_path / "ring.graphml")
    task = nt.load_task(DataSpec(dataset=str(tmp_path / "ring.graphml"), label="kind"))
    assert task.graphs[0].x.flatten().tolist() == [float(v) for v in range(12)]
    assert task.graphs[0].y.tolist() == [0, 1] * 6


BAD: dict[str, tuple[dict[str, object], str]] = {
    "no table": ({"nodes": None}, "Expected the features of the nodes of .*friends.csv; got none"),
    "label": ({"label": "job"}, "expected a column 'job' with the labels .*; got the columns skill, age, role, part"),
    "text": ({"ignore": None}, "people.csv: line 2: expected a number in column 'part'; got 'train'"),
    "ignored": ({"ignore": "part,colour"}, "expected a column 'colour' with values to ignore"),
    "split": ({"split_column": "age"}, "line 2: expected train, val, test or nothing in 'age'; got '0'"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_named(changes: dict[str, object], message: str, files: tuple[Path, Path]) -> None:
    with pytest.raises(nt.InputError, match=message):
        nt.load_task(spec(files, **changes))


def test_an_edge_of_somebody_else(files: tuple[Path, Path]) -> None:
    edges, _ = files
    edges.write_text(edges.read_text() + "p1,zoe\n")
    with pytest.raises(nt.InputError, match=r"nodes of .*people.csv; got 'zoe' in .*friends.csv"):
        nt.load_task(spec(files))


def test_train_and_predict_from_files(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges, nodes = files
    out = tmp_path / "run"
    train = ["train", "--dataset", edges, "--nodes", nodes, "--label", "role", "--split-column", "part"]
    train += ["--epochs", 60, "--hidden", 8, "--layers", 2, "--lr", 0.05, "--out", out, "--json"]
    assert _run(train) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["runs"][0]["test"] > 0.9  # the sign of a feature tells the label
    predict = ["predict", out / "model.safetensors", edges, "--nodes", nodes, "--json"]
    assert _run(predict) == 0
    (found,) = json.loads(capsys.readouterr().out)["graphs"]
    rows = [line.split(",") for line in nodes.read_text().splitlines()]
    nodes.write_text(
        "".join(f"{name},{age},note,{skill}\n" for name, skill, age, _, _ in rows).replace("note", "-1", 1)
    )
    assert _run(predict) == 0
    assert json.loads(capsys.readouterr().out)["graphs"] == [found], "features are found by the names of their columns"
    nodes.write_text(nodes.read_text().replace("skill", "skills"))
    assert _run(predict) == 2
    assert "expected a column 'skill' with a feature that the network was trained on" in capsys.readouterr().err
    assert [each["name"] for each in found["nodes"]][-2:] == [f"p{COUNT - 1}", "alone"]
    assert torch.tensor([each["label"] in ("chef", "cook") for each in found["nodes"]]).all()


def _run(arguments: list[object]) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in arguments])
    return int(end.value.code or 0)


def test_labels_that_only_look_like_numbers(files: tuple[Path, Path]) -> None:
    _, nodes = files
    nodes.write_text(nodes.read_text().replace("chef", "--5").replace("cook", "7"))
    assert nt.load_task(spec(files)).labels == {"node": ("--5", "7")}
