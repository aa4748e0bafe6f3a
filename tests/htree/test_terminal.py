"""Canonical H-trees, and H-trees whose leaves stand directly under the bags of the decomposition."""

from __future__ import annotations

import dataclasses
import pickle

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.decomposition.decompose import METHODS, Method
from tests.oracle import strategies
from tests.oracle.bridge import to_graph

GRAPHS = strategies.graphs(max_nodes=12).map(to_graph)
FAST = st.sampled_from([method for method in METHODS if method not in ("exact", "best")])


@given(graph=GRAPHS, method=FAST)
@settings(deadline=None, max_examples=120)
def test_leaves_under_every_bag(graph: nt.Graph, method: Method) -> None:
    """Bags, edges between them, kinds and leaves, all as the decomposition has them."""
    td = nt.decompose(graph, method)
    tree = nt.build_htree(graph, td, method, terminal="bag")
    tree.validate(graph)
    roots = (tree.parent < 0).nonzero().flatten()
    assert [tree.bag(int(r)) for r in roots] == list(td.bags)
    joined = tree.edge_index[:, tree.edge_type == 0].t().tolist()
    expected = [pair for a, b in td.edges.tolist() for pair in ((int(roots[a]), int(roots[b])),)]
    assert sorted(joined) == sorted([*map(list, expected), *([b, a] for a, b in expected)])
    assert tree.kind[roots].tolist() == ([0] * len(roots) if td.kinds is None else td.kinds.tolist())
    order = td.bag_nodes if td.bag_order is None else td.bag_order
    for place, root in enumerate(roots.tolist()):
        leaves = tree.kappa[tree.parent == root].tolist()
        assert leaves == order[td.bag_ptr[place] : td.bag_ptr[place + 1]].tolist()
    assert tree.num_nodes == len(roots) + len(td.bag_nodes)


@given(graph=GRAPHS)
@settings(deadline=None, max_examples=120)
def test_the_recursion_below_canonical_roots(graph: nt.Graph) -> None:
    """Below every root stands the H-tree of its subgraph, by min-fill."""
    td = nt.decompose(graph, "canonical")
    tree = nt.build_htree(graph, td, "canonical")
    tree.validate(graph)
    roots = (tree.parent < 0).nonzero().flatten().tolist()
    assert [tree.bag(r) for r in roots] == list(td.bags)
    assert tree.kind[roots].tolist() == td.kinds.tolist()
    assert tree == nt.build_htree(graph, method="canonical")
    top = {r: r for r in roots}
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            top[node] = top[parent]
    for place, root in enumerate(roots):
        below = sorted(tree.bag(n) for n in top if top[n] == root and n != root)
        bag = np.array(td.bags[place])
        inside = graph.subgraph(bag)
        if inside.num_components == 1:  # else the bag alone is no decomposition into trees of components
            alone = nt.build_htree(inside, nt.TreeDecomposition([range(len(bag))]))
            assert below == sorted(tuple(bag[list(alone.bag(n))].tolist()) for n in range(1, alone.num_nodes))


@given(graph=GRAPHS)
@settings(deadline=None, max_examples=80)
def test_a_decomposition_that_is_not_known_to_fit(graph: nt.Graph) -> None:
    """A copy is checked, and gives the same tree."""
    td = nt.decompose(graph, "canonical")
    copy = pickle.loads(pickle.dumps(td))
    assert not copy.was_made_for(graph)
    for terminal in ("clique", "bag"):
        assert nt.build_htree(graph, copy, terminal=terminal) == nt.build_htree(graph, td, terminal=terminal)


@given(graph=GRAPHS, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=80)
def test_bags_in_any_order(graph: nt.Graph, seed: int) -> None:
    """Components, and parents before children, are put in order; no bag, kind or order is lost."""
    td = nt.decompose(graph, "canonical")
    new = np.random.default_rng(seed).permutation(len(td.bags))
    old = np.argsort(new)
    pieces = [slice(td.bag_ptr[b], td.bag_ptr[b + 1]) for b in old]
    shuffled = nt.TreeDecomposition._from_arrays(
        td.num_nodes,
        np.cumsum([0] + [p.stop - p.start for p in pieces]),
        np.concatenate([td.bag_nodes[:0], *(td.bag_nodes[p] for p in pieces)]),
        np.ascontiguousarray(new[td.edges].astype(np.int32).reshape(-1, 2)),
        kinds=td.kinds[old],
        bag_order=np.concatenate([td.bag_order[:0], *(td.bag_order[p] for p in pieces)]),
    )
    tree, usual = nt.build_htree(graph, shuffled, terminal="bag"), nt.build_htree(graph, td, terminal="bag")
    tree.validate(graph)

    def listed(t: nt.HTree) -> list[tuple]:
        roots = (t.parent < 0).nonzero().flatten().tolist()
        return sorted((t.bag(r), int(t.kind[r]), tuple(t.kappa[t.parent == r].tolist())) for r in roots)

    assert listed(tree) == listed(usual)


def test_a_decomposition_over_two_components() -> None:
    graph = nt.Graph([[0, 2], [1, 3]])
    tree = nt.build_htree(graph, nt.TreeDecomposition([range(4), [0]], [(0, 1)]), terminal="bag")
    tree.validate(graph)
    roots = (tree.parent < 0).nonzero().flatten().tolist()
    assert [tree.bag(r) for r in roots] == [(0, 1), (0,), (2, 3)]


