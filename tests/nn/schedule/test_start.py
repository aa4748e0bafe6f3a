"""The initial state of bags: zero, or the mean or the sum of their members' features."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GATv2Conv, GraphConv

import neuraltrees as nt
from neuraltrees.datasets import CitationNetwork
from neuraltrees.nn import GNN, MLP, BagRounds, Convolution, NeuralTree, TypedRounds
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.schedule.start import FirstStates
from neuraltrees.training import NetworkSpec, load_config
from tests.nn.schedule.test_tree_edges import slowly
from tests.oracle.strategies import graphs
from tests.oracle.tree_rounds import answers, first_states

CONVS = ["gcn", "sage", "gat", "gin"]
STARTS = ["mean", "sum"]


def with_tree(graph: nx.Graph, **options: object) -> nt.HTreeData:
    edges = torch.as_tensor(nt.Graph.from_networkx(graph).edge_index)
    return nt.ToHTree(**options)(Data(edge_index=edges, num_nodes=graph.number_of_nodes()))


def features(data: Data, size: int = 3, runs: int | None = None) -> Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(data.num_nodes, *([] if runs is None else [runs]), size, dtype=torch.float64, generator=draw)


def network(conv: object, start: str | None, size: int = 3, layers: int = 2, **options: object) -> NeuralTree:
    torch.manual_seed(0)
    return NeuralTree(size, 4, 5, layers, conv, 0.0, heads=2, bag_start=start, **options).double().eval()


WHEEL = with_tree(nx.wheel_graph(7))


@pytest.mark.parametrize("conv", [*CONVS, GraphConv, partial(GATv2Conv, heads=2, concat=False)], ids=str)
@settings(max_examples=40, deadline=None)
@given(
    graph=graphs(max_nodes=9),
    start=st.sampled_from(["zero", *STARTS]),
    layers=st.integers(1, 3),
    size=st.sampled_from([1, 3, 9]),
    merge=st.booleans(),
    residual=st.booleans(),
    terminal=st.sampled_from(["clique", "bag"]),
)
def test_answers_are_those_of_pyg_on_the_explicit_tree(
    conv: object, graph: nx.Graph, start: str, layers: int, size: int, merge: bool, residual: bool, terminal: str
) -> None:
    data = with_tree(graph, terminal=terminal)
    model = network(conv, start, size, layers, merge=merge, residual=residual)
    x = features(data, size)
    with torch.no_grad():
        expected = answers(model, data.htree, x, start)
        torch.testing.assert_close(model(x, model.plan(data)), expected, atol=1e-9, rtol=1e-9)
        tree = data.htree
        traced = model(x, tree.edge_index, tree.kappa, members=tree.members)
        torch.testing.assert_close(traced, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("conv", CONVS)
@settings(max_examples=25, deadline=None)
@given(
    graph=graphs(max_nodes=8),
    start=st.sampled_from(STARTS),
    layers=st.integers(1, 3),
    runs=st.sampled_from([None, 2]),
    relations=st.booleans(),
    edges=st.booleans(),
    merge=st.booleans(),
    wide=st.booleans(),
)
def test_a_plan_equals_the_plain_formulation_with_its_gradients(
    conv: str, graph: nx.Graph, start: str, layers: int, runs: int | None, relations: bool, edges: bool, merge: bool,
    wide: bool,
) -> None:  # fmt: skip
    data, size = with_tree(graph), 12 if wide else 3
    tree = data.htree
    channels = 2 if edges else None
    model = network(conv, start, size, layers, runs=runs, relations=relations, merge=merge, edge_channels=channels)
    x = features(data, size, runs).requires_grad_()
    carried, plain = None, None
    if edges:
        data.edge_attr = carried = torch.randn(data.edge_index.shape[1], 2, dtype=torch.float64)
        plain = slowly(data)
    found = []
    for logits in (
        model(x, model.plan(data), edge_attr=carried),
        model(x, tree.edge_index, tree.kappa, edge_type=tree.edge_type, edge_attr=plain, members=tree.members),
    ):
        weight = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.Generator().manual_seed(1))
        gradients = torch.autograd.grad((logits * weight).sum(), [x, *model.parameters()], allow_unused=True)
        found.append(torch.cat([logits.flatten(), *(each.flatten() for each in gradients if each is not None)]))
    torch.testing.assert_close(*found, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("conv", [*CONVS, GraphConv], ids=str)
@pytest.mark.parametrize("merge", [True, False])
def test_zero_is_the_default_bit_by_bit(conv: object, merge: bool) -> None:
    default, named = (network(conv, start, layers=3, merge=merge).float() for start in (None, "zero"))
    x = features(WHEEL).float()
    assert torch.equal(default(x, default.plan(WHEEL)), named(x, named.plan(WHEEL)))
    tree = WHEEL.htree
    assert torch.equal(default(x, tree.edge_index, tree.kappa), named(x, tree.edge_index, tree.kappa))


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("start", STARTS)
@settings(max_examples=15, deadline=None)
@given(graph=graphs(max_nodes=8), seed=st.integers(0, 99))
def test_numbers_of_nodes_do_not_matter(conv: str, start: str, graph: nx.Graph, seed: int) -> None:
    """The same tree, with graph nodes, bags and members in another order."""
    data = with_tree(graph)
    tree, model, x = data.htree, network(conv, start), features(data)
    draw = torch.Generator().manual_seed(seed)
    node, place = (torch.randperm(size, generator=draw) for size in (data.num_nodes, tree.num_nodes))
    members = torch.stack([place[tree.members[0]], node[tree.members[1]]])
    members = members[:, torch.randperm(members.shape[1], generator=draw)]
    kappa = torch.empty_like(tree.kappa)
    kappa[place] = torch.where(tree.kappa < 0, -1, node[tree.kappa.clamp(min=0)])
    moved = torch.empty_like(x)
    moved[node] = x
    expected = model(x, model.plan(data))
    torch.testing.assert_close(model(moved, place[tree.edge_index], kappa, members=members)[node], expected)


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("runs", [None, 3])
def test_sparse_features_are_never_copied_to_bags(conv: str, start: str, runs: int | None) -> None:
    model = network(conv, start, 40, runs=runs)
    x = features(WHEEL, 40).relu() * (torch.rand(7, 40) < 0.3)
    plan, tree = model.plan(WHEEL), WHEEL.htree
    expected = model(x, plan)
    for sparse in (x.to_sparse(), SparseMap.of_features(x.to_sparse(), torch.float64)):
        torch.testing.assert_close(model(sparse, plan), expected)
        torch.testing.assert_close(model(sparse, tree.edge_index, tree.kappa, members=tree.members), expected)


def test_wide_features_are_multiplied_before_they_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, called = [], SparseMap.__call__

    def watched(self: SparseMap, h: Tensor) -> Tensor:
        seen.append(h.shape[-1])
        return called(self, h)

    model = network("sage", "mean", 40)
    plan = model.plan(WHEEL)
    monkeypatch.setattr(SparseMap, "__call__", watched)
    model(features(WHEEL, 40), plan)
    assert seen and max(seen) == 4  # the size of the states


@pytest.mark.parametrize("conv", CONVS)
def test_runs_at_once_equal_runs_one_by_one(conv: str) -> None:
    together, x = network(conv, "mean", runs=3), features(WHEEL)
    result = together(x, together.plan(WHEEL))
    for run in range(3):
        alone = network(conv, "mean")
        state = {
            name: value[run].squeeze() if name.endswith("eps") else value[run]
            for name, value in together.state_dict().items()
        }
        alone.load_state_dict(state)
        torch.testing.assert_close(alone(x, alone.plan(WHEEL)), result[:, run])


@settings(max_examples=40, deadline=None)
@given(graph=graphs(max_nodes=9))
def test_initial_colours_of_bags_are_their_members_and_degrees(graph: nx.Graph) -> None:
    data = with_tree(graph)
    tree = data.htree
    found = FirstStates.of_members(tree, data.num_nodes, mean=True)
    neighbours = torch.bincount(tree.edge_index[1], minlength=tree.num_nodes).tolist()
    views = [
        (tree.bag(node), neighbours[node]) if leaf < 0 else int(leaf) for node, leaf in enumerate(tree.kappa.tolist())
    ]
    pairs = set(zip(map(repr, views), found.of_node.tolist(), strict=True))
    assert len(pairs) == len({view for view, _ in pairs}) == len({state for _, state in pairs})
    assert len(found.degree) == data.num_nodes + len({view for view in views if isinstance(view, tuple)})
    x = features(data)
    started = torch.zeros(len(found.degree), 3, dtype=torch.float64)
    assert found.rows is not None
    started.index_add_(0, found.rows.row, x[found.rows.col] * found.rows.value[:, None])
    torch.testing.assert_close(started[torch.from_numpy(found.of_node)], first_states(tree, x, "mean"))


@settings(max_examples=30, deadline=None)
@given(graph=graphs(max_nodes=8), layers=st.integers(2, 4))
def test_no_state_is_computed_twice(graph: nx.Graph, layers: int) -> None:
    """The states of every round but the last are the distinct views of tree nodes, written out as nested tuples."""
    data = with_tree(graph)
    tree = data.htree
    around: list[list[int]] = [[] for _ in range(tree.num_nodes)]
    for source, target in tree.edge_index.t().tolist():
        around[target].append(source)
    views: list[object] = [
        int(leaf) if leaf >= 0 else (tree.bag(node), len(around[node])) for node, leaf in enumerate(tree.kappa)
    ]
    planned = network("gin", "mean", layers=layers).plan(data).rounds.states  # batch norm needs the states of all nodes
    for count in planned[:-1]:
        views = [(views[node], sorted(repr(views[other]) for other in around[node])) for node in range(tree.num_nodes)]
        assert count == len({repr(view) for view in views})


def test_equal_states_are_merged() -> None:
    merged, single = (network("gcn", "mean", merge=merge).plan(WHEEL).rounds.states for merge in (True, False))
    assert merged[0] < single[0] < WHEEL.htree.num_nodes  # roots far from leaves are not needed
    assert merged[1] <= single[1] == WHEEL.htree.num_leaves


class Own(Convolution):
    """A convolution of one's own that reads the states themselves."""

    def __init__(self, in_channels: int, out_channels: int, options: object) -> None:
        super().__init__(in_channels, out_channels, options)
        self.lin = RunLinear(in_channels, out_channels, options.runs)

    def bind(self, messages, backend, pool=None):  # type: ignore[no-untyped-def]
        return backend.map(messages.neighbours()), backend.map(messages.selves())

    def forward(self, h, bound, edges=None):  # type: ignore[no-untyped-def]
        neighbours, own = bound
        return self.lin(own(h.square()) + neighbours(h))


