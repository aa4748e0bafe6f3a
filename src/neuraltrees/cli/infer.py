"""neuraltrees infer: exact inference in a model file; answers as a table, as JSON or in the UAI formats."""

from __future__ import annotations

import json as to_json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from neuraltrees.cli.options import AsJson
from neuraltrees.cli.terminal import Value, key_of, notes, output, print_table, say, show, working
from neuraltrees.errors import InputError
from neuraltrees.files import check_folder, read_whole, write_whole

if TYPE_CHECKING:
    from neuraltrees.inference import BayesianNetwork, JunctionTree, MarkovNetwork
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
        Path | None,
        typer.Option(
            help="Observed variables: a UAI .evid file, or lines of VARIABLE=STATE by name or number.",
            show_default=False,
        ),
    ] = None,
    observe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIABLE=STATE",
            help="An observed variable, by name or number; repeat for several.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        InferenceTask,
        typer.Option(
            help="mar: marginals of all variables; pr: log10 of the partition function; map: most probable assignment."
        ),
    ] = InferenceTask.mar,
    out: Annotated[
        Path | None, typer.Option(help="File to write the answer to, in the UAI format.", show_default=False)
    ] = None,
    uai: Annotated[bool, typer.Option("--uai", help="Print the answer in the UAI format instead of a table.")] = False,
    memory_limit: Annotated[
        float | None,
        typer.Option(
            help="Memory for the clique tables in GiB; by default half of the main memory.", show_default=False, min=0
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed that breaks ties between decompositions.")] = 0,
    json: AsJson = False,
) -> None:
    """Run the exact junction-tree algorithm on a Markov or Bayesian network.

    The answer is printed as a table, with the names of variables and states of a .bif file; --uai and --out use the
    formats MAR, PR and MAP of the UAI competitions. An .evid file next to the model is read only if --evidence names
    it.

    Example: neuraltrees infer asia.bif --observe smoke=yes --observe xray=no
    """
    if json and uai:
        raise InputError("Expected one of --json and --uai; got both.")
    if memory_limit is not None and not math.isfinite(memory_limit):
        raise InputError(f"Expected --memory-limit as a number of GiB; got {memory_limit}.")
    if out is not None:
        check_folder(out)
    with working(f"reading {model.name}"):
        from neuraltrees.inference import BayesianNetwork, JunctionTree
        from neuraltrees.inference.junction_tree import as_markov

        given = _read(model)
        network = as_markov(given)
        observed = _observed(given, evidence, observe or [])
    start = time.perf_counter()
    with working(f"decomposing {network.num_variables:,} variables"):
        limit = None if memory_limit is None else memory_limit * 2**30
        tree = JunctionTree.of(network, observed, memory_limit=limit, seed=seed)
    found = _answer(tree, network, task)
    if out is not None:
        write_whole(out, _formatted(found, task).encode())
    facts: dict[str, Value] = {
        "variables": network.num_variables,
        "observed": len(observed),
        "cliques": len(tree.plan.cliques),
        "width": tree.decomposition.width,
        "table entries": tree.entries,
        "task": task.value,
        "seconds": round(time.perf_counter() - start, 4),
    }
    if out is not None:
        facts["written to"] = str(out)
    named = given if isinstance(given, BayesianNetwork) else None
    if uai:
        print(_formatted(found, task), end="")
    elif json:
        print(to_json.dumps({key_of(name): value for name, value in facts.items()} | _as_json(found, task, named)))
    else:
        if out is None:
            _show_answer(found, task, named, set(observed))
            output.print()
        show(f"Exact inference on {model.name}", facts, False)


def _read(path: Path) -> MarkovNetwork | BayesianNetwork:
    from neuraltrees.inference import read_bif, read_uai

    kind = path.with_suffix("").suffix if path.suffix in (".gz", ".xz") else path.suffix
    match kind.lower():
        case ".uai":
            return read_uai(path)
        case ".bif":
            return read_bif(path)
    raise InputError(f"Expected a model that ends in .uai or .bif, plain, .gz or .xz; got {path.name}.")


def _observed(model: MarkovNetwork | BayesianNetwork, file: Path | None, listed: Sequence[str]) -> dict[int, int]:
    """The observed variables and their states by number, from a file and from the command line."""
    from neuraltrees.inference import BayesianNetwork, read_evidence

    given: dict[str | int, str | int] = {}
    lines = [("--observe", each) for each in listed]
    if file is not None:
        content = read_whole(file)
        if b"=" in content:
            text = content.decode("utf-8-sig", errors="replace").splitlines()
            lines = [(f"{file}: line {n}", line) for n, line in enumerate(text, 1) if line.strip()] + lines
        else:
            for number, state_of_it in read_evidence(file).items():
                given[number] = state_of_it
    for place, line in lines:
        name, equals, state = (part.strip() for part in line.partition("="))
        if not (name and equals and state):
            raise InputError(f"{place}: expected VARIABLE=STATE; got {line!r:.60}.")
        variable = _by_name_or_number(name, model.names if isinstance(model, BayesianNetwork) else ())
        if variable in given:
            raise InputError(f"{place}: expected each variable once; got {name!r} again.")
        given[variable] = _by_name_or_number(state, _states_of(model, variable))
    if isinstance(model, BayesianNetwork):
        return model.numbered(given)
    numbered: dict[int, int] = {}
    for key, value in given.items():
        if isinstance(key, str) or isinstance(value, str):
            word = key if isinstance(key, str) else value
            raise InputError(f"Expected variables and states of a .uai model by number, from 0; got {word!r}.")
        numbered[key] = value
    return numbered


def _states_of(model: MarkovNetwork | BayesianNetwork, variable: str | int) -> Sequence[str]:
    """The names of the states of a variable, if it has any."""
    from neuraltrees.inference import BayesianNetwork

    if not isinstance(model, BayesianNetwork):
        return ()
    if isinstance(variable, int):
        return model.states[variable] if variable < len(model.names) else ()
    return model.states[model.names.index(variable)] if variable in model.names else ()


def _by_name_or_number(word: str, names: Sequence[str]) -> str | int:
    """A word of digits as a number, unless it is one of the names."""
    return int(word) if word.isdecimal() and word not in names else word


def _answer(tree: JunctionTree, network: MarkovNetwork, task: InferenceTask) -> Any:
    """The marginals, the log partition function or an assignment."""
    tables = network.log_potentials
    match task:
        case InferenceTask.mar:
            with _passing("passing messages", 2 * tree.entries) as report:
                return tree.run(tables, progress=report).marginals
        case InferenceTask.pr:
            with _passing("collecting", tree.entries) as report:
                return tree.log_partition(tables, progress=report)
        case InferenceTask.map:
            with _passing("maximising", tree.entries) as report:
                return tree.map(tables, progress=report)[0]


def _formatted(found: Any, task: InferenceTask) -> str:
    from neuraltrees.inference.uai import format_assignment, format_log_partition, format_marginals

    formats: dict[InferenceTask, Any] = {
        InferenceTask.mar: format_marginals,
        InferenceTask.pr: format_log_partition,
        InferenceTask.map: format_assignment,
    }
    text: str = formats[task](found)
    return text


def _as_json(found: Any, task: InferenceTask, named: BayesianNetwork | None) -> dict[str, Any]:
    match task:
        case InferenceTask.pr:
            log10 = found.item() / math.log(10)
            return {"log10_partition": log10 if math.isfinite(log10) else None}
        case InferenceTask.mar:
            return {"marginals": [each.tolist() for each in found] if named is None else named.named(found)}
        case InferenceTask.map:
            return {"assignment": found.tolist() if named is None else named.named_assignment(found)}


def _show_answer(found: Any, task: InferenceTask, named: BayesianNetwork | None, observed: set[int]) -> None:
    if task is InferenceTask.pr:
        say(f"log10 of the partition function: {found.item() / math.log(10):.10g}")
        return
    names = [str(v) for v in range(len(found))] if named is None else list(named.names)
    rows = []
    for v, name in enumerate(names):
        mark = "observed" if v in observed else ""
        states = None if named is None else named.states[v]
        if task is InferenceTask.map:
            rows.append((name, str(int(found[v])) if states is None else states[int(found[v])], mark))
            continue
        shares = found[v].tolist()
        texts = [f"{k if states is None else states[k]}: {share:.4f}" for k, share in enumerate(shares)]
        rows.append((name, "  ".join(texts), mark))
    what = "probability of each state" if task is InferenceTask.mar else "most probable together"
    print_table("", ("variable", what, ""), rows)


@contextmanager
def _passing(what: str, entries: int) -> Iterator[ProgressCallback]:
    """A progress bar over the entries of the tables, removed at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task(what, total=entries)
        yield lambda done: progress.advance(task, done)
