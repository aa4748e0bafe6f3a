"""cross_fit: no item is predicted by a model that has seen its own label."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from neuraltrees import InputError, cross_fit


def remember(known: Tensor) -> Tensor:
    """A model that knows the labels that it was trained on, and nothing else."""
    found = torch.zeros(len(known), 3)
    found[known >= 0, known[known >= 0]] = 1
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 6))
def test_what_a_model_remembers_of_a_label_does_not_reach_its_own_row(seed: int, items: int, folds: int) -> None:
    y = torch.randint(-1, 3, (items,), generator=torch.Generator().manual_seed(seed))
    y[: min(folds, items)] = 0
    folds = min(folds, int((y >= 0).sum()))
    assert not cross_fit(remember, y, folds, seed).any()


def test_a_row_stays_when_its_own_label_changes_within_the_fold() -> None:
    def vote(known: Tensor) -> Tensor:  # reads every label that it is given
        return torch.nn.functional.one_hot(known[known >= 0], 3).float().mean(0).expand(len(known), 3)

    y = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, -1])
    seen: list[Tensor] = []

    def listening(known: Tensor) -> Tensor:
        seen.append(known)
        return vote(known)

    found = cross_fit(listening, y, folds=4)
    hidden = torch.stack([(known < 0) & (y >= 0) for known in seen[:4]])
    assert hidden.sum(0).tolist() == [1] * 10 + [0] and seen[4].tolist() == y.tolist()
    for number, known in enumerate(seen[:4]):
        assert torch.equal(found[hidden[number]], vote(known)[hidden[number]])
        assert [int((y[hidden[number]] == label).sum()) for label in (0, 1)] == [1, 1], "every fold has each class"
    assert torch.equal(found[10], vote(y)[10])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"folds": 1}, "Expected folds"),
        ({"folds": 5}, "Expected at least 5 labels, one per fold; got 3. Use fewer folds"),
        ({"y": torch.zeros(4)}, "Expected y as integers"),
        ({"predict": lambda known: remember(known)[:2]}, "a row for each of 4 items"),
    ],
)
def test_errors(change: dict[str, Any], told: str) -> None:
    values: dict[str, Any] = {"predict": remember, "y": torch.tensor([0, 1, 2, -1]), "folds": 3} | change
    with pytest.raises(InputError, match=told):
        cross_fit(**values)
