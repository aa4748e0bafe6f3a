"""The arrays of an ``HTree`` as a plain namespace of NumPy arrays, to and from the oracle's ``nx.Graph``."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np

NAMES = ("parent", "level", "kappa", "edge_index", "edge_type", "bag_ptr", "bag_nodes", "component")


def arrays_of(htree: Any) -> SimpleNamespace:
    """Copies of the arrays of anything that has them as attributes, such as a library's ``HTree``."""
    return SimpleNamespace(**{name: np.asarray(getattr(htree, name)).copy() for name in NAMES})


def arrays_from_tree(tree: nx.Graph) -> SimpleNamespace:
    """The arrays of the oracle's H-tree: roots of one tree of the forest after another, children after parents."""
    data = [tree.nodes[node] for node in range(len(tree))]
    bags = [sorted(node["bag"]) for node in data]
    component = np.zeros(len(tree), dtype=np.int64)
    for number, nodes in enumerate(nx.connected_components(tree)):
        component[list(nodes)] = number
    columns = [(u, v, _edge_type(data, u, v)) for edge in tree.edges for u, v in (edge, edge[::-1])]
    edges = np.array(columns, dtype=np.int64).reshape(-1, 3).T
    return SimpleNamespace(
        parent=np.array([-1 if node["parent"] is None else node["parent"] for node in data], dtype=np.int64),
        level=np.array([node["level"] for node in data], dtype=np.int64),
        kappa=np.array([-1 if node["kappa"] is None else node["kappa"] for node in data], dtype=np.int64),
        edge_index=edges[:2].copy(),
        edge_type=edges[2].copy(),
        bag_ptr=np.cumsum([0] + [len(bag) for bag in bags]),
        bag_nodes=np.array([v for bag in bags for v in bag], dtype=np.int64),
        component=component,
    )


def tree_from_arrays(arrays: SimpleNamespace) -> nx.Graph:
    """The oracle's H-tree with these arrays: attributes from the node arrays, edges from ``edge_index``."""
    tree: nx.Graph = nx.Graph()
    for node, bag in enumerate(bags_of(arrays)):
        parent, kappa = int(arrays.parent[node]), int(arrays.kappa[node])
        tree.add_node(
            node,
            bag=bag,
            kappa=None if kappa < 0 else kappa,
            level=int(arrays.level[node]),
            parent=None if parent < 0 else parent,
        )
    tree.add_edges_from(arrays.edge_index.T.tolist())
    return tree


def bags_of(arrays: SimpleNamespace) -> list[frozenset[int]]:
    nodes = arrays.bag_nodes.tolist()
    return [frozenset(nodes[start:stop]) for start, stop in pairwise(arrays.bag_ptr.tolist())]


def _edge_type(data: list[dict[str, Any]], u: int, v: int) -> int:
    if data[u]["parent"] == v:
        return 1
    return 2 if data[v]["parent"] == u else 0
