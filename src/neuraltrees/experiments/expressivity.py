"""Learning the marginals of Markov networks: neural trees, GNNs and loopy belief propagation against exact marginals.

All networks get the same potentials, number of steps and learning rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from matplotlib.axes import Axes

from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.marginal_learning import baseline_errors, learn_marginals
from neuraltrees.experiments.marginal_problems import FAMILIES, MarginalProblem
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.plots.style import LOOKS, MORE, error_line, panels, plain_numbers, save_both
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Record, Results, open_store

LAYERS = 12
NETWORKS = {"neural tree": LAYERS, "GNN": LAYERS, "deeper GNN": 2 * LAYERS}
LINES = {"neural tree": LOOKS["neural tree"], "GNN": LOOKS["GNN"], "deeper GNN": MORE[2], "loopy BP": MORE[4]}
MIDDLE = "partial 3-tree"
WIDTHS, SIZES = (8, 16, 32, 64), (30, 100, 300, 1000, 3000)
TESTED = 300
LEVEL = 0.25  # differences of total variation, in points, below which two networks count as level


@dataclass(frozen=True)
class Setting:
    """The settings of one training.

    Args:
        sweep: the comparison it belongs to: families, parameters, samples or graphs.
        family: kind of graph.
        network: kind of network.
        hidden: size of the states.
        samples: number of training potentials per graph.
        graphs: number of training graphs; with more than one, the test is on as many new graphs.
        seed: seed of graph, table, potentials and weights.
    """

    sweep: str
    family: str
    network: str
    hidden: int = 32
    samples: int = 3000
    graphs: int = 1
    seed: int = 0

    def key(self) -> dict[str, Any]:
        return dict(vars(self))


def settings(scale: Scale) -> Iterator[Setting]:
    """All trainings, one sweep after another; the quick version has few samples."""
    seeds = range(scale.runs or (1 if scale.quick else 2))
    families = ("cycle", MIDDLE) if scale.quick else tuple(FAMILIES)
    trees = ("partial 2-tree",) if scale.quick else tuple(name for name in FAMILIES if name.startswith("partial"))
    samples, sizes = (100, (30, 100)) if scale.quick else (Setting.samples, SIZES[::2])
    for seed in seeds:
        for network in NETWORKS:
            yield from (Setting("families", family, network, samples=samples, seed=seed) for family in families)
            yield from (Setting("samples", MIDDLE, network, samples=n, seed=seed) for n in sizes)
            for hidden in WIDTHS[:: 1 + 2 * scale.quick]:
                yield Setting("parameters", MIDDLE, network, hidden=hidden, samples=samples, seed=seed)
            few, graphs = (20, 4) if scale.quick else (100, 16)
            for family in trees:
                yield Setting("graphs", family, network, samples=few, graphs=graphs, seed=seed)


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Runs the trainings that are missing in the JSON file."""
    steps = scale.epochs or (100 if scale.quick else 2000)
    listed = list(settings(scale))
    with open_store(path, "expressivity", {"steps": steps, "rounds": LAYERS, "residual": True}) as store:
        for number, setting in enumerate(listed, start=1):
            if store.get(setting.key()) is not None:
                continue
            found = learn(setting, steps, scale.device)
            store.add(setting.key(), found | machine(scale.device))
            log(
                f"{number}/{len(listed)} {setting.sweep}: {setting.family}, {setting.network}: {found['error']:.2f} % "
                f"(loopy {found['loopy']:.2f} %) in {found['seconds']:.0f} s"
            )
    return store.results


