"""The states of an H-tree before the first round: features on leaves, and the initial states of bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.htree import HTree
from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.schedule.multisets import Array, distinct, entries_of

BagStart: TypeAlias = Literal["zero", "mean", "sum"]


def check_start(start: Any, name: str = "bag_start") -> None:
    """Raises `InputError` unless it is a `BagStart`."""
    known = get_args(BagStart)
    if start not in known:
        raise InputError(f"Expected {name} out of {', '.join(known)}; got {start!r}.{did_you_mean(start, known)}")


@dataclass(frozen=True, eq=False)
class FirstStates:
    """The distinct states before the first round: those of the graph nodes, then those of bags.

    Args:
        of_node: the state of every tree node.
        degree: the number of neighbours of the tree nodes that have each state.
        rows: the map from features of graph nodes to all states; None if bags start at zero: the last state, which all
            of them share, is then zero.

    Shapes: of_node :math:`(N)`, degree :math:`(S)`, rows :math:`(S, n)`
    """

    of_node: Array
    degree: Array
    rows: Coefficients | None = None

    @classmethod
    def of_leaves(cls, kappa: Array, num_nodes: int) -> FirstStates:
        """Bags start at zero. A leaf has its parent as only neighbour; the degree of the zero state does not matter.

        Shapes: kappa :math:`(N)`
        """
        return cls(np.where(kappa < 0, num_nodes, kappa), np.ones(num_nodes + 1, np.int64))

    @classmethod
    def of_members(cls, tree: HTree, num_nodes: int, mean: bool) -> FirstStates:
        """A bag starts with the mean or the sum of its members' features.

        Bags have the same state if they have the same members and the same degree, by which some convolutions weight
        what a bag sends.
        """
        kappa, start, nodes = (each.cpu().long().numpy() for each in (tree.kappa, tree.bag_ptr, tree.bag_nodes))
        bags = np.flatnonzero(kappa < 0)
        at, _ = entries_of(start, bags)
        ends = np.concatenate([[0], np.diff(start)[bags].cumsum()])
        neighbours = np.bincount(tree.edge_index[1].cpu().numpy(), minlength=len(kappa))[bags]
        number = distinct(ends, nodes[at], neighbours)
        of_node = kappa.copy()
        of_node[bags] = num_nodes + number
        _, chosen = np.unique(number, return_index=True)  # a bag for every state
        inside, row = entries_of(ends, chosen)
        size = np.diff(ends)[chosen][row]
        itself = np.arange(num_nodes)
        rows = Coefficients(
            torch.from_numpy(np.concatenate([itself, num_nodes + row])),
            torch.from_numpy(np.concatenate([itself, nodes[at[inside]]])),
            torch.from_numpy(np.concatenate([np.ones(num_nodes), 1 / size if mean else np.ones(len(row))])),
            (num_nodes + len(chosen), num_nodes),
        )
        return cls(of_node, np.concatenate([np.ones(num_nodes, np.int64), neighbours[chosen]]), rows)


def every_start(members: Tensor, shape: tuple[int, int], mean: bool, dtype: torch.dtype) -> Coefficients:
    """The map from features of graph nodes to the initial states of all tree nodes; no shape depends on the values.

    Args:
        members: see `HTree.members`.
        shape: the numbers of tree nodes and of graph nodes.
        mean: whether bags start with the mean of their members' features; else with the sum.
        dtype: the dtype of the values.

    Shapes: members :math:`(2, I)`
    """
    value = torch.ones_like(members[0], dtype=dtype)
    if mean:
        value = value / sum_rows(value, members[0], shape[0]).clamp(min=1)[members[0]]
    return Coefficients(members[0], members[1], value, shape)
