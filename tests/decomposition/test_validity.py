"""Decompositions of random graphs are valid, bound the treewidth from both sides, and false ones are refused."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from tests.oracle import strategies
from tests.oracle.bridge import parts_of, to_graph
from tests.oracle.decomposition import (
    check_decomposition,
    elimination_width,
    first_violation,
    is_tree_decomposition,
    read_td,
    treewidth,
    width,
)

METHODS = ("min_fill", "min_degree", "junction_tree", "exact", "best")
ALL_METHODS = pytest.mark.parametrize("method", METHODS)

PATH = nx.path_graph(4)
PATH_BAGS = [(0, 1), (1, 2), (2, 3)]
PATH_EDGES = [(0, 1), (1, 2)]

Parts = tuple[list[tuple[int, ...]], list[tuple[int, int]]]


def decompose(graph: nx.Graph, method: str, **options: int) -> nt.TreeDecomposition:
    time_limit = 0.05 if method == "best" else None
    return nt.decompose(to_graph(graph), method=method, time_limit=time_limit, **options)


def make(bags: list[tuple[int, ...]], edges: list[tuple[int, int]], num_nodes: int) -> nt.TreeDecomposition:
    return nt.TreeDecomposition(bags, np.array(edges, dtype=np.int64).reshape(-1, 2), num_nodes=num_nodes)


def test_path() -> None:
    td = decompose(PATH, "min_fill")
    assert [tuple(bag) for bag in sorted(td.bags)] == PATH_BAGS
    assert td.edges.shape == (2, 2)
    assert td.width == 1


def test_cycle_with_lowest_ties() -> None:
    td = decompose(nx.cycle_graph(4), "min_fill")
    assert sorted(td.bags) == [(0, 1, 3), (1, 2, 3)]
    assert td.edges.shape == (1, 2)
    assert td.width == 2


def test_disconnected_graph_is_a_forest() -> None:
    td = decompose(nx.empty_graph(3), "min_fill")
    assert sorted(td.bags) == [(0,), (1,), (2,)]
    assert td.edges.shape == (0, 2)
    assert td.width == 0


@ALL_METHODS
def test_empty_graph_has_no_bags(method: str) -> None:
    td = decompose(nx.empty_graph(0), method)
    assert list(td.bags) == []
    assert td.edges.shape == (0, 2)
    td.validate(to_graph(nx.empty_graph(0)))


@ALL_METHODS
@given(graph=strategies.graphs(max_nodes=12), seed=st.sampled_from([0, 0, 1, 2]), restarts=st.sampled_from([1, 1, 3]))
@settings(deadline=None, max_examples=60)
def test_every_method_is_valid(method: str, graph: nx.Graph, seed: int, restarts: int) -> None:
    td = decompose(graph, method, seed=seed, restarts=restarts)
    bags, edges = parts_of(td)
    check_decomposition(len(graph), graph.edges, bags, edges)
    assert all(bag == tuple(sorted(bag)) for bag in bags)
    assert td.width == width(bags)
    td.validate(to_graph(graph))


@pytest.mark.parametrize("method", ["min_fill", "min_degree", "junction_tree", "best"])
@pytest.mark.parametrize("number", range(6))
def test_every_method_is_valid_on_larger_graphs(method: str, number: int) -> None:
    n = 30 + 40 * number
    graph = nx.gnp_random_graph(n, 4 / n, seed=number)
    check_decomposition(n, graph.edges, *parts_of(decompose(graph, method)))


@ALL_METHODS
@given(graph=strategies.graphs(max_nodes=10))
@settings(deadline=None, max_examples=40)
def test_treewidth_lies_between_lower_bound_and_width(method: str, graph: nx.Graph) -> None:
    td, exact = decompose(graph, method), treewidth(len(graph), graph.edges)
    assert td.lower_bound <= exact <= td.width
    assert td.optimal == (td.lower_bound == td.width)


@given(graph=strategies.graphs(max_nodes=10))
@settings(deadline=None, max_examples=80)
def test_exact_is_the_treewidth(graph: nx.Graph) -> None:
    td = decompose(graph, "exact")
    assert (td.width, td.optimal) == (treewidth(len(graph), graph.edges), True)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (nx.petersen_graph(), 4),
        (nx.icosahedral_graph(), 6),
        (nx.dodecahedral_graph(), 6),
        (nx.heawood_graph(), 5),
        (nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5)), 4),
        (nx.complete_bipartite_graph(4, 7), 4),
        (nx.hypercube_graph(3), 3),
    ],
    ids=["petersen", "icosahedron", "dodecahedron", "heawood", "grid", "bipartite", "cube"],
)
def test_exact_on_named_graphs(graph: nx.Graph, expected: int) -> None:
    graph = nx.convert_node_labels_to_integers(graph)
    td = decompose(graph, "exact")
    assert (td.width, td.lower_bound, td.optimal) == (expected, expected, True)
    check_decomposition(len(graph), graph.edges, *parts_of(td))


@given(graph=strategies.graphs(max_nodes=10), data=st.data())
@settings(deadline=None, max_examples=100)
def test_any_elimination_order_is_valid(graph: nx.Graph, data: st.DataObject) -> None:
    """Among them those where a bag absorbs its parent while contained bags are dropped."""
    order = data.draw(st.permutations(range(len(graph))))
    td = nt.TreeDecomposition.from_elimination_order(to_graph(graph), np.array(order, dtype=np.int64))
    check_decomposition(len(graph), graph.edges, *parts_of(td))
    assert td.width == elimination_width(len(graph), graph.edges, order)


@pytest.mark.parametrize("method", ["min_fill", "min_degree", "junction_tree", "exact"])
@given(graph=strategies.graphs(max_nodes=10), seed=st.integers(0, 5))
@settings(deadline=None, max_examples=20)
def test_same_seed_same_decomposition(method: str, graph: nx.Graph, seed: int) -> None:
    assert parts_of(decompose(graph, method, seed=seed)) == parts_of(decompose(graph, method, seed=seed))


@pytest.mark.parametrize(
    ("message", "bags", "edges"),
    [
        (r"(?i)range|num_nodes|vertex|node", [(0, 1), (1, 2), (2, 3, 4)], PATH_EDGES),
        (r"(?i)range|num_nodes|vertex|node|negative", [(-1, 0, 1), (1, 2), (2, 3)], PATH_EDGES),
        (r"(?i)range|edge|bag", PATH_BAGS, [(0, 1), (1, 3)]),
        (r"(?i)forest|tree|cycle", PATH_BAGS, [(0, 1), (1, 2), (2, 0)]),
        (r"(?i)cover|vertex|node", [(0, 1), (1, 2)], [(0, 1)]),
        (r"(?i)edge", [(0, 1), (1, 2), (3,)], PATH_EDGES),
        (r"(?i)connect", PATH_BAGS, [(0, 1)]),
        (r"(?i)connect", PATH_BAGS, [(0, 2), (1, 2)]),
    ],
    ids=["above n", "negative", "no such bag", "cycle", "vertex cover", "edge cover", "lost link", "wrong link"],
)
def test_error_names_the_property(message: str, bags: list[tuple[int, ...]], edges: list[tuple[int, int]]) -> None:
    assert first_violation(4, PATH.edges, bags, edges) is not None
    with pytest.raises(nt.InvalidDecompositionError, match=message):
        make(bags, edges, num_nodes=4).validate(to_graph(PATH))


def test_decomposition_of_a_graph_of_another_size_is_refused() -> None:
    td = make(PATH_BAGS, PATH_EDGES, num_nodes=4)
    td.validate(to_graph(PATH))
    with pytest.raises(nt.InvalidDecompositionError):
        td.validate(to_graph(nx.path_graph(5)))


@st.composite
def corrupted(draw: st.DrawFn, bags: list[tuple[int, ...]], edges: list[tuple[int, int]], n: int) -> Parts:
    """One change to a decomposition, which may or may not leave it valid."""
    bags, edges = list(bags), list(edges)
    i, j = draw(st.integers(0, len(bags) - 1)), draw(st.integers(0, len(bags) - 1))
    v = draw(st.integers(0, n - 1))
    linked = {frozenset(edge) for edge in edges}
    change = draw(
        st.sampled_from(["drop vertex", "add vertex", "drop edge", "add edge", "rewire", "swap", "range", "no bag"])
    )
    if change == "drop vertex" and len(bags[i]) > 1:
        dropped = draw(st.sampled_from(bags[i]))
        bags[i] = tuple(u for u in bags[i] if u != dropped)
    elif change == "add vertex":
        bags[i] = tuple(sorted({*bags[i], v}))
    elif change == "drop edge" and edges:
        edges.pop(draw(st.integers(0, len(edges) - 1)))
    elif change == "add edge" and i != j and frozenset((i, j)) not in linked:
        edges.append((i, j))
    elif change == "rewire" and edges and i != j and frozenset((i, j)) not in linked:
        edges[draw(st.integers(0, len(edges) - 1))] = (i, j)
    elif change == "swap":
        bags[i], bags[j] = bags[j], bags[i]
    elif change == "range":
        bags[i] = (*bags[i], n + v)
    elif change == "no bag" and edges:
        edges[-1] = (edges[-1][0], len(bags) + i)
    return bags, edges


@given(graph=strategies.graphs(max_nodes=8), data=st.data())
@settings(deadline=None, max_examples=300)
def test_validate_refuses_what_the_definition_refuses(graph: nx.Graph, data: st.DataObject) -> None:
    n = len(graph)
    bags, edges = data.draw(corrupted(*parts_of(decompose(graph, "min_fill")), n))
    if is_tree_decomposition(n, graph.edges, bags, edges):
        make(bags, edges, n).validate(to_graph(graph))
    else:
        with pytest.raises(nt.InvalidDecompositionError):
            make(bags, edges, n).validate(to_graph(graph))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_td_files_are_read_as_by_the_plain_reader(tmp_path: Path, suffix: str) -> None:
    graph = nx.petersen_graph()
    td = decompose(graph, "min_fill")
    td.write_td(tmp_path / f"petersen.td{suffix}")
    n, bags, edges = read_td(tmp_path / f"petersen.td{suffix}")
    assert (n, bags, sorted(map(sorted, edges))) == (10, parts_of(td)[0], sorted(map(sorted, parts_of(td)[1])))
    assert parts_of(nt.TreeDecomposition.read_td(tmp_path / f"petersen.td{suffix}"))[0] == bags


@given(graph=strategies.graphs(max_nodes=8))
@settings(deadline=None, max_examples=30)
def test_written_files_are_tree_decompositions(graph: nx.Graph, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("td") / "graph.td"
    decompose(graph, "min_fill").write_td(path)
    n, bags, edges = read_td(path)
    assert first_violation(n, graph.edges, bags, edges) is None
