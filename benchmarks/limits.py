"""Are time limits kept, interrupts answered, and is `best` close to the optimum? Prints each result next to its bar.

.venv/bin/python benchmarks/limits.py                          # all; needs a quiet machine, some ten minutes
.venv/bin/python benchmarks/limits.py --only limits --nodes 1000 1000000 --seconds 0.5
.venv/bin/python benchmarks/limits.py --only excess --data-root DIR
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import numpy as np

import neuraltrees as nt

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.bars import Row, report

METHODS = ("min_fill", "min_degree", "junction_tree", "exact", "best")

INTERRUPTED = """
import signal, sys, torch, neuraltrees.htree
from neuraltrees.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
main()
"""


def random_graph(nodes: int, edges: int, seed: int = 0) -> nt.Graph:
    return nt.Graph(np.random.default_rng(seed).integers(0, nodes, (2, edges)), num_nodes=nodes)


def limits(arguments: argparse.Namespace) -> Iterator[Row]:
    """Wall time of `decompose` with a time limit, and whether the result is valid."""
    for nodes in arguments.nodes:
        graph = random_graph(nodes, 3 * nodes)
        for method in METHODS:
            for limit in arguments.seconds:
                start, used = time.perf_counter(), time.process_time()
                td = nt.decompose(graph, method, time_limit=limit)
                seconds, used = time.perf_counter() - start, time.process_time() - used
                td.validate(graph)
                bar = 1.2 * limit + 0.2
                what = f"{method}, {limit:g} s, {nodes:,} nodes"
                measured = f"{seconds:.2f} s ({used:.2f} s of a processor), width {td.width:,}"
                yield Row(what, measured, f"{bar:.1f} s", seconds <= bar)


def interrupts(arguments: argparse.Namespace) -> Iterator[Row]:
    """Seconds from SIGINT to the end of a command on a random graph of a million nodes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.gr"
        nodes = max(arguments.nodes)
        random_graph(nodes, 3 * nodes).write_gr(path)
        commands = [("decompose", "--method", method) for method in METHODS] + [("htree",), ("htree", "--k", "4")]
        for command, *options in commands:
            for delay in (1.0, 4.0):
                run = [sys.executable, "-c", INTERRUPTED, command, str(path), *options]
                before = children_seconds()
                process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                assert process.stdout is not None
                process.stdout.readline()
                time.sleep(delay)
                sent, used = time.perf_counter(), processor_seconds(process.pid)
                process.send_signal(signal.SIGINT)
                code = process.wait()
                seconds, used = time.perf_counter() - sent, children_seconds() - before - used
                what = f"Ctrl-C after {delay:g} s of {command} {' '.join(options)}"
                measured = f"exit code {code} after {seconds:.2f} s ({used:.2f} s of a processor)"
                yield Row(what, measured, "130 in 1 s", code == 130 and seconds <= 1)


def children_seconds() -> float:
    """The processor time of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_seconds(process: int) -> float:
    """The processor time of a process that is running."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def explosion(_: argparse.Namespace) -> Iterator[Row]:
    """min_fill with its default options where fill explodes, and an H-tree that would be far too large."""
    graph = random_graph(50_000, 200_000)
    start, used = time.perf_counter(), time.process_time()
    td = nt.decompose(graph)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    td.validate(graph)
    measured = f"{seconds:.1f} s ({used:.1f} s of a processor), width {td.width:,}; {td.note}"
    yield Row("min_fill, 50,000 nodes, 200,000 edges", measured, "20 s or a note", seconds <= 20 or td.note is not None)

    graph = random_graph(7_600, 30_000)
    td = nt.decompose(graph, time_limit=10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    try:
        nt.build_htree(graph, td)
        answer = "built"
    except nt.TreeTooLargeError:
        answer = "refused"
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    yield Row(
        "H-tree, 7,600 nodes, 30,000 edges",
        f"{answer} after {seconds:.2f} s, {grown} MiB",
        "about 1 s",
        seconds <= 1.5,
    )


def excess(arguments: argparse.Namespace) -> Iterator[Row]:
    """The width of `best` in 1 s above the treewidth, or above the width by which a graph was made; and min_fill."""
    groups = {"generated": list(generated())}
    if arguments.data_root is not None:
        folder = Path(arguments.data_root) / "treewidth" / "pace2017"
        with (folder / "treewidths.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if row["treewidth"]]
        groups["PACE 2017"] = [(nt.Graph.read_gr(folder / row["file"]), int(row["treewidth"])) for row in rows]
    for name, graphs in groups.items():
        found = [(nt.decompose(graph, "best", time_limit=1.0).width, nt.decompose(graph).width) for graph, _ in graphs]
        above = mean(best - known for (best, _), (_, known) in zip(found, graphs, strict=True))
        wider = sum(best > greedy for best, greedy in found)
        measured = f"{above:.2f} above, wider than min_fill {wider} times"
        yield Row(f"best, 1 s, {len(graphs)} {name} graphs", measured, "0.30, never", above <= 0.3 and wider == 0)


def generated() -> Iterator[tuple[nt.Graph, int]]:
    """Grids, king's graphs, and random k-trees that lost some of their edges, each with an upper bound on its width."""
    draw = random.Random(7)
    for nodes, k, kept in ((150, 10, 0.5), (300, 8, 0.6), (300, 20, 0.5), (600, 15, 0.6), (1000, 12, 0.5)):
        bags = [tuple(range(k + 1))]
        edges = {(u, v) for u in range(k + 1) for v in range(u)}
        for node in range(k + 1, nodes):
            near = draw.sample(bags[max(0, len(bags) - 1 - int(draw.expovariate(1 / 30)))], k)
            edges |= {(node, other) for other in near}
            bags.append((*near, node))
        names = draw.sample(range(nodes), nodes)
        some = [(names[u], names[v]) for u, v in sorted(edges) if draw.random() < kept]
        yield nt.Graph(np.array(some).T, num_nodes=nodes), k
    for rows, columns, steps in ((8, 40, 2), (12, 30, 2), (15, 25, 2), (6, 40, 4), (8, 30, 4)):
        ways = ((0, 1), (1, 0), (1, 1), (1, -1))[:steps]
        joined = [
            (r * columns + c, (r + down) * columns + c + right)
            for r in range(rows)
            for c in range(columns)
            for down, right in ways
            if r + down < rows and 0 <= c + right < columns
        ]
        names = draw.sample(range(rows * columns), rows * columns)
        yield nt.Graph(np.array([(names[u], names[v]) for u, v in joined]).T), rows + (steps == 4)


BENCHMARKS = {"limits": limits, "interrupts": interrupts, "explosion": explosion, "excess": excess}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), help="what to run")
    parser.add_argument("--nodes", nargs="+", type=int, default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--seconds", nargs="+", type=float, default=[0.5, 2.0, 5.0], help="time limits")
    parser.add_argument("--data-root", type=Path, default=os.environ.get("NEURALTREES_DATA"), help="datasets folder")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", nt.NeuralTreesWarning)
    report(BENCHMARKS, arguments.only, arguments)


if __name__ == "__main__":
    main()
