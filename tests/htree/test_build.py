"""build_htree on literal graphs, on random ones, and against Algorithm 1 in plain Python."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from tests.oracle import strategies
from tests.oracle.arrays import NAMES, arrays_of, bags_of, tree_from_arrays
from tests.oracle.bridge import library_decompose, to_forest, to_graph
from tests.oracle.htree import build_htree as oracle_htree
from tests.oracle.htree import canonical, junction_tree
from tests.oracle.invariants import check_htree

METHODS = ("min_fill", "min_degree", "junction_tree", "exact")
ALL_METHODS = pytest.mark.parametrize("method", METHODS)

# The paper's figure, its nodes renumbered from 0.
GOLDEN = nx.Graph([(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 4)])


def root_bags(ht: nt.HTree) -> list[list[int]]:
    return sorted(
        sorted(bag) for bag, parent in zip(bags_of(arrays_of(ht)), ht.parent.tolist(), strict=True) if parent < 0
    )


def root_edges(ht: nt.HTree) -> list[list[list[int]]]:
    """The root-root edges as sorted pairs of bags, each once."""
    bags = [sorted(bag) for bag in bags_of(arrays_of(ht))]
    ends = ht.edge_index[:, ht.edge_type == 0].T.tolist()
    return sorted([bags[u], bags[v]] for u, v in ends if bags[u] < bags[v])


def families(ht: nt.HTree) -> list[tuple[list[int], list[list[int]]]]:
    """Every inner node's bag with the bags of its children, sorted."""
    arrays = arrays_of(ht)
    bags = [sorted(bag) for bag in bags_of(arrays)]
    children: dict[int, list[list[int]]] = {}
    for node, parent in enumerate(arrays.parent.tolist()):
        if parent >= 0:
            children.setdefault(parent, []).append(bags[node])
    return sorted((bags[parent], sorted(nested)) for parent, nested in children.items())


def same_arrays(a: nt.HTree, b: nt.HTree) -> bool:
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in NAMES)


def check(ht: nt.HTree, graph: nx.Graph) -> None:
    check_htree(arrays_of(ht), graph)
    ht.validate(to_graph(graph))


