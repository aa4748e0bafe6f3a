"""Edge features on trees: graph edges ride on the tree edges at their ends; plans equal the plain formulation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATv2Conv, GINEConv, TransformerConv

import neuraltrees as nt
from neuraltrees.nn.schedule.tree_edges import tree_edges
from tests.oracle.strategies import graphs as networkx_graphs

CONVS = ["gcn", "sage", "gat", "gin"]


def with_features(graph: nt.Graph, width: int = 2, seed: int = 0) -> nt.HTreeData:
    """Features in float64, other ones for each direction of an edge, and of a self-loop at every second node."""
    loops = torch.arange(0, graph.num_nodes, 2)
    edges = torch.cat([graph.edge_index, torch.stack([loops, loops])], 1)
    draw = torch.Generator().manual_seed(seed)
    attr = torch.randn(edges.shape[1], width, dtype=torch.float64, generator=draw)
    return nt.ToHTree()(Data(edge_index=edges, edge_attr=attr, num_nodes=graph.num_nodes))


def slowly(data: nt.HTreeData) -> Tensor:
    """The definition, edge by edge."""
    tree = data.htree
    rows = torch.zeros(tree.edge_index.shape[1], data.edge_attr.shape[1], dtype=data.edge_attr.dtype)
    for number, (source, target) in enumerate(tree.edge_index.t().tolist()):
        for leaf, bag, up in ((source, target, True), (target, source, False)):
            if tree.kappa[leaf] < 0 or tree.parent[leaf] != bag:
                continue
            node = int(tree.kappa[leaf])
            for edge, (u, v) in enumerate(data.edge_index.t().tolist()):
                own, other = (u, v) if up else (v, u)
                if own == node and other in tree.bag(bag):
                    rows[number] += data.edge_attr[edge]
    return rows


@settings(max_examples=60, deadline=None)
@given(graph=networkx_graphs(9).map(nt.Graph.from_networkx))
def test_rows_are_those_of_the_definition(graph: nt.Graph) -> None:
    data = with_features(graph)
    found = tree_edges(data.htree, data.edge_index)
    dense = torch.zeros(found.num_edge_rows, data.edge_index.shape[1], dtype=torch.float64)
    dense.index_put_((found.rows.row, found.rows.col), found.rows.value, accumulate=True)
    torch.testing.assert_close((dense @ data.edge_attr)[found.edge], slowly(data))
    assert len({tuple(row) for row in dense[:-1].tolist()}) == found.num_edge_rows - 1, "a row occurs twice"
    carried = dense[found.edge].sum(0) > 0
    assert carried.all(), "a graph edge is lost"


@pytest.mark.parametrize("conv", CONVS)
@settings(max_examples=25, deadline=None)
@given(
    graph=networkx_graphs(8).map(nt.Graph.from_networkx),
    layers=st.integers(1, 3),
    runs=st.sampled_from([None, 2]),
    relations=st.booleans(),
    merge=st.booleans(),
)
def test_a_plan_equals_the_plain_formulation(
    conv: str, graph: nt.Graph, layers: int, runs: int | None, relations: bool, merge: bool
) -> None:
    torch.manual_seed(0)
    data = with_features(graph)
    tree = data.htree
    options = {"heads": 2, "runs": runs, "relations": relations, "merge": merge, "edge_channels": 2}
    model = nt.NeuralTree(3, 4, 5, layers, conv, 0.0, **options).double().eval()
    x = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    planned = model(x, model.plan(data), edge_attr=data.edge_attr)
    plain = model(x, tree.edge_index, tree.kappa, edge_type=tree.edge_type, edge_attr=slowly(data))
    torch.testing.assert_close(planned, plain, atol=1e-9, rtol=1e-9)


def gine(in_channels: int, out_channels: int, edge_dim: int) -> nn.Module:
    return GINEConv(nn.Sequential(nn.Linear(in_channels, out_channels)), edge_dim=edge_dim)


@pytest.mark.parametrize("conv", [gine, GATv2Conv, TransformerConv])
@pytest.mark.parametrize("runs", [None, 2])
def test_external_convolutions_get_edge_features(conv: type[nn.Module], runs: int | None) -> None:
    torch.manual_seed(0)
    data = with_features(nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]]))
    tree, attr, x = data.htree, data.edge_attr.float(), torch.randn(5, 3)
    model = nt.NeuralTree(3, 4, 5, 2, conv, 0.0, runs=runs, edge_channels=2).eval()
    planned = model(x, model.plan(data), edge_attr=attr)
    plain = model(x, tree.edge_index, tree.kappa, edge_attr=slowly(data).float())
    torch.testing.assert_close(planned, plain, atol=1e-5, rtol=1e-5)
    other = model(x, model.plan(data), edge_attr=attr + 1)
    assert not torch.allclose(planned, other)


@pytest.mark.parametrize("conv", CONVS)
def test_the_numbering_of_nodes_does_not_matter(conv: str) -> None:
    """On a chordal graph, whose H-tree is the same for any numbering."""
    torch.manual_seed(0)
    data = with_features(nt.Graph([[0, 0, 1, 1, 2], [1, 2, 2, 3, 3]]))
    model = nt.NeuralTree(3, 4, 5, 3, conv, edge_channels=2).double().eval()
    x, order = torch.randn(4, 3, dtype=torch.float64), torch.tensor([2, 0, 3, 1])
    other = nt.ToHTree()(Data(edge_index=order[data.edge_index], edge_attr=data.edge_attr, num_nodes=4))
    moved = torch.empty_like(x)
    moved[order] = x
    torch.testing.assert_close(
        model(moved, model.plan(other), edge_attr=data.edge_attr)[order],
        model(x, model.plan(data), edge_attr=data.edge_attr),
    )


def test_features_that_nobody_reads_are_refused() -> None:
    from torch_geometric.nn import GraphConv

    with pytest.raises(nt.InputError, match="Expected a convolution that reads edge features; got GraphConv"):
        nt.NeuralTree(3, 4, 5, conv=GraphConv, edge_channels=2)
    model = nt.NeuralTree(3, 4, 5, edge_channels=2)
    data = with_features(nt.Graph([[0], [1]]))
    with pytest.raises(nt.InputError, match="Expected edge_attr, since the network was made with edge_channels"):
        model(torch.randn(2, 3), model.plan(data))
