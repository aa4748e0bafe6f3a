"""Passes on a CPU without gradients, by the compiled core, one batch entry after another.

For small networks most of the time is spent in Python, so this module executes as little Python as possible.
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
# The overhead of a tensor operation is shared by all entries of a batch; the core has some overhead for every table of
# every entry. So tensor operations are used for large batches of small tables.
SMALL_BATCH, LARGE_TABLE = 128, 64


class CoreTables(NamedTuple):
    """Contiguous tables of one dtype in CPU memory, their addresses, and their common batch shape."""

    kept: Sequence[Tensor]
    addresses: list[int]
    dtype: torch.dtype
    batch: torch.Size


class CoreFound(NamedTuple):
    """Shapes: log_partition :math:`(*B)`, marginal v :math:`(*B, d_v)`"""

    log_partition: Tensor
    marginals: list[Tensor]
    runs: native.JunctionRuns

    def joints(self, count: int) -> list[Tensor]:
        """The joint distributions of the unobserved variables of every potential, flattened.

        Shapes: → :math:`(entries, B)`
        """
        like = self.log_partition
        found = (torch.from_numpy(self.runs.joint(k)).to(like.dtype) for k in range(count))
        return [each.view(like.numel(), -1 if like.numel() else 0).T for each in found]


def core_tables(
    structure: Structure, log_potentials: Sequence[Tensor], steps: native.JunctionSteps
) -> CoreTables | None:
    """The tables as the core reads them; None if it cannot, because of a gradient, a GPU or an invalid table."""
    if not log_potentials:
        return None if structure.shapes else CoreTables((), [], torch.float64, torch.Size())
    try:
        shapes, batch = [table.shape for table in log_potentials], torch.Size()
        if shapes != structure.shapes:
            batch = shapes[0][: max(0, len(shapes[0]) - len(structure.shapes[0]))]
            if shapes != [(*batch, *shape) for shape in structure.shapes]:
                return None
            if batch.numel() > SMALL_BATCH and steps.states < LARGE_TABLE * steps.num_tables:
                return None
        dtypes = {table.dtype for table in log_potentials}
        tracked = torch.is_grad_enabled() and True in [table.requires_grad for table in log_potentials]
        if len(dtypes) > 1 or tracked or False in [table.is_cpu for table in log_potentials]:
            return None
        if (dtype := dtypes.pop()) not in FLOATS:
            return None
        if False in [table.is_contiguous() for table in log_potentials]:
            log_potentials = [table.contiguous() for table in log_potentials]
        return CoreTables(log_potentials, [table.data_ptr() for table in log_potentials], dtype, batch)
    except AttributeError:  # a table is not a tensor
        return None


def run_core(
    steps: native.JunctionSteps,
    structure: Structure,
    tables: CoreTables,
    observed: dict[int, int],
    progress: Progress | None,
    marginals: bool = True,
) -> CoreFound:
    """The log partition function and all marginals; zeros if the log partition function is not finite."""
    double, batch = tables.dtype is torch.float64, tables.batch
    values, runs = steps.run(tables.addresses, batch.numel(), double, observed, marginals, progress)
    whole = torch.from_numpy(values)
    if not double:
        whole = whole.float()
    if batch:
        whole = whole.view(*batch, sum(structure.sizes))
    log_partition, *found = whole.split_with_sizes(structure.sizes, -1)
    return CoreFound(log_partition.squeeze(-1), found, runs)
