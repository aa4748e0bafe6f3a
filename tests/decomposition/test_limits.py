"""Time limits, shortcuts where fill explodes, and refusals before memory is spent."""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.inference.choice import choose_decomposition
from tests.oracle import strategies
from tests.oracle.bridge import parts_of, to_graph
from tests.oracle.decomposition import check_decomposition

METHODS = ("min_fill", "min_degree", "junction_tree", "exact", "best")


def random_graph(nodes: int, edges: int) -> nt.Graph:
    return nt.Graph(np.random.default_rng(0).integers(0, nodes, (2, edges)), num_nodes=nodes)


@given(
    graph=strategies.graphs(max_nodes=20),
    method=st.sampled_from(METHODS),
    seconds=st.sampled_from([1e-9, 1e-5, 1e-4, 1e-3, 1e-2]),
)
@settings(deadline=None, max_examples=150)
def test_any_time_limit_gives_a_valid_decomposition(graph: nx.Graph, method: str, seconds: float) -> None:
    td = nt.decompose(to_graph(graph), method, time_limit=seconds)
    check_decomposition(len(graph), graph.edges, *parts_of(td))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seconds", [1e-9, 1e-3, 0.05])
def test_large_components_are_valid_after_any_time(method: str, seconds: float) -> None:
    """Sparse lists, rows of bits, and trees hanging off them; and a tree built on the result is one of this graph."""
    graph = nt.Graph.union(
        [random_graph(700, 1400), random_graph(90, 900), to_graph(nx.path_graph(70)), to_graph(nx.star_graph(3))]
    )
    td = nt.decompose(graph, method, time_limit=seconds)
    td.validate(graph)
    forest = nt.build_htree(graph, td, threads=1)
    forest.validate(graph)


def test_best_is_valid_whenever_it_is_stopped() -> None:
    """Its search may be stopped before it has any order to improve."""
    graph = nt.Graph.union([random_graph(700, 1400), random_graph(90, 900)])
    for turn in range(120):
        nt.decompose(graph, "best", seed=turn % 3, time_limit=1e-4 * (1 + turn % 40)).validate(graph)


def test_no_time_is_said_in_a_note_and_not_in_a_warning() -> None:
    td = nt.decompose(random_graph(2000, 8000), time_limit=1e-9)
    assert td.note == (
        "The dense rest of the graph is in one bag, to keep the time limit of min_fill; the decomposition is valid, "
        "but wide."
    )
    assert pickle.loads(pickle.dumps(td)).note == td.note
    assert nt.decompose(to_graph(nx.petersen_graph()), time_limit=60).note is None


def test_exploding_fill_ends_in_a_cheaper_rule_with_a_warning() -> None:
    graph = random_graph(12000, 48000)
    with pytest.warns(nt.NeuralTreesWarning, match="since the fill of min_fill explodes"):
        td = nt.decompose(graph)
    td.validate(graph)
    assert td.note is not None
    assert td.width < 8000


@given(graph=strategies.graphs(max_nodes=24), seed=st.integers(0, 3), restarts=st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_best_is_never_wider_than_min_fill(graph: nx.Graph, seed: int, restarts: int) -> None:
    ours = to_graph(graph)
    plain = nt.decompose(ours, seed=seed, restarts=restarts)
    assert nt.decompose(ours, "best", seed=seed, restarts=restarts, time_limit=2).width <= plain.width


@pytest.mark.parametrize("number", range(3))
def test_best_is_never_wider_than_min_fill_on_larger_graphs(number: int) -> None:
    graph = to_graph(nx.gnm_random_graph(1500, 2400, seed=number))
    assert nt.decompose(graph, "best", time_limit=5).width <= nt.decompose(graph).width


@pytest.mark.parametrize("method", METHODS)
def test_time_limit_is_kept_on_a_large_random_graph(method: str) -> None:
    """A wide bound against hanging: most of it is for busy machines."""
    graph = random_graph(100_000, 300_000)
    start = time.perf_counter()
    td = nt.decompose(graph, method, time_limit=0.5)
    assert time.perf_counter() - start < 10
    td.validate(graph)


def test_greedy_methods_report_the_bag_of_what_is_left() -> None:
    reports: list[tuple[int, int]] = []
    graph = random_graph(4000, 12000)
    td = nt.decompose(graph, restarts=1, progress=lambda *bounds: reports.append(bounds))
    assert all(lower <= td.width <= width < graph.num_nodes for lower, width in reports)
    assert reports and [width for _, width in reports] == sorted((width for _, width in reports), reverse=True)


@pytest.mark.parametrize("nodes", [2**31 - 2, 2**30])
def test_header_of_billions_of_nodes_is_refused_before_memory_is_allocated(nodes: int, tmp_path: Path) -> None:
    path = tmp_path / "huge.gr"
    path.write_text(f"p tw {nodes} 1\n1 2\n")
    with pytest.raises(nt.ParseError, match=rf"huge.gr: the header: .*got {nodes} nodes and 1 edges.*without gaps"):
        nt.Graph.read_gr(path)


def test_ids_with_huge_gaps_are_refused_before_memory_is_allocated() -> None:
    with pytest.raises(nt.InputError, match=r"got 2147483000 nodes and 1 edges.*GiB.*without gaps"):
        nt.Graph([[0], [2147482999]])


def test_tree_of_many_wide_bags_is_refused_early() -> None:
    """It would have 538,231 nodes."""
    graph = to_graph(nx.barabasi_albert_graph(2000, 4, seed=1))
    td = nt.decompose(graph, restarts=1)
    start = time.perf_counter()
    with pytest.raises(nt.TreeTooLargeError, match=r"needs more than .* Bound its treewidth first") as error:
        nt.build_htree(graph, td, restarts=1, max_nodes=100_000)
    assert time.perf_counter() - start < 20
    assert 100_000 < error.value.nodes <= 538_231 and not error.value.exact
    assert pickle.loads(pickle.dumps(error.value)).args == error.value.args


def test_large_tree_of_bounded_width_says_how_many_nodes_to_allow() -> None:
    """No advice to bound the treewidth where that was just done."""
    sample = nt.sample_bounded_treewidth(random_graph(5000, 15000), k=4)
    with pytest.raises(nt.TreeTooLargeError) as error:
        nt.build_htree(*sample, max_nodes=10_000)
    assert f"Pass max_nodes={error.value.nodes} if that fits in memory" in str(error.value)
    assert "sample_bounded_treewidth" not in str(error.value)
    assert nt.build_htree(*sample, max_nodes=error.value.nodes).num_nodes == error.value.nodes


def test_very_large_tree_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuraltrees.htree.build.LARGE_TREE", 10)
    with pytest.warns(nt.NeuralTreesWarning, match=r"The H-tree has 18 nodes and takes about 0.0 GiB\."):
        nt.build_htree(nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]]))


def test_graph_without_edges_has_a_bag_per_node() -> None:
    assert choose_decomposition(nt.Graph(np.zeros((2, 0), int), num_nodes=3), [2, 3, 4]).bags == [(0,), (1,), (2,)]
    assert len(choose_decomposition(nt.Graph(np.zeros((2, 0), int), num_nodes=0), []).bags) == 0
