"""Typed H-trees, each column against a slow and obvious computation."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees import HTree, NeuralTree, decompose
from neuraltrees.errors import InputError, TreeTooLargeError
from neuraltrees.scenes import Scene, SceneNode, TypedGraph, TypedGraphSpec, TypedTree, typed_graph, typed_tree
from neuraltrees.scenes.pieces import take_apart
from tests.scenes.scenes import Layout, building, scenes

SPECS = [TypedGraphSpec(), TypedGraphSpec(types=("room", "building", "object")), TypedGraphSpec(types=("object",))]
LAYOUTS: list[Layout] = ["corridor", "path", "grid", "hall"]


def check_columns(tree: TypedTree) -> None:
    """Kinds, relations, offsets, homes and geometry, one by one."""
    graph, htree = tree.graph, tree.htree
    bags = [set(htree.bag(i)) for i in range(htree.num_nodes)]
    kappa = htree.kappa.tolist()
    names = []
    for i, bag in enumerate(bags):
        present = {graph.types[graph.node_type[v]] for v in bag}
        in_order = "{" + ", ".join(word for word in graph.types if word in present) + "}"
        names.append(graph.types[graph.node_type[kappa[i]]] if kappa[i] >= 0 else in_order)
    assert [tree.kind_name(kind) for kind in tree.kind.tolist()] == names

    def centre(i: int) -> np.ndarray:
        rows = [graph.positions[v] for v in sorted(bags[i]) if not np.isnan(graph.positions[v]).any()]
        return np.mean(rows, axis=0) if rows else np.full(3, np.nan)

    for (a, b), kind, code, offset in zip(
        htree.edge_index.t().tolist(), htree.edge_type.tolist(), tree.relation.tolist(), tree.offset, strict=True
    ):
        assert tree.relation_name(code) == (names[a], ("root", "up", "down")[kind], names[b])
        np.testing.assert_allclose(offset.numpy(), np.nan_to_num(centre(a) - centre(b)), atol=1e-5)
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(htree.parent.tolist()):
        children.setdefault(parent, []).append(i)
    for (u, v), home, row in zip(graph.edges.tolist(), tree.home.tolist(), tree.geometry.numpy(), strict=True):
        both = [i for i, bag in enumerate(bags) if {u, v} <= bag]
        lowest = [i for i in both if not any({u, v} <= bags[child] for child in children.get(i, []))]
        assert home == lowest[0]
        apart = graph.positions[u] - graph.positions[v]
        sizes = [np.log(np.maximum(graph.sizes[end], 1e-3)) for end in (u, v)]
        expected = [*apart, np.linalg.norm(apart), *sizes[0], *sizes[1]]
        expected += [float(not np.isnan(each).any()) for each in (apart, *sizes)]
        np.testing.assert_allclose(row, np.nan_to_num(expected), atol=1e-5)


@settings(max_examples=150, deadline=None)
@given(scene=scenes(), spec=st.sampled_from(SPECS))
def test_any_scene(scene: Scene, spec: TypedGraphSpec) -> None:
    given = typed_graph(scene, spec)
    tree = typed_tree(given)
    tree.htree.validate(given.graph)
    assert set(tree.htree.kappa.tolist()) - {-1} == set(range(given.num_nodes))
    assert tree.htree.component.tolist() == sorted(tree.htree.component.tolist())
    assert bool((tree.htree.parent < torch.arange(tree.htree.num_nodes)).all())
    again = {tuple(row) for row in np.column_stack([given.edges, given.edge_relation]).tolist()}
    assert {tuple(row) for row in np.column_stack([tree.graph.edges, tree.graph.edge_relation]).tolist()} == again
    assert tree.graph.num_edges == given.num_edges
    check_columns(tree)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_buildings(layout: Layout) -> None:
    tree = typed_tree(building(layout, rooms=8, objects=6, hall=20))
    tree.htree.validate(tree.graph.graph)
    check_columns(tree)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_size_and_width_of_twenty_rooms_with_fifteen_objects(layout: Layout) -> None:
    scene = building(layout)
    tree = typed_tree(scene)
    tree.htree.validate(tree.graph.graph)
    assert tree.htree.num_nodes <= 5 * tree.graph.num_nodes
    # A room is a cut vertex: the width is that of the rooms, or one more than that of the objects of a room.
    pieces = take_apart(tree.graph)
    widths = []
    for start, stop in itertools.pairwise(pieces.ptr.tolist()):
        widths.append(decompose(tree.graph.graph.subgraph(pieces.members[start:stop])).width)
    assert tree.htree.treewidth == max(widths)


def moved(scene: Scene, by: tuple[float, float, float]) -> Scene:
    offset = np.array(by)
    return replace(scene, positions=scene.positions + offset, box_centres=scene.box_centres + offset)


@settings(max_examples=60, deadline=None)
@given(scene=scenes(), by=st.tuples(*3 * [st.integers(-1024, 1024)]))
def test_moving_a_scene_changes_no_feature(scene: Scene, by: tuple[int, int, int]) -> None:
    one, other = typed_tree(scene), typed_tree(moved(scene, (float(by[0]), float(by[1]), float(by[2]))))
    assert one.htree == other.htree and torch.equal(one.relation, other.relation) and torch.equal(one.home, other.home)
    for name in ("offset", "geometry", "x"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), atol=1e-5, rtol=0)


def test_moving_a_building_by_any_distance() -> None:
    scene = building("grid")
    one, other = typed_tree(scene), typed_tree(moved(scene, (123.456, -987.654, 31.4)))
    assert one.htree == other.htree
    for name in ("offset", "geometry", "x"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), atol=1e-5, rtol=0)


def test_siblings_keep_their_own_inputs() -> None:
    """Two objects of one bag that differ in size alone: exchanging the sizes exchanges their rows, and nothing else."""
    sizes = [(0.5, 0.6, 0.7), (1.0, 1.2, 0.9)]

    def tree(a: int, b: int) -> TypedTree:
        nodes = [
            SceneNode("hall", "room", position=(0, 0, 1)),
            SceneNode("a", "object", position=(1, 0, 1), size=sizes[a]),
            SceneNode("b", "object", position=(1, 0.5, 1), size=sizes[b]),
        ]
        return typed_tree(Scene.of(nodes, [("a", "hall"), ("b", "hall"), ("a", "b")]))

    one, other = tree(0, 1), tree(1, 0)
    assert one.htree == other.htree
    assert one.htree.parent[one.htree.kappa == 1].tolist() == one.htree.parent[one.htree.kappa == 2].tolist()
    assert torch.equal(one.x[[0, 2, 1]], other.x) and not torch.equal(one.x, other.x)
    assert not torch.equal(one.geometry, other.geometry)
    assert one.graph.edges.tolist() == [[1, 0], [1, 2], [2, 0]]
    assert torch.equal(one.geometry[1, 4:7], other.geometry[1, 7:10])
    assert torch.equal(one.geometry[0, 4:7], other.geometry[2, 4:7])


def test_a_network_answers_the_same_on_the_tree_in_another_order() -> None:
    tree = typed_tree(building("grid", rooms=6, objects=5)).htree
    roots_first = torch.argsort(
        torch.stack([tree.component, (tree.parent >= 0).long()]).T @ torch.tensor([2, 1]), stable=True
    )
    place = torch.empty_like(roots_first)
    place[roots_first] = torch.arange(len(place))
    bags = [torch.tensor(tree.bag(i)) for i in roots_first.tolist()]
    sorted_tree = HTree(
        torch.where(tree.parent < 0, tree.parent, place[tree.parent])[roots_first],
        tree.level[roots_first],
        tree.kappa[roots_first],
        place[tree.edge_index],
        tree.edge_type,
        torch.cat([torch.zeros(1, dtype=torch.long), torch.tensor([len(bag) for bag in bags]).cumsum(0)]),
        torch.cat(bags),
        tree.component[roots_first],
    )
    torch.manual_seed(0)
    network = NeuralTree(3, 8, 2, num_layers=3, conv="sage").eval()
    x = torch.randn(tree.num_graph_nodes, 3)
    answers = [network(x, each.edge_index, each.kappa) for each in (tree, sorted_tree)]
    torch.testing.assert_close(answers[0], answers[1])


def test_a_tree_that_is_too_large_says_what_to_do() -> None:
    random = np.random.default_rng(0)
    pile = [SceneNode(i, "object", position=random.uniform(0, 4, 3), size=(1.2, 1.2, 1.2)) for i in range(200)]
    with pytest.raises(TreeTooLargeError, match=r"Join fewer objects: TypedGraphSpec\(near_factor=1.0\)"):
        typed_tree(Scene.of(pile), max_nodes=2000)
    with pytest.raises(InputError, match="Expected a TypedGraph or a Scene; got str"):
        typed_tree("scene.json")  # type: ignore[arg-type]


def test_the_empty_scene() -> None:
    tree = typed_tree(Scene.of([]))
    assert tree.htree.num_nodes == 0 and tree.graph.num_nodes == 0 and isinstance(tree.graph, TypedGraph)
