"""The style of all figures: palette, settings and saving. Figures are readable in print and without colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import stdev
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, as_path, write_whole

ENDINGS = (".svg", ".png", ".pdf")
DPI = 160
INK, GREY, GRID = "#15202b", "#5b6672", "#e3e7ec"
# The colours of Okabe and Ito, safe for colour-blind readers.
BLUE, VERMILION, SKY, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#56B4E9", "#E69F00", "#009E73", "#CC79A7"
BLUES = LinearSegmentedColormap.from_list("share", ["#f4f7fa", "#9ecae8", BLUE, "#00395c"])
# They extend matplotlib's defaults, not the user's settings. Texts in SVG stay texts, for search and screen readers.
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "neuraltrees",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "hatch.linewidth": 0.8,
}


@dataclass(frozen=True)
class Look:
    """Line and bar style of a network: marker, dashes and hatch distinguish it from others without colour."""

    color: str
    marker: str
    dashes: str
    hatch: str = ""


LOOKS = {
    "neural tree": Look(VERMILION, "o", "-", "///"),
    "GNN": Look(BLUE, "s", "--"),
    "GNN, stored edges": Look(SKY, "^", ":", ".."),
    "exact head": Look(GREEN, "D", "-"),
}
MORE = (
    Look(VERMILION, "o", "-"),
    Look(ORANGE, "v", "-"),
    Look(GREEN, "D", "-"),
    Look(PURPLE, "P", "-"),
    Look("#000000", "X", "-"),
)


@contextmanager
def house_style() -> Iterator[None]:
    """Applies the settings of all figures in a `with` block or a function decorated by `@house_style()`.

    >>> import matplotlib
    >>> with house_style():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    with matplotlib.style.context(["default", SETTINGS]):
        yield


def panels(
    count: int, width: float = 4.6, height: float = 3.4, sharey: bool = False, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """Axes side by side, in one row or several of equal length."""
    columns = -(-count // rows)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flat)
    for empty in axes[count:]:
        empty.set_axis_off()
    return figure, axes[:count]


def line(axes: Axes, x: Sequence[float], values: Sequence[Sequence[float]], label: str, look: Look) -> None:
    """Means with bars of one standard deviation, in per cent."""
    means = [100 * sum(each) / len(each) for each in values]
    spreads = [100 * stdev(each) if len(each) > 1 else 0.0 for each in values]
    error_line(axes, x, means, spreads, label, look)


def error_line(
    axes: Axes, x: Sequence[float], means: Sequence[float], spreads: Sequence[float], label: str, look: Look
) -> None:
    """A line with error bars."""
    style: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": look.dashes, "markersize": 5}
    axes.errorbar(x, means, spreads, capsize=3, label=label, **style)


def plain_numbers(axis: Axis) -> None:
    """Labels a logarithmic axis by plain numbers; powers of ten would need math text, which is off."""
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_formatter(NullFormatter())


def readable_ink(fill: Sequence[float]) -> str:
    """Dark or white text, whichever has the greater contrast with a fill (red, green, blue), by WCAG 2."""
    channels = np.array(fill[:3])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return "#ffffff" if linear @ (0.2126, 0.7152, 0.0722) < 0.2 else INK


_STAMP: ContextVar[str] = ContextVar("stamp", default="")


@contextmanager
def stamped(text: str) -> Iterator[None]:
    """Writes a line above every figure that is saved in a `with` block; "" for none."""
    token = _STAMP.set(text)
    try:
        yield
    finally:
        _STAMP.reset(token)


def check_ending(path: PathLike) -> str:
    """The format of a path by its ending: svg, png or pdf; any other ending raises `InputError`."""
    ending = as_path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"Expected a path that ends in {', '.join(ENDINGS)}; got {path}. Change its ending.")
    return ending[1:]


def figure_bytes(figure: Figure, form: str, tight: bool = False, background: str = "white") -> bytes:
    """A figure as svg, png or pdf; equal figures give equal bytes.

    Args:
        figure: the figure.
        form: svg, png or pdf.
        tight: whether to crop the margins.
        background: its colour, or "none".
    """
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    box: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.05} if tight else {}
    image = BytesIO()
    with house_style():
        figure.savefig(image, format=form, dpi=DPI, facecolor=background, metadata=metadata, **box)
    return image.getvalue()


def save_figure(figure: Figure, path: PathLike) -> None:
    """Writes a figure atomically, in the format of its ending: .svg, .png or .pdf.

    >>> save_figure(Figure(), "figure.gif")
    Traceback (most recent call last):
    neuraltrees.errors.InputError: Expected a path that ends in .svg, .png, .pdf; got figure.gif. Change its ending.
    """
    form, stamp = check_ending(path), _STAMP.get()
    if not stamp:
        write_whole(path, figure_bytes(figure, form))
        return
    line = figure.text(0.5, 1.0, stamp, ha="center", va="bottom", color=VERMILION, weight="bold")
    try:
        write_whole(path, figure_bytes(figure, form, tight=True))
    finally:
        line.remove()


def save_both(figure: Figure, folder: Path, name: str) -> None:
    """Writes a figure as .svg, for pages, and as .png, for slides."""
    for ending in (".svg", ".png"):
        save_figure(figure, folder / f"{name}{ending}")
