"""neuraltrees decompose: graph file → tree decomposition file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, cast

import typer

from neuraltrees.cli.options import AsJson
from neuraltrees.cli.terminal import Value, decomposing, show, working
from neuraltrees.decomposition import TreeDecomposition, decompose
from neuraltrees.decomposition.decompose import DEFAULT_SECONDS, METHODS, Method, check_method
from neuraltrees.graph import Graph

GraphFile = Annotated[Path, typer.Argument(metavar="FILE", help="A graph in the PACE format: .gr, .gr.gz or .gr.xz.")]
MethodName = Annotated[str, typer.Option("--method", "-m", help=f"One of {', '.join(METHODS)}.")]
Seed = Annotated[int, typer.Option(help="Seed that breaks ties; the same seed gives the same result.")]
Restarts = Annotated[int, typer.Option(help="Maximum runs of the greedy methods; the narrowest result is kept.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        help="Seconds, for any method; 60 by default for exact, 10 for best, no limit for the others.",
        show_default=False,
    ),
]


def decompose_file(
    file: GraphFile,
    method: MethodName = "min_fill",
    out: Annotated[Path | None, typer.Option(help="File to write the decomposition to: .td, .td.gz or .td.xz.")] = None,
    seed: Seed = 0,
    restarts: Restarts = 4,
    time_limit: TimeLimit = None,
    json: AsJson = False,
) -> None:
    """Compute a tree decomposition of a graph; print its width and a lower bound on the treewidth.

    Example: neuraltrees decompose grid.gr --method best --time-limit 5 --out grid.td
    """
    check_method(method)
    with working(f"reading {file.name}"):
        graph = Graph.read_gr(file)
    start = time.perf_counter()
    td = decompose_with_progress(graph, cast(Method, method), seed, restarts, time_limit)
    seconds = time.perf_counter() - start
    if out is not None:
        td.write_td(out)
    facts: dict[str, Value] = {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "components": graph.num_components,
        "method": method,
        "bags": len(td.bags),
        "width": td.width,
        "lower bound": td.lower_bound,
        "proven optimal": td.optimal,
        "note": td.note,
        "seconds": round(seconds, 4),
        "written to": None if out is None else str(out),
    }
    show(f"Tree decomposition of {file.name}", facts, json)


def decompose_with_progress(
    graph: Graph, method: Method, seed: int, restarts: int, time_limit: float | None
) -> TreeDecomposition:
    """`decompose` with its bounds in the terminal, and a bar over the time limit if there is one."""
    seconds = DEFAULT_SECONDS.get(method) if time_limit is None else time_limit
    with decomposing(f"decomposing {graph.num_nodes:,} nodes by {method}", seconds) as report:
        return decompose(graph, method, seed=seed, restarts=restarts, time_limit=time_limit, progress=report)
