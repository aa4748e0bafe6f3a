"""Which trees belong to which graphs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.data.tree_check import check_fit, spanned_graph
from neuraltrees.decomposition.decompose import Method
from tests.oracle import strategies
from tests.oracle.bridge import to_graph

GOLDEN = nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])
GRAPHS = strategies.graphs(8).map(to_graph)
METHODS = st.sampled_from(["min_fill", "canonical"])


def pairs(graph: nt.Graph) -> list[tuple[int, int]]:
    return [(u, v) for u, v in graph.edge_index.t().tolist() if u < v]


def test_golden_example() -> None:
    assert spanned_graph(nt.build_htree(GOLDEN), GOLDEN) == GOLDEN


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_no_edges(nodes: int) -> None:
    graph = nt.Graph([[], []], num_nodes=nodes)
    assert spanned_graph(nt.build_htree(graph), graph) == graph


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_the_tree_spans_its_graph(graph: nt.Graph) -> None:
    tree = nt.build_htree(graph)
    assert spanned_graph(tree, graph) == graph
    check_fit(tree, graph)


@settings(max_examples=60, deadline=None)
@given(GRAPHS, st.integers(1, 3))
def test_the_tree_of_a_sample_fits_the_graph(graph: nt.Graph, k: int) -> None:
    subgraph, decomposition = nt.sample_bounded_treewidth(graph, k)
    tree = nt.build_htree(subgraph, decomposition)
    held = spanned_graph(tree, graph)
    assert held == subgraph if tree.level.max() > 1 else set(pairs(subgraph)) <= set(pairs(held))
    check_fit(tree, graph)


@settings(max_examples=60, deadline=None)
@given(GRAPHS, METHODS)
def test_terminal_bags_fit(graph: nt.Graph, method: Method) -> None:
    tree = nt.build_htree(graph, method=method, terminal="bag")
    assert spanned_graph(tree, graph) == graph
    check_fit(tree, graph)


@settings(max_examples=60, deadline=None)
@given(GRAPHS, st.integers(1, 3))
def test_terminal_bags_of_a_sample_fit(graph: nt.Graph, k: int) -> None:
    subgraph, decomposition = nt.sample_bounded_treewidth(graph, k)
    check_fit(nt.build_htree(subgraph, decomposition, terminal="bag"), graph)


@settings(max_examples=100, deadline=None)
@given(GRAPHS, GRAPHS)
def test_only_trees_of_subgraphs_fit(graph: nt.Graph, other: nt.Graph) -> None:
    tree = nt.build_htree(other)
    fits = graph.num_nodes == other.num_nodes
    if fits and tree.num_nodes and tree.level.max() == 1:
        # The roots may be terminal bags of any graph that they decompose.
        bags = [set(tree.bag(i)) for i in range(tree.num_nodes) if tree.parent[i] < 0]
        held = [pair for pair in pairs(graph) if any(set(pair) <= bag for bag in bags)]
        fits = nt.Graph(np.reshape(held, (-1, 2)).T.astype(int), num_nodes=graph.num_nodes).num_components == (
            tree.num_components
        )
    elif fits:
        fits = set(pairs(other)) <= set(pairs(graph))
    if fits:
        check_fit(tree, graph)
    else:
        with pytest.raises(nt.InputError, match="Expected an H-tree of this graph"):
            check_fit(tree, graph)


def test_a_broken_tree() -> None:
    tree = nt.build_htree(GOLDEN)
    with pytest.raises(nt.InvalidHTreeError, match="Expected an H-tree of this graph"):
        check_fit(dataclasses.replace(tree, level=tree.level + 1), GOLDEN)
