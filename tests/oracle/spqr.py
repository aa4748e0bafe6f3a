"""Triconnected components, SPQR trees and canonical decompositions by brute force over all pairs of vertices."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, count

import networkx as nx

VERTEX, BRIDGE, CYCLE, PAIR, RIGID = 1, 2, 3, 4, 5

Edge = tuple[int, int, int]  # two vertices and a number
Key = tuple[int, frozenset[int]]  # a kind and the vertices: no two nodes or bags have both in common


def split(edges: list[Edge], numbers: count[int]) -> list[list[Edge]]:
    """Splits a 2-connected multigraph at separation pairs until none is left; virtual edges have new numbers."""
    vertices = sorted({v for u, w, _ in edges for v in (u, w)})
    for a, b in combinations(vertices, 2):
        part = _separated(edges, a, b)
        if part is not None:
            virtual = (a, b, next(numbers))
            rest = [edge for edge in edges if edge not in part]
            return split([*part, virtual], numbers) + split([*rest, virtual], numbers)
    return [edges]


def _separated(edges: list[Edge], a: int, b: int) -> list[Edge] | None:
    """Two or more edges that meet the others, two or more as well, in a and b only."""
    rest: nx.Graph = nx.Graph()
    for u, w, _ in edges:
        rest.add_nodes_from({u, w} - {a, b})
        if not {u, w} & {a, b}:
            rest.add_edge(u, w)
    classes = [[e for e in edges if {e[0], e[1]} & part] for part in nx.connected_components(rest)]
    classes += [[e] for e in edges if {e[0], e[1]} == {a, b}]
    for part in classes:
        if len(part) >= 2 and len(edges) - len(part) >= 2:
            return part
    if len(classes) >= 4 and all(len(part) == 1 for part in classes):
        return classes[0] + classes[1]
    return None


def spqr_nodes(edges: list[Edge]) -> list[tuple[int, list[Edge]]]:
    """Kind and skeleton of every node of the SPQR tree of a block; an edge of two skeletons is virtual."""
    if len(edges) == 1:
        return [(BRIDGE, edges)]
    parts = [(_kind(part), part) for part in split(edges, count(len(edges)))]
    while True:
        for one, other in combinations(parts, 2):
            shared = {e for e in one[1] if e in other[1]}
            if shared and one[0] == other[0] != RIGID:
                parts = [p for p in parts if p is not one and p is not other]
                parts.append((one[0], [e for e in one[1] + other[1] if e not in shared]))
                break
        else:
            return parts


def _kind(edges: list[Edge]) -> int:
    vertices = {v for u, w, _ in edges for v in (u, w)}
    if len(vertices) == 2:
        return PAIR
    return CYCLE if len(vertices) == len(edges) else RIGID


def members(edges: list[Edge]) -> frozenset[int]:
    return frozenset(v for u, w, _ in edges for v in (u, w))


def canonical(graph: nx.Graph) -> tuple[Counter[Key], set[frozenset[Key]]]:
    """The bags of the canonical decomposition and the edges between them, by the definition."""
    bags: Counter[Key] = Counter()
    tree: nx.Graph = nx.Graph()
    centres: dict[int, list[Key]] = {v: [] for v in graph}
    for block in nx.biconnected_component_edges(graph):
        nodes = spqr_nodes([(u, w, i) for i, (u, w) in enumerate(block)])
        part: nx.Graph = nx.Graph()
        part.add_nodes_from((kind, members(edges)) for kind, edges in nodes)
        for (kind, edges), (other_kind, other) in combinations(nodes, 2):
            for u, w, _ in set(edges) & set(other):
                ends = [(kind, members(edges)), (other_kind, members(other))]
                pair = (PAIR, frozenset({u, w}))
                part.add_edges_from((end, pair) for end in ends if end[0] != PAIR)
        bags.update(part)
        tree.update(part)
        for v in {v for _, bag in part for v in bag}:
            (centre,) = nx.center(part.subgraph([key for key in part if v in key[1]]))
            centres[v].append(centre)
    for v, joined in centres.items():
        if len(joined) != 1:
            bags[(VERTEX, frozenset({v}))] += 1
            tree.add_edges_from(((VERTEX, frozenset({v})), centre) for centre in joined)
    return bags, {frozenset(edge) for edge in tree.edges}
