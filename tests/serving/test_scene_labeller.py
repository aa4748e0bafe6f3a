"""Labels of scenes: by name, together or apart, with and without known labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from neuraltrees import SyntheticBuildings
from neuraltrees.errors import InputError
from neuraltrees.scenes import (
    Scene,
    SceneFormat,
    SceneNode,
    SceneTracker,
    TypedGraphSpec,
    building_label_spaces,
    scene_of_building,
    scene_task,
)
from neuraltrees.serving import Predictor, SceneLabeller
from neuraltrees.training import Bundle, NetworkSpec, Run, TrainingSpec, fit
from tests.training.tasks import small_task

SCENES = [scene_of_building(building) for building in SyntheticBuildings(8)]
FORM = SceneFormat(building_label_spaces(), ("object", "room"), TypedGraphSpec(object_edges=False))


def trained(form: SceneFormat = FORM, runs: int = 2, **network: object) -> Bundle:
    task = scene_task(SCENES, form)
    options: dict[str, object] = {"schedule": "typed", "hidden": 8, "layers": 2, "crf_states": 3} | network
    training = TrainingSpec(epochs=2, batches=2, every_class=False)
    fitted = fit(task, NetworkSpec(**options), training, [Run(seed, task.split(seed)) for seed in range(runs)])  # type: ignore[arg-type]
    return Bundle.of(fitted, list(range(runs)))


@pytest.fixture(scope="module")
def crf() -> SceneLabeller:
    return SceneLabeller(trained(head="crf"))


@pytest.mark.parametrize(
    "network",
    [
        {},
        {"conv": "gcn"},
        {"conv": "gat", "heads": 2},
        {"conv": "gin"},
        {"head": "crf"},
        {"head": "labels"},
        {"schedule": None},
        {"schedule": None, "model": "gnn"},
        {"schedule": None, "model": "mlp"},
        {"schedule": "bags"},
    ],
)
def test_labels_of_several_scenes_are_those_of_each(network: dict[str, object], tmp_path: Path) -> None:
    bundle = trained(**network)
    bundle.save(tmp_path / "model.safetensors")
    labeller = SceneLabeller.load(tmp_path / "model.safetensors")
    together = labeller.label(SCENES[:3])
    for scene, labels in zip(SCENES, together, strict=False):
        (alone,) = labeller.label([scene])
        assert set(labels) == set(alone) == set(scene.ids)
        for node, label in labels.items():
            space = FORM.labels[scene[node].type]
            assert label.probabilities is not None and set(label.probabilities) == set(space.names)
            assert sum(label.probabilities.values()) == pytest.approx(1, abs=1e-5)
            assert label.name == max(label.probabilities, key=label.probabilities.__getitem__)
            assert label.label == space.number(label.name)
            assert label.probabilities == pytest.approx(alone[node].probabilities, abs=1e-5)


def test_answers_are_those_of_the_predictor() -> None:
    bundle = trained()
    (labels,) = SceneLabeller(bundle).label(SCENES[:1])
    (rows,) = Predictor(bundle).predict([FORM.graph(SCENES[0], labelled=False)])
    for node, row in zip(SCENES[0].ids, rows.tolist(), strict=True):
        expected = list(labels[node].probabilities.values())  # type: ignore[union-attr]
        assert row[: len(expected)] == pytest.approx(expected, abs=1e-6)


def test_known_labels_are_certain_and_change_others(crf: SceneLabeller) -> None:
    bundle, scene = crf.bundle, SCENES[0]
    with torch.no_grad():  # two epochs leave tables near zero
        bundle.weights["head.pairs.table"].normal_(generator=torch.Generator().manual_seed(0))
    labeller = SceneLabeller(bundle)
    free, given = labeller.label([scene, scene], [{}, {"room_0": "kitchen"}])
    assert given["room_0"].name == "kitchen" and given["room_0"].probabilities["kitchen"] == pytest.approx(1)  # type: ignore[index]
    neighbour = next(node for node in scene.ids if node != "room_0" and free[node] != given[node])
    assert free[neighbour].probabilities != pytest.approx(given[neighbour].probabilities, abs=1e-3)


def test_only_what_was_learned_is_labelled() -> None:
    rooms = SceneFormat(building_label_spaces(), ("room",), TypedGraphSpec(object_edges=False))
    (labels,) = SceneLabeller(trained(rooms)).label(SCENES[:1])
    assert {SCENES[0][node].type for node in labels} == {"room"}


def test_numbers_are_those_of_the_scene() -> None:
    names = [[number + 100, name] for number, name in enumerate(building_label_spaces()["room"].names)]
    nodes = [SceneNode(1, "room", position=(0, 0, 0), size=(4, 3, 3))]
    scene = Scene.of(nodes, metadata={"metadata": {"labelspaces": {"_l4p0": names}}})
    (labels,) = SceneLabeller(trained()).label([scene])
    assert labels[1].label is not None and labels[1].label >= 100


def test_scenes_without_anything_to_label(crf: SceneLabeller) -> None:
    assert crf.label([]) == []
    assert crf.label([Scene.of([SceneNode("p", "place")])]) == [{}]
    both = crf.label([Scene.of([]), SCENES[0]])
    assert both[0] == {} and len(both[1]) == SCENES[0].num_nodes


def test_bad_input(crf: SceneLabeller) -> None:
    with pytest.raises(InputError, match="Expected a Bundle; got str"):
        SceneLabeller("model")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Expected a list of scenes"):
        crf.label(SCENES[0])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Expected known labels as a list of 1 mappings"):
        crf.label(SCENES[:1], [{}, {}])
    with pytest.raises(InputError, match="Expected no known labels for a network whose head is NodeHead"):
        SceneLabeller(trained(runs=1)).label(SCENES[:1], [{"room_0": "kitchen"}])
    task = small_task()
    training, runs = TrainingSpec(epochs=1, every_class=False), [Run(0, task.split(0))]
    fitted = fit(task, NetworkSpec(hidden=4, layers=2), training, runs)
    with pytest.raises(InputError, match="Expected a network that was trained on scenes"):
        SceneLabeller(Bundle.of(fitted))
    with pytest.raises(InputError, match="Expected scenes for the schedule typed"):
        fit(task, NetworkSpec(schedule="typed"), training, runs)


@pytest.mark.parametrize("network", [{}, {"head": "crf"}, {"schedule": "bags"}])
def test_labels_of_a_map_that_grows_are_those_of_the_scene(network: dict[str, object]) -> None:
    labeller = SceneLabeller(trained(runs=1, **network))
    scene, more = SCENES[0], SCENES[1]
    tracker = SceneTracker(scene, FORM.spec)
    lamp = SceneNode("lamp", "object", position=(1, 1, 1), size=(0.2, 0.2, 0.4), box_centre=(1, 1, 1.2))
    room = scene.ids[int(scene.of_type("room")[0])]
    tracker.update([SceneNode("place", "place", position=(1, 1, 0))])
    for changes in (
        {},
        {"nodes": [lamp], "edges": [("lamp", room, "hangs in")]},
        {"deleted_nodes": [scene.ids[-1]]},
        {"nodes": [SceneNode("attic", "room"), *(replace(node, id=f"new {node.id}") for node in more.nodes)]},
    ):
        tracker.update(**changes)  # type: ignore[arg-type]
        found, (expected,) = labeller.label_tracker(tracker), labeller.label([tracker.scene])
        assert found.keys() == expected.keys()
        for node, label in found.items():
            assert (label.name, label.label) == (expected[node].name, expected[node].label)
            assert label.probabilities == pytest.approx(expected[node].probabilities, abs=1e-6)
    if labeller.reads_labels:
        known = {"lamp": FORM.labels["object"].names[3]}
        assert labeller.label_tracker(tracker, known)["lamp"].probabilities[known["lamp"]] == 1  # type: ignore[index]


def test_an_empty_map_and_a_tracker_of_another_spec() -> None:
    labeller = SceneLabeller(trained(runs=1))
    assert labeller.label_tracker(SceneTracker(spec=FORM.spec)) == {}
    with pytest.raises(InputError, match=r"Expected a SceneTracker with the spec of the network; got one with Typed"):
        labeller.label_tracker(SceneTracker(SCENES[0]))
    with pytest.raises(InputError, match=r"got Scene. Make it by SceneTracker\(scene, labeller.format.spec\)"):
        labeller.label_tracker(SCENES[0])  # type: ignore[arg-type]
