"""neuraltrees decompose: graph file → tree decomposition file."""

from __future__ import annotations

import json as to_json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer

from neuraltrees.cli.options import AsJson
from neuraltrees.cli.terminal import Value, decomposing, notes, say, show, working
from neuraltrees.decomposition import BagKind, TreeDecomposition, decompose
from neuraltrees.decomposition.decompose import DEFAULT_SECONDS, METHODS, Method, check_method
from neuraltrees.errors import InputError
from neuraltrees.files import check_folder, write_whole
from neuraltrees.graph import Graph
from neuraltrees.graph_files import NamedGraph, read_graph
from neuraltrees.graph_files.read import ending_of

GraphFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A graph: PACE (.gr), one edge per line (.csv, .tsv, .txt, .edges), GraphML, or an array of edges (.npy). "
        "All but .npy may be compressed as .gz or .xz.",
    ),
]
MethodName = Annotated[str, typer.Option("--method", "-m", help=f"One of {', '.join(METHODS)}.")]
Seed = Annotated[int, typer.Option(help="Seed that breaks ties; the same seed gives the same result.")]
Restarts = Annotated[
    int, typer.Option(help="Largest number of runs of a greedy method; the result of least width is kept.")
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        help="Time limit in seconds, for all methods but canonical; by default 60 for exact, 10 for best, else none.",
        show_default=False,
    ),
]


def decompose_file(
    file: GraphFile,
    method: MethodName = "min_fill",
    out: Annotated[
        Path | None,
        typer.Option(help="File for the decomposition: .td (PACE) or .json (bags of names); also with .gz or .xz."),
    ] = None,
    seed: Seed = 0,
    restarts: Restarts = 4,
    time_limit: TimeLimit = None,
    json: AsJson = False,
) -> None:
    """Compute a tree decomposition of a graph; print its width and a lower bound on the treewidth.

    Nodes of edge lists and GraphML keep their names: as comments of a .td file, or as the members of bags in a .json
    file.

    Example: neuraltrees decompose grid.gr --method best --time-limit 5 --out grid.td
    """
    check_method(method)
    check_out(out, (".td", ".json"))
    named = read_named(file)
    graph = named.graph
    start = time.perf_counter()
    td = decompose_with_progress(graph, cast(Method, method), seed, restarts, time_limit)
    seconds = time.perf_counter() - start
    if out is not None:
        _write(td, named, out)
    facts: dict[str, Value] = {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "components": graph.num_components,
        "method": method,
        "bags": len(td.bags),
        "width": td.width,
        "lower bound": td.lower_bound,
        "proven optimal": td.optimal,
        **_kinds_of_bags(td),
        **({"note": td.note} if td.note else {}),
        "seconds": round(seconds, 4),
        "written to": None if out is None else str(out),
    }
    show(f"Tree decomposition of {file.name}", facts, json)


def _kinds_of_bags(td: TreeDecomposition) -> dict[str, Value]:
    """How many bags of every kind a canonical decomposition has."""
    if td.kinds is None:
        return {}
    counts = np.bincount(td.kinds, minlength=len(BagKind)).tolist()
    return {f"{kind.name.lower()} bags": counts[kind] for kind in BagKind if kind or counts[kind]}


def read_named(file: Path) -> NamedGraph:
    """The graph of a file with the names of its nodes; prints which columns of the file are not used."""
    with working(f"reading {file.name}"):
        named = read_graph(file)
    if named.ignored:
        say(f"Not used of {file.name}: {', '.join(named.ignored)}.", notes)
    return named


def check_out(out: Path | None, endings: Sequence[str]) -> None:
    """Raises `InputError` if a file cannot be written, before a long computation."""
    if out is None:
        return
    if ending_of(out) not in endings:
        raise InputError(f"Expected --out to end in {' or '.join(endings)}, also with .gz or .xz; got {out.name}.")
    check_folder(out)


def _write(td: TreeDecomposition, named: NamedGraph, out: Path) -> None:
    if ending_of(out) == ".td":
        numbers = all(name == str(place + 1) for place, name in enumerate(named.names))
        td.write_td(out, () if numbers else named.names)
        return
    bags = [[named.names[v] for v in bag] for bag in td.bags]
    content = {"width": td.width, "lower_bound": td.lower_bound, "bags": bags, "edges": td.edges.tolist()}
    if td.kinds is not None:
        content["kinds"] = [BagKind(kind).name.lower() for kind in td.kinds]
    write_whole(out, to_json.dumps(content, indent=1, ensure_ascii=False).encode())


def decompose_with_progress(
    graph: Graph, method: Method, seed: int, restarts: int, time_limit: float | None
) -> TreeDecomposition:
    """`decompose` with its bounds shown in the terminal, and a progress bar if there is a time limit."""
    seconds = DEFAULT_SECONDS.get(method) if time_limit is None else time_limit
    with decomposing(f"decomposing {graph.num_nodes:,} nodes by {method}", seconds) as report:
        return decompose(graph, method, seed=seed, restarts=restarts, time_limit=time_limit, progress=report)
