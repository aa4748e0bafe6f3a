"""Graphs whose edges lie in a NumPy file that is mapped into memory."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

import neuraltrees as nt
from neuraltrees.errors import InputError, ParseError
from neuraltrees.graph_files.named_graph import Numbers

EDGES = np.random.default_rng(0).integers(0, 50, (2, 120))


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", ">i4", ">i8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("pairs", [False, True], ids=["rows", "pairs"])
def test_any_layout_gives_the_same_graph(tmp_path: Path, kind: str, order: str, pairs: bool) -> None:
    path = tmp_path / "edges.npy"
    array = np.asarray(EDGES.T if pairs else EDGES, dtype=kind, order=order)  # type: ignore[call-overload]
    np.save(path, array)
    named = nt.read_graph(path)
    assert named.graph == nt.Graph(EDGES)
    assert list(named.names) == [str(v) for v in range(50)]


def test_two_edges_are_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "edges.npy", np.array([[0, 1], [2, 3]]))
    assert nt.read_graph(tmp_path / "edges.npy").graph.edge_index.tolist() == [[0, 1, 2, 3], [2, 3, 0, 1]]


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (np.zeros((3, 4), int), r"expected integers of shape \(2, m\) or \(m, 2\), got int64 of shape \(3, 4\)"),
        (np.zeros(4, int), r"of shape \(4,\)"),
        (np.zeros((2, 4)), "got float64"),
        (np.array([[0, 1], [1, -2]]), "Expected node ids of at least 0; got -2 in edge 1"),
        (np.array([[0, 1], [1, 2**40]]), "Expected at most 2147483646 nodes"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, array: np.ndarray, why: str) -> None:
    np.save(tmp_path / "edges.npy", array)
    with pytest.raises(ParseError, match=why):
        nt.read_graph(tmp_path / "edges.npy")


def test_nothing_is_unpickled_and_what_is_cut_short_is_found(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "short.npy", EDGES)
    whole = (tmp_path / "short.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-9])
    (tmp_path / "empty.npy").write_bytes(b"")
    for name in ("objects", "short", "empty"):
        with pytest.raises(ParseError, match="expected a whole NumPy file"):
            nt.read_graph(tmp_path / f"{name}.npy")


def test_a_packed_array_cannot_be_mapped(tmp_path: Path) -> None:
    (tmp_path / "edges.npy.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"can be mapped into memory; got edges\.npy\.gz\. Unpack it first"):
        nt.read_graph(tmp_path / "edges.npy.gz")


def test_the_edges_are_not_held_in_memory(tmp_path: Path) -> None:
    """96 MB of edges, nearly all of them loops, where there is no memory for a copy of them."""
    path = tmp_path / "edges.npy"
    edges = np.lib.format.open_memmap(path, mode="w+", dtype=np.int64, shape=(6_000_000, 2))
    edges[:] = 0  # loops, which are dropped
    edges[-1] = (998, 999)
    edges.flush()
    del edges
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    held = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmData" in line)
    resource.setrlimit(resource.RLIMIT_DATA, (held * 1024 + 48_000_000, hard))  # a copy of the edges is too much
    try:
        graph = nt.read_graph(path).graph
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    assert (graph.num_nodes, graph.num_edges) == (1000, 1)


def test_names_that_are_numbers_are_made_when_asked_for() -> None:
    names = Numbers(5, first=1)
    assert len(names) == 5 and list(names) == ["1", "2", "3", "4", "5"]
    assert names == ("1", "2", "3", "4", "5") != Numbers(5) and hash(names) == hash(tuple(names))
    assert names[-1] == "5" and names[1:3] == ("2", "3") and "6" not in names
    with pytest.raises(IndexError):
        names[5]
