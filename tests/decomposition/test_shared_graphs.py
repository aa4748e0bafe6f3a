"""Decompositions of public graphs: PACE 2017, named graphs, scene graphs."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest

import neuraltrees as nt
from tests.oracle.bridge import parts_of, to_graph
from tests.oracle.decomposition import check_decomposition, first_violation, read_gr, read_td, width
from tests.oracle.scenes import read_scene_graphs


@dataclass(frozen=True)
class SharedGraph:
    """One line of a ``treewidths.csv``: the best known width is that of the shipped decomposition."""

    gr: Path
    td: Path | None
    vertices: int
    edges: int
    treewidth: int | None
    best_known: int | None


def shared_graphs(data_root: Path) -> Iterator[SharedGraph]:
    """The graphs of the exact track of PACE 2017, all of known treewidth, and the named graphs, most of them."""
    for folder in (data_root / "treewidth" / "pace2017", data_root / "treewidth" / "named_graphs"):
        with (folder / "treewidths.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                if row.get("status") == "unknown":
                    continue
                td = folder / row["file"].replace("gr/", "td/", 1).replace(".gr", ".td", 1)
                known = row.get("treewidth") or row.get("treewidth_pace2016_list")
                best = row.get("treewidth") or row.get("width_of_shipped_td")
                yield SharedGraph(
                    gr=folder / row["file"],
                    td=td if td.exists() else None,
                    vertices=int(row["vertices"]),
                    edges=int(row["edges"]),
                    treewidth=int(known) if known else None,
                    best_known=int(best) if best else None,
                )


@pytest.fixture(scope="module")
def shared(data_root: Path) -> list[SharedGraph]:
    return list(shared_graphs(data_root))


def test_inventory(shared: list[SharedGraph]) -> None:
    assert len(shared) == 67 + 150
    assert sum(graph.td is not None for graph in shared) == 67 + 114
    assert sum(graph.best_known is not None for graph in shared) == 67 + 114


def test_graphs_are_read_as_by_the_plain_reader(shared: list[SharedGraph]) -> None:
    for graph in shared:
        n, edges = read_gr(graph.gr)
        read = nt.Graph.read_gr(graph.gr)
        assert (read.num_nodes, read.num_edges) == (n, len(edges)) == (graph.vertices, graph.edges), graph.gr.name
        expected = {(min(edge), max(edge)) for edge in edges}
        sources, targets = read.edge_index.tolist()
        assert {(u, v) for u, v in zip(sources, targets, strict=True) if u < v} == expected, graph.gr.name


@pytest.mark.parametrize("method", ["min_fill", "min_degree"])
def test_heuristics_are_valid_and_never_below_the_treewidth(shared: list[SharedGraph], method: str) -> None:
    for graph in shared:
        n, edges = read_gr(graph.gr)
        td = nt.decompose(nt.Graph.read_gr(graph.gr), method=method, seed=0)
        bags, tree_edges = parts_of(td)
        try:
            check_decomposition(n, edges, bags, tree_edges)
        except AssertionError as error:
            pytest.fail(f"{graph.gr.name}: {error}")
        assert td.width == width(bags), graph.gr.name
        if graph.treewidth is not None:
            assert td.width >= graph.treewidth, graph.gr.name
        if graph.best_known is not None:
            assert td.lower_bound <= graph.best_known, graph.gr.name


def test_shipped_decompositions_are_read_and_valid(shared: list[SharedGraph]) -> None:
    """Some of them hold bags inside others, and some join the components of their graph in one tree."""
    for graph in shared:
        if graph.td is None:
            continue
        n, edges = read_gr(graph.gr)
        _, bags, tree_edges = read_td(graph.td)
        assert first_violation(n, edges, bags, tree_edges) is None, graph.td.name
        td = nt.TreeDecomposition.read_td(graph.td)
        assert parts_of(td)[0] == [tuple(sorted(set(bag))) for bag in bags], graph.td.name
        assert {frozenset(edge) for edge in parts_of(td)[1]} == {frozenset(edge) for edge in tree_edges}, graph.td.name
        assert td.width == graph.best_known, graph.td.name
        td.validate(nt.Graph.read_gr(graph.gr))


def test_shipped_decomposition_of_another_graph_is_refused(data_root: Path) -> None:
    folder = data_root / "treewidth" / "named_graphs"
    td = nt.TreeDecomposition.read_td(folder / "td" / "PetersenGraph.td")
    with pytest.raises(nt.InvalidDecompositionError):
        td.validate(nt.Graph.read_gr(folder / "gr" / "SwitchedSquaredSkewHadamardMatrixGraph_1.gr"))


def test_scene_graphs_are_solved_exactly(data_root: Path) -> None:
    graphs = read_scene_graphs(data_root)
    decompositions = [nt.decompose(to_graph(graph), method="exact") for graph in graphs]
    for graph, td in zip(graphs, decompositions, strict=True):
        check_decomposition(len(graph), graph.edges, *parts_of(td))
        assert td.optimal
        assert td.lower_bound == td.width
    widths = [td.width for td in decompositions]
    assert (sum(widths), min(widths), max(widths)) == (1325, 1, 13)


def test_all_scene_graphs_at_once(data_root: Path) -> None:
    union = nx.disjoint_union_all(read_scene_graphs(data_root))
    td = nt.decompose(to_graph(union), method="exact")
    check_decomposition(len(union), union.edges, *parts_of(td))
    assert (td.width, td.optimal) == (13, True)