@pytest.mark.parametrize("merge", [True, False])
def test_a_convolution_of_ones_own_gets_the_states_of_bags(merge: bool) -> None:
    model, x, tree = network(Own, "sum", 9, 1, merge=merge), features(WHEEL, 9), WHEEL.htree
    h = first_states(tree, x, "sum")
    received = torch.zeros_like(h).index_add_(0, tree.edge_index[1], h[tree.edge_index[0]])
    h = model.schedule.convs[0].lin(h.square() + received)
    mean = torch.stack([h[tree.kappa == v].mean(0) for v in range(7)])
    torch.testing.assert_close(model(x, model.plan(WHEEL)), model.head.layers[0](mean.relu()))
    with pytest.raises(nt.InputError, match=r"Expected dense features for Own, .*; got sparse ones\. Use x"):
        model(x.to_sparse(), model.plan(WHEEL))


@pytest.mark.parametrize("conv", CONVS)
def test_export(conv: str) -> None:
    model, tree = network(conv, "mean", layers=3).float(), WHEEL.htree
    nodes, edges, size, entries = (torch.export.Dim(name, min=2) for name in ("nodes", "edges", "size", "entries"))
    exported = torch.export.export(
        model,
        (features(WHEEL).float(), tree.edge_index, tree.kappa),
        {"members": tree.members},
        dynamic_shapes={"x": {0: nodes}, "edge_index": {1: edges}, "kappa": {0: size}, "members": {1: entries}},
    ).module()
    other = with_tree(nx.path_graph(5))
    x = features(other).float()
    found = exported(x, other.htree.edge_index, other.htree.kappa, members=other.htree.members)
    torch.testing.assert_close(found, model(x, model.plan(other)))


