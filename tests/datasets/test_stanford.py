"""The scene graphs of the paper, and files that only look like them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

import neuraltrees as nt
from neuraltrees.data import ToHTree, attach_htrees
from neuraltrees.datasets import StanfordSceneGraphs, random_node_split
from neuraltrees.datasets.stanford import OBJECT_LABELS, ROOM_LABELS, read_scene_graphs


def small_file() -> Any:
    """What a file with one room and two objects holds."""
    columns = {
        "x_list": [np.arange(18, dtype=np.float32).reshape(3, 6)],
        "y_list": [np.array([14, 0, 34])],
        "edge_index_list": [np.array([[1, 2, 1, 2], [0, 0, 2, 1]])],
        "room_mask_list": [np.array([True, False, False])],
        "object_mask_list": [np.array([False, True, True])],
    }
    names = {kind: {label: i for i, label in enumerate(labels)} for kind, labels in StanfordSceneGraphs.labels.items()}
    return columns, names, (15, 35)


def write(path: Path, content: Any) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


def test_a_small_file(tmp_path: Path) -> None:
    (data,) = read_scene_graphs(write(tmp_path / "small.pkl", small_file()))
    assert data.x.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 16, 17]]
    assert data.x.dtype == torch.float32
    assert data.y.tolist() == [14, 0, 34]
    assert data.node_type.tolist() == [0, 1, 1]
    assert data.edge_index.tolist() == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]


def test_stored_edges_are_one_way_between_objects_and_rooms(tmp_path: Path) -> None:
    (data,) = read_scene_graphs(write(tmp_path / "small.pkl", small_file()), edges="stored")
    assert data.edge_index.tolist() == [[1, 2, 1, 2], [0, 0, 2, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["x_list"][0].__setitem__((1, 2), np.nan), "Expected finite features; got .*nan.* at node 1"),
        (lambda c: c["x_list"][0].__setitem__((2, 0), np.inf), "Expected finite features; got .*inf.* at node 2"),
        (lambda c: c["y_list"][0].__setitem__(0, 15), "Expected room labels between 0 and 14; got 15 at node 0"),
        (lambda c: c["y_list"][0].__setitem__(2, 35), "Expected object labels between 0 and 34; got 35 at node 2"),
        (lambda c: c["y_list"][0].__setitem__(1, -1), "Expected object labels between 0 and 34; got -1 at node 1"),
        (lambda c: c["room_mask_list"][0].__setitem__(1, True), "node 1 is both or neither"),
        (lambda c: c["edge_index_list"][0].__setitem__((0, 0), 3), "3"),
        (
            lambda c: c["x_list"].__setitem__(0, np.zeros((3, 5))),
            r"Expected x as floating of shape \(3, 6\); got float64",
        ),
        (lambda c: c["y_list"].__setitem__(0, np.zeros(3)), r"Expected y as integer of shape \(3,\); got float64"),
        (lambda c: c["y_list"].__setitem__(0, [0, 0, 0]), r"Expected y as integer of shape \(3,\); got list"),
        (lambda c: c["x_list"].__setitem__(0, np.array(None)), "Expected x as floating"),
    ],
)
def test_wrong_graphs(tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    content = small_file()
    change(content[0])
    with pytest.raises(nt.InputError, match=rf"small.pkl, graph 0: .*{message}"):
        read_scene_graphs(write(tmp_path / "small.pkl", content))


def test_wrong_files(tmp_path: Path) -> None:
    columns, names, counts = small_file()
    for content in ([], 7, (columns, names), (columns, None, counts), ({"x_list": []}, names, counts)):
        with pytest.raises(nt.InputError, match="with equally long lists; got something else"):
            read_scene_graphs(write(tmp_path / "wrong.pkl", content))
    with pytest.raises(nt.InputError, match="to name the 15 room and 35 object labels"):
        read_scene_graphs(write(tmp_path / "wrong.pkl", (columns, {"room": {"attic": 0}, "object": {}}, counts)))
    columns["y_list"].append(columns["y_list"][0])
    with pytest.raises(nt.InputError, match="with equally long lists; got something else"):
        read_scene_graphs(write(tmp_path / "wrong.pkl", (columns, names, counts)))
    with pytest.raises(nt.InputError, match="Expected edges out of symmetric, stored; got 'both'"):
        read_scene_graphs(tmp_path / "wrong.pkl", edges="both")  # type: ignore[arg-type]


def test_a_file_with_other_counts_is_not_the_dataset(tmp_path: Path) -> None:
    (tmp_path / "stanford3dsg").mkdir()
    write(tmp_path / "stanford3dsg" / "Stanford3DSG.pkl", small_file())
    with pytest.raises(
        nt.InputError,
        match="482 graphs, 2,820 nodes, 5,402 undirected edges; got 1 graphs, 3 nodes, 3 undirected edges",
    ):
        StanfordSceneGraphs(tmp_path)


def test_a_file_that_runs_code(tmp_path: Path) -> None:
    (tmp_path / "stanford3dsg").mkdir()
    evil = f"cbuiltins\nopen\n(V{tmp_path / 'trace'}\nVw\ntR."
    (tmp_path / "stanford3dsg" / "Stanford3DSG.pkl").write_text(evil)
    with pytest.raises(nt.InputError, match=r"it imports builtins.open, .* Nothing in it was run"):
        StanfordSceneGraphs(tmp_path)
    assert not (tmp_path / "trace").exists()


def test_labels() -> None:
    assert (ROOM_LABELS[0], ROOM_LABELS[14], OBJECT_LABELS[0], OBJECT_LABELS[34]) == (
        "bathroom",
        "garage",
        "bottle",
        "bicycle",
    )
    assert StanfordSceneGraphs.classes == {"room": 15, "object": 35}


@pytest.mark.parametrize(("edges", "directed"), [("symmetric", 10_804), ("stored", 8_466)])
def test_the_dataset(data_root: Path, edges: Any, directed: int) -> None:
    dataset = StanfordSceneGraphs(data_root, edges=edges)
    assert repr(dataset) == f"StanfordSceneGraphs(482, edges='{edges}')"
    assert dataset.num_features == 6
    batch = Batch.from_data_list(list(dataset))
    assert batch.x.shape == (2820, 6)
    assert batch.x.dtype == torch.float32
    assert batch.edge_index.size(1) == directed
    assert nt.Graph.from_data(batch).num_edges == 5402
    assert batch.node_type.bincount().tolist() == [482, 2338]
    assert all(data.node_type[0] == 0 for data in dataset)
    assert int(batch.y[batch.node_type == 0].max()) == 14
    assert int(batch.y[batch.node_type == 1].max()) == 34
    assert batch.is_undirected() == (edges == "symmetric")


def test_the_first_scene(data_root: Path) -> None:
    scene = StanfordSceneGraphs(data_root)[0]
    assert [StanfordSceneGraphs.labels["room"][scene.y[0]]] == ["bathroom"]
    assert [StanfordSceneGraphs.labels["object"][y] for y in scene.y[1:]] == ["bottle", "bottle", "toilet", "sink"]


def test_as_pyg_uses_it(data_root: Path) -> None:
    dataset = StanfordSceneGraphs(data_root, transform=ToHTree())
    assert dataset[3].htree.num_graph_nodes == dataset[3].num_nodes
    assert len(dataset[:10].shuffle()) == 10
    forest = nt.build_htree(nt.Graph.union(nt.Graph.from_data(data) for data in dataset))
    loader = DataLoader(attach_htrees(StanfordSceneGraphs(data_root)), batch_size=100)
    assert sum(batch.htree.num_nodes for batch in loader) == forest.num_nodes


def test_splits_over_all_nodes(data_root: Path) -> None:
    dataset = StanfordSceneGraphs(data_root)
    split = random_node_split(2820, seed=3)
    assert split.counts == (1974, 282, 564)
    parts = split.per_graph([data.num_nodes for data in dataset])
    assert [len(part.train) for part in parts] == [data.num_nodes for data in dataset]
    assert torch.cat([part.test for part in parts]).equal(split.test)


def test_nothing_is_written_into_the_data_root(data_root: Path, tmp_path: Path) -> None:
    (tmp_path / "stanford3dsg").mkdir()
    file = tmp_path / "stanford3dsg" / "Stanford3DSG.pkl"
    file.write_bytes((data_root / "stanford3dsg" / "Stanford3DSG.pkl").read_bytes())
    StanfordSceneGraphs(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
