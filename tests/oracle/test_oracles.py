"""The oracles on literal graphs, and against each other."""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
from itertools import permutations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle import strategies
from tests.oracle.arrays import arrays_from_tree, tree_from_arrays
from tests.oracle.cora import largest_component, read_cora
from tests.oracle.decomposition import (
    check_decomposition,
    elimination_width,
    first_violation,
    none_contains_another,
    one_tree_per_component,
    read_gr,
    read_td,
    treewidth,
    width,
)
from tests.oracle.htree import (
    Decompose,
    build_htree,
    canonical,
    junction_tree,
    min_fill,
    networkx_junction_tree,
    without_contained_bags,
)
from tests.oracle.invariants import check_htree
from tests.oracle.pickles import RestrictedUnpickler
from tests.oracle.sampling import check_sample, sample_bounded_treewidth
from tests.oracle.scenes import NUMPY_ARRAYS, read_scene_graphs

GOLDEN = nx.Graph([(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 4)])
OWN_DECOMPOSITIONS = pytest.mark.parametrize("decompose", [min_fill, junction_tree, networkx_junction_tree])


def parts(forest: nx.Graph) -> tuple[list[frozenset[int]], list[tuple[int, int]]]:
    bags = list(forest)
    number = {bag: i for i, bag in enumerate(bags)}
    return bags, [(number[a], number[b]) for a, b in forest.edges]


def leaves(*vertices: int) -> tuple[tuple[tuple[int, ...], int, tuple[()]], ...]:
    return tuple(((v,), v, ()) for v in vertices)


@OWN_DECOMPOSITIONS
def test_golden_htree(decompose: Decompose) -> None:
    tree = build_htree(GOLDEN, decompose)
    assert (tree.number_of_nodes(), tree.number_of_edges()) == (18, 17)
    assert canonical(tree) == (
        (
            ((0, 1, 2), -1, (((0, 1), -1, leaves(0, 1)), ((0, 2), -1, leaves(0, 2)))),
            ((1, 2, 3), -1, (((1, 3), -1, leaves(1, 3)), ((2, 3), -1, leaves(2, 3)))),
            ((2, 3, 4), -1, leaves(2, 3, 4)),
        ),
        (((0, 1, 2), (1, 2, 3)), ((1, 2, 3), (2, 3, 4))),
    )


def test_singleton_bag_has_a_leaf_of_its_own() -> None:
    assert canonical(build_htree(nx.empty_graph(1))) == ((((0,), -1, (((0,), 0, ()),)),), ())


def test_bag_that_induces_a_disconnected_subgraph() -> None:
    roots = nx.Graph([(frozenset({0, 1, 3}), frozenset({1, 2, 3}))])
    assert canonical(build_htree(nx.path_graph(4), roots=roots))[0] == (
        ((0, 1, 3), -1, (((0, 1), -1, leaves(0, 1)), ((3,), -1, leaves(3)))),
        ((1, 2, 3), -1, (((1, 2), -1, leaves(1, 2)), ((2, 3), -1, leaves(2, 3)))),
    )


def test_canonical_forgets_the_numbering_and_nothing_else() -> None:
    tree = build_htree(GOLDEN)
    backwards = nx.relabel_nodes(tree, {node: 17 - node for node in tree})
    for node in backwards:
        parent = backwards.nodes[node]["parent"]
        backwards.nodes[node]["parent"] = None if parent is None else 17 - parent
    assert canonical(backwards) == canonical(tree)
    relinked = tree.copy()
    relinked.remove_edge(0, 1)
    relinked.add_edge(0, 2)
    assert canonical(relinked) != canonical(tree)
    moved = tree.copy()
    moved.nodes[17]["parent"] = 1
    assert canonical(moved) != canonical(tree)


def test_contained_bags_are_contracted() -> None:
    a, b, c, d = frozenset({0, 1}), frozenset({1}), frozenset({1, 2}), frozenset({2})
    tree = without_contained_bags(nx.Graph([(a, b), (b, c), (c, d)]))
    assert set(tree) == {a, c}
    assert tree.number_of_edges() == 1


@OWN_DECOMPOSITIONS
@given(graph=strategies.graphs(max_nodes=9))
@settings(deadline=None, max_examples=60)
def test_own_htrees_hold_every_invariant(decompose: Decompose, graph: nx.Graph) -> None:
    forest = decompose(graph)
    bags, edges = parts(forest)
    check_decomposition(len(graph), graph.edges, bags, edges)
    tree = build_htree(graph, decompose)
    arrays = arrays_from_tree(tree)
    check_htree(arrays, graph)
    assert canonical(tree_from_arrays(arrays)) == canonical(tree)


