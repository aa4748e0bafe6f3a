"""neuraltrees bench: how quick this machine is, against rivals in the same run."""

from __future__ import annotations

import json as to_json
from typing import Annotated

import typer
from rich.table import Table

from neuraltrees.cli.terminal import output, working


def bench(
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of training and inference.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the generated data.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure decomposing, training and inference on this machine, each against a rival in the same run.

    It needs no data and takes some seconds. What was measured with real data, and how, is in the folder benchmarks.

    Example: neuraltrees bench --threads 2
    """
    with working("loading"):
        import torch

        from neuraltrees.experiments.bench import paces

        torch.set_num_threads(threads)
    found = []
    with working("measuring"):
        for pace in paces(seed):
            found.append(pace)
    if json:
        print(to_json.dumps([{**vars(pace), "ratio": pace.ratio} for pace in found]))
        return
    table = Table("what", "time", "rival", "its time", "ratio", title=f"{threads} thread{'s' * (threads > 1)}")
    for pace in found:
        times = (f"{1000 * seconds:,.1f} ms" for seconds in (pace.ours, pace.theirs))
        table.add_row(pace.what, next(times), pace.rival, next(times), f"{pace.ratio:,.1f} ×")
    output.print(table)
