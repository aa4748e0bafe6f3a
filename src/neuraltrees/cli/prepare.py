"""neuraltrees prepare: build the H-trees of a large dataset once, in a folder that trainings read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from neuraltrees.cli.options import AsJson, Executor, RayAddress, chosen_execution, with_options
from neuraltrees.cli.terminal import Value, notes, show, working
from neuraltrees.datasets import DataSpec
from neuraltrees.errors import InputError
from neuraltrees.training.config import TrainConfig, load_config
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.training_spec import TrainingSpec


@with_options(TrainConfig, {"Data and runs": DataSpec, "Network": NetworkSpec, "Training": TrainingSpec})
def prepare_command(
    config: Annotated[
        Path | None, typer.Option(help="YAML file with values of the options below.", show_default=False)
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Pieces that are built at the same time, with one thread each.")
    ] = 1,
    executor: Executor = "processes",
    ray_address: RayAddress = None,
    piece: Annotated[
        int, typer.Option(min=1, help="Number of graphs of a piece, whose trees are built together.")
    ] = 2048,
    json: AsJson = False,
    **values: Any,
) -> None:
    """Build the H-trees of a large dataset once, and store them with all other training data in the folder --columns.

    Use the same options as for the training. A training with the same --columns then starts at once, and reads the
    folder through memory maps; networks that read the same data of the graphs can share a folder. A complete folder is
    left as it is; after an interruption, rerun the same command.

    Example: neuraltrees prepare --dataset hiv --schedule bags --method canonical --terminal bag --columns hiv-columns
    """
    settings = load_config(config, values)
    if settings.columns is None:
        raise InputError("Expected a folder for the trees; got none. Give --columns FOLDER.")
    execution = chosen_execution(executor, workers, ray_address)
    with working("loading"):
        from neuraltrees.datasets import load_task
        from neuraltrees.training.prepare import prepare

        task = load_task(settings)
    start = time.perf_counter()
    columns = (SpinnerColumn(), TextColumn("building H-trees"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("", total=len(task.graphs))

        def on_piece(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total)

        made = prepare(task, settings.network, settings.columns, execution=execution, piece=piece, on_piece=on_piece)
    files = list(Path(settings.columns).glob("*.column"))
    facts: dict[str, Value] = {
        "graphs": len(task.graphs),
        "nodes": task.num_nodes,
        "folder": settings.columns,
        "size in MiB": round(sum(each.stat().st_size for each in files) / 2**20, 1),
        "made": "now" if made else "before; there was nothing to do",
        "seconds": round(time.perf_counter() - start, 3),
    }
    show(f"Columns of {settings.dataset}", facts, json)
