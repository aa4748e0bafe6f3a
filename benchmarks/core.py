"""Benchmarks the core against straightforward rivals in the same run; prints each result next to its bar (target).

make bench                                     # everything; expects the datasets in the folder of NEURALTREES_DATA
.venv/bin/python benchmarks/core.py --only scenes cora
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import TypeVar

import networkx as nx
import numpy as np
from networkx.algorithms.approximation import treewidth_min_fill_in

import neuraltrees as nt

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.bars import Row, report
from benchmarks.turns import high_water, seconds
from tests.oracle.cora import largest_component, read_cora
from tests.oracle.htree import build_htree as oracle_htree
from tests.oracle.htree import junction_tree, networkx_junction_tree
from tests.oracle.htree import min_fill as oracle_min_fill
from tests.oracle.sampling import sample_bounded_treewidth as oracle_sample
from tests.oracle.scenes import read_scene_graphs

T = TypeVar("T")


RIVALS = {
    "nx.junction_tree": networkx_junction_tree,
    "plain junction trees": junction_tree,
    "nx min-fill": oracle_min_fill,
}


def against(what: str, ours: float, rivals: dict[str, float], bar: int) -> list[Row]:
    """The bar is for NetworkX's own junction trees, the decomposition of the paper; the others are for comparison."""
    first, *rest = rivals.items()
    ratio = first[1] / ours
    rows = [
        Row(
            f"{what} ({ours * 1e3:.2f} ms), against NetworkX ({first[0]})",
            f"{ratio:,.0f} ×",
            f"≥ {bar:,} ×",
            ratio >= bar,
        )
    ]
    return rows + [
        Row(f"the same, against NetworkX ({name})", f"{time / ours:,.0f} ×", "–", True) for name, time in rest
    ]


def scenes(data: Path) -> list[Row]:
    graphs = read_scene_graphs(data)
    union = nt.Graph.union(nt.Graph.from_networkx(graph) for graph in graphs)
    ours = seconds(lambda: nt.build_htree(union, threads=1), 100)
    rivals = {name: seconds(lambda f=f: [oracle_htree(graph, f) for graph in graphs], 3) for name, f in RIVALS.items()}
    return against("482 scene graphs → H-trees", ours, rivals, 500)


def cora(data: Path) -> list[Row]:
    graph = read_cora(data)
    fast = nt.Graph.from_networkx(graph)

    def straightforward(decompose: Callable[[nx.Graph], nx.Graph]) -> None:
        sub, forest = oracle_sample(graph, 4)
        oracle_htree(sub, decompose, roots=forest)

    ours = seconds(lambda: nt.build_htree(*nt.sample_bounded_treewidth(fast, 4, sampler="paper"), threads=1), 100)
    rivals = {name: seconds(lambda f=f: straightforward(f), 2) for name, f in RIVALS.items()}
    return against("Cora k=4: sample + H-tree", ours, rivals, 1000)


def planetoid(data: Path, name: str) -> nt.Graph:
    from torch_geometric.datasets import Planetoid

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / name / "raw"
        target.mkdir(parents=True)
        for file in (data / "planetoid" / name / "raw").iterdir():
            (target / file.name).write_bytes(file.read_bytes())
        return nt.Graph.from_data(Planetoid(folder, name)[0])


def pubmed(data: Path) -> list[Row]:
    graph = planetoid(data, "PubMed")
    network = graph.to_networkx()
    nx.set_edge_attributes(network, 1.0, "weight")
    rival = seconds(lambda: nx.maximum_spanning_tree(network), 3)
    rows, kept = [], []
    for k in range(1, 11):
        ours = seconds(lambda k=k: nt.build_htree(*nt.sample_bounded_treewidth(graph, k, sampler="paper"), threads=1))
        kept.append(nt.sample_bounded_treewidth(graph, k, sampler="paper").kept)
        rows.append(f"{rival / ours:.1f}")
    faster = all(float(row) >= 1 for row in rows)
    rises = all(a < b for a, b in pairwise(kept))
    return [
        Row(
            "PubMed k=1…10: sample + H-tree, against nx.maximum_spanning_tree",
            " ".join(rows) + " ×",
            "each ≥ 1 ×",
            faster,
        ),
        Row("PubMed: share of edges kept, k=1…10", " ".join(f"{share:.3f}" for share in kept), "rises", rises),
    ]


def random_graph(nodes: int) -> nt.Graph:
    return nt.Graph(np.random.default_rng(0).integers(0, nodes, size=(2, 3 * nodes)), num_nodes=nodes)