def learn(setting: Setting, steps: int, device: str) -> dict[str, Any]:
    """The error of one network on new potentials, or on new graphs."""
    problem = MarginalProblem.random(setting.family, setting.seed, 0, setting.graphs)
    train = problem.sample(setting.samples, seed=2 * setting.seed)
    alone = setting.graphs == 1
    other = problem if alone else MarginalProblem.random(setting.family, setting.seed, setting.graphs, setting.graphs)
    test = other.sample(TESTED if alone else TESTED // 10, seed=2 * setting.seed + 1, loopy=True)
    tree = setting.network == "neural tree"
    network = NetworkSpec(
        model="neural-tree" if tree else "gnn",
        conv="sage",
        hidden=setting.hidden,
        layers=NETWORKS[setting.network],
        dropout=0.0,
        relations=tree,
        residual=True,
    )
    fitted = learn_marginals(problem, train, other, test, network, steps, setting.seed, device)
    return {
        "error": 100 * float(fitted.test[0]),
        **baseline_errors(test),
        "parameters": sum(parameter.numel() for parameter in fitted.network.parameters()),
        "treewidth": max(problem.treewidth, other.treewidth),
        "states": problem.states,
        "seconds": round(fitted.seconds, 2),
    }


def draw(results: Results, folder: Path) -> list[Block]:
    """A figure of the error against treewidth, samples and parameters; a table of all families."""
    figure, axes = panels(4, width=3.6, height=3.2)
    trees = [name for name in FAMILIES if name.startswith("partial")]
    _draw_lines(axes[0], results, "families", lambda r: r["treewidth"], "treewidth, new potentials", trees)
    _draw_lines(axes[1], results, "graphs", lambda r: r["treewidth"], "treewidth, new graphs", trees)
    _draw_lines(axes[2], results, "samples", lambda r: r["name"]["samples"], f"training samples, {MIDDLE}")
    _draw_lines(axes[3], results, "parameters", lambda r: r["parameters"], f"parameters, {MIDDLE}")
    for each in axes[2:]:
        each.set_xscale("log")
        plain_numbers(each.xaxis)
    axes[0].set_ylabel("total variation to exact marginals in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save_both(figure, folder, "expressivity")
    header = ["tested on", "graph", "treewidth", "states", *NETWORKS, "loopy BP", "uniform", "tree − better GNN"]
    rows = [
        row
        for sweep, what in (("families", "new potentials"), ("graphs", "new graphs"))
        for family in FAMILIES
        for row in _row(results, sweep, what, family)
    ]
    about = results.subject
    rounds, kind = about["rounds"], "residual " if about["residual"] else ""
    text = (
        "Mean total variation between predicted and exact marginals in per cent, mean ± standard deviation over seeds, "
        f"each with its own graph, table and weights. GraphSAGE with states of size {Setting.hidden}, {rounds} {kind}"
        f"rounds ({2 * rounds} for the deeper GNN), {about['steps']:,} steps of 32 samples, the same learning rate; "
        "no hyper-parameter was tuned for one network only."
    )
    return [text, _where(results), Table(header, rows), Figure(WHAT, "expressivity.svg")]


def _where(results: Results) -> str:
    """On which graphs the neural tree is ahead of, level with or behind the better GNN and loopy belief propagation."""
    found: dict[str, dict[str, list[str]]] = {
        rival: {how: [] for how in ("ahead", "level", "behind")}
        for rival in ("the better GNN", "loopy belief propagation")
    }
    for sweep, what in (("families", ""), ("graphs", " (new graphs)")):
        for family in FAMILIES:
            errors, loopy, _ = _errors(results, sweep, family)
            if not loopy:
                continue
            mean = {name: fmean(values) for name, values in errors.items()}
            rivals = (min(mean["GNN"], mean["deeper GNN"]), fmean(loopy))
            for rival, limit in zip(found, rivals, strict=True):
                gain = mean["neural tree"] - limit
                how = "level" if abs(gain) < LEVEL else "ahead" if gain < 0 else "behind"
                found[rival][how].append(f"{family}{what}")
    parts = [
        f"Against {rival} the neural tree is "
        + "; ".join(f"{how} on {', '.join(where)}" for how, where in each.items() if where)
        for rival, each in found.items()
    ]
    return f"{'. '.join(parts)}. Level means within {LEVEL} points."


def _errors(results: Results, sweep: str, family: str) -> tuple[dict[str, list[float]], list[float], list[float]]:
    """The errors of every network, of loopy belief propagation and of uniform marginals."""
    errors = {
        name: [_error(record) for record in results.find(sweep=sweep, family=family, network=name)] for name in NETWORKS
    }
    records = results.find(sweep=sweep, family=family)
    return errors, [record["loopy"] for record in records], [record["uniform"] for record in records]


def _error(record: Record) -> float:
    """The error of a network; NaN, stored as null in JSON, if it diverged."""
    return nan if record["error"] is None else float(record["error"])


def _row(results: Results, sweep: str, what: str, family: str) -> list[list[str]]:
    records = results.find(sweep=sweep, family=family)
    if not records:
        return []
    errors, *others = _errors(results, sweep, family)
    widths = sorted({record["treewidth"] for record in records})
    gain = fmean(errors["neural tree"]) - min(fmean(errors["GNN"]), fmean(errors["deeper GNN"]))
    width = str(widths[0]) if len(widths) == 1 else f"{widths[0]}–{widths[-1]}"
    means = [_mean_and_spread(values) for values in errors.values()] + [f"{fmean(values):.1f}" for values in others]
    return [[what, family, width, str(records[0]["states"]), *means, f"{round(gain, 1) + 0:+.1f}"]]


def _draw_lines(
    axes: Axes,
    results: Results,
    sweep: str,
    of: Callable[[Record], float],
    label: str,
    families: list[str] | None = None,
) -> None:
    """Draws one line per network, with error bars of one standard deviation over the seeds."""
    records = [r for r in results.find(sweep=sweep) if families is None or r["name"]["family"] in families]
    groups = {name: [record for record in records if record["name"]["network"] == name] for name in NETWORKS}
    for name, found in (*groups.items(), ("loopy BP", groups["neural tree"])):
        by: dict[float, list[float]] = {}
        for record in found:
            by.setdefault(of(record), []).append(record["loopy"] if name == "loopy BP" else _error(record))
        where = sorted(by)
        means, spreads = [fmean(by[x]) for x in where], [_spread(by[x]) for x in where]
        error_line(axes, where, means, spreads, name, LINES[name])
    axes.set_xlabel(label)
    axes.set_ylim(bottom=0)


def _spread(values: list[float]) -> float:
    return stdev(values) if len(values) > 1 and all(map(isfinite, values)) else 0.0


def _mean_and_spread(values: list[float]) -> str:
    return f"{fmean(values):.1f}" + (f" ± {_spread(values):.1f}" if len(values) > 1 else "")


WHAT = "marginals of random Markov networks: neural tree, GNNs and loopy belief propagation"
EXPERIMENT = Experiment("expressivity", WHAT, measure, draw)
