"""The look of all figures: readable in print, without colour too."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from statistics import stdev

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from neuraltrees.files import write_whole

# Colour, marker and line for each kind of network: Okabe and Ito's colours, told apart by shape as well.
LOOKS = {
    "neural tree": ("#d55e00", "o", "-"),
    "GNN": ("#0072b2", "s", "--"),
    "GNN, stored edges": ("#56b4e9", "^", ":"),
}
MORE = (
    ("#d55e00", "o", "-"),
    ("#e69f00", "v", "-"),
    ("#009e73", "D", "-"),
    ("#cc79a7", "P", "-"),
    ("#000000", "X", "-"),
)
FORMATS = ("svg", "png")


def panels(
    count: int, width: float = 4.6, height: float = 3.4, sharey: bool = False, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """Axes side by side, in one row or several of equal length."""
    columns = -(-count // rows)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flat)
    for empty in axes[count:]:
        empty.set_axis_off()
    axes = axes[:count]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(alpha=0.25)
        each.set_axisbelow(True)
    return figure, axes


def line(
    axes: Axes, x: Sequence[float], values: Sequence[Sequence[float]], label: str, look: tuple[str, str, str]
) -> None:
    """Means with bars of one standard deviation, in per cent."""
    colour, marker, style = look
    means = [100 * sum(each) / len(each) for each in values]
    spreads = [100 * stdev(each) if len(each) > 1 else 0.0 for each in values]
    axes.errorbar(x, means, spreads, color=colour, marker=marker, linestyle=style, capsize=3, label=label, markersize=5)


def save(figure: Figure, folder: Path, name: str) -> None:
    """Writes the figure in every format, each whole or not at all, the same bytes for the same content."""
    with mpl.rc_context({"svg.hashsalt": name}):
        for form in FORMATS:
            buffer = BytesIO()
            figure.savefig(buffer, format=form, dpi=160, metadata={"Date": None} if form == "svg" else None)
            write_whole(folder / f"{name}.{form}", buffer.getvalue())
