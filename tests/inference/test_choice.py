"""Decompositions by the number of their states."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees._core import native
from neuraltrees.inference import JunctionTree, MarkovNetwork
from neuraltrees.inference.choice import choose_decomposition
from neuraltrees.inference.structure import Structure
from tests.oracle.strategies import graphs


def states(td: nt.TreeDecomposition, cardinalities: list[int]) -> int:
    return sum(int(np.prod([cardinalities[v] for v in bag], dtype=object)) for bag in td.bags)


def test_a_wider_decomposition_may_have_fewer_states() -> None:
    """A cycle through two variables of many states: the chord between the others makes the same width, fewer states."""
    cycle = nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]])
    assert sorted(choose_decomposition(cycle, [50, 2, 50, 2]).bags) == [(0, 1, 3), (1, 2, 3)]
    assert sorted(choose_decomposition(cycle, [2, 50, 2, 50]).bags) == [(0, 1, 2), (0, 2, 3)]


def test_more_states_than_a_float_can_count() -> None:
    """A cocktail-party graph: it has no simplicial vertex, and every bag has more than 2^1024 states."""
    party = nt.Graph.from_networkx(nx.complete_multipartite_graph(*[2] * 22))
    huge = [2**31 - 1] * 44
    choose_decomposition(party, huge).validate(party)
    pairs = [tuple(sorted(edge)) for edge in party.edge_index.t().tolist() if edge[0] < edge[1]]
    steps = native.JunctionSteps.search(*Structure(tuple(huge), tuple(pairs)).arrays, {}, 0)
    assert steps.states == np.inf and steps.num_tables == 0


@given(network=graphs(max_nodes=12), data=st.data())
@settings(deadline=None, max_examples=100)
def test_valid_and_hardly_ever_larger_than_min_fill(network: nx.Graph, data: st.DataObject) -> None:
    graph = nt.Graph.from_networkx(network)
    cardinalities = data.draw(
        st.lists(st.integers(1, 9), min_size=graph.num_nodes, max_size=graph.num_nodes), label="cardinalities"
    )
    td = choose_decomposition(graph, cardinalities)
    td.validate(graph)
    plain = nt.decompose(graph, restarts=1)
    assert states(td, cardinalities) <= 1.25 * states(plain, cardinalities)  # both are greedy


def test_the_same_seed_gives_the_same() -> None:
    graph = nt.Graph.from_networkx(nx.gnm_random_graph(60, 150, seed=1))
    assert choose_decomposition(graph, [3] * 60, seed=5) == choose_decomposition(graph, [3] * 60, seed=5)


def test_more_states_than_a_float_holds() -> None:
    graph = nt.Graph.from_networkx(nx.complete_graph(40))
    assert choose_decomposition(graph, [2**31 - 1] * 40).width == 39
    pairs = [(a, b) for a in range(200) for b in range(a)]
    model = MarkovNetwork([60] * 200, pairs, [torch.zeros(1, 1).expand(60, 60)] * len(pairs))
    with pytest.raises(nt.ModelTooLargeError, match="needs more than 10\\^30 bytes"):
        JunctionTree.of(model)


def test_unknown_methods_and_seeds_are_refused() -> None:
    with pytest.raises(nt.InputError, match="Expected a method out of states, min_fill"):
        choose_decomposition(nt.Graph([[0], [1]]), [2, 2], "magic")  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match="Expected a seed between 0"):
        choose_decomposition(nt.Graph([[0], [1]]), [2, 2], seed=-1)


def test_the_core_wants_the_states_of_every_node() -> None:
    graph = nt.Graph([[0], [1]])
    with pytest.raises(nt.InputError, match="Expected the states of every node"):
        native.least_states(graph.indptr, graph.indices, np.ones(3), 0)