@pytest.mark.parametrize("method", ["min_fill", "min_degree"])
def test_golden_example(method: str) -> None:
    ht = nt.build_htree(to_graph(GOLDEN), method=method)
    assert ht.num_nodes == 18
    assert ht.edge_index.size(1) == 2 * 17
    assert root_bags(ht) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert root_edges(ht) == [[[0, 1, 2], [1, 2, 3]], [[1, 2, 3], [2, 3, 4]]]
    assert families(ht) == [
        ([0, 1], [[0], [1]]),
        ([0, 1, 2], [[0, 1], [0, 2]]),
        ([0, 2], [[0], [2]]),
        ([1, 2, 3], [[1, 3], [2, 3]]),
        ([1, 3], [[1], [3]]),
        ([2, 3], [[2], [3]]),
        ([2, 3, 4], [[2], [3], [4]]),
    ]
    assert sorted(ht.kappa.tolist()) == [-1] * 7 + [0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert sorted(ht.level.tolist()) == [0] * 3 + [1] * 7 + [2] * 8
    assert ht.edge_type.bincount().tolist() == [4, 15, 15]
    assert ht.component.tolist() == [0] * 18
    assert ht.treewidth == 2
    assert ht.diameter() == 5
    check(ht, GOLDEN)


def test_golden_example_with_the_names_of_the_paper() -> None:
    figure = nx.Graph([(1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 5)])
    by_name, by_number = nt.build_htree(nt.Graph.from_networkx(figure)), nt.build_htree(to_graph(GOLDEN))
    assert same_arrays(by_name, by_number)


@ALL_METHODS
def test_golden_example_has_as_many_nodes_with_every_method(method: str) -> None:
    ht = nt.build_htree(to_graph(GOLDEN), method=method)
    assert (ht.num_nodes, ht.edge_index.size(1), ht.treewidth) == (18, 34, 2)
    check(ht, GOLDEN)


def test_arrays_are_int64_tensors() -> None:
    ht = nt.build_htree(to_graph(GOLDEN))
    assert {name: getattr(ht, name).dtype for name in NAMES} == dict.fromkeys(NAMES, torch.int64)


def test_empty_graph() -> None:
    ht = nt.build_htree(to_graph(nx.empty_graph(0)))
    assert ht.num_nodes == 0
    assert ht.edge_index.shape == (2, 0)
    assert ht.bag_ptr.tolist() == [0]
    check(ht, nx.empty_graph(0))


@ALL_METHODS
def test_single_node(method: str) -> None:
    ht = nt.build_htree(to_graph(nx.empty_graph(1)), method=method)
    assert families(ht) == [([0], [[0]])]
    assert sorted(ht.parent.tolist()) == [-1, 0]
    assert sorted(ht.kappa.tolist()) == [-1, 0]
    assert ht.treewidth == 0
    check(ht, nx.empty_graph(1))


@ALL_METHODS
def test_complete_graph_is_a_star(method: str) -> None:
    ht = nt.build_htree(to_graph(nx.complete_graph(4)), method=method)
    assert families(ht) == [([0, 1, 2, 3], [[0], [1], [2], [3]])]
    assert ht.num_nodes == 5
    assert ht.diameter() == 2
    check(ht, nx.complete_graph(4))


@ALL_METHODS
def test_path_has_a_bag_an_edge(method: str) -> None:
    ht = nt.build_htree(to_graph(nx.path_graph(4)), method=method)
    assert root_bags(ht) == [[0, 1], [1, 2], [2, 3]]
    assert root_edges(ht) == [[[0, 1], [1, 2]], [[1, 2], [2, 3]]]
    assert ht.num_nodes == 9
    check(ht, nx.path_graph(4))


@ALL_METHODS
def test_three_bags_that_share_a_separator_are_a_tree(method: str) -> None:
    """K_{1,3}: joining every two bags that meet would give a triangle."""
    star = nx.star_graph(3)
    ht = nt.build_htree(to_graph(star), method=method)
    assert root_bags(ht) == [[0, 1], [0, 2], [0, 3]]
    assert len(root_edges(ht)) == 2
    assert (ht.num_nodes, ht.edge_index.size(1)) == (9, 2 * 8)
    check(ht, star)


def test_cycle_has_a_bag_that_induces_an_edge_and_a_lone_node() -> None:
    ht = nt.build_htree(to_graph(nx.cycle_graph(5)))
    assert root_bags(ht) == [[0, 1, 4], [1, 2, 4], [2, 3, 4]]
    assert root_edges(ht) == [[[0, 1, 4], [1, 2, 4]], [[1, 2, 4], [2, 3, 4]]]
    assert ([1, 2, 4], [[1, 2], [4]]) in families(ht)
    assert ([4], [[4]]) in families(ht)
    assert ht.num_nodes == 3 + 6 + 11
    check(ht, nx.cycle_graph(5))


def test_grid() -> None:
    """0 1 2
    3 4 5"""
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(2, 3))
    ht = nt.build_htree(to_graph(grid))
    assert root_bags(ht) == [[0, 1, 3], [1, 2, 4], [1, 3, 4], [2, 4, 5]]
    assert root_edges(ht) == [[[0, 1, 3], [1, 3, 4]], [[1, 2, 4], [1, 3, 4]], [[1, 2, 4], [2, 4, 5]]]
    assert ht.num_nodes == 4 + 8 + 16
    check(ht, grid)


@ALL_METHODS
def test_disconnected_graph(method: str) -> None:
    """An edge, a lone node and a triangle."""
    graph = nx.Graph([(0, 4), (1, 2), (2, 5), (1, 5)])
    graph.add_node(3)
    ht = nt.build_htree(to_graph(graph), method=method)
    assert families(ht) == [([0, 4], [[0], [4]]), ([1, 2, 5], [[1], [2], [5]]), ([3], [[3]])]
    assert root_edges(ht) == []
    assert sorted(ht.component.bincount().tolist()) == [2, 3, 4]
    check(ht, graph)


def test_union_of_two_graphs() -> None:
    triangle, path = nx.complete_graph(3), nx.path_graph(3)
    union = nt.Graph.union([to_graph(triangle), to_graph(path)])
    ht = nt.build_htree(union)
    assert families(ht) == [([0, 1, 2], [[0], [1], [2]]), ([3, 4], [[3], [4]]), ([4, 5], [[4], [5]])]
    assert root_edges(ht) == [[[3, 4], [4, 5]]]
    assert sorted(ht.component.bincount().tolist()) == [4, 6]
    assert ht.num_nodes == nt.build_htree(to_graph(triangle)).num_nodes + nt.build_htree(to_graph(path)).num_nodes
    check(ht, nx.disjoint_union(triangle, path))


