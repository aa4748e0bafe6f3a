"""The plan of a sweep: the nodes of a forest, tree by tree, with parents before children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.movable import moved_fields

if TYPE_CHECKING:
    from neuraltrees.graph import EdgeIndex


@dataclass(frozen=True, eq=False, repr=False)
class SweepPlan:
    """A rooted forest in the order in which a sweep walks it; made by `of_edges` or `of_parents`.

    The nodes are at *places* 0 … N - 1. The requirements on a plan that is constructed directly:

    - every parent precedes its children; a GPU is fastest if the places of a tree are sorted by depth;
    - the range `tree_ptr[t]` up to `tree_ptr[t + 1]` holds whole trees: one, several (as those of a graph) or none;
    - places after the last range have no parent. They are trees of one node each, used as padding.

    When a range that starts at place b is moved to place c, its parents become `parent - b + c`. `take` gathers ranges
    in this way, `joined` concatenates plans.

    Args:
        parent: the place of the parent of every place, -1 for a root.
        tree_ptr: where the ranges start, and where the last one ends.
        order: the node at every place; None if node k is at place k.
        depth: an upper bound on the number of edges from a root to a node; -1 if not known, which may be slower.
        largest: an upper bound on the number of places of a range; -1 if not known, which may be slower.

    Shapes: parent and order :math:`(N)`, tree_ptr :math:`(T + 1)`, all int64

    >>> plan = SweepPlan.of_edges([[0, 1, 1], [1, 2, 3]], num_nodes=5)
    >>> plan
    SweepPlan(num_nodes=5, num_trees=2, depth=1, largest=4)
    >>> plan.order.tolist(), plan.parent.tolist(), plan.tree_ptr.tolist()
    ([1, 0, 2, 3, 4], [-1, 0, 0, 0, -1], [0, 4, 5])
    """

    parent: Tensor
    tree_ptr: Tensor
    order: Tensor | None = None
    depth: int = -1
    largest: int = -1

    def __post_init__(self) -> None:
        for bound in ("depth", "largest"):
            if getattr(self, bound) < 0:
                object.__setattr__(self, bound, len(self.parent))
        named = {"parent": self.parent, "tree_ptr": self.tree_ptr}
        named |= {} if self.order is None else {"order": self.order}
        for name, given in named.items():
            if given.dim() != 1 or given.dtype != torch.int64:
                raise InputError(
                    f"Expected {name} as an int64 tensor of one dimension; got {given.dtype} of shape "
                    f"{tuple(given.shape)}. Use SweepPlan.of_edges or SweepPlan.of_parents."
                )
        if not len(self.tree_ptr):
            raise InputError("Expected tree_ptr to start with 0; got an empty tensor. Pass [0] for no trees.")
        if self.order is not None and len(self.order) != self.num_nodes:
            raise InputError(f"Expected an order of {self.num_nodes} nodes; got {len(self.order)}.")

    @classmethod
    def of_edges(cls, edge_index: EdgeIndex, num_nodes: int | None = None) -> SweepPlan:
        """The plan of an undirected forest, every tree rooted at its centre, which minimises the depth. There is one
        range per tree, in the order of their smallest nodes.

        Args:
            edge_index: the edges, one direction of each or both; self-loops are ignored.
            num_nodes: number of nodes; None for one more than the largest in `edge_index`.

        Raises:
            InputError: if the edges have a cycle.

        Shapes: edge_index :math:`(2, E)`
        """
        graph = Graph(edge_index, num_nodes)
        return cls._of_arrays(*native.root_at_centres(graph.indptr, graph.indices))

    @classmethod
    def of_parents(cls, parent: Tensor | Sequence[int]) -> SweepPlan:
        """The plan of a rooted forest; one range per tree.

        Args:
            parent: the parent of every node, -1 for a root, in any order of the nodes. If the trees come one after
                another, each in breadth-first order, the order of the nodes is kept.

        Raises:
            InputError: if the parents contain a cycle or are out of range.

        Shapes: parent :math:`(N)`
        """
        given = torch.as_tensor(parent, dtype=torch.int64).detach().cpu().contiguous()
        return cls._of_arrays(*native.root_as_given(given.numpy()))

    @classmethod
    def joined(cls, plans: Sequence[SweepPlan]) -> SweepPlan:
        """The union of plans, with the nodes of each numbered after those of the previous one."""
        if not plans:
            raise InputError("Expected plans to join; got none.")
        parents, orders, offset = [], [], 0
        starts = [plans[0].tree_ptr[:1]]
        for plan in plans:
            parents.append(torch.where(plan.parent < 0, -1, plan.parent + offset))
            starts.append(plan.tree_ptr[1:] + offset)  # padding in between becomes part of the next range
            orders.append(plan._order + offset)
            offset += plan.num_nodes
        identity = all(plan.order is None for plan in plans)
        return cls(
            torch.cat(parents),
            torch.cat(starts),
            None if identity else torch.cat(orders),
            max(plan.depth for plan in plans),
            max(plan.largest for plan in plans),
        )

    def take(self, trees: Tensor, num_nodes: int | None = None) -> tuple[SweepPlan, Tensor]:
        """The plan of some ranges, and for each of its nodes the corresponding node of this plan.

        `values.index_select(0, source)` are then the values of the new nodes. With `num_nodes` nothing synchronises
        with the device, so that the work can be captured in a CUDA graph.

        Args:
            trees: the numbers of the ranges in their new order; a range may be repeated.
            num_nodes: number of new nodes, at least as many as the ranges have; the others are trees of one node,
                copies of node 0 of this plan. None for the number that the ranges have.

        Shapes: trees :math:`(T')` → source :math:`(N')`
        """
        start = self.tree_ptr.index_select(0, trees)
        sizes = self.tree_ptr.index_select(0, trees + 1) - start
        tree_ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        place = torch.arange(int(tree_ptr[-1]) if num_nodes is None else num_nodes, device=trees.device)
        if not len(trees):
            return SweepPlan(torch.full_like(place, -1), tree_ptr, None, 0, 0), torch.zeros_like(place)
        tree = (torch.searchsorted(tree_ptr, place, right=True) - 1).clamp(max=len(trees) - 1)
        shift = (start - tree_ptr[:-1]).index_select(0, tree)
        inside = place < tree_ptr[-1]
        source = torch.where(inside, place + shift, 0)
        above = self.parent.index_select(0, source)
        parent = torch.where(inside & (above >= 0), above - shift, -1)
        source = source if self.order is None else self.order.index_select(0, source)
        return SweepPlan(parent, tree_ptr, None, self.depth, self.largest), source

    @property
    def num_nodes(self) -> int:
        return len(self.parent)

    @property
    def num_trees(self) -> int:
        """Number of ranges of `tree_ptr`."""
        return len(self.tree_ptr) - 1

    @property
    def above(self) -> Tensor:
        """The parent of every node, as a node instead of a place; -1 for a root.

        Shapes: :math:`(N)`
        """
        if self.order is None:
            return self.parent
        parents = torch.where(self.parent < 0, -1, self.order.index_select(0, self.parent.clamp(min=0)))
        return torch.empty_like(parents).index_copy_(0, self.order, parents)

    def to(self, device: torch.device | str) -> SweepPlan:
        """The same plan with all its tensors on a device."""
        return moved_fields(self, torch.device(device))

    @property
    def _order(self) -> Tensor:
        return torch.arange(self.num_nodes, device=self.parent.device) if self.order is None else self.order

    @classmethod
    def _of_arrays(cls, *arrays: Any) -> SweepPlan:
        order, parent, tree_ptr, depth, largest = arrays
        identity = bool((order == np.arange(len(order))).all())
        at_place = None if identity else torch.from_numpy(order)
        return cls(torch.from_numpy(parent), torch.from_numpy(tree_ptr), at_place, depth, largest)

    def __repr__(self) -> str:
        return (
            f"SweepPlan(num_nodes={self.num_nodes}, num_trees={self.num_trees}, depth={self.depth}, "
            f"largest={self.largest})"
        )
