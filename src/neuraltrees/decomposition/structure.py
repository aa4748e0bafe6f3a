"""Graph → blocks and cut vertices; graph → SPQR trees of its blocks."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from neuraltrees._core import native
from neuraltrees.decomposition.decomposition import BagKind, Int8
from neuraltrees.graph import Graph, Int32, Int64


class _Arrays:
    """Base of frozen dataclasses whose fields are NumPy arrays: makes them read-only and compares them."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]  # subclasses are dataclasses
            getattr(self, name).flags.writeable = False

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # subclasses are dataclasses
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # makes it unhashable


@dataclass(frozen=True, eq=False, repr=False)
class BlockCutTree(_Arrays):
    """The blocks of a graph, its maximal 2-connected subgraphs and its bridges, and the cut vertices between them.

    Every edge is in one block; a node in two or more blocks is a cut vertex, one in none is isolated.

    Shapes: node_ptr, edge_ptr :math:`(B + 1)`, nodes :math:`(·)`, edges :math:`(m, 2)`, cut_vertices :math:`(C)`

    Args:
        node_ptr: where the nodes of every block begin in `nodes`.
        nodes: the sorted nodes of every block.
        edge_ptr: where the edges of every block begin in `edges`.
        edges: the edges of every block, as pairs of nodes.
        cut_vertices: sorted.
    """

    node_ptr: Int64
    nodes: Int32
    edge_ptr: Int64
    edges: Int32
    cut_vertices: Int32

    @property
    def num_blocks(self) -> int:
        return len(self.node_ptr) - 1

    def block(self, index: int) -> tuple[int, ...]:
        """The sorted nodes of a block."""
        index = range(self.num_blocks)[index]
        return tuple(self.nodes[self.node_ptr[index] : self.node_ptr[index + 1]].tolist())

    def tree_edges(self) -> Int64:
        """The edges of the block-cut tree: each block with each of its cut vertices, as pairs; shape :math:`(·, 2)`."""
        block = np.repeat(np.arange(self.num_blocks), np.diff(self.node_ptr))
        cut = np.isin(self.nodes, self.cut_vertices)
        return np.stack([block[cut], self.nodes[cut].astype(np.int64)], axis=1)

    def __repr__(self) -> str:
        return f"BlockCutTree(num_blocks={self.num_blocks}, num_cut_vertices={len(self.cut_vertices)})"


@dataclass(frozen=True, eq=False, repr=False)
class SPQRTree(_Arrays):
    """The SPQR trees of all blocks of a graph: the parts into which separation pairs divide each block.

    A node is a bridge, a cycle (S), a pair with three or more edges between its two ends (P), or rigid, that is,
    3-connected (R). Its skeleton is a graph of real edges and of virtual ones, each of which stands for the rest of the
    block on the other side of a separation pair: the neighbour in the tree that has the same edge. No two cycles and no
    two pairs are neighbours, which makes the tree unique.

    Shapes: kind, block :math:`(N)`, ptr :math:`(N + 1)`, edges :math:`(E, 2)`, partner :math:`(E)`

    Args:
        kind: `BagKind` of every node: BRIDGE, CYCLE, PAIR or RIGID.
        block: the block of every node, numbered as in `block_cut_tree`.
        ptr: where the skeleton of every node begins in `edges`.
        edges: the edges of all skeletons, as pairs of graph nodes; that of a cycle in cyclic order, each edge from one
            node to the next.
        partner: for a virtual edge, the place of the same edge in the other skeleton; -1 for a real edge.
    """

    kind: Int8
    block: Int32
    ptr: Int64
    edges: Int32
    partner: Int64

    @property
    def num_nodes(self) -> int:
        return len(self.kind)

    def skeleton(self, node: int) -> tuple[Int32, Int64]:
        """Edges and partners of a node's skeleton."""
        node = range(self.num_nodes)[node]
        part = slice(self.ptr[node], self.ptr[node + 1])
        return self.edges[part], self.partner[part]

    def tree_edges(self) -> Int64:
        """The edges between nodes, one for each virtual edge, as pairs; shape :math:`(·, 2)`."""
        node = np.repeat(np.arange(self.num_nodes), np.diff(self.ptr))
        first = np.flatnonzero(self.partner > np.arange(len(self.partner)))
        return np.stack([node[first], node[self.partner[first]]], axis=1)

    def __repr__(self) -> str:
        names = {BagKind.BRIDGE: "bridges", BagKind.CYCLE: "cycles", BagKind.PAIR: "pairs", BagKind.RIGID: "rigid"}
        counts = np.bincount(self.kind, minlength=len(BagKind))
        return f"SPQRTree({', '.join(f'{name}={counts[kind]}' for kind, name in names.items())})"


def block_cut_tree(graph: Graph) -> BlockCutTree:
    """The blocks and cut vertices of a graph, possibly disconnected, in linear time.

    Args:
        graph: the graph; also a NetworkX graph, a PyG `Data`, a sparse matrix or an edge_index (see `Graph.of`).

    >>> triangle_with_tail = Graph([[0, 1, 2, 2], [1, 2, 0, 3]])
    >>> tree = block_cut_tree(triangle_with_tail)
    >>> tree, [tree.block(i) for i in range(tree.num_blocks)], tree.cut_vertices.tolist()
    (BlockCutTree(num_blocks=2, num_cut_vertices=1), [(2, 3), (0, 1, 2)], [2])
    >>> tree.tree_edges().tolist()
    [[0, 2], [1, 2]]
    """
    graph = Graph.of(graph)
    return BlockCutTree(*native.block_cut_tree(graph.indptr, graph.indices))


def spqr_tree(graph: Graph) -> SPQRTree:
    """The SPQR trees of all blocks of a graph, possibly disconnected, in linear time.

    By depth-first search for separation pairs (Hopcroft and Tarjan 1973, with the corrections of Gutwenger and Mutzel
    2001). As a tree decomposition: `decompose(graph, "canonical")`.

    Args:
        graph: the graph; also a NetworkX graph, a PyG `Data`, a sparse matrix or an edge_index (see `Graph.of`).

    >>> two_squares = Graph([[0, 1, 2, 3, 2, 4, 5], [1, 2, 3, 0, 4, 5, 3]])
    >>> tree = spqr_tree(two_squares)
    >>> tree
    SPQRTree(bridges=0, cycles=2, pairs=1, rigid=0)
    >>> edges, partner = tree.skeleton(int(np.flatnonzero(tree.kind == BagKind.PAIR)[0]))
    >>> sorted(map(sorted, edges.tolist())), sorted((partner >= 0).tolist())
    ([[2, 3], [2, 3], [2, 3]], [False, True, True])
    """
    graph = Graph.of(graph)
    return SPQRTree(*native.spqr_trees(graph.indptr, graph.indices))
