"""Elimination → groups of steps with tables of equal shapes, which form one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neuraltrees.graph import Int64
from neuraltrees.inference.forest.elimination import Elimination
from neuraltrees.inference.forest.plan import Space
from neuraltrees.inference.forest.split import size, split


class Joint(NamedTuple):
    """Factors of the same number of variables: their variables, by their steps, and their tables out of `tables`.

    Shapes: steps :math:`(F, f)`, table :math:`(F)`
    """

    steps: Int64
    table: Int64
    tables: int


class Kind(NamedTuple):
    """What the steps of a group have in common; `left` and `right` are masks of the separator's axes."""

    height: int
    states: int
    shape: tuple[int, ...]
    left: int
    right: int

    def axes(self, side: int) -> tuple[int, ...]:
        """The axes of a side: those that both sides have, then its own."""
        shared = self.left & self.right
        return _axes(shared) + _axes(side & ~shared)

    @property
    def layout(self) -> tuple[int, ...]:
        """The axes of the message."""
        return self.axes(self.left) + _axes(self.right & ~self.left)

    def side(self, scope: int) -> int:
        """The side that a factor of this scope belongs to: the right one if possible."""
        return self.left if scope & ~self.right else self.right

    @property
    def entries(self) -> int:
        """Entries of both sides and of the message of a step."""
        sides = size(self.shape, self.right) + (size(self.shape, self.left) if self.left else 0)
        return self.states * sides + size(self.shape, self.left | self.right)


class Placed(NamedTuple):
    """Factors in the steps of their first variables: the axis of each variable, -1 for the first, and their mask.

    Shapes: step and scope :math:`(F)`, axis :math:`(F, f)`
    """

    step: Int64
    axis: Int64
    scope: Int64


@dataclass(frozen=True)
class Factors:
    """The axes of the factors of every step.

    `members` are the separators of the elimination, sorted by numbers of states with the receiver last, so that more
    steps have equal shapes. `placed` are the given factors, each in the step of its first variable. In the receiver of
    step i, the other variables of the message have the axes `axes[axes_ptr[i] : axes_ptr[i + 1]]`, whose mask is
    `scope[i]`.
    """

    members: Int64
    placed: tuple[Placed, ...]
    axes: Int64
    axes_ptr: Int64
    scope: Int64


@dataclass(frozen=True)
class Kinds:
    """The kind of every step, and a number that identifies the receiver's axes of its message."""

    kinds: list[Kind]
    of: Int64
    code: Int64


@dataclass(frozen=True)
class Grouping:
    """The group and the row of every step; those of group g are `listed[start[g] : start[g + 1]]`.

    Groups are sorted by chunk, then by kind, and so by height; rows by the groups and the axes of their receivers.
    """

    kinds: list[Kind]
    chunk: Int64
    group: Int64
    row: Int64
    listed: Int64
    start: Int64


def find_factors(steps: Elimination, states: Int64, joints: Sequence[Joint]) -> Factors:
    """Finds the axes of the variables of every factor and of every message in the step that reads it."""
    count = len(states)
    step_of = np.repeat(np.arange(count), np.diff(steps.ptr))
    receiver = steps.parent[step_of]
    is_receiver = steps.members == receiver
    order = np.lexsort((-steps.members, states[steps.members], is_receiver, step_of))
    members, is_receiver = steps.members[order], is_receiver[order]
    axis = np.arange(len(members)) - steps.ptr[step_of]
    key = step_of * count + members
    place = np.argsort(key)
    key = key[place]
    placed = []
    for joint in joints:
        first = joint.steps.min(1, keepdims=True)
        others = joint.steps != first
        found = np.full(joint.steps.shape, -1, np.int64)
        found[others] = axis[place[np.searchsorted(key, (first * count + joint.steps)[others])]]
        mask = np.where(others, 1 << np.maximum(found, 0), 0).sum(1)
        placed.append(Placed(first[:, 0], found, mask))
    others = np.flatnonzero(~is_receiver)
    axes = axis[place[np.searchsorted(key, receiver[others] * count + members[others])]]
    axes_ptr = np.searchsorted(step_of[others], np.arange(count + 1))
    scope = np.zeros(count, np.int64)
    np.bitwise_or.at(scope, step_of[others], 1 << axes)
    return Factors(members, tuple(placed), axes, axes_ptr, scope)


