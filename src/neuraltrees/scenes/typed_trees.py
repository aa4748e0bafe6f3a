"""The typed H-tree: one H-tree of a whole typed graph, with types, relations and relative geometry."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.errors import InputError, TreeTooLargeError
from neuraltrees.htree import HTree
from neuraltrees.scenes.pieces import Pieces, take_apart
from neuraltrees.scenes.scene import Scene
from neuraltrees.scenes.tree_part import (
    MOST_NODES,
    ROOT,
    Float32,
    TreePart,
    build_part,
    node_features,
    relation_code,
)
from neuraltrees.scenes.typed_graphs import TypedGraph, typed_graph

DIRECTIONS = ("root", "up", "down")


@dataclass(frozen=True, eq=False, repr=False)
class TypedTree:
    r"""The H-tree of a typed graph, with what a network on it needs; no absolute position is in any of its features.

    Nodes are ordered by component and piece: in each the tree of the rooms, then the tree of each room with its
    objects. A parent precedes its children.

    - A leaf has the type of its node: `kind` is the place of the type. A bag has the set of its members' types: `kind`
      is the number of types plus :math:`\sum 2^t` over the set.
    - The relation of a message is (kind of the source; root, up or down; kind of the target), `relation` its number.
    - The centre of a bag is the mean of its members' positions; `offset` of a tree edge is the centre of its source
      less that of its target.
    - Every edge of the graph has one home, the first lowest bag that has both its ends. `geometry` has, for the edge
      from u to v: the position of u less that of v, their distance, the logarithms of the sizes of u and v, and 1 or 0
      for whether positions, the size of u and the size of v are known.
    - `x` has the logarithm of the size of every node of the graph, and 1 or 0 for whether it is known.

    Unknown numbers are 0.

    Shapes: kind :math:`(N)`, relation :math:`(E)`, offset :math:`(E, 3)`, home :math:`(m)`, geometry :math:`(m, 13)`, x
    :math:`(n, 4)`

    Args:
        graph: the typed graph, its edges ordered by piece.
        htree: the H-tree.
    """

    graph: TypedGraph
    htree: HTree
    kind: Tensor
    relation: Tensor
    offset: Tensor
    home: Tensor
    geometry: Tensor
    x: Tensor

    @cached_property
    def relations(self) -> dict[int, tuple[str, str, str]]:
        """The relations that occur, in words: a leaf by its type, a bag by the set of its types."""
        return {code: self.relation_name(code) for code in torch.unique(self.relation).tolist()}

    def kind_name(self, kind: int) -> str:
        """`object` for a leaf, `{object, room}` for a bag."""
        types = self.graph.types
        if kind < len(types):
            return types[kind]
        return "{" + ", ".join(word for i, word in enumerate(types) if kind - len(types) >> i & 1) + "}"

    def relation_name(self, code: int) -> tuple[str, str, str]:
        kinds = len(self.graph.types) + (1 << len(self.graph.types))
        rest, target = divmod(code, kinds)
        source, direction = divmod(rest, 3)
        return self.kind_name(source), DIRECTIONS[direction], self.kind_name(target)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypedTree):
            return NotImplemented
        ours, theirs = self.graph, other.graph
        words = (ours.ids, ours.types, ours.relations) == (theirs.ids, theirs.types, theirs.relations)
        arrays = all(
            np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=name in ("positions", "sizes"))
            for name in ("node_type", "labels", "positions", "sizes", "edges", "edge_relation")
        )
        tensors = [field.name for field in fields(self) if field.name not in ("graph", "htree")]
        return (
            words
            and arrays
            and self.htree == other.htree
            and all(torch.equal(getattr(self, name), getattr(other, name)) for name in tensors)
        )

    def __repr__(self) -> str:
        return f"TypedTree({self.graph!r}, {self.htree!r})"


def typed_tree(graph: TypedGraph | Scene, *, seed: int = 0, max_nodes: int = MOST_NODES) -> TypedTree:
    """The typed H-tree of a typed graph, or of a scene with the default `TypedGraphSpec`.

    A room is a cut vertex where its objects are joined to no other room: the rooms and each room with its objects are
    decomposed apart and glued at a bag that has the room. The treewidth is not larger for it.

    Args:
        graph: the graph or the scene.
        seed: breaks ties in the decompositions.
        max_nodes: a larger tree raises `TreeTooLargeError`.

    >>> from neuraltrees.scenes.scene import SceneNode
    >>> rooms = [SceneNode("hall", "room"), SceneNode("bath", "room")]
    >>> things = [SceneNode("sink", "object", position=(0, 0, 1)), SceneNode("tub", "object", position=(1, 0, 0))]
    >>> scene = Scene.of(rooms + things, [("hall", "bath"), ("sink", "bath"), ("tub", "bath"), ("sink", "tub")])
    >>> tree = typed_tree(scene)
    >>> tree.htree
    HTree(num_nodes=7, num_roots=2, num_leaves=5, num_components=1, treewidth=2)
    >>> sorted(set(tree.relations.values()))[0]
    ('object', 'up', '{object, room}')
    """
    if isinstance(graph, Scene):
        graph = typed_graph(graph)
    if not isinstance(graph, TypedGraph):
        raise InputError(f"Expected a TypedGraph or a Scene; got {type(graph).__name__}.")
    pieces = take_apart(graph)
    inside = pieces.members
    try:
        part = build_part(
            graph.node_type[inside],
            graph.positions[inside],
            graph.sizes[inside],
            pieces.ends,
            len(graph.types),
            seed=check_seed(seed),
            max_nodes=check_at_least("max_nodes", max_nodes, 1, 2**40),
        )
    except TreeTooLargeError as error:
        raise error.advising("Join fewer objects: TypedGraphSpec(near_factor=1.0).") from None
    ordered = replace(graph, edges=graph.edges[pieces.edge_order], edge_relation=graph.edge_relation[pieces.edge_order])
    return glue(ordered, pieces, part, node_features(graph.sizes))


def glue(graph: TypedGraph, pieces: Pieces, part: TreePart, x: Float32) -> TypedTree:
    """The tree of the whole graph from those of its pieces, joined at the rooms that two of them have."""
    places = np.concatenate([pieces.joints, pieces.joints[:, ::-1]]).T
    joints = part.first_root[places]
    joint_offset = np.nan_to_num(part.anchor[places[0]] - part.anchor[places[1]]).astype(np.float32)
    joint_relation = relation_code(part.kind[joints[0]], ROOT, part.kind[joints[1]], len(graph.types))
    roots, ends = part.roots.shape[1], part.roots.shape[1] + joints.shape[1]
    children, above = len(part.child), part.parent[part.child]
    edge_index = np.empty((2, ends + 2 * children), np.int64)
    edge_index[:, :roots], edge_index[:, roots:ends] = part.roots, joints
    edge_index[0, ends : ends + children] = edge_index[1, ends + children :] = part.child
    edge_index[1, ends : ends + children] = edge_index[0, ends + children :] = above
    edge_type = np.repeat(np.arange(3), [ends, children, children])
    offset = np.empty((ends + 2 * children, 3), np.float32)
    offset[:roots], offset[roots:ends], offset[ends : ends + children] = part.root_offset, joint_offset, part.up_offset
    np.negative(part.up_offset, out=offset[ends + children :])
    relation = np.concatenate([part.root_relation, joint_relation, part.up_relation, part.down_relation])
    kappa = pieces.members[part.kappa] if len(part.kappa) else part.kappa
    np.copyto(kappa, -1, where=part.kappa < 0)
    bag_ptr = np.zeros(len(part.bag_size) + 1, np.int64)
    np.cumsum(part.bag_size, out=bag_ptr[1:])
    owner = np.repeat(pieces.component, part.sizes)
    arrays = (part.parent, part.level, kappa, edge_index, edge_type, bag_ptr, pieces.members[part.bag_nodes], owner)
    htree = HTree(*map(torch.from_numpy, arrays))
    columns = (part.kind, relation, offset, part.home, part.geometry, x)
    return TypedTree(graph, htree, *map(torch.from_numpy, columns))
