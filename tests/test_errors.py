"""An error says what was expected and what came; its class says what kind it is."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import neuraltrees as nt
from neuraltrees._core import native

PATH = nt.Graph([[0, 1, 2], [1, 2, 3]])


@pytest.mark.parametrize(
    ("child", "parents"),
    [
        (nt.InputError, (nt.NeuralTreesError, ValueError)),
        (nt.ParseError, (nt.InputError,)),
        (nt.InvalidDecompositionError, (nt.InputError,)),
        (nt.InvalidHTreeError, (nt.InputError,)),
        (nt.TreeTooLargeError, (nt.NeuralTreesError, MemoryError)),
        (nt.ApproximationError, (nt.NeuralTreesError, ValueError)),
        (nt.NativeCoreError, (nt.NeuralTreesError, ImportError)),
    ],
)
def test_every_error_is_one_of_ours_and_a_builtin_one(child: type, parents: tuple[type, ...]) -> None:
    assert issubclass(child, nt.NeuralTreesError)
    assert all(issubclass(child, parent) for parent in parents)


def test_tree_too_large_says_limit_treewidth_and_remedy() -> None:
    error = nt.TreeTooLargeError(1_000_000, 12)
    assert (error.limit, error.width) == (1_000_000, 12)
    for words in ("at most 1,000,000 nodes", "treewidth 12", "sample_bounded_treewidth(graph, k=4)", "max_nodes"):
        assert words in str(error)


def test_tree_too_large_comes_back_from_another_process() -> None:
    again = pickle.loads(pickle.dumps(nt.TreeTooLargeError(7, 3)))
    assert (type(again), again.limit, again.width) == (nt.TreeTooLargeError, 7, 3)
    assert str(again) == str(nt.TreeTooLargeError(7, 3))


EDGES: dict[str, tuple[Any, str]] = {
    "floats": (np.array([[0.0], [1.0]]), "Expected edge_index of an integer type; got float64"),
    "torch floats": (torch.zeros(2, 1), "Expected edge_index of an integer type; got float32"),
    "no floats": (np.zeros((2, 0)), "Expected edge_index of an integer type; got float64"),
    "bools": (torch.tensor([[True], [False]]), "Expected edge_index of an integer type; got bool"),
    "words": ([["a"], ["b"]], "Expected edge_index of an integer type; got <U1"),
    "beyond any integer": ([[2**64], [0]], "Expected edge_index of an integer type; got object"),
    "flat": ([0, 1], r"Expected edge_index of shape \(2, m\); got \(2,\)"),
    "flat and empty": ([], r"Expected edge_index of shape \(2, m\); got \(0,\)"),
    "pairs": ([[0, 1], [1, 2], [2, 3]], r"Expected edge_index of shape \(2, m\); got \(3, 2\)"),
    "a box": (np.zeros((2, 2, 2), dtype=int), r"Expected edge_index of shape \(2, m\); got \(2, 2, 2\)"),
    "a number": (3, r"Expected edge_index of shape \(2, m\); got \(\)"),
    "beyond int64": (
        np.array([[2**63], [0]], dtype=np.uint64),
        r"Expected node ids below 2\^63; got 9223372036854775808",
    ),
    "beyond int32": ([[0], [2**40]], "Expected at most 2147483646 nodes.*; got 1099511627777"),
}


@pytest.mark.parametrize(("edges", "message"), EDGES.values(), ids=EDGES)
def test_edges_of_a_graph(edges: Any, message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        nt.Graph(edges)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 1], [1, -2]], "Expected node ids between 0 and 3; got -2 in edge 1"),
        ([[-1, 0], [1, 2]], "Expected node ids between 0 and 3; got -1 in edge 0"),
        ([[0, 4], [1, 2]], "Expected node ids between 0 and 3; got 4 in edge 1"),
        ([[7], [7]], "Expected node ids between 0 and 3; got 7 in edge 0"),
    ],
    ids=["negative target", "negative source", "too high", "too high in a loop"],
)
@pytest.mark.parametrize("make", [nt.Graph, nt.moralize])
def test_ids_outside_the_graph(make: Callable[..., nt.Graph], edges: list[list[int]], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        make(edges, num_nodes=4)


def test_negative_ids_where_the_number_of_nodes_is_not_given() -> None:
    with pytest.raises(nt.InputError, match="got -1 in edge 0"):
        nt.Graph([[-1], [5]])


@pytest.mark.parametrize("num_nodes", [-1, 4.0, True, "4", np.float32(4)])
def test_number_of_nodes(num_nodes: Any) -> None:
    with pytest.raises(nt.InputError, match=r"Expected num_nodes as an integer of at least 0; got .*[14T]"):
        nt.Graph([[0], [1]], num_nodes=num_nodes)


TOO_MANY = r"Expected at most 2147483646 nodes.*; got 2147483647\. Number the nodes 0, 1, 2, … without gaps, or split"


@pytest.mark.parametrize("make", [nt.Graph, nt.moralize])
def test_too_many_nodes(make: Callable[..., nt.Graph]) -> None:
    limit = native.MAX_GRAPH_NODES
    with pytest.raises(nt.InputError, match=TOO_MANY):
        make([[0], [1]], num_nodes=limit + 1)
    with pytest.raises(nt.InputError, match=TOO_MANY):
        make([[0], [limit]])


def test_too_many_nodes_in_a_decomposition() -> None:
    limit = native.MAX_GRAPH_NODES
    assert nt.TreeDecomposition([(limit - 1,)]).num_nodes == limit
    assert nt.TreeDecomposition([(0,)], num_nodes=limit).num_nodes == limit
    with pytest.raises(nt.InputError, match=rf"Expected node ids below {limit}, .*; got {limit}\. Number the nodes"):
        nt.TreeDecomposition([(limit,)])
    with pytest.raises(nt.InputError, match=TOO_MANY):
        nt.TreeDecomposition([(0,)], num_nodes=limit + 1)


@pytest.mark.parametrize("options", [([[2**63 - 1], [0]], None), ([[0], [1]], 2**63)], ids=["id", "num_nodes"])
def test_far_too_many_nodes(options: tuple[list[list[int]], int | None]) -> None:
    with pytest.raises(nt.InputError, match="got 9223372036854775808"):
        nt.Graph(*options)


@pytest.mark.parametrize("num_nodes", [2**40, 2**62])
def test_far_too_many_nodes_in_a_moral_graph(num_nodes: int) -> None:
    with pytest.raises(nt.InputError, match=f"got {num_nodes}"):
        nt.moralize([[0], [1]], num_nodes=num_nodes)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([1, 0, 1], "Expected distinct nodes; got one twice"),
        ([0, 4], "Expected nodes between 0 and 3; got 4"),
        ([-1], "Expected nodes between 0 and 3; got -1"),
        ([0.0], "Expected nodes of an integer type; got float64"),
        ([True, False, True, True], "Expected nodes of an integer type; got bool"),
        ([[0, 1]], r"Expected nodes as a flat list; got shape \(1, 2\)"),
        (np.array([2**32], dtype=np.int64), "Expected nodes between 0 and 3; got 4294967296"),
    ],
    ids=["twice", "too high", "negative", "floats", "mask", "nested", "beyond int32"],
)
def test_nodes_of_a_subgraph(nodes: Any, message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        PATH.subgraph(nodes)


@pytest.mark.parametrize("matrix", [sp.coo_array((2, 3)), sp.csr_matrix((2, 3))], ids=type)
def test_matrix_that_is_not_square(matrix: sp.sparray) -> None:
    with pytest.raises(nt.InputError, match=r"Expected a square sparse matrix; got shape \(2, 3\)"):
        nt.Graph.from_scipy(matrix)


def test_matrix_of_one_dimension() -> None:
    with pytest.raises(nt.InputError, match=r"Expected a square sparse matrix; got shape \(4,\)"):
        nt.Graph.from_scipy(sp.coo_array(np.ones(4)))


@pytest.mark.filterwarnings("ignore:.torch.jit.script.:DeprecationWarning")
@pytest.mark.parametrize("content", [{}, {"num_nodes": 3}, {"x": torch.zeros(3, 1)}], ids=["nothing", "count", "x"])
def test_data_without_edges(content: dict[str, Any]) -> None:
    from torch_geometric.data import Data

    data = Data(**content)
    with pytest.raises(nt.InputError, match=r"Expected a Data object with an edge_index; got one without"):
        nt.Graph.from_data(data)
