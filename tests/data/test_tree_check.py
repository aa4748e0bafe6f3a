"""Which trees belong to which graphs."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.data.tree_check import check_fit, spanned_graph
from tests.oracle import strategies
from tests.oracle.bridge import to_graph

GOLDEN = nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])
GRAPHS = strategies.graphs(8).map(to_graph)


def test_golden_example() -> None:
    assert spanned_graph(nt.build_htree(GOLDEN)) == GOLDEN


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_no_edges(nodes: int) -> None:
    graph = nt.Graph([[], []], num_nodes=nodes)
    assert spanned_graph(nt.build_htree(graph)) == graph


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_the_tree_spans_its_graph(graph: nt.Graph) -> None:
    tree = nt.build_htree(graph)
    assert spanned_graph(tree) == graph
    check_fit(tree, graph)


@settings(max_examples=60, deadline=None)
@given(GRAPHS, st.integers(1, 3))
def test_the_tree_of_a_sample_fits_the_graph(graph: nt.Graph, k: int) -> None:
    subgraph, decomposition = nt.sample_bounded_treewidth(graph, k)
    tree = nt.build_htree(subgraph, decomposition)
    assert spanned_graph(tree) == subgraph
    check_fit(tree, graph)


@settings(max_examples=60, deadline=None)
@given(GRAPHS, GRAPHS)
def test_only_trees_of_subgraphs_fit(graph: nt.Graph, other: nt.Graph) -> None:
    edges, of_other = (set(map(tuple, g.edge_index.t().tolist())) for g in (graph, other))
    if graph.num_nodes == other.num_nodes and of_other <= edges:
        check_fit(nt.build_htree(other), graph)
    else:
        with pytest.raises(nt.InputError, match="Expected an H-tree of this graph"):
            check_fit(nt.build_htree(other), graph)


def test_a_broken_tree() -> None:
    tree = nt.build_htree(GOLDEN)
    with pytest.raises(nt.InvalidHTreeError, match="Expected an H-tree of this graph"):
        check_fit(dataclasses.replace(tree, level=tree.level + 1), GOLDEN)
