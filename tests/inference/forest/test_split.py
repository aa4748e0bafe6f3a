"""How factors are divided between two tables."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.inference.forest.split import MOST_TRIED, size, split


@st.composite
def problems(draw: st.DrawFn, most_scopes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = draw(st.lists(st.integers(2, 9), min_size=1, max_size=7).map(tuple))
    scopes = draw(st.sets(st.integers(1, 2 ** len(shape) - 1), max_size=most_scopes))
    alone = {1 << axis for axis in range(len(shape)) if not any(scope >> axis & 1 for scope in scopes)}
    return shape, tuple(sorted(scopes | alone))


@given(problems(most_scopes=2 * MOST_TRIED))
@settings(max_examples=200)
def test_every_factor_has_a_table_and_every_axis_is_in_one(problem: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    shape, scopes = problem
    left, right = split(shape, scopes)
    assert left | right == 2 ** len(shape) - 1
    assert all(not scope & ~left or not scope & ~right for scope in scopes)
    assert right == 0 or right >> (len(shape) - 1) & 1
    assert size(shape, left) + size(shape, right) <= 2 * size(shape, 2 ** len(shape) - 1)


def test_pairs_are_halved() -> None:
    """A clique of six variables of 8 states: tables of 8^4 and 8^3 entries, not of 8^6."""
    left, right = split((8,) * 5, tuple(1 << axis for axis in range(5)))
    assert (size((8,) * 5, left), size((8,) * 5, right)) == (8**3, 8**2)


def test_nothing_to_divide() -> None:
    assert split((), ()) == (0, 0)
    assert split((4,), (1,)) == (1, 0)