def test_given_decomposition_whose_bag_induces_a_disconnected_subgraph() -> None:
    given = nt.TreeDecomposition([(0, 1, 3), (1, 2, 3)], np.array([[0, 1]]), num_nodes=4)
    ht = nt.build_htree(to_graph(nx.path_graph(4)), decomposition=given)
    assert root_bags(ht) == [[0, 1, 3], [1, 2, 3]]
    assert families(ht) == [
        ([0, 1], [[0], [1]]),
        ([0, 1, 3], [[0, 1], [3]]),
        ([1, 2], [[1], [2]]),
        ([1, 2, 3], [[1, 2], [2, 3]]),
        ([2, 3], [[2], [3]]),
        ([3], [[3]]),
    ]
    assert ht.treewidth == 2
    check(ht, nx.path_graph(4))


def test_given_decomposition_in_one_bag() -> None:
    everything = nt.TreeDecomposition([(0, 1, 2)], np.zeros((0, 2), dtype=np.int64), num_nodes=3)
    ht = nt.build_htree(to_graph(nx.path_graph(3)), decomposition=everything)
    assert families(ht) == [([0, 1], [[0], [1]]), ([0, 1, 2], [[0, 1], [1, 2]]), ([1, 2], [[1], [2]])]
    check(ht, nx.path_graph(3))


def test_given_decomposition_of_another_graph_is_refused() -> None:
    path = nt.decompose(to_graph(nx.path_graph(3)))
    with pytest.raises(nt.InvalidDecompositionError):
        nt.build_htree(to_graph(nx.complete_graph(3)), decomposition=path)


@pytest.mark.parametrize(
    ("graph", "bags", "edges", "roots", "joined"),
    [
        (nx.path_graph(3), [(0, 1), (1,), (1, 2)], [(0, 1), (1, 2)], [[0, 1], [1, 2]], [[[0, 1], [1, 2]]]),
        (nx.empty_graph(2), [(0,), (1,)], [(0, 1)], [[0], [1]], []),
        (nx.Graph([(0, 1), (2, 3)]), [(0, 1, 2, 3)], [], [[0, 1], [2, 3]], []),
    ],
    ids=["a bag in another", "two components in one tree", "two components in one bag"],
)
def test_given_decomposition_is_merged_and_cut_into_roots(
    graph: nx.Graph,
    bags: list[tuple[int, ...]],
    edges: list[tuple[int, int]],
    roots: list[list[int]],
    joined: list[list[list[int]]],
) -> None:
    """All are tree decompositions by the definition, but not the roots of an H-tree as they are."""
    given = nt.TreeDecomposition(bags, np.array(edges), num_nodes=len(graph))
    ht = nt.build_htree(to_graph(graph), decomposition=given)
    assert (root_bags(ht), root_edges(ht)) == (roots, joined)
    check(ht, graph)


def test_max_nodes_is_a_limit() -> None:
    assert nt.build_htree(to_graph(GOLDEN), max_nodes=18).num_nodes == 18
    with pytest.raises(nt.NeuralTreesError, match="17"):
        nt.build_htree(to_graph(GOLDEN), max_nodes=17)


@pytest.mark.parametrize(
    "other",
    [
        nx.Graph([*GOLDEN.edges, (0, 4)]),
        nx.Graph([*GOLDEN.edges, (1, 2)]),
        nx.Graph([edge for edge in GOLDEN.edges if edge != (3, 4)]),
        nx.path_graph(4),
        nx.path_graph(6),
    ],
    ids=["uncovered edge", "chord inside a bag", "bag no longer complete", "too few nodes", "too many nodes"],
)
def test_validate_refuses_another_graph(other: nx.Graph) -> None:
    ht = nt.build_htree(to_graph(GOLDEN))
    with pytest.raises(nt.InvalidHTreeError):
        ht.validate(to_graph(other))


@ALL_METHODS
@given(graph=strategies.graphs(max_nodes=10), seed=st.sampled_from([0, 0, 1, 2]))
@settings(deadline=None, max_examples=100)
def test_every_invariant_holds(method: str, graph: nx.Graph, seed: int) -> None:
    check(nt.build_htree(to_graph(graph), method=method, seed=seed), graph)


@ALL_METHODS
@given(graph=strategies.graphs(max_nodes=10))
@settings(deadline=None, max_examples=100)
def test_agrees_with_algorithm_1(method: str, graph: nx.Graph) -> None:
    ht = nt.build_htree(to_graph(graph), method=method, seed=0)
    assert canonical(tree_from_arrays(arrays_of(ht))) == canonical(oracle_htree(graph, library_decompose(method)))


