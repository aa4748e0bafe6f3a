"""H-trees of some pieces of a typed graph, with all that depends on these pieces alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from neuraltrees._core import native
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.scenes.scene import Float64, Int64

ROOT, UP, DOWN = range(3)  # directions of messages, the edge types of an H-tree
MOST_NODES = 50_000_000
SMALLEST = 1e-3  # metres, of sizes before their logarithm is taken
Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TreePart:
    """The trees of pieces, one after another, as columns; tree nodes, members and edges are numbered from 0.

    Shapes: over tree nodes :math:`(N)`: parent, level, kappa, kind, bag_size; over members :math:`(U)`: first_root, and
    anchor :math:`(U, 3)`; over edges of the graph :math:`(m)`: home, geometry :math:`(m, 13)`

    Args:
        parent, level, kappa: as in `HTree`, kappa as a member.
        bag_size, bag_nodes: the members in the bag of every tree node.
        kind: type of a leaf, set of types of a bag; see `TypedTree`.
        roots: the directed edges between roots, :math:`(2, R)`.
        child: the nodes that have a parent.
        root_relation, up_relation, down_relation: of the edges between roots and of those of `child`.
        root_offset, up_offset: centre of the source less centre of the target.
        first_root: the first root whose bag has a member.
        anchor: the centre of that root: the mean of its members' known positions, NaN if none is known.
        home: the first lowest bag that has both ends of an edge.
        geometry: of an edge; see `TypedTree`.
        sizes: how many tree nodes every piece has.
    """

    parent: Int64
    level: Int64
    kappa: Int64
    bag_size: Int64
    bag_nodes: Int64
    kind: Int64
    roots: Int64
    child: Int64
    root_relation: Int64
    up_relation: Int64
    down_relation: Int64
    root_offset: Float32
    up_offset: Float32
    first_root: Int64
    anchor: Float64
    home: Int64
    geometry: Float32
    sizes: Int64


# What the entries of a column count: they are shifted where parts are put one after another.
_COUNTS = {
    "parent": "tree nodes",
    "roots": "tree nodes",
    "child": "tree nodes",
    "first_root": "tree nodes",
    "home": "tree nodes",
    "kappa": "members",
    "bag_nodes": "members",
}


_BOUNDS = {
    **dict.fromkeys(("parent", "level", "kappa", "bag_size", "kind"), "tree"),
    "bag_nodes": "bags",
    **dict.fromkeys(("roots", "root_relation", "root_offset"), "roots"),
    **dict.fromkeys(("child", "up_relation", "down_relation", "up_offset"), "children"),
    **dict.fromkeys(("first_root", "anchor"), "members"),
    **dict.fromkeys(("home", "geometry"), "edges"),
}
_NAMES = [field.name for field in fields(TreePart)]


def build_part(
    node_type: Int64, position: Float64, size: Float64, ends: Int64, num_types: int, *, seed: int, max_nodes: int
) -> TreePart:
    """The trees of pieces.

    Args:
        node_type, position, size: of the members.
        ends: of the edges, as members.
        num_types: number of node types.
        seed, max_nodes: see `build_htree`.
    """
    count = len(node_type)
    tree = build_htree(Graph(np.ascontiguousarray(ends.T), num_nodes=count), seed=seed, max_nodes=max_nodes, threads=1)
    parent, level, kappa, bag_nodes = (each.numpy() for each in (tree.parent, tree.level, tree.kappa, tree.bag_nodes))
    bag_ptr = tree.bag_ptr.numpy()
    roots = tree.edge_index.numpy()[:, : int(np.count_nonzero(tree.edge_type.numpy() == ROOT))]
    kinds, places, pairs = np.ascontiguousarray(node_type), np.ascontiguousarray(position), np.ascontiguousarray(ends)
    found = native.typed_part(num_types, kinds, places, pairs, parent, kappa, bag_ptr, bag_nodes, roots[0], roots[1])
    kind, child, root_relation, up_relation, down_relation, root_offset, up_offset, first_root, anchor, home = found
    return TreePart(
        parent,
        level,
        kappa,
        bag_ptr[1:] - bag_ptr[:-1],
        bag_nodes,
        kind,
        roots,
        child,
        root_relation,
        up_relation,
        down_relation,
        root_offset,
        up_offset,
        first_root,
        anchor,
        home,
        edge_geometry(position, size, ends),
        np.bincount(tree.component.numpy()),
    )


def relation_code(source: Int64, direction: int, target: Int64, num_types: int) -> Int64:
    """The number of a relation (source kind, direction, target kind)."""
    kinds = num_types + (1 << num_types)
    return (source * 3 + direction) * kinds + target


def node_features(size: Float64) -> Float32:
    """Logarithms of sizes, and whether they are known. Shapes: :math:`(n, 3)` → :math:`(n, 4)`"""
    found = np.empty((len(size), 4))
    found[:, :3] = np.log(np.maximum(size, SMALLEST))
    found[:, 3] = ~np.isnan(size[:, 0])
    return np.nan_to_num(found).astype(np.float32)


def edge_geometry(position: Float64, size: Float64, ends: Int64) -> Float32:
    """Offset of the source from the target, distance, logarithms of both sizes, and which of these are known."""
    source, target = ends[:, 0], ends[:, 1]
    offset = position[source] - position[target]
    logs = np.log(np.maximum(size, SMALLEST))
    found = np.empty((len(ends), 13))
    found[:, :3] = offset
    found[:, 3] = np.sqrt((offset * offset).sum(1))
    found[:, 4:7], found[:, 7:10] = logs[source], logs[target]
    known = ~np.isnan(found[:, (0, 4, 7)])
    found[:, 10:] = known
    return np.nan_to_num(found).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Run:
    """Parts that follow one another, as slices of a longer part: their numbers begin at `base`."""

    part: TreePart
    tree_base: int = 0
    member_base: int = 0


def join(runs: Sequence[Run]) -> TreePart:
    """Runs one after another, at least one, with numbers from 0."""
    columns = {}
    lengths = {"tree nodes": [len(run.part.parent) for run in runs], "members": [len(run.part.anchor) for run in runs]}
    bases = {"tree nodes": [run.tree_base for run in runs], "members": [run.member_base for run in runs]}
    shifts = {
        what: [start - base for start, base in zip(accumulate([0, *counts]), bases[what], strict=False)]
        for what, counts in lengths.items()
    }
    for name in _NAMES:
        given = [getattr(run.part, name) for run in runs]
        column = np.concatenate(given, axis=1 if name == "roots" else 0)
        if name in _COUNTS:
            stop = 0
            for each, by in zip(given, shifts[_COUNTS[name]], strict=True):
                start, stop = stop, stop + each.shape[-1]
                if by:
                    column[..., start:stop] += by
            if name in ("parent", "kappa"):  # those without one keep -1
                stop = 0
                for each in given:
                    start, stop = stop, stop + len(each)
                    np.copyto(column[start:stop], -1, where=each < 0)
        columns[name] = column
    return TreePart(**columns)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where the pieces of a part begin, in tree nodes, bags, edges between roots, children, members and edges."""

    tree: Int64
    bags: Int64
    roots: Int64
    children: Int64
    members: Int64
    edges: Int64

    @classmethod
    def of(cls, part: TreePart, members: Int64, edges: Int64) -> Bounds:
        tree = np.concatenate([np.zeros(1, np.int64), part.sizes.cumsum()])
        bags = np.concatenate([np.zeros(1, np.int64), part.bag_size.cumsum()])[tree]
        # Both columns are sorted by piece, the first not within a piece; that is all that a search for bounds needs.
        return cls(tree, bags, np.searchsorted(part.roots[0], tree), np.searchsorted(part.child, tree), members, edges)


def run_of(part: TreePart, bounds: Bounds, first: int, stop: int) -> Run:
    """The pieces of a part from the first on, without a copy."""
    columns = {}
    for name in _NAMES:
        of = getattr(bounds, _BOUNDS[name]) if name in _BOUNDS else None
        start, end = (first, stop) if of is None else (int(of[first]), int(of[stop]))
        columns[name] = getattr(part, name)[..., start:end] if name == "roots" else getattr(part, name)[start:end]
    return Run(TreePart(**columns), int(bounds.tree[first]), int(bounds.members[first]))
