"""The pass down a forest: marginals and samples, from the roots to the leaves."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor

from neuraltrees.inference.forest.arithmetic import matmul, over, times
from neuraltrees.inference.forest.plan import Chunk, Group, Inbox, Side
from neuraltrees.inference.forest.up import Step


def distribute(chunk: Chunk, steps: list[Step], most: int) -> Tensor:
    r"""The marginals of the chunk's variables; the list of steps is emptied.

    The distribution of a separator goes back to the group that sent a message about it, where

    .. math:: p(s, o) = \frac{p(s)}{m(s)} L(s, o)\, R(s, o)

    and its sums over what one of the two tables does not depend on are matrix products again.

    Shapes: → :math:`(B, N, D)`, zeros beyond the states of a variable
    """
    downwards = Downwards(most)
    marginals = [
        downwards.marginals(chunk.groups[number], number, steps.pop()) for number in reversed(range(len(chunk.groups)))
    ]
    return torch.cat(marginals[::-1], 1)


class Downwards:
    """The pass down; `arrived` are the distributions of separators that were sent to groups, by the number of the group
    and the first of the rows that they belong to.

    Args:
        most: the largest number of states.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.arrived: defaultdict[int, dict[int, Tensor]] = defaultdict(dict)

    def marginals(self, group: Group, number: int, step: Step) -> Tensor:
        """The marginals of the variables of a group; sends the marginals of separators to their groups.

        Shapes: → :math:`(B, G, D)`, zeros beyond the states of a variable
        """
        left, right, sums = step
        if group.shape:
            pieces = [piece for _, piece in sorted(self.arrived.pop(number).items(), key=lambda each: each[0])]
            separator = torch.cat(pieces, 1) if len(pieces) > 1 else pieces[0]
            share = over(separator.reshape(sums.shape), sums)
        else:
            share = sums.reciprocal()
        if group.left is None or left is None:
            own = self._send(group.right, times(right, share.mT))
        elif group.left.receives or group.right.receives:
            if group.right.receives:
                own = self._send(group.right, times(matmul(share.mT, left), right))
            if group.left.receives:
                shares = times(share, right, ours=False) if group.right.own == 1 else matmul(share, right)
                own = self._send(group.left, times(shares, left))
        else:
            one, other = (left, right) if group.left.own < group.right.own else (right, left)
            shares = matmul(other.mT, share if one is right else share.mT)
            own = (shares * one.mT).sum((2, 4))
        if group.inbox is not None:
            self._answer(group.inbox, own.clone())
        return own if group.states == self.most else torch.nn.functional.pad(own, (0, self.most - group.states))

    def _send(self, side: Side, joint: Tensor) -> Tensor:
        """The marginals of the variables of a side; sends those of separators to the groups that sent to it."""
        own = joint.sum((2, 3))
        for part in side.parts:
            if part.inbox is not None:
                marginal = joint.view(*joint.shape[:2], *side.shape)
                if part.missing:
                    marginal = marginal.sum([2 + axis for axis in part.missing])
                self._answer(part.inbox, marginal)
        return own

    def _answer(self, inbox: Inbox, marginal: Tensor) -> None:
        """Sends marginals to the senders of an inbox, which may overwrite them."""
        if not inbox.plain:
            marginal = marginal.index_select(1, inbox.row)
        parts = torch.split(marginal, [sender.stop - sender.start for sender in inbox.senders], 1)
        for sender, part in zip(inbox.senders, parts, strict=True):
            back = part if sender.back is None else part.permute(0, 1, *(2 + i for i in sender.back))
            self.arrived[sender.group][sender.start] = back


def draw(chunk: Chunk, steps: list[Step], uniform: Tensor | None, states: Tensor) -> None:
    """States of the chunk's variables, each given those of its separator: drawn, or the largest entries.

    Args:
        chunk: the plan.
        steps: the steps of the pass up.
        uniform: numbers from 0 to 1, at which cumulative distributions are inverted; None for the largest entries.
        states: the states of all variables, into which those of the chunk are written.

    Shapes: uniform and states :math:`(C, B, n)`
    """
    for group, (left, right, _) in zip(reversed(chunk.groups), reversed(steps), strict=True):
        given = states[..., group.separators]
        weight = _entries(group.right, right, given)
        if group.left is not None and left is not None:
            weight = weight * _entries(group.left, left, given)
        found = weight.argmax(-1) if uniform is None else invert(weight, uniform[..., group.variables])
        states[..., group.variables] = found


def _entries(side: Side, table: Tensor, given: Tensor) -> Tensor:
    """The entries of a side's table at the given states of the separators.

    Shapes: given :math:`(C, B, G, d)` → :math:`(C, B, G, K)`
    """
    place = given.new_zeros(given.shape[:-1])
    for axis, size in zip(side.axes, side.shape, strict=False):
        place = place * size + given[..., axis]
    flat = table.flatten(2, 3)
    batch, row = (torch.arange(size, device=given.device) for size in flat.shape[:2])
    return flat[batch[:, None], row, place]


def invert(weight: Tensor, uniform: Tensor) -> Tensor:
    """The first state at which the cumulative sum of the weights exceeds a uniform share of their total.

    Shapes: weight :math:`(*, K)`, uniform :math:`(*)` → :math:`(*)`

    >>> invert(torch.tensor([[1.0, 0.0, 3.0, 0.0]] * 3), torch.tensor([0.2, 0.25, 1.0])).tolist()
    [0, 2, 2]
    """
    total = weight.double().cumsum(-1)
    below = (total <= uniform.double().unsqueeze(-1) * total[..., -1:]).sum(-1)
    return torch.minimum(below, (total < total[..., -1:]).sum(-1))  # never a last state of weight zero
