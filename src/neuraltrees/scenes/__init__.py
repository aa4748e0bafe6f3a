"""Scene graphs of robots: files, typed graphs, label spaces and typed H-trees."""

from typing import TYPE_CHECKING

from neuraltrees.lazy import lazy_names as _lazy_names
from neuraltrees.scenes.label_states import LabelState as LabelState
from neuraltrees.scenes.label_states import read_label_states as read_label_states
from neuraltrees.scenes.labels import LabelSpace as LabelSpace
from neuraltrees.scenes.read import parse_scene as parse_scene
from neuraltrees.scenes.read import read_scene as read_scene
from neuraltrees.scenes.report import SceneReport as SceneReport
from neuraltrees.scenes.scene import Scene as Scene
from neuraltrees.scenes.scene import SceneEdge as SceneEdge
from neuraltrees.scenes.scene import SceneNode as SceneNode
from neuraltrees.scenes.spec import TypedGraphSpec as TypedGraphSpec
from neuraltrees.scenes.typed_graphs import TypedGraph as TypedGraph
from neuraltrees.scenes.typed_graphs import typed_graph as typed_graph
from neuraltrees.scenes.write import NodeLabel as NodeLabel
from neuraltrees.scenes.write import set_labels as set_labels
from neuraltrees.scenes.write import write_labels as write_labels

if TYPE_CHECKING:
    from neuraltrees.scenes.folders import FolderScene as FolderScene
    from neuraltrees.scenes.folders import read_folder as read_folder
    from neuraltrees.scenes.format import SceneFormat as SceneFormat
    from neuraltrees.scenes.generated import building_label_spaces as building_label_spaces
    from neuraltrees.scenes.generated import scene_of_building as scene_of_building
    from neuraltrees.scenes.generated import scene_of_room as scene_of_room
    from neuraltrees.scenes.hetero import hetero_of_scene as hetero_of_scene
    from neuraltrees.scenes.hetero import scene_of_hetero as scene_of_hetero
    from neuraltrees.scenes.scene_data import SceneData as SceneData
    from neuraltrees.scenes.task import scene_task as scene_task
    from neuraltrees.scenes.tracker import SceneTracker as SceneTracker
    from neuraltrees.scenes.typed_trees import TypedTree as TypedTree
    from neuraltrees.scenes.typed_trees import typed_tree as typed_tree

# Reading a file needs no torch.
_LAZY = {
    "FolderScene": "neuraltrees.scenes.folders",
    "SceneData": "neuraltrees.scenes.scene_data",
    "SceneFormat": "neuraltrees.scenes.format",
    "SceneTracker": "neuraltrees.scenes.tracker",
    "TypedTree": "neuraltrees.scenes.typed_trees",
    "building_label_spaces": "neuraltrees.scenes.generated",
    "hetero_of_scene": "neuraltrees.scenes.hetero",
    "read_folder": "neuraltrees.scenes.folders",
    "scene_of_building": "neuraltrees.scenes.generated",
    "scene_of_hetero": "neuraltrees.scenes.hetero",
    "scene_of_room": "neuraltrees.scenes.generated",
    "scene_task": "neuraltrees.scenes.task",
    "typed_tree": "neuraltrees.scenes.typed_trees",
}

__all__ = [
    "LabelSpace",
    "LabelState",
    "NodeLabel",
    "Scene",
    "SceneEdge",
    "SceneNode",
    "SceneReport",
    "TypedGraph",
    "TypedGraphSpec",
    "parse_scene",
    "read_label_states",
    "read_scene",
    "set_labels",
    "typed_graph",
    "write_labels",
    *_LAZY,
]
__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
