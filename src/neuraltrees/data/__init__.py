"""Graphs beside their H-trees, in the way of PyTorch Geometric."""

from neuraltrees.data.htree_data import HTreeData as HTreeData
from neuraltrees.data.scene_geometry import SceneGeometry as SceneGeometry
from neuraltrees.data.transform import ToHTree as ToHTree
from neuraltrees.data.transform import attach_htree as attach_htree
from neuraltrees.data.transform import attach_htrees as attach_htrees
