"""Algorithm 1 of the paper in plain Python over NetworkX graphs.

An H-tree is an ``nx.Graph`` whose nodes 0, 1, ... carry ``bag`` (a frozenset of graph nodes), ``kappa`` (the graph
node of a leaf, None for a bag), ``level`` (0 for roots) and ``parent`` (None for roots).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import networkx as nx
from networkx.algorithms.approximation import treewidth_min_fill_in

Bag = frozenset[int]
Decompose = Callable[[nx.Graph], nx.Graph]
"""Gives the forest whose nodes are the bags (frozensets) of a graph, none of them contained in another."""

Form = tuple[Any, ...]


def min_fill(graph: nx.Graph) -> nx.Graph:
    """NetworkX's min-fill decomposition of each component, with contained bags merged into their containers."""
    forest: nx.Graph = nx.Graph()
    for component in nx.connected_components(graph):
        _, tree = treewidth_min_fill_in(graph.subgraph(component))
        forest.update(without_contained_bags(tree))
    return forest


def junction_tree(graph: nx.Graph) -> nx.Graph:
    """The paper's appendix: triangulate, take the maximal cliques, span their intersections with most weight."""
    chordal: nx.Graph = nx.Graph()
    for component in nx.connected_components(graph):
        chordal.update(nx.complete_to_chordal_graph(graph.subgraph(component).copy())[0])
    intersections: nx.Graph = nx.Graph()
    intersections.add_nodes_from(frozenset(clique) for clique in nx.find_cliques(chordal))
    for a, b in combinations(list(intersections), 2):
        if a & b:
            intersections.add_edge(a, b, weight=len(a & b))
    return nx.maximum_spanning_tree(intersections)


def networkx_junction_tree(graph: nx.Graph) -> nx.Graph:
    """NetworkX's own junction tree of each component, the cliques around a separator joined to the first of them."""
    forest: nx.Graph = nx.Graph()
    for component in nx.connected_components(graph):
        tree = nx.junction_tree(graph.subgraph(component))
        cliques = {node: frozenset(node) for node, kind in tree.nodes(data="type") if kind == "clique"}
        forest.add_nodes_from(cliques.values())
        for separator in tree.nodes - cliques.keys():
            first, *rest = (cliques[node] for node in tree[separator])
            forest.add_edges_from((first, other) for other in rest)
    return forest


def without_contained_bags(tree: nx.Graph) -> nx.Graph:
    """The decomposition with every bag that lies inside a neighbouring bag contracted into it.

    Neighbours suffice: a bag inside a far one lies, by connectedness, inside the next bag on the way.
    """
    tree = tree.copy()
    for bag in list(tree):
        container = next((other for other in tree[bag] if bag <= other), None)
        if container is not None:
            tree.add_edges_from((container, other) for other in tree[bag] if other != container)
            tree.remove_node(bag)
    return tree


def build_htree(graph: nx.Graph, decompose: Decompose = min_fill, roots: nx.Graph | None = None) -> nx.Graph:
    """The H-tree of a graph, from a root decomposition of its own when one is given."""
    roots = decompose(graph) if roots is None else roots
    tree: nx.Graph = nx.Graph()
    node_of = {bag: _add_node(tree, bag, parent=None) for bag in sorted(roots, key=sorted)}
    tree.add_edges_from((node_of[a], node_of[b]) for a, b in roots.edges)
    for node in node_of.values():
        _add_children(tree, node, graph, decompose)
    return tree


def _add_children(tree: nx.Graph, node: int, graph: nx.Graph, decompose: Decompose) -> None:
    bag = tree.nodes[node]["bag"]
    if is_complete(graph, bag):
        for v in sorted(bag):
            _add_node(tree, frozenset([v]), parent=node, kappa=v)
    else:
        for child_bag in sorted(decompose(graph.subgraph(bag)), key=sorted):
            child = _add_node(tree, child_bag, parent=node)
            _add_children(tree, child, graph, decompose)


def _add_node(tree: nx.Graph, bag: Bag, parent: int | None, kappa: int | None = None) -> int:
    node = tree.number_of_nodes()
    level = 0 if parent is None else tree.nodes[parent]["level"] + 1
    tree.add_node(node, bag=bag, kappa=kappa, level=level, parent=parent)
    if parent is not None:
        tree.add_edge(node, parent)
    return node


def is_complete(graph: nx.Graph, bag: Iterable[int]) -> bool:
    return all(graph.has_edge(u, v) for u, v in combinations(bag, 2))


def canonical(tree: nx.Graph) -> Form:
    """The same nested tuples for two H-trees iff they differ in the numbering of their nodes only.

    A pair: the sorted forms of the roots, and the sorted root-root edges as pairs of bags (root bags are distinct).
    The form of a node is (its sorted bag, its kappa or -1, the sorted forms of its children).
    """
    data = tree.nodes
    children: dict[int | None, list[int]] = {None: []}
    for node in tree:
        children.setdefault(data[node]["parent"], []).append(node)

    def form(node: int) -> Form:
        kappa = -1 if data[node]["kappa"] is None else data[node]["kappa"]
        return tuple(sorted(data[node]["bag"])), kappa, tuple(sorted(form(child) for child in children.get(node, [])))

    roots = set(children[None])
    links = (sorted(tuple(sorted(data[node]["bag"])) for node in edge) for edge in tree.edges if roots.issuperset(edge))
    return tuple(sorted(form(root) for root in roots)), tuple(sorted(tuple(link) for link in links))
