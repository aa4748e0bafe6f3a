"""neuraltrees infer: exact inference in a model file, results in the UAI formats."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from neuraltrees.cli.terminal import Value, errors, show, working
from neuraltrees.files import check_folder, write_whole

if TYPE_CHECKING:
    from neuraltrees.inference import JunctionTree, MarkovNetwork
    from neuraltrees.inference.passes import Progress as ProgressCallback


class InferenceTask(StrEnum):
    mar = "mar"
    pr = "pr"
    map = "map"


def infer(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model: .uai or .bif, plain, .gz or .xz.", show_default=False)
    ],
    evidence: Annotated[
        Path | None, typer.Option(help="Observed variables, as a UAI .evid file.", show_default=False)
    ] = None,
    task: Annotated[
        InferenceTask,
        typer.Option(help="mar: all marginals; pr: log10 of the partition function; map: a most probable assignment."),
    ] = InferenceTask.mar,
    out: Annotated[
        Path | None, typer.Option(help="File to write the result to, instead of printing it.", show_default=False)
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option(help="GiB for the clique tables; by default half of the memory.", show_default=False, min=0),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed that breaks ties between decompositions.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="With --out: print JSON instead of a table.")] = False,
) -> None:
    """Run the exact junction-tree algorithm on a Markov or Bayesian network.

    The result has the format of the UAI competitions: MAR, PR or MAP. An .evid file beside the model is only read if it
    is given by --evidence.

    Example: neuraltrees infer Promedus_11.uai --evidence Promedus_11.uai.evid --task mar --out Promedus_11.uai.MAR
    """
    start = time.perf_counter()
    if out is not None:
        check_folder(out)
    with working(f"reading {model.name}"):
        from neuraltrees.inference import JunctionTree, read_evidence

        network = _read(model)
        observed = {} if evidence is None else read_evidence(evidence)
    with working(f"decomposing {network.num_variables:,} variables"):
        limit = None if memory_limit is None else memory_limit * 2**30
        tree = JunctionTree.of(network, observed, memory_limit=limit, seed=seed)
    content = _answer(tree, network, task)
    if out is None:
        print(content, end="")
        return
    write_whole(out, content.encode())
    facts: dict[str, Value] = {
        "variables": network.num_variables,
        "observed": len(observed),
        "cliques": len(tree.plan.cliques),
        "width": tree.decomposition.width,
        "table entries": tree.entries,
        "task": task.value,
        "seconds": round(time.perf_counter() - start, 4),
        "written to": str(out),
    }
    show(f"Exact inference on {model.name}", facts, json)


def _read(path: Path) -> MarkovNetwork:
    from neuraltrees.errors import InputError
    from neuraltrees.inference import read_bif, read_uai

    kind = path.with_suffix("").suffix if path.suffix in (".gz", ".xz") else path.suffix
    match kind.lower():
        case ".uai":
            return read_uai(path)
        case ".bif":
            return read_bif(path).to_markov()
    raise InputError(f"Expected a model that ends in .uai or .bif, plain, .gz or .xz; got {path.name}.")


def _answer(tree: JunctionTree, network: MarkovNetwork, task: InferenceTask) -> str:
    from neuraltrees.inference.uai import format_assignment, format_log_partition, format_marginals

    tables = network.log_potentials
    match task:
        case InferenceTask.mar:
            with _passing("passing messages", 2 * tree.entries) as report:
                return format_marginals(tree.run(tables, progress=report).marginals)
        case InferenceTask.pr:
            with _passing("collecting", tree.entries) as report:
                return format_log_partition(tree.log_partition(tables, progress=report))
        case InferenceTask.map:
            with _passing("maximising", tree.entries) as report:
                return format_assignment(tree.map(tables, progress=report)[0])


@contextmanager
def _passing(what: str, entries: int) -> Iterator[ProgressCallback]:
    """A progress bar over the entries of the tables, removed at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task(what, total=entries)
        yield lambda done: progress.advance(task, done)
