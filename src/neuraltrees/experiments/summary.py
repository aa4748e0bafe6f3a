"""docs/results.md and its figures, made from the JSON files of the experiments.

python -m neuraltrees.experiments.summary docs
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from neuraltrees.experiments.claims import judged
from neuraltrees.experiments.experiment import Results
from neuraltrees.experiments.gap_page import gap_page
from neuraltrees.experiments.registry import EXPERIMENTS
from neuraltrees.files import write_whole

HEAD = """\
# Results

Made by `python -m neuraltrees.experiments.summary docs` from the JSON files in `docs/results`, which hold every run:
seed, split, hyper-parameters, validation and test accuracy, versions and device (those of `posterior-gap` hold the
accuracies of the runs in the order of their seeds, and the device). Test accuracies in per cent, mean ±
standard deviation over the runs; p-values are those of paired t-tests over runs with the same splits. Epochs and
hyper-parameters are chosen by validation accuracy. Run i has seed i for its split, its weights and its dropout.

The scene graphs are stored with edges from objects to rooms in that direction alone: a GNN on them never tells an
object about its room. The H-tree has no directions. Both kinds of baseline are in the tables; **the fair one has
symmetric edges**.
"""


def write_results(docs: Path) -> None:
    """Writes `results.md` and the figures beside the folder `results` of JSON files."""
    found = {
        name: json.loads((docs / "results" / f"{name}.json").read_text())
        for name in EXPERIMENTS
        if (docs / "results" / f"{name}.json").exists()
    }
    lines = [HEAD, "## The paper's claims", "", *judged(found), ""]
    for name, content in found.items():
        experiment = EXPERIMENTS[name]
        shown = experiment.show(content, docs / "images")
        lines += [f"## {name}", "", f"{experiment.what[0].upper()}{experiment.what[1:]}. {_how(content)}".rstrip(), ""]
        lines += [*(f"    {command}" for command in _commands(name, content)), "", *shown, ""]
        if (docs / "images" / f"{name}.svg").exists():
            lines += [f"![{experiment.what}](images/{name}.svg)", ""]
    missing = [name for name in EXPERIMENTS if name not in found]
    if missing:
        lines += [f"Not run: {', '.join(missing)}.", ""]
    gaps = {path.stem: json.loads(path.read_text()) for path in sorted((docs / "results").glob("posterior-gap-*.json"))}
    main = [gaps.get(f"posterior-gap-sage-{name}") for name in ("full", "coupling")]
    if main[0] and main[1]:
        large = [content for name, content in gaps.items() if "-large" in name]
        lines += ["## How far from the best possible", ""]
        lines += gap_page(main[0], main[1], large, docs / "images")
    # Pages that are made for a folder of their own point to figures beside them.
    page = "\n".join(lines).replace("](hyperparameters-", "](images/hyperparameters-")
    write_whole(docs / "results.md", f"{page.rstrip()}\n".encode())


def _commands(name: str, content: Results) -> list[str]:
    """One for every kind of device that the results are of."""
    kinds = sorted({"NVIDIA" in device for device in _devices(content)}) or [False]
    return [f"neuraltrees reproduce {name}{' --device cuda' if cuda else ''} --out docs/results" for cuda in kinds]


def _devices(content: Results) -> list[str]:
    parts: list[dict[str, Any]] = content.get("cells") or content.get("points") or [content]
    return list(dict.fromkeys(part["device"] for part in parts if "device" in part))


def _how(content: Results) -> str:
    """Runs, epochs, devices and time."""
    words = []
    cells = content.get("cells")
    if cells:
        runs = sorted({len(cell["runs"]) for cell in cells})
        epochs = max(cell["settings"]["epochs"] for cell in cells)
        words.append(f"{' or '.join(map(str, runs))} runs a cell, at most {epochs:,} epochs")
    if _devices(content):
        words.append(f"on {' and '.join(_devices(content))}")
    if trained := [part for part in cells or content.get("points", []) if "seconds" in part]:
        words.append(f"{sum(part['seconds'] for part in trained) / 60:.0f} minutes of training")
    text = ", ".join(words) + "." if words else ""
    text = text[:1].upper() + text[1:]
    return f"{text} {content.get('note', '')}".strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, help="the folder that holds results/")
    docs = parser.parse_args().docs
    if not (docs / "results").is_dir():
        parser.error(f"expected a folder that holds results/; got {docs}")
    write_results(docs)


if __name__ == "__main__":
    main()
