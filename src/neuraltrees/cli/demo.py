"""neuraltrees demo: generated scenes, both networks, four convolutions, one report."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from neuraltrees.cli.terminal import errors, output, working
from neuraltrees.extras import require
from neuraltrees.files import make_folder

if TYPE_CHECKING:
    from neuraltrees.experiments.report import DemoReport, Trained


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report; created if missing.")] = Path("neuraltrees-demo"),
    scenes: Annotated[int, typer.Option(min=10, help="Number of scenes to generate.")] = 400,
    coupling: Annotated[
        float, typer.Option(min=0, help="Label coupling: how much labels of neighbours depend on each other.")
    ] = 1.0,
    runs: Annotated[int, typer.Option(min=1, help="Independent runs per network.")] = 2,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training scenes.")] = 30,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the scenes, the splits and the runs.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; the result does not depend on it.")] = 2,
) -> None:
    """Train a GNN and a neural tree on generated scenes, for four convolutions, and compare them with the optimum.

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
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("generating scenes and H-trees, training", total=8)

        def on_trained(trained: Trained, done: int, total: int) -> None:
            what = f"{trained.network} + {trained.conv}: {100 * trained.accuracy:.1f} %"
            progress.update(task, completed=done, total=total, description=what)

        size = DemoSize(scenes=scenes, coupling=coupling, runs=runs, epochs=epochs)
        report = run_demo(size, seed, min(workers, os.cpu_count() or 1), on_trained)
    with working("writing the report"):
        path = out / "report.html"
        write_report(report, path)
    _show(report)
    seconds = time.perf_counter() - start
    output.print(f"Report: {path} (all in {seconds:.0f} s)", highlight=False, soft_wrap=True, markup=False)


def _show(report: DemoReport) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("convolution", "GNN", "neural tree", "GNN to optimum", "neural tree to optimum"):
        table.add_column(column, justify="left" if column == "convolution" else "right", no_wrap=True)
    by_name = {(each.conv, each.network): each for each in report.trained}
    for conv in dict.fromkeys(each.conv for each in report.trained):
        pair = [by_name[conv, network] for network in ("GNN", "neural tree")]
        accuracies = [f"{100 * each.accuracy:.1f} %" for each in pair]
        gaps = [f"{100 * (each.accuracy - report.optimum):+.1f}" for each in pair]
        table.add_row(conv, *accuracies, *gaps)
    output.print("Test accuracy on generated scenes", style="bold", highlight=False)
    output.print(table)
    optimum, own = 100 * report.optimum, 100 * report.features_only
    output.print(
        f"Exact posterior, the optimum: {optimum:.1f} %. From a node's own features: {own:.1f} %.", highlight=False
    )
