"""The neural tree and its baseline against plain formulations with PyG's parts."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GraphConv, SAGEConv

import neuraltrees as nt
from neuraltrees.nn import GNN, Messages, NeuralTree, Places
from neuraltrees.nn.schedule.leaves import lift_to_leaves, pool_leaves

GOLDEN = nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])
TREE = nt.build_htree(GOLDEN)
DATA = nt.ToHTree()(Data(edge_index=torch.as_tensor(GOLDEN.edge_index), num_nodes=5))
CONVS = pytest.mark.parametrize("conv", ["gcn", "sage", "gat", "gin"])


def plain_neural_tree(model: NeuralTree, x: Tensor, tree: nt.HTree) -> Tensor:
    """Section 4 of the contract, word for word: features are copied to the leaves, then PyG's convolutions run."""
    h = torch.zeros(tree.num_nodes, x.shape[1])
    leaves = tree.kappa >= 0
    h[leaves] = x[tree.kappa[leaves]]
    for i, ours in enumerate(model.schedule.convs):
        twin = SAGEConv(h.shape[1], ours.own.out_channels)
        weights = {
            "lin_l.weight": ours.neighbours[0].weight.t(),
            "lin_l.bias": ours.own.bias,
            "lin_r.weight": ours.own.weight.t(),
        }
        twin.load_state_dict(weights)
        h = twin(h, tree.edge_index)
        if i < len(model.schedule.convs) - 1:
            h = h.relu()
    mean = torch.stack([h[tree.kappa == v].mean(0) for v in range(len(x))])
    return model.head.layers[0](mean.relu())


def test_neural_tree_equals_the_plain_formulation() -> None:
    torch.manual_seed(0)
    model = NeuralTree(6, 8, 4, num_layers=3, conv="sage").double().eval()
    x = torch.randn(5, 6, dtype=torch.float64)
    with torch.no_grad():
        torch.set_default_dtype(torch.float64)
        plain = plain_neural_tree(model, x, TREE)
        torch.set_default_dtype(torch.float32)
        torch.testing.assert_close(model(x, TREE.edge_index, TREE.kappa), plain, atol=1e-10, rtol=0)


@CONVS
@pytest.mark.parametrize("runs", [None, 3])
@pytest.mark.parametrize("readout", [True, False])
def test_shapes(conv: str, runs: int | None, readout: bool) -> None:
    x, shape = torch.randn(5, 6), (5, 4) if runs is None else (5, runs, 4)
    tree = NeuralTree(6, 8, 4, num_layers=2, conv=conv, runs=runs, readout=readout)
    graph = GNN(6, 8, 4, num_layers=2, conv=conv, runs=runs, readout=readout)
    assert tree(x, TREE.edge_index, TREE.kappa).shape == shape
    assert graph(x, GOLDEN.edge_index).shape == shape


@CONVS
def test_a_forest_is_as_good_as_its_trees(conv: str) -> None:
    other = nt.Graph([[0, 1, 2], [1, 2, 3]])
    forest = nt.build_htree(nt.Graph.union([GOLDEN, other]))
    single = nt.build_htree(other)
    model = NeuralTree(6, 8, 4, num_layers=2, conv=conv).eval()
    x = torch.randn(9, 6)
    whole = model(x, forest.edge_index, forest.kappa)
    torch.testing.assert_close(whole[:5], model(x[:5], TREE.edge_index, TREE.kappa))
    torch.testing.assert_close(whole[5:], model(x[5:], single.edge_index, single.kappa))


@CONVS
def test_order_of_tree_nodes_does_not_matter(conv: str) -> None:
    model, x = NeuralTree(6, 8, 4, num_layers=2, conv=conv).eval(), torch.randn(5, 6)
    order = torch.randperm(TREE.num_nodes)
    kappa = torch.empty_like(TREE.kappa)
    kappa[order] = TREE.kappa
    torch.testing.assert_close(model(x, order[TREE.edge_index], kappa), model(x, TREE.edge_index, TREE.kappa))


