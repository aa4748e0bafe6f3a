"""docs/results.md and its figure, made from the JSON files of the experiments.

python -m neuraltrees.experiments.summary docs
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from neuraltrees.experiments.figures import LOOKS, line, panels, save
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.files import write_whole

NAMES = {"neural-tree": "neural tree", "gnn": "GNN"}
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
        gaps = [f"{percent(test) - percent(some['posterior']):+.1f}" if test else "–" for test in tests]
        shown = [mean_std(test) if test else "–" for test in tests]
        difference = paired(tests[1], tests[0]) if all(tests) else "–"
        base = [f"{percent(some[name]):.1f}" for name in ("posterior", "own_features")]
        lines.append(f"| {number:,g} | {' | '.join([*base, *shown, *gaps, difference])} |")
    return lines


def draw_gap(sizes: dict[str, Any], couplings: dict[str, Any], folder: Path) -> None:
    """Accuracy against the number of training scenes and against the coupling, with the posterior above both."""
    figure, axes = panels(2, sharey=True)
    for each, results, over in ((axes[0], sizes, "scenes"), (axes[1], couplings, "coupling")):
        size, coupling = results["protocol"]["middle"]
        fixed, value = ("coupling", coupling) if over == "scenes" else ("scenes", size)
        points = sorted((p for p in results["points"] if p[fixed] == value), key=lambda p: p[over])
        of_any = {p[over]: p for p in points}
        bounds = (("posterior", "exact posterior", "black"), ("own_features", "own features", "0.55"))
        for name, label, colour in bounds:
            each.plot(list(of_any), [percent(p[name]) for p in of_any.values()], ":", color=colour, label=label)
        for model, name in NAMES.items():
            of_model = [p for p in points if p["model"] == model]
            line(each, [p[over] for p in of_model], [p["test"] for p in of_model], name, LOOKS[name])
        if over == "scenes":
            each.set_xscale("log")
        each.set_xlabel("training scenes" if over == "scenes" else "coupling of neighbouring objects")
        hidden, steps = results["protocol"]["hidden"], results["protocol"]["steps"]
        what = f"coupling {value:g}" if over == "scenes" else f"{value:,} training scenes"
        each.set_title(f"{what}; states of {hidden}, {steps:,} steps", fontsize=10)
    axes[0].set_ylabel("test accuracy in %")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside upper center", ncols=4)
    save(figure, folder, "posterior-gap")


def write_results(docs: Path) -> None:
    """Writes `results.md` and the figure beside the folder `results` of JSON files."""
    scenes, full, coupling = (
        json.loads((docs / "results" / f"{name}.json").read_text())
        for name in ("scene-graphs", "posterior-gap-sage-full", "posterior-gap-sage-coupling")
    )
    large = [json.loads(path.read_text()) for path in sorted((docs / "results").glob("posterior-gap-sage-large*.json"))]
    small, protocol = coupling["protocol"], full["protocol"]
    content = (
        resources.files(__package__)
        .joinpath("results.md.in")
        .read_text()
        .format(
            runs=scenes["protocol"]["runs"],
            epochs=scenes["protocol"]["epochs"],
            scene_table="\n".join(scene_graph_table(scenes)),
            size_table="\n".join(gap_table(full, "scenes")),
            partial_table="\n".join(gap_table(full, "coupling")),
            coupling_table="\n".join(gap_table(coupling, "coupling")),
            small="{:,} training scenes, states of {}, {:,} steps".format(
                small["middle"][0], small["hidden"], small["steps"]
            ),
            tuning=_tuning(full),
            large=_large(large),
            held_out="{} validate and {:,} test".format(*protocol["held_out"]),
            pair_runs=protocol["runs"],
            steps=protocol["steps"],
            devices=_devices(full),
            note=full.get("note", ""),
        )
    )
    draw_gap(full, coupling, docs / "images")
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


def _large(listed: Sequence[dict[str, Any]]) -> str:
    """What very many scenes bring, one run each."""
    if not listed:
        return ""
    lines = [
        "| training scenes | network | rounds | dropout | steps | posterior | test | to posterior | best epoch |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for results in listed:
        protocol = results["protocol"]
        for point in results["points"]:
            rounds = results["tuning"][point["model"]]["best"]["layers"]
            test, best = percent(point["test"]), percent(point["posterior"])
            last = -(-protocol["steps"] // protocol["most_batches"])
            row = [f"{point['scenes']:,}", NAMES[point["model"]], str(rounds), f"{protocol['dropout']:g}"]
            row += [f"{protocol['steps']:,}", f"{best:.1f}", f"{test:.1f}", f"{test - best:+.1f}"]
            lines.append(f"| {' | '.join(row)} | {point['best_epoch'][0]} of {last} |")
    commands = "python -m neuraltrees.experiments.posterior_gap --models neural-tree --out docs/results --protocol"
    notes = [results["note"] for results in listed if "note" in results]
    text = " ".join(["One run of the neural tree with separate weights for every edge type, on a CPU.", *notes])
    return "\n".join(
        [
            "### Very many scenes",
            "",
            text,
            "",
            f"    {commands} large          # and large-plain, without dropout",
            "",
            *lines,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, help="the folder that holds results/")
    write_results(parser.parse_args().docs)


if __name__ == "__main__":
    main()
