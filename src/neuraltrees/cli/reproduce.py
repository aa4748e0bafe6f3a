"""neuraltrees reproduce: run the experiments behind the paper's tables and figures, and our own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as TerminalTable
from rich.text import Text

from neuraltrees.cli.options import DataRoot, Device, Threads
from neuraltrees.cli.terminal import errors, output, working
from neuraltrees.errors import InputError
from neuraltrees.files import make_folder

if TYPE_CHECKING:
    from neuraltrees.experiments.experiment import Experiment, Scale
    from neuraltrees.experiments.page import Block

PIPED = 200  # width in columns of tables written to a file or a pipe


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="Name of an experiment, the first word of several, or all.", show_default=False)
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Number of runs, instead of the paper's.", show_default=False)
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of epochs, instead of the paper's; for expressivity and posterior-gap of gradient steps.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version that takes minutes; not the paper's protocol.")
    ] = False,
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="Folder for results and figures; created if missing.")] = Path(
        "neuraltrees-results"
    ),
    data_root: DataRoot = None,
    threads: Threads = 1,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes for tuning hyper-parameters.")] = 1,
    summary: Annotated[
        Path | None,
        typer.Option(
            metavar="DOCS",
            help="Write DOCS/results.md and its figures from the JSON files in DOCS/results, and exit.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the experiment behind a table or a figure of the paper.

    Every experiment writes a JSON file with all its runs, a figure (SVG and PNG) and a page in Markdown. Finished
    trainings are saved in the JSON file; rerun the same command to continue. With --quick the files go to the subfolder
    quick of the output folder.

    Example: neuraltrees reproduce table1 --quick
    """
    with working("loading"):
        import torch

        from neuraltrees.experiments.experiment import Scale
        from neuraltrees.experiments.registry import EXPERIMENTS
        from neuraltrees.training.device import check_device

        torch.set_num_threads(threads)
    if summary is not None:
        _write_summary(summary)
        return
    if list_all or name is None:
        _list(EXPERIMENTS.values())
        return
    chosen = _chosen(name, EXPERIMENTS)
    check_device(device)
    scale = Scale(quick, runs, epochs, device, None if data_root is None else str(data_root), workers)
    folder = out / "quick" if quick else out
    make_folder(folder)
    for experiment in chosen:
        _run(experiment, scale, folder)


def _chosen(name: str, experiments: dict[str, Experiment]) -> Sequence[Experiment]:
    """One experiment, those whose names begin with the given word, or all except the very large ones."""
    if name in experiments:
        return [experiments[name]]
    group = [each for each in experiments.values() if each.name.startswith(f"{name}-")]
    if group:
        return group
    if name != "all":
        raise InputError(f"Expected an experiment out of {', '.join(experiments)} or all; got {name!r}.")
    large = [each.name for each in experiments.values() if each.large]
    line = f"Skipped, because they take very long: {', '.join(large)}. Run them by name."
    errors.print(line, highlight=False, soft_wrap=True)
    return [each for each in experiments.values() if not each.large]


def _list(experiments: Iterable[Experiment]) -> None:
    table = TerminalTable(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for each in experiments:
        table.add_row(each.name, f"{each.what}{' (very large: not part of all)' if each.large else ''}")
    _wide().print(table)


def _run(experiment: Experiment, scale: Scale, folder: Path) -> None:
    from neuraltrees.experiments.page import Heading, write_page

    def log(line: str) -> None:
        errors.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)

    start = time.perf_counter()
    output.print(f"{experiment.name}: {experiment.what}", style="bold", highlight=False)
    results = experiment.measure(scale, folder / f"{experiment.name}.json", log)
    blocks = experiment.show(results, folder)
    note = "Quick version: not the paper's protocol." if scale.quick else ""
    about = f"{experiment.what}. {note}".strip()
    write_page(folder / f"{experiment.name}.md", [Heading(experiment.name, 1), about, *blocks])
    _show(blocks)
    seconds = time.perf_counter() - start
    files = f"{experiment.name}.json, its page .md and its figures .svg and .png"
    output.print(f"{note} In {folder}: {files} ({seconds:.0f} s)".strip(), highlight=False, soft_wrap=True)


def _show(blocks: Iterable[Block]) -> None:
    """Prints tables and texts; figures are in the folder."""
    from neuraltrees.experiments.page import Table

    for block in blocks:
        if isinstance(block, Table):
            table = TerminalTable(box=None, pad_edge=False, header_style="dim")
            for column in block.header:
                table.add_column(Text(column))
            for row in block.rows:
                table.add_row(*map(Text, row))
            _wide().print(table)
        elif isinstance(block, str):
            output.print(block, highlight=False, markup=False, soft_wrap=not output.is_terminal)


def _wide() -> Console:
    """The terminal, or for a file or a pipe a console wide enough for every table."""
    return output if output.is_terminal else Console(width=PIPED)


def _write_summary(docs: Path) -> None:
    from neuraltrees.experiments.summary import write_summary

    with working("drawing"):
        found = write_summary(docs)
    line = f"Written: {docs / 'results.md'} and its figures in {docs / 'images'}, from {len(found)} experiments."
    output.print(line, highlight=False, markup=False, soft_wrap=True)
