"""neuraltrees demo: the built-in graphs, their H-trees and their pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from neuraltrees.cli.terminal import output, working
from neuraltrees.decomposition import decompose
from neuraltrees.graph import Graph


def example_graphs() -> dict[str, tuple[Graph, list[str]]]:
    """Small graphs with the names of their nodes: the paper's example, a scene, and textbook shapes."""
    kitchen = ["kitchen", "table", "chair", "chair", "sink", "oven", "fridge", "bowl"]
    grid = [(3 * r + c, 3 * r + c + 1) for r in range(3) for c in range(2)]
    grid += [(3 * r + c, 3 * r + c + 3) for r in range(2) for c in range(3)]
    edges = {
        "paper": [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 4)],
        "kitchen": [(0, v) for v in range(1, 8)] + [(1, 2), (1, 3), (1, 7), (2, 7), (4, 5), (5, 6)],
        "cycle": [(v, (v + 1) % 6) for v in range(6)],
        "grid": grid,
        "forest": [(0, 1), (0, 2), (0, 3), (4, 5), (5, 6), (4, 6)],
    }
    names = {"paper": list("12345"), "kitchen": kitchen, "forest": list("abcdefgh")}
    nodes = {"forest": 8}
    graphs = {}
    for name, pairs in edges.items():
        graph = Graph(list(zip(*pairs, strict=True)), num_nodes=nodes.get(name))
        graphs[name] = graph, names.get(name, [str(v) for v in range(graph.num_nodes)])
    return graphs


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures; made if missing.")] = Path("neuraltrees-demo"),
) -> None:
    """Build the H-trees of the built-in example graphs, describe them and draw them."""
    out.mkdir(parents=True, exist_ok=True)
    table = Table(box=None, pad_edge=False)
    for column in ("graph", "nodes", "edges", "treewidth", "H-tree nodes", "leaves", "diameter"):
        table.add_column(column, justify="left" if column == "graph" else "right", no_wrap=True)
    with working("building and drawing"):
        from neuraltrees.htree import build_htree
        from neuraltrees.htree.drawing import draw

        for name, (graph, labels) in example_graphs().items():
            decomposition = decompose(graph, "exact")
            tree = build_htree(graph, decomposition)
            tree.validate(graph)
            picture = out / f"{name}.svg"
            draw(graph, decomposition, tree, labels=labels, path=picture)
            sizes = (graph.num_nodes, graph.num_edges, tree.treewidth, tree.num_nodes, tree.num_leaves, tree.diameter())
            table.add_row(name, *map(str, sizes))
    output.print("H-trees of the built-in graphs", style="bold", highlight=False)
    output.print(table)
    output.print(f"Pictures: {out}/*.svg", highlight=False)