@CONVS
def test_runs_at_once_equal_runs_one_by_one(conv: str) -> None:
    together = NeuralTree(6, 8, {"a": 2, "b": 4}, num_layers=3, conv=conv, dropout=0.0, runs=3)
    x, kind = torch.randn(5, 6), torch.tensor([0, 1, 1, 0, 1])
    result = together(x, TREE.edge_index, TREE.kappa, kind)
    for run in range(3):
        alone = NeuralTree(6, 8, {"a": 2, "b": 4}, num_layers=3, conv=conv, dropout=0.0)
        state = {}
        for name, value in together.state_dict().items():
            state[name] = value[run].squeeze() if name.endswith("eps") else value[run]
        alone.load_state_dict(state)
        torch.testing.assert_close(
            together(x, TREE.edge_index, TREE.kappa, kind)[:, run], alone(x, TREE.edge_index, TREE.kappa, kind)
        )
    assert result.shape == (5, 3, 4)


def test_a_residual_round_of_sage_has_the_identity_added_to_its_own_weights() -> None:
    residual = NeuralTree(6, 8, 4, num_layers=4, conv="sage", residual=True).eval()
    plain = NeuralTree(6, 8, 4, num_layers=4, conv="sage").eval()
    plain.load_state_dict(residual.state_dict())
    x = torch.randn(5, 6)
    before = plain(x, TREE.edge_index, TREE.kappa)
    with torch.no_grad():
        for conv in plain.schedule.convs[1:]:
            conv.own.weight += torch.eye(8)
    expected = plain(x, TREE.edge_index, TREE.kappa)
    torch.testing.assert_close(residual(x, TREE.edge_index, TREE.kappa), expected)
    assert not torch.allclose(before, expected)


def test_rounds_are_residual_where_sizes_agree() -> None:
    assert NeuralTree(6, 8, 4, num_layers=4, conv="gat", residual=True).schedule.residual == [False, True, True, False]
    assert GNN(6, 8, 8, num_layers=3, conv="gcn", readout=False, residual=True).schedule.residual == [False, True, True]
    assert GNN(6, 8, 4, num_layers=3, conv=GraphConv, readout=False, residual=True).schedule.residual == [
        False,
        True,
        False,
    ]
    assert not any(NeuralTree(6, 8, 4).schedule.residual)


def test_residual_rounds_on_a_graph() -> None:
    model = GNN(6, 8, 4, num_layers=2, conv="gcn", residual=True).eval()
    x = torch.randn(5, 6)
    links = Messages.of_edges(GOLDEN.edge_index, 5)
    first, second = (partial(conv, bound=conv.bind(links)) for conv in model.schedule.convs)
    state = first(x).relu()
    expected = model.head((second(state) + state).relu(), Places())
    torch.testing.assert_close(model(x, GOLDEN.edge_index), expected)
    torch.testing.assert_close(model(x, model.plan(Data(edge_index=GOLDEN.edge_index, num_nodes=5))), expected)


def test_a_readout_for_each_type() -> None:
    model = GNN(6, 8, {"room": 2, "object": 3}, num_layers=1, conv="gcn").eval()
    x, kind = torch.randn(5, 6), torch.tensor([0, 1, 1, 0, 1])
    logits = model(x, GOLDEN.edge_index, kind)
    assert logits.shape == (5, 3)
    assert torch.isinf(logits[:, 2]).tolist() == [True, False, False, True, False]
    assert torch.isfinite(logits[:, :2]).all()
    with pytest.raises(
        nt.InputError, match="Expected node_type, since room, object have readouts of their own; got none"
    ):
        model(x, GOLDEN.edge_index)


@pytest.mark.parametrize("foreign", [GCNConv, GraphConv])
def test_any_pyg_convolution_is_a_round(foreign: type[nn.Module]) -> None:
    model = NeuralTree(6, 8, 4, num_layers=2, conv=foreign)
    x = torch.randn(5, 6)
    model(x, TREE.edge_index, TREE.kappa).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_sparse_features_are_never_made_dense() -> None:
    x = torch.randn(5, 40).relu() * (torch.rand(5, 40) < 0.2)
    model = NeuralTree(40, 8, 3, num_layers=2, conv="gcn", readout=False).eval()
    dense = model(x, TREE.edge_index, TREE.kappa)
    torch.testing.assert_close(model(x.to_sparse(), TREE.edge_index, TREE.kappa), dense)


