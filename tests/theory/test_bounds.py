"""The bounds of Theorem 3 and its corollary."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.theory import parameter_bound, parameter_bound_by_treewidth
from tests.oracle.bridge import to_graph
from tests.oracle.scenes import read_scene_graphs
from tests.theory.functions import GOLDEN, graphs

accuracies = st.floats(0.01, 1.0)


def test_golden_example_by_hand() -> None:
    """Bags {1,2,3} and {2,3,4} have two children each, as have their four bags; {3,4,5} has three leaves."""
    tree = nt.build_htree(GOLDEN)
    assert parameter_bound(tree, 0.5) == 6 * 2 * (2 / 0.5) ** 2 + 3 * (3 / 0.5) ** 3
    assert parameter_bound_by_treewidth(5, 2, 0.5) == 5 * 3**7 * 2**3


def test_root_edges_count_where_the_statement_is_taken_literally() -> None:
    """Of the three roots in a row, the middle one has degree 4 in the tree, its end with leaves too."""
    tree = nt.build_htree(GOLDEN)
    degrees = sorted(4 if len(list(tree.to_networkx().neighbors(r))) == 4 else 3 for r in range(3))
    assert degrees == [3, 4, 4]
    literal = 4 * 2 * 4.0**2 + 2 * 4.0**2 + 2 * 3 * 6.0**3
    assert parameter_bound(tree, 0.5, root_edges=True) == literal


def test_a_star_breaks_the_degree_bound_only_with_root_edges() -> None:
    """The trap of the corollary: many roots around one. Its closed form holds for children, not for degrees."""
    tree = nt.build_htree(to_graph(nx.star_graph(12)))
    assert tree.treewidth == 1
    closed = parameter_bound_by_treewidth(13, 1, 0.5)
    assert parameter_bound(tree, 0.5) <= closed < parameter_bound(tree, 0.5, root_edges=True)


@given(graph=graphs(12), epsilon=accuracies)
@settings(deadline=None, max_examples=100)
def test_closed_form_is_never_below(graph: nt.Graph, epsilon: float) -> None:
    tree = nt.build_htree(graph)
    closed = parameter_bound_by_treewidth(graph.num_nodes, tree.treewidth, epsilon)
    assert parameter_bound(tree, epsilon) <= closed * (1 + 1e-12)


def test_closed_form_on_scene_graphs(data_root: Path) -> None:
    for graph in map(to_graph, read_scene_graphs(data_root)):
        tree = nt.build_htree(graph)
        assert parameter_bound(tree, 0.1) <= parameter_bound_by_treewidth(graph.num_nodes, tree.treewidth, 0.1)


@given(graph=graphs(10), epsilon=accuracies)
@settings(deadline=None, max_examples=40)
def test_sum_over_bags(graph: nt.Graph, epsilon: float) -> None:
    tree = nt.build_htree(graph)
    children = [sum(parent == node for parent in tree.parent.tolist()) for node in range(tree.num_nodes)]
    assert parameter_bound(tree, epsilon) == pytest.approx(sum(d * (d / epsilon) ** d for d in children if d))


@given(graph=graphs(8), epsilon=st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=30)
def test_more_accuracy_takes_more(graph: nt.Graph, epsilon: float) -> None:
    tree = nt.build_htree(graph)
    assert parameter_bound(tree, epsilon) > parameter_bound(tree, epsilon + 0.01)
    closed = [parameter_bound_by_treewidth(9, width, epsilon) for width in range(6)]
    assert closed == sorted(closed) and len(set(closed)) == 6


def test_linear_in_the_size_at_a_treewidth() -> None:
    bounds = [parameter_bound(nt.build_htree(to_graph(nx.path_graph(n))), 0.1) for n in (11, 21, 41)]
    assert bounds == [10 * 800.0, 20 * 800.0, 40 * 800.0]
    assert parameter_bound_by_treewidth(40, 1, 0.1) == 4 * parameter_bound_by_treewidth(10, 1, 0.1)


def test_ends() -> None:
    empty = nt.build_htree(nt.Graph([[], []], num_nodes=0))
    assert parameter_bound(empty, 0.5) == 0
    assert parameter_bound_by_treewidth(0, 0, 0.5) == 0
    assert parameter_bound(nt.build_htree(nt.Graph([[], []], num_nodes=1)), 0.5) == 2
    assert parameter_bound_by_treewidth(10, 500, 0.1) == float("inf")
    for epsilon in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(nt.InputError, match="Expected an epsilon above 0 and at most 1"):
            parameter_bound(empty, epsilon)
        with pytest.raises(nt.InputError, match="Expected an epsilon above 0 and at most 1"):
            parameter_bound_by_treewidth(3, 1, epsilon)
    with pytest.raises(nt.InputError, match="Expected treewidth as an integer of at least 0; got -1"):
        parameter_bound_by_treewidth(3, -1, 0.5)