@pytest.mark.parametrize(
    ("violated", "bags", "edges"),
    [
        (None, [{0, 1}, {1, 2}, {2, 3}], [(0, 1), (1, 2)]),
        (None, [{0, 1}, {1}, {1, 2}, {2, 3}], [(0, 1), (1, 2), (2, 3)]),
        ("range", [{0, 1}, {1, 2}, {2, 3, 4}], [(0, 1), (1, 2)]),
        ("range", [{0, 1, -1}, {1, 2}, {2, 3}], [(0, 1), (1, 2)]),
        ("range", [{0, 1}, {1, 2}, {2, 3}], [(0, 1), (1, 3)]),
        ("forest", [{0, 1}, {1, 2}, {2, 3}], [(0, 1), (1, 2), (2, 0)]),
        ("forest", [{0, 1}, {1, 2}, {2, 3}], [(0, 1), (1, 2), (2, 1)]),
        ("forest", [{0, 1}, {1, 2}, {2, 3}], [(0, 1), (1, 2), (2, 2)]),
        ("vertex cover", [{0, 1}, {1, 2}], [(0, 1)]),
        ("edge cover", [{0, 1}, {1, 2}, {3}], [(0, 1), (1, 2)]),
        ("connectedness", [{0, 1}, {1, 2}, {2, 3}], [(0, 1)]),
        ("connectedness", [{0, 1}, {1, 2}, {2, 3}], [(0, 2), (1, 2)]),
    ],
)
def test_first_violation(violated: str | None, bags: list[set[int]], edges: list[tuple[int, int]]) -> None:
    assert first_violation(4, nx.path_graph(4).edges, bags, edges) == violated


def test_what_htrees_ask_beyond_the_definition() -> None:
    two_edges = [(0, 1), (2, 3)]
    check_decomposition(4, two_edges, [{0, 1}, {2, 3}], [])
    assert first_violation(4, two_edges, [{0, 1}, {2, 3}], [(0, 1)]) is None
    assert not one_tree_per_component(4, two_edges, [{0, 1}, {2, 3}], [(0, 1)])
    with pytest.raises(AssertionError, match="components"):
        check_decomposition(4, two_edges, [{0, 1}, {2, 3}], [(0, 1)])
    assert first_violation(2, [(0, 1)], [{0, 1}, {1}], [(0, 1)]) is None
    with pytest.raises(AssertionError, match="contained"):
        check_decomposition(2, [(0, 1)], [{0, 1}, {1}], [(0, 1)])
    assert none_contains_another([{0, 1}, {1, 2}])
    assert not none_contains_another([{0, 1}, {0, 1}])
    assert not none_contains_another([{0, 1}, set()])


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (nx.empty_graph(3), 0),
        (nx.star_graph(5), 1),
        (nx.cycle_graph(7), 2),
        (nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)), 3),
        (nx.petersen_graph(), 4),
        (nx.complete_graph(6), 5),
        (nx.complete_bipartite_graph(3, 5), 3),
        (nx.octahedral_graph(), 4),
        (nx.disjoint_union(nx.complete_graph(4), nx.cycle_graph(5)), 3),
    ],
)
def test_known_treewidths(graph: nx.Graph, expected: int) -> None:
    assert treewidth(len(graph), graph.edges) == expected


@given(graph=strategies.graphs(max_nodes=6))
@settings(deadline=None, max_examples=25)
def test_treewidth_is_the_best_of_all_elimination_orders(graph: nx.Graph) -> None:
    n, edges = len(graph), list(graph.edges)
    assert treewidth(n, edges) == min(elimination_width(n, edges, order) for order in permutations(range(n)))


@given(graph=strategies.graphs(max_nodes=9))
@settings(deadline=None, max_examples=30)
def test_no_decomposition_is_narrower_than_the_treewidth(graph: nx.Graph) -> None:
    exact = treewidth(len(graph), graph.edges)
    assert exact <= width(list(min_fill(graph)))
    assert exact <= width(list(junction_tree(graph)))


@given(graph=strategies.partial_k_trees(max_nodes=10, max_k=3))
@settings(deadline=None, max_examples=30)
def test_partial_k_trees_are_thin(graph: nx.Graph) -> None:
    assert treewidth(len(graph), graph.edges) <= 3


