"""Exact inference that several processes share: each sums out some of the variables, and messages cross the cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.errors import InputError
from neuraltrees.graph import Int64
from neuraltrees.inference.forest.down import Downwards
from neuraltrees.inference.forest.exchange import Exchange, Processes
from neuraltrees.inference.forest.forest import Forest, ForestAnswer
from neuraltrees.inference.forest.plan import Chunk, Space
from neuraltrees.inference.forest.share import Share, share_of
from neuraltrees.inference.forest.solve import SAFE
from neuraltrees.inference.forest.structure import Structure
from neuraltrees.inference.forest.up import Step, Upwards, potentials_of
from neuraltrees.movable import moved


class _Solved(NamedTuple):
    """The shares of log Z of this process's variables in a chunk, their marginals, and the smallest sum.

    Shapes: shares :math:`(B, N)`, marginals :math:`(B, N, D)`
    """

    variables: Tensor
    shares: Tensor
    marginals: Tensor | None
    lowest: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class DividedForest(Forest):
    """A `Forest` whose steps are divided among processes; made by `divide`.

    The steps form trees, in which the message of a step goes to its parent. These are cut into as many parts as there
    are processes, of equal numbers of table entries. A process computes the tables of its own steps only. On the way
    up, messages of cut steps are sent to the processes of their parents; on the way down, the distributions of their
    separators are sent back. Steps that wait for messages of others are in later *stages*, and there is one exchange
    between two stages. All processes have the potentials of all variables and get all answers; all of them make the
    same calls.

    Args:
        processes: the processes.
        shares: the part of this process of every chunk.
        heights: the number by which the steps are grouped: by stage, height and process.
        part, stage: the process and the stage of every variable.

    Shapes: heights, part and stage :math:`(n)`
    """

    processes: Processes
    shares: tuple[Share, ...]
    heights: Int64
    part: Int64
    stage: Int64

    @classmethod
    def divide(cls, forest: Forest, processes: Processes) -> DividedForest:
        """The same inference, shared by the processes; each of them calls this with the same forest."""
        structure, order = forest.structure, forest.structure.elimination.order
        of_step = parts_of(structure, processes.size)
        stages = _stages(structure.elimination.parent, of_step)
        above = structure.elimination.height.max(initial=0) + 1
        heights = (stages * above + structure.elimination.height) * processes.size + of_step
        part, stage = np.empty_like(of_step), np.empty_like(stages)
        part[order], stage[order] = of_step, stages
        chunks, _ = structure.chunks("linear", 2**62, forest.chunk_of_graph, heights)
        shares = tuple(share_of(chunk, part, stage, processes.rank) for chunk in chunks)
        return cls(
            structure,
            moved(tuple(share.chunk for share in shares), forest.device),
            forest.chunk_of_graph,
            forest.uses,
            forest.owner,
            forest.chunk_entries,
            forest.memory_limit,
            processes,
            moved(shares, forest.device),
            heights,
            part,
            stage,
        )

    def to(self, device: torch.device | str) -> Forest:
        there = super().to(device)
        return there if there is self else replace(there, shares=moved(self.shares, there.device))  # type: ignore[call-arg]  # of this class

    def run(
        self, log_unary: Tensor, log_pairwise: Tensor, *, log_cliques: Sequence[Tensor] = (), check: bool = True
    ) -> ForestAnswer:
        total, marginals, batch = self._together(log_unary, [log_pairwise, *log_cliques], check, wanted=True)
        assert marginals is not None
        return ForestAnswer(total.view(*batch, *total.shape[1:]), marginals.view(*batch, *marginals.shape[1:]))

    def log_partition(
        self, log_unary: Tensor, log_pairwise: Tensor, *, log_cliques: Sequence[Tensor] = (), check: bool = True
    ) -> Tensor:
        total, _, batch = self._together(log_unary, [log_pairwise, *log_cliques], check, wanted=False)
        return total.view(*batch, *total.shape[1:])

    def sample(self, *_: Any, **__: Any) -> Tensor:
        raise InputError("Expected marginals or log Z of a forest in parts; got sample. Use one process.")

    def map(self, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        raise InputError("Expected marginals or log Z of a forest in parts; got map. Use one process.")

    def _together(
        self, log_unary: Tensor, log_factors: Sequence[Tensor], check: bool, wanted: bool
    ) -> tuple[Tensor, Tensor | None, torch.Size]:
        potentials, batch = self._prepare(log_unary, log_factors)
        unary, tables = potentials.unary, potentials.tables
        exchange = Exchange.of(self.processes, unary, tables)
        linear = [each.exp() for each in tables]
        solved = []
        for number, share in enumerate(self.shares):
            token = exchange.token
            found = self._solved(share, "linear", unary, linear, exchange, wanted)
            if check and self._lost(found.lowest):
                exchange.token = token  # what is computed anew has no part in the gradient
                self._check_size(self._log_chunks[number], len(unary), unary.element_size(), token.requires_grad)
                solved += [
                    self._solved(each, "log", unary, tables, exchange, wanted) for each in self._log_shares[number]
                ]
            else:
                solved.append(found)
        nothing = exchange.token.sum() * 0  # so that every exchange has a part in the gradient of every process
        own = potentials.constant.new_zeros(potentials.constant.shape) + nothing
        for each in solved:
            own = own.index_add(1, self.owner.index_select(0, each.variables), each.shares)
        total = potentials.constant + self.processes.total(own, "answers")
        if check and wanted:
            self._check_possible(total, unary)
        if not wanted:
            return total, None, batch
        marginals = torch.zeros_like(unary) + nothing
        for each in solved:
            assert each.marginals is not None
            marginals = marginals.index_copy(1, each.variables, each.marginals)
        return total, self.processes.total(marginals, "answers"), batch

    def _lost(self, lowest: Tensor) -> bool:
        """Whether sums of any process may have lost precision; see `Forest`."""
        number = torch.finfo(lowest.dtype)
        lost = ~(lowest >= SAFE * number.tiny / number.eps)
        return bool(self.processes.total_(lost.double()) > 0)

    def _solved(
        self, share: Share, space: Space, unary: Tensor, tables: Sequence[Tensor], exchange: Exchange, wanted: bool
    ) -> _Solved:
        groups = dict(zip(share.numbers, share.chunk.groups, strict=True))
        own = dict(zip(share.numbers, potentials_of(share.chunk, unary), strict=True))
        upwards = Upwards.of(share.chunk, space, tables)
        steps: dict[int, Step] = {}
        shares = [unary.new_zeros(len(unary), 0)]
        for stage, numbers in enumerate(share.stages):
            for number in numbers:
                step, part = upwards.sum_out(number, groups[number], own[number])
                shares.append(part)
                if wanted:
                    steps[number] = step
            if stage + 1 < len(share.stages):
                exchange.up(share.cuts[stage], upwards.messages)
        lowest = torch.stack(upwards.lowest).amin() if upwards.lowest else unary.new_ones(())
        marginals = self._marginals(share, steps, unary, exchange) if wanted else None
        return _Solved(share.chunk.variables, torch.cat(shares, 1), marginals, lowest)

    def _marginals(self, share: Share, steps: dict[int, Step], unary: Tensor, exchange: Exchange) -> Tensor:
        groups = dict(zip(share.numbers, share.chunk.groups, strict=True))
        downwards = Downwards(self.structure.most_states)
        found = [unary.new_zeros(len(unary), 0, unary.shape[2])]
        for stage in reversed(range(len(share.stages))):
            if stage + 1 < len(share.stages):
                exchange.down(share.cuts[stage], downwards.arrived)
            found += [
                downwards.marginals(groups[number], number, steps.pop(number))
                for number in reversed(share.stages[stage])
            ]
        return torch.cat(found[::-1], 1)

    @cached_property
    def _log_shares(self) -> list[list[Share]]:
        """For every chunk, the shares of the chunks of the same graphs for log space."""
        chunks, of_graph = self.structure.chunks("log", self.chunk_entries, self.chunk_of_graph, self.heights)
        within = dict(zip(of_graph.tolist(), self.chunk_of_graph.tolist(), strict=True))
        found: list[list[Share]] = [[] for _ in self.shares]
        for number, chunk in enumerate(chunks):
            share = share_of(chunk, self.part, self.stage, self.processes.rank)
            found[within[number]].append(moved(share, self.device))
        return found

    @cached_property
    def _log_chunks(self) -> list[list[Chunk]]:
        return [[share.chunk for share in several] for several in self._log_shares]


def parts_of(structure: Structure, parts: int) -> Int64:
    """The part of every step: connected where possible, with nearly equal numbers of table entries in all parts."""
    parent = structure.elimination.parent
    last = len(parent) - 1
    upside_down = np.where(parent >= 0, last - parent, -1)[::-1].copy()  # parents come first
    found = native.cut_forest(upside_down, structure.entries()[::-1].copy(), parts)
    return found[::-1].astype(np.int64)


def _stages(parent: Int64, part: Int64) -> Int64:
    """How many cuts lie on the way from a step down to any step below it, at most."""
    stage = [0] * len(parent)
    for step, (above, own) in enumerate(zip(parent.tolist(), part.tolist(), strict=True)):
        if above >= 0:
            stage[above] = max(stage[above], stage[step] + int(part[above] != own))
    return np.array(stage, np.int64)
