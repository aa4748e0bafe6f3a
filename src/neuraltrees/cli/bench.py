"""neuraltrees bench: running times on this machine, each next to that of a rival."""

from __future__ import annotations

import json as to_json
from typing import Annotated

import typer
from rich.table import Table

from neuraltrees.cli.options import AsJson, Threads
from neuraltrees.cli.terminal import output, working


def bench(
    threads: Threads = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated data.")] = 0,
    json: AsJson = False,
) -> None:
    """Measure decomposition, training and inference on this machine, each against a rival.

    It needs no data and takes some seconds. Benchmarks on real data are in the folder benchmarks of the repository.

    Example: neuraltrees bench --threads 2
    """
    with working("loading"):
        import torch

        from neuraltrees.experiments.bench import measure

        torch.set_num_threads(threads)
    with working("measuring"):
        found = list(measure(seed))
    if json:
        print(to_json.dumps([{**vars(each), "ratio": each.ratio} for each in found]))
        return
    table = Table("what", "time", "rival", "its time", "ratio", title=f"{threads} thread{'s' * (threads > 1)}")
    for each in found:
        times = (f"{1000 * seconds:,.1f} ms" for seconds in (each.ours, each.theirs))
        table.add_row(each.what, next(times), each.rival, next(times), f"{each.ratio:,.1f} ×")
    output.print(table)
