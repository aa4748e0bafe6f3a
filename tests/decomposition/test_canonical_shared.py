"""Canonical decompositions of public graphs under random numberings: molecules, named graphs, BREC, SR25."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import neuraltrees as nt
from tests.decomposition.test_canonical import check_permuted
from tests.decomposition.test_codes import colours
from tests.oracle.bridge import to_graph


def parts(edges: np.ndarray, node_ptr: np.ndarray, edge_ptr: np.ndarray) -> Iterator[nt.Graph]:
    for i in range(len(node_ptr) - 1):
        nodes = int(node_ptr[i + 1] - node_ptr[i])
        yield nt.Graph(edges[:, edge_ptr[i] : edge_ptr[i + 1]].astype(np.int64), num_nodes=nodes)


def molecules(path: Path, prefix: str = "") -> Iterator[nt.Graph]:
    if not path.exists():
        pytest.skip(f"{path.name} is not among the datasets")
    with np.load(path) as file:
        yield from parts(*(file[f"{prefix}{name}"] for name in ("edge", "node_ptr", "edge_ptr")))


@pytest.mark.parametrize("name", ["zinc", "peptides", "hiv"])
def test_molecules(data_root: Path, name: str) -> None:
    paths = {"zinc": "zinc/zinc12k.npz", "peptides": "peptides/peptides_func.npz", "hiv": "moleculenet/hiv.npz"}
    listed = molecules(data_root / "molecules" / paths[name], "val_" if name == "zinc" else "")
    count = 0
    for seed, graph in enumerate(islice(listed, 300 if name == "zinc" else 120)):
        check_permuted(graph, seed)
        count += 1
    assert count >= 100


def test_named_graphs(data_root: Path) -> None:
    listed = sorted((data_root / "treewidth" / "named_graphs" / "gr").glob("*.gr"))
    assert len(listed) == 150
    for seed, path in enumerate(listed):
        graph = nt.Graph.read_gr(path)
        if graph.num_nodes <= 3000:
            check_permuted(graph, seed)


@pytest.mark.parametrize("name", ["basic", "regular", "str", "extension", "cfi", "4vtx", "dr"])
def test_brec(data_root: Path, name: str) -> None:
    written = np.load(data_root / "expressivity" / "brec" / f"{name}.npy").flatten().tolist()
    for seed, code in enumerate(written):
        graph = nx.from_graph6_bytes(code if isinstance(code, bytes) else code.encode())
        check_permuted(to_graph(graph), seed)


def test_strongly_regular_graphs_are_one_bag(data_root: Path) -> None:
    with np.load(data_root / "expressivity" / "sr25.npz") as file:
        edges, node_ptr, edge_ptr = file["edge_index"], file["ptr_x"], file["ptr_edge_index"]
    listed = list(parts(edges, node_ptr, edge_ptr))
    assert len(listed) == 15
    for graph in listed:
        td = nt.decompose(graph, "canonical")
        assert td.kinds.tolist() == [nt.BagKind.RIGID]
        assert td.width == 24 and td.lower_bound == 12


@pytest.mark.parametrize("name", ["basic", "regular", "extension", "cfi"])
def test_codes_tell_planar_pairs_of_brec_apart(data_root: Path, name: str) -> None:
    """All pairs that are planar, and in three parts of the benchmark all pairs."""
    written = np.load(data_root / "expressivity" / "brec" / f"{name}.npy").reshape(-1, 2).tolist()
    planar = 0
    for pair in written:
        one, other = (nx.from_graph6_bytes(code if isinstance(code, bytes) else code.encode()) for code in pair)
        both = nx.check_planarity(one)[0] and nx.check_planarity(other)[0]
        planar += both
        if both or name != "cfi":
            assert colours(one) != colours(other)
    assert planar >= 3


def test_many_molecules_at_once(data_root: Path) -> None:
    """2,000 graphs in one union, all nodes renumbered."""
    path = data_root / "molecules" / "zinc" / "zinc12k.npz"
    union = nt.Graph.union([graph for part in ("val_", "test_") for graph in molecules(path, part)])
    assert union.num_components == 2_000
    check_permuted(union, 0)
