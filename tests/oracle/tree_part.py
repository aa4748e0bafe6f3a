"""What a network reads of the H-trees of pieces, array by array."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuraltrees.htree import HTree
from neuraltrees.scenes.scene import Float64, Int64
from neuraltrees.scenes.tree_part import DOWN, ROOT, UP, Float32, relation_code


def typed_part(node_type: Int64, position: Float64, ends: Int64, num_types: int, tree: HTree) -> dict[str, Any]:
    """The columns of `TreePart` that the core computes, by their names."""
    count = len(node_type)
    parent, kappa, bag_nodes = (each.numpy() for each in (tree.parent, tree.kappa, tree.bag_nodes))
    bag_ptr = tree.bag_ptr.numpy()
    bag_size = np.diff(bag_ptr)
    types = np.bitwise_or.reduceat(1 << node_type[bag_nodes], bag_ptr[:-1]) if count else np.zeros(0, np.int64)
    kind = np.where(kappa >= 0, node_type[kappa], num_types + types) if count else types
    centre = _centres(position, bag_nodes, bag_ptr[:-1])
    roots = tree.edge_index.numpy()[:, : int(np.count_nonzero(tree.edge_type.numpy() == ROOT))]
    child = np.flatnonzero(parent >= 0)
    above = parent[child]
    entries = np.flatnonzero(np.repeat(parent < 0, bag_size))[::-1]  # backwards: the first of several stays
    first_root = np.empty(count, np.int64)
    first_root[bag_nodes[entries]] = np.repeat(np.arange(len(parent)), bag_size)[entries]
    return {
        "kind": kind,
        "child": child,
        "root_relation": relation_code(kind[roots[0]], ROOT, kind[roots[1]], num_types),
        "up_relation": relation_code(kind[child], UP, kind[above], num_types),
        "down_relation": relation_code(kind[above], DOWN, kind[child], num_types),
        "root_offset": _difference(centre[roots[0]], centre[roots[1]]),
        "up_offset": _difference(centre[child], centre[above]),
        "first_root": first_root,
        "anchor": centre[first_root],
        "home": _homes(parent, kappa, ends, count),
    }


def _centres(position: Float64, bag_nodes: Int64, start: Int64) -> Float64:
    if not len(start):
        return np.zeros((0, 3))
    inside = position[bag_nodes]
    unknown = np.isnan(inside[:, 0])
    if unknown.any():
        inside = np.where(unknown[:, None], 0.0, inside)
    known = np.add.reduceat((~unknown).astype(np.float64), start)
    return np.add.reduceat(inside, start) / np.where(known > 0, known, np.nan)[:, None]


def _difference(source: Float64, target: Float64) -> Float32:
    """Zero where one of them is unknown."""
    return np.nan_to_num(source - target).astype(np.float32)


def _homes(parent: Int64, kappa: Int64, ends: Int64, count: int) -> Int64:
    """The first bag with leaves that has both ends of every edge.

    A bag that has both ends of an edge and is taken apart has a child that has both; so the lowest such bags are those
    with leaves, and all pairs of their members are edges.
    """
    leaf = np.flatnonzero(kappa >= 0)
    above, node = parent[leaf], kappa[leaf]
    pairs, bags = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for apart in range(1, len(leaf)):
        same = np.flatnonzero(above[apart:] == above[:-apart])
        if not len(same):
            break
        pairs.append(node[same] * count + node[same + apart])  # leaves of a bag are sorted
        bags.append(above[same])
    pair, bag = np.concatenate(pairs), np.concatenate(bags)
    order = np.lexsort((bag, pair))
    wanted = ends.min(1) * count + ends.max(1) if len(ends) else np.zeros(0, np.int64)
    found: Int64 = bag[order[np.searchsorted(pair, wanted, sorter=order)]]
    return found