def scaling(_: Path) -> list[Row]:
    per_edge = {}
    for nodes in (10**4, 10**5, 10**6):
        graph = random_graph(nodes)
        taken = seconds(
            lambda graph=graph: nt.build_htree(*nt.sample_bounded_treewidth(graph, 4, sampler="paper"), threads=1), 3
        )
        per_edge[nodes] = taken / graph.num_edges
    ratio = per_edge[10**6] / per_edge[10**4]
    child = [sys.executable, __file__, "--peak-memory"]
    peak = float(subprocess.run(child, capture_output=True, text=True, check=True).stdout)
    return [
        Row(
            "random graphs, 3 edges per node, k=4: time per edge at 10⁶ nodes against 10⁴",
            f"{ratio:.2f} ×",
            "≤ 3 ×",
            ratio <= 3,
        ),
        Row("the same at 10⁶ nodes: peak memory of the process", f"{peak:.2f} GiB", "< 3 GiB", peak < 3),
    ]


def peak_memory() -> float:
    nt.build_htree(*nt.sample_bounded_treewidth(random_graph(10**6), 4, sampler="paper"), threads=1)
    return high_water()


def pace_graphs(data: Path) -> list[tuple[str, nt.Graph, int]]:
    folder = data / "treewidth" / "pace2017"
    with (folder / "treewidths.csv").open() as file:
        known = [(row["file"], int(row["treewidth"])) for row in csv.DictReader(file) if row["treewidth"]]
    return [(Path(name).stem, nt.Graph.read_gr(folder / name), width) for name, width in known]


def min_fill(data: Path) -> list[Row]:
    graphs = [("Cora", nt.Graph.from_networkx(largest_component(read_cora(data))))]
    graphs += [(name, graph) for name, graph, _ in pace_graphs(data)]
    ours = rival = 0.0
    widths = []
    for _, graph in graphs:
        network = graph.to_networkx()
        start = time.perf_counter()
        width, _tree = treewidth_min_fill_in(network)
        rival += time.perf_counter() - start
        ours += seconds(lambda graph=graph: nt.decompose(graph, threads=1), 3)
        widths.append((nt.decompose(graph).width, width))
    mine, theirs = np.mean(widths, axis=0)
    what = f"min_fill on Cora's largest component (width {widths[0][0]} / {widths[0][1]}) and the PACE graphs"
    return [
        Row(what, f"{rival / ours:,.0f} ×", "≥ 20 ×", rival >= 20 * ours),
        Row("the same: mean width, ours against NetworkX", f"{mine:.2f} / {theirs:.2f}", "no wider", mine <= theirs),
    ]


def excess(data: Path) -> list[Row]:
    graphs = pace_graphs(data)
    rows = []
    for method, bar in (("min_fill", 2.1), ("best", 0.6)):
        found = [nt.decompose(graph, method, time_limit=1.0, threads=1) for _, graph, _ in graphs]
        over = [td.width - width for td, (_, _, width) in zip(found, graphs, strict=True)]
        proven = sum(td.optimal for td in found)
        limit = ", 1 s each" if method == "best" else ""
        label = f"{method}{limit} on {len(graphs)} PACE graphs: mean excess over the optimum"
        rows.append(
            Row(
                f"{label} ({over.count(0)} met, {proven} proven)",
                f"{np.mean(over):.2f}",
                f"≤ {bar}",
                bool(np.mean(over) <= bar),
            )
        )
    return rows


def two_cores() -> float:
    """Throughput of two threads of independent work over that of one: the best speed-up possible at this moment."""
    block = bytes(50_000_000)

    def hashing(count: int) -> None:
        pool = [Thread(target=lambda: sha256(block)) for _ in range(count)]
        for thread in pool:
            thread.start()
        for thread in pool:
            thread.join()

    return 2 * seconds(lambda: hashing(1), 3) / seconds(lambda: hashing(2), 3)


def threads(data: Path) -> list[Row]:
    graphs = [nt.Graph.from_networkx(graph) for graph in read_scene_graphs(data)]
    union = nt.Graph.union(graphs * 355)
    # Alternating, so that both see the same load of the machine.
    turns = [
        [seconds(lambda count=count: nt.build_htree(union, threads=count), 1) for count in (1, 2)] for _ in range(9)
    ]
    one, two = (min(times) for times in zip(*turns, strict=True))
    what = f"two threads against one, union of {len(graphs) * 355:,} scene graphs ({union.num_nodes:,} nodes)"
    return [
        Row(what, f"{one / two:.2f} ×", "≥ 1.6 ×", one >= 1.6 * two),
        Row("two threads of independent hashing against one, at the same time", f"{two_cores():.2f} ×", "–", True),
    ]


BENCHMARKS: dict[str, Callable[[Path], list[Row]]] = {
    "scenes": scenes,
    "cora": cora,
    "pubmed": pubmed,
    "scaling": scaling,
    "min-fill": min_fill,
    "excess": excess,
    "threads": threads,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), help="which benchmarks to run"
    )
    parser.add_argument("--data-root", type=Path, default=os.environ.get("NEURALTREES_DATA"), help="datasets folder")
    parser.add_argument("--peak-memory", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_memory:
        print(peak_memory())
        return
    if arguments.data_root is None:
        parser.error("the benchmarks read the shared data: pass --data-root DIR or set NEURALTREES_DATA")
    report(BENCHMARKS, arguments.only, arguments.data_root)


if __name__ == "__main__":
    main()
