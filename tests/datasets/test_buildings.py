"""Generated buildings: their graphs, their labels, and a posterior that is exact."""

from __future__ import annotations

import itertools
from copy import copy

import pytest
import torch

from neuraltrees import Graph, SyntheticBuildings, decompose
from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.datasets.building_model import BuildingLabels, BuildingModel
from neuraltrees.datasets.buildings import FEWEST_ROOMS, MOST_ROOMS
from neuraltrees.datasets.scene_model import BoxModel
from neuraltrees.errors import InputError
from neuraltrees.scenes import TypedGraphSpec, building_label_spaces, scene_of_building, typed_graph, typed_tree


def small_model(seed: int = 0) -> BuildingModel:
    """Two room labels and three object labels with any tables."""
    generator = torch.Generator().manual_seed(seed)

    def table(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    between, affinity = table(2, 2), table(3, 3)
    return BuildingModel(
        table(2).log_softmax(0),
        table(2, 3).log_softmax(1),
        (affinity + affinity.mT) / 2,
        2.0,
        BoxModel(table(2, 6), 1 + table(2, 6)),
        BoxModel(table(3, 6), 1 + table(3, 6)),
        (between + between.mT) / 2,
        3.0,
    )


def test_the_posterior_is_that_of_all_labellings() -> None:
    model = small_model()
    kinds = torch.tensor([0, 0, 0, 1, 1, 1, 1])  # three rooms in a triangle; two objects, one, and one
    edges = torch.tensor([[0, 0, 1, 0, 0, 3, 1, 2], [1, 2, 2, 3, 4, 4, 5, 6]])
    likelihood = torch.randn(7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = torch.zeros(7, 3, dtype=torch.float64)
    for labels in itertools.product(*(range(2 if kind == 0 else 3) for kind in kinds.tolist())):
        score = sum(float(likelihood[i, label]) for i, label in enumerate(labels))
        score += sum(float(model.log_room[labels[i]]) for i in range(3))
        for a, b in edges.t().tolist():
            if kinds[b] == 0:
                score += model.room_coupling * float(model.room_affinity[labels[a], labels[b]])
            elif kinds[a] == 0:
                score += float(model.log_object[labels[a], labels[b]])
            else:
                score += model.coupling * float(model.affinity[labels[a], labels[b]])
        for i, label in enumerate(labels):
            expected[i, label] += torch.tensor(score, dtype=torch.float64).exp()
    expected /= expected.sum(1, keepdim=True)
    found = BuildingLabels.of(model, edges, kinds, torch.zeros(7, dtype=torch.long)).marginals(likelihood)
    torch.testing.assert_close(found, expected)


def test_buildings_have_rooms_with_objects() -> None:
    buildings = SyntheticBuildings(30, seed=3)
    for building in buildings:
        rooms = int((building.node_type == 0).sum())
        assert FEWEST_ROOMS <= rooms <= MOST_ROOMS
        assert building.node_type.tolist() == sorted(building.node_type.tolist())
        source, target = building.edge_index
        assert torch.equal(
            building.edge_index.flip(0)[:, torch.argsort(target * 1000 + source)],
            building.edge_index[:, torch.argsort(source * 1000 + target)],
        )
        mixed = (building.node_type[source] == 1) & (building.node_type[target] == 0)
        assert torch.equal(target[mixed][torch.argsort(source[mixed])], building.room_index[rooms:])
        among = (building.node_type[source] == 1) & (building.node_type[target] == 1)
        assert torch.equal(building.room_index[source[among]], building.room_index[target[among]])
        graph = Graph(building.edge_index, num_nodes=building.num_nodes)
        assert graph.num_components == 1 and decompose(graph).width <= 3
        assert building.y[:rooms].max() < 15 and building.y.max() < 35


def test_the_first_buildings_do_not_depend_on_the_number() -> None:
    few, many = SyntheticBuildings(3, seed=5), SyntheticBuildings(7, seed=5)
    for one, other in zip(few, many, strict=False):
        assert torch.equal(one.x, other.x) and torch.equal(one.y, other.y) and torch.equal(one.pos, other.pos)
    assert not torch.equal(few[0].x, SyntheticBuildings(1, seed=6)[0].x)


def test_the_posterior_is_calibrated_and_neighbouring_rooms_help() -> None:
    buildings = SyntheticBuildings(60, room_coupling=3.0)
    y = torch.cat([building.y for building in buildings])
    is_room = torch.cat([building.node_type for building in buildings]) == 0
    posterior = buildings.posterior()
    right = (posterior.argmax(1) == y).double()
    torch.testing.assert_close(posterior.sum(1), torch.ones(len(y), dtype=torch.float64))
    assert abs(float(posterior.max(1).values.mean() - right.mean())) < 0.02
    apart = copy(buildings)
    apart.model = BuildingModel.default(room_coupling=0.0)  # the same buildings, read as if rooms were independent
    assert buildings.optimum(is_room) > apart.optimum(is_room) + 0.03
    known = is_room.clone()
    assert buildings.optimum(~is_room, known) > buildings.optimum(~is_room)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"room_coupling": 11}, "room_coupling between 0 and 10"), ({"num_buildings": 0}, "num_buildings")],
)
def test_mistakes(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SyntheticBuildings(**arguments)  # type: ignore[arg-type]


def test_buildings_are_a_dataset_of_the_command_line() -> None:
    task = load_task(DataSpec(dataset="buildings", scenes=10))
    assert len(task.graphs) == 10


def test_buildings_as_scenes() -> None:
    building = SyntheticBuildings(2)[1]
    scene = scene_of_building(building)
    graph = typed_graph(scene, TypedGraphSpec(("room", "object"), object_edges=False))
    assert graph.graph == Graph(building.edge_index, num_nodes=building.num_nodes)
    assert graph.node_type.tolist() == building.node_type.tolist() and graph.labels.tolist() == building.y.tolist()
    tree = typed_tree(graph)
    tree.htree.validate(graph.graph)
    spaces = building_label_spaces()
    rooms = [node.id for node in scene.nodes if node.type == "room"]
    assert spaces["room"].labels_of(scene, rooms).tolist() == building.y[: len(rooms)].tolist()
    assert {node.label for node in scene_of_building(building, labelled=False).nodes} == {None}
    with pytest.raises(InputError, match="Expected a building of SyntheticBuildings"):
        scene_of_building({})  # type: ignore[arg-type]
