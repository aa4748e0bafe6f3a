"""Inference with tables of edges by the compiled core: on a CPU, without gradients, in one call for a whole dataset."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.inference.crf.structure import Structure
from neuraltrees.inference.crf.tables import FactorTables

# Larger tables take most of the time, and then the matrix products of tensors are as fast.
MOST_ENTRIES = 2**20
RUNS = {torch.float32: native.PairwisePlan.run32, torch.float64: native.PairwisePlan.run64}


def plan_core(
    structure: Structure, known: np.typing.NDArray[np.bool_], states: int | None
) -> native.PairwisePlan | None:
    """The plan for a mask of known nodes; None if tables are too large, or on cliques of more than two nodes.

    Args:
        structure: the graph.
        known: a row per copy of the graph, each with its own mask.
        states: number of labels to keep per node, the most probable ones; None for all.

    Shapes: known :math:`(copies, n)`
    """
    edges, *cliques = structure.factors
    if cliques or known.size > np.iinfo(np.int32).max:
        return None
    copies = len(known)
    ends = edges.repeated(copies, structure.num_nodes).cpu().numpy()
    owner = (np.arange(copies)[:, None] * structure.num_graphs + structure.owner).reshape(-1)
    return native.PairwisePlan.of(
        known.reshape(-1).astype(np.uint8),
        np.tile(structure.labels, copies),
        owner,
        np.ascontiguousarray(ends[:, 0]),
        np.ascontiguousarray(ends[:, 1]),
        copies * structure.num_graphs,
        states or 0,
        MOST_ENTRIES,
    )


def readable(unary: Tensor, tables: FactorTables) -> bool:
    """Whether the core can read these potentials."""
    given = [unary, tables.tables, *([] if tables.weight is None else [tables.weight])]
    tracked = torch.is_grad_enabled() and any(each.requires_grad for each in given)
    if tracked or torch.compiler.is_compiling() or unary.dtype not in RUNS:
        return False
    return all(each.is_cpu and each.dtype == unary.dtype for each in given)


def run_core(
    plan: native.PairwisePlan,
    unary: Tensor,
    tables: FactorTables,
    known: Tensor | None,
    num_graphs: int,
    marginals: bool = True,
) -> tuple[Tensor, Tensor | None] | None:
    """Log Z of every graph, and the marginals; None if sums of products could lose precision, if there is none, or if a
    potential or a known label is wrong, or not what was planned for.

    Shapes: unary :math:`(B, N, D)`, known :math:`(N)` → :math:`(B, G)` and :math:`(B, N, D)`
    """
    batch, _, width = unary.shape
    total = unary.new_empty(batch, num_graphs)
    found = torch.empty_like(unary, memory_format=torch.contiguous_format) if marginals else None
    weight = None if tables.weight is None else tables.weight.contiguous()
    labels = torch.full((unary.shape[1],), -1, dtype=torch.int64) if known is None else known.contiguous()
    read = [unary.contiguous(), tables.tables.contiguous(), tables.index.contiguous(), weight, labels]
    done = RUNS[unary.dtype](
        plan,
        [0 if each is None else each.data_ptr() for each in (*read, total, found)],
        [batch, width, tables.count, tables.index.shape[1]],
        len(tables.tables) == 1,
        weight is None or len(weight) == 1,
    )
    return (total, found) if done else None
