"""Every invariant accepts the golden H-tree and refuses the one corruption that it is there for."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from tests.oracle import invariants
from tests.oracle.arrays import arrays_from_tree
from tests.oracle.htree import build_htree
from tests.oracle.invariants import ALL_INVARIANTS, Invariant, check_htree

# The paper's figure with its nodes renumbered from 0. Roots 0 {0,1,2}, 1 {1,2,3}, 2 {2,3,4}; the children of 0 are
# the bags 3 {0,1} and 6 {0,2}, those of 1 the bags 9 {1,3} and 12 {2,3}, and 2 is complete: its leaves are 15, 16, 17.
GOLDEN = nx.Graph([(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 4)])
# A path on four nodes as one bag {0,1,2,3} over {0,1}, {1,2}, {2,3}.
PATH = nx.path_graph(4)


def golden() -> SimpleNamespace:
    return arrays_from_tree(build_htree(GOLDEN))


def path_in_one_bag() -> SimpleNamespace:
    one_bag: nx.Graph = nx.Graph()
    one_bag.add_node(frozenset(PATH))
    return arrays_from_tree(build_htree(PATH, roots=one_bag))


def with_bags(ht: SimpleNamespace, changed: dict[int, list[int]]) -> SimpleNamespace:
    old = np.split(ht.bag_nodes, ht.bag_ptr[1:-1])
    bags = [changed.get(node, bag.tolist()) for node, bag in enumerate(old)]
    ht.bag_ptr = np.cumsum([0] + [len(bag) for bag in bags])
    ht.bag_nodes = np.array([v for bag in bags for v in bag])
    return ht


def with_edges(ht: SimpleNamespace, edges: list[tuple[int, int, int]]) -> SimpleNamespace:
    ht.edge_index = np.array([edge[:2] for edge in edges]).T
    ht.edge_type = np.array([edge[2] for edge in edges])
    return ht


def edges_of(ht: SimpleNamespace) -> list[tuple[int, int, int]]:
    return list(zip(*ht.edge_index.tolist(), ht.edge_type.tolist(), strict=True))


def test_golden_arrays() -> None:
    ht = golden()
    assert ht.parent.tolist() == [-1, -1, -1, 0, 3, 3, 0, 6, 6, 1, 9, 9, 1, 12, 12, 2, 2, 2]
    assert ht.level.tolist() == [0, 0, 0, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 1, 1]
    assert ht.kappa.tolist() == [-1, -1, -1, -1, 0, 1, -1, 0, 2, -1, 1, 3, -1, 2, 3, 2, 3, 4]
    assert ht.component.tolist() == [0] * 18
    assert np.bincount(ht.edge_type).tolist() == [4, 15, 15]


@pytest.mark.parametrize("invariant", ALL_INVARIANTS)
def test_accepts_valid_trees(invariant: Invariant) -> None:
    invariant(golden(), GOLDEN)
    invariant(path_in_one_bag(), PATH)
    invariant(arrays_from_tree(nx.Graph()), nx.Graph())


def wrong_edge_type() -> SimpleNamespace:
    ht = golden()
    return with_edges(ht, [(u, v, 3 - t) if t else (u, v, t) for u, v, t in edges_of(ht)])


def one_way_edge() -> SimpleNamespace:
    ht = golden()
    return with_edges(ht, [edge for edge in edges_of(ht) if edge != (0, 1, 0)])


def wrong_level() -> SimpleNamespace:
    ht = golden()
    ht.level[4] = 1
    return ht


def unsorted_bag() -> SimpleNamespace:
    return with_bags(golden(), {0: [2, 1, 0]})


def bag_outside_the_graph() -> SimpleNamespace:
    return with_bags(golden(), {0: [0, 1, 7]})


def edge_between_leaves() -> SimpleNamespace:
    ht = golden()
    return with_edges(ht, [*edges_of(ht), (4, 5, 0), (5, 4, 0)])


def one_component_too_many() -> SimpleNamespace:
    ht = golden()
    ht.component[17] = 1
    return ht


def triangle_of_roots() -> SimpleNamespace:
    ht = golden()
    return with_edges(ht, [*edges_of(ht), (0, 2, 0), (2, 0, 0)])


def roots_without_a_link() -> SimpleNamespace:
    ht = golden()
    return with_edges(ht, [edge for edge in edges_of(ht) if edge not in [(0, 1, 0), (1, 0, 0)]])


def roots_in_another_order() -> SimpleNamespace:
    """{0,1,2} - {2,3,4} - {1,2,3}: vertex 1 is in the two ends only."""
    ht = golden()
    swap = {(0, 1): (0, 2), (1, 0): (2, 0)}
    return with_edges(ht, [(*swap.get((u, v), (u, v)), t) for u, v, t in edges_of(ht)])


def root_bag_without_a_vertex() -> SimpleNamespace:
    return with_bags(golden(), {0: [1, 2]})


def root_bag_in_another() -> SimpleNamespace:
    return with_bags(golden(), {1: [2, 3]})


def kappa_on_a_bag() -> SimpleNamespace:
    ht = golden()
    ht.kappa[3] = 0
    return ht


def leaf_without_kappa() -> SimpleNamespace:
    ht = golden()
    ht.kappa[4] = -1
    return ht


def leaf_of_another_vertex() -> SimpleNamespace:
    ht = golden()
    ht.kappa[4] = 1
    return ht


def vertex_without_leaf() -> SimpleNamespace:
    ht = golden()
    ht.kappa[17] = 3
    return ht


def bag_with_too_much() -> SimpleNamespace:
    return with_bags(golden(), {3: [0, 1, 2]})


def child_without_a_vertex() -> SimpleNamespace:
    return with_bags(golden(), {12: [2]})


def child_edges_uncovered() -> SimpleNamespace:
    """{1,3} and {2,3} become {1} and {2,3}: vertex 3 is still there, the edge 1-3 is not."""
    return with_bags(golden(), {9: [1]})


def children_in_a_circle() -> SimpleNamespace:
    """{0,1}, {1,2}, {2,3} become {0,1,3}, {1,2}, {2,3}, which no tree can join."""
    ht = path_in_one_bag()
    return with_bags(ht, {1: [0, 1, 3]})


def child_in_a_sibling() -> SimpleNamespace:
    ht = path_in_one_bag()
    return with_bags(ht, {1: [0, 1, 2]})


def leaf_beside_bags() -> SimpleNamespace:
    ht = golden()
    ht.parent[4] = 0
    return ht


def one_root_too_deep() -> SimpleNamespace:
    ht = golden()
    ht.level[4] = 4
    return ht


def nested_star() -> SimpleNamespace:
    """All leaves hang from node 3: more than treewidth + 2 neighbours away from the roots."""
    ht = golden()
    ht.edge_index[0, ht.edge_type == 2] = 3
    return ht


CORRUPTIONS: dict[str, list[Callable[[], SimpleNamespace]]] = {
    "arrays_are_consistent": [wrong_edge_type, one_way_edge, wrong_level, unsorted_bag, bag_outside_the_graph],
    "forest_has_one_tree_per_component": [edge_between_leaves, one_component_too_many, roots_without_a_link],
    "root_graph_has_one_tree_per_component": [triangle_of_roots, roots_without_a_link],
    "root_bags_are_connected_per_vertex": [roots_in_another_order, roots_without_a_link],
    "root_bags_cover_every_edge": [root_bag_without_a_vertex],
    "root_bags_cover_every_clique": [root_bag_without_a_vertex],
    "no_root_bag_contains_another": [root_bag_in_another],
    "leaves_are_childless_singletons": [kappa_on_a_bag, leaf_without_kappa, leaf_of_another_vertex],
    "every_graph_node_has_a_leaf": [vertex_without_leaf],
    "bag_is_the_union_of_the_kappas_below": [bag_with_too_much, leaf_of_another_vertex],
    "children_are_strictly_smaller": [bag_with_too_much],
    "children_cover_the_induced_subgraph": [child_without_a_vertex, child_edges_uncovered],
    "children_are_a_tree_decomposition": [children_in_a_circle],
    "no_child_contains_a_sibling": [child_in_a_sibling],
    "children_are_leaves_iff_complete": [leaf_beside_bags],
    "sizes_are_bounded": [one_root_too_deep, nested_star],
}


def test_every_invariant_has_a_corruption() -> None:
    assert list(CORRUPTIONS) == [invariant.__name__ for invariant in ALL_INVARIANTS]


@pytest.mark.parametrize(("name", "corrupt"), [(name, case) for name, cases in CORRUPTIONS.items() for case in cases])
def test_refuses_its_corruption(name: str, corrupt: Callable[[], SimpleNamespace]) -> None:
    graph = PATH if corrupt in (children_in_a_circle, child_in_a_sibling) else GOLDEN
    with pytest.raises(AssertionError):
        getattr(invariants, name)(corrupt(), graph)


def test_refuses_the_tree_of_another_graph() -> None:
    """The clique {1,2,3} of the chord is covered by a bag, but its nested bags {1,3} and {2,3} no longer are all."""
    chorded: nx.Graph = nx.Graph([*GOLDEN.edges, (1, 2)])
    invariants.root_bags_cover_every_clique(golden(), chorded)
    with pytest.raises(AssertionError, match="no child of node 0 holds the edge 1-2"):
        invariants.children_cover_the_induced_subgraph(golden(), chorded)
    with pytest.raises(AssertionError, match="complete bag"):
        invariants.children_are_leaves_iff_complete(golden(), chorded)
    with pytest.raises(AssertionError, match="clique"):
        invariants.root_bags_cover_every_clique(golden(), nx.Graph([*GOLDEN.edges, (0, 3)]))


def test_too_many_nodes_for_the_bound() -> None:
    """A star of 7 leaves on one bag of one vertex: 1 + 1^1 nodes a root are allowed."""
    ht = golden()
    ht.parent = np.array([-1, *[0] * 7])
    ht.level = np.array([0, *[1] * 7])
    ht.bag_ptr, ht.bag_nodes = np.arange(9), np.zeros(8, dtype=np.int64)
    ht.edge_index = np.zeros((2, 0), dtype=np.int64)
    with pytest.raises(AssertionError, match="nodes, at most 2 expected"):
        invariants.sizes_are_bounded(ht, nx.empty_graph(1))


def test_too_many_roots_for_the_bound() -> None:
    ht = path_in_one_bag()
    with pytest.raises(AssertionError, match="1 roots for 0 vertices"):
        invariants.sizes_are_bounded(ht, nx.empty_graph(0))


def test_check_htree_runs_them_all() -> None:
    check_htree(golden(), GOLDEN)
    with pytest.raises(AssertionError, match="has the bag"):
        check_htree(vertex_without_leaf(), GOLDEN)
