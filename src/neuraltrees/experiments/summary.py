"""docs/results.md and its figure, made from the JSON files of the experiments.

python -m neuraltrees.experiments.summary docs
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import ttest_rel

from neuraltrees.files import write_whole

NAMES = {"neural-tree": "neural tree", "gnn": "GNN"}
LOOKS = {"neural-tree": ("#d55e00", "o", "-"), "gnn": ("#0072b2", "s", "--")}
CONVS = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "gin": "GIN"}


def scene_graph_table(results: dict[str, Any]) -> list[str]:
    """Accuracies on the scene graphs, and how sure the difference to the neural tree is."""
    cells = {(cell["conv"], cell["model"], cell["edges"]): cell["test"] for cell in results["cells"]}
    lines = [
        "| convolution | neural tree | GNN, stored edges | GNN, symmetric edges | tree − stored | tree − symmetric |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for conv in dict.fromkeys(conv for conv, _, _ in cells):
        tree, *others = (
            cells[conv, *kind] for kind in (("neural-tree", "symmetric"), ("gnn", "stored"), ("gnn", "symmetric"))
        )
        differences = [paired(tree, other) for other in others]
        lines.append(f"| {CONVS[conv]} | {' | '.join([*map(mean_std, (tree, *others)), *differences])} |")
    return lines


def gap_table(results: dict[str, Any], over: str) -> list[str]:
    """Points to the posterior as the number of scenes or the coupling grows."""
    size, coupling = results["protocol"]["middle"]
    fixed, value = ("coupling", coupling) if over == "scenes" else ("scenes", size)
    rows: dict[float, dict[str, Any]] = {}
    for point in results["points"]:
        if point[fixed] == value:
            rows.setdefault(point[over], {})[point["model"]] = point
    lines = [
        f"| {over} | posterior | own features | GNN | neural tree "
        "| GNN to posterior | tree to posterior | tree − GNN |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for number, models in sorted(rows.items()):
        some = next(iter(models.values()))
        tests = [models.get(model, {}).get("test") for model in ("gnn", "neural-tree")]
        gaps = [f"{100 * mean(test) - 100 * mean(some['posterior']):+.1f}" if test else "–" for test in tests]
        shown = [mean_std(test) if test else "–" for test in tests]
        difference = paired(tests[1], tests[0]) if all(tests) else "–"
        base = [f"{100 * mean(some[name]):.1f}" for name in ("posterior", "own_features")]
        lines.append(f"| {number:,g} | {' | '.join([*base, *shown, *gaps, difference])} |")
    return lines


def draw_gap(results: dict[str, Any]) -> Figure:
    """Accuracy against the number of training scenes and against the coupling, with the posterior above both."""
    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    size, coupling = results["protocol"]["middle"]
    panels: Sequence[tuple[Axes, str, str, float]] = [
        (axes, over, fixed, value)
        for axes, (over, fixed, value) in zip(
            figure.subplots(1, 2, sharey=True),
            (("scenes", "coupling", coupling), ("coupling", "scenes", size)),
            strict=True,
        )
    ]
    for axes, over, fixed, value in panels:
        points = sorted((p for p in results["points"] if p[fixed] == value), key=lambda p: p[over])
        any_model = [p for p in points if p["model"] == "gnn"]
        where = [p[over] for p in any_model]
        axes.plot(where, [100 * mean(p["posterior"]) for p in any_model], "k:", label="exact posterior")
        axes.plot(
            where, [100 * mean(p["own_features"]) for p in any_model], ":", color="0.55", label="own features alone"
        )
        for model, (colour, marker, line) in LOOKS.items():
            of_model = [p for p in points if p["model"] == model]
            tests = [[100 * value for value in p["test"]] for p in of_model]
            axes.errorbar(
                [p[over] for p in of_model],
                [mean(test) for test in tests],
                [statistics.stdev(test) if len(test) > 1 else 0 for test in tests],
                color=colour,
                marker=marker,
                linestyle=line,
                capsize=3,
                label=NAMES[model],
            )
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if over == "scenes":
            axes.set_xscale("log")
        axes.set_xlabel("training scenes" if over == "scenes" else "coupling of neighbouring objects")
        axes.set_title(f"coupling {value:g}" if over == "scenes" else f"{value:,} training scenes", fontsize=10)
    panels[0][0].set_ylabel("test accuracy in %")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside upper center", ncols=4)
    return figure


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(values)


def mean_std(values: Sequence[float]) -> str:
    """In per cent.

    >>> mean_std([0.5, 0.6])
    '55.0 ± 7.1'
    """
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{spread}"


def paired(first: Sequence[float], second: Sequence[float]) -> str:
    """The mean difference in points, and the p-value of a paired t-test over the runs.

    >>> paired([0.5, 0.6, 0.7], [0.4, 0.5, 0.61])
    '+9.7 (p = 0.0012)'
    """
    difference = f"{100 * (mean(first) - mean(second)):+.1f}"
    if len(first) < 2:
        return difference
    chance = float(ttest_rel(first, second).pvalue)
    return f"{difference} (p {'< 1e-4' if chance < 1e-4 else f'= {chance:.2g}'})"


def write_results(docs: Path) -> None:
    """Writes `results.md` and the figure beside the folder `results` of JSON files."""
    scenes = json.loads((docs / "results" / "scene-graphs.json").read_text())
    full = json.loads((docs / "results" / "posterior-gap-sage-full.json").read_text())
    large_path = docs / "results" / "posterior-gap-sage-large.json"
    large = json.loads(large_path.read_text()) if large_path.exists() else None
    template = resources.files(__package__).joinpath("results.md.in").read_text()
    content = template.format(
        runs=scenes["protocol"]["runs"],
        epochs=scenes["protocol"]["epochs"],
        scene_table="\n".join(scene_graph_table(scenes)),
        size_table="\n".join(gap_table(full, "scenes")),
        coupling_table="\n".join(gap_table(full, "coupling")),
        tuning=_tuning(full),
        large=_large(large),
        held_out="{} validate and {:,} test".format(*full["protocol"]["held_out"]),
        pair_runs=full["protocol"]["runs"],
        steps=full["protocol"]["steps"],
        devices=_devices(full),
    )
    buffer = BytesIO()
    draw_gap(full).savefig(buffer, format="svg", metadata={"Date": None})
    write_whole(docs / "images" / "posterior-gap.svg", buffer.getvalue())
    write_whole(docs / "results.md", content.encode())


def _tuning(results: dict[str, Any]) -> str:
    parts = []
    for model, tuning in results["tuning"].items():
        best = tuning["best"]
        parts.append(f"{NAMES[model]}: {best['layers']} rounds, learning rate {best['lr']:g}")
    return "; ".join(parts)


def _devices(results: dict[str, Any]) -> str:
    """Which settings ran where."""
    by_device: dict[str, list[str]] = {}
    for point in results["points"]:
        by_device.setdefault(point["device"], []).append(f"{point['scenes']:,} scenes at {point['coupling']:g}")
    most = max(by_device, key=lambda device: len(by_device[device]))
    others = [
        f"{device} for {', '.join(dict.fromkeys(names))}" for device, names in by_device.items() if device != most
    ]
    return "; ".join([f"{most}", *others])


def _large(results: dict[str, Any] | None) -> str:
    if results is None or not results["points"]:
        return ""
    lines = ["### Enough scenes", ""]
    for point in results["points"]:
        rounds = results["tuning"][point["model"]]["best"]["layers"]
        test, best = 100 * mean(point["test"]), 100 * mean(point["posterior"])
        setting = f"{point['scenes']:,} training scenes, {rounds} rounds and separate weights for every edge type"
        gap = f"{test - best:+.1f} points to the posterior's {best:.1f} %"
        lines += [f"With {setting},", f"one run of the {NAMES[point['model']]} comes to {test:.1f} %: {gap}."]
    command = "python -m neuraltrees.experiments.posterior_gap --protocol large --models neural-tree --out docs/results"
    return "\n".join([*lines, "", f"    {command}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, help="the folder that holds results/")
    write_results(parser.parse_args().docs)


if __name__ == "__main__":
    main()
