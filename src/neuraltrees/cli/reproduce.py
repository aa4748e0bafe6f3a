"""neuraltrees reproduce: the tables and figures of the paper, one command each."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from neuraltrees.cli.terminal import errors, output, working
from neuraltrees.errors import InputError
from neuraltrees.files import make_folder, write_whole


def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment, or all.", show_default=False)] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and leave.")] = False,
    runs: Annotated[int | None, typer.Option(min=1, help="Instead of the paper's number.", show_default=False)] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Instead of the paper's number.", show_default=False)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version: minutes, not the paper's protocol.")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    out: Annotated[Path, typer.Option(help="Folder for results and figures; made if missing.")] = Path(
        "neuraltrees-results"
    ),
    data_root: Annotated[Path | None, typer.Option(help="The folder of the datasets.", show_default=False)] = None,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
) -> None:
    """Repeat a table or a figure of the paper.

    Every experiment writes a JSON file with all its runs, a figure (SVG and PNG) and a page in Markdown. A command that
    was stopped goes on where it was: what is in the JSON file is not done again. The small version
    has a folder of its own in there, quick.

    Example: neuraltrees reproduce table1 --quick
    """
    with working("loading"):
        import torch

        from neuraltrees.experiments.experiment import Scale
        from neuraltrees.experiments.registry import EXPERIMENTS
        from neuraltrees.training.device import check_device

        torch.set_num_threads(threads)
    if list_all or name is None:
        table = Table(box=None, pad_edge=False, show_header=False)
        for each in EXPERIMENTS.values():
            table.add_row(each.name, each.what)
        output.print(table)
        return
    if name != "all" and name not in EXPERIMENTS:
        raise InputError(f"Expected an experiment out of {', '.join(EXPERIMENTS)} or all; got {name!r}.")
    check_device(device)
    scale = Scale(quick, runs, epochs, device, None if data_root is None else str(data_root))
    folder = out / "quick" if quick else out
    make_folder(folder)
    note = "Quick version: not the paper's protocol." if quick else ""
    for experiment in EXPERIMENTS.values() if name == "all" else [EXPERIMENTS[name]]:
        start = time.perf_counter()
        output.print(f"{experiment.name}: {experiment.what}", style="bold", highlight=False)

        def tell(line: str) -> None:
            errors.print(f"  {line}", highlight=False)

        results = experiment.measure(scale, folder / f"{experiment.name}.json", tell)
        lines = experiment.show(results, folder)
        page = [f"# {experiment.name}", "", f"{experiment.what}. {note}".strip(), "", *lines, ""]
        if (folder / f"{experiment.name}.svg").exists():
            page += [f"![{experiment.what}]({experiment.name}.svg)", ""]
        write_whole(folder / f"{experiment.name}.md", "\n".join(page).encode())
        for line in lines:
            output.print(line, highlight=False, soft_wrap=True, markup=False)
        seconds = time.perf_counter() - start
        files = f"{experiment.name}.json, its page .md and its figures .svg and .png"
        output.print(f"{note} In {folder}: {files} ({seconds:.0f} s)".strip(), highlight=False, soft_wrap=True)
