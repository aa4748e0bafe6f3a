"""Edge features on an H-tree: the graph edges whose features each tree edge carries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neuraltrees.htree import HTree
from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.schedule.multisets import Array, distinct, entries_of


@dataclass(frozen=True)
class TreeEdges:
    """The rows of edge features that tree edges carry.

    Args:
        edge: the row of every tree edge; the last row is zero, for tree edges that carry no graph edge.
        rows: the map from graph edges to all rows but the last; each row is a sum over graph edges.

    Shapes: edge :math:`(E)`
    """

    edge: Tensor
    rows: Coefficients

    @property
    def num_edge_rows(self) -> int:
        return self.rows.shape[0] + 1


def tree_edges(tree: HTree, edge_index: Tensor) -> TreeEdges:
    r"""A tree edge between a leaf :math:`l` and the bag :math:`B` above it carries the sum of the features of the graph
    edges between :math:`κ(l)` and the nodes of :math:`B`, itself included: upwards those that leave :math:`κ(l)`,
    downwards those that enter it. All other tree edges carry zero.

    Every edge of the graph that the tree was built for lies in at least one bag with leaves. Edges that
    bounded-treewidth sampling left out do not reach the tree.

    Args:
        tree: the H-tree.
        edge_index: the graph's edges, in the order of their features.

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> path = Graph([[0, 1], [1, 2]])
    >>> tree_edges(build_htree(path), path.edge_index).num_edge_rows
    5
    """
    n, ends = tree.num_graph_nodes, edge_index.cpu().numpy()
    codes = ends[0] * n + ends[1]
    by_code = np.argsort(codes, kind="stable")
    tree_edge, first, second = _pairs_at_leaves(tree)
    at = first * n + second
    low, high = (np.searchsorted(codes[by_code], at, side) for side in ("left", "right"))
    found = high - low  # more than one for parallel graph edges
    which = np.repeat(low - (np.cumsum(found) - found), found) + np.arange(int(found.sum()))
    tree_edge, graph_edge = np.repeat(tree_edge, found), by_code[which]
    order = np.argsort(tree_edge, kind="stable")
    tree_edge, graph_edge = tree_edge[order], graph_edge[order]
    start = np.concatenate([[0], np.bincount(tree_edge, minlength=tree.edge_index.shape[1]).cumsum()])
    row = distinct(start, graph_edge)
    return _numbered(row, start, graph_edge, edge_index.shape[1])


def _pairs_at_leaves(tree: HTree) -> tuple[Array, Array, Array]:
    """For every edge between a leaf and its bag, and every node of the bag: the tree edge, and the two graph nodes in
    the direction of the message.
    """
    parent, kappa, kind = (each.cpu().numpy() for each in (tree.parent, tree.kappa, tree.edge_type))
    source, target = tree.edge_index.cpu().numpy()
    ptr, members = tree.bag_ptr.cpu().numpy(), tree.bag_nodes.cpu().numpy()
    parts = []
    for direction, child in ((1, source), (2, target)):
        edges = np.flatnonzero((kind == direction) & (kappa[child] >= 0))
        leaf = child[edges]
        bag = parent[leaf]
        at, whose = entries_of(ptr, bag)
        other, own = members[at], kappa[leaf][whose]
        pair = (own, other) if direction == 1 else (other, own)
        parts.append((edges[whose], *pair))
    tree_edge, first, second = (np.concatenate(each) for each in zip(*parts, strict=True))
    return tree_edge, first, second


def _numbered(row: Array, start: Array, graph_edge: Array, num_edges: int) -> TreeEdges:
    """Renumbers the rows so that the empty one is the last."""
    used, representative = np.unique(row, return_index=True)
    size = np.diff(start)[representative]
    empty = size == 0
    number = np.empty(len(used), np.int64)
    number[~empty], number[empty] = np.arange(int((~empty).sum())), int((~empty).sum())
    chosen = representative[~empty]
    at, whose = entries_of(start, chosen)
    entries = Coefficients(
        torch.from_numpy(whose),
        torch.from_numpy(graph_edge[at]),
        torch.ones(len(whose), dtype=torch.float64),
        (len(chosen), num_edges),
    )
    return TreeEdges(torch.from_numpy(number[row]), entries)
