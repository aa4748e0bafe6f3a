"""Potentials of a forest, checked, and in the form that the passes read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.inference.forest.factors import Use
from neuraltrees.inference.forest.structure import Structure

FLOATS = (torch.float32, torch.float64)


@dataclass(frozen=True, eq=False)
class UseIndex:
    """How the tables of a `Use` enter: as tables of several variables, or added to the potentials of single ones.

    Only the first `tables` tables of the family have factors, and only the first entry is read at axes that are not in
    `axes`. `table` and `owner` are the table and the graph of every factor; `valid` are the entries of the tables that
    some factor uses (None for all); `variable` is the variable of every factor if it is a single one.

    Shapes: table, owner and variable :math:`(F)`, valid :math:`(T, D, …)`
    """

    family: int
    axes: tuple[int, ...]
    tables: int
    table: Tensor
    owner: Tensor
    valid: Tensor | None
    variable: Tensor | None


class Potentials(NamedTuple):
    """Log-potentials with one batch axis: those of variables, and the tables of every use on several variables.

    The largest entries are subtracted from the tables; `constant` is their contribution to log Z.

    Shapes: unary :math:`(B, n, D)`, tables :math:`(B, T, D, …)` or :math:`(1, T, D, …)` each, constant :math:`(B, N)`
    """

    unary: Tensor
    tables: tuple[Tensor, ...]
    constant: Tensor

    @property
    def tracked(self) -> bool:
        return self.unary.requires_grad or any(each.requires_grad for each in self.tables)


def index_uses(structure: Structure) -> tuple[UseIndex, ...]:
    """The indices of all uses."""
    found = []
    for use in structure.uses:
        single = len(use.axes) == 1
        tables = structure.families[use.family].num_tables
        found.append(
            UseIndex(
                family=use.family,
                axes=use.axes,
                tables=tables,
                table=torch.from_numpy(use.table),
                owner=torch.from_numpy(structure.owner[use.variables[:, 0]]),
                valid=None if single else _valid(use, tables, structure),
                variable=torch.from_numpy(use.variables[:, 0].copy()) if single else None,
            )
        )
    return tuple(found)


def _valid(use: Use, tables: int, structure: Structure) -> Tensor | None:
    most, states = structure.most_states, structure.states[use.variables]
    whole = np.zeros(tables, bool)
    whole[use.table[(states == most).all(1)]] = True
    if whole.all():
        return None
    valid = np.zeros((tables, *[most] * len(use.axes)), bool)
    valid[(use.table, *(states.T - 1))] = True  # the last entry of a factor, and all before it
    for axis in range(1, valid.ndim):
        valid = np.flip(np.logical_or.accumulate(np.flip(valid, axis), axis), axis)
    return torch.from_numpy(valid.copy())


def load(uses: Sequence[UseIndex], num_graphs: int, log_unary: Tensor, log_factors: Sequence[Tensor]) -> Potentials:
    """Shapes: log_unary :math:`(B, n, D)`, log_factors :math:`(B, T, D, …)` or :math:`(1, T, D, …)` for each family"""
    batch, unary = len(log_unary), log_unary
    constant, loaded = unary.new_zeros(batch, num_graphs), []
    for use in uses:
        tables = log_factors[use.family][:, : use.tables]
        if len(use.axes) < tables.dim() - 2:
            tables = tables[(..., *(slice(None) if axis in use.axes else 0 for axis in range(tables.dim() - 2)))]
        if use.variable is not None:
            unary = unary.index_add(1, use.variable, tables.index_select(1, use.table).expand(batch, -1, -1))
            continue
        if use.valid is not None:
            tables = tables.masked_fill(~use.valid, -torch.inf)
        top = tables.detach().flatten(2).amax(2).clamp_min(torch.finfo(tables.dtype).min)
        loaded.append(tables - top.view(*top.shape, *[1] * len(use.axes)))
        constant = constant.index_add(1, use.owner, top.index_select(1, use.table).expand(batch, -1))
    return Potentials(unary, tuple(loaded), constant)


def check_potentials(
    log_unary: Tensor, log_factors: Sequence[Tensor], structure: Structure, at: torch.device
) -> torch.Size:
    """The batch shape of the potentials; `InputError` names what is wrong."""
    batch, most = log_unary.shape[:-2], structure.most_states
    count = len(structure.states)
    if log_unary.dim() < 2 or tuple(log_unary.shape[-2:]) != (count, most):
        raise InputError(
            f"Expected log_unary of shape (*, {count}, {most}), for all variables and the largest "
            f"number of states; got {tuple(log_unary.shape)}. Pad variables of fewer states."
        )
    if len(log_factors) != len(structure.families):
        raise InputError(
            f"Expected log_cliques for {len(structure.families) - 1} families of cliques; got {len(log_factors) - 1} "
            f"of them."
        )
    named = [("log_unary", log_unary)]
    for number, (family, each) in enumerate(zip(structure.families, log_factors, strict=True)):
        named.append((f"log_cliques[{number - 1}]" if number else "log_pairwise", each))
        _check_tables(*named[-1], (family.num_tables, *[most] * family.order), batch)
    for name, each in named:
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


def _check_tables(name: str, given: Tensor, wanted: tuple[int, ...], batch: torch.Size) -> None:
    axes = len(wanted)
    tables = given.shape[-axes:]
    if (
        len(tables) < axes
        or tables[1:] != wanted[1:]
        or tables[0] < wanted[0]
        or given.shape[:-axes] not in ((), batch)
    ):
        raise InputError(
            f"Expected {name} of shape ({', '.join(map(str, wanted))}), for all tables and the largest number of "
            f"states, possibly with more tables, or with the batch {tuple(batch)} of log_unary before it; got "
            f"{tuple(given.shape)}."
        )
