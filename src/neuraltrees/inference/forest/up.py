"""The pass up a forest: sums out the variables, group by group, until the partition functions are left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from neuraltrees.inference.forest.arithmetic import corner, matmul, over, times
from neuraltrees.inference.forest.plan import Chunk, Group, Inbox, Part, Sender, Side, Space, Stack
from neuraltrees.inference.passes import Reduced, condition

Reduce: TypeAlias = Callable[[Tensor], Reduced]


class Step(NamedTuple):
    r"""What a group keeps of its sums, :math:`m(s) = \sum_o L(s, o)\, R(s, o)`: both tables, and the sums.

    Shapes: left :math:`(B, G, S, U, K)`, right :math:`(B, G, S, V, K)`, sums :math:`(B, G, S, U, V)`
    """

    left: Tensor | None
    right: Tensor
    sums: Tensor


class Collected(NamedTuple):
    """The steps, the share of every variable of log Z, and the smallest sum of every group in linear space.

    Shapes: shares :math:`(B, N)`
    """

    steps: list[Step]
    shares: Tensor
    lowest: list[Tensor]


def collect(
    chunk: Chunk,
    space: Space,
    unary: Tensor,
    tables: Sequence[Tensor],
    reduce: Reduce = condition,
    keep: bool = True,
) -> Collected:
    r"""Sums out every variable given its separator, and sends the sums to the group of the first separator variable.

    In linear space, the potential of the variable itself and every message are divided by their largest entries, so
    that nothing overflows, and sums that lost precision are small: see `Forest`. In log space, the largest entry is
    subtracted in every sum.

    Args:
        chunk: the plan.
        space: the space that the plan was made for.
        unary: log-potentials of all variables.
        tables: the given tables of every use, in log space their logarithms.
        reduce: the reduction of the table of a step in log space.
        keep: whether to return the steps.

    Shapes: unary :math:`(B, n, D)`, tables :math:`(B, T, D, …)` or :math:`(1, T, D, …)`
    """
    upwards = Upwards.of(chunk, space, tables, reduce)
    steps, shares = [], []
    for number, (group, own) in enumerate(zip(chunk.groups, potentials_of(chunk, unary), strict=True)):
        step, share = upwards.sum_out(number, group, own)
        shares.append(share)
        if keep:
            steps.append(step)
    return Collected(steps, torch.cat(shares, 1), upwards.lowest)


def potentials_of(chunk: Chunk, unary: Tensor) -> tuple[Tensor, ...]:
    """The potentials of the variables of every group. Shapes: :math:`(B, n, D)` → :math:`(B, G, D)` each"""
    return torch.split(unary.index_select(1, chunk.variables), [group.count for group in chunk.groups], 1)


class Upwards:
    """The pass up; `messages` are those of every group that later groups read, by the number of the group."""

    @classmethod
    def of(cls, chunk: Chunk, space: Space, tables: Sequence[Tensor], reduce: Reduce = condition) -> Upwards:
        """The pass of a chunk; for the arguments see `collect`."""
        neutral = 0.0 if space == "log" else 1.0
        stacks = [_stacked(stack, tables[stack.use], neutral) for stack in chunk.stacks]
        return cls(stacks, chunk.borders, reduce if space == "log" else None)

    def __init__(self, stacks: list[Tensor], borders: Mapping[int, Sequence[int]], reduce: Reduce | None) -> None:
        self.stacks = stacks
        self.borders = borders
        self.reduce = reduce
        self.log = reduce is not None
        self.messages: dict[int, Tensor] = {}
        self.pieces: dict[int, dict[int, Tensor]] = {}
        self.lowest: list[Tensor] = []

    def sum_out(self, number: int, group: Group, own: Tensor) -> tuple[Step, Tensor]:
        """The sums of a group, and their share of log Z, which is not part of a message.

        Args:
            number: the number of the group.
            group: the group.
            own: potentials of its variables.

        Shapes: own :math:`(B, G, D)` → share :math:`(B, G)`
        """
        own = own[..., : group.states]
        if group.inbox is not None:
            own = own.index_add(1, group.inbox.row, self.received(group.inbox))
        if self.reduce is None:
            step, message, share = self._in_linear_space(group, own)
        else:
            step, message, share = self._in_log_space(group, own, self.reduce)
        if message is not None:
            self.messages[number] = message
        for each in group.spent:
            del self.messages[each]
            self.pieces.pop(each, None)
        return step, share

    def _in_linear_space(self, group: Group, own: Tensor) -> tuple[Step, Tensor | None, Tensor]:
        top = own.detach().amax(-1)
        right = self._table(group.right, (own - top.unsqueeze(-1)).exp())
        right = right.reshape(*right.shape[:2], group.shared, group.right.own, group.states)
        if group.left is None:
            left, sums = None, right.sum(-1).unsqueeze(-2)
        else:
            left = self._table(group.left, None)
            left = left.reshape(*left.shape[:2], group.shared, group.left.own, group.states)
            sums = matmul(left, right.mT)
        self.lowest.append(sums.detach().amin())
        if not group.shape:
            return Step(left, right, sums), None, top + sums.flatten(1).log()
        if len(group.shape) == 1:
            # A variable may receive any number of these messages: their logarithms are added.
            return Step(left, right, sums), sums.log().view(*sums.shape[:2], *group.shape), top
        high = sums.detach().amax((2, 3, 4), keepdim=True)
        right, sums = over(right, high), over(sums, high)
        return Step(left, right, sums), sums.view(*sums.shape[:2], *group.shape), top + high.flatten(1).log()

    def _in_log_space(self, group: Group, own: Tensor, reduce: Reduce) -> tuple[Step, Tensor | None, Tensor]:
        batch, count = own.shape[:2]
        table = self._table(group.right, own)
        found = reduce(table.reshape(-1, group.states).T.unsqueeze(-1))
        right = found.table.squeeze(-1).T.reshape(batch, count, 1, group.right.own, group.states)
        sums = torch.ones_like(found.message) if found.sums is None else found.sums
        step = Step(None, right, sums.view(batch, count, 1, 1, group.right.own))
        if not group.shape:
            return step, None, found.message.view(batch, count)
        return step, found.message.view(batch, count, *group.shape), own.new_zeros(batch, count)

    def _table(self, side: Side, own: Tensor | None) -> Tensor:
        """The product of the factors of a side, or the sum of their logarithms.

        Shapes: own :math:`(B, G, K)` → :math:`(B, G, *shape)`, with 1 for B or G where nothing depends on them
        """
        table = None if own is None else own.view(*own.shape[:2], *[1] * len(side.axes), own.shape[2])
        ours = own is not None
        for part in side.parts:
            for factor in self._factors(part):
                factor = factor.view(*factor.shape[:2], *part.shape)
                # The first factor may be a message itself, whose sender still needs its sums.
                table, ours = (factor, False) if table is None else (self._joined(table, factor, ours), True)
        assert table is not None
        return table if table.shape[2:] == side.shape else table.expand(*table.shape[:2], *side.shape)

    def _factors(self, part: Part) -> Iterator[Tensor]:
        for lookup in part.lookups:
            stack = self.stacks[lookup.stack]
            stack = stack if stack.shape[2:] == lookup.shape else corner(stack, lookup.shape)
            yield stack.index_select(1, lookup.number)
        if part.inbox is not None:
            yield self._combined(part.inbox)

    def _joined(self, table: Tensor, factor: Tensor, ours: bool = True) -> Tensor:
        return table + factor if self.log else times(table, factor, ours)

    def _combined(self, inbox: Inbox) -> Tensor:
        """One table per step: the product of all messages that it received."""
        received = self.received(inbox)
        if inbox.first is None:
            return received  # one for every step
        if inbox.gaps:
            neutral = received.new_full((received.shape[0], 1, *received.shape[2:]), 0.0 if self.log else 1.0)
            received = torch.cat([received, neutral], 1)
        table = received.index_select(1, inbox.first)
        for row, number in inbox.more:
            table.index_copy_(1, row, self._joined(table.index_select(1, row), received.index_select(1, number)))
        return table

    def received(self, inbox: Inbox) -> Tensor:
        """All messages of an inbox, concatenated."""
        found = []
        for sender in inbox.senders:
            message = self._sent(sender)
            found.append(message if sender.order is None else message.permute(0, 1, *(2 + i for i in sender.order)))
        return torch.cat(found, 1) if len(found) > 1 else found[0].contiguous()

    def _sent(self, sender: Sender) -> Tensor:
        """The messages of a sender.

        Where a gradient is needed, the messages of a group are split once: the gradients of slices would each be
        filled up with zeros.
        """
        message = self.messages[sender.group]
        if not message.requires_grad:
            return message[:, sender.start : sender.stop]
        if sender.group not in self.pieces:
            borders = [*self.borders[sender.group], message.shape[1]]
            sizes = [stop - start for start, stop in pairwise(borders)]
            self.pieces[sender.group] = dict(zip(borders, torch.split(message, sizes, 1), strict=False))
        piece = self.pieces[sender.group][sender.start]
        assert piece.shape[1] == sender.stop - sender.start, "the rows of senders overlap"
        return piece


def _stacked(stack: Stack, tables: Tensor, neutral: float) -> Tensor:
    """The tables of a stack. Shapes: tables :math:`(B, T, D, …)` → :math:`(B, T', D, …)`"""
    found = []
    for part in stack.parts:
        some = tables if part.table is None else tables.index_select(1, part.table)
        found.append(some if part.axes is None else some.permute(0, 1, *(2 + axis for axis in part.axes)))
    if stack.neutral:
        found.append(tables.new_full((len(tables), 1, *tables.shape[2:]), neutral))
    return torch.cat(found, 1) if len(found) > 1 else found[0]
