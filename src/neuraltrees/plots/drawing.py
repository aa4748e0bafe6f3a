"""A drawing of a graph, its tree decomposition and its H-tree, side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextToPath

from neuraltrees.decomposition import TreeDecomposition
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.graph import Graph
from neuraltrees.htree import HTree
from neuraltrees.plots.graph_layout import graph_layout
from neuraltrees.plots.layout import Floats, Layout
from neuraltrees.plots.style import DPI, check_ending, save_figure
from neuraltrees.plots.summary import (
    Summary,
    add_summaries,
    summary_of_decomposition,
    summary_of_graph,
    summary_of_htree,
)
from neuraltrees.plots.tree_layout import decomposition_layout, htree_layout

MAX_NODES = 400
FONT, TITLE_FONT = 9.0, 11.0
PADDING, LINE_HEIGHT = 4.0, 11.5
BOX = LINE_HEIGHT + 2 * PADDING  # a box with one line, and the diameter of a leaf with one or two digits
MARGIN, TITLE_SPACE, PANEL_GAP, ROW_GAP = 14.0, 30.0, 36.0, 22.0
ROW_WIDTH = 1000.0  # maximum width of panels side by side; beyond it the H-tree gets its own row
GREY, INK, ROOT_BAG, NESTED_BAG = "#8b95a1", "#15202b", "#e6ebf1", "#ffffff"
# The colours of Okabe and Ito, safe for colour-blind readers, with grey instead of black.
PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")


@dataclass(frozen=True)
class _Panel:
    """One of the three panels; `texts`, `fills` and `leaf` (a round box instead of a bag) are per node."""

    title: str
    name: str
    texts: list[str]
    fills: list[str]
    leaf: list[bool]
    layout: Layout

    @property
    def width(self) -> float:
        return float(max(self.layout.extent[0], _text_width(self.title, TITLE_FONT)))


def draw(
    graph: Graph,
    decomposition: TreeDecomposition | None = None,
    htree: HTree | None = None,
    *,
    labels: Sequence[str] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw a graph, its tree decomposition and its H-tree side by side.

    A leaf of the H-tree has the colour of its graph node. A wide H-tree is drawn below the other panels. In an SVG file
    the nodes have ids such as ``graph-node-3``, ``bag-3`` and ``htree-node-3``. A graph or tree
    of more than 400 nodes would not be legible; a bar chart of degrees, sizes of bags or nodes per level replaces it.

    Args:
        graph: the graph.
        decomposition: its tree decomposition; without it the panel is left out.
        htree: its H-tree; without it the panel is left out.
        labels: names of the graph nodes; their numbers by default.
        path: also write the figure to this file, which ends in .svg, .png or .pdf.

    Returns:
        The figure. It is not registered with pyplot, so it needs no closing.
    """
    if path is not None:
        check_ending(path)
    graph = Graph.of(graph)
    if not isinstance(decomposition, TreeDecomposition | None) or not isinstance(htree, HTree | None):
        raise InputError(
            f"Expected a TreeDecomposition and an HTree, either of them None; got {type(decomposition).__name__} and "
            f"{type(htree).__name__}. Name what you give: draw(graph, htree=htree)."
        )
    names = [" ".join(str(name).split()) for name in (range(graph.num_nodes) if labels is None else labels)]
    _check(graph, decomposition, htree, names)
    panels, summaries = list[_Panel](), list[Summary]()
    colors = _palette(graph.num_nodes)
    leaves = [_leaf_text(name) for name in names]
    if graph.num_nodes > MAX_NODES:
        summaries.append(summary_of_graph(graph))
    else:
        layout = graph_layout(graph, _box_sizes(leaves))
        panels.append(_Panel("graph", "graph-node", leaves, colors, [True] * len(names), layout))
    if decomposition is not None and len(decomposition.bags) > MAX_NODES:
        summaries.append(summary_of_decomposition(decomposition))
    elif decomposition is not None:
        texts = [_bag_text([names[v] for v in bag]) for bag in decomposition.bags]
        panels.append(
            _Panel(
                f"tree decomposition (width {decomposition.width})",
                "bag",
                texts,
                [ROOT_BAG] * len(texts),
                [False] * len(texts),
                decomposition_layout(decomposition, _box_sizes(texts)),
            )
        )
    if htree is not None and htree.num_nodes > MAX_NODES:
        summaries.append(summary_of_htree(htree))
    elif htree is not None:
        kappa, level = htree.kappa.tolist(), htree.level.tolist()
        bags = [htree.bag_nodes[a:b].tolist() for a, b in pairwise(htree.bag_ptr.tolist())]
        texts = [
            leaves[v] if v >= 0 else _bag_text([names[u] for u in bag]) for v, bag in zip(kappa, bags, strict=True)
        ]
        fills = [
            colors[v] if v >= 0 else NESTED_BAG if depth else ROOT_BAG for v, depth in zip(kappa, level, strict=True)
        ]
        panels.append(
            _Panel(
                f"H-tree ({htree.num_nodes} nodes)",
                "htree-node",
                texts,
                fills,
                [v >= 0 for v in kappa],
                htree_layout(htree, _box_sizes(texts)),
            )
        )
    figure = _compose(panels) if panels else None
    figure = add_summaries(figure, summaries) if summaries or figure is None else figure
    if path is not None:
        save_figure(figure, path)
    return figure