@pytest.mark.parametrize(("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_pace_readers(tmp_path: Path, suffix: str, compress: type[bytes]) -> None:
    gr, td = tmp_path / f"path.gr{suffix}", tmp_path / f"path.td{suffix}"
    gr.write_bytes(compress(b"c a path\np tw 4 3\n1 2\n2 3\n\n3 4\n"))
    td.write_bytes(compress(b"s td 3 2 4\nb 2 3 2\nb 1 1 2\nb 3 4 3\n1 2\n2 3\n"))
    assert read_gr(gr) == (4, [(0, 1), (1, 2), (2, 3)])
    assert read_td(td) == (4, [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2)])


def test_sample_of_a_triangle_with_a_tail() -> None:
    graph = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)])
    tree, tree_bags = sample_bounded_treewidth(graph, k=1)
    assert tree.number_of_edges() == 3
    assert sorted(map(len, tree_bags)) == [2, 2, 2]
    whole, whole_bags = sample_bounded_treewidth(graph, k=2)
    assert set(whole.edges) == {(0, 1), (0, 2), (1, 2), (2, 3)}
    assert len(whole_bags) == 2
    assert frozenset({0, 1, 2}) in whole_bags


@given(graph=strategies.graphs(max_nodes=14), k=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=80)
def test_own_samples_hold_every_fact(graph: nx.Graph, k: int, seed: int) -> None:
    sample, forest = sample_bounded_treewidth(graph, k, seed)
    check_sample(graph, sample, *parts(forest), k)


@pytest.mark.parametrize(
    ("fact", "sample", "bags", "edges"),
    [
        ("not a tree decomposition", [(0, 1), (1, 2), (2, 3), (3, 0)], [{0, 1}, {1, 2}, {2, 3}], [(0, 1), (1, 2)]),
        ("more than k \\+ 1", [(0, 1), (1, 2), (2, 3), (3, 0)], [{0, 1, 3}, {1, 2, 3}], [(0, 1)]),
        ("stay connected", [(0, 1), (2, 3)], [{0, 1}, {2, 3}], []),
        ("not in the graph", [(0, 1), (1, 2), (1, 3)], [{0, 1}, {1, 2}, {1, 3}], [(0, 1), (1, 2)]),
    ],
)
def test_false_samples_are_refused(
    fact: str, sample: list[tuple[int, int]], bags: list[frozenset[int]], edges: list[tuple[int, int]]
) -> None:
    with pytest.raises(AssertionError, match=fact):
        check_sample(nx.cycle_graph(4), nx.Graph(sample), bags, edges, k=1)


def test_sample_that_forgets_an_edge_inside_a_bag() -> None:
    triangle_and_tail = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)])
    sample = nx.Graph([(0, 1), (1, 2), (2, 3)])
    with pytest.raises(AssertionError, match="0-2 is kept without a bag, or in a bag and not kept"):
        check_sample(triangle_and_tail, sample, [frozenset({0, 1, 2}), frozenset({2, 3})], [(0, 1)], k=2)


def test_cora(data_root: Path) -> None:
    cora = read_cora(data_root)
    assert (len(cora), cora.number_of_edges()) == (2708, 5278)
    component = largest_component(cora)
    assert (len(component), component.number_of_edges()) == (2485, 5069)
    for k, share in {1: 0.490, 2: 0.673, 4: 0.737}.items():
        sample, forest = sample_bounded_treewidth(component, k)
        check_sample(component, sample, *parts(forest), k)
        assert sample.number_of_edges() / 5069 == pytest.approx(share, abs=0.01)


def test_scene_graphs(data_root: Path) -> None:
    graphs = read_scene_graphs(data_root)
    assert len(graphs) == 482
    assert sum(map(len, graphs)) == 2820
    assert sum(graph.number_of_edges() for graph in graphs) == 5402
    assert sum(len(build_htree(graph, junction_tree)) for graph in graphs) == 5856


def test_pickles_with_anything_but_arrays_are_refused() -> None:
    arrays = RestrictedUnpickler(io.BytesIO(pickle.dumps(("a tuple", 1))), NUMPY_ARRAYS).load()
    assert arrays == ("a tuple", 1)
    with pytest.raises(pickle.UnpicklingError, match="got pathlib"):
        RestrictedUnpickler(io.BytesIO(pickle.dumps(Path())), NUMPY_ARRAYS).load()
    with pytest.raises(pickle.UnpicklingError, match="got numpy"):
        RestrictedUnpickler(io.BytesIO(pickle.dumps(np.random.default_rng(0))), NUMPY_ARRAYS).load()
