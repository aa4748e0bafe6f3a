"""Tree decompositions straight from their definition: a checker, brute-force treewidth, and readers of PACE files.

A graph is a number of nodes ``n`` and a list of edges; a decomposition is a list of bags and a list of bag pairs.
"""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import networkx as nx

Edges = Iterable[Sequence[int]]
Bags = Sequence[Iterable[int]]


def graph_of(n: int, edges: Edges) -> nx.Graph:
    """The simple graph on 0..n-1: self-loops dropped, parallel and reversed edges merged."""
    graph = nx.empty_graph(n)
    graph.add_edges_from((u, v) for u, v in edges if u != v)
    return graph


def first_violation(n: int, edges: Edges, bags: Bags, tree_edges: Edges) -> str | None:
    """The first property of the definition that does not hold, or None for a tree decomposition.

    In turn: ``range``, ``forest``, ``vertex cover``, ``edge cover``, ``connectedness``. A forest may join
    several components of the graph in one tree, as PACE files do, and a bag may lie inside another.
    """
    sets, links = [set(bag) for bag in bags], [(i, j) for i, j in tree_edges]
    if any(not 0 <= v < n for bag in sets for v in bag):
        return "range"
    if any(not 0 <= i < len(sets) for link in links for i in link):
        return "range"
    tree: nx.MultiGraph = nx.MultiGraph(links)
    tree.add_nodes_from(range(len(sets)))
    if tree.number_of_edges() != len(sets) - nx.number_connected_components(tree):
        return "forest"
    holders = bags_with(n, sets)
    if any(not holders[v] for v in range(n)):
        return "vertex cover"
    if any(holders[u].isdisjoint(holders[v]) for u, v in edges):
        return "edge cover"
    # An induced subgraph of a forest is connected iff it has one edge less than nodes.
    inner = [0] * n
    for i, j in links:
        for v in sets[i] & sets[j]:
            inner[v] += 1
    if any(inner[v] != len(holders[v]) - 1 for v in range(n)):
        return "connectedness"
    return None


def is_tree_decomposition(n: int, edges: Edges, bags: Bags, tree_edges: Edges) -> bool:
    return first_violation(n, edges, bags, tree_edges) is None


def one_tree_per_component(n: int, edges: Edges, bags: Bags, tree_edges: Edges) -> bool:
    """Whether the trees of the forest and the connected components of the graph hold the same vertices."""
    tree: nx.Graph = nx.Graph([(i, j) for i, j in tree_edges])
    tree.add_nodes_from(range(len(bags)))
    trees = [frozenset(v for i in nodes for v in bags[i]) for nodes in nx.connected_components(tree)]
    components = [frozenset(nodes) for nodes in nx.connected_components(graph_of(n, edges))]
    return len(trees) == len(components) and set(trees) == set(components)


def none_contains_another(bags: Bags) -> bool:
    """Whether the only bag that holds all vertices of a bag is that bag itself."""
    sets = [set(bag) for bag in bags]
    if not all(sets):
        return len(sets) == 1
    holders: dict[int, set[int]] = {}
    for i, bag in enumerate(sets):
        for v in bag:
            holders.setdefault(v, set()).add(i)
    return all(len(set.intersection(*(holders[v] for v in bag))) == 1 for bag in sets)


def check_decomposition(n: int, edges: Edges, bags: Bags, tree_edges: Edges) -> None:
    """Everything an H-tree asks of its decomposition: the definition, one tree a component, no bag in another."""
    edges = list(edges)
    if (violated := first_violation(n, edges, bags, tree_edges)) is not None:
        raise AssertionError(f"not a tree decomposition: {violated} fails")
    if not one_tree_per_component(n, edges, bags, tree_edges):
        raise AssertionError("the trees of the decomposition are not the connected components of the graph")
    if not none_contains_another(bags):
        raise AssertionError("a bag is contained in another")


def bags_with(n: int, bags: Bags) -> list[set[int]]:
    """For each vertex the numbers of the bags that hold it."""
    holders: list[set[int]] = [set() for _ in range(n)]
    for i, bag in enumerate(bags):
        for v in bag:
            holders[v].add(i)
    return holders


def width(bags: Bags) -> int:
    return max(len(set(bag)) for bag in bags) - 1


def elimination_width(n: int, edges: Edges, order: Sequence[int]) -> int:
    """The largest number of neighbours met when the vertices are eliminated in this order."""
    graph, largest = graph_of(n, edges), 0
    for v in order:
        neighbours = list(graph[v])
        largest = max(largest, len(neighbours))
        graph.add_edges_from(combinations(neighbours, 2))
        graph.remove_node(v)
    return largest


def treewidth(n: int, edges: Edges) -> int:
    """Exact treewidth, at most about 12 vertices: the best elimination order of every subset of vertices.

    Whatever the order in which a set S was eliminated, v then sees the vertices it reaches through S
    (Bodlaender et al., "On exact algorithms for treewidth"), so subsets suffice in place of orders.
    """
    graph = graph_of(n, edges)
    near = [sum(1 << w for w in graph[v]) for v in range(n)]

    def seen_through(eliminated: int, v: int) -> int:
        reached, todo = 1 << v, [v]
        while todo:
            new = near[todo.pop()] & ~reached
            reached |= new
            todo += [w for w in range(n) if new & eliminated & 1 << w]
        return (reached & ~eliminated & ~(1 << v)).bit_count()

    @cache
    def best(eliminated: int) -> int:
        members = [v for v in range(n) if eliminated & 1 << v]
        last = ((v, eliminated & ~(1 << v)) for v in members)
        return min((max(best(before), seen_through(before, v)) for v, before in last), default=0)

    return best((1 << n) - 1)


def read_gr(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """A PACE graph (.gr, .gr.gz, .gr.xz) as number of nodes and 0-based edges."""
    n, edges = 0, []
    for words in _lines(path):
        if words[0] == "p":
            n = int(words[2])
        else:
            edges.append((int(words[0]) - 1, int(words[1]) - 1))
    return n, edges


def read_td(path: Path) -> tuple[int, list[tuple[int, ...]], list[tuple[int, int]]]:
    """A PACE decomposition (.td, .td.gz, .td.xz) as number of graph nodes, 0-based bags and 0-based edges."""
    n, bags, edges = 0, {}, []
    for words in _lines(path):
        if words[0] == "s":
            n = int(words[4])
        elif words[0] == "b":
            bags[int(words[1])] = tuple(sorted(int(v) - 1 for v in words[2:]))
        else:
            edges.append((int(words[0]) - 1, int(words[1]) - 1))
    return n, [bags[i + 1] for i in range(len(bags))], edges


def _lines(path: Path) -> Iterable[list[str]]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".xz":
        data = lzma.decompress(data)
    for line in data.decode().splitlines():
        words = line.split()
        if words and words[0] != "c":
            yield words
