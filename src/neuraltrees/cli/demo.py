"""neuraltrees demo: GNNs and neural trees with four convolutions, trained on generated scenes, and a report."""

from __future__ import annotations

import json as to_json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from neuraltrees.cli.options import AsJson
from neuraltrees.cli.terminal import notes, print_table, say, working
from neuraltrees.extras import require
from neuraltrees.files import make_folder

if TYPE_CHECKING:
    from neuraltrees.experiments.report import DemoReport, Trained


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report; created if missing.")] = Path("neuraltrees-demo"),
    scenes: Annotated[int, typer.Option(min=10, help="Number of scenes to generate.")] = 400,
    coupling: Annotated[
        float, typer.Option(min=0, help="Label coupling: how strongly the labels of neighbours depend on each other.")
    ] = 1.0,
    runs: Annotated[int, typer.Option(min=1, help="Independent runs per network.")] = 2,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training scenes.")] = 30,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the scenes, the splits and the runs.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; the result does not depend on it.")] = 2,
    json: AsJson = False,
) -> None:
    """Train GNNs, neural trees and the exact head on generated scenes, and compare them with the optimum.

    The scenes are sampled from a known distribution, so the accuracy of an optimal method is known as well. Nothing is
    downloaded; the report is one HTML file.

    Example: neuraltrees demo --scenes 200 --out my-demo
    """
    start = time.perf_counter()
    for module in ("jinja2", "matplotlib"):  # fail before the training, not after it
        require(module, extra="report", what="the report")
    with working("loading"):
        from neuraltrees.experiments.demo import DemoSize, run_demo
        from neuraltrees.experiments.report import write_report
    make_folder(out)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("generating scenes and H-trees, training", total=8)

        def on_trained(trained: Trained, done: int, total: int) -> None:
            what = f"{trained.network} + {trained.conv}: {100 * trained.accuracy:.1f} %"
            progress.update(task, completed=done, total=total, description=what)

        size = DemoSize(scenes=scenes, coupling=coupling, runs=runs, epochs=epochs)
        report = run_demo(size, seed, min(workers, os.cpu_count() or 1), on_trained)
    with working("writing the report"):
        path = out / "report.html"
        write_report(replace(report, links=_links(out)), path)
    seconds = time.perf_counter() - start
    if json:
        print(to_json.dumps(_as_json(report) | {"report": str(path), "seconds": round(seconds, 3)}, indent=1))
        return
    _show(report)
    say(f"Report: {path} (all in {seconds:.0f} s)")


def _links(out: Path) -> dict[str, str]:
    """Links for further reading: the paper, and the pages in docs/ if the library is used from its source folder."""
    links = {"the paper": "https://arxiv.org/abs/2105.07264"}
    docs = Path(__file__).resolve().parents[3] / "docs"
    pages = {
        "your own graphs": "your_own_graphs.md",
        "results at full length": "results.md",
        "how the library is laid out": "architecture.md",
    }
    for text, name in pages.items():
        if (docs / name).exists():
            links[text] = quote(Path(os.path.relpath(docs / name, out.resolve())).as_posix())
    return links


def _as_json(report: DemoReport) -> dict[str, Any]:
    networks = [{"network": each.network, "conv": each.conv, "accuracy": each.accuracy} for each in report.trained]
    return {
        "networks": networks,
        "exact_head": report.exact.accuracy,
        "optimum": report.optimum,
        "features_only": report.features_only,
    }


def _show(report: DemoReport) -> None:
    by_name = {(each.conv, each.network): each for each in report.trained}
    networks = list(dict.fromkeys(each.network for each in report.trained))
    header = ("convolution", *(name for network in networks for name in (network, "below optimum")))
    rows = []
    for conv in dict.fromkeys(each.conv for each in report.trained):
        row = [conv]
        for network in networks:
            each = by_name.get((conv, network))
            row += ["–"] * 2 if each is None else _with_gap(each.accuracy, report.optimum)
        rows.append(row)
    print_table("Test accuracy on generated scenes", header, rows)
    optimum, own, exact = (100 * each for each in (report.optimum, report.features_only, report.exact.accuracy))
    say(f"The exact head, without messages: {exact:.1f} %, {optimum - exact:.1f} points below the optimum.")
    say(f"The optimum, from the exact posterior: {optimum:.1f} %. From a node's own features alone: {own:.1f} %.")


def _with_gap(accuracy: float, optimum: float) -> list[str]:
    return [f"{100 * accuracy:.1f} %", f"{100 * (optimum - accuracy):.1f}"]
