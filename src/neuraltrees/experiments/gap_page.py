"""Tables and a figure of the gap to the exact posterior, from the results of `posterior_gap`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuraltrees.experiments.gap_protocols import batches_for
from neuraltrees.experiments.page import Block, Commands, Figure, Heading, Table
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.experiments.table1 import CONVS
from neuraltrees.plots.style import LOOKS, line, panels, plain_numbers, save_both
from neuraltrees.tuning.store import Record, Results

NAMES = {"neural-tree": "neural tree", "gnn": "GNN"}
CAPTION = "Accuracy against training scenes and coupling"


def column(record: Record, kind: str) -> list[float]:
    """One value per run."""
    return [run[kind] for run in record["runs"]]


def gap_of(record: Record) -> float:
    """Test accuracy minus accuracy of the exact posterior, in points."""
    return percent(column(record, "test")) - percent(column(record, "posterior"))


def measured(results: Results) -> list[Record]:
    """The records that are not trials of the tuning."""
    return [record for record in results.records if "scenes" in record["name"]]


def draw(name: str, results: Results, folder: Path) -> list[Block]:
    """The page of one protocol: a table over training scenes, over the coupling, or both."""
    scenes, coupling = ({record["name"][over] for record in measured(results)} for over in ("scenes", "coupling"))
    blocks: list[Block] = [f"Chosen: {_tuning(results)}. Devices: {_devices(results)}."]
    if len(scenes) > 1 or len(coupling) == 1:
        blocks.append(gap_table(results, "scenes"))
    if len(coupling) > 1:
        blocks.append(gap_table(results, "coupling"))
    if len(scenes) == len(coupling) == 1:
        return blocks
    draw_gap(results, folder, name)
    return [*blocks, Figure(CAPTION, f"{name}.svg")]


def gap_section(full: Results, coupling: Results, large: Sequence[Results], folder: Path) -> list[Block]:
    """The section of the summary page on all protocols; its figure is written into the folder."""
    draw_gap(full, folder, "posterior-gap")
    protocol, small = full.subject, coupling.subject
    validate, test = protocol["held_out"]
    blocks: list[Block] = [
        "`SyntheticScenes` are sampled from a known Markov network, so the exact posterior of every label is known: "
        "no method has a better expected accuracy. GNN and neural tree (GraphSAGE, states of size "
        f"{protocol['hidden']}) get the same scenes, features, splits and {protocol['steps']:,} steps; rounds and "
        "learning rate of both are tuned over the same grid by validation accuracy at the middle setting "
        f"({_tuning(full)}). {validate} scenes for validation and {test:,} for testing; {protocol['runs']} paired "
        "runs, each with its own split. The generator was fixed before any network was trained; the sizes of bounding "
        f"boxes are logarithmic features. Devices: {_devices(full)}. {full.note}",
        Commands([_command(full)]),
        Figure(CAPTION, "posterior-gap.svg"),
        Heading("Number of training scenes", 3),
        gap_table(full, "scenes"),
        Heading("Label coupling", 3),
        f"{protocol['middle'][0]:,} training scenes:",
        gap_table(full, "coupling"),
        f"A protocol small enough for a CPU ({small['middle'][0]:,} training scenes, states of size {small['hidden']}, "
        f"{small['steps']:,} steps, six rounds and learning rate 0.005 for both, {small['runs']} paired runs):",
        Commands([_command(coupling)]),
        gap_table(coupling, "coupling"),
    ]
    return [*blocks, *_large_section(large)] if large else blocks


def gap_table(results: Results, over: str) -> Table:
    """Accuracies and gaps to the posterior over the number of scenes or the coupling."""
    size, coupling = results.subject["middle"]
    fixed = {"coupling": coupling} if over == "scenes" else {"scenes": size}
    by_value: dict[float, dict[str, Record]] = {}
    for record in results.find(**fixed):
        by_value.setdefault(record["name"][over], {})[record["name"]["model"]] = record
    rows = []
    for number, models in sorted(by_value.items()):
        some = next(iter(models.values()))
        base = [f"{percent(column(some, name)):.1f}" for name in ("posterior", "own_features")]
        both = [models.get(model) for model in ("gnn", "neural-tree")]
        shown = [mean_std(column(each, "test")) if each else "–" for each in both]
        gaps = [f"{gap_of(each):+.1f}" if each else "–" for each in both]
        gnn, tree = both
        difference = paired(column(tree, "test"), column(gnn, "test")) if gnn and tree else "–"
        rows.append([f"{number:,g}", *base, *shown, *gaps, difference])
    header = [over, "posterior", "own features", "GNN", "neural tree", "GNN to posterior", "tree to posterior"]
    return Table([*header, "tree − GNN"], rows)


def draw_gap(results: Results, folder: Path, name: str) -> None:
    """Draws accuracy against the number of training scenes and against the coupling, with that of the posterior."""
    figure, axes = panels(2, sharey=True)
    size, coupling = results.subject["middle"]
    hidden, steps = results.subject["hidden"], results.subject["steps"]
    for each, over in ((axes[0], "scenes"), (axes[1], "coupling")):
        found = results.find(**({"coupling": coupling} if over == "scenes" else {"scenes": size}))
        records = sorted(found, key=lambda record: float(record["name"][over]))
        of_any = {record["name"][over]: record for record in records}
        bounds = (("posterior", "exact posterior", "black"), ("own_features", "own features", "0.55"))
        for kind, label, color in bounds:
            heights = [percent(column(record, kind)) for record in of_any.values()]
            each.plot(list(of_any), heights, ":", color=color, label=label)
        for model, title in NAMES.items():
            own = [record for record in records if record["name"]["model"] == model]
            where, tests = [record["name"][over] for record in own], [column(record, "test") for record in own]
            line(each, where, tests, title, LOOKS[title])
        if over == "scenes":
            each.set_xscale("log")
            plain_numbers(each.xaxis)
        each.set_xlabel("training scenes" if over == "scenes" else "label coupling")
        what = f"coupling {coupling:g}" if over == "scenes" else f"{size:,} training scenes"
        each.set_title(f"{what}; states of size {hidden}, {steps:,} steps")
    axes[0].set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save_both(figure, folder, name)


def _command(results: Results) -> str:
    cuda = " --device cuda" if any("NVIDIA" in record["device"] for record in measured(results)) else ""
    return f"neuraltrees reproduce {results.experiment}{cuda} --out docs/results"


def _tuning(results: Results) -> str:
    """The chosen rounds and learning rate of every network."""
    chosen = {record["name"]["model"]: record["settings"] for record in measured(results)}
    return "; ".join(
        f"{NAMES[model]}: {best['layers']} rounds, learning rate {best['lr']:g}" for model, best in chosen.items()
    )


def _devices(results: Results) -> str:
    """The devices, and which settings ran on those other than the most common one."""
    by_device: dict[str, list[str]] = {}
    for record in measured(results):
        name = record["name"]
        by_device.setdefault(record["device"], []).append(f"{name['scenes']:,} scenes at {name['coupling']:g}")
    most = max(by_device, key=lambda device: len(by_device[device]))
    others = [
        f"{device} for {', '.join(dict.fromkeys(names))}" for device, names in by_device.items() if device != most
    ]
    return "; ".join([most, *others])


def _large_section(listed: Sequence[Results]) -> list[Block]:
    """The experiments with very many scenes, the largest gap to the posterior first."""
    rows = sorted((gap_of(record), _large_row(results, record)) for results in listed for record in measured(results))
    notes = [results.note for results in listed if results.note]
    header = ["scenes", "network", "convolution", "rounds", "dropout", "scenes per step", "steps", "test scenes"]
    header += ["posterior", "test", "to posterior", "best epoch", "device"]
    return [
        Heading("Very many scenes", 3),
        " ".join(["One run each; the neural tree has separate weights for every edge type.", *notes]),
        Commands([_command(results) for results in listed]),
        Table(header, [row for _, row in rows]),
    ]


def _large_row(results: Results, record: Record) -> list[str]:
    protocol, name = results.subject, record["name"]
    batches = batches_for(name["scenes"], protocol["most_batches"])
    last = -(-protocol["steps"] // batches)
    row = [f"{name['scenes']:,}", NAMES[name["model"]], CONVS[protocol["conv"]]]
    row += [f"{record['settings']['layers']}{', residual' if protocol['residual'] else ''}", f"{protocol['dropout']:g}"]
    row += [f"{name['scenes'] // batches}", f"{protocol['steps']:,}", f"{protocol['held_out'][1]:,}"]
    row += [f"{percent(column(record, kind)):.1f}" for kind in ("posterior", "test")]
    return [*row, f"{gap_of(record):+.1f}", f"{max(column(record, 'best_epoch'))} of {last}", record["device"]]
