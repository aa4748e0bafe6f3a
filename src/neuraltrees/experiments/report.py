"""The report of the demo, as one self-contained HTML page."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from neuraltrees.errors import InputError
from neuraltrees.experiments.report_figures import (
    CONVOLUTIONS,
    NETWORKS,
    accuracy_bars,
    confusion_matrix,
    htree_alone,
    inline_svg,
    learning_curves,
    reliability_diagram,
)
from neuraltrees.extras import require
from neuraltrees.files import PathLike, write_whole
from neuraltrees.plots.drawing import draw
from neuraltrees.plots.style import LOOKS, house_style

if TYPE_CHECKING:
    from torch import Tensor

    from neuraltrees.decomposition import TreeDecomposition
    from neuraltrees.experiments.demo_head import ExactHead
    from neuraltrees.graph import Graph
    from neuraltrees.htree import HTree


@dataclass(frozen=True)
class Trained:
    """One network and its runs.

    Args:
        network: "neural tree" or "GNN".
        conv: "gcn", "sage", "gat" or "gin".
        test: test accuracy of each run, from 0 to 1.
        val: validation accuracy of each run.
        loss_curve: training loss of each epoch, the mean over the runs.
        val_curve: validation accuracy of each epoch, the mean over the runs.
        seconds: time the training took.
    """

    network: str
    conv: str
    test: tuple[float, ...]
    val: tuple[float, ...]
    loss_curve: tuple[float, ...]
    val_curve: tuple[float, ...]
    seconds: float

    @property
    def accuracy(self) -> float:
        """Mean test accuracy over the runs."""
        return statistics.fmean(self.test)

    @property
    def val_accuracy(self) -> float:
        """Mean validation accuracy over the runs."""
        return statistics.fmean(self.val)

    @property
    def name(self) -> str:
        return f"{self.network} with {CONVOLUTIONS[self.conv]}"


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of the nodes of a type, each node once.

    Args:
        what: the nodes, such as "objects".
        counts: a matrix of shape (C, C), with true classes as rows and predicted ones as columns.
        names: the names of the C classes.
    """

    what: str
    counts: Tensor
    names: Sequence[str]


@dataclass(frozen=True)
class DemoReport:
    """The content of the demo's report.

    Args:
        title: heading of the page.
        facts: how the results were produced, such as the seed and the versions.
        graph: the scene that is drawn, with its `decomposition` and its `htree`.
        names: the label names of its nodes.
        trained: the networks that are compared.
        optimum: accuracy of the exact posterior on the test nodes.
        features_only: accuracy of the best prediction from a node's own features only.
        confusions: confusion matrices of the exact head on the test nodes of one run, per node type.
        rounds: rounds of messages of the networks.
        diameters: longest shortest path of the drawn graph and of its H-tree, in edges.
        links: texts and addresses of pages to read on.
        exact: the exact head on the same scenes.
    """

    title: str
    facts: Mapping[str, str]
    graph: Graph
    names: Sequence[str]
    decomposition: TreeDecomposition
    htree: HTree
    trained: Sequence[Trained]
    optimum: float
    features_only: float
    confusions: Sequence[Confusion]
    rounds: int
    diameters: tuple[int, int]
    links: Mapping[str, str]
    exact: ExactHead


def write_report(report: DemoReport, path: PathLike) -> None:
    """Writes the page atomically; equal reports give equal bytes."""
    _check(report)
    write_whole(path, _page(report).encode())


def _page(report: DemoReport) -> str:
    jinja2 = require("jinja2", extra="report", what="the report")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"percent": _percent, "gap": _gap, "signed": _signed}
    source = resources.files("neuraltrees.experiments").joinpath("report.html.jinja").read_text("utf-8")
    by_conv = {
        CONVOLUTIONS[conv]: sorted(
            (t for t in report.trained if t.conv == conv), key=lambda t: NETWORKS.index(t.network)
        )
        for conv in dict.fromkeys(t.conv for t in report.trained)
    }
    with house_style():
        figures = _figures(report, by_conv)
    page: str = environment.from_string(source).render(
        report=report,
        by_conv=by_conv,
        convolutions=CONVOLUTIONS,
        best=max(report.trained, key=lambda t: t.accuracy),
        best_of={
            network: max(mine, key=lambda t: t.accuracy)
            for network in NETWORKS
            if (mine := [t for t in report.trained if t.network == network])
        },
        runs=" or ".join(map(str, sorted({len(t.test) for t in report.trained}))),
        ahead=_compared(report.trained, 1),
        behind=_compared(report.trained, -1),
        colors={network: LOOKS[network].color for network in (*NETWORKS, "exact head")},
        **figures,
    )
    return page


def _compared(trained: Sequence[Trained], sign: int) -> str:
    """The convolutions with which the neural tree is ahead of the GNN (sign 1) or behind it (-1), and by how much."""
    accuracy = {(t.network, t.conv): t.accuracy for t in trained}
    found = []
    for conv, name in CONVOLUTIONS.items():
        tree, gnn = accuracy.get(("neural tree", conv)), accuracy.get(("GNN", conv))
        if tree is not None and gnn is not None and round(100 * sign * (tree - gnn), 1) > 0:
            found.append(f"{name} ({100 * abs(tree - gnn):.1f})")
    return " and ".join([", ".join(found[:-1])] * (len(found) > 1) + found[-1:])


