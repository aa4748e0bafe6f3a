"""A scene graph beside its typed H-tree, as one PyG data object."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from neuraltrees.data.htree_data import HTreeData, tree_attributes
from neuraltrees.nn.schedule.typed.structure import SCENE_ATTRIBUTES
from neuraltrees.scenes.typed_trees import TypedTree


class SceneData(HTreeData):
    """A graph with its typed H-tree: an `HTreeData` that has more of it, and batches like one.

    ================  ================  ===================================================  ===========
    name              shape             meaning                                              shifted by
    ================  ================  ===================================================  ===========
    scene_kind        :math:`N`         type of a leaf, set of types of a bag
    scene_offset      :math:`E, 3`      of tree edges, in the order of `tree_edge_index`
    scene_ends        :math:`2, m`      source and target of every edge of the typed graph   graph nodes
    scene_home        :math:`m`         the bag where its geometry is added                  tree nodes
    scene_relation    :math:`m`         its relation
    scene_geometry    :math:`m, 13`     offset, distance, sizes, which of these are known
    ================  ================  ===================================================  ===========

    The meaning is that of `TypedTree`.

    >>> from neuraltrees.scenes import Scene, SceneNode, typed_graph, typed_tree
    >>> tree = typed_tree(typed_graph(Scene.of([SceneNode("bath", "room"), SceneNode(7, "object")], [(7, "bath")])))
    >>> SceneData.of(tree, torch.zeros(1, dtype=torch.int64)).scene_home
    tensor([0])
    """

    @classmethod
    def of(cls, tree: TypedTree, relation: torch.Tensor) -> SceneData:
        """The data of a typed tree, without features and labels.

        Args:
            tree: the typed tree.
            relation: the relation of every edge, as a network numbers it.

        Shapes: relation :math:`(m)`
        """
        graph = tree.graph
        data = cls(edge_index=graph.graph.edge_index, num_nodes=graph.num_nodes)
        data.node_type = torch.from_numpy(graph.node_type)
        for name, value in tree_attributes(tree.htree).items():
            data[name] = value
        data.scene_kind, data.scene_offset = tree.kind, tree.offset
        data.scene_ends = torch.from_numpy(np.ascontiguousarray(graph.edges.T))
        data.scene_home, data.scene_relation, data.scene_geometry = tree.home, relation, tree.geometry
        return data

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key not in SCENE_ATTRIBUTES:
            return super().__inc__(key, value, *args, **kwargs)
        match SCENE_ATTRIBUTES[key]:
            case "graph nodes":
                return self.num_nodes
            case "tree nodes":
                return self.tree_level.size(0)
        return 0

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key not in SCENE_ATTRIBUTES:
            return super().__cat_dim__(key, value, *args, **kwargs)
        return np.int64(-1 if key == "scene_ends" else 0)  # see `HTreeData`


torch.serialization.add_safe_globals([SceneData])
