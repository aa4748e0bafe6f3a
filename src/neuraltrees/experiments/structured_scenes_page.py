"""Tables and a figure of exact structured answers on generated scenes."""

from __future__ import annotations

from pathlib import Path

from neuraltrees.experiments.gap_page import column
from neuraltrees.experiments.page import Block, Figure, Heading, Table
from neuraltrees.experiments.statistics import Difference, mean_std, paired, percent
from neuraltrees.plots.style import LOOKS, ORANGE, PURPLE, Look, line, panels, plain_numbers, save_both
from neuraltrees.tuning.store import Record, Results

SHOWN = {
    "gnn": "GNN",
    "neural-tree": "neural tree",
    "head": "exact head",
    "gnn + head": "GNN + head",
    "neural-tree + head": "neural tree + head",
}
PLAIN = {name: SHOWN[name] for name in ("gnn", "neural-tree")}
MORE_LOOKS = {
    "GNN + head": Look(ORANGE, "v", "--", ""),
    "neural tree + head": Look(PURPLE, "^", "--", ""),
}
STATISTICS = "class statistics + head"
CAPTION = "Accuracy of networks and of the exact head against training scenes and coupling"


def draw(results: Results, folder: Path) -> list[Block]:
    """The page of the experiment."""
    size, coupling = results.subject["middle"]
    _draw_figure(results, folder)
    statistics: list[Block] = [
        Heading("Class statistics below the head", 3),
        "The potentials of nodes come from a normal distribution per label, with its own mean and variances; only the "
        "tables, a bias per label and a factor are learned, by pseudo-likelihood from cross-fitted probabilities "
        "(`CRFPosterior`), on a CPU.",
        statistics_table(results),
    ]
    if not results.find(method=STATISTICS):
        statistics = []
    networks: list[Block] = [
        Heading("Networks below the head", 3),
        "What the head adds to a network of the same recipe, and the better of the two networks with the head against "
        "the head alone, which reads no neighbours' features. Calibration errors of GNN and neural tree with the head.",
        networks_table(results),
    ]
    if not any(results.find(method=f"{name} + head") for name in PLAIN):
        networks = []
    return [
        "The head is a conditional random field on the graph's own edges: a table per pair of node types, and "
        "potentials of nodes that are quadratic in their own features (alone) or come from the states of a network "
        "(below it). Its answers are exact marginals by tree decomposition. It learns by pseudo-likelihood, then by "
        "the exact likelihood. Runs are paired: all methods have the same splits.",
        verdict(results),
        Heading(f"Training scenes, coupling {coupling:g}", 3),
        accuracy_table(results, "scenes"),
        Heading(f"Label coupling, {size:,} training scenes", 3),
        accuracy_table(results, "coupling"),
        *networks,
        *statistics,
        Heading("How much exactness matters", 3),
        "The same trained potentials, other inference: loopy belief propagation (50 rounds, damping 0.5) and naive "
        "mean field. The calibration error is that of the exact answers.",
        exactness_table(results),
        Figure(CAPTION, "structured-scenes.svg"),
    ]


def by_value(results: Results, over: str) -> dict[float, dict[str, Record]]:
    """The records of every number of scenes or coupling, by method."""
    size, coupling = results.subject["middle"]
    fixed = {"coupling": coupling} if over == "scenes" else {"scenes": size}
    found: dict[float, dict[str, Record]] = {}
    for record in results.find(**fixed):
        found.setdefault(record["name"][over], {})[record["name"]["method"]] = record
    return dict(sorted(found.items()))


def best_network(methods: dict[str, Record]) -> Record | None:
    """The better of the two networks without a head, by test accuracy: the stronger rival."""
    plain = [methods[name] for name in PLAIN if name in methods]
    return max(plain, key=lambda record: percent(column(record, "test")), default=None)


def accuracy_table(results: Results, over: str) -> Table:
    """Accuracies of all methods, and the difference of the head to the better network."""
    rows = []
    for value, methods in by_value(results, over).items():
        some, rival, head = next(iter(methods.values())), best_network(methods), methods.get("head")
        shown = [mean_std(column(methods[name], "test")) if name in methods else "–" for name in SHOWN]
        more = paired(column(head, "test"), column(rival, "test")) if head is not None and rival is not None else "–"
        gap = _gap(head) if head else "–"
        rows.append([f"{value:,g}", f"{percent(column(some, 'posterior')):.1f}", *shown, more, gap])
    return Table([over, "posterior", *SHOWN.values(), "head − better network", "head − posterior"], rows)


