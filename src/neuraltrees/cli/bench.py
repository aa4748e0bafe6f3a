"""neuraltrees bench: running times on this machine, compared with other software."""

from __future__ import annotations

import json as to_json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from neuraltrees.cli.options import AsJson, Threads
from neuraltrees.cli.terminal import print_table, working

if TYPE_CHECKING:
    from neuraltrees.experiments.bench import Comparison


def bench(
    threads: Threads = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated data.")] = 0,
    json: AsJson = False,
) -> None:
    """Measure decomposition, training and inference on this machine, each compared with other software.

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
    title = f"Running times with {threads} thread{'s' * (threads > 1)}"
    header = ("what", "time", "rival", "its time", "ratio")
    print_table(title, header, [_row(each) for each in found])


def _row(each: Comparison) -> Sequence[str]:
    ours, theirs = (f"{1000 * seconds:,.1f} ms" for seconds in (each.ours, each.theirs))
    return each.what, ours, each.rival, theirs, f"{each.ratio:,.1f} ×"
