"""Grids have any hyper-parameters of networks and trainings; the paper's two stages are one use of them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from neuraltrees.errors import InputError
from neuraltrees.tuning.grid import PAPER_GRID, PAPER_STAGES, Grid, Point


def test_the_papers_grid_and_its_stages() -> None:
    names = PAPER_GRID.stages(PAPER_STAGES)
    assert names == [("layers", "hidden", "lr"), ("dropout", "weight_decay")]
    first = PAPER_GRID.stage(names[0], {})
    assert first.size == 6 * 5 * 4
    assert {(point["dropout"], point["weight_decay"]) for point in first.points()} == {(0.25, 0)}
    best = Point(layers=4, hidden=128, lr=0.005, dropout=0.25, weight_decay=0.0)
    second = PAPER_GRID.stage(names[1], best).points()
    assert [(point["layers"], point["hidden"], point["lr"]) for point in second] == [(4, 128, 0.005)] * 12
    assert {(point["dropout"], point["weight_decay"]) for point in second} == {
        (dropout, decay) for dropout in (0.25, 0.5, 0.75) for decay in (0, 1e-4, 1e-3, 1e-2)
    }
    assert best in second


def test_any_hyper_parameters() -> None:
    grid = Grid(residual=(True, False), conv=("sage", "gcn"), heads=(4, 2), patience=(None, 10), lr=(1, 0.5))
    assert dict(grid) == {
        "residual": (True, False),
        "conv": ("sage", "gcn"),
        "heads": (2, 4),
        "patience": (None, 10),
        "lr": (0.5, 1.0),
    }
    assert grid.stages([]) == grid.stages(PAPER_STAGES[1:]) == [tuple(grid)], "one stage is a plain grid"
    assert grid.points()[0] == Point(residual=True, conv="sage", heads=2, patience=None, lr=0.5)
    assert grid.replace(lr=(0.1,), layers=(3,)).size == 2 * 2 * 2 * 2


def test_the_order_of_numbers_does_not_matter() -> None:
    assert Grid(layers=(3, 1), lr=(0.1, 0.01)) == Grid(layers=(1, 3), lr=(0.01, 0.1))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "Expected at least one hyper-parameter to tune; got none."),
        ({"layers": (2, 0)}, "Expected layers to be at least 1; got 0."),
        ({"layers": (True,)}, "Expected layers to be an integer; got True."),
        ({"hidden": ()}, "Expected at least one value of hidden; got none."),
        ({"hidden": (1.5,)}, "Expected hidden to be an integer; got 1.5."),
        ({"lr": (0.1, 0.0)}, "Expected lr to be above 0; got 0.0."),
        ({"lr": (float("nan"),)}, "Expected lr to be a number; got nan."),
        ({"dropout": (0.5, 1)}, "Expected dropout to be below 1; got 1."),
        ({"weight_decay": (0, 0.0)}, "Expected every value of weight_decay once; got 0, 0.0."),
        ({"conv": ("gcn", "cnn")}, "got 'cnn'."),
        ({"colour": (1,)}, "Expected a hyper-parameter out of model, conv, hidden"),
    ],
)
def test_bad_grids_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Grid(**values)
    assert message in str(error.value)


def test_points_are_values() -> None:
    point = Point(layers=2, weight_decay=1e-4, conv="gcn")
    assert {point: 1}[Point(conv="gcn", layers=2, weight_decay=1e-4)] == 1
    assert pickle.loads(pickle.dumps(point)) == point
    assert (repr(point), str(point)) == (
        "Point(layers=2, weight_decay=0.0001, conv='gcn')",
        "layers 2, weight decay 0.0001, conv gcn",
    )
