"""The figures of the demo's report, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from neuraltrees.extras import require
from neuraltrees.objectives import Calibration
from neuraltrees.plots.calibration import draw_calibration
from neuraltrees.plots.drawing import draw
from neuraltrees.plots.style import BLUES, GRID, INK, LOOKS, figure_bytes

if TYPE_CHECKING:
    from markupsafe import Markup

    from neuraltrees.experiments.report import Trained
    from neuraltrees.graph import Graph
    from neuraltrees.htree import HTree

# The networks of the report in their order; each has a look in `LOOKS`.
NETWORKS = ("GNN", "neural tree")
CONVOLUTIONS = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "gin": "GIN"}
FOOT = 11  # height of the bottom part of a bar that holds its number, in per cent
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def inline_svg(figure: Figure, name: str, label: str) -> Markup:
    """A figure as an inline SVG element with the ARIA label `label`; its ids get the prefix `name`, to be unique.

    It shrinks with its container down to a legible size; below that the container has to scroll.
    """
    for axes in figure.axes:
        axes.patch.set_visible(False)  # the page has its own background, light or dark
    root = ElementTree.fromstring(figure_bytes(figure, "svg", tight=True, background="none"))
    for parent in list(root.iter()):
        # The metadata hold the date and links; the style sheet would apply to the whole page.
        for child in [c for c in parent if c.tag in (f"{SVG}metadata", f"{SVG}style")]:
            parent.remove(child)
    for element in root.iter():
        # Inline SVG in HTML needs no namespaces.
        element.tag = element.tag.removeprefix(SVG)
        for key, value in list(element.attrib.items()):
            if key == "id":
                element.set("id", f"{name}-{value}")
            elif key == f"{XLINK}href":
                del element.attrib[key]
                element.set("href", value.replace("#", f"#{name}-", 1))
            else:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
    width = float(root.attrib.pop("width").removesuffix("pt")) * 96 / 72
    del root.attrib["height"]
    root.attrib |= {"id": name, "role": "img", "aria-label": label, "style": f"--natural: {width:.0f}px"}
    markupsafe = require("markupsafe", extra="report", what="the report")
    markup: Markup = markupsafe.Markup(ElementTree.tostring(root, encoding="unicode"))
    return markup


def accuracy_bars(trained: Sequence[Trained], optimum: float, features_only: float, exact: float) -> Figure:
    """Test accuracy of the networks per convolution, its range over the runs, the exact head, the optimum and features
    only.
    """
    figure = Figure((4.8, 3.9), layout="constrained")
    axes = figure.subplots()
    convs = list(dict.fromkeys(t.conv for t in trained))
    networks = [network for network in NETWORKS if any(t.network == network for t in trained)]
    width = 0.88 / len(networks)
    for place, network in enumerate(networks):
        mine, look = [t for t in trained if t.network == network], LOOKS[network]
        x = [convs.index(t.conv) + (place - (len(networks) - 1) / 2) * width for t in mine]
        y = [100 * t.accuracy for t in mine]
        axes.bar(x, y, 0.94 * width, color=look.color, hatch=look.hatch, edgecolor="white", lw=0, label=network)
        for left, height, t in zip(x, y, mine, strict=True):
            if len(t.test) > 1:
                low, high = (100 * abs(bound - t.accuracy) for bound in (min(t.test), max(t.test)))
                axes.errorbar(left, height, [[low], [high]], color=INK, lw=1.2, capsize=3.5)
            # At the bottom of the bar no line or error bar crosses the number; a low bar has it above.
            inside = height > FOOT
            axes.bar(left, FOOT if inside else 0, 0.94 * width, color=look.color)
            at, color = (FOOT / 2, "white") if inside else (height + FOOT / 2, INK)
            axes.text(left, at, f"{height:.1f}", color=color, size=8.5, ha="center", va="center_baseline")
    # The label of the upper line is above it and that of the lower line below, so that they do not overlap.
    head = LOOKS["exact head"].color
    bounds = [
        ("optimum", optimum, (0, (6, 2)), INK),
        ("exact\nhead", exact, "-", head),
        ("features\nonly", features_only, (0, (2, 2)), INK),
    ]
    ordered, aligned = sorted(bounds, key=lambda b: -b[1]), ("bottom", "center", "top")
    for (text, value, dashes, color), align in zip(ordered, aligned, strict=True):
        axes.axhline(100 * value, color=color, lw=1.2 if color == INK else 2, ls=dashes)
        beside = axes.get_yaxis_transform()
        axes.text(1.01, 100 * value, f"{text} {100 * value:.1f}", transform=beside, va=align, size=9, color=color)
    axes.set(xlim=(-0.52, len(convs) - 0.48), ylim=(0, 100), ylabel="test accuracy (%)")
    axes.set_xticks(range(len(convs)), [CONVOLUTIONS[conv] for conv in convs])
    axes.tick_params(axis="x", length=0)
    figure.legend(loc="outside upper left", ncols=2)
    return figure


def reliability_diagram(found: Calibration) -> Figure:
    """Accuracy of labels by their confidence, beside the diagonal of a perfect calibration, and how many these are."""
    figure = Figure((4.2, 3.4), layout="constrained")
    axes = figure.subplots()
    draw_calibration(axes, found)
    axes.set_ylabel("right labels in % (grey: share of the nodes)")
    return figure


def learning_curves(trained: Sequence[Trained], everyone: Sequence[Trained]) -> Figure:
    """Validation accuracy and loss of one convolution's networks; `everyone` sets the common range of the axes."""
    figure = Figure((3.3, 3.9), layout="constrained")
    accuracy, loss = figure.subplots(2, sharex=True)
    for t in trained:
        look = LOOKS[t.network]
        for axes, curve, scale in [(accuracy, t.val_curve, 100), (loss, t.loss_curve, 1)]:
            epochs = range(1, len(curve) + 1)
            line = {"color": look.color, "marker": look.marker, "ls": look.dashes, "lw": 1.5, "ms": 4.5}
            axes.plot(epochs, scale * np.array(curve), markevery=-(-len(curve) // 7), label=t.network, **line)
    _share_range(accuracy, [100 * value for t in everyone for value in t.val_curve])
    _share_range(loss, [value for t in everyone for value in t.loss_curve])
    accuracy.set_title(CONVOLUTIONS[trained[0].conv])
    accuracy.set_ylabel("validation accuracy (%)")
    loss.set(ylabel="training loss", xlabel="epoch")
    loss.set_xlim(0, max(len(t.loss_curve) for t in everyone) + 1)
    loss.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    loss.legend(loc="upper right", borderaxespad=0)  # a loss falls, so this corner is empty
    figure.align_ylabels()
    return figure


def _share_range(axes: Axes, values: list[float]) -> None:
    margin = 0.06 * (max(values) - min(values)) or 0.05 * abs(max(values)) or 1
    axes.set_ylim(min(values) - margin, max(values) + margin)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def htree_alone(graph: Graph, htree: HTree, names: Sequence[str]) -> Figure:
    """The H-tree without the panel of its graph, because it may be much wider."""
    figure = draw(graph, None, htree, labels=names)
    figure.axes[0].remove()
    return figure


def confusion_matrix(counts: npt.NDArray[np.float64], names: Sequence[str]) -> Figure:
    """Confusion matrix: share of each true class (row) predicted as each class (column), most frequent class first.

    Classes without a test node are left out. Shares are in per cent; those that round to 0 are not written.
    """
    total = counts.sum(1)
    shown = np.argsort(-total, kind="stable")[: np.count_nonzero(total)]
    shares = 100 * counts[np.ix_(shown, shown)] / total[shown, None]
    columns = [_shortened(names[i]) for i in shown]
    rows = [f"{name} ({total[i]:,.0f})" for name, i in zip(columns, shown, strict=True)]
    side = 0.31 * len(shown)
    figure = Figure((side + 2.6, side + 2.3), layout="constrained")
    axes = figure.subplots()
    mesh = axes.pcolormesh(shares, cmap=BLUES, vmin=0, vmax=100, edgecolors=GRID, linewidth=0.5)
    for (row, column), share in np.ndenumerate(shares):
        if share >= 0.5:
            color = "white" if share > 60 else INK  # whichever has the greater contrast
            axes.text(column + 0.5, row + 0.5, f"{share:.0f}", size=8, color=color, ha="center", va="center_baseline")
    middles = np.arange(len(shown)) + 0.5
    axes.set_xticks(middles, columns, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(middles, rows)
    axes.set_xlabel("predicted", labelpad=8)
    axes.set_ylabel("true (number of test nodes)", labelpad=8)
    above = axes.secondary_xaxis("top")  # long matrices are read from the top
    above.set_xticks(middles, columns, rotation=45, ha="left", rotation_mode="anchor")
    above.tick_params(length=0)
    above.spines[:].set_visible(False)
    scale = figure.colorbar(mesh, ax=axes, shrink=min(1.0, 2.6 / side), aspect=14, pad=0.02)
    scale.set_label("% of the true class")
    scale.outline.set_visible(False)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    return figure


def _shortened(name: str) -> str:
    return name if len(name) <= 24 else name[:23].rstrip() + "…"
