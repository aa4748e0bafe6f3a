"""Stage 3: the H-tree as a value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.errors import InvalidHTreeError
from neuraltrees.graph import Graph

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False, repr=False)
class HTree:
    """The H-tree of a graph, or the forest of the H-trees of its components, as int64 tensors over its N nodes.

    A tree that is made with another `dtype` (see `build_htree`) has int32 tensors; `long()` converts it.

    Nodes are ordered by component; in each the root bags come first, then the subtrees below them in preorder, so that
    a parent always precedes its children. Edges are ordered by type.

    Shapes: parent, level, kappa, component, kind :math:`(N)`, edge_index :math:`(2, E)`, edge_type :math:`(E)`,
    bag_ptr :math:`(N + 1)`

    Args:
        parent: parent in the hierarchy, -1 for root nodes.
        level: 0 for roots.
        kappa: graph node of a leaf, -1 for bags.
        edge_index: both directions of every edge.
        edge_type: 0 root-root, 1 child → parent, 2 parent → child.
        bag_ptr: where the bag of every node begins in `bag_nodes`.
        bag_nodes: the sorted graph nodes of every bag.
        component: number of the node's tree in the forest.
        kind: `BagKind` of the roots of a canonical decomposition; 0, the default, for all other nodes.
    """

    parent: Tensor
    level: Tensor
    kappa: Tensor
    edge_index: Tensor
    edge_type: Tensor
    bag_ptr: Tensor
    bag_nodes: Tensor
    component: Tensor
    kind: Tensor = None  # type: ignore[assignment]  # set in __post_init__

    def __post_init__(self) -> None:
        if self.kind is None:
            # One zero, expanded: most trees have no kinds.
            object.__setattr__(self, "kind", self.parent.new_zeros(()).expand(self.parent.shape))

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of all tensors: `torch.int64` or `torch.int32`."""
        narrow = all(getattr(self, field.name).dtype == torch.int32 for field in fields(self))
        return torch.int32 if narrow else torch.int64

    def long(self) -> HTree:
        """The same tree with int64 tensors; itself if it has them already."""
        if self.dtype == torch.int64:
            return self
        return HTree(*(getattr(self, field.name).long() for field in fields(self)))

    @property
    def num_nodes(self) -> int:
        return len(self.parent)

    @property
    def num_edges(self) -> int:
        """The number of undirected edges."""
        return len(self.edge_type) // 2

    @property
    def num_components(self) -> int:
        return int(self.component.max()) + 1 if self.num_nodes else 0

    @property
    def num_graph_nodes(self) -> int:
        """Number of nodes of the graph; each has at least one leaf."""
        return int(self.kappa.max()) + 1 if self.num_nodes else 0

    @property
    def num_roots(self) -> int:
        return int((self.parent < 0).sum())

    @property
    def num_leaves(self) -> int:
        return int((self.kappa >= 0).sum())

    @property
    def num_bags(self) -> int:
        """Number of nodes that are not leaves, roots included."""
        return self.num_nodes - self.num_leaves

    @property
    def treewidth(self) -> int:
        """The width of the decomposition that the roots form; -1 for the tree of the empty graph."""
        sizes = self.bag_ptr.diff()[self.parent < 0]
        return int(sizes.max()) - 1 if len(sizes) else -1

    def bag(self, node: int) -> tuple[int, ...]:
        """The sorted graph nodes in the bag of a tree node."""
        node = range(self.num_nodes)[node]
        return tuple(self.bag_nodes[self.bag_ptr[node] : self.bag_ptr[node + 1]].tolist())

    @property
    def members(self) -> Tensor:
        """Every tree node with each graph node in its bag; a leaf has its own. Shapes: :math:`(2, I)`

        >>> from neuraltrees.htree import build_htree
        >>> build_htree(Graph([[0], [1]])).members.tolist()
        [[0, 0, 1, 2], [0, 1, 0, 1]]
        """
        nodes = torch.arange(self.num_nodes, device=self.bag_ptr.device)
        return torch.stack([nodes.repeat_interleave(self.bag_ptr.diff().long()), self.bag_nodes.long()])

    def nodes_per_level(self) -> Tensor:
        """Number of nodes per level, roots first."""
        return torch.bincount(self.level)

    def edges_per_type(self) -> Tensor:
        """Number of directed edges per type: root-root, child → parent and parent → child."""
        return torch.bincount(self.edge_type, minlength=3)

    def diameters(self) -> Tensor:
        """The diameter of every tree of the forest: its longest path, in edges."""
        arrays = (self.parent, self.edge_index.reshape(-1), self.edge_type, self.component)
        return torch.from_numpy(native.htree_diameters(*(a.contiguous().numpy() for a in arrays)))

    def diameter(self) -> int:
        """The diameter of the tree: its longest path, in edges; of a forest, the largest of its trees' diameters."""
        return int(self.diameters().max()) if self.num_nodes else 0

    def validate(self, graph: Graph) -> None:
        """Raises `InvalidHTreeError`, which names the first invariant that the tree violates for the graph."""
        graph = Graph.of(graph)
        arrays: list[Tensor] = [getattr(self, field.name) for field in fields(self)]
        for field, array in zip(fields(self), arrays, strict=True):
            dimensions = 2 if field.name == "edge_index" else 1
            if array.dtype != self.dtype or array.dim() != dimensions or (dimensions == 2 and len(array) != 2):
                shape = "of shape (2, E)" if dimensions == 2 else "of one dimension"
                raise InvalidHTreeError(
                    f"Expected {field.name} as {str(self.dtype)[6:]} {shape}; "
                    f"got {array.dtype} of shape {tuple(array.shape)}."
                )
        why = native.htree_violation(graph.indptr, graph.indices, *(a.contiguous().reshape(-1).numpy() for a in arrays))
        if why is not None:
            raise InvalidHTreeError(f"Expected an H-tree of this graph; {why}.")

    def to_networkx(self) -> nx.Graph[int]:
        """As a NetworkX graph: edges have a type, "root" or "child"; nodes their bag and what the arrays say."""
        import networkx as nx

        tree: nx.Graph[int] = nx.Graph()
        names = ("parent", "level", "kappa", "component", "kind")
        columns = (getattr(self, name).tolist() for name in names)
        for i, row in enumerate(zip(*columns, strict=True)):
            tree.add_node(i, bag=self.bag(i), **dict(zip(names, row, strict=True)))
        for (a, b), kind in zip(self.edge_index.t().tolist(), self.edge_type.tolist(), strict=True):
            if kind < 2:
                tree.add_edge(a, b, type="root" if kind == 0 else "child")
        return tree

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HTree):
            return NotImplemented
        return all(torch.equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # makes it unhashable

    def __repr__(self) -> str:
        return (
            f"HTree(num_nodes={self.num_nodes}, num_roots={self.num_roots}, num_leaves={self.num_leaves}, "
            f"num_components={self.num_components}, treewidth={self.treewidth})"
        )
