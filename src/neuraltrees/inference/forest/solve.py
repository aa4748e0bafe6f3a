"""Solves the chunks of a forest in linear space, and again in log space where sums have lost precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from neuraltrees.inference.forest.plan import Chunk, Space
from neuraltrees.inference.forest.potentials import Potentials
from neuraltrees.inference.forest.up import Reduce, Step, collect
from neuraltrees.inference.passes import condition

# Terms below `tiny` may be lost; they are negligible in a sum of at least SAFE * tiny / eps.
SAFE = 1024

Work: TypeAlias = Callable[[Chunk, list[Step]], Tensor | None]


class Found(NamedTuple):
    """The result of a chunk: its variables, their shares of log Z, the answer of `work`, and the smallest sum.

    Shapes: variables :math:`(N)`, shares :math:`(B, N)`, answer :math:`(B, N, D)`
    """

    variables: Tensor
    shares: Tensor
    answer: Tensor | None
    lowest: Tensor | None


def solve(
    chunks: Sequence[Chunk],
    in_log_space: Callable[[int], Sequence[Chunk]],
    potentials: Potentials,
    work: Work | None,
    check: bool,
) -> list[Found]:
    """Solves all chunks and applies `work` to their steps.

    Args:
        chunks: plans for linear space.
        in_log_space: returns the plans for log space of a chunk.
        potentials: the potentials of all variables and factors.
        work: a function of a chunk and its steps, which are freed afterwards.
        check: whether to repeat chunks that lost precision in log space; this waits for a GPU once.
    """
    tables = [each.exp() for each in potentials.tables]
    found = [[solve_chunk(chunk, "linear", potentials.unary, tables, work)] for chunk in chunks]
    if check and chunks:
        number = torch.finfo(potentials.unary.dtype)
        lowest = torch.stack([each.lowest for (each,) in found if each.lowest is not None])
        for lost in (~(lowest >= SAFE * number.tiny / number.eps)).nonzero().flatten().tolist():
            again = in_log_space(lost)
            found[lost] = [solve_chunk(chunk, "log", *potentials[:2], work) for chunk in again]
    return [each for several in found for each in several]


def solve_chunk(
    chunk: Chunk, space: Space, unary: Tensor, tables: Sequence[Tensor], work: Work | None, reduce: Reduce = condition
) -> Found:
    """Shapes: as those of `collect`"""
    collected = collect(chunk, space, unary, tables, reduce, keep=work is not None)
    lowest = torch.stack(collected.lowest).amin() if collected.lowest else None
    return Found(chunk.variables, collected.shares, work(chunk, collected.steps) if work else None, lowest)


def add_shares(constant: Tensor, owner: Tensor, found: Sequence[Found]) -> Tensor:
    """Log Z of every graph. Shapes: constant :math:`(B, N)`, owner :math:`(n)` → :math:`(B, N)`"""
    if not found:
        return constant
    owner = owner.index_select(0, torch.cat([each.variables for each in found]))
    return constant.index_add(1, owner, torch.cat([each.shares for each in found], 1))


def sort_answers(like: Tensor, found: Sequence[Found]) -> Tensor:
    """The answers in the order of the variables. Shapes: like :math:`(B, n, D)` → :math:`(B, n, D)`"""
    if not found:
        return torch.zeros_like(like)
    variables = torch.cat([each.variables for each in found])
    place = torch.empty_like(variables)
    place[variables] = torch.arange(len(variables), device=like.device)
    return torch.cat([each.answer for each in found if each.answer is not None], 1).index_select(1, place)
