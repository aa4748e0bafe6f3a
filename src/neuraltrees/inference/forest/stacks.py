"""Which tables the steps of a chunk read, and in which order of their axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from neuraltrees.graph import Int64
from neuraltrees.inference.forest.groups import Factors, Grouping, Joint, Kind, Placed
from neuraltrees.inference.forest.plan import Lookup, Stack, Turned

LATE = 64  # more than any axis of a table in memory
FEW = 8  # axes whose orders fit into a number


class Stacks(NamedTuple):
    """What every group looks up, by scope; the stacks of every chunk; the entries of those beyond two variables."""

    lookups: list[dict[int, list[Lookup]]]
    of_chunk: list[list[Stack]]
    copied: list[int]


class _Variants(NamedTuple):
    """The tables of one use as chunks read them, each with an order of its axes: a row of `orders`.

    They are sorted by chunk, order and table; those of chunk c are `start[c]` to `start[c + 1]`. `number` is that of
    every factor among those of its chunk.

    Shapes: table and order :math:`(V)`, orders :math:`(P, f)`, number and group :math:`(F)`
    """

    table: Int64
    order: Int64
    orders: Int64
    start: Int64
    number: Int64
    group: Int64


def find_stacks(joints: Sequence[Joint], factors: Factors, grouping: Grouping, most: int) -> Stacks:
    """Numbers the tables that every chunk reads, and finds them for every group.

    Args:
        joints, factors: the given factors.
        grouping: the groups of steps that read them.
        most: the largest number of states.
    """
    chunks = int(grouping.chunk.max(initial=-1)) + 1
    found = Stacks([{} for _ in grouping.kinds], [[] for _ in range(chunks)], [0] * chunks)
    for use, (joint, placed) in enumerate(zip(joints, factors.placed, strict=True)):
        variants = _variants(joint, placed, grouping, chunks)
        place = [len(stacks) for stacks in found.of_chunk]
        gaps: set[int] = set()
        for g, scope, numbers in _numbers(variants, placed, grouping):
            chunk, kind = int(grouping.chunk[g]), grouping.kinds[g]
            neutral = int(variants.start[chunk + 1] - variants.start[chunk])
            rows = np.where(numbers < 0, neutral, numbers)
            if (numbers < 0).any():
                gaps.add(chunk)
            rows = rows[:1] if (rows == rows[0]).all() else rows
            lookup = Lookup(place[chunk], torch.from_numpy(rows), _shape(kind, scope))
            found.lookups[g].setdefault(scope, []).append(lookup)
        order = joint.steps.shape[1]
        for chunk in range(chunks):
            first, stop = int(variants.start[chunk]), int(variants.start[chunk + 1])
            if first < stop:
                parts = tuple(_turned(variants, first, stop, joint.tables))
                found.of_chunk[chunk].append(Stack(use, parts, chunk in gaps))
                found.copied[chunk] += (stop - first + (chunk in gaps)) * most**order if order > 2 else 0
    return found


def _variants(joint: Joint, placed: Placed, grouping: Grouping, chunks: int) -> _Variants:
    group = grouping.group[placed.step]
    # The axes of a side are those that both sides share, then its own; the variable of the step comes last.
    shared = np.array([kind.left & kind.right for kind in grouping.kinds], np.int64)[group]
    own = ~(shared[:, None] >> np.maximum(placed.axis, 0)) & 1
    axes = np.argsort(np.where(placed.axis < 0, 2 * LATE, placed.axis + LATE * own), 1)
    orders, order = _orders(axes)
    chunk = grouping.chunk[group]
    distinct, number = _distinct((chunk * len(orders) + order) * joint.tables + joint.table)
    before, table = np.divmod(distinct, joint.tables)
    of_chunk, of_order = np.divmod(before, len(orders))
    start = np.searchsorted(of_chunk, np.arange(chunks + 1))
    return _Variants(table, of_order, orders, start, number - start[chunk], group)


def _orders(axes: Int64) -> tuple[Int64, Int64]:
    """The distinct rows, and the number of each among them."""
    size = axes.shape[1]
    if size > FEW:
        distinct, number = np.unique(axes, axis=0, return_inverse=True)
        return distinct, number.reshape(-1)
    power = size ** np.arange(size)
    codes, number = _distinct(axes @ power)
    return codes[:, None] // power % size, number


def _distinct(keys: Int64) -> tuple[Int64, Int64]:
    """As `np.unique` with `return_inverse`, without sorting where the keys are small."""
    span = int(keys.max(initial=-1)) + 1
    if span > 16 * len(keys) + 1024:
        distinct, number = np.unique(keys, return_inverse=True)
        return distinct, number
    used = np.zeros(span, bool)
    used[keys] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[keys]


def _numbers(variants: _Variants, placed: Placed, grouping: Grouping) -> Iterator[tuple[int, int, Int64]]:
    """For every group and scope, the number of the factor of every step, or -1; several times if a step has several."""
    row = grouping.row[placed.step]
    listed = np.lexsort((row, placed.scope, variants.group))
    keys = [each[listed] for each in (variants.group, placed.scope, row)]
    if np.logical_and.reduce([key[1:] == key[:-1] for key in keys]).any():
        turn = turns(variants.group, placed.scope, row)
        listed = np.lexsort((turn, placed.scope, variants.group))
        keys = [each[listed] for each in (variants.group, placed.scope, row, turn)]
    (group, scope, row), number = keys[:3], variants.number[listed]
    for first, stop in segments(group, scope, *keys[3:]):
        g = int(group[first])
        found = np.full(int(grouping.start[g + 1] - grouping.start[g]), -1, np.int64)
        found[row[first:stop]] = number[first:stop]
        yield g, int(scope[first]), found


def _shape(kind: Kind, scope: int) -> tuple[int, ...]:
    axes = kind.axes(kind.side(scope))
    return (*(kind.shape[axis] for axis in axes if scope >> axis & 1), kind.states)


def _turned(variants: _Variants, first: int, stop: int, tables: int) -> Iterator[Turned]:
    for a, b in segments(variants.order[first:stop]):
        table = variants.table[first + a : first + b]
        axes = tuple(variants.orders[variants.order[first + a]].tolist())
        yield Turned(
            None if len(table) == tables else torch.from_numpy(table), None if axes == tuple(sorted(axes)) else axes
        )


def turns(*keys: Int64) -> Int64:
    """For every place, the number of previous places with the same keys."""
    order = np.lexsort(keys[::-1])
    number = np.arange(len(order))
    new = np.logical_or.reduce([np.diff(key[order], prepend=-1) != 0 for key in keys])
    turn = np.empty(len(order), np.int64)
    turn[order] = number - np.maximum.accumulate(np.where(new, number, 0))
    return turn


def segments(*keys: Int64) -> Iterator[tuple[int, int]]:
    """The beginning and the end of every run of equal keys."""
    if len(keys[0]):
        changes = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        cuts = (np.flatnonzero(changes) + 1).tolist()
        yield from zip([0, *cuts], [*cuts, len(keys[0])], strict=True)
