"""What the results page says of the exact posterior: tables and a figure from the JSON files of `posterior_gap`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuraltrees.experiments.gap_protocols import batches_for
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.experiments.table1 import CONVS
from neuraltrees.plots.style import LOOKS, line, panels, save

NAMES = {"neural-tree": "neural tree", "gnn": "GNN"}
COMMAND = "python -m neuraltrees.experiments.posterior_gap --out docs/results"


def gap_page(
    full: dict[str, Any], coupling: dict[str, Any], large: Sequence[dict[str, Any]], folder: Path
) -> list[str]:
    """The lines of the page; the figure is written into the folder."""
    draw_gap(full, folder)
    protocol, small = full["protocol"], coupling["protocol"]
    validate, test = protocol["held_out"]
    return [
        "`SyntheticScenes` come from a known Markov network, so the exact posterior of every label is known: "
        f"no method can be better, up to chance. GNN and neural tree (GraphSAGE, states of {protocol['hidden']}) get "
        f"the same scenes, features, splits, {protocol['steps']:,} steps and tuning of rounds and learning rate, "
        f"by validation accuracy at the middle setting ({_tuning(full)}). {validate} scenes validate and {test:,} "
        f"test; {protocol['runs']} paired runs, each with a split of its own. The generator was fixed before any "
        "network was trained; the networks see the sizes of boxes by their logarithm. "
        f"Devices: {_devices(full)}. {full.get('note', '')}".rstrip(),
        "",
        f"    {COMMAND} --device cuda",
        "",
        "![Accuracy against training scenes and coupling](images/posterior-gap.svg)",
        "",
        "### As training scenes grow",
        "",
        *gap_table(full, "scenes"),
        "",
        "### As neighbours tell more of each other",
        "",
        f"{protocol['middle'][0]:,} training scenes:",
        "",
        *gap_table(full, "coupling"),
        "",
        f"A protocol small enough for a CPU ({small['middle'][0]:,} training scenes, states of {small['hidden']}, "
        f"{small['steps']:,} steps, six rounds and learning rate 0.005 for both, {small['runs']} paired runs):",
        "",
        f"    {COMMAND} --protocol coupling",
        "",
        *gap_table(coupling, "coupling"),
        "",
        *_large(large),
    ]


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


def draw_gap(results: dict[str, Any], folder: Path) -> None:
    """Accuracy against the number of training scenes and against the coupling, with the posterior above both."""
    figure, axes = panels(2, sharey=True)
    for each, over in ((axes[0], "scenes"), (axes[1], "coupling")):
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


def _large(listed: Sequence[dict[str, Any]]) -> list[str]:
    """What very many scenes bring, the farthest from the posterior first."""
    if not listed:
        return []
    rows = []
    for results in listed:
        protocol = results["protocol"]
        for point in results["points"]:
            rounds = results["tuning"][point["model"]]["best"]["layers"]
            test, best = percent(point["test"]), percent(point["posterior"])
            batches = batches_for(point["scenes"], protocol["most_batches"])
            last = -(-protocol["steps"] // batches)
            row = [f"{point['scenes']:,}", NAMES[point["model"]], CONVS[results["conv"]]]
            row += [f"{rounds}{', residual' if protocol.get('residual') else ''}", f"{protocol['dropout']:g}"]
            row += [f"{point['scenes'] // batches}", f"{protocol['steps']:,}", f"{protocol['held_out'][1]:,}"]
            row += [f"{best:.1f}", f"{test:.1f}", f"{test - best:+.1f}", f"{max(point['best_epoch'])} of {last}"]
            rows.append((test - best, f"| {' | '.join([*row, point['device']])} |"))
    notes = [results["note"] for results in listed if "note" in results]
    return [
        "### Very many scenes",
        "",
        " ".join(["One run each; the neural tree has separate weights for every edge type.", *notes]),
        "",
        f"    {COMMAND} --protocol larger-residual --device cuda",
        f"    {COMMAND} --models neural-tree --protocol large-residual --device cuda",
        f"    {COMMAND} --models neural-tree --protocol large     # and large-batches, large-batches-plain",
        f"    {COMMAND} --models neural-tree --protocol large-sum --conv gin",
        "",
        "| scenes | network | convolution | rounds | dropout | scenes a step | steps | test scenes | posterior | test "
        "| to posterior | best epoch | device |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *(row for _, row in sorted(rows)),
    ]
