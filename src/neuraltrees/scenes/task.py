"""Scenes as a task: what a network is trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.scenes.scene import Scene


def scene_task(
    scenes: Iterable[Scene], form: SceneFormat | None = None, splitter: Callable[[int], Split] | None = None
) -> Task:
    """The task of labelling the nodes of scenes, as graphs with typed H-trees.

    Args:
        scenes: with labels.
        form: what a network reads of them, and which labels it learns; by default `SceneFormat.of_scenes(scenes)`.
        splitter: the split that belongs to a seed; by default nodes at random.

    >>> from neuraltrees.scenes.scene import SceneNode
    >>> nodes = [SceneNode("r", "room", name="bath"), SceneNode("o", "object", name="tub", size=(1.7, 0.8, 0.6))]
    >>> scene_task([Scene.of(nodes, [("o", "r")])])
    Task(1 graph, 2 nodes, Classification(object: 2 labels, room: 2 labels, level='node', metric='accuracy'))
    """
    scenes = list(scenes)
    if not scenes or not all(isinstance(scene, Scene) for scene in scenes):
        raise InputError("Expected at least one scene; got none, or something else. Read them: read_scene(path).")
    form = SceneFormat.of_scenes(scenes) if form is None else form
    graphs = [form.graph(scene) for scene in scenes]
    return Task(graphs, form.objective, splitter=splitter, features=form.features, inputs=form)
