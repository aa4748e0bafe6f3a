"""Graphs with their H-trees as data of PyTorch Geometric, and tasks made from them."""

from typing import TYPE_CHECKING

from neuraltrees.data.htree_data import HTreeData
from neuraltrees.data.transform import ToHTree, attach_htree, attach_htrees
from neuraltrees.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from neuraltrees.data.folds import cross_fit as cross_fit
    from neuraltrees.data.scaling import Scaling as Scaling
    from neuraltrees.data.scene_geometry import SceneGeometry as SceneGeometry
    from neuraltrees.data.splits import Split as Split
    from neuraltrees.data.splits import citation_split as citation_split
    from neuraltrees.data.splits import random_graph_split as random_graph_split
    from neuraltrees.data.splits import random_node_split as random_node_split
    from neuraltrees.data.task import Task as Task

_LAZY = {
    "Scaling": "neuraltrees.data.scaling",
    "SceneGeometry": "neuraltrees.data.scene_geometry",
    "Split": "neuraltrees.data.splits",
    "Task": "neuraltrees.data.task",
    "citation_split": "neuraltrees.data.splits",
    "cross_fit": "neuraltrees.data.folds",
    "random_graph_split": "neuraltrees.data.splits",
    "random_node_split": "neuraltrees.data.splits",
}

__all__ = ["HTreeData", "ToHTree", "attach_htree", "attach_htrees", *_LAZY]
__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
