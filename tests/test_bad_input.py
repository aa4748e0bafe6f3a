"""What a new user gets wrong: every mistake is an `InputError` that says what was expected, or is simply understood."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GATConv, GCNConv, SuperGATConv

import neuraltrees as nt

RING = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
GRAPH = nt.Graph(RING)
TREE = nt.build_htree(GRAPH)
DECOMPOSITION = nt.decompose(GRAPH)


def ring(**changes: Any) -> Data:
    values: dict[str, Any] = {"x": torch.eye(4)[:, :3], "y": torch.tensor([0, 1, 0, 1]), "edge_index": RING}
    return Data(**(values | changes))


def hetero() -> HeteroData:
    data = HeteroData()
    data["a"].x = torch.zeros(3, 2)
    data["a", "to", "a"].edge_index = torch.tensor([[0], [1]])
    return data


def task(**changes: Any) -> nt.Task:
    return nt.Task([ring(**changes) for _ in range(10)], ("a", "b"))


def network(**changes: Any) -> nt.NetworkSpec:
    return nt.NetworkSpec(hidden=4, layers=2, **changes)


def model(**changes: Any) -> nt.NeuralTree:
    return nt.NeuralTree(3, 8, 2, 2, **changes)


def markov() -> nt.MarkovNetwork:
    return nt.MarkovNetwork([2, 2], [(0, 1)], [torch.zeros(2, 2)])


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    # Graphs
    "decompose: nothing": (lambda: nt.decompose(None), "Expected a Graph, a NetworkX graph, .*; got NoneType"),
    "decompose: a path": (lambda: nt.decompose("a.gr"), "got str. Read a file first: read_graph"),
    "decompose: flat": (lambda: nt.decompose([1, 2]), "of shape .2, m."),
    "decompose: HeteroData": (lambda: nt.decompose(hetero()), "got HeteroData. Use data.to_homogeneous"),
    "from_data: HeteroData": (lambda: nt.Graph.from_data(hetero()), "got HeteroData. Use data.to_homogeneous"),
    "from_data: nothing": (
        lambda: nt.Graph.from_data(None),
        "Expected a graph as torch_geometric.data.Data; got NoneType",
    ),
    "from_networkx: list": (lambda: nt.Graph.from_networkx([1]), "Expected a NetworkX graph; got list"),
    "from_scipy: list": (lambda: nt.Graph.from_scipy([[0, 1], [1, 0]]), "sparse matrix; got list"),
    "from_scipy: array": (lambda: nt.Graph.from_scipy(np.eye(2)), "sparse matrix; got ndarray"),
    "Graph: Data": (lambda: nt.Graph(ring()), "got Data. For NetworkX graphs, PyG Data .*: Graph.of"),
    "moralize: Data": (lambda: nt.moralize(ring()), "array of integers; got Data"),
    "union: one graph": (lambda: nt.Graph.union(GRAPH), "list of graphs; got Graph"),
    "union: nothing": (lambda: nt.Graph.union([None]), "got NoneType"),
    "read_gr: nothing": (lambda: nt.Graph.read_gr(None), "path of a file; got NoneType"),
    # Decompositions and H-trees
    "time limit: text": (lambda: nt.decompose(GRAPH, time_limit="5"), "more than 0 seconds; got '5'"),
    "build_htree: k": (lambda: nt.build_htree(GRAPH, 4), "as a TreeDecomposition; got int"),
    "build_htree: method": (lambda: nt.build_htree(GRAPH, "min_fill"), "got str.*method=..."),
    "build_htree: sample": (lambda: nt.build_htree(GRAPH, nt.sample_bounded_treewidth(GRAPH, 2)), "got BoundedTree"),
    "max_nodes: None": (lambda: nt.build_htree(GRAPH, max_nodes=None), "max_nodes as an integer"),
    "max_nodes: text": (lambda: nt.build_htree(GRAPH, max_nodes="5"), "max_nodes as an integer"),
    "bags: numbers": (lambda: nt.TreeDecomposition([1, 2]), "Expected bags as lists of node numbers"),
    "bags: nothing": (lambda: nt.TreeDecomposition(None), "Expected bags as lists of node numbers"),
    "bags: mixed": (lambda: nt.TreeDecomposition([[0, "a"]]), "Expected bags as lists of node numbers"),
    "edges: ragged": (lambda: nt.TreeDecomposition([[0], [1]], [(0, 1), (1,)]), "edges as pairs of bag numbers"),
    "lower bound: text": (lambda: nt.TreeDecomposition([[0, 1]], lower_bound="x"), "lower_bound as an integer"),
    "lower bound: high": (lambda: nt.TreeDecomposition([[0, 1]], lower_bound=9), "at most the width 1; got 9"),
    "td.validate: nothing": (lambda: DECOMPOSITION.validate(None), "got NoneType"),
    "ht.validate: nothing": (lambda: TREE.validate(None), "got NoneType"),
    "save_htree: other": (lambda: nt.save_htree(DECOMPOSITION, "x"), "Expected an HTree; got TreeDecomposition"),
    "save_htree: no path": (lambda: nt.save_htree(TREE, None), "path of a file; got NoneType"),
    "attach_htrees: one": (lambda: nt.attach_htrees(ring()), "list of graphs; got Data"),
    "attach_htrees: nothing": (lambda: nt.attach_htrees(None), "list of graphs; got NoneType"),
    "attach_htree: HeteroData": (lambda: nt.attach_htree(hetero()), "got HeteroData"),
    "draw: nothing": (lambda: nt.draw(None), "got NoneType"),
    "draw: H-tree second": (lambda: nt.draw(GRAPH, TREE), r"got HTree and NoneType. .*draw\(graph, htree=htree\)"),
    "draw: path": (lambda: nt.draw(GRAPH, path=3), "path of a file; got int"),
    # Networks
    "conv: instance": (lambda: network(conv=GCNConv(8, 8)), "an instance of GCNConv"),
    "conv: None": (lambda: network(conv=None), "got None"),
    "conv: instance in a network": (lambda: model(conv=GCNConv(8, 8)), "Give the class itself: conv=GCNConv"),
    "conv: None in a network": (lambda: model(conv=None), "got None"),
    "out_channels: 0": (lambda: nt.NeuralTree(3, 8, 0), "out_channels of at least 1; got 0"),
    "out_channels: of a type": (lambda: nt.NeuralTree(3, 8, {"a": 0}), "out_channels of at least 1; got 0"),
    "x: NumPy": (
        lambda: model()(np.zeros((4, 3)), TREE.edge_index, TREE.kappa),
        "Expected x and edge_index as tensors, or a plan; got ndarray",
    ),
    "x: flat": (lambda: model()(torch.zeros(4), TREE.edge_index, TREE.kappa), r"shape \(n, F\); got shape \(4,\)"),
    "a graph's edge_index": (lambda: model()(torch.zeros(4, 3), RING, TREE.kappa), "edge_index of an H-tree"),
    "a graph's, no bags": (lambda: model()(torch.zeros(4, 3), RING, torch.arange(4)), "perhaps those of the graph"),
    "other features": (lambda: model()(torch.zeros(2, 3), TREE.edge_index, TREE.kappa), "below 2, .* rows of x; got 3"),
    "kappa: floats": (lambda: model()(torch.zeros(4, 3), TREE.edge_index, TREE.kappa.float()), "kappa as integers"),
    "edge_index: list": (lambda: model()(torch.zeros(4, 3), [[0], [1]], TREE.kappa), "or a plan; got Tensor and list"),
    "a tree for a GNN": (lambda: nt.GNN(3, 8, 2, 2)(torch.zeros(4, 3), TREE.edge_index), "not those of its H-tree"),
    # Data and splits
    "Task: HeteroData": (lambda: nt.Task([hetero()], ("a", "b")), "to_homogeneous"),
    "Task: NumPy x": (lambda: task(x=np.zeros((4, 3))), r"got ndarray. Use torch.as_tensor\(x"),
    "Task: NumPy y": (lambda: task(y=np.zeros(4, dtype=int)), "got ndarray. Use torch.as_tensor"),
    "Task: seed": (lambda: nt.Task([ring()], ("a", "b"), seed="x"), "seed between 0"),
    "Task: scaling": (lambda: nt.Task([ring()], ("a", "b"), scaling=3), "got 3. To scale: Task"),
    "labels: twice": (lambda: nt.Task([ring()], ("a", "a")), "every node label once; got 'a' twice"),
    "labels: 1 and '1'": (lambda: nt.Classification([1, "1"]), "'1' twice"),
    "labels: a text": (lambda: nt.Task([ring()], "ab"), "got 'ab'"),
    "labels: a text of a type": (lambda: nt.Classification({"node": "ab"}), "got {'node': 'ab'}"),
    "logarithm: a column": (lambda: task().scaled(logarithm=0), "list of columns, such as .0, 3.; got 0"),
    "logarithm: text": (lambda: task().scaled(logarithm="ab"), "list of columns"),
    "logarithm: half": (lambda: task().scaled(logarithm=[0.5]), "list of columns"),
    "split: text": (lambda: nt.random_graph_split("abc"), "the number of graphs, the graphs, or"),
    "split: less than 0": (lambda: nt.random_graph_split([3, -1]), "the number of graphs, the graphs, or"),
    "split: 20.0": (lambda: nt.random_node_split(20.0), "the number of nodes, the graphs, or"),
    "split: share": (lambda: nt.random_node_split(20, train="0.7"), "share train between 0 and 1"),
    "Split: node numbers": (lambda: nt.Split(*torch.tensor([[0], [1], [2]])), r"mask\[numbers\] = True"),
    "Split: floats": (lambda: nt.Split(*torch.eye(3)), "a boolean per node; got torch.float32"),
    "Split: words": (lambda: nt.Split("a", "b", "c"), "train as a mask, a boolean per node; got str"),
    "Split: lengths": (lambda: nt.Split([True], [False, True], [False, False]), r"of one length; got \[1, 2, 2\]"),
    "Run: no split": (lambda: nt.Run(0, None), r"such as task.split\(seed\); got NoneType"),
    "citation_split: list": (lambda: nt.citation_split([0, 1]), "labels as a tensor of integers; got list"),
    "Bundle.of: task": (lambda: nt.Bundle.of(task()), "what fit returned; got Task"),
    "Bundle.load: nothing": (lambda: nt.Bundle.load(None), "path of a file; got NoneType"),
    "CitationNetwork: root": (lambda: nt.CitationNetwork("Cora", 3), "path of a file; got int"),
    "Grid: number": (lambda: nt.Grid(hidden=8), r"such as hidden=\(8,\); got 8"),
    "Grid: text": (lambda: nt.Grid(conv="gcn"), r"such as conv=\('gcn',\)"),
    "tune: dict": (
        lambda: nt.tune(
            task(), [nt.Run(0, task().split(0))], network(), nt.TrainingSpec(), {"hidden": [4]}, folder="x"
        ),
        r"grid as Grid\(hidden=\(32, 64\), ...\); got dict",
    ),
    # Inference
    "tables: lists": (lambda: nt.MarkovNetwork([2], [(0,)], [[0.0, 1.0]]), "as tensors; got list. Use torch.as_tensor"),
    "tables: NumPy": (lambda: nt.MarkovNetwork([2], [(0,)], [np.zeros(2)]), "as tensors; got ndarray"),
    "cardinalities: number": (lambda: nt.MarkovNetwork(2, [(0,)], [torch.zeros(2)]), "one per variable"),
    "cliques: numbers": (lambda: nt.MarkovNetwork([2], [0], [torch.zeros(2)]), "cliques of integers"),
    "evidence: list": (lambda: nt.infer(markov(), [0]), r"dictionary, variable: state; got \[0\]"),
    "evidence: names": (lambda: nt.infer(markov(), {"a": "b"}), "dictionary of integers"),
    "infer: nothing": (lambda: nt.infer(None), "MarkovNetwork or a BayesianNetwork; got NoneType"),
    "infer: path": (lambda: nt.infer("a.bif"), "got str. Read a file with read_uai or read_bif"),
    "JunctionTree: graph": (lambda: nt.JunctionTree.of(GRAPH), "got Graph"),
    "Forest: nothing": (lambda: nt.Forest.of([GRAPH, None], 2), "got NoneType"),
    "Forest: number": (lambda: nt.Forest.of(3, 2), "a graph or a list of graphs; got int"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_a_mistake_is_explained(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        call()


@pytest.mark.parametrize(
    "given",
    [
        GRAPH,
        GRAPH.to_networkx(),
        ring(),
        RING,
        RING.numpy(),
        RING.tolist(),
        scipy.sparse.coo_array(np.roll(np.eye(4), 1, axis=1)),
    ],
    ids=["Graph", "NetworkX", "Data", "tensor", "NumPy", "lists", "SciPy"],
)
def test_any_kind_of_graph_is_understood(given: Any) -> None:
    assert nt.Graph.of(given) == GRAPH
    assert nt.decompose(given) == DECOMPOSITION
    assert nt.build_htree(given) == TREE
    assert nt.sample_bounded_treewidth(given, 4).kept == 1.0
    DECOMPOSITION.validate(given)
    TREE.validate(given)


def test_both_splits_take_a_count_sizes_or_graphs() -> None:
    graphs = [ring() for _ in range(10)]
    assert nt.random_node_split(40) == nt.random_node_split([4] * 10) == nt.random_node_split(graphs)
    by_graph = nt.random_graph_split([4] * 10)
    assert by_graph == nt.random_graph_split(graphs)
    whole = nt.random_graph_split(10)  # one item per graph
    assert whole.counts == (7, 1, 2)
    assert torch.equal(by_graph.train.view(10, 4)[:, 0], whole.train)


def test_masks_may_be_lists_or_arrays() -> None:
    masks = torch.eye(3, dtype=torch.bool)
    assert nt.Split(*masks.tolist()) == nt.Split(*masks.numpy()) == nt.Split(*masks)


def test_heads_fixed_by_partial_are_trained() -> None:
    some = task()
    fitted = nt.fit(
        some,
        network(conv=partial(GATConv, heads=4)),
        nt.TrainingSpec(epochs=1, batches=2, every_class=False),
        [nt.Run(0, some.split(0))],
    )
    assert fitted.loss_curve.isfinite().all()


def test_a_network_that_keeps_results_of_its_last_call_is_copied() -> None:
    made = model(conv=SuperGATConv)
    data = nt.attach_htree(ring())
    plan = made.plan(data)
    made.train()(data.x, plan).sum().backward()  # SuperGATConv keeps attention weights, which have a gradient
    twin = copy.deepcopy(made)
    made.eval(), twin.eval()
    assert torch.equal(made(data.x, plan), twin(data.x, plan))
    with torch.no_grad():
        next(twin.parameters()).add_(1)
    assert not torch.equal(made(data.x, plan), twin(data.x, plan))


def test_representations_are_short(tmp_path: Path) -> None:
    some = task()
    fitted = nt.fit(
        some, network(), nt.TrainingSpec(epochs=1, batches=2, every_class=False), [nt.Run(0, some.split(0))]
    )
    for each in (some, fitted, nt.Bundle.of(fitted), nt.Run(0, some.split(0))):
        assert len(repr(each)) < 300 and "tensor(" not in repr(each)


def test_packages_list_their_names() -> None:
    import neuraltrees.data
    import neuraltrees.datasets
    import neuraltrees.decomposition
    import neuraltrees.htree
    import neuraltrees.inference
    import neuraltrees.nn
    import neuraltrees.objectives
    import neuraltrees.serving
    import neuraltrees.theory
    import neuraltrees.training
    import neuraltrees.tuning

    packages = [
        value for value in vars(nt).values() if getattr(value, "__path__", None) and "_core" not in value.__name__
    ]
    assert len(packages) > 8
    for package in packages:
        if package.__name__ in ("neuraltrees.cli", "neuraltrees.plots", "neuraltrees.experiments"):
            continue  # commands and figures, not a library
        public = set(package.__all__)
        assert public and public <= set(dir(package)), package.__name__
        assert all(getattr(package, name) is not None for name in public)
    assert {"fit", "Task", "Bundle"} <= set(dir(neuraltrees.training))