def _check(graph: Graph, decomposition: TreeDecomposition | None, htree: HTree | None, names: list[str]) -> None:
    count = graph.num_nodes
    bags = None if decomposition is None else decomposition.bags
    if len(names) != count:
        raise InputError(
            f"Expected one label for each of the {count} graph nodes (got {len(names)}). "
            f"Leave 'labels' out to show the numbers of the nodes."
        )
    for what, nodes in [
        ("tree decomposition", None if bags is None else {v for bag in bags for v in bag}),
        ("H-tree", None if htree is None else set(htree.bag_nodes.tolist())),
    ]:
        if nodes is not None and nodes != set(range(count)):
            raise InputError(
                f"Expected the {what} of this graph of {count} nodes (got one over {len(nodes)} nodes, "
                f"{max(nodes, default=-1)} the last). Build it from the graph that is drawn."
            )


def too_large(graph: Graph, decomposition: TreeDecomposition | None, htree: HTree | None) -> list[str]:
    """The names of those that `draw` summarises instead of drawing them."""
    sizes = {
        "graph": graph.num_nodes,
        "decomposition": 0 if decomposition is None else len(decomposition.bags),
        "H-tree": 0 if htree is None else htree.num_nodes,
    }
    return [name for name, size in sizes.items() if size > MAX_NODES]


