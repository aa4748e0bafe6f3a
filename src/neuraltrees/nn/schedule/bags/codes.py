"""Codes of the bags of canonical H-trees, as integers and as vectors of signs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from neuraltrees.decomposition import bag_codes, decompose
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.htree import HTree

BITS = 64


def tree_codes(graph: Graph, tree: HTree) -> tuple[Tensor, Tensor]:
    """The codes of the roots of a canonical H-tree, and those of their leaves; 0 for other nodes. See `bag_codes`.

    Shapes: → both :math:`(N)`, over the nodes of the tree
    """
    td = decompose(graph, "canonical")
    assert td.kinds is not None
    codes = bag_codes(graph, td)
    parent, kappa, ptr = (each.cpu().numpy() for each in (tree.parent, tree.kappa, tree.bag_ptr))
    roots = np.flatnonzero(parent < 0)
    # No two bags of a canonical decomposition have the same nodes and the same kind.
    mine = _names(ptr, tree.bag_nodes.cpu().numpy(), tree.kind.cpu().numpy())[roots]
    theirs = _names(td.bag_ptr, td.bag_nodes, td.kinds)
    order, their_order = np.argsort(mine), np.argsort(theirs)
    if not np.array_equal(mine[order], theirs[their_order]):
        raise InputError(
            "Expected canonical H-trees of whole graphs, for codes of bags; got other trees. Use method='canonical' "
            "without max_treewidth, or leave out the codes of bags."
        )
    bag = np.empty(len(roots), np.int64)
    bag[order] = their_order
    of_node = np.full(len(parent), -1)
    of_node[roots] = bag
    found, places = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.int64)
    found[roots] = codes.bags[bag]
    leaves = np.flatnonzero((kappa >= 0) & (parent >= 0))
    leaves = leaves[of_node[parent[leaves]] >= 0]
    keys = np.repeat(np.arange(len(theirs)), np.diff(td.bag_ptr)) * max(1, graph.num_nodes) + td.bag_nodes  # ascending
    wanted = of_node[parent[leaves]] * max(1, graph.num_nodes) + kappa[leaves]
    places[leaves] = codes.members[np.searchsorted(keys, wanted)]
    return torch.from_numpy(found), torch.from_numpy(places)


def signs(codes: Tensor, dtype: torch.dtype) -> Tensor:
    """The bits of codes as -1 and 1, so that different codes have different vectors.

    Shapes: :math:`(N) → (N, 64)`

    >>> signs(torch.tensor([5]), torch.float32)[0, :4].tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    bits = (codes.unsqueeze(1) >> torch.arange(BITS, device=codes.device)) & 1
    return bits.to(dtype) * 2 - 1


def _names(
    ptr: npt.NDArray[np.int64], nodes: npt.NDArray[np.integer], kinds: npt.NDArray[np.integer]
) -> npt.NDArray[np.uint64]:
    """A hash of the nodes and the kind of each bag."""
    hashed = (nodes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed ^= hashed >> np.uint64(32)
    total = np.append(np.uint64(0), np.cumsum(hashed, dtype=np.uint64))
    return (total[ptr[1:]] - total[ptr[:-1]]) * np.uint64(8) + kinds.astype(np.uint64)
