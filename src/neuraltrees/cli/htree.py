"""neuraltrees htree: graph file → H-tree, its statistics and a drawing."""

from __future__ import annotations

import json as to_json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from neuraltrees.cli.decompose import (
    GraphFile,
    MethodName,
    Restarts,
    Seed,
    TimeLimit,
    check_out,
    decompose_with_progress,
    read_named,
)
from neuraltrees.cli.options import AsJson
from neuraltrees.cli.terminal import Value, show, working
from neuraltrees.decomposition import BagKind, decompose, sample_bounded_treewidth
from neuraltrees.decomposition.decompose import Method, check_method
from neuraltrees.decomposition.sampling import Sampler, check_sampler
from neuraltrees.errors import InputError
from neuraltrees.files import check_folder, write_whole
from neuraltrees.graph_files.named_graph import Numbers
from neuraltrees.graph_files.read import ending_of

if TYPE_CHECKING:
    from neuraltrees.htree import HTree
    from neuraltrees.htree.build import Terminal


def htree_of_file(
    file: GraphFile,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            "-k",
            "--max-treewidth",
            help="Bound the treewidth: build the H-tree of a subgraph of treewidth at most K.",
            show_default=False,
        ),
    ] = None,
    max_tree_nodes: Annotated[
        int | None,
        typer.Option(
            help="Bound the size of the H-tree: use the largest treewidth bound whose H-tree has at most N nodes.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    sampler: Annotated[
        str,
        typer.Option(
            help="How --k chooses the edges of the subgraph: elimination, or paper for the method of the paper."
        ),
    ] = "elimination",
    method: MethodName = "min_fill",
    terminal: Annotated[
        str,
        typer.Option(
            help="Where the recursion ends: clique, at complete bags as in the paper; or bag, at all bags of the graph."
        ),
    ] = "clique",
    seed: Seed = 0,
    restarts: Restarts = 4,
    time_limit: TimeLimit = None,
    max_nodes: Annotated[
        int, typer.Option(help="Largest number of nodes of the H-tree; a larger tree is an error.")
    ] = 50_000_000,
    draw: Annotated[
        Path | None,
        typer.Option(help="File for a drawing of the graph, its decomposition and its H-tree: .svg, .png or .pdf."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the H-tree: .safetensors (tensors), or .json with the names of the nodes."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Build the H-tree of a graph; print its statistics, draw it or write it to a file.

    Nodes of edge lists and GraphML keep their names. Parts that are too large to be legible are summarised in the
    drawing. The H-tree of a graph of large treewidth is huge: bound the treewidth with --k, or the size of the tree
    with --max-tree-nodes.

    Example: neuraltrees htree citations.gr --k 4 --out citations.safetensors
    """
    check_method(method)
    check_sampler(sampler)
    if terminal not in ("clique", "bag"):
        raise InputError(f"Expected --terminal clique or bag; got {terminal!r}.")
    if k is not None and max_tree_nodes is not None:
        raise InputError("Expected --k or --max-tree-nodes; got both. Leave out one of them.")
    check_out(out, (".safetensors", ".json"))
    with working("loading"):
        from neuraltrees.htree import build_htree, largest_treewidth_bound

        if draw is not None:  # fail before the work, not after it
            from neuraltrees.plots.drawing import draw as draw_figure
            from neuraltrees.plots.style import check_ending

            check_ending(draw)
            check_folder(draw)
    named = read_named(file)
    graph = named.graph
    facts: dict[str, Value] = {"nodes": graph.num_nodes, "edges": graph.num_edges}
    start = time.perf_counter()
    if max_tree_nodes is not None:
        with working(f"looking for the largest treewidth bound whose H-tree has at most {max_tree_nodes:,} nodes"):
            k = largest_treewidth_bound(
                graph,
                max_tree_nodes,
                cast(Method, method),
                seed=seed,
                restarts=restarts,
                sampler=cast(Sampler, sampler),
                terminal=cast("Terminal", terminal),
            )
        facts["treewidth bound"] = k
    if k is not None:
        with working(f"sampling a subgraph of treewidth at most {k}"):
            sample = sample_bounded_treewidth(graph, k, seed, restarts=restarts, sampler=cast(Sampler, sampler))
        graph, decomposition = sample.subgraph, sample.decomposition
        if method == "canonical":
            decomposition = decompose(graph, "canonical")
        facts |= {"edges kept": graph.num_edges, "share of edges kept": round(sample.kept, 4)}
    else:
        decomposition = decompose_with_progress(graph, cast(Method, method), seed, restarts, time_limit)
    with working("building the H-tree"):
        tree = build_htree(
            graph,
            decomposition,
            cast(Method, method),
            terminal=cast("Terminal", terminal),
            seed=seed,
            restarts=restarts,
            max_nodes=max_nodes,
            dtype=None,
        )
        seconds = time.perf_counter() - start
        diameters = tree.diameters()
    if decomposition.note is not None:
        facts["note"] = decomposition.note
    facts |= {
        "components": tree.num_components,
        "treewidth": tree.treewidth,
        "H-tree nodes": tree.num_nodes,
        "H-tree edges": tree.num_edges,
        "roots": tree.num_roots,
        "bags below the roots": tree.num_bags - tree.num_roots,
        "leaves": tree.num_leaves,
        "nodes per level": tree.nodes_per_level().tolist(),
        "root-root edges": int(tree.edges_per_type()[0]) // 2,
        "parent-child edges": int(tree.edges_per_type()[1]),
        "diameter": int(diameters.max()) if len(diameters) else 0,
    }
    if len(diameters) > 1:
        facts["mean diameter of a tree"] = round(float(diameters.double().mean()), 3)
    facts["seconds"] = round(seconds, 4)
    if out is not None:
        _write(tree, named.names, out)
        facts["written to"] = str(out)
    if draw is not None:
        from neuraltrees.plots.drawing import too_large

        labels = None if isinstance(named.names, Numbers) else named.names
        with working("drawing"):
            draw_figure(graph, decomposition, tree, labels=labels, path=draw)
        summed_up = too_large(graph, decomposition, tree)
        note = f" ({', '.join(summed_up)} summed up: too large to draw)" if summed_up else ""
        facts["drawn to"] = f"{draw}{note}"
    show(f"H-tree of {file.name}", facts, json)


def _write(tree: HTree, names: Sequence[str], out: Path) -> None:
    """Writes tensors with the names in the metadata, or JSON with a bag of names per node of the tree."""
    if ending_of(out) == ".safetensors":
        from neuraltrees.htree import save_htree

        save_htree(tree, out, None if isinstance(names, Numbers) and names.numbers.start == 0 else names)
        return
    kappa, parent, kind = tree.kappa.tolist(), tree.parent.tolist(), tree.kind.tolist()
    nodes = [
        {
            "parent": None if parent[i] < 0 else parent[i],
            "leaf": kappa[i] >= 0,
            "bag": [names[v] for v in tree.bag(i)],
            **({"kind": BagKind(kind[i]).name.lower()} if kind[i] else {}),
        }
        for i in range(tree.num_nodes)
    ]
    roots = [
        pair for pair, kind in zip(tree.edge_index.t().tolist(), tree.edge_type.tolist(), strict=True) if kind == 0
    ]
    content = {"nodes": nodes, "root_edges": [pair for pair in roots if pair[0] < pair[1]]}
    write_whole(out, to_json.dumps(content, indent=1, ensure_ascii=False).encode())