def _palette(count: int) -> list[str]:
    """Eight colours, followed by lighter and darker shades of them."""
    rounds = -(-count // len(PALETTE))
    shades = sorted(np.linspace(-0.45, 0.6, rounds).tolist(), key=abs) if rounds > 2 else [0.0, 0.55]
    colors = []
    for i in range(count):
        shade, rgb = shades[i // len(PALETTE)], np.array(to_rgb(PALETTE[i % len(PALETTE)]))
        colors.append(to_hex(tuple(rgb + (1 - rgb) * shade if shade > 0 else rgb * (1 + shade))))
    return colors


def _ink(fill: str) -> str:
    """Dark or white text, whichever has the greater contrast, by the relative luminance of WCAG 2."""
    rgb = np.array(to_rgb(fill))
    luminance = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)
    return INK if luminance > 0.209 else "#ffffff"  # at 0.209 both have a contrast of 4.06


def _leaf_text(name: str) -> str:
    lines = textwrap.wrap(name, 8, max_lines=2, placeholder=" …", break_long_words=False)
    return "\n".join(_elided(line) for line in lines)


def _bag_text(names: list[str]) -> str:
    """Short names in lines of equal length, long names one per line; names beyond the limit are only counted."""
    short = all(len(name) <= 3 for name in names)
    length = sum(len(name) + 1 for name in names)
    per_line = -(-len(names) // -(-length // 16)) if short else 1
    room = 3 * per_line if short else 4
    words = [_elided(name) for name in names]
    if len(words) > room:
        words = [*words[: room - 1], f"… +{len(words) - room + 1}"]
    return "\n".join(" ".join(words[i : i + per_line]) for i in range(0, len(words), per_line))


def _elided(text: str) -> str:
    return text if len(text) <= 13 else text[:12].rstrip() + "…"


def _text_width(text: str, size: float) -> float:
    font = FontProperties(size=size)
    return max(
        float(TextToPath().get_text_width_height_descent(line, font, ismath=False)[0]) for line in text.split("\n")
    )


def _box_sizes(texts: list[str]) -> Floats:
    """Widths and heights of the boxes around texts, shape (N, 2)."""
    widths = np.array([_text_width(text, FONT) for text in texts])
    # Two digits fit into a circle; longer texts need space to the round ends.
    widths += np.where(widths > 12, 2 * PADDING + 4, 2 * PADDING)
    return np.stack([np.maximum(widths, BOX), [BOX + LINE_HEIGHT * text.count("\n") for text in texts]], 1)


def _compose(panels: list[_Panel]) -> Figure:
    """One figure of all panels; a unit of a layout is one point (1/72 inch)."""
    rows = [panels]
    if panels[-1].name == "htree-node" and len(panels) > 1 and sum(p.width + PANEL_GAP for p in panels) > ROW_WIDTH:
        rows = [panels[:-1], panels[-1:]]
    widths = [sum(p.width + PANEL_GAP for p in row) - PANEL_GAP for row in rows]
    heights = [max([BOX, *(float(p.layout.extent[1]) for p in row)]) for row in rows]
    width = max(widths) + 2 * MARGIN
    height = sum(h + TITLE_SPACE + ROW_GAP for h in heights) - ROW_GAP + 2 * MARGIN
    figure = Figure(figsize=(width / 72, height / 72), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    y = height - MARGIN
    for row, row_width, row_height in zip(rows, widths, heights, strict=True):
        x = (width - row_width) / 2
        y -= TITLE_SPACE + row_height
        for panel in row:
            frame = (x / width, y / height, panel.width / width, row_height / height)
            _paint(figure.add_axes(frame), panel, row_height)
            x += panel.width + PANEL_GAP
        y -= ROW_GAP
    return figure


def _paint(axes: Axes, panel: _Panel, height: float) -> None:
    axes.set(xlim=(0, panel.width), ylim=(0, height))
    axes.set_axis_off()
    axes.set_title(panel.title, loc="center", fontsize=TITLE_FONT, fontweight="normal", color=INK, pad=14, usetex=False)
    low, high = panel.layout.bounds
    layout = panel.layout.moved(np.array([panel.width, height]) / 2 - (low + high) / 2)
    thickness = 0.9 if len(layout.lines) <= 150 else 0.5
    # Rounded, so that the file does not depend on rounding errors of the machine.
    axes.add_collection(
        LineCollection(
            [line.round(2) for line in layout.lines],
            colors=GREY,
            linewidths=thickness,
            capstyle="round",
            zorder=1,
            clip_on=False,
            gid=f"{panel.name}-edges",
        )
    )
    centers, sizes = layout.center.round(2).tolist(), layout.size.round(2).tolist()
    for i, ((x, y), (w, h), text, fill, leaf) in enumerate(
        zip(centers, sizes, panel.texts, panel.fills, panel.leaf, strict=True)
    ):
        outline = _rounded(x - w / 2, y - h / 2, x + w / 2, y + h / 2, BOX / 2 if leaf else PADDING)
        axes.add_patch(
            PathPatch(
                outline,
                facecolor=fill,
                edgecolor="none" if leaf else GREY,
                linewidth=0.8,
                zorder=2,
                clip_on=False,
                gid=f"{panel.name}-{i}",
            )
        )
        axes.text(
            x,
            y,
            text,
            fontsize=FONT,
            color=_ink(fill),
            ha="center",
            va="center_baseline",
            zorder=3,
            parse_math=False,
            usetex=False,
        )


def _rounded(x0: float, y0: float, x1: float, y1: float, r: float) -> Outline:
    """A box whose corners are quarter circles of radius r."""
    c = 0.44772 * r  # from the corner to a control point, for the cubic nearest to a quarter circle
    points = [
        (x0 + r, y0),
        (x1 - r, y0),
        (x1 - c, y0),
        (x1, y0 + c),
        (x1, y0 + r),
        (x1, y1 - r),
        (x1, y1 - c),
        (x1 - c, y1),
        (x1 - r, y1),
        (x0 + r, y1),
        (x0 + c, y1),
        (x0, y1 - c),
        (x0, y1 - r),
        (x0, y0 + r),
        (x0, y0 + c),
        (x0 + c, y0),
        (x0 + r, y0),
        (x0 + r, y0),
    ]
    side = [Outline.LINETO, Outline.CURVE4, Outline.CURVE4, Outline.CURVE4]
    return Outline(points, [Outline.MOVETO, *side * 4, Outline.CLOSEPOLY])
