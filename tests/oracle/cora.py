"""Cora's citation graph from its raw Planetoid file, a Python 2 pickle of a dict of lists."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import networkx as nx

from .decomposition import graph_of
from .pickles import load

DICT_OF_LISTS = {"collections defaultdict": defaultdict, "__builtin__ list": list}


def read_cora(data_root: Path) -> nx.Graph:
    neighbours = load(data_root / "planetoid" / "Cora" / "raw" / "ind.cora.graph", DICT_OF_LISTS, encoding="latin1")
    return graph_of(len(neighbours), ((u, v) for u in neighbours for v in neighbours[u]))


def largest_component(graph: nx.Graph) -> nx.Graph:
    """The largest connected component, renumbered 0..n-1 in the order of its nodes."""
    nodes = max((sorted(nodes) for nodes in nx.connected_components(graph)), key=len)
    return nx.relabel_nodes(graph.subgraph(nodes), {v: i for i, v in enumerate(nodes)}, copy=True)
