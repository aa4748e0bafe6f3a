"""Scenes of robots: a typed neural tree with an exact head names the rooms and objects of buildings it has not seen.

Run it with

    python examples/06_scenes.py --out scenes

Buildings are generated, so that the best possible answers are known. Then a person confirms the label of one room, and
the labels of its objects become more certain. The trained network is written to the folder --out; it labels your own
maps: neuraltrees predict scenes/model.safetensors map.json --out labelled.json
"""

import argparse
from pathlib import Path

import torch

import neuraltrees as nt
from neuraltrees.data.splits import Split
from neuraltrees.scenes import (
    NodeLabel,
    SceneFormat,
    TypedGraphSpec,
    building_label_spaces,
    scene_of_building,
    scene_task,
)
from neuraltrees.serving import SceneLabeller
from neuraltrees.training import Bundle, NetworkSpec, Run, TrainingSpec, fit

VALIDATION, TEST = 5, 10  # buildings


def main() -> None:
    parser = argparse.ArgumentParser(description="Label rooms and objects of scenes.")
    parser.add_argument("--out", type=Path, default=Path("06_scenes"), help="folder for the network")
    parser.add_argument("--seed", type=int, default=0, help="seed of the buildings and the weights")
    parser.add_argument("--epochs", type=int, default=25, help="training epochs")
    parser.add_argument("--buildings", type=int, default=100, help="training buildings")
    arguments = parser.parse_args()

    # A scene has nodes with types, boxes and positions; a format says what a network reads of it and what it learns.
    buildings = nt.SyntheticBuildings(VALIDATION + TEST + arguments.buildings, seed=arguments.seed)
    scenes = [scene_of_building(building) for building in buildings]
    form = SceneFormat(building_label_spaces(), ("object", "room"), TypedGraphSpec(object_edges=False))
    task = scene_task(scenes, form)
    print(f"{len(scenes)} scenes, the first one: {scenes[0]}")

    # Whole buildings are held out: the first ones to validate, the next ones to test.
    sizes = torch.tensor([graph.num_nodes for graph in task.graphs])
    building = torch.arange(len(scenes)).repeat_interleave(sizes)
    held_out = building < VALIDATION + TEST
    split = Split(~held_out, building < VALIDATION, held_out & (building >= VALIDATION))
    network = NetworkSpec(schedule="typed", hidden=32, layers=2, dropout=0.0, layer_norm=True, head="crf", crf_states=6)
    training = TrainingSpec(arguments.epochs, lr=0.006, batches=6, cosine=True, every_class=False, evaluate_every=25)
    fitted = fit(task, network, training, [Run(arguments.seed, split)])
    tested = buildings[VALIDATION : VALIDATION + TEST]
    best = tested.optimum(torch.ones(int(split.test.sum()), dtype=torch.bool))
    print(f"Test accuracy: {100 * float(fitted.test):.1f} %; the best possible: {100 * best:.1f} %")

    arguments.out.mkdir(parents=True, exist_ok=True)
    Bundle.of(fitted).save(arguments.out / "model.safetensors")
    labeller = SceneLabeller.load(arguments.out / "model.safetensors")
    scene = scene_of_building(buildings[VALIDATION], labelled=False)
    truth = form.labels["room"].names[int(buildings[VALIDATION].y[0])]
    (before,), (after,) = labeller.label([scene]), labeller.label([scene], [{"room_0": truth}])
    print(f"The network labels room_0 {before['room_0'].name}; a person confirms that it is {truth}.")
    changed = sorted(scene.ids, key=lambda node: -change(before[node].probabilities, after[node].probabilities))
    for node in changed[:4]:
        print(f"  {node}: {described(before[node])} → {described(after[node])}")


def change(before: dict[str, float], after: dict[str, float]) -> float:
    """By how much the probabilities of a node's labels differ, from 0 to 1."""
    return sum(abs(before[name] - after[name]) for name in before) / 2


def described(label: NodeLabel) -> str:
    return f"{label.name} ({100 * label.probabilities[label.name]:.0f} %)"


if __name__ == "__main__":
    main()