def networks_table(results: Results) -> Table:
    """Networks with the head against those without, and against the head alone."""
    rows = []
    size = results.subject["middle"][0]
    for over in ("scenes", "coupling"):
        for value, methods in by_value(results, over).items():
            below = {name: methods.get(f"{name} + head") for name in PLAIN}
            if not any(below.values()) or (over == "scenes" and value == size):
                continue
            some = next(record for record in below.values() if record)
            best = max((each for each in below.values() if each), key=lambda each: percent(column(each, "test")))
            gains = [
                paired(column(record, "test"), column(methods[name], "test")) if record and name in methods else "–"
                for name, record in below.items()
            ]
            head = methods.get("head")
            more = paired(column(best, "test"), column(head, "test")) if head else "–"
            errors = [f"{percent(column(each, 'calibration_error')):.1f}" if each else "–" for each in below.values()]
            place = [f"{some['name']['scenes']:,}", f"{some['name']['coupling']:g}"]
            rows.append([*place, *gains, more, ", ".join(errors)])
    header = ["scenes", "coupling", *(f"{title}: head adds" for title in PLAIN.values()), "best − exact head"]
    return Table([*header, "calibration errors in %"], rows)


def statistics_table(results: Results) -> Table:
    """The head on top of class statistics, against the head alone."""
    rows = []
    found = results.find(method=STATISTICS)
    for record in sorted(found, key=lambda each: (each["name"]["scenes"], each["name"]["coupling"])):
        where = {name: record["name"][name] for name in ("scenes", "coupling")}
        heads = results.find(method="head", **where)
        more = paired(column(record, "test"), column(heads[0], "test")) if heads else "–"
        place = [f"{where['scenes']:,}", f"{where['coupling']:g}", f"{percent(column(record, 'posterior')):.1f}"]
        error = f"{percent(column(record, 'calibration_error')):.1f}"
        rows.append([*place, mean_std(column(record, "test")), more, _gap(record), error])
    header = ["scenes", "coupling", "posterior", "class statistics + head", "− exact head", "− posterior"]
    return Table([*header, "calibration error in %"], rows)


def _gap(record: Record) -> str:
    """The mean distance to the posterior in points."""
    return f"{percent(column(record, 'test')) - percent(column(record, 'posterior')):+.1f}"


def exactness_table(results: Results) -> Table:
    """Exact against approximate inference with the potentials of the head."""
    rows = []
    for over in ("scenes", "coupling"):
        for value, methods in by_value(results, over).items():
            record = methods.get("head")
            if (
                record is None
                or "loopy" not in record["runs"][0]
                or (over == "scenes" and value == results.subject["middle"][0])
            ):
                continue
            exact, loopy, field = (column(record, name) for name in ("test", "loopy", "mean_field"))
            where = [f"{record['name']['scenes']:,}", f"{record['name']['coupling']:g}"]
            error = f"{percent(column(record, 'calibration_error')):.1f}"
            rows.append([*where, mean_std(exact), paired(exact, loopy), paired(exact, field), error])
    header = ["scenes", "coupling", "exact", "exact − loopy", "exact − mean field", "calibration error in %"]
    return Table(header, rows)


def verdict(results: Results) -> str:
    """One sentence on whether the head is ahead."""
    ahead: list[str] = []
    rest: list[str] = []
    for value, methods in by_value(results, "scenes").items():
        rival, head = best_network(methods), methods.get("head")
        if rival is not None and head is not None:
            difference = Difference.of(column(head, "test"), column(rival, "test"))
            (ahead if difference.sign() > 0 else rest).append(f"{value:,g} ({difference.points:+.1f})")
    if not ahead:
        return f"**The head is not ahead of the better network** with {', '.join(rest)} training scenes."
    others = f"; not with {', '.join(rest)}" if rest else ""
    return f"**The head is ahead of the better network** with {', '.join(ahead)} training scenes{others}."


def _draw_figure(results: Results, folder: Path) -> None:
    figure, axes = panels(2, sharey=True)
    looks = LOOKS | MORE_LOOKS
    for each, over in ((axes[0], "scenes"), (axes[1], "coupling")):
        found = by_value(results, over)
        first = [next(iter(methods.values())) for methods in found.values()]
        for kind, label, color in (("posterior", "exact posterior", "black"), ("own_features", "own features", "0.55")):
            each.plot(list(found), [percent(column(record, kind)) for record in first], ":", color=color, label=label)
        for method, title in SHOWN.items():
            own = {value: methods[method] for value, methods in found.items() if method in methods}
            if own:
                line(each, list(own), [column(record, "test") for record in own.values()], title, looks[title])
        if over == "scenes":
            each.set_xscale("log")
            plain_numbers(each.xaxis)
        each.set_xlabel("training scenes" if over == "scenes" else "label coupling")
    axes[0].set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save_both(figure, folder, "structured-scenes")