def find_kinds(steps: Elimination, states: Int64, factors: Factors, space: Space) -> Kinds:
    """The kind of every step; steps in linear space are split into two tables, steps in log space are not."""
    scope_ptr, scopes = _scopes(steps, factors)
    # All that a kind depends on, one step after another: height, states, degree, shape, scopes.
    degree, counts = np.diff(steps.ptr), np.diff(scope_ptr)
    ptr = np.append(0, np.cumsum(3 + degree + counts))
    words = np.empty(ptr[-1], np.int64)
    # No step waits for a root: all roots come last, in the same groups.
    height = np.where(degree > 0, steps.height, len(states))
    for place, values in enumerate((height, states, degree)):
        words[ptr[:-1] + place] = values
    words[np.repeat(ptr[:-1] + 3 - steps.ptr[:-1], degree) + np.arange(len(factors.members))] = states[factors.members]
    words[np.repeat(ptr[:-1] + 3 + degree - scope_ptr[:-1], counts) + np.arange(len(scopes))] = scopes
    distinct, of = _number_rows(words, ptr)
    found = [_kind(row, space) for row in distinct]
    kinds = sorted(set(found))
    number = {kind: i for i, kind in enumerate(kinds)}
    return Kinds(
        kinds, np.array([number[kind] for kind in found], np.int64)[of], _number_rows(factors.axes, factors.axes_ptr)[1]
    )


def _kind(row: list[int], space: Space) -> Kind:
    height, states, degree, *rest = row
    shape, scopes = tuple(rest[:degree]), tuple(rest[degree:])
    return Kind(height, states, shape, *(split(shape, scopes) if space == "linear" else (0, (1 << degree) - 1)))


def _number_rows(values: Int64, ptr: Int64) -> tuple[list[list[int]], Int64]:
    """The distinct rows of a ragged array, and the number of each among them."""
    text, ends = values.tobytes(), (values.itemsize * ptr).tolist()
    number: dict[bytes, int] = {}
    of = [number.setdefault(text[a:b], len(number)) for a, b in pairwise(ends)]
    return [np.frombuffer(row, np.int64).tolist() for row in number], np.array(of, np.int64)


@lru_cache(maxsize=4096)
def _axes(mask: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(mask.bit_length()) if mask >> axis & 1)


def group_steps(steps: Elimination, kinds: Kinds, chunk: Int64) -> Grouping:
    """Steps of the same chunk and kind form a group."""
    count = len(steps.order)
    distinct, group = np.unique(chunk * len(kinds.kinds) + kinds.of, return_inverse=True)
    chunks, of = np.divmod(distinct, max(1, len(kinds.kinds)))
    receiver = np.where(steps.parent >= 0, group[steps.parent], -1) if count else group
    listed = np.lexsort((steps.parent, kinds.code, receiver, group))
    start = np.searchsorted(group[listed], np.arange(len(distinct) + 1))
    row = np.empty(count, np.int64)
    row[listed] = np.arange(count) - start[group[listed]]
    return Grouping([kinds.kinds[each] for each in of.tolist()], chunks, group, row, listed, start)


def _scopes(steps: Elimination, factors: Factors) -> tuple[Int64, Int64]:
    """The distinct scopes of the factors of every step, as masks of its separator's axes."""
    sent = np.flatnonzero(factors.scope)
    step = np.concatenate([*(each.step for each in factors.placed), steps.parent[sent]])
    scope = np.concatenate([*(each.scope for each in factors.placed), factors.scope[sent]])
    order = np.lexsort((scope, step))
    step, scope = step[order], scope[order]
    new = np.ones(len(step), bool)
    new[1:] = (step[1:] != step[:-1]) | (scope[1:] != scope[:-1])
    return np.searchsorted(step[new], np.arange(len(steps.order) + 1)), scope[new]
