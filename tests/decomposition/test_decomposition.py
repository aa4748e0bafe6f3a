"""TreeDecomposition: the value, its bags, what validate says, and elimination orders."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest

import neuraltrees as nt

SQUARE = nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]])
PATH = nt.Graph([[0, 1, 2], [1, 2, 3]])


def square() -> nt.TreeDecomposition:
    return nt.TreeDecomposition([{3, 1, 0}, [3, 2, 1]], edges=[(0, 1)])


def test_bags_are_sorted_tuples() -> None:
    td = square()
    assert list(td.bags) == [(0, 1, 3), (1, 2, 3)]
    assert td.edges.tolist() == [[0, 1]]
    assert td.num_nodes == 4
    td.validate(SQUARE)


@pytest.mark.parametrize(
    "bags",
    [
        [np.array([3, 1, 0]), np.array([3, 2, 1], dtype=np.uint8)],
        [range(0, 4, 3), (1, 2, 3)],
        {(0, 1, 3): "first", (3, 2, 1): "second"},
    ],
    ids=["arrays", "a range", "keys"],
)
def test_bags_come_as_any_iterables(bags: Any) -> None:
    td = nt.TreeDecomposition(bags, np.array([[0, 1]], dtype=np.int64))
    assert td.bags[1] == (1, 2, 3)
    assert (td.bag_ptr.dtype, td.bag_nodes.dtype, td.edges.dtype) == (np.int64, np.int32, np.int32)


def test_bags_come_from_a_generator() -> None:
    assert nt.TreeDecomposition((v for v in (u, u + 1)) for u in range(3)).bags == [(0, 1), (1, 2), (2, 3)]


def test_arrays() -> None:
    td = nt.TreeDecomposition([(0, 1), (), (1, 2, 3)], edges=[(0, 2), (2, 1)])
    assert td.bag_ptr.tolist() == [0, 2, 2, 5]
    assert td.bag_nodes.tolist() == [0, 1, 1, 2, 3]
    assert td.edges.tolist() == [[0, 2], [2, 1]]


@pytest.mark.parametrize("edges", [(), [], np.zeros((0, 2)), np.zeros((0, 2), dtype=np.int32)])
def test_without_edges(edges: Any) -> None:
    td = nt.TreeDecomposition([(0, 1)], edges)
    assert td.edges.shape == (0, 2)
    assert td.edges.dtype == np.int32


def test_without_bags() -> None:
    td = nt.TreeDecomposition([])
    assert (td.num_nodes, len(td.bags), td.width, td.lower_bound, td.optimal) == (0, 0, -1, -1, True)
    td.validate(nt.Graph([[], []]))


def test_width_and_lower_bound() -> None:
    td = square()
    assert (td.width, td.lower_bound, td.optimal) == (2, 0, False)
    proven = nt.TreeDecomposition(td.bags, td.edges, lower_bound=2)
    assert (proven.width, proven.lower_bound, proven.optimal) == (2, 2, True)


def test_number_of_nodes_may_exceed_the_bags() -> None:
    assert nt.TreeDecomposition([(0, 1)]).num_nodes == 2
    assert nt.TreeDecomposition([(0, 1)], num_nodes=5).num_nodes == 5


def test_repr() -> None:
    assert repr(square()) == "TreeDecomposition(num_nodes=4, num_bags=2, width=2, lower_bound=0)"


def test_bags_are_a_sequence() -> None:
    bags = nt.TreeDecomposition([(0,), (0, 1), (1, 2), (2, 3)]).bags
    assert isinstance(bags, Sequence)
    assert len(bags) == 4
    assert (bags[0], bags[3], bags[-1], bags[-4]) == ((0,), (2, 3), (2, 3), (0,))
    assert (bags[1:3], bags[::-2], bags[9:]) == ([(0, 1), (1, 2)], [(2, 3), (0, 1)], [])
    assert (1, 2) in bags
    assert bags.index((1, 2)) == 2
    assert list(reversed(bags)) == [(2, 3), (1, 2), (0, 1), (0,)]
    assert all(type(node) is int for bag in bags for node in bag)


@pytest.mark.parametrize("index", [4, -5])
def test_bag_that_is_not_there(index: int) -> None:
    bags = nt.TreeDecomposition([(0,), (0, 1), (1, 2), (2, 3)]).bags
    with pytest.raises(IndexError):
        bags[index]


def test_bags_are_equal_to_any_sequence_of_the_same_tuples() -> None:
    bags = square().bags
    assert bags == [(0, 1, 3), (1, 2, 3)]
    assert bags == ((0, 1, 3), (1, 2, 3))
    assert bags == square().bags
    assert bags != [(0, 1, 3)]
    assert bags != [(1, 2, 3), (0, 1, 3)]
    assert bags != {(0, 1, 3), (1, 2, 3)}
    with pytest.raises(TypeError, match="unhashable"):
        hash(bags)


def test_repr_of_bags_shows_the_first_ten() -> None:
    assert repr(square().bags) == "[(0, 1, 3), (1, 2, 3)]"
    assert repr(nt.TreeDecomposition([]).bags) == "[]"
    ten, eleven = (repr(nt.TreeDecomposition([(v,) for v in range(n)]).bags) for n in (10, 11))
    assert ten.endswith("(9,)]")
    assert eleven == f"{ten[:-1]}, …]"


def test_equality_and_hash() -> None:
    assert square() == square()
    assert hash(square()) == hash(square())
    others = [
        nt.TreeDecomposition(square().bags),
        nt.TreeDecomposition(square().bags, [(1, 0)]),
        nt.TreeDecomposition(square().bags, [(0, 1)], num_nodes=5),
        nt.TreeDecomposition([(0, 1, 3), (0, 2, 3)], [(0, 1)]),
        nt.TreeDecomposition([(0, 1), (1, 2, 3)], [(0, 1)]),
    ]
    assert len({square(), *others}) == 6
    assert square() != "square"


@pytest.mark.parametrize("name", ["bag_ptr", "bag_nodes", "edges"])
def test_arrays_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(square(), name)[0] = 1


@pytest.mark.parametrize("name", ["num_nodes", "lower_bound", "edges", "width", "new"])
def test_attributes_are_frozen(name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(square(), name, 1)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    td = nt.TreeDecomposition(square().bags, square().edges, lower_bound=2)
    again = pickle.loads(pickle.dumps(td, protocol))
    assert again == td
    assert (again.lower_bound, again.bags) == (2, td.bags)
    assert copy.deepcopy(td) == td


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda td: pickle.loads(pickle.dumps(td, 4))])
def test_copies_are_read_only_too(copied: Callable[[nt.TreeDecomposition], nt.TreeDecomposition]) -> None:
    assert not copied(square()).edges.flags.writeable


def test_edges_given_as_an_array_stay_the_callers() -> None:
    edges = np.array([[0, 1]], dtype=np.int32)
    td = nt.TreeDecomposition([(0, 1), (1, 2)], edges)
    edges[0] = 1
    assert td.edges.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("error", "message", "bags", "edges"),
    [
        (nt.InvalidDecompositionError, r"distinct nodes in a bag; bag 1 holds one twice", [(0,), (1, 2, 1)], []),
        (nt.InvalidDecompositionError, r"nodes between 0 and 3; got 4 in bag 1", [(0,), (1, 4)], []),
        (nt.InvalidDecompositionError, r"nodes between 0 and 3; got -1 in bag 0", [(0, -1), (1,)], []),
        (nt.InvalidDecompositionError, r"edges between bags 0 and 1; got 2", [(0,), (1,)], [(0, 2)]),
        (nt.InvalidDecompositionError, r"edges between bags 0 and 1; got -1", [(0,), (1,)], [(0, -1)]),
        (nt.InputError, r"bags of integers; got float64 in bag 1", [(0,), (1.0,)], []),
        (nt.InputError, r"bags of integers; got bool in bag 0", [(True,)], []),
        (nt.InputError, r"bags of integers; got <U1 in bag 0", [("a",)], []),
        (nt.InputError, r"edges as pairs of bag numbers; got shape \(2,\) of int64", [(0,), (1,)], [0, 1]),
        (nt.InputError, r"edges as pairs of bag numbers; got shape \(1, 3\)", [(0,), (1,)], [(0, 1, 1)]),
        (nt.InputError, r"edges as pairs of bag numbers; got shape \(1, 2\) of float64", [(0,), (1,)], [(0.0, 1.0)]),
    ],
)
def test_refused_parts(error: type[Exception], message: str, bags: Any, edges: Any) -> None:
    with pytest.raises(error, match=f"Expected {message}"):
        nt.TreeDecomposition(bags, edges, num_nodes=4)


def test_node_beyond_32_bits_is_refused() -> None:
    with pytest.raises(nt.InputError, match="4294967296"):
        nt.TreeDecomposition([(2**32,)])


@pytest.mark.parametrize("num_nodes", [-1, 2.0, True])
def test_number_of_nodes_that_is_none_is_refused(num_nodes: Any) -> None:
    with pytest.raises(nt.InputError, match="num_nodes"):
        nt.TreeDecomposition([], num_nodes=num_nodes)


@pytest.mark.parametrize(
    ("message", "bags", "edges"),
    [
        ("node 2 is in no bag", [(0, 1), (1, 3)], [(0, 1)]),
        ("edge 2-3 is in no bag", [(0, 1), (1, 2), (3,)], [(0, 1), (1, 2)]),
        (
            "bags that hold node 1 are not connected: bags 0 and 2 are apart",
            [(0, 1), (3,), (1, 2, 3)],
            [(0, 1), (1, 2)],
        ),
        ("node 2 are not connected: bags 1 and 2 are apart", [(0, 1), (1, 2), (2, 3)], [(0, 1)]),
        ("edge between bags 2 and 0 closes a cycle", [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 0)]),
        ("edge between bags 1 and 0 closes a cycle", [(0, 1, 2), (2, 3)], [(0, 1), (1, 0)]),
        ("edge between bags 0 and 0 closes a cycle", [(0, 1, 2, 3)], [(0, 0)]),
    ],
    ids=["node", "edge", "not connected", "not joined", "cycle", "double edge", "loop"],
)
def test_validate_names_the_property_and_the_place(message: str, bags: Any, edges: Any) -> None:
    td = nt.TreeDecomposition(bags, edges, num_nodes=4)
    with pytest.raises(nt.InvalidDecompositionError, match=f"Expected a tree decomposition of this graph; .*{message}"):
        td.validate(PATH)


def test_validate_refuses_a_graph_of_another_size() -> None:
    with pytest.raises(nt.InvalidDecompositionError, match=r"graph of 4 nodes; got one (for|of) 5 nodes"):
        nt.TreeDecomposition([(0, 1, 2, 3, 4)]).validate(PATH)


def test_validate_takes_every_tree_decomposition() -> None:
    """Bags inside others, empty bags and components in one tree are all allowed by the definition."""
    nt.TreeDecomposition([(0, 1), (1,), (1, 2), (2, 3), ()], [(0, 1), (1, 2), (2, 3), (3, 4)]).validate(PATH)
    nt.TreeDecomposition([(0,), (1,)], [(0, 1)]).validate(nt.Graph([[], []], num_nodes=2))
    nt.TreeDecomposition([(0,), (1,)]).validate(nt.Graph([[], []], num_nodes=2))
    nt.TreeDecomposition([()]).validate(nt.Graph([[], []]))


def test_elimination_order_of_a_square() -> None:
    """Node 0 leaves {0,1,3} and the chord 1-3; then node 1 leaves {1,2,3}, which holds what is left."""
    td = nt.TreeDecomposition.from_elimination_order(SQUARE, [0, 1, 2, 3])
    assert td.bags == [(1, 2, 3), (0, 1, 3)]
    assert td.edges.tolist() == [[0, 1]]
    assert (td.num_nodes, td.width) == (4, 2)
    td.validate(SQUARE)


def test_elimination_order_that_starts_in_the_middle() -> None:
    """The hub of a star goes first, and everything ends up in one bag."""
    star = nt.Graph([[0, 0, 0], [1, 2, 3]])
    assert nt.TreeDecomposition.from_elimination_order(star, [0, 1, 2, 3]).bags == [(0, 1, 2, 3)]
    leaves_first = nt.TreeDecomposition.from_elimination_order(star, np.array([3, 2, 1, 0], dtype=np.uint8))
    assert sorted(leaves_first.bags) == [(0, 1), (0, 2), (0, 3)]


def test_elimination_order_of_a_forest() -> None:
    td = nt.TreeDecomposition.from_elimination_order(nt.Graph([[0], [2]], num_nodes=4), [0, 1, 2, 3])
    assert sorted(td.bags) == [(0, 2), (1,), (3,)]
    assert td.edges.shape == (0, 2)
    assert nt.TreeDecomposition.from_elimination_order(nt.Graph([[], []]), []) == nt.TreeDecomposition([])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 1, 2], "Expected an order of all 4 nodes; got 3 of them"),
        ([], "Expected an order of all 4 nodes; got 0 of them"),
        ([0, 1, 2, 2], "Expected distinct nodes; got one twice"),
        ([0, 1, 2, 4], "Expected nodes between 0 and 3; got 4"),
        ([-1, 0, 1, 2], "Expected nodes between 0 and 3; got -1"),
        ([0.0, 1.0, 2.0, 3.0], "Expected nodes of an integer type; got float64"),
        ([[0, 1], [2, 3]], r"Expected nodes as a flat list; got shape \(2, 2\)"),
    ],
    ids=["short", "empty", "twice", "too high", "negative", "floats", "nested"],
)
def test_refused_elimination_orders(order: Any, message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        nt.TreeDecomposition.from_elimination_order(SQUARE, order)


def test_decomposition_of_networkx_is_valid() -> None:
    _, tree = nx.algorithms.approximation.treewidth_min_degree(nx.petersen_graph())
    bags = list(tree)
    td = nt.TreeDecomposition(bags, [(bags.index(a), bags.index(b)) for a, b in tree.edges])
    td.validate(nt.Graph.from_networkx(nx.petersen_graph()))
    assert td.width >= 4
