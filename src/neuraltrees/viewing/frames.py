"""What is to be shown: scenes in the order of time, each with its labels and its typed H-tree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from neuraltrees.errors import InputError, TreeTooLargeError
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
    """A scene at one time, with what is thought of its labels.

    Args:
        scene: the scene.
        name: what the time is called, for example the name of a file.
        states: labels at one or several moments; by default those that the scene has itself. A node that a state says
            nothing of has the label of the scene.
        tree: the typed H-tree beside the scene, if any.
        label_spaces: by node type, the names of labels that the scene has as numbers; those in the scene's own metadata
            come first.
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


def frames_of(
    scenes: Shown | Iterable[Shown],
    labels: Labels | None,
    tree: bool,
    spec: TypedGraphSpec | None,
    layers: Collection[str] | None,
) -> list[SceneFrame]:
    """The frames of scenes, each with a tree if wanted, with these states of the labels beside those they have."""
    single = isinstance(scenes, Scene | SceneTracker | SceneFrame) or not isinstance(scenes, Iterable)
    given: list[Any] = [scenes] if single else list(scenes)  # type: ignore[arg-type]
    if not given:
        raise InputError("Expected at least one scene to show; got none.")
    frames = [_frame(each) for each in given]
    states = tuple(state.of_ids([frame.scene for frame in frames]) for state in _states(labels))
    found = []
    for number, frame in enumerate(frames):
        made = None
        if tree:
            made = frame.tree or _tree(frame.scene, spec)
        scene = frame.scene if layers is None else only_layers(frame.scene, layers)
        if scene.num_nodes > MOST_NODES:
            raise InputError(
                f"Expected a scene of at most {MOST_NODES:,} nodes to draw; got {scene.num_nodes:,}. Show some of its "
                f"layers: layers=room,object."
            )
        if made is not None and not set(made.graph.ids) <= set(scene.ids):
            made = None  # without its rooms or objects there is nothing to link the tree with
        name = frame.name or (f"{number + 1}" if len(frames) > 1 else "")
        found.append(replace(frame, scene=scene, name=name, tree=made, states=(*frame.states, *states)))
    return found


def only_layers(scene: Scene, layers: Collection[str]) -> Scene:
    """The scene without nodes of other types; objects stay in the rooms, and rooms as large, as places made them."""
    unknown = [layer for layer in layers if layer not in scene.types]
    if isinstance(layers, str) or len(unknown) == len(layers):
        raise InputError(f"Expected layers out of {', '.join(scene.types)}; got {', '.join(layers) or 'none'}.")
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
        attributes=tuple(scene.attributes[i] for i in kept),
        edges=np.concatenate([ends[stays], np.array(new, np.int64).reshape(-1, 2)]),
        relations=relations,
        edge_relation=np.concatenate([scene.edge_relation[stays], np.full(len(new), relations.index(IN))]),
    )


def layer_order(types: Iterable[str]) -> list[str]:
    """Layers from top to bottom; what is not known comes below, robots last.

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
