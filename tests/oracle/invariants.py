"""The invariants of an H-tree, one function each: (arrays, graph on 0..n-1) -> None or AssertionError."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations, pairwise
from types import SimpleNamespace

import networkx as nx
import numpy as np

from .arrays import bags_of
from .decomposition import bags_with, none_contains_another
from .htree import is_complete

Invariant = Callable[[SimpleNamespace, nx.Graph], None]


def arrays_are_consistent(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """Shapes agree, bags are sorted, levels count from the roots, every edge is there both ways with its type."""
    size = len(ht.parent)
    _require(len(ht.level) == len(ht.kappa) == len(ht.component) == size, "node arrays differ in length")
    _require(ht.bag_ptr.shape == (size + 1,), f"expected {size + 1} bag pointers, got {ht.bag_ptr.shape}")
    _require(ht.edge_index.shape == (2, len(ht.edge_type)), "edge_index and edge_type differ in length")
    _require(ht.bag_ptr[0] == 0 and ht.bag_ptr[-1] == len(ht.bag_nodes), "bag_ptr does not span bag_nodes")
    _require(bool((np.diff(ht.bag_ptr) > 0).all()), "a bag is empty")
    _require(set(ht.bag_nodes.tolist()) <= set(graph), "a bag holds a vertex that is not in the graph")
    for start, stop in pairwise(ht.bag_ptr.tolist()):
        bag = ht.bag_nodes[start:stop].tolist()
        _require(bag == sorted(set(bag)), "a bag is not sorted")
    for node, parent in enumerate(ht.parent.tolist()):
        level = 0 if parent == -1 else ht.level[parent] + 1
        _require(ht.level[node] == level, f"node {node} has level {ht.level[node]}, expected {level}")
    expected = Counter((node, parent, 1) for node, parent in enumerate(ht.parent.tolist()) if parent != -1)
    expected += Counter((parent, node, 2) for node, parent in enumerate(ht.parent.tolist()) if parent != -1)
    found = Counter(zip(*ht.edge_index.tolist(), ht.edge_type.tolist(), strict=True))
    roots = Counter({edge: count for edge, count in found.items() if edge[2] == 0})
    _require(found - roots == expected, "edges of type 1 and 2 are not the child-parent pairs")
    _require(all(ht.parent[u] == ht.parent[v] == -1 for u, v, _ in roots), "an edge of type 0 leaves the roots")
    _require(all(roots[v, u, 0] == count == 1 for (u, v, _), count in roots.items()), "a root edge lacks its reverse")


def forest_has_one_tree_per_component(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """The whole H-tree is a forest; its trees hold the graph's components, and ``component`` numbers them."""
    tree = _whole_graph(ht)
    _require(len(tree) == 0 or nx.is_forest(tree), "the H-tree has a cycle")
    trees = [sorted(nodes) for nodes in nx.connected_components(tree)]
    bags = bags_of(ht)
    _require_components((frozenset().union(*(bags[i] for i in nodes)) for nodes in trees), graph)
    numbers = [set(ht.component[nodes].tolist()) for nodes in trees]
    _require(all(len(number) == 1 for number in numbers), "component differs within a tree")
    _require(set().union(*numbers) == set(range(len(trees))), f"component does not number {len(trees)} trees")


