"""Small bar charts that summarise a graph or tree that is too large to be drawn node by node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, StrMethodFormatter

from neuraltrees.plots.style import BLUE, DPI, INK, house_style

if TYPE_CHECKING:
    from neuraltrees.decomposition import TreeDecomposition
    from neuraltrees.graph import Graph
    from neuraltrees.htree import HTree

WIDTH, HEIGHT, GAP, MARGIN, TITLE = 250.0, 130.0, 58.0, 52.0, 34.0  # in points
MOST_BARS = 24


@dataclass(frozen=True)
class Summary:
    """A bar chart: how many (`counts`) have which value; a bar of several values is as wide as they are."""

    title: str
    label: str
    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    unit: str

    @classmethod
    def of_values(cls, title: str, label: str, values: npt.NDArray[np.int64], unit: str) -> Summary:
        low, high = int(values.min(initial=0)), int(values.max(initial=0))
        step = max(1, -(-(high - low + 1) // MOST_BARS))
        edges = np.arange(low, high + step + 1, step, dtype=np.float64) - 0.5
        return cls(title, label, edges, np.histogram(values, edges)[0].astype(np.float64), unit)


def summary_of_graph(graph: Graph) -> Summary:
    title = f"graph ({graph.num_nodes:,} nodes, {graph.num_edges:,} edges)"
    return Summary.of_values(title, "degree", graph.degrees, "nodes")


def summary_of_decomposition(decomposition: TreeDecomposition) -> Summary:
    title = f"tree decomposition ({len(decomposition.bags):,} bags, width {decomposition.width})"
    return Summary.of_values(title, "nodes in a bag", np.diff(decomposition.bag_ptr), "bags")


def summary_of_htree(htree: HTree) -> Summary:
    title = f"H-tree ({htree.num_nodes:,} nodes, {htree.num_leaves:,} of them leaves)"
    return Summary.of_values(title, "level (0: roots)", htree.level.numpy(), "nodes")


def add_summaries(figure: Figure | None, summaries: Sequence[Summary]) -> Figure:
    """A row of bar charts below a figure, or alone."""
    row_width = len(summaries) * (WIDTH + GAP) - GAP + 2 * MARGIN
    row_height = HEIGHT + MARGIN + TITLE
    width, height = (0.0, 0.0) if figure is None else (72 * side for side in figure.get_size_inches())
    whole = max(width, row_width), height + row_height
    with house_style():
        made = Figure(dpi=DPI, facecolor="white") if figure is None else figure
        FigureCanvasAgg(made)
        boxes = [axes.get_position().bounds for axes in made.axes]
        made.set_size_inches(whole[0] / 72, whole[1] / 72)
        shift = (whole[0] - width) / 2
        for axes, (x, y, w, h) in zip(made.axes, boxes, strict=True):
            place = (x * width + shift) / whole[0], (y * height + row_height) / whole[1]
            axes.set_position((*place, w * width / whole[0], h * height / whole[1]))
        left = (whole[0] - row_width) / 2 + MARGIN
        for summary in summaries:
            frame = (left / whole[0], MARGIN / whole[1], WIDTH / whole[0], HEIGHT / whole[1])
            _paint(made, frame, summary)
            left += WIDTH + GAP
    return made


def _paint(figure: Figure, frame: tuple[float, float, float, float], summary: Summary) -> None:
    axes = figure.add_axes(frame)
    axes.bar(summary.edges[:-1], summary.counts, np.diff(summary.edges), align="edge", color=BLUE, ec="white", lw=0.5)
    axes.set_title(summary.title, color=INK, fontsize=10, pad=10)
    axes.set(xlabel=summary.label, ylabel=f"{summary.unit} (logarithmic)", yscale="log")
    axes.set_ylim(0.7, None)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(False, axis="x")
