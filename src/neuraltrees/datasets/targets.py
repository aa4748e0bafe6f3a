"""The columns of a table as targets: numbers, yes or no, or classes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.graph_files.table import Table
from neuraltrees.objectives import Classification, MultiLabel, Objective, Regression

Kind: TypeAlias = Literal["auto", "regression", "classification"]

MISSING = frozenset(("", "nan", "na", "n/a", "none", "null", "?", "-"))
YES_NO = {
    **{"1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0},
    **{"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "active": 1.0, "inactive": 0.0},
    **{"positive": 1.0, "negative": 0.0, "toxic": 1.0, "nontoxic": 0.0, "non-toxic": 0.0},
}
MOST_CLASSES = 50


def read_targets(table: Table, names: Sequence[str], kind: Kind = "auto") -> tuple[Objective, Tensor]:
    """The objective that follows from the cells of the columns, and the labels of every row.

    - Numbers: `Regression`, RMSE.
    - Yes or no (1 and 0, true and false, active and inactive, …), one column or several: `MultiLabel`, ROC-AUC.
    - Other texts, or two numbers other than 0 and 1: `Classification`, accuracy; one column alone.

    Cells that are empty, `NaN`, `NA`, `none` or `?` are missing labels.

    Shapes: labels :math:`(rows, T)`, NaN where one is missing; of classes :math:`(rows)`, -1 where one is missing

    Args:
        table: with the columns.
        names: of the columns.
        kind: regression or classification, instead of what follows from the cells.
    """
    cells = {name: table.column(name, "the target") for name in names}
    for name, column in cells.items():
        if all(is_missing(cell) for cell in column):
            raise InputError(f"{table.source}: expected at least one value in column {name!r}; all cells are empty.")
    kinds = {name: _kind_of(column) if kind == "auto" else kind for name, column in cells.items()}
    if kind == "classification":
        kinds = {name: "labels" if _is_yes_no(column) else "classes" for name, column in cells.items()}
    several = set(kinds.values())
    if several == {"labels", "regression"}:
        listed = ", ".join(f"{name!r} ({'yes or no' if kinds[name] == 'labels' else 'numbers'})" for name in names)
        raise InputError(
            f"{table.source}: expected targets of one kind; got {listed}. Train them apart, or learn all of them as "
            f"numbers: task=regression."
        )
    if "classes" in several and len(names) > 1:
        name = next(name for name in names if kinds[name] == "classes")
        raise InputError(
            f"{table.source}: expected several targets to be numbers or yes and no; got the classes "
            f"{_some(_values(cells[name]))} in column {name!r}. Give that column alone: target={name}."
        )
    if several == {"regression"}:
        rows = [_numbers(table, name, column) for name, column in cells.items()]
        return Regression(names, metric="rmse"), torch.tensor(rows).t().contiguous()
    if several == {"labels"}:
        rows = [[YES_NO.get(cell.lower(), math.nan) for cell in column] for column in cells.values()]
        return MultiLabel(names), torch.tensor(rows).t().contiguous()
    ((name, column),) = cells.items()
    return _classes(table, name, column)


def is_missing(cell: str) -> bool:
    """Whether a cell has no label."""
    return cell.lower() in MISSING


def split_names(given: str) -> list[str]:
    """The names of a list such as `logS, logP`."""
    return [name.strip() for name in given.split(",") if name.strip()]


def _values(column: Sequence[str]) -> list[str]:
    return sorted({cell for cell in column if not is_missing(cell)})


def _some(values: Sequence[str]) -> str:
    return ", ".join(repr(value) for value in values[:4]) + (", …" if len(values) > 4 else "")


def _kind_of(column: Sequence[str]) -> str:
    if _is_yes_no(column):
        return "labels"
    values = _values(column)
    if all(_number(value) is not None for value in values):
        return "classes" if len({_number(value) for value in values}) == 2 else "regression"
    numbers = sum(_number(value) is not None for value in values)
    # A text among many numbers is a typing error, which `_numbers` reports with its line.
    return "regression" if numbers > max(2, 0.5 * len(values)) else "classes"


def _is_yes_no(column: Sequence[str]) -> bool:
    return all(value.lower() in YES_NO for value in _values(column))


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _point(cell: str) -> str:
    """What to do about a number with a decimal comma; nothing for any other text."""
    if not re.fullmatch(r"[+-]?\d+,\d+", cell):
        return ""
    return f"Write numbers with a decimal point: {cell.replace(',', '.')}."


def _numbers(table: Table, name: str, column: Sequence[str]) -> list[float]:
    found = []
    for row, cell in enumerate(column):
        number = math.nan if is_missing(cell) else _number(cell)
        if number is None:
            raise InputError(
                f"{table.place(row)}: expected a number in column {name!r}; got {cell!r:.40}. "
                + (_point(cell) or "Leave the cell empty if it is not known, or learn classes: task=classification.")
            )
        found.append(number)
    return found


def _classes(table: Table, name: str, column: Sequence[str]) -> tuple[Objective, Tensor]:
    values, numeric = _values(column), all(_number(cell) is not None for cell in column if not is_missing(cell))
    if numeric:  # 1 and 1.0 are one class
        values = list({float(value): value for value in reversed(values)}.values())
    if len(values) < 2:
        raise InputError(f"{table.source}: expected at least two classes in column {name!r}; got {_some(values)}.")
    if len(values) > MOST_CLASSES:
        raise InputError(
            f"{table.source}: expected at most {MOST_CLASSES} classes in column {name!r}; got {len(values)}: "
            f"{_some(values)}. {_point(values[0]) or 'For numbers: task=regression.'}"
        )
    key = float if numeric else str
    labels = sorted(values, key=key)
    place = {key(label): number for number, label in enumerate(labels)}
    y = torch.tensor([-1 if is_missing(cell) else place[key(cell)] for cell in column])
    return Classification(labels, level="graph"), y