def root_graph_has_one_tree_per_component(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """The root nodes alone are already such a forest."""
    roots = _whole_graph(ht).subgraph(_roots(ht))
    _require(len(roots) == 0 or nx.is_forest(roots), "the root graph has a cycle")
    bags = bags_of(ht)
    _require_components(
        (frozenset().union(*(bags[i] for i in nodes)) for nodes in nx.connected_components(roots)), graph
    )


def root_bags_are_connected_per_vertex(ht: SimpleNamespace, graph: nx.Graph) -> None:
    roots, tree = _roots(ht), _whole_graph(ht)
    bags = bags_of(ht)
    for v, holders in enumerate(bags_with(len(graph), [bags[root] for root in roots])):
        held = tree.subgraph(roots[i] for i in holders)
        _require(bool(holders) and nx.is_connected(held), f"the root bags that hold vertex {v} are not connected")


def root_bags_cover_every_edge(ht: SimpleNamespace, graph: nx.Graph) -> None:
    bags = bags_of(ht)
    holders = bags_with(len(graph), [bags[root] for root in _roots(ht)])
    for u, v in graph.edges:
        _require(not holders[u].isdisjoint(holders[v]), f"no root bag holds the edge {u}-{v}")


def root_bags_cover_every_clique(ht: SimpleNamespace, graph: nx.Graph) -> None:
    bags = bags_of(ht)
    holders = bags_with(len(graph), [bags[root] for root in _roots(ht)])
    for clique in nx.find_cliques(graph):
        held = set.intersection(*(holders[v] for v in clique))
        _require(bool(held), f"no root bag holds the clique {sorted(clique)}")


def no_root_bag_contains_another(ht: SimpleNamespace, graph: nx.Graph) -> None:
    bags = bags_of(ht)
    _require(none_contains_another([bags[root] for root in _roots(ht)]), "a root bag is contained in another")


def leaves_are_childless_singletons(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """A leaf, a node with a kappa, and a singleton without children are the same thing; it holds its kappa."""
    children, bags = _children(ht), bags_of(ht)
    for node, kappa in enumerate(ht.kappa.tolist()):
        _require((kappa >= 0) == (not children[node]), f"node {node}: kappa {kappa}, {len(children[node])} children")
        _require(kappa < 0 or bags[node] == {kappa}, f"leaf {node} of vertex {kappa} has the bag {set(bags[node])}")
        _require(kappa >= 0 or kappa == -1, f"node {node} has kappa {kappa}")


def every_graph_node_has_a_leaf(ht: SimpleNamespace, graph: nx.Graph) -> None:
    missing = set(graph) - set(ht.kappa.tolist())
    _require(not missing, f"the vertices {sorted(missing)} have no leaf")


def bag_is_the_union_of_the_kappas_below(ht: SimpleNamespace, graph: nx.Graph) -> None:
    below: list[set[int]] = [{kappa} if kappa >= 0 else set() for kappa in ht.kappa.tolist()]
    for node in np.argsort(-ht.level, kind="stable").tolist():
        if ht.parent[node] >= 0:
            below[ht.parent[node]] |= below[node]
    for node, bag in enumerate(bags_of(ht)):
        _require(bag == below[node], f"node {node} holds {sorted(bag)}, the leaves below it {sorted(below[node])}")


def children_are_strictly_smaller(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """A child's bag is a proper part of its parent's, unless it is the leaf of a singleton bag."""
    bags = bags_of(ht)
    for node, parent in enumerate(ht.parent.tolist()):
        leaf_of_singleton = ht.kappa[node] >= 0 and len(bags[parent]) == 1
        proper = parent == -1 or bags[node] < bags[parent] or (leaf_of_singleton and bags[node] == bags[parent])
        _require(proper, f"node {node} does not hold less than its parent {parent}")


def children_cover_the_induced_subgraph(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """Every vertex of G[B] is in a child of B, and every edge too, unless the children are leaves."""
    bags = bags_of(ht)
    for node, nested, leaves in _inner_nodes(ht):
        inside = [bags[child] for child in nested + leaves]
        _require(frozenset().union(*inside) == bags[node], f"the children of node {node} miss a vertex")
        if nested:
            for u, v in graph.subgraph(bags[node]).edges:
                _require(any({u, v} <= bag for bag in inside), f"no child of node {node} holds the edge {u}-{v}")


def children_are_a_tree_decomposition(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """The maximum spanning forest of the children's intersections weighs the sum of their sizes less their union's.

    That is what a forest weighs iff every vertex is connected in it, so a junction tree of the dropped edges exists.
    """
    bags = bags_of(ht)
    for node, nested, leaves in _inner_nodes(ht):
        inside = [bags[child] for child in nested + leaves]
        weight = _spanning_forest_weight(inside)
        expected = sum(map(len, inside)) - len(frozenset().union(*inside))
        _require(weight == expected, f"the children of node {node} span {weight}, a tree decomposition {expected}")


def no_child_contains_a_sibling(ht: SimpleNamespace, graph: nx.Graph) -> None:
    bags = bags_of(ht)
    for node, nested, leaves in _inner_nodes(ht):
        inside = [bags[child] for child in nested + leaves]
        _require(none_contains_another(inside), f"a child of node {node} is contained in another")


def children_are_leaves_iff_complete(ht: SimpleNamespace, graph: nx.Graph) -> None:
    bags = bags_of(ht)
    for node, nested, leaves in _inner_nodes(ht):
        _require(not nested or not leaves, f"node {node} has leaves beside nested bags")
        if is_complete(graph, bags[node]):
            same = sorted(ht.kappa[leaves].tolist()) == sorted(bags[node])
            _require(not nested and same, f"the complete bag {sorted(bags[node])} needs one leaf a vertex")
        else:
            _require(not leaves, f"the bag {sorted(bags[node])} is not complete but has leaves")


def sizes_are_bounded(ht: SimpleNamespace, graph: nx.Graph) -> None:
    """The appendix: with bags of at most b = treewidth + 1 vertices, at most n roots, a root's tree of depth at most
    its bag and at most 1 + b^b nodes, n + n b^b nodes in all, and degree - 1 at most b away from the roots."""
    bags, roots, n = bags_of(ht), _roots(ht), len(graph)
    if not roots:
        _require(len(bags) == 0, "there are nodes but no roots")
        return
    b = max(len(bags[root]) for root in roots)
    _require(len(roots) <= n, f"{len(roots)} roots for {n} vertices")
    _require(len(bags) <= n + n * b**b, f"{len(bags)} nodes, at most {n + n * b**b} expected")
    top = list(range(len(bags)))
    for node in np.argsort(ht.level, kind="stable").tolist():
        if ht.parent[node] >= 0:
            top[node] = top[ht.parent[node]]
            depth, limit = ht.level[node], len(bags[top[node]])
            _require(depth <= limit, f"node {node} lies {depth} below a root of {limit} vertices")
    sizes = Counter(top)
    _require(max(sizes.values()) <= 1 + b**b, f"a root has {max(sizes.values())} nodes, at most {1 + b**b} expected")
    degrees = np.bincount(ht.edge_index[0], minlength=len(bags))
    nested = degrees[ht.parent >= 0]
    _require(bool((nested - 1 <= b).all()), f"a nested node has degree {nested.max()}, at most {b + 1} expected")


ALL_INVARIANTS: list[Invariant] = [
    arrays_are_consistent,
    forest_has_one_tree_per_component,
    root_graph_has_one_tree_per_component,
    root_bags_are_connected_per_vertex,
    root_bags_cover_every_edge,
    root_bags_cover_every_clique,
    no_root_bag_contains_another,
    leaves_are_childless_singletons,
    every_graph_node_has_a_leaf,
    bag_is_the_union_of_the_kappas_below,
    children_are_strictly_smaller,
    children_cover_the_induced_subgraph,
    children_are_a_tree_decomposition,
    no_child_contains_a_sibling,
    children_are_leaves_iff_complete,
    sizes_are_bounded,
]


def check_htree(ht: SimpleNamespace, graph: nx.Graph) -> None:
    for invariant in ALL_INVARIANTS:
        invariant(ht, graph)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _roots(ht: SimpleNamespace) -> list[int]:
    return np.flatnonzero(ht.parent == -1).tolist()


def _children(ht: SimpleNamespace) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in ht.parent]
    for node, parent in enumerate(ht.parent.tolist()):
        if parent >= 0:
            children[parent].append(node)
    return children


def _inner_nodes(ht: SimpleNamespace) -> Iterable[tuple[int, list[int], list[int]]]:
    """Every node with children, its nested bags and its leaves."""
    for node, children in enumerate(_children(ht)):
        if children:
            yield node, [c for c in children if ht.kappa[c] < 0], [c for c in children if ht.kappa[c] >= 0]


def _whole_graph(ht: SimpleNamespace) -> nx.Graph:
    tree = nx.empty_graph(len(ht.parent))
    tree.add_edges_from(ht.edge_index.T.tolist())
    return tree


def _require_components(found: Iterable[frozenset[int]], graph: nx.Graph) -> None:
    expected = Counter(frozenset(nodes) for nodes in nx.connected_components(graph))
    _require(Counter(found) == expected, "the trees are not the connected components of the graph")


def _spanning_forest_weight(bags: list[frozenset[int]]) -> int:
    intersections: nx.Graph = nx.Graph()
    intersections.add_weighted_edges_from((i, j, len(bags[i] & bags[j])) for i, j in combinations(range(len(bags)), 2))
    return int(nx.maximum_spanning_tree(intersections).size(weight="weight"))
