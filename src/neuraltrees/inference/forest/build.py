"""Groups of elimination steps → the plan of a forest, with all indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import torch

from neuraltrees.graph import Int64
from neuraltrees.inference.forest.elimination import Elimination
from neuraltrees.inference.forest.groups import Factors, Grouping, Joint, Kind, Kinds, group_steps
from neuraltrees.inference.forest.plan import Chunk, Group, Inbox, Lookup, Part, Sender, Side
from neuraltrees.inference.forest.split import size
from neuraltrees.inference.forest.stacks import find_stacks, segments, turns


def build_chunks(
    steps: Elimination, joints: Sequence[Joint], factors: Factors, kinds: Kinds, chunk: Int64, most: int
) -> tuple[Chunk, ...]:
    """The plan of every chunk of graphs; `chunk` is the chunk of every step, `most` the largest number of states."""
    grouping = group_steps(steps, kinds, chunk)
    listed, start = grouping.listed, grouping.start
    bounds = list(segments(grouping.chunk))
    inboxes: list[dict[int, Inbox]] = [{} for _ in grouping.kinds]
    for g, scope, inbox in _inboxes(steps, factors, kinds, grouping, np.array([first for first, _ in bounds])):
        inboxes[g][scope] = inbox
    lookups, stacks, copied = find_stacks(joints, factors, grouping, most)
    chunks = []
    for first, stop in bounds:
        spent = _spent(inboxes[first:stop])
        groups = []
        for g in range(first, stop):
            kind, inside = grouping.kinds[g], listed[start[g] : start[g + 1]]
            members = factors.members[steps.ptr[inside][:, None] + np.arange(len(kind.shape))]
            groups.append(
                Group(
                    variables=torch.from_numpy(steps.order[inside]),
                    separators=torch.from_numpy(steps.order[members]),
                    states=kind.states,
                    shape=tuple(kind.shape[axis] for axis in kind.layout),
                    shared=size(kind.shape, kind.left & kind.right),
                    left=_side(kind, kind.left, lookups[g], inboxes[g]) if kind.left else None,
                    right=_side(kind, kind.right, lookups[g], inboxes[g]),
                    inbox=inboxes[g].get(0),
                    spent=spent[g - first],
                )
            )
        variables = torch.from_numpy(steps.order[listed[start[first] : start[stop]]])
        entries = sum(
            group.count * kind.entries for group, kind in zip(groups, grouping.kinds[first:stop], strict=True)
        )
        number = int(grouping.chunk[first])
        chunks.append(Chunk(tuple(groups), variables, entries, tuple(stacks[number]), copied[number]))
    return tuple(chunks)


def _inboxes(
    steps: Elimination, factors: Factors, kinds: Kinds, grouping: Grouping, bounds: Int64
) -> Iterator[tuple[int, int, Inbox]]:
    """The inboxes of every group, with their scopes; senders are numbered from the first group of the chunk."""
    child = np.flatnonzero(steps.parent >= 0)
    target, scope, sender = grouping.group[steps.parent[child]], factors.scope[child], grouping.group[child]
    code, row = kinds.code[child], grouping.row[child]
    order = np.lexsort((row, code, sender, scope, target))
    child, target, scope, sender, code, row = (each[order] for each in (child, target, scope, sender, code, row))
    receiver = grouping.row[steps.parent[child]]
    turn = turns(target, scope, receiver)
    base = bounds[np.searchsorted(bounds, target, side="right") - 1] if len(child) else target
    senders: dict[tuple[int, int], list[Sender]] = {}
    for a, b in segments(target, scope, sender, code):
        g, mask = int(target[a]), int(scope[a])
        axes = tuple(factors.axes[factors.axes_ptr[child[a]] : factors.axes_ptr[child[a] + 1]].tolist())
        order_and_back = _permutation(grouping.kinds[sender[a]], axes, grouping.kinds[g], mask)
        found = Sender(int(sender[a] - base[a]), int(row[a]), int(row[b - 1]) + 1, *order_and_back)
        senders.setdefault((g, mask), []).append(found)
    for first, stop in segments(target, scope):
        g, mask = int(target[first]), int(scope[first])
        count = int(grouping.start[g + 1] - grouping.start[g])
        yield g, mask, _inbox(tuple(senders[g, mask]), receiver[first:stop], turn[first:stop], count, bool(mask))


@lru_cache(maxsize=4096)
def _permutation(
    sender: Kind, axes: tuple[int, ...], receiver: Kind, scope: int
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """The permutation of the axes of a message to the order of the receiver, its variable last, and the inverse."""
    wanted = [axis for axis in receiver.axes(receiver.side(scope)) if scope >> axis & 1]
    # The sender's last axis is the receiver's variable; `axes` are the receiver's axes of the others.
    found = [axes[axis] if axis < len(axes) else -1 for axis in sender.layout]
    order = tuple(found.index(axis) for axis in (*wanted, -1))
    if order == tuple(range(len(order))):
        return None, None
    return order, tuple(np.argsort(order).tolist())


def _inbox(senders: tuple[Sender, ...], row: Int64, turn: Int64, count: int, multiplied: bool) -> Inbox:
    plain = len(row) == count and bool((row == np.arange(count)).all())
    if plain or not multiplied:
        return Inbox(senders, torch.from_numpy(row), plain)
    first = np.full(count, len(row), np.int64)
    numbers = np.split(np.argsort(turn, kind="stable"), np.cumsum(np.bincount(turn))[:-1])
    first[row[numbers[0]]] = numbers[0]
    more = tuple((torch.from_numpy(row[number]), torch.from_numpy(number)) for number in numbers[1:])
    return Inbox(senders, torch.from_numpy(row), False, torch.from_numpy(first), len(numbers[0]) < count, more)


def _side(kind: Kind, mask: int, lookups: dict[int, list[Lookup]], inboxes: dict[int, Inbox]) -> Side:
    axes = kind.axes(mask)
    parts = []
    for scope in sorted({*lookups, *inboxes} - {0}, key=lambda scope: (size(kind.shape, scope), scope)):
        if kind.side(scope) == mask:
            parts.append(
                Part(
                    shape=(*(kind.shape[axis] if scope >> axis & 1 else 1 for axis in axes), kind.states),
                    missing=tuple(place for place, axis in enumerate(axes) if not scope >> axis & 1),
                    lookups=tuple(lookups.get(scope, ())),
                    inbox=inboxes.get(scope),
                )
            )
    own = size(kind.shape, mask & ~(kind.left & kind.right))
    return Side(tuple(axes), (*(kind.shape[axis] for axis in axes), kind.states), own, tuple(parts))


def _spent(inboxes: list[dict[int, Inbox]]) -> list[tuple[int, ...]]:
    """For every group, the groups whose messages it reads last."""
    last = {sender.group: g for g, each in enumerate(inboxes) for inbox in each.values() for sender in inbox.senders}
    found: list[tuple[int, ...]] = [() for _ in inboxes]
    for sender, g in last.items():
        found[g] += (sender,)
    return found
