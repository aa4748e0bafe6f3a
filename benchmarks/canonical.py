"""Canonical trees: ZINC against spqrtree and PyG's tree_decomposition, and growth up to a million nodes.

.venv/bin/python benchmarks/canonical.py                       # all; ZINC needs the datasets and `pip install rdkit`
.venv/bin/python benchmarks/canonical.py --only growth
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np

import neuraltrees as nt

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.bars import Row, report
from benchmarks.turns import seconds

GROWTH = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import canonical
print(json.dumps([canonical.nanoseconds_per_edge(sys.argv[2], int(sys.argv[3])),
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""


def zinc(arguments: argparse.Namespace) -> Iterator[Row]:
    """All 12,000 graphs by us, in one thread, and a share of them by the rivals, whose times are scaled."""
    molecules = list(read_zinc(Path(arguments.data_root)))
    chosen = molecules[:: arguments.every]
    share = len(molecules) / len(chosen)
    graphs = [nt.Graph(edges, num_nodes=nodes) for nodes, edges, _ in molecules]
    union = nt.Graph.union(graphs)
    nt.decompose(union, "canonical", threads=1).validate(union)
    decomposed = seconds(lambda: nt.decompose(union, "canonical", threads=1), 15)
    joined = seconds(lambda: nt.decompose(nt.Graph.union(graphs), "canonical", threads=1), 5)
    blocks = [nx.Graph(edges.T.tolist()) for _, edges, _ in chosen]
    own = share * seconds(lambda: [spqr_trees(graph) for graph in blocks], 2)
    mols = [molecule(nodes, edges) for nodes, edges, _ in chosen]
    pyg = share * seconds(lambda: junction_trees(mols), 2)
    about = f"{1e3 * decomposed:.1f} ms ({1e3 * joined:.1f} ms with making the union)"
    note = "" if arguments.every == 1 else f" (1 in {arguments.every} measured)"
    for name, rival in (("spqrtree with NetworkX's blocks", own), ("PyG's tree_decomposition", pyg)):
        ratio = rival / decomposed
        measured = f"{ratio:.0f} ×: {about}, {rival:.1f} s{note}"
        yield Row(f"{len(molecules):,} ZINC graphs, {name}", measured, "100 ×", ratio >= 100)


def read_zinc(root: Path) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Number of atoms, bonds (2, m) and their types, molecule by molecule."""
    with np.load(root / "molecules" / "zinc" / "zinc12k.npz") as file:
        arrays = dict(file)
    for part in ("train", "val", "test"):
        nodes, edges = arrays[f"{part}_node_ptr"], arrays[f"{part}_edge_ptr"]
        for i in range(len(nodes) - 1):
            bonds = slice(edges[i], edges[i + 1])
            yield (
                int(nodes[i + 1] - nodes[i]),
                arrays[f"{part}_edge"][:, bonds].astype(np.int64),
                arrays[f"{part}_bond"][bonds],
            )


def spqr_trees(graph: nx.Graph) -> list[object]:
    """The SPQR trees of all blocks that are no bridges."""
    from spqrtree import MultiGraph, SPQRTree

    trees = []
    for edges in nx.biconnected_component_edges(graph):
        if len(edges) > 1:
            block = MultiGraph()
            for u, v in edges:
                block.add_edge(u, v)
            trees.append(SPQRTree(block))
    return trees


def molecule(nodes: int, edges: np.ndarray) -> object:
    """The rings and bonds as RDKit has them; the tree does not depend on elements and orders of bonds."""
    from rdkit import Chem

    editable = Chem.RWMol()
    for _ in range(nodes):
        editable.AddAtom(Chem.Atom(6))
    for u, v in edges.T.tolist():
        editable.AddBond(u, v, Chem.BondType.SINGLE)
    Chem.GetSymmSSSR(editable)
    return editable.GetMol()


def junction_trees(mols: list[object]) -> list[object]:
    from torch_geometric.utils import tree_decomposition

    return [tree_decomposition(mol) for mol in mols]


def growth(arguments: argparse.Namespace) -> Iterator[Row]:
    """Time per edge of 10⁶ nodes against 10⁴, each in a process of its own, and the memory of the process."""
    for kind in ("planar", "random"):
        found = []
        for nodes in (10_000, arguments.nodes):
            run = [sys.executable, "-c", GROWTH, str(Path(__file__).parent), kind, str(nodes)]
            found.append(json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout))
        (small, _), (large, memory) = found
        gib = memory / 2**20
        measured = f"{large / small:.2f} ×: {large:.0f} ns per edge, {small:.0f} ns at 10,000; {gib:.2f} GiB"
        what = f"{arguments.nodes:,} nodes, {'planar' if kind == 'planar' else 'three random edges per node'}"
        yield Row(what, measured, "3 ×, 3 GiB", large / small <= 3 and gib < 3)


def nanoseconds_per_edge(kind: str, nodes: int) -> float:
    graph = planar(nodes) if kind == "planar" else random(nodes)
    repeats = 3 if nodes > 100_000 else 50
    return 1e9 * seconds(lambda: nt.decompose(graph, "canonical", threads=1), repeats) / graph.num_edges


def random(nodes: int) -> nt.Graph:
    return nt.Graph(np.random.default_rng(0).integers(0, nodes, (2, 3 * nodes)), num_nodes=nodes)


def planar(nodes: int) -> nt.Graph:
    """A grid with some of its edges and diagonals, the nodes numbered at random: all kinds of bags."""
    draw = np.random.default_rng(0)
    side = int(nodes**0.5)
    names = draw.permutation(side * side).reshape(side, side)
    steps = [(names[:, :-1], names[:, 1:], 0.9), (names[:-1], names[1:], 0.9), (names[:-1, :-1], names[1:, 1:], 0.25)]
    kept = [np.stack([a, b])[:, draw.random(a.shape) < share] for a, b, share in steps]
    return nt.Graph(np.concatenate(kept, axis=1), num_nodes=side * side)


BENCHMARKS = {"zinc": zinc, "growth": growth}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), help="what to run")
    parser.add_argument("--every", type=int, default=6, help="how many molecules there are for each that rivals get")
    parser.add_argument("--nodes", type=int, default=1_000_000, help="of the large graphs")
    parser.add_argument("--data-root", type=Path, default=os.environ.get("NEURALTREES_DATA"), help="datasets folder")
    arguments = parser.parse_args()
    if "zinc" in arguments.only and arguments.data_root is None:
        parser.error("zinc needs the datasets: --data-root DIR or NEURALTREES_DATA; or give --only growth")
    report(BENCHMARKS, arguments.only, arguments)


if __name__ == "__main__":
    main()
