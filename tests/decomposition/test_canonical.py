"""The canonical decomposition: brute force, permutations, special graphs, and the order of cycles."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees import BagKind
from tests.oracle import spqr, strategies
from tests.oracle.bridge import to_graph


def labelled(td: nt.TreeDecomposition, names: np.ndarray | None = None) -> tuple[Counter, set]:
    """Bags with kinds and the edges between them, as the oracle writes them, the vertices renamed."""
    assert td.kinds is not None
    keys = [
        (int(kind), frozenset(bag if names is None else names[list(bag)].tolist()))
        for kind, bag in zip(td.kinds, td.bags, strict=True)
    ]
    edges = {frozenset((keys[a], keys[b])) for a, b in td.edges.tolist()}
    assert len(edges) == len(td.edges)
    return Counter(keys), edges


def kinds_of(graph: nx.Graph) -> dict[str, int]:
    td = nt.decompose(to_graph(graph), "canonical")
    td.validate(to_graph(graph))
    return dict(Counter(BagKind(kind).name for kind in td.kinds))


def test_all_graphs_up_to_seven_nodes() -> None:
    for graph in nx.graph_atlas_g():
        td = nt.decompose(to_graph(graph), "canonical")
        td.validate(to_graph(graph))
        assert labelled(td) == spqr.canonical(graph), list(graph.edges)


@given(graph=strategies.graphs(max_nodes=11))
@settings(deadline=None, max_examples=150)
def test_brute_force(graph: nx.Graph) -> None:
    assert labelled(nt.decompose(to_graph(graph), "canonical")) == spqr.canonical(graph)


@given(graph=strategies.graphs(max_nodes=30), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=150)
def test_the_numbers_of_the_nodes_do_not_matter(graph: nx.Graph, seed: int) -> None:
    check_permuted(to_graph(graph), seed)


def check_permuted(graph: nt.Graph, seed: int) -> None:
    old = np.random.default_rng(seed).permutation(graph.num_nodes)  # the old number of every new node
    new = np.argsort(old)
    edges = graph.edge_index.numpy()
    permuted = nt.Graph(new[edges], num_nodes=graph.num_nodes)
    td = nt.decompose(permuted, "canonical")
    td.validate(permuted)
    assert labelled(td, old) == labelled(nt.decompose(graph, "canonical"))


@pytest.mark.parametrize(
    ("graph", "kinds"),
    [
        (nx.empty_graph(0), {}),
        (nx.empty_graph(3), {"VERTEX": 3}),
        (nx.path_graph(2), {"BRIDGE": 1}),
        (nx.path_graph(4), {"BRIDGE": 3, "VERTEX": 2}),
        (nx.star_graph(5), {"BRIDGE": 5, "VERTEX": 1}),
        (nx.cycle_graph(3), {"CYCLE": 1}),
        (nx.complete_graph(4), {"RIGID": 1}),
        (nx.wheel_graph(7), {"RIGID": 1}),
        (nx.petersen_graph(), {"RIGID": 1}),
        (nx.circular_ladder_graph(6), {"RIGID": 1}),
        (nx.complete_bipartite_graph(2, 3), {"PAIR": 1, "CYCLE": 3}),
        (nx.complete_bipartite_graph(2, 9), {"PAIR": 1, "CYCLE": 9}),
        (nx.complete_bipartite_graph(3, 3), {"RIGID": 1}),
        (nx.ladder_graph(6), {"PAIR": 4, "CYCLE": 5}),
        (nx.barbell_graph(4, 1), {"RIGID": 2, "BRIDGE": 2, "VERTEX": 3}),
        (nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]), {"PAIR": 1, "CYCLE": 2}),
    ],
    ids=lambda value: None if isinstance(value, dict) else f"{len(value)} nodes, {value.number_of_edges()} edges",
)
def test_known_graphs(graph: nx.Graph, kinds: dict[str, int]) -> None:
    assert kinds_of(graph) == kinds
    check_permuted(to_graph(graph), 0)


def test_theta_graphs() -> None:
    """Paths of several lengths between two vertices: a pair, and a cycle for every path of two edges or more."""
    for lengths in ((2, 2, 2), (1, 3, 4), (2, 3, 4, 5), (1, 2, 2, 2)):
        graph: nx.Graph = nx.Graph()
        for length in lengths:
            inner = [len(graph) + 2 + i for i in range(length - 1)]
            nx.add_path(graph, ["a", *inner, "b"])
            graph.add_nodes_from(inner)
        graph = nx.convert_node_labels_to_integers(graph)
        td = nt.decompose(to_graph(graph), "canonical")
        sizes = [len(bag) for bag, kind in zip(td.bags, td.kinds, strict=True) if kind == BagKind.CYCLE]
        assert sorted(sizes) == sorted(length + 1 for length in lengths if length > 1)
        assert (td.kinds == BagKind.PAIR).sum() == 1


@given(graph=strategies.graphs(max_nodes=14))
@settings(deadline=None, max_examples=100)
def test_cycles_stand_in_cyclic_order(graph: nx.Graph) -> None:
    td = nt.decompose(to_graph(graph), "canonical")
    assert td.kinds is not None and td.bag_order is not None
    pairs = {frozenset(bag) for bag, kind in zip(td.bags, td.kinds, strict=True) if kind == BagKind.PAIR}
    for (start, stop), kind in zip(pairwise(td.bag_ptr), td.kinds, strict=True):
        order = td.bag_order[start:stop].tolist()
        assert sorted(order) == td.bag_nodes[start:stop].tolist()
        if kind != BagKind.CYCLE:
            assert sorted(order) == order
            continue
        steps = list(pairwise([*order, order[0]]))
        assert all(graph.has_edge(*step) or frozenset(step) in pairs for step in steps)
        # Other pairs of members are joined neither by an edge nor outside of the cycle.
        others = [set(p) for p in pairs | {frozenset(e) for e in graph.edges} if p <= set(order)]
        assert all(any(set(step) == other for step in steps) for other in others)


@given(graph=strategies.graphs(max_nodes=14))
@settings(deadline=None, max_examples=60)
def test_bounds(graph: nx.Graph) -> None:
    td, exact = (nt.decompose(to_graph(graph), method) for method in ("canonical", "exact"))
    assert td.lower_bound <= exact.width <= td.width


def test_the_union_of_graphs_in_one_call() -> None:
    graphs = [to_graph(graph) for graph in nx.graph_atlas_g()]
    bags: Counter = Counter()
    for shift, graph in zip(np.cumsum([0] + [g.num_nodes for g in graphs]), graphs, strict=False):
        bags += labelled(nt.decompose(graph, "canonical"), np.arange(graph.num_nodes) + shift)[0]
    union = nt.Graph.union(graphs)
    td = nt.decompose(union, "canonical")
    td.validate(union)
    assert labelled(td)[0] == bags


@pytest.mark.parametrize("rungs", [False, True], ids=["cycle", "ladder"])
def test_a_million_nodes(rungs: bool) -> None:
    n = 1_000_000
    i = np.arange(n)
    ring = np.stack([i, (i + 1) % n])
    graph = nt.Graph(np.concatenate([ring, np.stack([i[: n // 2], n - 1 - i[: n // 2]])], 1) if rungs else ring)
    td = nt.decompose(graph, "canonical")
    if rungs:
        assert (td.width, np.bincount(td.kinds).tolist()) == (3, [0, 0, 0, n // 2 - 1, n // 2 - 2])
    else:
        assert (td.width, td.kinds.tolist()) == (n - 1, [BagKind.CYCLE])
        assert np.array_equal(td.bag_order, i)
    td.validate(graph)


def test_a_deep_path() -> None:
    n = 300_000
    td = nt.decompose(nt.Graph(np.stack([np.arange(n - 1), np.arange(1, n)])), "canonical")
    assert np.bincount(td.kinds).tolist() == [0, n - 2, n - 1]


@given(graph=strategies.graphs(max_nodes=25))
@settings(deadline=None, max_examples=100)
def test_refined(graph: nx.Graph) -> None:
    """Rigid bags are decomposed, and all other bags stay."""
    plain = nt.decompose(to_graph(graph), "canonical")
    fine = nt.decompose(to_graph(graph), "canonical", refine="min_fill")
    fine.validate(to_graph(graph))
    nt.build_htree(to_graph(graph), fine, terminal="bag").validate(to_graph(graph))
    nt.build_htree(to_graph(graph), fine).validate(to_graph(graph))
    before, after = labelled(plain)[0], labelled(fine)[0]
    pieces = [key for key in after.elements() if key[0] == BagKind.OTHER]
    replaced = before - after
    assert all(kind == BagKind.RIGID for kind, _ in replaced)
    assert (after - before).total() == len(pieces)
    assert frozenset().union(*(bag for _, bag in pieces)) == frozenset().union(*(bag for _, bag in replaced))
    assert fine.width <= plain.width and fine.lower_bound <= nt.decompose(to_graph(graph), "exact").width


def test_refine_is_checked() -> None:
    graph = to_graph(nx.petersen_graph())
    assert nt.decompose(graph, "canonical", refine="min_fill").width == nt.decompose(graph).width
    with pytest.raises(nt.InputError, match="Expected refine as None or min_fill; got 'best'"):
        nt.decompose(graph, "canonical", refine="best")
    with pytest.raises(nt.InputError, match="Expected refine only with method canonical; got 'exact'"):
        nt.decompose(graph, "exact", refine="min_fill")


def test_values() -> None:
    graph = to_graph(nx.ladder_graph(4))
    td = nt.decompose(graph, "canonical")
    again = pickle.loads(pickle.dumps(td))
    assert again == td and hash(again) == hash(td)
    assert np.array_equal(again.kinds, td.kinds) and np.array_equal(again.bag_order, td.bag_order)
    assert td.kinds.dtype == np.int8 and td.bag_order.dtype == np.int32
    plain = nt.TreeDecomposition(td.bags, td.edges)
    assert plain.kinds is None and plain.bag_order is None
    assert plain != td
    with pytest.raises(ValueError, match="read-only"):
        again.kinds[0] = 0
    state = td.__getstate__()
    del state["kinds"], state["bag_order"]  # as pickled before there were kinds
    old = nt.TreeDecomposition.__new__(nt.TreeDecomposition)
    old.__setstate__(state)
    assert old.kinds is None
