"""Which variables every step of an elimination joins, against doing it on a NetworkX graph."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.inference.forest.elimination import eliminate, order_of
from tests.oracle.strategies import graphs


@given(network=graphs(max_nodes=9), data=st.data())
@settings(deadline=None, max_examples=150)
def test_as_done_by_hand(network: nx.Graph, data: st.DataObject) -> None:
    graph = nt.Graph.from_networkx(network)
    order = data.draw(st.permutations(range(graph.num_nodes)), label="order")
    steps = eliminate(graph, order)
    left = graph.to_networkx()
    step = {v: i for i, v in enumerate(order)}
    height = [0] * len(order)
    for i, v in enumerate(order):
        separator = sorted((step[u] for u in left[v]), reverse=True)
        assert steps.members[steps.ptr[i] : steps.ptr[i + 1]].tolist() == separator
        assert steps.parent[i] == (separator[-1] if separator else -1)
        assert steps.height[i] == height[i]
        if separator:
            height[separator[-1]] = max(height[separator[-1]], height[i] + 1)
        left.add_edges_from(combinations(left[v], 2))
        left.remove_node(v)
    assert steps.width == max((len(steps.members[a:b]) for a, b in zip(steps.ptr, steps.ptr[1:], strict=False)))


@given(network=graphs(max_nodes=12))
@settings(deadline=None, max_examples=100)
def test_an_order_is_as_wide_as_its_decomposition(network: nx.Graph) -> None:
    graph = nt.Graph.from_networkx(network)
    td = nt.decompose(graph)
    assert eliminate(graph, order_of(td)).width <= td.width


def test_wrong_orders() -> None:
    graph = nt.Graph([[0], [1]])
    with pytest.raises(nt.InputError, match="Expected an order of all 2 variables; got 1 of them"):
        eliminate(graph, [1])
    with pytest.raises(nt.InputError, match="Expected distinct nodes"):
        eliminate(graph, [1, 1])
