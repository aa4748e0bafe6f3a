"""Which objects are on, under or near each other."""

from __future__ import annotations

import numpy as np

from neuraltrees.scenes.scene import Float64, Int64
from neuraltrees.scenes.spec import TypedGraphSpec

ON, UNDER, NEAR = range(3)
CHUNK = 1 << 20  # pairs compared at once
SLACK = 1e-6  # metres; candidates are compared exactly afterwards


def object_pairs(position: Float64, size: Float64, group: Int64, spec: TypedGraphSpec) -> tuple[Int64, Int64, Int64]:
    """Pairs of objects of one group by the rules of `TypedGraphSpec`, sorted; unknown positions or sizes have none.

    Of the relations `ON` and `UNDER` the source is the object that is on or under the other; of `NEAR` the first.

    Shapes: position and size :math:`(k, 3)`, group :math:`(k)` → source, target and relation :math:`(p)`
    """
    known = np.flatnonzero(~(np.isnan(position) | np.isnan(size)).any(1))
    order = known[np.lexsort((position[known, 0], group[known]))]
    count = _candidates(position[order, 0], size[order, 0], group[order], spec)
    bounds = np.searchsorted(count.cumsum(), np.arange(CHUNK, count.sum(), CHUNK), side="right")
    found = []
    for part in np.split(np.arange(len(order)), bounds):
        first = np.repeat(part, count[part])
        before = count[part].cumsum() - count[part]
        second = first + 1 + np.arange(len(first)) - np.repeat(before, count[part])
        one, other = order[first], order[second]
        found.append(_related(position, size, np.minimum(one, other), np.maximum(one, other), spec))
    source, target, kind = (np.concatenate([each[i] for each in found]) for i in range(3))
    by = np.lexsort((target, source))
    return source[by], target[by], kind[by]


def _candidates(x: Float64, size: Float64, group: Int64, spec: TypedGraphSpec) -> Int64:
    """How many of the next objects, by group and x, may be close enough to each along x."""
    if not len(x):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(x)))
    largest = np.maximum.reduceat(size, starts)[number]
    mean = (size + largest) / 2
    reach = np.maximum(np.minimum(spec.near_factor * mean, mean + spec.near_gap), np.maximum(size, largest) / 2) + SLACK
    base = x - x.min()
    width = base.max() + reach.max() + 1.0  # groups lie side by side, too far apart to touch
    place = base + number * width
    stop: Int64 = np.searchsorted(place, place + reach, side="right")
    return stop - np.arange(1, len(x) + 1)


def _related(
    position: Float64, size: Float64, first: Int64, second: Int64, spec: TypedGraphSpec
) -> tuple[Int64, Int64, Int64]:
    """The candidates that are related, with the source first."""
    one, other = size[first].T / 2, size[second].T / 2
    apart = position[first].T - position[second].T
    distance, mean = np.abs(apart), one + other
    close = distance <= np.minimum(spec.near_factor * mean, mean + spec.near_gap)
    near = close[0] & close[1] & close[2]
    over_second = (distance[0] <= other[0]) & (distance[1] <= other[1])
    over_first = (distance[0] <= one[0]) & (distance[1] <= one[1])
    height = apart[2]
    on = np.where(height > 0, over_second, over_first) & (distance[2] <= spec.on_gap + mean[2])
    under = (over_first | over_second) & (height != 0)
    chosen = np.flatnonzero(on | under | near)
    on, under, height, first, second = (each[chosen] for each in (on, under, height, first, second))
    kind = np.where(on, ON, np.where(under, UNDER, NEAR))
    # On: the upper one first; level objects count as the first below. Under: the lower one first.
    turn = np.where(on, height <= 0, under & (height > 0))
    return np.where(turn, second, first), np.where(turn, first, second), kind
