"""What a task refuses, and how it says so."""

from __future__ import annotations

from typing import Any, get_args

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.datasets import Split
from neuraltrees.decomposition.sampling import Sampler
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit
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
        ({"x": torch.ones(4, 3)}, "Graph 1: Expected 5 features per node; got 3"),
        ({"x": torch.ones(4, 5).long()}, "Graph 1: Expected features x as floats"),
        ({"y": torch.tensor([0, 1, 3, 0])}, "Graph 1: Expected other labels between 0 and 2, or -1 for none; got 3 at"),
        ({"y": torch.tensor([2, 1, 1, 0])}, "Graph 1: Expected first labels between 0 and 1, or -1 for none; got 2 at"),
        ({"y": torch.tensor([0, -2, 1, 0])}, "Graph 1: Expected other labels between 0 and 2, or -1 for none; got -2"),
        (
            {"y": torch.tensor([0.0, 1, 1, 0])},
            r"Graph 1: Expected labels y as integers of shape \(4,\); got torch.float32",
        ),
        ({"node_type": torch.tensor([0, 1, 1, 2])}, "Graph 1: Expected a node_type for each of 4 nodes, below 2"),
        (
            {"edge_index": torch.tensor([[0], [4]])},
            "Graph 1: Expected edges between the nodes 0 to 3; got one at",
        ),
        ({"node_type": torch.tensor([0.0, 1, 1, 1])}, r"Graph 1: Expected node_type as integers; got torch.float32"),
        ({"node_type": None}, "Graph 1: Expected node_type, since there are the types first, other; got none"),
        ({"x": torch.ones(4, 0)}, "Graph 1: Expected at least one feature per node; got none"),
        ({"x": torch.full((4, 5), 1e300, dtype=torch.float64)}, "Graph 1: Expected finite features"),
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


def test_a_class_without_a_training_node() -> None:
    task = small_task()
    rare = task.y == 2
    nodes = torch.arange(task.num_nodes)
    split = Split(~rare & (nodes % 3 == 0), ~rare & (nodes % 3 == 1), rare | (nodes % 3 == 2))
    task.check_split(split)
    with pytest.raises(nt.InputError, match="Expected a training node of every other label; got none of both"):
        task.check_split(split, every_class=True)
    with pytest.raises(nt.InputError, match="Expected a training node of every other label; got none of both"):
        fit(task, NetworkSpec(hidden=4), TrainingSpec(epochs=1), [Run(0, split)])


def test_unlabelled_nodes_are_masked() -> None:
    graphs = paths(12)
    graphs[0].y = torch.full_like(graphs[0].y, -1)
    task = Task(graphs, LABELS)
    nodes = torch.arange(task.num_nodes)
    known = nodes >= graphs[0].num_nodes
    split = Split(known & (nodes % 2 == 0), known & (nodes % 4 == 1), known & (nodes % 4 == 3))
    fitted = fit(task, NetworkSpec(hidden=4), TrainingSpec(epochs=2, every_class=False), [Run(0, split)])
    assert fitted.loss_curve.isfinite().all()
    masked = fit(
        task,
        NetworkSpec(hidden=4),
        TrainingSpec(epochs=2, every_class=False),
        [Run(0, Split(nodes % 2 == 0, nodes % 4 == 1, nodes % 4 == 3))],
    )
    assert torch.equal(masked.loss_curve, fitted.loss_curve) and torch.equal(masked.test, fitted.test)
    with pytest.raises(nt.InputError, match="Expected at least one validation node with a label; all 3 have none"):
        task.check_split(Split(split.train, ~known, split.test))


def test_not_a_list_of_graphs() -> None:
    with pytest.raises(
        nt.InputError, match=r"Expected a list of graphs; got Data. Put a single one in brackets: \[graph\]"
    ):
        Task(paths(1)[0], LABELS)
    with pytest.raises(nt.InputError, match=r"Expected a graph as torch_geometric.data.Data; got Graph"):
        Task([nt.Graph([[0], [1]])], LABELS)
    with pytest.raises(nt.InputError, match="Expected labels as a mapping of node types to names"):
        Task(paths(1), "labels")
    with pytest.raises(nt.InputError, match="Expected max_treewidth"):
        Task(paths(1), LABELS, max_treewidth=0)