def test_bag_rounds_have_the_same_option() -> None:
    for start in ("zero", "mean", "sum"):
        torch.manual_seed(0)
        by_options = NeuralTree(3, 4, 5, 2, schedule=BagRounds.having(start=start)).double().eval()
        torch.manual_seed(0)
        by_network = NeuralTree(3, 4, 5, 2, schedule=BagRounds, bag_start=start).double().eval()
        x = features(WHEEL)
        assert torch.equal(by_options(x, by_options.plan(WHEEL)), by_network(x, by_network.plan(WHEEL)))
    assert NeuralTree(3, 4, 5, 2, schedule=BagRounds).schedule.options.start == "sum"


def test_bad_input() -> None:
    with pytest.raises(nt.InputError, match=r"Expected bag_start out of zero, mean, sum; got 'man'\. Did you"):
        NeuralTree(3, 4, 5, bag_start="man")
    for kind in (GNN, MLP):
        with pytest.raises(nt.InputError, match=rf"Expected bag_start only for networks with bags; .* {kind.__name__}"):
            kind(3, 4, 5, bag_start="mean")
    with pytest.raises(nt.InputError, match="Expected no bag_start for typed rounds"):
        NeuralTree(3, 4, 5, schedule=TypedRounds.of(types=2, geometry=False), bag_start="mean")
    model, tree, x = network("gcn", "mean"), WHEEL.htree, features(WHEEL)
    with pytest.raises(nt.InputError, match=r"Expected members, the graph nodes in the bag of every tree node, .*"):
        model(x, tree.edge_index, tree.kappa)
    with pytest.raises(nt.InputError, match="Expected a plan made by this network"):
        model(x, network("gcn", None).plan(WHEEL))
    external = network(GraphConv, "mean")
    with pytest.raises(nt.InputError, match="Expected dense features for a PyG convolution; got sparse ones"):
        external(x.to_sparse(), external.plan(WHEEL))


