"""Potentials of a forest, checked, and in the form that the passes read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.graph import Int64
from neuraltrees.inference.forest.structure import Structure

FLOATS = (torch.float32, torch.float64)


@dataclass(frozen=True, eq=False)
class PairIndex:
    """The uses of the tables of pairs.

    Only the first `tables` tables have edges. `table` and `owner` are the table and the graph of every edge between
    variables of several states; `valid` are the entries of the tables that some edge uses (None for all). An edge at a
    variable with one state is a potential of its other end: `first` and `last` hold that end and the table, for edges
    whose lower or higher end it is.

    Shapes: table and owner :math:`(E)`, valid :math:`(T, D, D)`, first and last :math:`(2, F)`
    """

    tables: int
    table: Tensor
    owner: Tensor
    valid: Tensor | None
    first: Tensor
    last: Tensor


class Potentials(NamedTuple):
    """Log-potentials with one batch axis; those of pairs are all tables, their transposes, and one without effect.

    The largest entries are subtracted from the tables of pairs; `constant` is their contribution to log Z.

    Shapes: unary :math:`(B, n, D)`, pairs :math:`(B, 2T + 1, D, D)` or :math:`(1, …)`, constant :math:`(B, N)`
    """

    unary: Tensor
    pairs: Tensor
    constant: Tensor


def index_pairs(structure: Structure) -> PairIndex:
    """Separates edges with tables from edges that are potentials of single variables."""
    states, table = structure.states, structure.table
    source, target = structure.source, structure.target
    free = (states[source] > 1) & (states[target] > 1)
    of_last = ~free & (states[target] > 1)
    of_first = ~free & ~of_last
    return PairIndex(
        tables=structure.num_tables,
        table=torch.from_numpy(table[free]),
        owner=torch.from_numpy(structure.owner[source[free]]),
        valid=_valid(table[free], states[source[free]], states[target[free]], structure),
        first=torch.from_numpy(np.stack([source[of_first], table[of_first]])),
        last=torch.from_numpy(np.stack([target[of_last], table[of_last]])),
    )


def _valid(table: Int64, rows: Int64, columns: Int64, structure: Structure) -> Tensor | None:
    most = structure.most_states
    whole = np.zeros(structure.num_tables, bool)
    whole[table[(rows == most) & (columns == most)]] = True
    if whole.all():
        return None
    valid = np.zeros((len(whole), most, most), bool)
    valid[table, rows - 1, columns - 1] = True  # the last entry of an edge, and all before it
    for axis in (1, 2):
        valid = np.flip(np.logical_or.accumulate(np.flip(valid, axis), axis), axis)
    return torch.from_numpy(valid.copy())


def load(index: PairIndex, num_graphs: int, log_unary: Tensor, log_pairwise: Tensor) -> Potentials:
    """Shapes: log_unary :math:`(B, n, D)`, log_pairwise :math:`(B, T, D, D)` or :math:`(1, T, D, D)`"""
    batch = len(log_unary)
    unary, pairs = log_unary, log_pairwise[:, : index.tables]
    if index.first.numel():
        unary = unary.index_add(1, index.first[0], pairs[..., 0].index_select(1, index.first[1]).expand(batch, -1, -1))
    if index.last.numel():
        unary = unary.index_add(1, index.last[0], pairs[:, :, 0].index_select(1, index.last[1]).expand(batch, -1, -1))
    if index.valid is not None:
        pairs = pairs.masked_fill(~index.valid, -torch.inf)
    top = pairs.detach().amax((2, 3)).clamp_min(torch.finfo(pairs.dtype).min)
    pairs = pairs - top[..., None, None]
    neutral = pairs.new_zeros(len(pairs), 1, *pairs.shape[2:])
    constant = pairs.new_zeros(batch, num_graphs)
    constant = constant.index_add(1, index.owner, top.index_select(1, index.table).expand(batch, -1))
    return Potentials(unary, torch.cat([pairs, pairs.mT, neutral], 1), constant)


def check_potentials(
    log_unary: Tensor,
    log_pairwise: Tensor,
    unary_shape: tuple[int, int],
    pairwise_shape: tuple[int, int, int],
    at: torch.device,
) -> torch.Size:
    """The batch shape of the potentials; `InputError` names what is wrong."""
    batch = log_unary.shape[:-2]
    if log_unary.dim() < 2 or tuple(log_unary.shape[-2:]) != unary_shape:
        raise InputError(
            f"Expected log_unary of shape (*, {unary_shape[0]}, {unary_shape[1]}), for all variables and the largest "
            f"number of states; got {tuple(log_unary.shape)}. Pad variables of fewer states."
        )
    tables = log_pairwise.shape[-3:]
    if tables[1:] != pairwise_shape[1:] or tables[0] < pairwise_shape[0] or log_pairwise.shape[:-3] not in ((), batch):
        shape = ", ".join(map(str, pairwise_shape))
        raise InputError(
            f"Expected log_pairwise of shape ({shape}), for all tables and the largest number of states, possibly with "
            f"more tables, or with the batch {tuple(batch)} of log_unary before it; got {tuple(log_pairwise.shape)}."
        )
    for name, each in (("log_unary", log_unary), ("log_pairwise", log_pairwise)):
        if each.dtype not in FLOATS or each.dtype != log_unary.dtype:
            raise InputError(
                f"Expected potentials of float32 or of float64; got {each.dtype} in {name}. Use .float() or .double()."
            )
        if each.device != at:
            raise InputError(
                f"Expected potentials on {at}, where the forest is; got {each.device} in {name}. "
                f"Move one of them: forest.to({str(each.device)!r})."
            )
    return batch
