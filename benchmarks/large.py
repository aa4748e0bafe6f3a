"""Graphs and collections that are large: time, memory and what a loader costs. Prints each result next to its bar.

.venv/bin/python benchmarks/large.py                               # all; 11 GiB of free memory, some minutes
.venv/bin/python benchmarks/large.py --only hiv loader threads     # without the graph of 10⁷ nodes
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import torch

import neuraltrees as nt
from neuraltrees.data.trees import TreeSettings, graph_union
from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.training import Trainer

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.bars import Row, report
from benchmarks.turns import high_water


def in_child(*arguments: str) -> dict[str, float]:
    """What this script prints in a process of its own, whose memory is its own as well."""
    ran = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def sample_and_tree(nodes: int, folder: Path, sampler: str) -> dict[str, float]:
    """Seconds of a processor for sample and H-tree of a random graph in a mapped file, and GiB at the peak."""
    path = folder / "edges.npy"
    graph = nt.read_graph(path).graph
    start = time.process_time()
    sample = nt.sample_bounded_treewidth(graph, 4, sampler=sampler)
    tree = nt.build_htree(
        sample.subgraph, sample.decomposition, threads=1, max_nodes=20 * max(10**6, graph.num_nodes), dtype=None
    )
    seconds = time.process_time() - start
    peak = high_water()
    return {"seconds": seconds, "peak": peak, "tree nodes": tree.num_nodes}


def random_graphs(options: argparse.Namespace) -> Iterator[Row]:
    """10⁶ and 10⁷ nodes with three random edges each, k = 4; the time of a processor, since others use it."""
    found = {}
    for nodes in options.nodes:
        with tempfile.TemporaryDirectory() as folder:
            edges = np.random.default_rng(0).integers(0, nodes, (2, 3 * nodes), dtype=np.int32)
            np.save(Path(folder) / "edges.npy", edges)
            del edges
            found[nodes] = in_child("--child", str(nodes), "--folder", folder, "--sampler", options.sampler)
        each = found[nodes]
        measured = f"{each['seconds']:.1f} s, peak {each['peak']:.2f} GiB, {each['tree nodes']:,} tree nodes"
        yield Row(f"{nodes:,} nodes: sample + H-tree", measured, "10 GiB", each["peak"] <= 10)
    small, large = options.nodes[0], options.nodes[-1]
    ratio, bar = found[large]["seconds"] / found[small]["seconds"], 1.4 * large / small
    yield Row(f"time of {large:,} nodes over that of {small:,}", f"{ratio:.1f} ×", f"{bar:.0f} ×", ratio <= bar)


def hiv(options: argparse.Namespace) -> Iterator[Row]:
    """Canonical H-trees of all molecules of HIV, as one forest, on one thread."""
    task = load_task(DataSpec(dataset="hiv", data_root=options.data_root, method="canonical", terminal="bag"))
    settings, times = TreeSettings.of(task), []
    for _ in range(3):
        start = time.process_time()
        graph_union(task.graphs, settings)
        times.append(time.process_time() - start)
    yield Row(
        f"H-trees of {len(task.graphs):,} molecules", f"{min(times):.2f} s of a processor", "3 s", min(times) <= 3
    )


def loader(options: argparse.Namespace) -> Iterator[Row]:
    """An epoch from a folder of columns with batches made ahead, against the same tensors in memory, in turns."""
    data = DataSpec(dataset="hiv", data_root=options.data_root, method="canonical", terminal="bag")
    task = load_task(data)
    chosen = torch.arange(0, len(task.graphs), len(task.graphs) // options.graphs)[: options.graphs].tolist()
    task = task.replace(graphs=[task.graphs[number] for number in chosen], splitter=None)
    network = nt.NetworkSpec(schedule="bags", parts="graph+tree", hidden=92, layers=6, dropout=0.0)
    plain = nt.TrainingSpec(epochs=1000, batches=-(-len(chosen) * 7 // 1280), shuffle=True, every_class=False)
    plain = plain.replace(evaluate_every=1000, optimiser="adamw")
    runs = [nt.Run(0, task.split(0))]
    with tempfile.TemporaryDirectory() as folder:
        kept = plain.replace(columns=str(Path(folder) / "columns"), prefetch=True)
        trainers = [Trainer(task, network, each, runs, threads=1) for each in (plain, kept)]
        pairs = [[_seconds(lambda t=t, n=n: t.run_epoch(n)) for t in trainers] for n in range(options.epochs + 1)][1:]
    memory, folder_seconds = (median(times) for times in zip(*pairs, strict=True))
    ratio = median(two / one for one, two in pairs)
    what = f"epoch of {len(chosen):,} molecules from a folder ({folder_seconds:.2f} s) over memory ({memory:.2f} s)"
    yield Row(what, f"{ratio:.2f} ×", "1.1 ×", ratio <= 1.1)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    del result  # freeing it is not timed
    return seconds


def union_of_scenes() -> nt.Graph:
    """A million nodes in small graphs like those of scenes: a room with its objects."""
    draw = np.random.default_rng(0)
    sizes = draw.integers(2, 12, 170_000)
    first = np.cumsum(sizes) - sizes
    place = np.arange(sizes.sum()) - first.repeat(sizes)
    node = np.arange(len(place))
    tree = np.stack([node, first.repeat(sizes) + draw.integers(0, np.maximum(place, 1))])[:, place > 0]
    more = np.stack([node, first.repeat(sizes) + draw.integers(0, sizes.repeat(sizes))])
    return nt.Graph(np.concatenate([tree, more], 1), num_nodes=len(node))


def threads(_: argparse.Namespace) -> Iterator[Row]:
    """Two threads against one on the union of small graphs, and two processes of one thread against one process."""
    graph = union_of_scenes()
    turns = [[_seconds(lambda c=c: nt.build_htree(graph, threads=c)) for c in (1, 2)] for _ in range(9)]
    one, two = (min(times) for times in zip(*turns, strict=True))
    script = [sys.executable, __file__, "--child", "0"]
    alone, pair = [], []
    for _ in range(3):
        alone.append(in_child("--child", "0")["seconds"])
        both = [subprocess.Popen(script, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        pair.append(max(json.loads(each.communicate()[0].splitlines()[-1])["seconds"] for each in both))
    control = 2 * min(alone) / min(pair)
    bar = 0.85 * control
    what = f"two threads against one, {graph.num_nodes:,} nodes in small graphs (two processes: {control:.2f} ×)"
    yield Row(what, f"{one / two:.2f} ×", f"{bar:.2f} ×", one / two >= bar)


BENCHMARKS = {"random": random_graphs, "hiv": hiv, "loader": loader, "threads": threads}


def child(options: argparse.Namespace) -> dict[str, float]:
    if options.child > 0:
        return sample_and_tree(options.child, options.folder, options.sampler)
    graph = union_of_scenes()
    return {"seconds": min(_seconds(lambda: nt.build_htree(graph, threads=1)) for _ in range(9))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), help="what to run")
    parser.add_argument("--nodes", nargs="+", type=int, default=[10**6, 10**7], help="of the random graphs")
    parser.add_argument("--sampler", choices=["paper", "elimination"], default="paper", help="of the random graphs")
    parser.add_argument("--graphs", type=int, default=4000, help="molecules of the loader's epochs")
    parser.add_argument("--epochs", type=int, default=5, help="epochs that are timed")
    parser.add_argument("--data-root", default=os.environ.get("NEURALTREES_DATA"), help="datasets folder")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.child is not None:
        print(json.dumps(child(options)))
        return
    report(BENCHMARKS, options.only, options)


if __name__ == "__main__":
    main()
