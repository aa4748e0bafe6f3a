"""The width of every method on the shared graphs of known treewidth, as a table: docs/widths.md.

.venv/bin/python benchmarks/widths.py --data-root DIR [--seconds 1]
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path
from statistics import mean

from rich.progress import track

import neuraltrees as nt
from neuraltrees.files import write_whole

METHODS = ("min_fill", "min_degree", "junction_tree", "best")


def known_graphs(data: Path) -> list[tuple[str, Path, int | None]]:
    """Name, file and treewidth; a named graph's treewidth is known if the PACE 2016 list has it.

    The five heuristic graphs of PACE are left out: `junction_tree` takes time O(nm), hours for 154,188 nodes.
    """
    graphs = []
    for folder, column in (("pace2017", "treewidth"), ("named_graphs", "treewidth_pace2016_list")):
        root = data / "treewidth" / folder
        with (root / "treewidths.csv").open() as file:
            for row in csv.DictReader(file):
                if "heuristic" in row["file"]:
                    continue
                path = root / row["file"]
                graphs.append((path.name.split(".")[0], path, int(row[column]) if row[column] else None))
    return graphs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, default=os.environ.get("NEURALTREES_DATA"), help="the shared data")
    parser.add_argument("--seconds", type=float, default=1.0, help="time limit of `best` for each graph")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "docs" / "widths.md")
    arguments = parser.parse_args()
    if arguments.data_root is None:
        parser.error("the graphs are in the shared data: pass --data-root DIR or set NEURALTREES_DATA")

    rows, excess = [], {method: [] for method in METHODS}
    proven = 0
    for name, path, treewidth in track(known_graphs(arguments.data_root), "decomposing"):
        graph = nt.Graph.read_gr(path)
        found = {m: nt.decompose(graph, m, time_limit=arguments.seconds if m == "best" else None) for m in METHODS}
        best = found["best"]
        proven += best.optimal
        if treewidth is not None:
            for method, td in found.items():
                excess[method].append(td.width - treewidth)
        known = "" if treewidth is None else str(treewidth)
        widths = [str(td.width) for td in found.values()]
        rows.append([name, f"{graph.num_nodes}", f"{graph.num_edges}", known, *widths, str(best.lower_bound)])

    lines = [
        "# Widths of the decompositions",
        "",
        f"Every method on the {len(rows)} shared graphs of PACE 2017 and the collection of named graphs; `best` had "
        f"{arguments.seconds:g} s each, and proved {proven} of its widths optimal. Treewidths are those that the two "
        f"collections state. Made by `.venv/bin/python benchmarks/widths.py`.",
        "",
        "Mean excess over the known treewidths: "
        + ", ".join(f"`{method}` {mean(values):.2f}" for method, values in excess.items())
        + f" ({len(excess['best'])} graphs).",
        "",
        "| graph | nodes | edges | treewidth | " + " | ".join(METHODS) + " | lower bound of best |",
        "| --- | --: | --: | --: |" + " --: |" * (len(METHODS) + 1),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    write_whole(arguments.out, ("\n".join(lines) + "\n").encode())
    print(lines[4])


if __name__ == "__main__":
    main()
