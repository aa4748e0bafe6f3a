"""The picture of a tuning: a heat map for every number of rounds, and one of dropout and regularisation."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib.style
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, write_whole
from neuraltrees.tuning.trials import TrialDone, Tuned

ENDINGS = (".svg", ".png", ".pdf")
INK, GREY, MARK = "#15202b", "#5b6672", "#D55E00"
BLUES = LinearSegmentedColormap.from_list("accuracy", ["#f4f7fa", "#9ecae8", "#0072B2", "#00395c"])
# On top of matplotlib's defaults, not of the user's own settings; texts stay texts, to be searched and read aloud.
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "neuraltrees",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
# All in inches, so that every cell has room for "100.0" and all have the same size.
CELL_WIDTH, CELL_HEIGHT = 0.52, 0.31
LEFT, RIGHT, GAP, HEAD, TITLE, FOOT = 0.72, 0.15, 0.2, 0.34, 0.28, 0.55
PANELS = 3  # side by side


def tune_figure(tuned: Tuned, path: PathLike) -> None:
    """Draws the mean validation accuracy of every trial, the chosen ones framed, to a .svg, .png or .pdf file."""
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in ENDINGS:
        raise InputError(f"Expected a file that ends in {', '.join(ENDINGS)}; got {target.name}.")
    image = io.BytesIO()
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.style.context(["default", STYLE]):
        figure = _drawn(tuned)
        figure.savefig(image, format=kind[1:], dpi=200, facecolor="white", metadata=metadata)
    write_whole(target, image.getvalue())


def _drawn(tuned: Tuned) -> Figure:
    grid = tuned.grid
    across = min(PANELS, len(grid.layers))
    down = -(-len(grid.layers) // PANELS)
    panel = len(grid.lr) * CELL_WIDTH, len(grid.hidden) * CELL_HEIGHT + TITLE
    pitch = max(panel[0] + GAP, 1.0)  # room for the label of a single column
    second = len(grid.weight_decay) * CELL_WIDTH, max(len(grid.dropout), 2) * CELL_HEIGHT
    width = LEFT + max(across * pitch, second[0] + 3, 4.6) + RIGHT
    bottom_of_first = HEAD + down * panel[1] + FOOT
    height = bottom_of_first + HEAD + second[1] + FOOT
    figure = Figure((width, height))
    values = [100 * trial.val_mean for trial in tuned.trials]
    # A few failures would take most of the scale; they keep their numbers, and the lowest colour.
    low, high = float(np.quantile(values, 0.05)), max(values)
    norm = Normalize(low if high > low else low - 1, high)

    def place(left: float, top: float, wide: float, high: float) -> Axes:
        return figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))

    figure.text(0.12 / width, 1 - 0.2 / height, _caption(tuned.first), size=10, va="center_baseline")
    for number, layers in enumerate(grid.layers):
        row, column = divmod(number, PANELS)
        left, top = LEFT + column * pitch, HEAD + row * panel[1] + TITLE
        axes = place(left, top, panel[0], panel[1] - TITLE)
        trials = [t for t in tuned.trials if t.stage == 1 and t.point.layers == layers]
        _heat_map(axes, trials, ("hidden", grid.hidden), ("lr", grid.lr), norm, tuned.first)
        axes.set_title(f"{layers} round{'s' if layers > 1 else ''}", pad=3)
        axes.tick_params(labelleft=column == 0, labelbottom=number + PANELS >= len(grid.layers))
        if column == 0:
            axes.set_ylabel("hidden size")
        if number + PANELS >= len(grid.layers):
            axes.set_xlabel("learning rate")
    figure.text(0.12 / width, 1 - (bottom_of_first + 0.2) / height, _caption(tuned.best), size=10, va="center_baseline")
    top = bottom_of_first + HEAD
    axes = place(LEFT, top, second[0], len(grid.dropout) * CELL_HEIGHT)
    trials = [t for t in tuned.trials if t.stage == 2]
    _heat_map(axes, trials, ("dropout", grid.dropout), ("weight_decay", grid.weight_decay), norm, tuned.best)
    axes.set(ylabel="dropout", xlabel="weight decay")
    scale = place(LEFT + second[0] + 0.6, top + 0.32, 2.0, 0.14)
    extend = "min" if min(values) < low else "neither"
    bar = figure.colorbar(ScalarMappable(norm, BLUES), cax=scale, orientation="horizontal", extend=extend)
    bar.ax.set_title("mean validation accuracy (%)", size=9, weight="normal", pad=5)
    bar.outline.set_visible(False)
    bar.locator = MaxNLocator(4, steps=[1, 2, 5, 10])
    bar.update_ticks()
    return figure


def _heat_map(
    axes: Axes,
    trials: Sequence[TrialDone],
    rows: tuple[str, Sequence[float]],
    columns: tuple[str, Sequence[float]],
    norm: Normalize,
    chosen: TrialDone,
) -> None:
    heat: npt.NDArray[np.float64] = np.empty((len(rows[1]), len(columns[1])))
    for trial in trials:
        row = rows[1].index(getattr(trial.point, rows[0]))
        column = columns[1].index(getattr(trial.point, columns[0]))
        heat[row, column] = 100 * trial.val_mean
        value, color = heat[row, column], _ink(norm(heat[row, column]))
        axes.text(column + 0.5, row + 0.5, f"{value:.1f}", color=color, size=8, ha="center", va="center_baseline")
        if trial == chosen:
            axes.add_patch(Rectangle((column, row), 1, 1, fill=False, ec=MARK, lw=2.4, zorder=3, clip_on=False))
    axes.pcolormesh(heat, cmap=BLUES, norm=norm, edgecolors="white", linewidth=1)
    axes.set_xticks(np.arange(heat.shape[1]) + 0.5, [f"{value:g}" for value in columns[1]])
    axes.set_yticks(np.arange(heat.shape[0]) + 0.5, [f"{value:g}" for value in rows[1]])
    axes.tick_params(length=0)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.spines[:].set_visible(False)


def _ink(share: float) -> str:
    """White or dark, whichever has the greater contrast with the colour of this share of the scale."""
    channels = np.array(BLUES(share)[:3])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return "white" if linear @ (0.2126, 0.7152, 0.0722) < 0.2 else INK


def _caption(chosen: TrialDone) -> str:
    point = chosen.point
    if chosen.stage == 1:
        rounds = f"{point.layers} round{'s' if point.layers > 1 else ''}"
        words = f"{rounds}, hidden size {point.hidden}, learning rate {point.lr:g}"
    else:
        words = f"dropout {point.dropout:g}, weight decay {point.weight_decay:g}"
    spread = "" if chosen.val_std is None else f" ± {100 * chosen.val_std:.1f}"
    return f"Stage {chosen.stage}: {words} → {100 * chosen.val_mean:.1f}{spread} %"
