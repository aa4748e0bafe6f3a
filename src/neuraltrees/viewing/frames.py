"""What a page or a recording shows: scenes in the order of time, with their labels and typed H-trees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypedDict

import numpy as np

from neuraltrees.errors import InputError, TreeTooLargeError, did_you_mean
from neuraltrees.scenes import (
    LabelSpace,
    LabelState,
    NodeLabel,
    Scene,
    SceneTracker,
    TypedGraph,
    TypedGraphSpec,
    TypedTree,
    typed_graph,
    typed_tree,
)
from neuraltrees.scenes.rooms import NOWHERE, room_boxes, rooms_of
from neuraltrees.scenes.scene import IN, NodeId

MOST_NODES, MOST_TREE_NODES = 100_000, 1_000_000  # more than a browser can draw
LAYERS = ("building", "floor", "room", "place", "mesh_place", "object", "segment")  # from top to bottom
LAST_LAYER = "agent"

Labels: TypeAlias = Mapping[NodeId, NodeLabel] | LabelState | Sequence[LabelState]
Shown: TypeAlias = "Scene | SceneTracker | SceneFrame"


@dataclass(frozen=True, eq=False)
class SceneFrame:
    """A scene at one time, with one or several states of its labels.

    Args:
        scene: the scene.
        name: the name of the time, for example the name of a file.
        states: labels at one or several moments; by default those of the scene. A node without a label in a state has
            the label of the scene.
        tree: the typed H-tree of the scene; with None, one is built if it is shown.
        label_spaces: by node type, the names of labels that the scene has as numbers; label spaces in the scene's own
            metadata are used first.
    """

    scene: Scene
    name: str = ""
    states: tuple[LabelState, ...] = ()
    tree: TypedTree | None = field(default=None, repr=False)
    label_spaces: Mapping[str, LabelSpace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.scene, Scene):
            raise InputError(f"Expected a Scene to show; got {type(self.scene).__name__}.")
        if not isinstance(self.name, str):
            raise InputError(f"Expected the name of a frame as text; got {self.name!r:.60}.")
        if self.tree is not None and not set(self.tree.graph.ids) <= set(self.scene.ids):
            raise InputError("Expected the tree of the scene that is shown; got that of another one.")

    @cached_property
    def graph(self) -> TypedGraph | None:
        return None if self.tree is None else self.tree.graph


class ViewOptions(TypedDict, total=False):
    """The keyword arguments of `scene_page`, which has their meaning, and of the functions beside it."""

    labels: Labels | None
    tree: bool
    spec: TypedGraphSpec | None
    layers: Collection[str] | None
    title: str


@dataclass(frozen=True, eq=False)
class View:
    """What a page or a recording shows.

    Args:
        title: the text at the top.
        frames: the scenes in the order of time.
    """

    title: str
    frames: Sequence[SceneFrame]

    @classmethod
    def of(
        cls,
        scenes: Shown | Iterable[Shown],
        *,
        labels: Labels | None = None,
        tree: bool = True,
        spec: TypedGraphSpec | None = None,
        layers: Collection[str] | None = None,
        title: str = "Scene graph",
    ) -> View:
        """The view of one or several scenes; see `scene_page`. States of `labels` come after those of the frames."""
        given = [_frame(each) for each in _listed(scenes)]
        states = tuple(state.of_ids([frame.scene for frame in given]) for state in _states(labels))
        if layers is not None:
            _check_layers(layers, given)
        frames = []
        for number, frame in enumerate(given):
            made = (frame.tree or _tree(frame.scene, spec)) if tree else None
            scene = frame.scene if layers is None else only_layers(frame.scene, layers)
            if scene.num_nodes > MOST_NODES:
                raise InputError(
                    f"Expected a scene of at most {MOST_NODES:,} nodes to draw; got {scene.num_nodes:,}. Show some of "
                    f"its layers: layers=room,object."
                )
            if made is not None and not set(made.graph.ids) <= set(scene.ids):
                made = None  # its leaves stand for nodes that are not shown
            name = frame.name or (f"{number + 1}" if len(given) > 1 else "")
            frames.append(replace(frame, scene=scene, name=name, tree=made, states=(*frame.states, *states)))
        return cls(title, frames)


def _listed(scenes: Any) -> list[Any]:
    single = isinstance(scenes, Scene | SceneTracker | SceneFrame) or not isinstance(scenes, Iterable)
    given = [scenes] if single else list(scenes)
    if not given:
        raise InputError("Expected at least one scene to show; got none.")
    return given


def _check_layers(layers: Collection[str], frames: Sequence[SceneFrame]) -> None:
    """Raises `InputError` for a layer that no scene has."""
    known = list(dict.fromkeys(kind for frame in frames for kind in frame.scene.types))
    listed = [layers] if isinstance(layers, str) else list(layers)
    unknown = [layer for layer in listed if layer not in known]
    if isinstance(layers, str) or unknown or not listed:
        advice = " Put it in brackets." if isinstance(layers, str) else did_you_mean("".join(unknown[:1]), known)
        raise InputError(
            f"Expected layers out of {', '.join(known)}; got {', '.join(unknown or listed) or 'none'}.{advice}"
        )


def only_layers(scene: Scene, layers: Collection[str]) -> Scene:
    """The scene without nodes of other types; the rooms of objects and the sizes of rooms stay as with all nodes."""
    kept = np.flatnonzero(np.isin(scene.node_type, [i for i, kind in enumerate(scene.types) if kind in layers]))
    number = np.full(scene.num_nodes, -1)
    number[kept] = np.arange(len(kept))
    room = rooms_of(scene)
    centres, sizes = room_boxes(scene, room)
    ends = number[scene.edges]
    stays = (ends >= 0).all(1)
    inside = kept[room[kept] != NOWHERE]
    in_room = np.stack([number[inside], number[room[inside]]], 1)[number[room[inside]] >= 0]
    known = {frozenset(edge) for edge in ends[stays].tolist()}
    new = [edge for edge in in_room.tolist() if frozenset(edge) not in known]
    relations = scene.relations if IN in scene.relations else (*scene.relations, IN)
    return replace(
        scene,
        ids=tuple(scene.ids[i] for i in kept),
        node_type=scene.node_type[kept],
        names=tuple(scene.names[i] for i in kept),
        labels=scene.labels[kept],
        positions=scene.positions[kept],
        sizes=sizes[kept],
        box_centres=centres[kept],
        embeddings={},
        attributes=tuple(scene.attributes[i] for i in kept.tolist()),
        edges=np.concatenate([ends[stays], np.array(new, np.int64).reshape(-1, 2)]),
        relations=relations,
        edge_relation=np.concatenate([scene.edge_relation[stays], np.full(len(new), relations.index(IN))]),
    )


def layer_order(types: Iterable[str]) -> list[str]:
    """Layers from top to bottom; other node types come after the known ones, agents last.

    >>> layer_order(["agent", "object", "door", "room"])
    ['room', 'object', 'door', 'agent']
    """
    given = list(dict.fromkeys(types))
    known = [layer for layer in LAYERS if layer in given]
    others = [layer for layer in given if layer not in (*LAYERS, LAST_LAYER)]
    return [*known, *others, *([LAST_LAYER] if LAST_LAYER in given else [])]


def _frame(given: Any) -> SceneFrame:
    if isinstance(given, SceneFrame):
        return given
    if isinstance(given, SceneTracker):
        return SceneFrame(given.scene, tree=given.tree)
    if not isinstance(given, Scene):
        raise InputError(
            f"Expected scenes as Scene, SceneTracker or SceneFrame; got {type(given).__name__}. Read a file first: "
            f"read_scene(path)."
        )
    return SceneFrame(given)


def _states(labels: Labels | None) -> tuple[LabelState, ...]:
    if labels is None:
        return ()
    if isinstance(labels, LabelState):
        return (labels,)
    if isinstance(labels, Mapping):
        return (LabelState("labels", labels),)
    found = tuple(labels)
    for each in found:
        if not isinstance(each, LabelState):
            raise InputError(f"Expected labels by node or as LabelState; got {type(each).__name__}.")
    return found


def _tree(scene: Scene, spec: TypedGraphSpec | None) -> TypedTree | None:
    graph = typed_graph(scene, spec)
    if not graph.num_nodes:
        return None
    try:
        return typed_tree(graph, max_nodes=MOST_TREE_NODES)
    except TreeTooLargeError as error:
        raise InputError(
            f"Expected an H-tree of at most {MOST_TREE_NODES:,} nodes to draw; got a graph of width {error.width:,} "
            f"whose tree is larger. Show the scene without it: tree=False."
        ) from None
