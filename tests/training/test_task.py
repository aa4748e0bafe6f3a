"""What a task refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.training import NetworkSpec, Task, TrainingSpec
from tests.training.tasks import paths, small_task

LABELS = {"first": ("no", "yes"), "other": ("none", "one", "both")}


def broken(**changes: Any) -> list[Data]:
    graphs = paths(3)
    for name, value in changes.items():
        graphs[1][name] = value
    return graphs


def nan_at(node: int) -> torch.Tensor:
    x = paths(3)[1].x.clone()
    x[node, 0] = float("nan")
    return x


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": nan_at(2)}, r"Graph 1: Expected finite features; got NaN or infinity at node 2"),
        ({"x": torch.ones(4, 3)}, "Graph 1: Expected 5 features a node; got 3"),
        ({"x": torch.ones(4, 5).long()}, "Graph 1: Expected features x as floats"),
        ({"y": torch.tensor([0, 1, 3, 0])}, "Graph 1: Expected other labels between 0 and 2; got 3 at node 2"),
        ({"y": torch.tensor([2, 1, 1, 0])}, "Graph 1: Expected first labels between 0 and 1; got 2 at node 0"),
        ({"y": torch.tensor([0, -1, 1, 0])}, "Graph 1: Expected other labels between 0 and 2; got -1 at node 1"),
        (
            {"y": torch.tensor([0.0, 1, 1, 0])},
            r"Graph 1: Expected labels y as integers of shape \(4,\); got torch.float32",
        ),
        ({"node_type": torch.tensor([0, 1, 1, 2])}, "Graph 1: Expected a node_type for each of 4 nodes, below 2"),
        (
            {"edge_index": torch.tensor([[0], [4]])},
            "Graph 1: Expected edges between the nodes 0 to 3; got one at",
        ),
        ({"edge_index": torch.tensor([0, 1])}, r"Graph 1: Expected edge_index as int64 of shape \(2, E\)"),
    ],
)
def test_bad_graphs(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        Task(broken(**changes), LABELS)


def test_the_tree_of_another_graph() -> None:
    other = nt.ToHTree()(paths(2)[1])
    mixed = nt.ToHTree()(paths(1)[0])
    for name in other.keys():  # noqa: SIM118  the attributes of PyG's data are not those of a dict
        if name.startswith("tree_"):
            mixed[name] = other[name]
    with pytest.raises(nt.InputError, match="Graph 0: Expected an H-tree of this graph of 3 nodes"):
        Task([mixed], LABELS)


def test_nothing_to_learn_from() -> None:
    with pytest.raises(nt.InputError, match="Expected at least one graph; got none"):
        Task([], LABELS)
    with pytest.raises(nt.InputError, match="Expected label names for at least one node type"):
        Task(paths(1), {})


def test_trees_are_built_once() -> None:
    task = small_task().with_trees()
    assert task.with_trees() is task
    assert [graph.htree.num_graph_nodes for graph in task.graphs[:3]] == [3, 4, 5]


def test_fingerprints_tell_tasks_apart() -> None:
    graphs = paths(3)
    same = Task(paths(3), LABELS).fingerprint()
    assert Task(graphs, LABELS).fingerprint() == same
    graphs[2].y = graphs[2].y.clone()
    graphs[2].y[0] = 1 - graphs[2].y[0]
    assert Task(graphs, LABELS).fingerprint() != same


def test_specs_refuse_what_they_do_not_know() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'hiden'"):
        NetworkSpec(hiden=3)
    with pytest.raises(nt.InputError, match="Expected layers to be at least 1; got 0"):
        NetworkSpec(layers=0)
    with pytest.raises(nt.InputError, match=r"Expected dropout to be below 1; got 1.0"):
        NetworkSpec(dropout=1.0)
    with pytest.raises(nt.InputError, match="Expected lr to be above 0; got -1"):
        TrainingSpec(lr=-1)
    with pytest.raises(nt.InputError, match="Expected lr to be a number; got nan"):
        TrainingSpec(lr=float("nan"))
    with pytest.raises(nt.InputError, match="Expected hidden to be an integer; got True"):
        NetworkSpec(hidden=True)
    with pytest.raises(nt.InputError, match="Expected readout to be true or false; got 1"):
        NetworkSpec(readout=1)
    assert TrainingSpec(patience=None, lr=1).replace(lr=2).lr == 2
