"""sample_bounded_treewidth: the facts of a sample on random graphs and on Cora."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.datasets import CitationNetwork, StanfordSceneGraphs
from neuraltrees.decomposition.sampling import Sampler
from tests.oracle import strategies
from tests.oracle.arrays import arrays_of
from tests.oracle.bridge import from_graph, parts_of, to_graph
from tests.oracle.cora import largest_component, read_cora
from tests.oracle.decomposition import treewidth
from tests.oracle.invariants import check_htree
from tests.oracle.sampling import check_sample
from tests.oracle.sampling import sample_bounded_treewidth as oracle_sample

SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)


def check(graph: nx.Graph, k: int, seed: int = 0, sampler: Sampler = "elimination", restarts: int = 2) -> nx.Graph:
    """The subgraph of a sample that obeys every fact."""
    sample = nt.sample_bounded_treewidth(to_graph(graph), k=k, seed=seed, sampler=sampler, restarts=restarts)
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


@given(
    graph=strategies.graphs(max_nodes=14),
    k=st.integers(1, 5),
    seed=st.integers(0, 9),
    sampler=st.sampled_from(SAMPLERS),
    restarts=st.integers(1, 4),
)
@settings(deadline=None, max_examples=300)
def test_every_fact_holds(graph: nx.Graph, k: int, seed: int, sampler: Sampler, restarts: int) -> None:
    check(graph, k, seed, sampler, restarts)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_fact_holds_on_larger_graphs(sampler: Sampler) -> None:
    """Hubs, meshes, cliques and sparse graphs of a size at which vertices are dropped, exchanged and cut into slabs."""
    graphs = [
        nx.gnm_random_graph(200, 500, seed=1),
        nx.barabasi_albert_graph(200, 3, seed=2),
        king(30, 30),
        king(60, 4),
        nx.convert_node_labels_to_integers(nx.grid_2d_graph(40, 12)),
        nx.disjoint_union(nx.complete_graph(12), nx.complete_bipartite_graph(3, 60)),
        nx.wheel_graph(80),
    ]
    for graph in graphs:
        for k in (1, 2, 4, 7):
            check(graph, k, sampler=sampler)


@given(graph=strategies.graphs(max_nodes=14), more=st.integers(0, 3), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=100)
def test_what_min_fill_decomposes_within_the_bound_is_kept_whole(graph: nx.Graph, more: int, seed: int) -> None:
    k = max(1, nt.decompose(to_graph(graph)).width) + more
    assert nt.sample_bounded_treewidth(to_graph(graph), k=k, seed=seed, restarts=1).kept == 1


@pytest.mark.parametrize("k", range(2, 7))
def test_a_cycle_is_kept_whole(k: int) -> None:
    assert check(nx.cycle_graph(12), k).number_of_edges() == 12


def test_large_graphs_within_the_bound_are_kept_whole() -> None:
    """Above 64 nodes, and where elimination by degree is too wide."""
    for graph in (king(3, 60), nx.grid_2d_graph(4, 4), nx.grid_2d_graph(5, 40), nx.random_labeled_tree(300, seed=1)):
        numbered = nx.convert_node_labels_to_integers(graph)
        k = nt.decompose(to_graph(numbered)).width
        assert nt.sample_bounded_treewidth(to_graph(numbered), k=k).kept == 1


def test_a_component_that_fits_is_kept_whole_beside_one_that_does_not() -> None:
    graph = nx.disjoint_union(nx.complete_graph(9), nx.cycle_graph(9))
    kept = check(graph, k=2)
    assert kept.subgraph(range(9, 18)).number_of_edges() == 9
    assert kept.subgraph(range(9)).number_of_edges() == 2 * 9 - 3


@given(graph=strategies.graphs(max_nodes=14), k=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=60)
def test_more_restarts_never_keep_fewer_edges(graph: nx.Graph, k: int, seed: int) -> None:
    found = [nt.sample_bounded_treewidth(to_graph(graph), k, seed, restarts=r).kept for r in (1, 2, 3, 6)]
    assert found == sorted(found)


@pytest.mark.parametrize(
    "graph", [nx.gnm_random_graph(2000, 6000, seed=3), nx.barabasi_albert_graph(1000, 4, seed=1)], ids=["gnm", "hubs"]
)
def test_more_edges_are_kept_with_a_larger_bound_and_more_than_by_the_paper(graph: nx.Graph) -> None:
    ours, theirs = (
        [nt.sample_bounded_treewidth(to_graph(graph), k, sampler=sampler).kept for k in (1, 2, 4, 6, 8)]
        for sampler in SAMPLERS
    )
    assert all(few < many for few, many in pairwise(ours))
    assert all(our >= their for our, their in zip(ours, theirs, strict=True))


def king(rows: int, columns: int) -> nx.Graph:
    """A grid with diagonals: nodes are joined as a king moves."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))
    for i in range(rows - 1):
        graph.add_edges_from((i * columns + j, (i + 1) * columns + j + 1) for j in range(columns - 1))
        graph.add_edges_from((i * columns + j + 1, (i + 1) * columns + j) for j in range(columns - 1))
    return graph