def test_cora(data_root: Path) -> None:
    """Sparse features of a real graph: the mean of x W over members is the mean of their features, times W."""
    data = nt.attach_htree(CitationNetwork("cora", data_root)[0], 4)
    model = network("gcn", "mean", 1433, readout=False, runs=2)
    x = SparseMap.of_features(data.x, torch.float64)
    tree, dense = data.htree, data.x.to_dense().double()
    members = tree.members.numpy()
    mean = np.zeros((tree.num_nodes, 1433))
    np.add.at(mean, members[0], dense.numpy()[members[1]])
    h = torch.from_numpy(mean / np.bincount(members[0])[:, None])
    scale = (torch.bincount(tree.edge_index[1], minlength=tree.num_nodes) + 1).double().rsqrt()
    for number, conv in enumerate(model.schedule.convs):
        h = scale[:, None] * (h @ conv.lins[0].weight[1])
        h = scale[:, None] * (h.index_add(0, tree.edge_index[1], h[tree.edge_index[0]])) + conv.bias[1]
        h = h.relu() if number == 0 else h
    leaves = (tree.kappa >= 0).nonzero().flatten()
    sums = torch.zeros(data.num_nodes, 5, dtype=torch.float64).index_add_(0, tree.kappa[leaves], h[leaves])
    expected = sums / torch.bincount(tree.kappa[leaves])[:, None]
    with torch.no_grad():
        torch.testing.assert_close(model(x, model.plan(data))[:, 1], expected, atol=1e-9, rtol=1e-9)


def test_specifications_have_one_option_for_all_schedules() -> None:
    assert NetworkSpec().bag_start is None
    task = nt.Task(
        [Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 1, 0]))], ("a", "b")
    )
    for spec, expected in (
        (NetworkSpec(), "zero"),
        (NetworkSpec(bag_start="mean"), "mean"),
        (NetworkSpec(conv="torch_geometric.nn:GraphConv", bag_start="sum"), "sum"),
    ):
        assert spec.build(task).schedule.start == spec.first_bags == expected
    for spec, expected in (
        (NetworkSpec(schedule="bags"), "sum"),
        (NetworkSpec(schedule="bags", bag_start="zero"), "zero"),
        (NetworkSpec(model="gnn", schedule="bags", bag_start="mean"), "mean"),
    ):
        assert spec.build(task).schedule.options.start == spec.first_bags == expected
    assert NetworkSpec(model="gnn", bag_start="mean").first_bags is None
    NetworkSpec(model="gnn", bag_start="mean").build(task)  # a graph has no bags
    with pytest.raises(
        nt.InputError, match=r"Expected bag_start out of zero, mean, sum; got 'men'\. Did you mean mean"
    ):
        NetworkSpec(bag_start="men")


def test_citation_networks_start_with_means_unless_told_otherwise() -> None:
    for name in ("cora", "citeseer", "pubmed"):
        assert load_config(overrides={"dataset": name, "conv": "gcn"}).network.first_bags == "mean"
        assert load_config(overrides={"dataset": name, "bag_start": "zero"}).network.first_bags == "zero"
        assert load_config(overrides={"dataset": name, "model": "gnn"}).bag_start is None
    assert load_config(overrides={"dataset": "stanford3dsg"}).network.first_bags == "zero"
