"""HTree: its properties on the paper's figure, what validate finds, its limits, and large and wide trees."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from tests.oracle import strategies
from tests.oracle.arrays import NAMES, arrays_of, tree_from_arrays
from tests.oracle.bridge import to_graph
from tests.oracle.invariants import check_htree
from tests.oracle.test_invariants import CORRUPTIONS, child_in_a_sibling, children_in_a_circle, golden, path_in_one_bag

# The paper's figure, its nodes renumbered from 0.
GOLDEN = nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])


def tree_of(arrays: SimpleNamespace) -> nt.HTree:
    return nt.HTree(**{name: torch.from_numpy(np.asarray(getattr(arrays, name), dtype=np.int64)) for name in NAMES})


def changed(tree: nt.HTree, name: str, index: int | tuple[int, int], value: int) -> nt.HTree:
    array = getattr(tree, name).clone()
    array[index] = value
    return dataclasses.replace(tree, **{name: array})


def single_bag(n: int) -> nt.TreeDecomposition:
    return nt.TreeDecomposition([range(n)], num_nodes=n)


@pytest.fixture
def tree() -> nt.HTree:
    return nt.build_htree(GOLDEN)


def test_golden_counts(tree: nt.HTree) -> None:
    assert (tree.num_nodes, tree.num_edges, tree.num_roots) == (18, 17, 3)
    assert (tree.num_bags, tree.num_leaves) == (7, 11)
    assert (tree.num_components, tree.num_graph_nodes, tree.treewidth) == (1, 5, 2)
    assert tree.nodes_per_level().tolist() == [3, 7, 8]
    assert tree.edges_per_type().tolist() == [4, 15, 15]
    assert tree.diameters().tolist() == [5]
    assert tree.diameter() == 5


def test_golden_arrays(tree: nt.HTree) -> None:
    """Roots first, then what hangs from each of them in preorder; edges type by type."""
    assert tree.parent.tolist() == [-1, -1, -1, 0, 3, 3, 0, 6, 6, 1, 9, 9, 1, 12, 12, 2, 2, 2]
    assert tree.level.tolist() == [0, 0, 0, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 1, 1]
    assert tree.component.tolist() == [0] * 18
    assert tree.edge_type.tolist() == [0] * 4 + [1] * 15 + [2] * 15
    children = list(range(3, 18))
    up, down = tree.edge_index[:, 4:19], tree.edge_index[:, 19:]
    assert up.tolist() == [children, tree.parent[3:].tolist()]
    assert down.tolist() == [tree.parent[3:].tolist(), children]


def test_golden_bags(tree: nt.HTree) -> None:
    roots = [tree.bag(node) for node in range(3)]
    assert sorted(roots) == [(0, 1, 2), (1, 2, 3), (2, 3, 4)]
    leaves = [node for node in range(18) if tree.kappa[node] >= 0]
    assert [tree.bag(node) for node in leaves] == [(int(tree.kappa[node]),) for node in leaves]
    assert tree.bag(-1) == tree.bag(17)
    assert all(type(v) is int for v in tree.bag(0))
    for node in (18, -19):
        with pytest.raises(IndexError):
            tree.bag(node)


def test_repr(tree: nt.HTree) -> None:
    assert repr(tree) == "HTree(num_nodes=18, num_roots=3, num_leaves=11, num_components=1, treewidth=2)"


def test_equality(tree: nt.HTree) -> None:
    assert tree == nt.build_htree(GOLDEN)
    assert tree != nt.build_htree(nt.Graph([[0], [1]]))
    assert tree != "tree"
    for name in NAMES:
        index = (0, 0) if name == "edge_index" else 0
        assert changed(tree, name, index, 9) != tree
    with pytest.raises(TypeError, match="unhashable"):
        hash(tree)


def test_attributes_are_frozen(tree: nt.HTree) -> None:
    for name in [*NAMES, "num_nodes", "new"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(tree, name, torch.zeros(1))


def test_copies_are_equal(tree: nt.HTree) -> None:
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree


def test_empty_tree() -> None:
    tree = nt.build_htree(nt.Graph([[], []]))
    assert (tree.num_nodes, tree.num_edges, tree.num_roots, tree.num_bags, tree.num_leaves) == (0, 0, 0, 0, 0)
    assert (tree.num_components, tree.num_graph_nodes, tree.treewidth, tree.diameter()) == (0, 0, -1, 0)
    assert (tree.diameters().tolist(), tree.nodes_per_level().tolist()) == ([], [])
    assert tree.edges_per_type().tolist() == [0, 0, 0]
    assert len(tree.to_networkx()) == 0
    assert repr(tree) == "HTree(num_nodes=0, num_roots=0, num_leaves=0, num_components=0, treewidth=-1)"


def test_forest() -> None:
    """A triangle, a lone node and a path of three nodes."""
    tree = nt.build_htree(nt.Graph([[0, 1, 2, 4, 5], [1, 2, 0, 5, 6]]))
    assert (tree.num_components, tree.num_roots, tree.num_leaves, tree.num_graph_nodes) == (3, 4, 8, 7)
    assert tree.component.tolist() == [0] * 4 + [1] * 2 + [2] * 6
    assert tree.diameters().tolist() == [2, 1, 3]
    assert tree.diameter() == 3


def test_to_networkx(tree: nt.HTree) -> None:
    graph = tree.to_networkx()
    assert (len(graph), graph.number_of_edges()) == (18, 17)
    assert nx.is_tree(graph)
    assert list(graph) == list(range(18))
    kinds = nx.get_edge_attributes(graph, "type")
    assert sorted(kinds.values()) == ["child"] * 15 + ["root"] * 2
    assert all(max(edge) < 3 for edge, kind in kinds.items() if kind == "root")
    zero = {"component": 0, "kind": 0}
    assert graph.nodes[0] == {"bag": tree.bag(0), "kappa": -1, "level": 0, "parent": -1, **zero}
    assert graph.nodes[17] == {"bag": tree.bag(17), "kappa": tree.kappa[17], "level": 1, "parent": 2, **zero}
    assert all(type(value) is int for name, value in graph.nodes[17].items() if name != "bag")


@given(graph=strategies.graphs(max_nodes=12))
@settings(deadline=None, max_examples=60)
def test_diameters_are_those_of_networkx(graph: nx.Graph) -> None:
    tree = nt.build_htree(to_graph(graph))
    whole = tree_from_arrays(arrays_of(tree))
    trees = [whole.subgraph(nodes) for nodes in nx.connected_components(whole)]
    expected = {int(tree.component[min(part)]): nx.diameter(part) for part in trees}
    assert dict(enumerate(tree.diameters().tolist())) == expected
    assert tree.diameter() == max(expected.values())


@given(graph=strategies.graphs(max_nodes=10))
@settings(deadline=None, max_examples=40)
def test_to_networkx_is_the_tree_of_the_arrays(graph: nx.Graph) -> None:
    tree = nt.build_htree(to_graph(graph))
    ours, expected = tree.to_networkx(), tree_from_arrays(arrays_of(tree))
    assert {frozenset(edge) for edge in ours.edges} == {frozenset(edge) for edge in expected.edges}
    assert [frozenset(ours.nodes[v]["bag"]) for v in ours] == [expected.nodes[v]["bag"] for v in expected]


def test_arrays_are_int64_and_contiguous() -> None:
    for graph in (GOLDEN, nt.Graph([[], []]), nt.Graph([[], []], num_nodes=3)):
        tree = nt.build_htree(graph)
        for name in NAMES:
            tensor: Tensor = getattr(tree, name)
            assert tensor.dtype == torch.int64, name
            assert tensor.is_contiguous(), name
            assert tensor.untyped_storage().nbytes() == tensor.nbytes, name


def test_tensors_are_the_memory_of_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    core = import_module("neuraltrees._core._native")
    arrays: list[np.ndarray] = []

    def build(*args: Any, original: Callable[..., tuple[np.ndarray, ...]] = core.build_htree) -> tuple[np.ndarray, ...]:
        arrays.extend(original(*args))
        return tuple(arrays)

    monkeypatch.setattr(core, "build_htree", build)
    tree = nt.build_htree(GOLDEN, method="canonical")
    assert len(arrays) == len(NAMES) + 1  # the kinds
    for field, array in zip(dataclasses.fields(tree), arrays, strict=True):
        assert not array.flags.owndata, field.name
        assert getattr(tree, field.name).data_ptr() == array.ctypes.data, field.name


def test_tensors_outlive_the_tree() -> None:
    tree = nt.build_htree(nt.Graph([[0], [1]]))
    kappa = tree.kappa
    del tree
    assert kappa.tolist() == [-1, 0, 1]


def test_validate_takes_the_trees_of_the_oracle() -> None:
    tree_of(golden()).validate(GOLDEN)
    tree_of(path_in_one_bag()).validate(nt.Graph([[0, 1, 2], [1, 2, 3]]))


CASES = {case.__name__: case for cases in CORRUPTIONS.values() for case in cases}


@pytest.mark.parametrize("corrupt", CASES.values(), ids=CASES)
def test_validate_refuses_the_corruptions_of_the_oracle(corrupt: Callable[[], SimpleNamespace]) -> None:
    path = corrupt in (children_in_a_circle, child_in_a_sibling)
    with pytest.raises(nt.InvalidHTreeError, match="Expected an H-tree of this graph; "):
        tree_of(corrupt()).validate(nt.Graph([[0, 1, 2], [1, 2, 3]]) if path else GOLDEN)


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("parent", 3, 4, "the parent of node 3 is 4, not an earlier node or -1"),
        ("parent", 3, -2, "the parent of node 3 is -2, not an earlier node or -1"),
        ("parent", 3, 99, "the parent of node 3 is 99, not an earlier node or -1"),
        ("parent", 3, 1, "the bag of node 3 is not inside its parent's"),
        ("level", 4, 1, "the level of node 4 is not its parent's plus one"),
        ("level", 0, 1, "the level of node 0 is not its parent's plus one"),
        ("component", 17, 1, "node 17 is in another component than its parent"),
        ("kappa", 3, 0, "node 3 is a leaf with children"),
        ("kappa", 17, -1, "node 17 has neither children nor a kappa"),
        ("kappa", 17, 9, "the bag of leaf 17 is not its kappa alone"),
        ("bag_ptr", 0, 1, "bag_ptr does not span bag_nodes"),
        ("bag_ptr", 18, 1, "bag_ptr does not span bag_nodes"),
        ("bag_ptr", 2, 99, "bag_ptr decreases at node 2"),
        ("bag_ptr", 1, 0, "the bag of node 0 is empty"),
        ("bag_nodes", 0, 7, "the bag of node 0 (holds 7, but the graph's nodes are 0 to 4|is not sorted)"),
        ("bag_nodes", 0, -1, "the bag of node 0 holds -1, but the graph's nodes are 0 to 4"),
        ("bag_nodes", 1, 4, "the bag of node 0 is not sorted"),
        ("edge_type", 0, 3, "edge 0 has type 3, not 0, 1 or 2"),
        ("edge_type", 4, 0, "edge 4 of type 0 does not join two roots"),
        ("edge_type", 4, 2, "edge 4 of type 2 is not the one from a parent to its child"),
        ("edge_type", 20, 1, "edge 20 of type 1 is not the one from a child to its parent"),
        ("edge_index", (0, 0), 18, "edge 0 names a node that is not there"),
        ("edge_index", (1, 33), -1, "edge 33 names a node that is not there"),
    ],
)
def test_validate_says_what_and_where(
    tree: nt.HTree, name: str, index: int | tuple[int, int], value: int, message: str
) -> None:
    with pytest.raises(nt.InvalidHTreeError, match=f"Expected an H-tree of this graph; {message}"):
        changed(tree, name, index, value).validate(GOLDEN)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut", [0, 1, -1], ids=["empty", "short", "long"])
def test_validate_refuses_arrays_of_other_lengths(tree: nt.HTree, name: str, cut: int) -> None:
    array: Tensor = getattr(tree, name)
    other = {0: array[..., :0], 1: array[..., :-1], -1: torch.cat([array, array[..., -1:]], dim=-1)}[cut]
    with pytest.raises(nt.InvalidHTreeError, match=r"disagree|does not span"):
        dataclasses.replace(tree, **{name: other}).validate(GOLDEN)


def test_validate_takes_strided_arrays(tree: nt.HTree) -> None:
    pairs = tree.edge_index.t().contiguous()
    dataclasses.replace(tree, edge_index=pairs.t()).validate(GOLDEN)
    dataclasses.replace(tree, parent=torch.stack([tree.parent, tree.parent], dim=1)[:, 0]).validate(GOLDEN)


def test_kappa_of_a_bag_is_minus_one(tree: nt.HTree) -> None:
    with pytest.raises(nt.InvalidHTreeError):
        changed(tree, "kappa", 0, -2).validate(GOLDEN)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float64])
def test_validate_refuses_other_types(tree: nt.HTree, dtype: torch.dtype) -> None:
    with pytest.raises(nt.InvalidHTreeError, match="int64"):
        dataclasses.replace(tree, level=tree.level.to(dtype)).validate(GOLDEN)


@pytest.mark.parametrize(
    "other",
    [{"edge_index": (-1,)}, {"edge_index": (-1, 2)}, {"parent": (-1, 1)}, {"bag_nodes": (1, -1)}],
    ids=["flat edges", "transposed edges", "column", "row"],
)
def test_validate_refuses_other_shapes(tree: nt.HTree, other: dict[str, tuple[int, ...]]) -> None:
    reshaped = {name: getattr(tree, name).reshape(shape) for name, shape in other.items()}
    with pytest.raises(nt.InvalidHTreeError):
        dataclasses.replace(tree, **reshaped).validate(GOLDEN)


def test_nested_bag_inside_a_sibling_is_refused() -> None:
    """The path 0-1-2 in one bag over {0,1}, {1,2} and, needlessly, {1}."""
    parent = [-1, 0, 1, 1, 0, 4, 4, 0, 7]
    bags = [[0, 1, 2], [0, 1], [0], [1], [1, 2], [1], [2], [1], [1]]
    children = list(range(1, 9))
    arrays = SimpleNamespace(
        parent=np.array(parent),
        level=np.array([0, 1, 2, 2, 1, 2, 2, 1, 2]),
        kappa=np.array([-1, -1, 0, 1, -1, 1, 2, -1, 1]),
        edge_index=np.array([children + parent[1:], parent[1:] + children]),
        edge_type=np.array([1] * 8 + [2] * 8),
        bag_ptr=np.cumsum([0] + [len(bag) for bag in bags]),
        bag_nodes=np.concatenate(bags),
        component=np.zeros(9),
    )
    with pytest.raises(AssertionError, match="a child of node 0 is contained in another"):
        check_htree(arrays, nx.path_graph(3))
    with pytest.raises(nt.InvalidHTreeError):
        tree_of(arrays).validate(nt.Graph([[0, 1], [1, 2]]))


@st.composite
def corrupted(draw: st.DrawFn, tree: nt.HTree, num_nodes: int) -> SimpleNamespace:
    """One change to the arrays, which may or may not leave the tree valid."""
    arrays = arrays_of(tree)
    change = draw(st.sampled_from(["entry", "entry", "leaf", "rewire", "drop edge", "double edge", "no edges"]))
    size, edges = len(arrays.parent), len(arrays.edge_type)
    if change == "entry":
        array = getattr(arrays, draw(st.sampled_from(NAMES)))
        if array.size:
            array.flat[draw(st.integers(0, array.size - 1))] = draw(st.integers(-1, max(size, num_nodes) + 1))
    elif change == "leaf" and size:
        leaf = draw(st.sampled_from(np.flatnonzero(arrays.kappa >= 0).tolist()))
        arrays.kappa[leaf] = arrays.bag_nodes[arrays.bag_ptr[leaf]] = draw(st.integers(0, num_nodes - 1))
    elif change == "rewire" and edges:
        u, v = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
        edge = draw(st.integers(0, edges - 1))
        back = np.flatnonzero((arrays.edge_index == arrays.edge_index[::-1, edge : edge + 1]).all(axis=0))
        arrays.edge_index[:, edge], arrays.edge_index[:, back] = (u, v), np.array([[v], [u]])
    elif change in ("drop edge", "double edge") and edges:
        edge = draw(st.integers(0, edges - 1))
        keep = [e for e in range(edges) if e != edge] if change == "drop edge" else [*range(edges), edge]
        arrays.edge_index, arrays.edge_type = arrays.edge_index[:, keep], arrays.edge_type[keep]
    elif change == "no edges":
        arrays.edge_index, arrays.edge_type = arrays.edge_index[:, :0], arrays.edge_type[:0]
    return arrays


@given(graph=strategies.graphs(max_nodes=7), data=st.data())
@settings(deadline=None, max_examples=300)
def test_validate_refuses_what_the_oracle_refuses(graph: nx.Graph, data: st.DataObject) -> None:
    ours = to_graph(graph)
    arrays = data.draw(corrupted(nt.build_htree(ours), len(graph)))
    try:
        check_htree(arrays, graph)
    except (AssertionError, IndexError):
        with pytest.raises(nt.InvalidHTreeError):
            tree_of(arrays).validate(ours)
    else:
        tree_of(arrays).validate(ours)


def test_diameters_of_strided_arrays(tree: nt.HTree) -> None:
    pairs = tree.edge_index.t().contiguous()
    assert dataclasses.replace(tree, edge_index=pairs.t()).diameter() == 5


def test_diameters_of_a_strided_parent(tree: nt.HTree) -> None:
    parent = torch.stack([tree.parent, tree.parent], dim=1)[:, 0]
    assert dataclasses.replace(tree, parent=parent).diameter() == 5


@pytest.mark.parametrize(("name", "shift"), [("parent", 10**9), ("component", -(10**9)), ("edge_index", 10**9)])
def test_diameters_of_an_invalid_tree_do_not_crash(name: str, shift: int) -> None:
    script = f"""
