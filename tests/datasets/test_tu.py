"""TU datasets against PyG's own reader; broken files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import TUDataset

import neuraltrees as nt
from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.datasets.tu import tu

# Graphs, categories of nodes, of edges.
SETS = {
    "MUTAG": (188, (7,), (4,)),
    "PROTEINS": (1113, (3,), None),
    "NCI1": (4110, (37,), None),
    "IMDB-BINARY": (1000, (136,), None),
    "MSRC_9": (221, (10,), None),
}


@pytest.mark.parametrize("name", SETS)
def test_as_pyg_reads_it(name: str, data_root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(data_root / "tu" / name / "raw", tmp_path / name / "raw")
    task = load_task(DataSpec(dataset=f"tu:{name}", data_root=str(data_root)))
    graphs, nodes, edges = SETS[name]
    assert len(task.graphs) == graphs
    assert task.features == nt.Categories(nodes)
    assert task.edge_features == (None if edges is None else nt.Categories(edges))
    for mine, other in zip(task.graphs, TUDataset(str(tmp_path), name), strict=True):
        assert torch.equal(mine.edge_index, other.edge_index)
        assert torch.equal(mine.y, other.y)
        if other.x is None:
            assert torch.equal(mine.x[:, 0], mine.edge_index[0].bincount(minlength=other.num_nodes))
        else:
            assert torch.equal(mine.x[:, 0], other.x[:, -nodes[0] :].argmax(1))
        if edges is not None:
            assert torch.equal(mine.edge_attr[:, 0], other.edge_attr.argmax(1))


def test_ten_folds_by_the_seed(data_root: Path) -> None:
    task = load_task(DataSpec(dataset="tu:MUTAG", data_root=str(data_root)))
    splits = [task.split(seed) for seed in range(10)]
    assert torch.stack([split.test for split in splits]).sum(0).tolist() == [1] * 188
    assert task.objective.metric.name == "accuracy"
    for split in splits:
        task.check_split(split, every_class=True)


def write(folder: Path, **files: str) -> Path:
    """Two graphs: an edge with a self-loop, and a triangle of which a side is written twice and one way only."""
    content = {
        "A": "1, 2\n2, 1\n1, 1\n3, 4\n4, 5\n5, 3\n3, 4\n",
        "graph_indicator": "1\n1\n2\n2\n2\n",
        "graph_labels": "-1\n1\n",
        "node_attributes": "0.5, 1\n1, 1\n2, 1\n3, 1\n4, 1\n",
    } | files
    raw = folder / "tu" / "TINY" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for name, text in content.items():
        (raw / f"TINY_{name}.txt").write_text(text)
    return raw


def test_self_loops_single_directions_and_attributes(tmp_path: Path) -> None:
    write(tmp_path)
    found = tu("TINY", tmp_path)
    pair, triangle = found.packed.graphs()
    assert pair.edge_index.tolist() == [[0, 1], [1, 0]]
    assert triangle.edge_index.tolist() == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    assert (found.labels, found.features, found.edge_features) == (("-1", "1"), 2, None)
    assert triangle.x.tolist() == [[2, 1], [3, 1], [4, 1]]


BROKEN = {
    "an edge outside": ({"A": "1, 9\n"}, "edges between the nodes 1 to 5; got one at node 9"),
    "an edge between graphs": ({"A": "2, 3\n"}, "edges within graphs; got one between two"),
    "too few labels": ({"graph_labels": "1\n"}, "the nodes of 1 graphs, one graph after another"),
    "cut short": ({"A": "1, 2\n2,"}, "A.txt to be a table of numbers; got: .*get it again"),
    "rows": ({"node_labels": "1\n2\n"}, "5 rows in TINY_node_labels.txt; got 2"),
}


@pytest.mark.parametrize(("files", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_files(files: dict[str, str], message: str, tmp_path: Path) -> None:
    write(tmp_path, **files)
    with pytest.raises(nt.InputError, match=message):
        tu("TINY", tmp_path)


def test_missing_files_and_names(tmp_path: Path) -> None:
    raw = write(tmp_path)
    with pytest.raises(nt.InputError, match=r"TU dataset MUTAG under the data root .* There are tu:TINY\."):
        load_task(DataSpec(dataset="tu:MUTAG", data_root=str(tmp_path)))
    with pytest.raises(nt.InputError, match=r"such as tu:MUTAG; got 'tu:\.\./x'"):
        tu("../x", tmp_path)
    with pytest.raises(nt.InputError, match=r"Expected dataset out of .*, tu:NAME, .*; got 'tu'"):
        load_task(DataSpec(dataset="tu", data_root=str(tmp_path)))
    (raw / "TINY_A.txt").unlink()
    with pytest.raises(nt.InputError, match=r"Expected the file .*TINY_A.txt, beside the others"):
        tu("TINY", tmp_path)
