"""sample_bounded_treewidth: the facts of a sample on random graphs and on Cora."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from tests.oracle import strategies
from tests.oracle.arrays import arrays_of
from tests.oracle.bridge import from_graph, parts_of, to_graph
from tests.oracle.cora import largest_component, read_cora
from tests.oracle.decomposition import treewidth
from tests.oracle.invariants import check_htree
from tests.oracle.sampling import check_sample
from tests.oracle.sampling import sample_bounded_treewidth as oracle_sample


def check(graph: nx.Graph, k: int, seed: int = 0) -> nx.Graph:
    """The subgraph of a sample that obeys every fact."""
    sample = nt.sample_bounded_treewidth(to_graph(graph), k=k, seed=seed)
    sub, td = sample
    bags, edges = parts_of(td)
    check_sample(graph, from_graph(sub), [frozenset(bag) for bag in bags], edges, k)
    td.validate(sub)
    assert td.width <= k
    if graph.number_of_edges():
        assert sample.kept == pytest.approx(sub.num_edges / graph.number_of_edges())
    return from_graph(sub)


def test_cycle_loses_one_edge_for_a_tree_and_none_for_treewidth_two() -> None:
    cycle = nx.cycle_graph(4)
    assert check(cycle, k=1).number_of_edges() == 3
    assert check(cycle, k=2).number_of_edges() == 4


def test_triangle_with_a_tail_is_kept_whole_at_two() -> None:
    graph = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)])
    assert nx.utils.graphs_equal(check(graph, k=2), nx.Graph(sorted(graph.edges)))
    assert nt.sample_bounded_treewidth(to_graph(graph), k=1).kept == 0.75


def test_complete_graph_keeps_as_many_edges_as_a_k_tree() -> None:
    for k in (1, 2, 3, 4):
        assert check(nx.complete_graph(7), k).number_of_edges() == 7 * k - k * (k + 1) // 2


def test_isolated_nodes_and_components_stay() -> None:
    graph = nx.disjoint_union(nx.empty_graph(2), nx.complete_graph(4))
    sub, td = nt.sample_bounded_treewidth(to_graph(graph), k=2)
    assert (sub.num_nodes, sub.num_edges) == (6, 5)
    assert sorted(map(len, td.bags)) == [1, 1, 3, 3]


@given(graph=strategies.graphs(max_nodes=14), k=st.integers(1, 5), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=200)
def test_every_fact_holds(graph: nx.Graph, k: int, seed: int) -> None:
    check(graph, k, seed)


@given(graph=strategies.graphs(max_nodes=10), k=st.integers(1, 3))
@settings(deadline=None, max_examples=40)
def test_treewidth_by_brute_force(graph: nx.Graph, k: int) -> None:
    sub, _ = nt.sample_bounded_treewidth(to_graph(graph), k=k)
    assert treewidth(len(graph), from_graph(sub).edges) <= k


@given(graph=strategies.graphs(max_nodes=12), k=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=40)
def test_same_seed_same_sample_in_any_order_of_edges(graph: nx.Graph, k: int, seed: int) -> None:
    edges = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    backwards = nt.Graph(np.ascontiguousarray(edges[::-1, ::-1].T), num_nodes=len(graph))
    sub, td = nt.sample_bounded_treewidth(to_graph(graph), k=k, seed=seed)
    again, td_again = nt.sample_bounded_treewidth(backwards, k=k, seed=seed)
    assert sub.edge_index.tolist() == again.edge_index.tolist()
    assert parts_of(td) == parts_of(td_again)


@given(graph=strategies.graphs(max_nodes=12), k=st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_sample_and_its_decomposition_build_an_htree(graph: nx.Graph, k: int) -> None:
    sub, td = nt.sample_bounded_treewidth(to_graph(graph), k=k)
    ht = nt.build_htree(sub, decomposition=td)
    check_htree(arrays_of(ht), from_graph(sub))
    assert ht.treewidth == td.width <= k


@pytest.fixture(scope="module")
def cora(data_root: Path) -> nx.Graph:
    return read_cora(data_root)


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_cora(cora: nx.Graph, k: int) -> None:
    check(cora, k)


@pytest.mark.parametrize(("k", "share"), [(1, 0.490), (2, 0.673), (4, 0.737)])
def test_share_of_the_edges_kept_on_the_largest_component_of_cora(cora: nx.Graph, k: int, share: float) -> None:
    component = largest_component(cora)
    kept = check(component, k).number_of_edges()
    assert kept / 5069 == pytest.approx(share, abs=0.01)
    plain, _ = oracle_sample(component, k)
    assert kept / 5069 == pytest.approx(plain.number_of_edges() / 5069, abs=0.01)
    if k == 1:
        assert kept == 2484


def test_another_seed_keeps_other_edges(cora: nx.Graph) -> None:
    assert set(check(cora, k=2, seed=0).edges) != set(check(cora, k=2, seed=1).edges)


def test_cora_htree(cora: nx.Graph) -> None:
    sub, td = nt.sample_bounded_treewidth(to_graph(cora), k=4)
    ht = nt.build_htree(sub, decomposition=td)
    check_htree(arrays_of(ht), from_graph(sub))
    assert ht.num_nodes == pytest.approx(28_769, rel=0.02)