import dataclasses, neuraltrees as nt
tree = nt.build_htree(nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]]))
try:
    dataclasses.replace(tree, {name}=tree.{name} + {shift}).diameters()
except nt.NeuralTreesError:
    pass
"""
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, check=False, timeout=200).returncode == 0


@pytest.mark.parametrize(
    ("graph", "size", "treewidth"),
    [
        (GOLDEN, 18, 2),
        (nt.Graph([[], []], num_nodes=4), 8, 0),
        (nt.Graph([[0, 1, 2], [1, 2, 0]]), 4, 2),
        (to_graph(nx.complete_graph(80)), 81, 79),
        (nt.Graph.union([GOLDEN] * 600), 600 * 18, 2),
    ],
    ids=["golden", "lone nodes", "triangle", "wide", "many"],
)
def test_one_node_less_is_too_large(graph: nt.Graph, size: int, treewidth: int) -> None:
    assert nt.build_htree(graph, max_nodes=size).num_nodes == size
    with pytest.raises(nt.TreeTooLargeError) as caught:
        nt.build_htree(graph, max_nodes=size - 1)
    assert (caught.value.limit, caught.value.width) == (size - 1, treewidth)
    message = str(caught.value)
    assert f"at most {size - 1:,} nodes" in message
    assert f"treewidth {treewidth}," in message
    assert "max_nodes" in message
    assert ("sample_bounded_treewidth(graph, k=4)" in message) == (treewidth > 2)


@given(graph=strategies.graphs(max_nodes=9))
@settings(deadline=None, max_examples=60)
def test_limit_is_sharp(graph: nx.Graph) -> None:
    size = nt.build_htree(to_graph(graph)).num_nodes
    assert nt.build_htree(to_graph(graph), max_nodes=size).num_nodes == size
    with pytest.raises(nt.TreeTooLargeError, match=f"at most {size - 1:,} nodes"):
        nt.build_htree(to_graph(graph), max_nodes=size - 1)


@pytest.mark.parametrize("max_nodes", [0, -1, 2.0, True])
def test_refused_limits(max_nodes: Any) -> None:
    with pytest.raises(nt.InputError, match=f"Expected max_nodes as an integer of at least 1; got {max_nodes}"):
        nt.build_htree(GOLDEN, max_nodes=max_nodes)


def test_limit_that_the_core_cannot_hold() -> None:
    assert nt.build_htree(GOLDEN, max_nodes=2**63).num_nodes == 18


def cocktail_party(n: int) -> nt.Graph:
    """The complete graph on n nodes minus a perfect matching, whose H-tree grows like n!!."""
    return to_graph(nx.complement(nx.Graph([(2 * i, 2 * i + 1) for i in range(n // 2)])))


@pytest.mark.parametrize("n", [64, 72])
def test_wide_bag_is_refused_before_it_explodes(n: int) -> None:
    start = time.perf_counter()
    with pytest.raises(nt.TreeTooLargeError, match="at most 10,000 nodes"):
        nt.build_htree(cocktail_party(n), decomposition=single_bag(n), max_nodes=10_000)
    assert time.perf_counter() - start < 30  # a wide bound: the whole tree would take years


@pytest.mark.parametrize("n", [20, 72])
def test_treewidth_of_the_refused_tree_is_that_of_its_roots(n: int) -> None:
    with pytest.raises(nt.TreeTooLargeError, match=f"treewidth {n - 1},"):
        nt.build_htree(cocktail_party(n), decomposition=single_bag(n), max_nodes=1_000)


def test_wide_bag_of_a_sparse_graph() -> None:
    graph = nx.compose(nx.path_graph(80), nx.gnm_random_graph(80, 40, seed=1))
    tree = nt.build_htree(to_graph(graph), decomposition=single_bag(80))
    tree.validate(to_graph(graph))
    check_htree(arrays_of(tree), graph)
    assert (tree.num_roots, tree.treewidth) == (1, 79)


def test_wide_bag_of_a_dense_graph() -> None:
    """Complete but for the edges 0-1, 0-2 and 2-3."""
    graph = nx.complete_graph(80)
    graph.remove_edges_from([(0, 1), (0, 2), (2, 3)])
    tree = nt.build_htree(to_graph(graph), decomposition=single_bag(80))
    tree.validate(to_graph(graph))
    nested = [tree.bag(node) for node in range(tree.num_nodes) if tree.level[node] == 1]
    assert tree.treewidth == 79
    assert tree.num_nodes == 1 + len(nested) + tree.num_leaves
    assert sorted(set(range(80)) - set(bag) for bag in nested)[0] <= {0, 1, 2, 3}


@pytest.mark.parametrize("n", [63, 64, 65, 66])
def test_small_and_wide_bags_nest_alike(n: int) -> None:
    """Bags of up to 64 nodes are held in machine words, wider ones in lists."""
    graph = nx.complete_graph(n)
    graph.remove_edge(0, 1)
    tree = nt.build_htree(to_graph(graph), decomposition=single_bag(n))
    assert tree.num_nodes == 1 + 2 * n
    assert sorted(tree.bag(node)[:2] for node in range(1, 2 * n + 1) if tree.kappa[node] < 0) == [(0, 2), (1, 2)]
    tree.validate(to_graph(graph))


@pytest.mark.parametrize("method", ["min_fill", "min_degree"])
def test_big_star_and_long_path(method: str) -> None:
    n = 20_000
    star = nt.Graph(np.stack([np.zeros(n, dtype=int), np.arange(1, n + 1)]))
    path = nt.Graph(np.stack([np.arange(n), np.arange(1, n + 1)]))
    start = time.perf_counter()
    for graph, diameter in [(star, None), (path, n + 1)]:
        tree = nt.build_htree(graph, method=method)
        tree.validate(graph)
        assert (tree.num_nodes, tree.num_roots, tree.num_leaves, tree.treewidth) == (3 * n, n, 2 * n, 1)
        assert diameter in (None, tree.diameter())
    assert time.perf_counter() - start < 60  # a wide bound against hanging


def test_a_thousand_components() -> None:
    shapes = [nx.path_graph(3), nx.cycle_graph(4), nx.empty_graph(1), nx.complete_graph(5)]
    sizes = [nt.build_htree(to_graph(shape)).num_nodes for shape in shapes]
    union = nt.Graph.union(to_graph(shape) for _ in range(250) for shape in shapes)
    tree = nt.build_htree(union)
    tree.validate(union)
    assert tree.num_components == 1000
    assert tree.component.bincount().tolist() == sizes * 250
    assert tree.diameters().tolist() == [nt.build_htree(to_graph(shape)).diameter() for shape in shapes] * 250


@pytest.mark.parametrize("threads", [2, 5])
def test_number_of_threads_does_not_matter_for_one_large_graph(threads: int) -> None:
    graph = to_graph(nx.gnm_random_graph(3000, 3600, seed=2))
    sub, td = nt.sample_bounded_treewidth(graph, k=5)
    one = nt.build_htree(sub, td, threads=1)
    assert one.num_roots > 2000
    assert nt.build_htree(sub, td, threads=threads) == one


@pytest.mark.parametrize("threads", [1, 2])
def test_too_large_is_found_on_every_thread(threads: int) -> None:
    union = nt.Graph.union([GOLDEN] * 2000)
    with pytest.raises(nt.TreeTooLargeError, match="at most 35,999 nodes"):
        nt.build_htree(union, threads=threads, max_nodes=2000 * 18 - 1)


def test_control_c_ends_the_nesting_of_one_bag() -> None:
    script = """
import signal, threading, neuraltrees as nt, networkx as nx
signal.signal(signal.SIGINT, signal.default_int_handler)
graph = nt.Graph.from_networkx(nx.complement(nx.Graph([(2 * i, 2 * i + 1) for i in range(20)])))
nt.build_htree(nt.Graph([[0], [1]]))
threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
try:
    nt.build_htree(graph)
except KeyboardInterrupt:
    print("interrupted")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout == "interrupted\n"
