"""Typed rounds: what they compute, what they depend on, and that one type without geometry is the neural tree."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GATv2Conv

from neuraltrees import ToHTree
from neuraltrees.errors import InputError
from neuraltrees.nn import NeuralTree, Plan, TypedRounds
from neuraltrees.nn.ensemble.backend import SCATTER
from neuraltrees.nn.head import Places
from neuraltrees.nn.schedule.typed import TypedStructure
from neuraltrees.nn.schedule.typed.geometry import by_relation, offset_rows
from neuraltrees.scenes import LabelSpace, Scene, SceneData, SceneFormat, SceneNode
from neuraltrees.training.batches import joined_graphs
from tests.scenes.scenes import building, scenes

CONVS = ("gcn", "sage", "gat", "gin")
SPACES = {"object": LabelSpace([f"thing {i}" for i in range(9)]), "room": LabelSpace(["bath", "hall"])}
FORM = SceneFormat(SPACES, ("object", "room"))


def network(conv: str = "sage", layers: int = 3, runs: int | None = None, form: SceneFormat = FORM) -> NeuralTree:
    torch.manual_seed(0)
    schedule = TypedRounds.of(len(form.types), form.num_relations, form.geometry)
    out = {kind: len(names) for kind, names in form.objective.labels.items()}
    made = NeuralTree(form.features, 8, out, layers, conv, 0.0, heads=2, runs=runs, schedule=schedule, residual=True)
    for parameter in made.parameters():  # gates start at one, where they do nothing
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return made.eval()


def small() -> Scene:
    return building("grid", rooms=4, objects=5)


@torch.no_grad()
def answers(model: NeuralTree, data: Data, x: Tensor | None = None) -> Tensor:
    found: Tensor = model(data.x if x is None else x, model.plan(data))
    return found


def finite_difference(first: Tensor, second: Tensor) -> float:
    assert torch.equal(first.isinf(), second.isinf())
    return float((first - second).nan_to_num(0.0).abs().max())


def moved(scene: Scene, by: tuple[float, float, float]) -> Scene:
    shift = np.array(by)
    return replace(scene, positions=scene.positions + shift, box_centres=scene.box_centres + shift)


@settings(deadline=None, max_examples=60)
@given(scenes())
def test_every_node_has_a_leaf(scene: Scene) -> None:
    data = FORM.graph(scene)
    assert sorted(set(data.tree_kappa.tolist())) == list(range(data.num_nodes))
    assert data.num_nodes == len(scene.of_type("object")) + len(scene.of_type("room"))
    if data.num_nodes:
        assert answers(network(), data)[:, 0].isfinite().all()


@pytest.mark.parametrize("conv", CONVS)
def test_moving_a_scene_changes_nothing(conv: str) -> None:
    model, scene = network(conv), small()
    here = answers(model, FORM.graph(scene))
    for by in ((1000.0, -500.0, 30.0), (0.1, 0.2, 0.3)):
        assert finite_difference(here, answers(model, FORM.graph(moved(scene, by)))) < 1e-5


def test_turning_a_scene_changes_answers() -> None:
    """Offsets and boxes are along the axes of the map: a documented choice."""
    model, scene = network(), small()
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    sizes = scene.sizes[:, [1, 0, 2]]
    turned = replace(scene, positions=scene.positions @ turn.T, box_centres=scene.box_centres @ turn.T, sizes=sizes)
    assert finite_difference(answers(model, FORM.graph(scene)), answers(model, FORM.graph(turned))) > 1e-2


def siblings(data: SceneData) -> list[tuple[int, int]]:
    """Pairs of objects that are leaves of one bag."""
    tree = data.htree
    leaf = (tree.kappa >= 0).nonzero().flatten().tolist()
    found = {}
    for a in leaf:
        for b in leaf:
            u, v = int(tree.kappa[a]), int(tree.kappa[b])
            if a < b and tree.parent[a] == tree.parent[b] and data.node_type[u] == data.node_type[v] == 0:
                found[u, v] = None
    return list(found)


@pytest.mark.parametrize("conv", CONVS)
def test_swapping_two_siblings_changes_both(conv: str) -> None:
    model, data = network(conv), FORM.graph(small())
    here = answers(model, data)
    pairs = siblings(data)
    assert len(pairs) == 8
    for u, v in pairs:
        order = torch.arange(data.num_nodes)
        order[u], order[v] = v, u
        there = answers(model, data, data.x[order])
        for node in (u, v):
            assert (here[node] - there[node]).abs().max() > 1e-4
        assert (here[u] - here[v]).abs().max() > 1e-4


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("runs", [None, 2])
def test_one_type_without_geometry_is_the_neural_tree(conv: str, runs: int | None) -> None:
    torch.manual_seed(1)
    ends = torch.randint(12, (2, 16))
    data = ToHTree()(Data(x=torch.randn(12, 6), edge_index=ends[:, ends[0] != ends[1]], num_nodes=12))
    plain = NeuralTree(6, 8, 4, 3, conv, heads=2, runs=runs, relations=True).eval()
    schedule = TypedRounds.of(types=1, geometry=False)
    typed = NeuralTree(6, 8, 4, 3, conv, heads=2, runs=runs, relations=True, schedule=schedule).eval()
    typed.load_state_dict(plain.state_dict())  # parameter for parameter
    assert torch.equal(answers(plain, data), answers(typed, data))
    traced = typed(data.x, data.htree.edge_index, data.htree.kappa, edge_type=data.htree.edge_type)
    assert torch.allclose(traced, answers(plain, data), atol=1e-6)


@pytest.mark.parametrize("conv", CONVS)
def test_runs_at_once_are_runs_apart(conv: str) -> None:
    data = FORM.graph(small())
    together = network(conv, runs=3)
    found = answers(together, data)
    for run in range(3):
        alone = network(conv)
        alone.load_state_dict({name: value[run] for name, value in together.state_dict().items()})
        assert finite_difference(found[:, run], answers(alone, data)) < 1e-5


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_batch_is_its_scenes(conv: str, layers: int) -> None:
    model = network(conv, layers)
    graphs = [FORM.graph(small()), FORM.graph(building("path", rooms=3, objects=2, seed=5))]
    joined = joined_graphs(graphs, FORM.types)
    x = torch.cat([graph.x for graph in graphs])
    apart = torch.cat([answers(model, graph) for graph in graphs])
    assert finite_difference(apart, answers(model, joined, x)) < 1e-5


@pytest.mark.parametrize("conv", CONVS)
def test_a_plan_of_plain_operations_gives_the_same(conv: str) -> None:
    model, data = network(conv), FORM.graph(small())
    rounds = model.schedule.bound(TypedStructure.of(data), SCATTER)
    plan = Plan(rounds, Places(data.node_type), data.node_type)
    with torch.no_grad():
        assert finite_difference(model(data.x, plan), answers(model, data)) < 1e-5


def test_two_rounds_of_sage_message_by_message() -> None:
    model, data = network("sage", layers=2), FORM.graph(small())
    tree, rounds = TypedStructure.of(data), model.schedule
    assert isinstance(rounds, TypedRounds)
    with torch.no_grad():
        x = model.encoder(data.x, data.node_type)
        start = first_states(rounds, tree, x)
        offsets = offset_rows(tree.offset) @ rounds.offsets.lin.weight
        offsets = (offsets + rounds.offsets.relation.weight[tree.relations(2)]).relu()
        h = one_round(rounds, 0, start, tree, offsets)
        h = one_round(rounds, 1, h.relu(), tree, offsets) + h.relu()
        states = torch.stack([h[tree.leaf[tree.kappa == node]].mean(0) for node in range(data.num_nodes)])
        expected = model.head(states.relu(), Places(data.node_type))
    assert finite_difference(expected, answers(model, data)) < 1e-5


def first_states(rounds: TypedRounds, tree: TypedStructure, x: Tensor) -> Tensor:
    """Of every tree node, one by one."""
    phi = (by_relation(tree.geometry, tree.relation, rounds.relations) @ rounds.edges.first.weight).relu()
    nodes = x.clone()
    for end, lin in ((0, rounds.edges.source), (1, rounds.edges.target)):
        for node in range(tree.num_nodes):
            for relation in range(rounds.relations):
                mine = (tree.ends[end] == node) & (tree.relation == relation)
                if mine.any():
                    nodes[node] += phi[mine].mean(0) @ lin.weight
                    weight = rounds.edges.count.weight[end * rounds.relations + relation]
                    nodes[node] += math.log1p(int(mine.sum())) * weight
    start = torch.empty(len(tree.kind), x.shape[1])
    start[tree.leaf] = nodes[tree.kappa]
    for bag in tree.bag.tolist():
        start[bag] = rounds.bags.weight[tree.kind[bag] - rounds.types - 1]
        start[bag] += (phi[tree.home == bag] @ rounds.edges.home.weight).sum(0)
    return start


def one_round(rounds: TypedRounds, number: int, h: Tensor, tree: TypedStructure, offsets: Tensor) -> Tensor:
    """The mean over messages, each gated by its relation, with its offset; and the state itself."""
    conv, relation = rounds.convs[number], tree.relations(rounds.types)
    out = h @ conv.own.weight + conv.own.bias
    for node in range(len(h)):
        into = (tree.edge_index[1] == node).nonzero().flatten().tolist()
        sent = [
            (h[tree.edge_index[0, e]] * (1 + rounds.gates[number].weight[relation[e]])) @ conv.neighbours[0].weight
            + offsets[e] @ conv.lin_edge.weight
            for e in into
        ]
        out[node] += torch.stack(sent).mean(0)
    return out


@pytest.mark.parametrize("conv", CONVS)
def test_weights_per_direction_change_answers(conv: str) -> None:
    data = FORM.graph(small())
    torch.manual_seed(0)
    model = NeuralTree(
        FORM.features, 8, {"object": 2, "room": 2}, 3, conv, schedule=TypedRounds.of(2, 6), relations=True
    )
    before = answers(model.eval(), data)
    lins = [
        (name, each)
        for name, each in model.named_parameters()
        if ".neighbours.1.weight" in name or ".lins.1.weight" in name
    ]
    assert lins
    for _, weight in lins:  # of messages upwards
        torch.nn.init.zeros_(weight)
    assert finite_difference(before, answers(model, data)) > 1e-3


def test_gates_start_where_they_do_nothing_and_new_weights_are_drawn() -> None:
    torch.manual_seed(0)
    model = NeuralTree(FORM.features, 8, {"object": 2, "room": 2}, 2, schedule=TypedRounds.of(2))
    rounds = model.schedule
    assert all((gate.weight == 0).all() for gate in rounds.gates)  # gates of one
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for gate in rounds.gates:
        torch.nn.init.ones_(gate.weight)
    model.reset_parameters()
    assert all((gate.weight == 0).all() for gate in rounds.gates)
    for name in ("schedule.bags.weight", "schedule.edges.first.weight", "schedule.offsets.relation.weight"):
        assert not torch.equal(model.state_dict()[name], before[name])


def test_gradients_reach_every_weight() -> None:
    model = network("sage").train()
    data = FORM.graph(small())
    model(data.x, model.plan(data)).nan_to_num(neginf=0.0).square().sum().backward()
    assert [name for name, each in model.named_parameters() if each.grad is None or not each.grad.any()] == []


def test_bad_input() -> None:
    model = network()
    bare = ToHTree()(Data(x=torch.zeros(2, 7), edge_index=torch.tensor([[0], [1]]), node_type=torch.zeros(2).long()))
    with pytest.raises(InputError, match="Expected a graph with a typed H-tree; got HTreeData without scene_kind"):
        model.plan(bare)
    with pytest.raises(InputError, match="Expected a plan for typed rounds"):
        model(torch.zeros(2, 7), bare.tree_edge_index, torch.tensor([-1, 0, 1]))
    with pytest.raises(InputError, match="Expected no edge features for typed rounds"):
        NeuralTree(6, 8, 2, schedule=TypedRounds.of(2), edge_channels=3)
    with pytest.raises(InputError, match="got a PyG convolution"):
        NeuralTree(6, 8, 2, conv=GATv2Conv, schedule=TypedRounds.of(2))
    with pytest.raises(InputError, match="Expected types as an integer"):
        NeuralTree(6, 8, 2, schedule=TypedRounds.of(0))


def test_objects_without_a_room_and_scenes_without_geometry() -> None:
    nodes = [SceneNode("a", "object"), SceneNode("b", "object", position=(0, 0, 0)), SceneNode("c", "room")]
    found = answers(network(), FORM.graph(Scene.of(nodes)))
    assert found[:, 0].isfinite().all()
    plain = replace(FORM, geometry=False)
    data = plain.graph(small())
    assert answers(network(form=plain), data)[:, 0].isfinite().all()