@CONVS
def test_export_with_sizes_that_vary(conv: str) -> None:
    model = NeuralTree(6, 8, 4, num_layers=3, conv=conv, residual=True).eval()
    nodes, edges, size = (torch.export.Dim(name, min=2) for name in ("nodes", "edges", "size"))
    exported = torch.export.export(
        model,
        (torch.randn(5, 6), TREE.edge_index, TREE.kappa),
        dynamic_shapes={"x": {0: nodes}, "edge_index": {1: edges}, "kappa": {0: size}},
    ).module()
    other = nt.build_htree(nt.Graph([[0, 1, 2, 0, 3], [1, 2, 3, 3, 6]], num_nodes=7))
    x = torch.randn(7, 6)
    torch.testing.assert_close(exported(x, other.edge_index, other.kappa), model(x, other.edge_index, other.kappa))


def test_lift_and_pool_are_inverse() -> None:
    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(pool_leaves(lift_to_leaves(x, TREE.kappa), TREE.kappa, 5), x)


def test_bad_arguments() -> None:
    with pytest.raises(
        nt.InputError, match="Expected conv out of gcn, sage, gat, gin or a PyG convolution class; got 'cnn'"
    ):
        NeuralTree(6, 8, 4, conv="cnn")
    with pytest.raises(nt.InputError, match="Expected num_layers of at least 1; got 0"):
        GNN(6, 8, 4, num_layers=0)
    with pytest.raises(nt.InputError, match="Expected one number of classes for a network without a readout"):
        GNN(6, 8, {"a": 2}, readout=False)
    for size in (0, -1, 2.5):
        with pytest.raises(nt.InputError, match=f"Expected hidden_channels of at least 1; got {size}"):
            GNN(6, size, 4)
    for share in (1.0, -0.1, float("nan")):
        with pytest.raises(nt.InputError, match="Expected a dropout of at least 0 and below 1; got"):
            GNN(6, 8, 4, dropout=share)
    model = NeuralTree(6, 8, 4)
    with pytest.raises(nt.InputError, match="Expected features of the 5 planned nodes; got 4 rows"):
        model(torch.ones(4, 6), model.plan(DATA))
    with pytest.raises(nt.InputError, match="Expected gcn, sage, gat or gin for relations"):
        NeuralTree(6, 8, 4, conv=GCNConv, relations=True)
    with pytest.raises(nt.InputError, match="Expected a graph with its H-tree; got Data without one"):
        model.plan(Data(edge_index=GOLDEN.edge_index, num_nodes=5))
    with pytest.raises(nt.InputError, match="Expected kappa"):
        model(torch.ones(5, 6), TREE.edge_index)


@CONVS
def test_learns_what_depends_on_a_clique(conv: str) -> None:
    """Whether the three members of a triangle have features of one sign; trained on all 8 cases, it fits them."""
    torch.manual_seed(0)
    triangle = nt.build_htree(nt.Graph.union([nt.Graph([[0, 1, 2], [1, 2, 0]])] * 8))
    x = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3).reshape(-1, 1)
    y = (x.view(8, 3).sum(1).abs() == 3).long().repeat_interleave(3)
    model = NeuralTree(1, 16, 2, num_layers=4, conv=conv, dropout=0.0, heads=2)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(300):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x, triangle.edge_index, triangle.kappa), y).backward()
        optimiser.step()
    assert (model(x, triangle.edge_index, triangle.kappa).argmax(1) == y).all()


def test_a_plan_of_another_network_is_refused() -> None:
    x = torch.randn(5, 6)
    plan = NeuralTree(6, 8, 4, num_layers=2).plan(DATA)
    for other in (NeuralTree(6, 8, 4, num_layers=3), GNN(6, 8, 4, num_layers=2)):
        with pytest.raises(nt.InputError, match=r"a plan made by this network, .*; got one for TreeRounds of 2"):
            other(x, plan)


def test_edge_features_are_checked() -> None:
    model = GNN(6, 8, 4, num_layers=2, edge_channels=1)
    x, edges = torch.randn(5, 6), GOLDEN.edge_index
    plan = model.plan(Data(edge_index=edges, num_nodes=5))
    one = torch.randn(edges.shape[1])
    torch.testing.assert_close(model.eval()(x, plan, edge_attr=one), model(x, plan, edge_attr=one.unsqueeze(1)))
    with pytest.raises(nt.InputError, match="Expected edge_attr of the 12 planned edges; got 13 rows"):
        model(x, plan, edge_attr=torch.ones(13, 1))
    with pytest.raises(nt.InputError, match="Expected no edge_attr for a network that was made without edge_channels"):
        GNN(6, 8, 4)(x, edges, edge_attr=one)
