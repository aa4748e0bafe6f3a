"""The passes on one set of tables: no batch, no gradient, in the memory of the CPU. The compiled core does them whole.

On small networks the time is that of Python's own steps, so there are few of them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.inference.passes import Progress
from neuraltrees.inference.structure import Structure

FLOATS = (torch.float32, torch.float64)


class Tables(NamedTuple):
    """Contiguous tables of one type in the memory of the CPU, and their addresses there."""

    kept: Sequence[Tensor]
    addresses: list[int]
    dtype: torch.dtype


def single_tables(structure: Structure, log_potentials: Sequence[Tensor]) -> Tables | None:
    """The tables as the core reads them; None if there is a batch, a gradient or a GPU, or if a table is wrong."""
    if not log_potentials:
        return None if structure.shapes else Tables((), [], torch.float64)
    try:
        if [table.shape for table in log_potentials] != structure.shapes:
            return None
        dtypes = {table.dtype for table in log_potentials}
        tracked = torch.is_grad_enabled() and True in [table.requires_grad for table in log_potentials]
        if len(dtypes) > 1 or tracked or False in [table.is_cpu for table in log_potentials]:
            return None
        if (dtype := dtypes.pop()) not in FLOATS:
            return None
        if False in [table.is_contiguous() for table in log_potentials]:
            log_potentials = [table.contiguous() for table in log_potentials]
        return Tables(log_potentials, [table.data_ptr() for table in log_potentials], dtype)
    except AttributeError:  # no tensor
        return None


def run_single(
    steps: native.JunctionSteps,
    structure: Structure,
    tables: Tables,
    observed: dict[int, int],
    progress: Progress | None,
    marginals: bool = True,
) -> tuple[float, Tensor, list[Tensor], native.JunctionRun]:
    """The log partition function as a number and a tensor, all marginals, and what the clique marginals come from.

    The marginals are zeros if the log partition function is no number.
    """
    total, values, run = steps.run(tables.addresses, tables.dtype is torch.float64, observed, marginals, progress)
    whole = torch.from_numpy(values)
    if tables.dtype is torch.float32:
        whole = whole.float()
    log_partition, *found = whole.split(structure.sizes)
    return total, log_partition.squeeze(0), found, run


def single_joints(run: native.JunctionRun, count: int, like: Tensor) -> list[Tensor]:
    """The joint distributions of the open variables of every potential, each as a column."""
    return [torch.from_numpy(run.joint(k)).to(like.dtype).unsqueeze(-1) for k in range(count)]
