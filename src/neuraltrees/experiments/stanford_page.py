"""A table and a figure of exact structured answers on the scene graphs of the paper."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from neuraltrees.experiments.gap_page import column
from neuraltrees.experiments.page import Block, Figure, Heading, Table
from neuraltrees.experiments.statistics import Difference, mean_std, paired, percent
from neuraltrees.plots.style import GREEN, GREY, LOOKS, ORANGE, PURPLE, SKY, Look, panels, save_both
from neuraltrees.tuning.store import Record, Results

SHOWN = {
    "gnn": "GNN",
    "gnn, labels as inputs": "GNN, labels as inputs",
    "gnn + head": "GNN + head",
    "neural-tree": "neural tree",
    "neural-tree + head": "neural tree + head",
    "mlp + head": "MLP + head",
    "extra-trees": "extra-trees",
    "extra-trees + head": "extra-trees + head",
}
MORE_LOOKS = {
    "GNN, labels as inputs": Look(SKY, "^", ":"),
    "GNN + head": Look(ORANGE, "v", "-"),
    "neural tree + head": Look(PURPLE, "P", "-"),
    "MLP + head": Look(GREEN, "D", "-"),
    "extra-trees": Look(GREY, "x", ":"),
    "extra-trees + head": Look(GREY, "X", "-"),
}
PLAIN = ("gnn", "gnn, labels as inputs", "neural-tree")
HEADS = ("gnn + head", "neural-tree + head", "mlp + head", "extra-trees + head")
CAPTION = "Test accuracy of every split, and the mean of each method"


def draw(results: Results, folder: Path) -> list[Block]:
    """The page of the experiment."""
    pairs = zip(results.subject["shares"], results.subject["members"], strict=True)
    averaged = ", ".join(f"{count} with {_share(share)}" for share, count in pairs)
    places = zip(results.subject["shares"], results.subject.get("chosen_at", results.subject["shares"]), strict=True)
    taken = "; ".join(f"with {_share(share)}, as chosen with {_share(at)}" for share, at in places if share != at)
    _draw_figure(results, folder)
    return [
        "All methods see the same geometry relative to the room. Networks have the same recipe (residual rounds, layer "
        "norm, averaged weights) and the same values of dropout and numbers of epochs to choose from, by validation "
        f"accuracy{f' ({taken})' if taken else ''}. An answer is the mean of so many networks per split: {averaged} of "
        "the nodes; beside it, that of one network. The head is a conditional random field whose tables are mixed by "
        "the geometry of edges; training "
        "labels are evidence. As inputs, they are read by the network, which learns to find those that are hidden from "
        "it. Extra-trees see neighbours' features and training labels; below the head, which learns from what they "
        "answer for training nodes that they were not trained on (`CRFPosterior`), a node's own features alone.",
        verdict(results),
        Heading("Test accuracy", 3),
        accuracy_table(results, "test"),
        Heading("One network per split", 3),
        accuracy_table(results, "single_test"),
        Heading("What the head adds", 3),
        "Each head against the best method without one, which is chosen by validation accuracy as well.",
        difference_table(results),
        Heading("Calibration", 3),
        "Expected calibration error of the test nodes in %, and their mean log-loss.",
        calibration_table(results),
        Figure(CAPTION, "structured-stanford.svg"),
    ]


def finals(results: Results) -> dict[float, dict[str, Record]]:
    """For every share the record of each method, after its hyper-parameters were chosen."""
    found: dict[float, dict[str, Record]] = {}
    for record in results.records:
        if len(record["name"]) == 2:  # method and share
            found.setdefault(record["name"]["share"], {})[record["name"]["method"]] = record
    return dict(sorted(found.items()))


def best(methods: dict[str, Record], names: tuple[str, ...]) -> str | None:
    """The method of the best validation accuracy among some."""
    there = [name for name in names if name in methods]
    return max(there, key=lambda name: _validation(methods[name]), default=None)


def accuracy_table(results: Results, kind: str) -> Table:
    """Accuracies of all methods."""
    rows = [
        [_share(share), *(mean_std(column(methods[name], kind)) if name in methods else "–" for name in SHOWN)]
        for share, methods in finals(results).items()
    ]
    return Table(["training nodes", *SHOWN.values()], rows)


def difference_table(results: Results) -> Table:
    """Paired differences."""
    rows = []
    for share, methods in finals(results).items():
        rival = best(methods, PLAIN)
        shown = [
            paired(column(methods[name], "test"), column(methods[rival], "test")) if rival and name in methods else "–"
            for name in (*HEADS, "extra-trees")
        ]
        rows.append([_share(share), SHOWN[rival] if rival else "–", *shown])
    header = ["training nodes", "best without head", *(SHOWN[name] for name in (*HEADS, "extra-trees"))]
    return Table(header, rows)


def calibration_table(results: Results) -> Table:
    """Calibration error and log-loss."""
    rows = []
    for share, methods in finals(results).items():
        cells = []
        for name in SHOWN:
            if name not in methods:
                cells.append("–")
                continue
            error, loss = (column(methods[name], kind) for kind in ("calibration_error", "log_loss"))
            cells.append(f"{percent(error):.1f}, {sum(loss) / len(loss):.2f}")
        rows.append([_share(share), *cells])
    return Table(["training nodes", *SHOWN.values()], rows)


def verdict(results: Results) -> str:
    """One sentence on whether the head is ahead of the best method without it."""
    words = []
    for share, methods in finals(results).items():
        rival, head = best(methods, PLAIN), best(methods, HEADS)
        if rival is None or head is None:
            continue
        mine, theirs = column(methods[head], "test"), column(methods[rival], "test")
        difference = Difference.of(mine, theirs)
        how = {1: "ahead", 0: "not apart", -1: "behind"}[difference.sign()]
        words.append(
            f"{_share(share)}: {SHOWN[head]} {percent(mine):.1f}, {SHOWN[rival]} {percent(theirs):.1f}, {how} "
            f"({difference})"
        )
    return f"**The best head against the best network without one**, both by validation: {'; '.join(words)}."


def _validation(record: Record) -> float:
    return percent(column(record, "val"))


def _share(share: float) -> str:
    return f"{100 * share:g} %"


def _draw_figure(results: Results, folder: Path) -> None:
    looks, found = LOOKS | MORE_LOOKS, finals(results)
    figure, axes = panels(len(found), width=6.4, height=3.4, rows=-(-len(found) // 2))
    for panel, (share, methods) in zip(axes, found.items(), strict=True):
        there = [name for name in SHOWN if name in methods]
        for place, name in enumerate(reversed(there)):
            values = [100 * each for each in column(methods[name], "test")]
            look = looks[SHOWN[name]]
            panel.plot(values, [place] * len(values), look.marker, color=look.color, markersize=4, alpha=0.4)
            panel.plot([fmean(values)], [place], look.marker, color=look.color, markersize=10)
        panel.set_yticks(range(len(there)), [SHOWN[name] for name in reversed(there)])
        panel.set_xlabel("test accuracy in %")
        panel.set_title(f"{_share(share)} of the nodes train")
    save_both(figure, folder, "structured-stanford")