@pytest.mark.parametrize(("k", "share"), [(2, 0.5), (4, 0.75), (6, 0.85), (8, 0.89)])
def test_a_mesh_keeps_what_strips_of_rows_keep(k: int, share: float) -> None:
    """Strips of k - 1 rows keep 75, 86 and 89 % of a king's graph at k = 4, 6 and 8."""
    sample = nt.sample_bounded_treewidth(to_graph(king(100, 100)), k=k)
    sample.decomposition.validate(sample.subgraph)
    assert sample.kept >= share


def test_an_unknown_sampler_is_refused() -> None:
    with pytest.raises(nt.InputError, match="Expected sampler out of elimination, paper; got 'growth'"):
        nt.sample_bounded_treewidth(nt.Graph([[0], [1]]), 1, sampler="growth")  # type: ignore[arg-type]


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
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_cora(cora: nx.Graph, k: int, sampler: Sampler) -> None:
    check(cora, k, sampler=sampler)


@pytest.mark.parametrize(("name", "share"), [("cora", 0.84), ("citeseer", 0.89), ("pubmed", 0.62)])
def test_share_of_the_edges_of_citation_networks_at_four(data_root: Path, name: str, share: float) -> None:
    graph = nt.Graph.from_data(CitationNetwork(name, data_root)[0])
    sample = nt.sample_bounded_treewidth(graph, k=4)
    sample.decomposition.validate(sample.subgraph)
    assert sample.decomposition.width <= 4
    assert sample.kept >= share
    tree, paper = (nt.build_htree(*nt.sample_bounded_treewidth(graph, k=4, sampler=sampler)) for sampler in SAMPLERS)
    assert tree.num_nodes < paper.num_nodes / 2


def test_scenes_within_the_bound_keep_all_edges_and_their_trees_do_not_grow(data_root: Path) -> None:
    scenes = [scene for scene in StanfordSceneGraphs(data_root) if nt.attach_htree(scene).htree.treewidth <= 4]
    for scene in scenes:
        assert nt.sample_bounded_treewidth(nt.Graph.from_data(scene), k=4).kept == 1
    bounded, whole = nt.attach_htrees(scenes, max_treewidth=4), nt.attach_htrees(scenes)
    assert sum(len(data.tree_leaf) for data in bounded) <= sum(len(data.tree_leaf) for data in whole)


@pytest.mark.parametrize(("k", "share"), [(1, 0.490), (2, 0.673), (4, 0.737)])
def test_share_of_the_edges_kept_on_the_largest_component_of_cora(cora: nx.Graph, k: int, share: float) -> None:
    component = largest_component(cora)
    kept = check(component, k, sampler="paper").number_of_edges()
    assert kept / 5069 == pytest.approx(share, abs=0.01)
    plain, _ = oracle_sample(component, k)
    assert kept / 5069 == pytest.approx(plain.number_of_edges() / 5069, abs=0.01)
    if k == 1:
        assert kept == 2484


def test_another_seed_keeps_other_edges(cora: nx.Graph) -> None:
    assert set(check(cora, k=2, seed=0).edges) != set(check(cora, k=2, seed=1).edges)


def test_cora_htree(cora: nx.Graph) -> None:
    for sampler, nodes in (("paper", 28_769), ("elimination", 14_000)):
        sub, td = nt.sample_bounded_treewidth(to_graph(cora), k=4, sampler=sampler)
        ht = nt.build_htree(sub, decomposition=td)
        check_htree(arrays_of(ht), from_graph(sub))
        assert ht.num_nodes == pytest.approx(nodes, rel=0.02)
