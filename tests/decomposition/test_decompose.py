"""decompose: its options, its promises about them, and how it is watched and stopped."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from tests.oracle import strategies
from tests.oracle.bridge import to_graph

METHODS = ("min_fill", "min_degree", "junction_tree", "exact", "best")
PETERSEN = to_graph(nx.petersen_graph())
HARD = to_graph(nx.gnp_random_graph(200, 0.1, seed=1))


def test_square() -> None:
    td = nt.decompose(nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]]))
    assert td.bags == [(1, 2, 3), (0, 1, 3)]
    assert td.edges.tolist() == [[0, 1]]
    assert (td.width, td.lower_bound, td.optimal) == (2, 2, True)


def test_components_one_after_another() -> None:
    """The lone node 1 between the edge 0-2 and the triangle 3-4-5."""
    td = nt.decompose(nt.Graph([[0, 3, 4, 5], [2, 4, 5, 3]]))
    assert td.bags == [(0, 2), (1,), (3, 4, 5)]
    assert td.edges.shape == (0, 2)
    assert (td.width, td.lower_bound) == (2, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method out of min_fill, min_degree, junction_tree, exact, best, canonical; got 'magic'"),
        ({"method": "Exact"}, "method out of .*; got 'Exact'"),
        ({"method": None}, "method out of .*; got None"),
        ({"seed": -1}, r"seed between 0 and 2\^64 - 1; got -1"),
        ({"seed": 2**64}, r"seed between 0 and 2\^64 - 1; got 18446744073709551616"),
        ({"seed": True}, r"seed between 0 and 2\^64 - 1; got True"),
        ({"seed": 1.0}, r"seed between 0 and 2\^64 - 1; got 1.0"),
        ({"restarts": 0}, "restarts as an integer of at least 1; got 0"),
        ({"restarts": 2.0}, "restarts as an integer of at least 1; got 2.0"),
        ({"restarts": True}, "restarts as an integer of at least 1; got True"),
        ({"time_limit": 0}, "time_limit of more than 0 seconds; got 0"),
        ({"time_limit": -1.5}, "time_limit of more than 0 seconds; got -1.5"),
        ({"time_limit": float("nan")}, "time_limit of more than 0 seconds; got nan"),
        ({"threads": 0}, "threads as an integer of at least 1; got 0"),
        ({"threads": -2}, "threads as an integer of at least 1; got -2"),
        ({"threads": 1.0}, "threads as an integer of at least 1; got 1.0"),
    ],
    ids=str,
)
def test_refused_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=f"Expected an? {message}|Expected {message}"):
        nt.decompose(PETERSEN, **options)


@pytest.mark.parametrize("option", ["restarts", "threads"])
def test_number_that_the_core_cannot_hold(option: str) -> None:
    with pytest.raises(nt.InputError, match=option):
        nt.decompose(PETERSEN, **{option: 2**31})


@pytest.mark.parametrize("time_limit", [1e10, float("inf")])
def test_endless_time_proves_the_optimum(time_limit: float) -> None:
    assert nt.decompose(PETERSEN, method="exact", time_limit=60).optimal
    assert nt.decompose(PETERSEN, method="exact", time_limit=time_limit).optimal


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_same_seed_same_result(method: str, seed: int) -> None:
    first, again = (nt.decompose(PETERSEN, method, seed=seed, time_limit=30) for _ in range(2))
    assert first == again
    assert first.lower_bound == again.lower_bound


@pytest.mark.parametrize("method", ["min_fill", "min_degree"])
def test_another_seed_may_break_ties_otherwise(method: str) -> None:
    assert len({nt.decompose(PETERSEN, method, seed=seed) for seed in range(8)}) > 1


@pytest.mark.parametrize("method", METHODS)
def test_number_of_threads_does_not_matter(method: str) -> None:
    union = nt.Graph.union([PETERSEN.subgraph(range(number % 10 + 1)) for number in range(200)])
    one, four = (nt.decompose(union, method, threads=threads, time_limit=5) for threads in (1, 4))
    assert one == four
    assert one.lower_bound == four.lower_bound
    one.validate(union)


@given(
    graph=strategies.graphs(max_nodes=14), method=st.sampled_from(["min_fill", "min_degree"]), seed=st.integers(0, 3)
)
@settings(deadline=None, max_examples=60)
def test_more_restarts_are_never_wider(graph: nx.Graph, method: str, seed: int) -> None:
    widths = [nt.decompose(to_graph(graph), method, seed=seed, restarts=n).width for n in (1, 2, 3, 6)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("method", ["min_fill", "min_degree"])
def test_more_restarts_find_narrower_ones(method: str) -> None:
    graphs = [to_graph(nx.gnp_random_graph(70, 0.1, seed=number)) for number in range(6)]
    few, many = ([nt.decompose(graph, method, restarts=n).width for graph in graphs] for n in (1, 30))
    assert all(a >= b for a, b in zip(few, many, strict=True))
    assert sum(many) < sum(few)


def test_best_reports_its_progress() -> None:
    reports: list[tuple[int, int]] = []
    td = nt.decompose(HARD, method="best", time_limit=0.5, progress=lambda lower, width: reports.append((lower, width)))
    assert len(reports) >= 2
    assert all(type(number) is int for report in reports for number in report)
    assert all(0 < lower <= td.width <= width for lower, width in reports)
    assert [width for _, width in reports] == sorted((width for _, width in reports), reverse=True)
    assert [lower for lower, _ in reports] == sorted(lower for lower, _ in reports)
    td.validate(HARD)


def test_exact_reports_its_progress() -> None:
    reports: list[tuple[int, int]] = []
    td = nt.decompose(HARD, "exact", time_limit=0.3, progress=lambda *report: reports.append(report))
    assert len(reports) >= 2
    assert all(lower <= td.width <= width for lower, width in reports)
    assert not td.optimal


@pytest.mark.parametrize("method", ["exact", "best"])
@pytest.mark.parametrize("call", [1, 3])
def test_error_in_progress_ends_the_search(method: str, call: int) -> None:
    calls = 0

    def progress(lower_bound: int, width: int) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise LookupError(f"stop at {width}")

    start = time.perf_counter()
    with pytest.raises(LookupError, match=r"stop at \d+"):
        nt.decompose(HARD, method, time_limit=100, progress=progress)
    assert time.perf_counter() - start < 50  # a wide bound: it ends long before its time limit
    assert calls == call


def test_progress_that_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="not callable"):
        nt.decompose(HARD, "best", time_limit=30, progress=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["exact", "best"])
def test_control_c_ends_the_search(method: str) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    start = time.perf_counter()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            nt.decompose(HARD, method, time_limit=100)
        assert 0.2 < time.perf_counter() - start < 50
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert nt.decompose(PETERSEN, method, time_limit=1).width == 4


@pytest.mark.parametrize("method", ["exact", "best"])
def test_time_limit_is_kept(method: str) -> None:
    graph = to_graph(nx.gnm_random_graph(2000, 5000, seed=0))
    start = time.perf_counter()
    td = nt.decompose(graph, method, time_limit=0.3)
    assert time.perf_counter() - start < 20  # a wide bound against hanging
    td.validate(graph)


def test_time_is_not_used_up_once_the_optimum_is_proven() -> None:
    start = time.perf_counter()
    assert nt.decompose(PETERSEN, "best", time_limit=60).optimal
    assert nt.decompose(PETERSEN, "exact", time_limit=60).optimal
    assert time.perf_counter() - start < 50


def test_search_is_never_wider_than_the_greedy_start() -> None:
    for number in range(4):
        graph = to_graph(nx.gnp_random_graph(60, 0.12, seed=number))
        assert nt.decompose(graph, "best", time_limit=0.1).width <= nt.decompose(graph, "min_fill").width


@given(graph=strategies.graphs(max_nodes=12), data=st.data())
@settings(deadline=None, max_examples=40)
def test_width_of_exact_does_not_depend_on_the_numbering(graph: nx.Graph, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(graph)))))
    ours = to_graph(graph)
    assert nt.decompose(ours, "exact").width == nt.decompose(ours.subgraph(order), "exact").width
