"""The columns of H-trees that the core computes: those of the oracle."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings

from neuraltrees import build_htree
from neuraltrees._core import native
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.scenes import Scene, typed_graph
from neuraltrees.scenes.pieces import take_apart
from neuraltrees.scenes.tree_part import build_part
from tests.oracle.pieces import take_apart as slow_pieces
from tests.oracle.tree_part import typed_part
from tests.scenes.scenes import building, scenes


def check(scene: Scene) -> None:
    graph = typed_graph(scene)
    pieces = take_apart(graph)
    for field in fields(pieces):
        np.testing.assert_array_equal(getattr(pieces, field.name), getattr(slow_pieces(graph), field.name), field.name)
    members, types = pieces.members, len(graph.types)
    node_type, position, size = graph.node_type[members], graph.positions[members], graph.sizes[members]
    part = build_part(node_type, position, size, pieces.ends, types, seed=0, max_nodes=10**6)
    tree = build_htree(Graph(np.ascontiguousarray(pieces.ends.T), num_nodes=len(members)), seed=0)
    for name, expected in typed_part(node_type, position, pieces.ends, types, tree).items():
        found = getattr(part, name)
        assert found.dtype == expected.dtype, name
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=name)


@settings(deadline=None, max_examples=100)
@given(scenes())
def test_columns_of_any_scene(scene: Scene) -> None:
    check(scene)


def test_columns_of_a_building() -> None:
    check(building("grid", 20, 15))


def test_edges_to_no_node_are_refused() -> None:
    with pytest.raises(InputError, match="between nodes"):
        native.take_apart(np.array([[0, 1]]), np.zeros(1, np.uint8))


def test_arrays_that_do_not_fit_are_refused() -> None:
    one, none = np.zeros(1, np.int64), np.zeros(0, np.int64)
    good = (1, one, np.zeros((1, 3)), np.zeros((0, 2), np.int64), one - 1, one - 1, np.array([0, 1]), one, none, none)
    native.typed_part(*good)
    wrong = {
        0: 0,
        1: one + 1,
        2: np.zeros((2, 3)),
        3: np.ones((1, 2), np.int64),
        4: one + 1,
        6: np.array([0, 2]),
        7: one - 1,
    }
    for place, value in wrong.items():
        with pytest.raises(InputError, match="do not fit"):
            native.typed_part(*(value if i == place else each for i, each in enumerate(good)))
