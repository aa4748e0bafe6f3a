"""Hypothesis strategies for small graphs on 0..n-1."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from .decomposition import graph_of


def graphs(max_nodes: int = 10) -> SearchStrategy[nx.Graph]:
    """Connected and disconnected graphs of every shape below, with 1 to max_nodes nodes in shuffled order."""
    one = connected_or_not(max_nodes)
    return st.one_of(one, one.flatmap(shuffled), unions(max_nodes))


def connected_or_not(max_nodes: int) -> SearchStrategy[nx.Graph]:
    return st.one_of(
        sparse(max_nodes), dense(max_nodes), trees(max_nodes), partial_k_trees(max_nodes), shapes(max_nodes)
    )


@st.composite
def sparse(draw: st.DrawFn, max_nodes: int = 10) -> nx.Graph:
    """Any set of edges, mostly a small one: isolated nodes are common."""
    n = draw(st.integers(1, max_nodes))
    pairs = list(combinations(range(n), 2))
    return graph_of(n, draw(st.sets(st.sampled_from(pairs), max_size=2 * n)) if pairs else [])


@st.composite
def dense(draw: st.DrawFn, max_nodes: int = 10) -> nx.Graph:
    """A complete graph that lacks a few edges."""
    return nx.complement(draw(sparse(max_nodes)))


@st.composite
def trees(draw: st.DrawFn, max_nodes: int = 10) -> nx.Graph:
    n = draw(st.integers(1, max_nodes))
    return graph_of(n, [(draw(st.integers(0, v - 1)), v) for v in range(1, n)])


@st.composite
def partial_k_trees(draw: st.DrawFn, max_nodes: int = 10, max_k: int = 4) -> nx.Graph:
    """Treewidth at most k: every node joins k members of an earlier (k+1)-clique, then some edges go."""
    k = draw(st.integers(1, max_k))
    cliques = [list(range(min(k + 1, max_nodes)))]
    edges = set(combinations(cliques[0], 2))
    for v in range(k + 1, draw(st.integers(k + 1, max(k + 1, max_nodes)))):
        clique = list(draw(st.sampled_from(cliques)))
        clique.pop(draw(st.integers(0, k)))
        edges.update((u, v) for u in clique)
        cliques.append([*clique, v])
    n = len(cliques[0]) + len(cliques) - 1
    removed = draw(st.sets(st.sampled_from(sorted(edges)), max_size=n)) if edges else set()
    return graph_of(n, edges - removed)


def shapes(max_nodes: int = 10) -> SearchStrategy[nx.Graph]:
    """Paths, cycles, stars, wheels, complete and bipartite graphs, grids, isolated nodes."""
    size = st.integers(1, max_nodes)
    sides = st.tuples(st.integers(1, 3), st.integers(1, max(1, max_nodes // 3)))
    return st.one_of(
        size.map(nx.path_graph),
        st.integers(min(3, max_nodes), max_nodes).map(nx.cycle_graph).map(_simple),
        st.integers(0, max_nodes - 1).map(nx.star_graph),
        st.integers(1, max_nodes).map(nx.wheel_graph).map(_simple),
        size.map(nx.complete_graph),
        size.map(nx.empty_graph),
        sides.map(lambda side: nx.convert_node_labels_to_integers(nx.grid_2d_graph(*side))),
        sides.map(lambda side: nx.complete_bipartite_graph(*side)),
    ).filter(lambda graph: len(graph) <= max_nodes)


def unions(max_nodes: int = 10) -> SearchStrategy[nx.Graph]:
    """Two or three graphs side by side, their nodes interleaved."""
    small = st.lists(connected_or_not(max(1, max_nodes // 2)), min_size=2, max_size=3)
    return small.map(nx.disjoint_union_all).filter(lambda graph: len(graph) <= max_nodes).flatmap(shuffled)


def shuffled(graph: nx.Graph) -> SearchStrategy[nx.Graph]:
    """The graph with its nodes renumbered at random."""
    edges = list(graph.edges)
    return st.permutations(range(len(graph))).map(
        lambda new: graph_of(len(graph), [(new[u], new[v]) for u, v in edges])
    )


def _simple(graph: nx.Graph) -> nx.Graph:
    return graph_of(len(graph), graph.edges)
