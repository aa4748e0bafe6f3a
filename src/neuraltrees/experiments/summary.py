"""The page on all results and its figures, made from the JSON files of the experiments."""

from __future__ import annotations

from pathlib import Path

from neuraltrees.errors import InputError
from neuraltrees.experiments.cells import trained
from neuraltrees.experiments.claims import judged
from neuraltrees.experiments.gap_page import gap_section
from neuraltrees.experiments.page import Block, Commands, Heading, write_page
from neuraltrees.experiments.posterior_gap import EXPERIMENTS as GAPS
from neuraltrees.experiments.registry import EXPERIMENTS
from neuraltrees.experiments.times import devices
from neuraltrees.files import make_folder
from neuraltrees.plots.style import house_style
from neuraltrees.tuning.store import Results

COMMAND = "neuraltrees reproduce --summary docs"
HEAD = f"""\
Made by `{COMMAND}` from the JSON files in `docs/results`, which hold every run:
seed, split, hyper-parameters, validation and test accuracy, versions and device (some of `posterior-gap` hold no split
and no versions). Test accuracies in per cent, mean ±
standard deviation over the runs; p-values are those of paired t-tests over runs with the same splits. Epochs and
hyper-parameters are chosen by validation accuracy. Run i has seed i for its split, its weights and its dropout.
"""
EDGES = """\
The scene graphs are stored with edges from objects to rooms in that direction alone: a GNN on them never tells an
object about its room. The H-tree has no directions. Both kinds of baseline are in the tables; **the fair one has
symmetric edges**.
"""


def write_summary(docs: Path) -> list[str]:
    """Writes `results.md` and `images/` beside the folder `results` of JSON files; returns what was found there."""
    source = docs / "results"
    if not source.is_dir():
        raise InputError(f"Expected a folder that holds results/; got {docs}.")
    found = {name: Results.read(source / f"{name}.json") for name in EXPERIMENTS if (source / f"{name}.json").exists()}
    if not found:
        raise InputError(f"Expected results of an experiment in {source}; got none. Run: neuraltrees reproduce NAME.")
    make_folder(docs / "images")
    full, coupling = (found.get(f"posterior-gap-sage-{name}") for name in ("full", "coupling"))
    grouped = {experiment.name for experiment in GAPS} if full and coupling else set()
    blocks: list[Block] = [Heading("Results", 1), HEAD, EDGES, Heading("The paper's claims"), judged(found)]
    for name, results in found.items():
        if name not in grouped:
            experiment = EXPERIMENTS[name]
            what = f"{experiment.what[0].upper()}{experiment.what[1:]}. {_how(results)}"
            blocks += [Heading(name), what, Commands(_commands(results))]
            blocks += experiment.show(results, docs / "images")
    missing = [name for name in EXPERIMENTS if name not in found]
    if missing:
        blocks.append(f"Not run: {', '.join(missing)}.")
    if full and coupling:
        large = [found[each.name] for each in GAPS if each.large and each.name in found]
        with house_style():
            section = gap_section(full, coupling, large, docs / "images")
        blocks += [Heading("How far from the best possible"), *section]
    write_page(docs / "results.md", blocks, figures="images/")
    return list(found)


def _commands(results: Results) -> list[str]:
    """One for every kind of device that the results are of."""
    kinds = sorted({"NVIDIA" in device for device in devices(results)}) or [False]
    name = results.experiment
    return [f"neuraltrees reproduce {name}{' --device cuda' if cuda else ''} --out docs/results" for cuda in kinds]


def _how(results: Results) -> str:
    """Runs, epochs, devices, time and the note."""
    words = []
    cells = trained(results)
    if cells:
        runs = sorted({len(cell["runs"]) for cell in cells})
        words.append(f"{' or '.join(map(str, runs))} runs per cell")
    if epochs := [cell["settings"]["epochs"] for cell in cells if "epochs" in cell.get("settings", {})]:
        words.append(f"at most {max(epochs):,} epochs")
    if devices(results):
        words.append(f"on {' and '.join(devices(results))}")
    if timed := [record["seconds"] for record in results.records if "seconds" in record]:
        words.append(f"{sum(timed) / 60:.0f} minutes of training")
    text = ", ".join(words) + "." if words else ""
    return f"{text[:1].upper()}{text[1:]} {results.note}".strip()