@pytest.mark.parametrize("method", ["min_fill", "min_degree", "junction_tree"])
@pytest.mark.parametrize("number", range(8))
def test_agrees_with_algorithm_1_on_larger_graphs(method: str, number: int) -> None:
    graph = nx.gnp_random_graph(16 + 3 * number, 2.5 / (16 + 3 * number), seed=number)
    ht = nt.build_htree(to_graph(graph), method=method, seed=0)
    check(ht, graph)
    assert canonical(tree_from_arrays(arrays_of(ht))) == canonical(oracle_htree(graph, library_decompose(method)))


@given(graph=strategies.graphs(max_nodes=8), data=st.data())
@settings(deadline=None, max_examples=60)
def test_agrees_with_algorithm_1_when_the_decomposition_is_given(graph: nx.Graph, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(graph))))
    given = nt.TreeDecomposition.from_elimination_order(to_graph(graph), np.array(order, dtype=np.int64))
    ht = nt.build_htree(to_graph(graph), decomposition=given, method="min_fill", seed=0)
    expected = oracle_htree(graph, library_decompose("min_fill"), roots=to_forest(given))
    check(ht, graph)
    assert canonical(tree_from_arrays(arrays_of(ht))) == canonical(expected)
    assert ht.treewidth == given.width


@given(graph=strategies.graphs(max_nodes=9))
@settings(deadline=None, max_examples=40)
def test_networkx_junction_tree_is_a_decomposition_to_build_on(graph: nx.Graph) -> None:
    """The roots come from NetworkX alone; the library only nests."""
    roots = junction_tree(graph)
    bags = sorted(roots, key=sorted)
    edges = np.array([[bags.index(a), bags.index(b)] for a, b in roots.edges], dtype=np.int64).reshape(-1, 2)
    given = nt.TreeDecomposition([tuple(sorted(bag)) for bag in bags], edges, num_nodes=len(graph))
    ht = nt.build_htree(to_graph(graph), decomposition=given, method="min_fill")
    expected = oracle_htree(graph, library_decompose("min_fill"), roots=roots)
    assert canonical(tree_from_arrays(arrays_of(ht))) == canonical(expected)


@ALL_METHODS
@given(graph=strategies.graphs(max_nodes=10), seed=st.integers(0, 5))
@settings(deadline=None, max_examples=25)
def test_same_seed_same_arrays(method: str, graph: nx.Graph, seed: int) -> None:
    first = nt.build_htree(to_graph(graph), method=method, seed=seed)
    again = nt.build_htree(to_graph(graph), method=method, seed=seed)
    assert same_arrays(first, again)


@given(graph=strategies.graphs(max_nodes=10))
@settings(deadline=None, max_examples=25)
def test_order_of_the_edges_does_not_matter(graph: nx.Graph) -> None:
    edges = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    doubled = np.concatenate([edges[::-1, ::-1], edges]).T
    backwards = nt.Graph(np.ascontiguousarray(doubled), num_nodes=len(graph))
    assert same_arrays(nt.build_htree(to_graph(graph)), nt.build_htree(backwards))


@ALL_METHODS
@pytest.mark.parametrize("seed", [0, 3])
def test_number_of_threads_does_not_matter(method: str, seed: int) -> None:
    parts = [nx.gnp_random_graph(4 + number % 8, 0.5, seed=number) for number in range(60)]
    union = to_graph(nx.disjoint_union_all(parts))
    one = nt.build_htree(union, method=method, seed=seed, threads=1)
    two = nt.build_htree(union, method=method, seed=seed, threads=2)
    assert same_arrays(one, two)
    check(one, nx.disjoint_union_all(parts))


@given(graph=strategies.graphs(max_nodes=10))
@settings(deadline=None, max_examples=50)
def test_diameter_and_treewidth(graph: nx.Graph) -> None:
    ht = nt.build_htree(to_graph(graph))
    assert ht.treewidth == max(map(len, root_bags(ht))) - 1
    tree = tree_from_arrays(arrays_of(ht))
    if nx.is_connected(tree):
        assert ht.diameter() == nx.diameter(tree)


@given(graph=strategies.graphs(max_nodes=8))
@settings(deadline=None, max_examples=50)
def test_every_maximal_clique_is_a_bag_of_leaves(graph: nx.Graph) -> None:
    """What graph-compatible functions need of an H-tree."""
    over_leaves = {
        tuple(bag) for bag, nested in families(nt.build_htree(to_graph(graph))) if nested == [[v] for v in bag]
    }
    assert {tuple(sorted(clique)) for clique in nx.find_cliques(graph)} <= over_leaves