def _figures(report: DemoReport, by_conv: Mapping[str, Sequence[Trained]]) -> dict[str, Any]:
    said = "; ".join(f"{t.name} {_percent(t.accuracy)} %" for t in report.trained)
    bars = accuracy_bars(report.trained, report.optimum, report.features_only, report.exact.accuracy)
    reliability = reliability_diagram(report.exact.calibration)
    curves = [
        inline_svg(
            learning_curves(mine, report.trained),
            f"curves-{place}",
            f"{conv} by epoch: validation accuracy and training loss. At the last epoch, "
            + "; ".join(f"{t.network} {_percent(t.val_curve[-1])} %, loss {t.loss_curve[-1]:.3g}" for t in mine),
        )
        for place, (conv, mine) in enumerate(by_conv.items())
    ]
    scene = draw(report.graph, report.decomposition, labels=report.names)
    htree = htree_alone(report.graph, report.htree, report.names)
    confusions = [_confusion(place, each) for place, each in enumerate(report.confusions)]
    return {
        "reliability": inline_svg(
            reliability,
            "reliability",
            f"Accuracy against confidence; calibration error {_percent(report.exact.calibration.error)} %",
        ),
        "bars": inline_svg(bars, "bars", f"Bars of test accuracy: {said}"),
        "curves": curves,
        "scene": inline_svg(scene, "scene", f"Graph and tree decomposition of a scene: {', '.join(report.names)}"),
        "htree": inline_svg(htree, "htree", f"Its H-tree: {report.htree.num_nodes} nodes"),
        "confusions": confusions,
    }


def _confusion(place: int, confusion: Confusion) -> dict[str, Any]:
    """The text of the page about a confusion matrix, and its figure."""
    counts = confusion.counts.detach().cpu().double().numpy()
    total = int(counts.sum())
    right = f"{_percent(counts.trace() / total)} % of {total:,} {confusion.what} are on the diagonal"
    figure = confusion_matrix(counts, confusion.names)
    return {
        "what": confusion.what,
        "total": total,
        "unseen": int(counts[:, counts.sum(1) == 0].sum()),
        "figure": inline_svg(figure, f"confusion-{place}", f"Confusion matrix: {right}"),
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _gap(below: float) -> str:
    """A difference of shares in words: how many percentage points below the optimum, or above it by chance."""
    points = f"{100 * abs(below):.1f}"
    if points == "0.0":
        return "at the optimum"
    return f"{points} points {'below' if below > 0 else 'above'} the optimum"


def _signed(below: float) -> str:
    """The same as a number; one above the optimum has a minus."""
    text = f"{100 * below:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", "−")


def _check(report: DemoReport) -> None:
    if not report.trained:
        raise InputError("Expected at least one trained network (got none). Train one, then write its report.")
    for t in report.trained:
        if t.network not in NETWORKS or t.conv not in CONVOLUTIONS:
            raise InputError(
                f"Expected a network of {', '.join(NETWORKS)} and a convolution of {', '.join(CONVOLUTIONS)} "
                f"(got {t.network!r} with {t.conv!r}). Leave other networks out."
            )
        for what in ("test", "val", "val_curve"):
            _check_accuracies(f"{what} of the {t.name}", getattr(t, what))
        if not t.loss_curve or not all(map(math.isfinite, [*t.loss_curve, t.seconds])) or t.seconds < 0:
            raise InputError(
                f"Expected a finite loss for each epoch and seconds of 0 or more for the {t.name} "
                f"(got {t.loss_curve!r} and {t.seconds!r}). If the training diverged, lower its learning rate."
            )
    if len({t.name for t in report.trained}) < len(report.trained):
        raise InputError(
            f"Expected every network once (got {', '.join(t.name for t in report.trained)}). "
            f"Put all runs of a network into one Trained."
        )
    _check_accuracies("optimum and features_only", (report.optimum, report.features_only))
    _check_accuracies("test of the exact head", report.exact.test)
    for each in report.confusions:
        _check_confusion(each.counts, each.names)
    if not report.confusions:
        raise InputError("Expected at least one confusion matrix (got none). Pass that of the test nodes.")
    texts = [report.title, *report.facts, *report.facts.values(), *report.names, *report.links, *report.links.values()]
    texts += [name for each in report.confusions for name in (each.what, *each.names)]
    for text in texts:
        if not text.isprintable():
            raise InputError(f"Expected printable texts and names (got {text!r}). Remove its control characters.")


def _check_accuracies(what: str, values: Sequence[float]) -> None:
    if not values or not all(0 <= value <= 1 for value in values):  # NaN compares false
        raise InputError(
            f"Expected accuracies from 0 to 1 as the {what} (got {values!r}). "
            f"Give at least one, divide percentages by 100, and leave failed runs out."
        )


def _check_confusion(counts: Tensor, names: Sequence[str]) -> None:
    if counts.shape != (len(names), len(names)):
        raise InputError(
            f"Expected a confusion matrix of shape {(len(names), len(names))}, one row and one column for each of its "
            f"names (got {tuple(counts.shape)}). Name its classes in the order of its rows."
        )
    if not counts.isfinite().all() or (counts < 0).any() or not counts.any():
        raise InputError(
            f"Expected counts of 0 or more, not all 0, in the confusion matrix (got a sum of {counts.sum().item()}). "
            f"Count the predictions of at least one test node."
        )
