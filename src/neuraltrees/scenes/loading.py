"""Datasets of scenes for a training: options → task."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from neuraltrees.data.splits import Split, random_graph_split, random_node_split
from neuraltrees.data.task import Task
from neuraltrees.datasets.buildings import SyntheticBuildings
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.datasets.stanford import StanfordSceneGraphs
from neuraltrees.errors import InputError, NeuralTreesWarning
from neuraltrees.scenes.folders import FolderScene, house_split, read_folder
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.scenes.generated import building_label_spaces, scene_of_building, scene_of_room
from neuraltrees.scenes.label_files import read_label_spaces
from neuraltrees.scenes.spec import TypedGraphSpec
from neuraltrees.scenes.task import scene_task

ALL = "all"


def load_scenes(spec: DataSpec) -> Task:
    """`scenes:FOLDER`, and the built-in `scenes:stanford3dsg` and `scenes:buildings`, as graphs with typed H-trees."""
    for name in ("max_treewidth", "max_tree_nodes"):
        if getattr(spec, name) is not None:
            raise InputError(
                f"Expected no {name} for scenes, whose typed H-trees are of whole graphs; got one. Leave it out."
            )
    name = spec.dataset.partition(":")[2]
    if name == "stanford3dsg":
        rooms = StanfordSceneGraphs(spec.data_root)
        nodes = partial(_node_split, len(rooms.y), spec.train_share)
        return scene_task(map(scene_of_room, rooms), _built_in(spec), nodes)
    if name == "buildings":
        buildings = SyntheticBuildings(spec.scenes, spec.coupling, seed=spec.seed)
        sizes = [building.num_nodes for building in buildings]
        return scene_task(
            map(scene_of_building, buildings), _built_in(spec), partial(_graph_split, sizes, spec.train_share)
        )
    return load_folder(spec, name)


def load_folder(spec: DataSpec, folder: str) -> Task:
    """The scenes of a folder; see `read_folder`."""
    found = read_folder(folder, spec.houses)
    _say_what_was_dropped(folder, found)
    scenes = [each.scene for each in found]
    form = SceneFormat.of_scenes(scenes, read_label_spaces(spec.label_spaces or ""), _targets(spec, TypedGraphSpec()))
    task = scene_task(scenes, form)
    sizes = torch.tensor([graph.num_nodes for graph in task.graphs])
    return task.replace(splitter=partial(_split_of_scenes, found, sizes, spec.train_share, spec.shared_houses))


def _say_what_was_dropped(folder: str, scenes: Sequence[FolderScene]) -> None:
    dropped = Counter[str]()
    unclean = [each for each in scenes if each.scene.report.num_dropped]
    for each in unclean:
        dropped.update(each.scene.report.dropped)
    if unclean:
        what = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        warnings.warn(
            f"{folder}: dropped {what} in {len(unclean)} of {len(scenes)} scenes; read_scene(path).report says which.",
            NeuralTreesWarning,
            stacklevel=2,
        )


def _built_in(spec: DataSpec) -> SceneFormat:
    form = TypedGraphSpec(object_edges=False)
    return SceneFormat(building_label_spaces(), tuple(_targets(spec, form) or form.types), form)


def _targets(spec: DataSpec, form: TypedGraphSpec) -> Sequence[str] | None:
    """The node types to learn; None for all that have labels."""
    if spec.target in (None, ALL):
        return None
    if spec.target not in form.types:
        raise InputError(f"Expected target out of {', '.join(form.types)}, {ALL}; got {spec.target!r}.")
    return (str(spec.target),)


def _split_of_scenes(scenes: Sequence[FolderScene], sizes: Tensor, share: float, shared: bool, seed: int) -> Split:
    split = house_split(scenes, share, shared, seed)
    return Split(*(mask.repeat_interleave(sizes) for mask in (split.train, split.val, split.test)))


def _node_split(nodes: int, share: float, seed: int) -> Split:
    return random_node_split(nodes, share, seed=seed)


def _graph_split(sizes: list[int], share: float, seed: int) -> Split:
    return random_graph_split(sizes, share, seed=seed)
