"""The figure of a tuning: heat maps of the validation metric per stage, with the chosen trials framed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from neuraltrees.files import PathLike
from neuraltrees.plots.style import BLUES, INK, VERMILION, check_ending, house_style, readable_ink, save_figure
from neuraltrees.tuning.grid import Value, shown
from neuraltrees.tuning.trials import Trial, Tuned, of_stage

WORDS = {"layers": "rounds", "hidden": "hidden size", "lr": "learning rate", "weight_decay": "weight decay"}
# Sizes in inches: every cell has the same size, with room for "100.0".
CELL_WIDTH, CELL_HEIGHT = 0.52, 0.31
LEFT, RIGHT, GAP, HEAD, TITLE, FOOT, SCALE = 0.72, 0.15, 0.2, 0.34, 0.28, 0.55, 0.75
ACROSS = 3  # panels side by side


@dataclass(frozen=True)
class _Stage:
    """A stage: its last two hyper-parameters are the axes of heat maps; there is one per combination of the others."""

    number: int
    names: tuple[str, ...]
    values: dict[str, tuple[Value, ...]]
    trials: Sequence[Trial]
    chosen: Trial

    @property
    def rows(self) -> tuple[Value, ...]:
        return self.values[self.names[-2]] if len(self.names) > 1 else ("",)

    @property
    def columns(self) -> tuple[Value, ...]:
        return self.values[self.names[-1]]

    @property
    def panels(self) -> list[dict[str, Value]]:
        others = self.names[:-2]
        return [dict(zip(others, point, strict=True)) for point in product(*(self.values[name] for name in others))]

    @property
    def pitch(self) -> tuple[float, float]:
        """Horizontal and vertical distance between panels, wide enough for the label of a single column."""
        title = TITLE if len(self.panels) > 1 else 0.0
        return max(len(self.columns) * CELL_WIDTH + GAP, 1.0), len(self.rows) * CELL_HEIGHT + title

    @property
    def size(self) -> tuple[float, float]:
        across, down = min(ACROSS, len(self.panels)), -(-len(self.panels) // ACROSS)
        return across * self.pitch[0], down * self.pitch[1]


def tune_figure(tuned: Tuned, path: PathLike) -> None:
    """Draws the mean validation metric of every trial, with the chosen trials framed, to a .svg, .png or .pdf file."""
    check_ending(path)
    with house_style():
        figure = _drawn(tuned)
    save_figure(figure, path)


def _drawn(tuned: Tuned) -> Figure:
    stages = [
        _Stage(number, names, dict(tuned.grid), of_stage(tuned.trials, number), tuned.chosen[number - 1])
        for number, names in enumerate(tuned.stages, start=1)
    ]
    width = LEFT + max(4.6, *(stage.size[0] for stage in stages)) + RIGHT
    beside = stages[-1].size[0] + 2.8 <= width - LEFT - RIGHT  # the color bar fits beside the last stage
    height = sum(HEAD + max(stage.size[1], 2 * CELL_HEIGHT) + FOOT for stage in stages) + (0.0 if beside else SCALE)
    figure = Figure((width, height))
    scale = _Scale.of(tuned)

    def place(left: float, top: float, wide: float, high: float) -> Axes:
        return figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))

    top = 0.0
    for stage in stages:
        caption = _caption(stage, scale)
        figure.text(0.12 / width, 1 - (top + 0.2) / height, caption, size=10, va="center_baseline")
        top += HEAD
        for number, fixed in enumerate(stage.panels):
            row, column = divmod(number, ACROSS)
            wide, high = len(stage.columns) * CELL_WIDTH, len(stage.rows) * CELL_HEIGHT
            left, below = LEFT + column * stage.pitch[0], top + row * stage.pitch[1] + stage.pitch[1] - high
            axes = place(left, below, wide, high)
            _heat_map(axes, stage, fixed, scale)
            axes.set_title(", ".join(_named(name, value) for name, value in fixed.items()), pad=3, weight="bold")
            last = number + ACROSS >= len(stage.panels)
            axes.tick_params(labelleft=column == 0 and len(stage.names) > 1, labelbottom=last)
            if column == 0 and len(stage.names) > 1:
                axes.set_ylabel(_word(stage.names[-2]))
            if last:
                axes.set_xlabel(_word(stage.names[-1]))
        top += max(stage.size[1], 2 * CELL_HEIGHT) + FOOT
    corner = (LEFT + stages[-1].size[0] + 0.4, height - FOOT - 0.3) if beside else (LEFT, top + 0.28)
    _color_bar(figure, place(*corner, 2.0, 0.14), scale)
    return figure


@dataclass(frozen=True)
class _Scale:
    """Maps values to colours and texts, in per cent if the metric is a share; darker is better."""

    colors: Colormap
    norm: Normalize
    title: str
    factor: float
    form: str
    up: bool
    beyond: bool

    @classmethod
    def of(cls, tuned: Tuned) -> _Scale:
        up = tuned.higher_is_better
        factor = 100.0 if tuned.percent else 1.0
        values = [factor * t.val_mean for t in tuned.trials if math.isfinite(t.val_mean)]
        # A few failed trials would take most of the scale; they are clipped to the faintest colour.
        low, high = (np.quantile(values, 0.05), max(values)) if up else (min(values), np.quantile(values, 0.95))
        norm = Normalize(float(low) if high > low else float(low) - 1, float(high))
        title = f"mean validation {tuned.metric}{' (%)' if tuned.percent else ''}"
        beyond = min(values) < low if up else max(values) > high
        colors, form = BLUES if up else BLUES.reversed(), ".1f" if tuned.percent else ".3g"
        return cls(colors, norm, title, factor, form, up, bool(beyond))

    def text(self, value: float) -> str:
        return format(self.factor * value, self.form)


def _heat_map(axes: Axes, stage: _Stage, fixed: dict[str, Value], scale: _Scale) -> None:
    heat: npt.NDArray[np.float64] = np.full((len(stage.rows), len(stage.columns)), np.nan)
    for trial in stage.trials:
        if any(trial.point[name] != value for name, value in fixed.items()):
            continue
        row = stage.rows.index(trial.point[stage.names[-2]]) if len(stage.names) > 1 else 0
        column = stage.columns.index(trial.point[stage.names[-1]])
        heat[row, column] = scale.factor * trial.val_mean
        # A diverged training has no colour.
        ink = readable_ink(scale.colors(scale.norm(heat[row, column]))) if math.isfinite(trial.val_mean) else INK
        place: dict[str, Any] = {"size": 8, "ha": "center", "va": "center_baseline"}
        axes.text(column + 0.5, row + 0.5, scale.text(trial.val_mean), color=ink, **place)
        if trial == stage.chosen:
            frame: dict[str, Any] = {"fill": False, "ec": VERMILION, "lw": 2.4, "zorder": 3, "clip_on": False}
            axes.add_patch(Rectangle((column, row), 1, 1, **frame))
    axes.pcolormesh(heat, cmap=scale.colors, norm=scale.norm, edgecolors="white", linewidth=1)
    axes.set_xticks(np.arange(heat.shape[1]) + 0.5, [shown(value) for value in stage.columns])
    axes.set_yticks(np.arange(heat.shape[0]) + 0.5, [shown(value) for value in stage.rows])
    axes.tick_params(length=0)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _color_bar(figure: Figure, axes: Axes, scale: _Scale) -> None:
    extend = "neither" if not scale.beyond else "min" if scale.up else "max"
    mappable = ScalarMappable(scale.norm, scale.colors)
    bar = figure.colorbar(mappable, cax=axes, orientation="horizontal", extend=extend)
    bar.ax.set_title(scale.title, size=9, pad=5)
    bar.outline.set_visible(False)
    bar.locator = MaxNLocator(4, steps=[1, 2, 5, 10])
    bar.update_ticks()


def _caption(stage: _Stage, scale: _Scale) -> str:
    chosen = stage.chosen
    words = ", ".join(_named(name, chosen.point[name]) for name in stage.names)
    spread = "" if chosen.val_std is None else f" ± {scale.text(chosen.val_std)}"
    unit = " %" if scale.factor > 1 else ""
    return f"Stage {stage.number}: {words} → {scale.text(chosen.val_mean)}{spread}{unit}"


def _word(name: str) -> str:
    return WORDS.get(name, name.replace("_", " "))


def _named(name: str, value: Value) -> str:
    if name == "layers":
        return f"{value} round{'s' if value != 1 else ''}"
    return f"{_word(name)} {shown(value)}"
