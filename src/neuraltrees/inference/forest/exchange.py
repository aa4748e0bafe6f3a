"""Messages between processes that share a forest, with gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from neuraltrees.inference.forest.share import Cut


class Processes(Protocol):
    """Processes that compute together, such as `neuraltrees.nn.parallel.Group`."""

    rank: int
    size: int

    def swap(self, rows: Tensor, given: Sequence[int], got: Sequence[int], what: str) -> Tensor:
        """Sends so many rows to each process, and receives so many from each."""

    def total(self, tensor: Tensor, what: str | None = None) -> Tensor:
        """The sum over all processes; its gradient is the sum of all gradients."""

    def total_(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""


class Exchange:
    """The exchanges of one run. All processes take part in all of them, in the same order, also in their gradients.

    A token is handed from the potentials to the first exchange and from each to the next. By it, autograd passes all of
    them in the reverse order, and reaches the potentials in every process, also in one without a share.
    """

    def __init__(self, processes: Processes, batch: int, token: Tensor) -> None:
        self.processes, self.batch, self.token = processes, batch, token

    @classmethod
    def of(cls, processes: Processes, unary: Tensor, tables: Sequence[Tensor]) -> Exchange:
        return cls(processes, len(unary), _Token.apply(unary, *tables))  # type: ignore[no-untyped-call]  # torch has no types here

    def up(self, cuts: Sequence[Cut], messages: dict[int, Tensor]) -> None:
        """Sends messages to the processes of their receivers, and adds those that arrive."""
        rank = self.processes.rank
        sent = sorted((cut for cut in cuts if cut.sender == rank), key=lambda cut: cut.receiver)
        got = sorted((cut for cut in cuts if cut.receiver == rank), key=lambda cut: cut.sender)
        rows = [messages[cut.group][:, cut.start : cut.stop] for cut in sent]
        arrived = self._swap(rows, sent, lambda cut: cut.receiver, got, lambda cut: cut.sender)
        messages.update({cut.number: message for cut, message in zip(got, arrived, strict=True)})

    def down(self, cuts: Sequence[Cut], arrived: Mapping[int, dict[int, Tensor]]) -> None:
        """Sends the distributions of separators back to where their messages came from."""
        rank = self.processes.rank
        sent = sorted((cut for cut in cuts if cut.receiver == rank), key=lambda cut: cut.sender)
        got = sorted((cut for cut in cuts if cut.sender == rank), key=lambda cut: cut.receiver)
        rows = [arrived[cut.number].pop(0) for cut in sent]
        there = self._swap(rows, sent, lambda cut: cut.sender, got, lambda cut: cut.receiver)
        for cut, piece in zip(got, there, strict=True):
            arrived[cut.group][cut.start] = piece

    def _swap(
        self,
        tables: Sequence[Tensor],
        sent: Sequence[Cut],
        receiver: Callable[[Cut], int],
        got: Sequence[Cut],
        sender: Callable[[Cut], int],
    ) -> list[Tensor]:
        given, taken = ([0] * self.processes.size for _ in range(2))
        for cut in sent:
            given[receiver(cut)] += cut.entries
        for cut in got:
            taken[sender(cut)] += cut.entries
        flat = [table.reshape(self.batch, -1) for table in tables]
        rows = torch.cat([self.token.new_zeros(self.batch, 0), *flat], 1).T.contiguous()
        there, self.token = _Swap.apply(rows, self.token, self.processes, given, taken)  # type: ignore[no-untyped-call]  # torch has no types here
        parts = torch.split(there.T, [cut.entries for cut in got], 1)
        return [
            part.reshape(self.batch, cut.stop - cut.start, *cut.shape) for cut, part in zip(got, parts, strict=True)
        ]


class _Token(torch.autograd.Function):
    """A zero that depends on tensors, with gradients of zero."""

    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> Tensor:
        ctx.save_for_backward(*given)
        return given[0].new_zeros(1)

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.zeros_like(each) for each in ctx.saved_tensors)


class _Swap(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, token: Tensor, processes: Processes, given: list[int], got: list[int]
    ) -> tuple[Tensor, Tensor]:
        ctx.processes, ctx.given, ctx.got = processes, given, got
        return processes.swap(rows, given, got, "messages"), token.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, rows: Tensor, token: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        return ctx.processes.swap(rows.contiguous(), ctx.got, ctx.given, "messages"), token, None, None, None
