"""neuraltrees reproduce: run the experiments of the paper's tables and figures, and further ones."""

from __future__ import annotations

import json as to_json
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from neuraltrees.cli.options import AsJson, DataRoot, Device, Executor, RayAddress, Threads, chosen_execution
from neuraltrees.cli.terminal import notes, output, print_table, say, working
from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.files import make_folder

if TYPE_CHECKING:
    from neuraltrees.experiments.experiment import Experiment, Scale
    from neuraltrees.experiments.page import Block

STAMP = "smoke test (--quick): the numbers mean nothing"
SMOKE_TEST = (
    "A smoke test (--quick): it shows that everything runs. With so few runs, epochs and graphs its numbers say "
    "nothing about the methods and may contradict the full version."
)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name of an experiment; the first word of several names, such as molecules; or all. Without it, the "
            "experiments are listed.",
            show_default=False,
        ),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Number of runs, instead of the paper's.", show_default=False)
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of epochs, instead of the paper's; for expressivity and posterior-gap, of gradient steps.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smoke test that takes minutes, with too few runs to compare the methods."),
    ] = False,
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="Folder for results and figures; created if missing.")] = Path(
        "neuraltrees-results"
    ),
    data_root: DataRoot = None,
    threads: Threads = 1,
    workers: Annotated[
        int,
        typer.Option(min=1, help="Trainings that run at the same time; if there are several, with one thread each."),
    ] = 1,
    executor: Executor = "processes",
    ray_address: RayAddress = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Run only the trainings that have this text in their name, such as a dataset or a network.",
            show_default=False,
        ),
    ] = None,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Compile networks by torch.compile, in experiments that support it.")
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option(
            metavar="DOCS",
            help="Write DOCS/results.md and its figures from the JSON files in DOCS/results, and exit.",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Repeat a table or a figure of the paper, or a further experiment.

    Every experiment writes a JSON file with all its runs, a figure (SVG and PNG) and a page in Markdown. Finished
    trainings are saved in the JSON file, and most experiments save an unfinished one every minute; rerun the same
    command to continue. With --quick the files go to the subfolder quick of the output folder.

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
        _list(EXPERIMENTS.values(), json)
        return
    chosen = _chosen(name, EXPERIMENTS)
    whole = [each.name for each in chosen if not each.divides]
    if only is not None and whole:
        raise InputError(
            f"Expected --only for an experiment that can be run in parts; got {', '.join(whole)}. Leave it out."
        )
    check_device(device)
    execution = chosen_execution(executor, workers, ray_address)
    scale = Scale(quick, runs, epochs, device, None if data_root is None else str(data_root), execution, only, compiled)
    folder = out / "quick" if quick else out
    make_folder(folder)
    found = [_run(experiment, scale, folder, json) for experiment in chosen]
    if json:
        print(to_json.dumps(found, indent=1))


def _chosen(name: str, experiments: dict[str, Experiment]) -> Sequence[Experiment]:
    """One experiment, those whose names begin with the given word, or all except the very large ones."""
    if name in experiments:
        return [experiments[name]]
    group = [each for each in experiments.values() if each.name.startswith(f"{name}-")]
    if group:
        return group
    if name != "all":
        hint = did_you_mean(name, experiments)
        raise InputError(f"Expected an experiment out of {', '.join(experiments)} or all; got {name!r}.{hint}")
    large = [each.name for each in experiments.values() if each.large]
    line = f"Skipped, because they take very long: {', '.join(large)}. Run them by name."
    notes.print(line, highlight=False, soft_wrap=True)
    return [each for each in experiments.values() if not each.large]


def _list(experiments: Iterable[Experiment], json: bool) -> None:
    if json:
        print(
            to_json.dumps(
                [{"name": each.name, "what": each.what, "large": each.large} for each in experiments], indent=1
            )
        )
        return
    rows = [(each.name, f"{each.what}{' (very large: not part of all)' if each.large else ''}") for each in experiments]
    print_table("", ("experiment", "what it shows"), rows)


def _run(experiment: Experiment, scale: Scale, folder: Path, json: bool) -> dict[str, Any]:
    """Measures, writes the files and prints what they say, unless it is to be printed as JSON; returns it."""
    from neuraltrees.experiments.page import Heading, write_page
    from neuraltrees.plots.style import stamped

    def log(line: str) -> None:
        notes.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)

    start = time.perf_counter()
    console = notes if json else output
    console.print(f"{experiment.name}: {experiment.what}", style="bold", highlight=False)
    results = experiment.measure(scale, folder / f"{experiment.name}.json", log)
    smoke_test = scale.quick and experiment.shrinks
    with stamped(STAMP if smoke_test else ""):
        blocks = experiment.show(results, folder)
    about = f"{experiment.what}. {SMOKE_TEST if smoke_test else ''}".strip()
    write_page(folder / f"{experiment.name}.md", [Heading(experiment.name, 1), about, *blocks])
    seconds = time.perf_counter() - start
    if json:
        return _as_json(experiment, blocks, folder, seconds)
    if smoke_test:
        say(SMOKE_TEST)
    _show(blocks)
    files = f"{experiment.name}.json, its page .md and its figures .svg and .png"
    say(f"In {folder}: {files} ({seconds:.0f} s)")
    return {}


def _as_json(experiment: Experiment, blocks: Iterable[Block], folder: Path, seconds: float) -> dict[str, Any]:
    from neuraltrees.experiments.page import Table

    tables = [
        {"header": list(each.header), "rows": list(map(list, each.rows))} for each in blocks if isinstance(each, Table)
    ]
    path = folder / f"{experiment.name}.json"
    return {"name": experiment.name, "tables": tables, "results": str(path), "seconds": round(seconds, 3)}


def _show(blocks: Iterable[Block]) -> None:
    """Prints headings, texts and tables; figures are in the folder."""
    from neuraltrees.experiments.page import Heading, Table

    for block in blocks:
        if isinstance(block, Table):
            print_table("", block.header, block.rows)
        elif isinstance(block, Heading):
            output.print(Text(block.text, style="bold"))
        elif isinstance(block, str):
            output.print(Text(_plain(block)), soft_wrap=not output.is_terminal)


def _plain(text: str) -> str:
    """A paragraph of Markdown as one reads it: links by their text, no marks of emphasis or code.

    >>> _plain("See [the page](docs/results.md) of `table1`: **better**.")
    'See the page of table1: better.'
    """
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`([^`]*)`|\*\*([^*]+)\*\*", lambda found: found[1] or found[2], text)


def _write_summary(docs: Path) -> None:
    from neuraltrees.experiments.summary import write_summary

    with working("drawing"):
        found = write_summary(docs)
    line = f"Written: {docs / 'results.md'} and its figures in {docs / 'images'}, from {len(found)} experiments."
    output.print(line, highlight=False, markup=False, soft_wrap=True)
