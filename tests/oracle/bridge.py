"""The library's objects as the oracles see them; the only file here that knows the library."""

from __future__ import annotations

import networkx as nx
import numpy as np

import neuraltrees as nt

from .htree import Decompose


def to_graph(graph: nx.Graph) -> nt.Graph:
    """The library's graph of an ``nx.Graph`` on 0..n-1."""
    edges = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    return nt.Graph(np.ascontiguousarray(edges.T), num_nodes=len(graph))


def from_graph(graph: nt.Graph) -> nx.Graph:
    result = nx.empty_graph(graph.num_nodes)
    result.add_edges_from(graph.edge_index.T.tolist())
    return result


def parts_of(decomposition: nt.TreeDecomposition) -> tuple[list[tuple[int, ...]], list[tuple[int, int]]]:
    """Bags and tree edges as lists."""
    bags = [tuple(int(v) for v in bag) for bag in decomposition.bags]
    return bags, [(int(i), int(j)) for i, j in decomposition.edges]


def to_forest(decomposition: nt.TreeDecomposition, names: list[int] | None = None) -> nx.Graph:
    """The forest of frozensets that the H-tree oracle takes, its vertices renamed when names are given."""
    bags, edges = parts_of(decomposition)
    named = [frozenset(bag if names is None else (names[v] for v in bag)) for bag in bags]
    forest: nx.Graph = nx.Graph()
    forest.add_nodes_from(named)
    forest.add_edges_from((named[i], named[j]) for i, j in edges)
    return forest


def library_decompose(method: str) -> Decompose:
    """``nt.decompose`` with seed 0 for the oracle: the graph's nodes relabelled in sorted order, and back."""

    def decompose(graph: nx.Graph) -> nx.Graph:
        names = sorted(graph)
        number = {name: i for i, name in enumerate(names)}
        return to_forest(nt.decompose(to_graph(nx.relabel_nodes(graph, number)), method=method, seed=0), names)

    return decompose