def test_too_many_nodes() -> None:
    graph = nt.Graph(np.stack([np.arange(100), np.arange(1, 101) % 100]))
    with pytest.raises(nt.TreeTooLargeError, match="101 nodes"):
        nt.build_htree(graph, method="canonical", terminal="bag", max_nodes=100)
    assert nt.build_htree(graph, method="canonical", terminal="bag", max_nodes=101).num_nodes == 101


def test_terminal_is_checked() -> None:
    with pytest.raises(nt.InputError, match="Expected terminal out of clique, bag; got 'leaf'"):
        nt.build_htree(nt.Graph([[0], [1]]), terminal="leaf")
    with pytest.raises(nt.InputError, match="Expected terminal out of clique, bag; got 'leaf'"):
        nt.ToHTree(terminal="leaf")


def test_kinds_are_zero_by_default() -> None:
    tree = nt.build_htree(nt.Graph([[0], [1]]))
    assert tree.kind.tolist() == [0, 0, 0] and tree.kind.dtype == torch.int64


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ([4, 0, 0, 0], "root node 0 of 3 graph nodes has kind 4"),
        ([9, 0, 0, 0], "root node 0 of 3 graph nodes has kind 9"),
        ([259, 0, 0, 0], "root node 0 of 3 graph nodes has kind 259"),
        ([-1, 0, 0, 0], "root node 0 of 3 graph nodes has kind -1"),
        ([3, 1, 0, 0], "node 1 has a kind but is no root"),
        ([3, 0, 0], "the arrays parent and kind disagree"),
    ],
)
def test_wrong_kinds(kind: list[int], why: str) -> None:
    graph = nt.Graph([[0, 1, 2], [1, 2, 0]])
    tree = nt.build_htree(graph, method="canonical", terminal="bag")
    assert tree.kind.tolist() == [3, 0, 0, 0]
    with pytest.raises(nt.InvalidHTreeError, match=why):
        dataclasses.replace(tree, kind=torch.tensor(kind)).validate(graph)


def test_a_member_without_a_leaf() -> None:
    graph = nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]])
    tree = nt.build_htree(graph, method="canonical", terminal="bag")
    kappa, bag_nodes = tree.kappa.clone(), tree.bag_nodes.clone()
    kappa[-1], bag_nodes[-1] = kappa[-2], bag_nodes[-2]
    with pytest.raises(nt.InvalidHTreeError, match="has no leaf"):
        dataclasses.replace(tree, kappa=kappa, bag_nodes=bag_nodes).validate(graph)


@given(graphs=st.lists(strategies.graphs(max_nodes=7), max_size=4), terminal=st.sampled_from(["clique", "bag"]))
@settings(deadline=None, max_examples=40)
def test_a_dataset(graphs: list[nx.Graph], terminal: str) -> None:
    """One by one and all at once are the same, and a batch holds the tree of the union."""
    from torch_geometric.data import Batch, Data

    listed = [Data(edge_index=to_graph(g).edge_index, num_nodes=len(g)) for g in graphs]
    transform = nt.ToHTree(method="canonical", terminal=terminal)
    at_once = nt.attach_htrees(listed, method="canonical", terminal=terminal)
    for data, alone in zip(at_once, map(transform, listed), strict=True):
        assert data.htree == alone.htree
        data.htree.validate(nt.Graph.from_data(data))
        again = nt.HTreeData.from_data(data, data.htree)
        assert again.htree == data.htree
    if graphs:
        union = nt.Graph.union([to_graph(g) for g in graphs])
        assert Batch.from_data_list(at_once).htree == nt.build_htree(union, method="canonical", terminal=terminal)


def test_data_from_before_there_were_kinds() -> None:
    from torch_geometric.data import Data

    data = nt.attach_htree(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3))
    tree = data.htree
    del data.tree_kind
    assert data.htree == tree


def test_a_sample_is_decomposed_anew() -> None:
    from torch_geometric.data import Data

    dense = to_graph(nx.gnp_random_graph(30, 0.4, seed=1))
    data = Data(edge_index=dense.edge_index, num_nodes=30)
    (one,) = nt.attach_htrees([data], 2, "canonical")
    assert one.htree == nt.attach_htree(data, 2, "canonical").htree
    assert one.htree.kind[one.htree.parent < 0].min() > 0


@given(graph=strategies.graphs(max_nodes=14), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=40)
def test_networks_do_not_see_the_numbers_of_the_nodes(graph: nx.Graph, seed: int) -> None:
    from torch_geometric.data import Data

    torch.manual_seed(seed)
    features = torch.randn(len(graph), 3)
    network = nt.NeuralTree(3, 8, 2, num_layers=4, conv="gin").eval()
    old = torch.randperm(len(graph))
    new = old.argsort()
    edges = to_graph(graph).edge_index
    transform = nt.ToHTree(method="canonical", terminal="bag")
    one = transform(Data(edge_index=edges, num_nodes=len(graph)))
    other = transform(Data(edge_index=new[edges], num_nodes=len(graph)))
    answers = network(features, network.plan(one)), network(features[old], network.plan(other))
    assert torch.allclose(answers[0][old], answers[1], atol=1e-5)
