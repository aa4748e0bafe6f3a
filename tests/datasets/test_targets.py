"""Columns of a table as targets."""

from __future__ import annotations

import pytest

from neuraltrees import Classification, InputError
from neuraltrees.datasets.targets import Kind, read_targets
from neuraltrees.graph_files.table import Table


def test_a_number_that_is_written_in_two_ways_is_one_class() -> None:
    column = ["2", "1", "1.0", "", "2.0", "1"]
    objective, y = read_targets(Table("table.csv", {"grade": column}, (2, 3, 4, 5, 6, 7)), ["grade"])
    assert isinstance(objective, Classification)
    assert [list(names) for names in objective.labels.values()] == [["1", "2"]]
    assert y.tolist() == [1, 0, 0, -1, 1, 0]


def test_texts_are_classes_as_they_are_written() -> None:
    objective, y = read_targets(Table("table.csv", {"kind": ["b", "a", "B"]}, (2, 3, 4)), ["kind"])
    assert isinstance(objective, Classification)
    assert [list(names) for names in objective.labels.values()] == [["B", "a", "b"]]
    assert y.tolist() == [2, 1, 0]


@pytest.mark.parametrize("task", ["auto", "regression"])
def test_a_decimal_comma_is_recognised(task: Kind) -> None:
    column = [f"-{n},25" for n in range(60)]
    with pytest.raises(InputError, match=r"Write numbers with a decimal point: -0\.25\."):
        read_targets(Table("table.csv", {"logS": column}, tuple(range(2, 62))), ["logS"], task)
