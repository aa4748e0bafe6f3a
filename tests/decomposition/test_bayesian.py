"""moralize: from the graph of a Bayesian network to the graph of its Markov network."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 9) -> nx.DiGraph:
    """Any edges from lower to higher, then the nodes in any order."""
    n = draw(st.integers(1, max_nodes))
    pairs = list(combinations(range(n), 2))
    edges = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    new = draw(st.permutations(range(n)))
    dag: nx.DiGraph = nx.empty_graph(n, create_using=nx.DiGraph)
    dag.add_edges_from((new[u], new[v]) for u, v in edges)
    return dag


def test_parents_are_married() -> None:
    """0 → 2 ← 1, 2 → 3"""
    moral = nt.moralize([[0, 1, 2], [2, 2, 3]])
    assert moral.edge_index.tolist() == [[0, 0, 1, 1, 2, 2, 2, 3], [1, 2, 0, 2, 0, 1, 3, 2]]


def test_chain_and_fork_have_no_parents_to_marry() -> None:
    assert nt.moralize([[0, 1], [1, 2]]) == nt.Graph([[0, 1], [1, 2]])
    assert nt.moralize([[0, 0], [1, 2]]) == nt.Graph([[0, 0], [1, 2]])


def test_three_parents_are_married_pairwise() -> None:
    assert nt.moralize([[0, 1, 2], [3, 3, 3]]) == nt.Graph.from_networkx(nx.complete_graph(4))


def test_loops_and_parallel_edges_marry_nobody() -> None:
    """0 → 1 twice, 1 → 1: node 0 is the only parent."""
    assert nt.moralize([[0, 0, 1], [1, 1, 1]]).edge_index.tolist() == [[0, 1], [1, 0]]


def test_isolated_nodes_are_kept() -> None:
    assert nt.moralize([[0], [1]], num_nodes=4).num_nodes == 4
    assert nt.moralize([[], []], num_nodes=2).num_nodes == 2
    assert nt.moralize(nx.empty_graph(3, create_using=nx.DiGraph)).num_nodes == 3


def test_takes_tensors_and_arrays() -> None:
    expected = nt.Graph([[0, 0, 1], [1, 2, 2]])
    assert nt.moralize(torch.tensor([[0, 1], [2, 2]], dtype=torch.int32)) == expected
    assert nt.moralize(np.array([[0, 1], [2, 2]], dtype=np.uint16)) == expected


def test_named_nodes_are_numbered_as_they_come() -> None:
    rain = nx.DiGraph([("rain", "wet"), ("sprinkler", "wet"), ("rain", "sprinkler"), ("wet", "slippery")])
    assert list(rain) == ["rain", "wet", "sprinkler", "slippery"]
    assert nt.moralize(rain) == nt.Graph([[0, 0, 1, 1], [1, 2, 2, 3]])


def test_triangle_of_a_collider_is_one_bag() -> None:
    td = nt.decompose(nt.moralize([[0, 1, 2], [2, 2, 3]]))
    assert sorted(td.bags) == [(0, 1, 2), (2, 3)]


@given(dag=dags())
@settings(deadline=None, max_examples=150)
def test_agrees_with_networkx(dag: nx.DiGraph) -> None:
    expected = nx.moral_graph(dag)
    moral = nt.moralize(dag)
    assert moral.num_nodes == len(dag)
    assert {frozenset(edge) for edge in moral.to_networkx().edges} == {frozenset(edge) for edge in expected.edges}
    columns = np.array(list(dag.edges), dtype=np.int64).reshape(-1, 2).T
    assert nt.moralize(columns, num_nodes=len(dag)) == moral
