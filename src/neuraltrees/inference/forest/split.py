"""Divides the factors of a step between two tables whose matrix product sums out its variable."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

# With more factors q, all 2^q divisions are too many to try.
MOST_TRIED = 10


@lru_cache(maxsize=4096)
def split(shape: tuple[int, ...], scopes: tuple[int, ...]) -> tuple[int, int]:
    r"""Two sets of a separator's variables, left and right, each scope inside one of them, of the least total size.

    A step sums out o, :math:`m(s) = \sum_o \prod_k f_k(o, s_k)`. With the factors inside :math:`s_L` multiplied into a
    table L and the others into R, this is a matrix product for every state of :math:`s_L \cap s_R`, without the full
    table of (o, s):

    .. math:: m(s) = \sum_o L(s_L, o)\, R(s_R, o)

    Sets are bit masks of axes. The last axis, the variable that receives the message, is on the right unless the right
    set is empty, so that it is the last axis of the message, as the receiver expects.

    Args:
        shape: numbers of states of the separator's variables.
        scopes: the scopes of the factors without o; their union has all axes.

    >>> split((15, 35, 35), (0b001, 0b010, 0b100))
    (3, 4)
    >>> split((15, 35, 35), (0b001, 0b011, 0b101))
    (3, 5)
    >>> split((15, 35, 35), (0b111,))
    (7, 0)
    """
    largest = [a for a in scopes if not any(a != b and a | b == b for b in scopes)]
    last = 1 << (len(shape) - 1) if shape else 0
    divisions = product((0, 1), repeat=len(largest)) if len(largest) <= MOST_TRIED else [_greedy(shape, largest)]
    return min((_sides(division, largest, last) for division in divisions), key=lambda sides: _cost(shape, *sides))


def size(shape: tuple[int, ...], mask: int) -> int:
    """The number of states of the axes in a mask."""
    return 1 if not mask else math.prod(states for axis, states in enumerate(shape) if mask >> axis & 1)


def _sides(division: tuple[int, ...], scopes: list[int], last: int) -> tuple[int, int]:
    sides = [0, 0]
    for side, scope in zip(division, scopes, strict=True):
        sides[side] |= scope
    left, right = sides
    if left | right in (left, right):
        return left | right, 0
    return (left, right) if right & last else (right, left)


def _cost(shape: tuple[int, ...], left: int, right: int) -> tuple[int, int, int, int]:
    """Entries of both tables; ties are broken by the right table, which also has the variable's own potential."""
    both = size(shape, left), size(shape, right)
    return sum(both), both[1], left, right


def _greedy(shape: tuple[int, ...], scopes: list[int]) -> tuple[int, ...]:
    """Assigns each scope, in descending size, to the side that it enlarges less."""
    sides, division = [0, 0], dict.fromkeys(scopes, 0)
    for scope in sorted(scopes, key=lambda scope: -size(shape, scope)):
        grown = [size(shape, mask | scope) - size(shape, mask) for mask in sides]
        division[scope] = side = int(grown[1] < grown[0])
        sides[side] |= scope
    return tuple(division[scope] for scope in scopes)
