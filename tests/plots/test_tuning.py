"""The figure of a tuning shows every mean, frames what was chosen, and has room for any grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from neuraltrees.errors import InputError
from neuraltrees.plots.tuning import tune_figure
from neuraltrees.tuning.grid import PAPER_STAGES, Grid, Point, Stages
from neuraltrees.tuning.trials import Trial, Tuned, select

GRID = Grid(layers=(1, 2), hidden=(4, 8), lr=(0.01, 0.05), dropout=(0.1, 0.5), weight_decay=(0, 0.01))


def tuned(
    grid: Grid, metric: Callable[[Point], float], stages: Stages = PAPER_STAGES, higher_is_better: bool = True
) -> Tuned:
    """A search that is done, in which every run has what the metric says."""
    trials, chosen = list[Trial](), list[Trial]()
    for number, names in enumerate(grid.stages(stages), start=1):
        points = grid.stage(names, chosen[-1].point if chosen else {}).points()
        found = [Trial(point, (metric(point), metric(point)), (0.0, 0.0), 1, number) for point in points]
        trials, chosen = trials + found, [*chosen, select(found, higher_is_better)]
    return Tuned(
        grid,
        tuple(grid.stages(stages)),
        tuple(trials),
        tuple(chosen),
        higher_is_better,
        *(() if higher_is_better else ("mae", False)),
    )


def by_size(point: Point) -> float:
    return 0.1 + sum(float(value) for value in point.values() if isinstance(value, float | int)) / 40


def texts(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_accuracy_is_shown(tmp_path: Path) -> None:
    found = tuned(GRID, by_size)
    tune_figure(found, tmp_path / "tuning.svg")
    tune_figure(found, tmp_path / "tuning.png")
    shown = texts(tmp_path / "tuning.svg")
    for accuracy in {f"{100 * trial.val_mean:.1f}" for trial in found.trials}:
        assert shown.count(accuracy) >= sum(f"{100 * t.val_mean:.1f}" == accuracy for t in found.trials)
    assert {"1 round", "2 rounds", "learning rate", "hidden size", "dropout", "weight decay"} <= set(shown)
    assert "Stage 1: 2 rounds, hidden size 8, learning rate 0.05 → 35.4 ± 0.0 %" in shown
    with Image.open(tmp_path / "tuning.png") as image:
        image.load()
        assert min(image.size) > 400
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tuning.png", "tuning.svg"]


@pytest.mark.parametrize(
    ("grid", "stages", "words"),
    [
        (Grid(lr=(0.1,)), (), {"learning rate", "0.1"}),
        (Grid(conv=("gcn", "sage"), residual=(True, False)), (), {"conv", "residual", "gcn", "True"}),
        (Grid(heads=(2, 4), conv=("gcn", "gat"), batches=(1, 2), lr=(0.1, 0.2)), (), {"heads 4, conv gat", "batches"}),
        (GRID.replace(heads=(2, 4)), PAPER_STAGES, {"heads 2, 1 round", "heads 4, 2 rounds"}),
    ],
)
def test_any_grid(grid: Grid, stages: Stages, words: set[str], tmp_path: Path) -> None:
    found = tuned(grid, by_size, stages)
    tune_figure(found, tmp_path / "tuning.svg")
    shown = texts(tmp_path / "tuning.svg")
    assert words <= set(shown)
    assert sum(text.replace(".", "").isdigit() and len(text) == 4 for text in shown) >= len(found.trials)


def test_a_metric_that_is_better_where_it_is_lower_and_a_training_that_diverged(tmp_path: Path) -> None:
    found = tuned(Grid(lr=(0.1, 0.2, 5)), lambda p: math.nan if p["lr"] == 5 else 1.5 * by_size(p), (), False)
    tune_figure(found, tmp_path / "tuning.svg")
    shown = texts(tmp_path / "tuning.svg")
    assert {"Stage 1: learning rate 0.1 → 0.154 ± 0", "0.158", "nan", "mean validation mae"} <= set(shown)


def test_it_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    found, target = tuned(GRID, by_size), tmp_path / "tuning.svg"
    with pytest.raises(InputError, match=r"ends in \.svg, \.png, \.pdf; got .*tuning\.gif"):
        tune_figure(found, tmp_path / "tuning.gif")
    tune_figure(found, target)
    first = target.read_bytes()
    tune_figure(found, target)
    assert target.read_bytes() == first