def test_the_sampler_of_a_task_bounds_its_trees() -> None:
    wheel = nt.Graph.from_networkx(nx.wheel_graph(9))
    graph = Data(x=torch.ones(9, 1), y=torch.zeros(9, dtype=torch.int64), edge_index=torch.as_tensor(wheel.edge_index))
    for sampler in get_args(Sampler):
        task = Task([graph], ("no", "yes"), max_treewidth=2, sampler=sampler)
        assert task.with_trees().graphs[0].htree == nt.attach_htree(graph, 2, sampler=sampler).htree
    with pytest.raises(nt.InputError, match="Expected sampler out of elimination, paper; got 'any'"):
        Task([graph], ("no", "yes"), sampler="any")  # type: ignore[arg-type]


def test_graphs_keep_the_trees_they_came_with() -> None:
    wheel = Data(
        x=torch.ones(6, 5),
        y=torch.zeros(6, dtype=torch.int64),
        node_type=torch.zeros(6, dtype=torch.int64),
        edge_index=torch.tensor([[0, 0, 0, 0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 2, 3, 4, 5, 1]]),
    )
    task = Task([nt.ToHTree(max_treewidth=1)(wheel), wheel], LABELS).with_trees()
    assert [graph.htree.treewidth for graph in task.graphs] == [1, 3]


def test_nothing_to_learn_from() -> None:
    with pytest.raises(nt.InputError, match="Expected at least one graph; got none"):
        Task([], LABELS)
    with pytest.raises(nt.InputError, match="Expected label names for at least one node type"):
        Task(paths(1), {})


def test_trees_are_built_once() -> None:
    task = small_task().with_trees()
    assert task.with_trees() is task
    assert [graph.htree.num_graph_nodes for graph in task.graphs[:3]] == [3, 4, 5]


def test_graphs_are_checked_again_only_if_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(paths(3), LABELS)
    checked: list[Data] = []
    monkeypatch.setattr(Task, "check_graph", lambda self, graph: checked.append(graph))
    changed = task.replace(seed=3, max_treewidth=2, method="canonical", terminal="bag")
    assert (changed.seed, changed.max_treewidth, changed.method, task.seed) == (3, 2, "canonical", 0)
    assert not checked and changed.graphs == task.graphs
    assert task.replace(graphs=paths(2), seed=3).seed == 3 and len(checked) == 2
    monkeypatch.undo()
    with pytest.raises(nt.InputError, match="Graph 1: Expected 5 features per node; got 3"):
        task.replace(graphs=broken(x=torch.ones(4, 3)))
    for wrong in ({"seed": -1}, {"max_treewidth": 0}, {"method": "any"}, {"terminal": "any"}, {"sampler": "any"}):
        with pytest.raises(nt.InputError, match=f"Expected .*{next(iter(wrong))}"):
            task.replace(**wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'"):
        task.replace(sed=1)


def test_fingerprints_tell_tasks_apart() -> None:
    graphs = paths(3)
    same = Task(paths(3), LABELS).fingerprint()
    assert Task(graphs, LABELS).fingerprint() == same
    graphs[2].y = graphs[2].y.clone()
    graphs[2].y[0] = 1 - graphs[2].y[0]
    assert Task(graphs, LABELS).fingerprint() != same


def test_trees_that_a_graph_came_with_count() -> None:
    graph = paths(3)[0]
    trees = [Task([nt.ToHTree(max_treewidth=k)(graph)], LABELS).fingerprint() for k in (1, None)]
    assert len({*trees, Task([graph], LABELS).fingerprint()}) == 3


def test_small_integers_are_integers() -> None:
    graph = paths(1)[0]
    graph.y, graph.node_type = graph.y.to(torch.uint8), graph.node_type.to(torch.int8)
    assert Task([graph], LABELS).y.tolist() == paths(1)[0].y.tolist()


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
    with pytest.raises(nt.InputError, match="Expected lr to be a number; got inf"):
        TrainingSpec(lr=float("inf"))
    with pytest.raises(nt.InputError, match="Expected hidden to be an integer; got True"):
        NetworkSpec(hidden=True)
    with pytest.raises(nt.InputError, match="Expected readout to be true or false; got 1"):
        NetworkSpec(readout=1)
    assert TrainingSpec(patience=None, lr=1).replace(lr=2).lr == 2


def test_integers_as_categories_with_numbers_beside_them() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(x=torch.tensor([[i, 7, 8], [0, 9, 9]]), edge_index=edges, y=torch.tensor([i])) for i in range(2)]
    objective = nt.Classification(("a", "b"), level="graph")
    assert Task(graphs, objective, features=nt.Categories((2,), numbers=2)).num_items == 2
    with pytest.raises(nt.InputError, match="integers between 0 and 0 in column 0; got 1"):
        Task(graphs, objective, features=nt.Categories((1,), numbers=2))
