"""Stage 1: the graph. Undirected, simple, possibly disconnected, in compressed sparse rows (CSR)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuraltrees._core import native
from neuraltrees.checks import check_data
from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, read_whole, write_whole

if TYPE_CHECKING:
    import networkx as nx
    import torch
    from torch_geometric.data import Data

    EdgeIndex: TypeAlias = torch.Tensor | npt.ArrayLike

Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
Ends: TypeAlias = Int32 | Int64


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Graph:
    """An undirected simple graph; immutable.

    Self-loops are dropped, parallel and reversed edges merged, isolated nodes kept.

    Args:
        edge_index: integers of shape (2, m), a torch tensor or anything NumPy reads.
        num_nodes: number of nodes; by default one more than the largest id.

    >>> g = Graph([[0, 1, 1, 2], [1, 0, 2, 2]], num_nodes=4)
    >>> g
    Graph(num_nodes=4, num_edges=2)
    >>> g.edge_index.tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """

    indptr: Int64
    indices: Int32

    def __init__(self, edge_index: EdgeIndex, num_nodes: int | None = None) -> None:
        source, target = _endpoints(edge_index)
        count = _count_nodes(source, target, num_nodes)
        self._set(*native.graph_from_edges(source, target, count))

    def _set(self, indptr: Int64, indices: Int32) -> None:
        indptr.flags.writeable = indices.flags.writeable = False
        object.__setattr__(self, "indptr", indptr)
        object.__setattr__(self, "indices", indices)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state["indptr"], state["indices"])  # a copied array is writeable again

    @classmethod
    def _from_rows(cls, indptr: Int64, indices: Int32) -> Graph:
        graph = cls.__new__(cls)
        graph._set(indptr, indices)
        return graph

    @classmethod
    def of(cls, given: Any) -> Graph:
        """Converts a NetworkX graph, a PyG `Data`, a sparse matrix or an edge_index; a `Graph` is returned itself.

        >>> Graph.of([[0, 1], [1, 2]])
        Graph(num_nodes=3, num_edges=2)
        """
        if isinstance(given, Graph):
            return given
        if hasattr(given, "nodes") and hasattr(given, "edges") and hasattr(given, "is_directed"):
            return cls.from_networkx(given)
        if hasattr(given, "tocoo"):
            return cls.from_scipy(given)
        if hasattr(given, "edge_types") or hasattr(given, "edge_index"):
            return cls.from_data(given)
        if hasattr(given, "__array__") or isinstance(given, list | tuple):
            return cls(given)
        advice = " Read a file first: read_graph(path).graph." if isinstance(given, str | os.PathLike) else ""
        raise InputError(
            f"Expected a Graph, a NetworkX graph, a PyG Data, a SciPy sparse matrix or an edge_index; "
            f"got {type(given).__name__}.{advice}"
        )

    @classmethod
    def from_networkx(cls, graph: nx.Graph[Any]) -> Graph:
        """The graph of a NetworkX graph, nodes in its iteration order; directions are dropped (see `moralize`)."""
        if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
            raise InputError(f"Expected a NetworkX graph; got {type(graph).__name__}.")
        return cls(*_networkx_edges(graph))

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:
        """The graph of a square SciPy sparse matrix: every nonzero entry is an edge."""
        if not hasattr(matrix, "tocoo"):
            raise InputError(
                f"Expected a SciPy sparse matrix; got {type(matrix).__name__}. Use scipy.sparse.coo_array(matrix)."
            )
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"Expected a square sparse matrix; got shape {tuple(matrix.shape)}.")
        entries = matrix.tocoo()
        stored = entries.data != 0
        edges = np.stack([entries.row[stored], entries.col[stored]]).astype(np.int64)
        return cls(edges, num_nodes=int(matrix.shape[0]))

    @classmethod
    def from_data(cls, data: Data) -> Graph:
        """The graph of a PyG `Data`."""
        check_data(data)
        if data.edge_index is None:
            raise InputError("Expected a Data object with an edge_index; got one without. Set data.edge_index first.")
        return cls(data.edge_index, num_nodes=data.num_nodes)

    @classmethod
    def read_gr(cls, path: PathLike) -> Graph:
        """Reads a PACE `.gr` file, plain, `.gz` or `.xz`."""
        try:
            return cls._from_rows(*native.parse_gr(read_whole(path)))
        except ParseError as error:
            raise ParseError(f"{path}: {error}") from None

    def write_gr(self, path: PathLike) -> None:
        """Writes a PACE `.gr` file, plain, `.gz` or `.xz`."""
        source, target = self._upper_edges()
        lines = [f"p tw {self.num_nodes} {self.num_edges}"]
        lines += [f"{u} {v}" for u, v in zip((source + 1).tolist(), (target + 1).tolist(), strict=True)]
        write_whole(path, ("\n".join(lines) + "\n").encode())

    @staticmethod
    def union(graphs: Iterable[Graph]) -> Graph:
        """The disjoint union, with the nodes of each graph numbered after those of the previous ones.

        >>> Graph.union([Graph([[0], [1]]), Graph([[0], [1]])]).edge_index.tolist()
        [[0, 1, 2, 3], [1, 0, 3, 2]]
        """
        if isinstance(graphs, Graph) or not isinstance(graphs, Iterable):
            raise InputError(f"Expected a list of graphs; got {type(graphs).__name__}. Pass a single graph as [graph].")
        graphs = [Graph.of(graph) for graph in graphs]
        sizes = np.array([g.num_nodes for g in graphs], np.int64)
        entries = np.array([len(g.indices) for g in graphs], np.int64)
        check_num_nodes(int(sizes.sum()))
        # One sum over all of them takes a third of the time of one per graph.
        indptr = np.concatenate([np.zeros(1, np.int64), *[g.indptr[1:] for g in graphs]])
        indptr[1:] += np.repeat(np.cumsum(entries) - entries, sizes)
        indices = np.concatenate([np.zeros(0, np.int32), *[g.indices for g in graphs]])
        indices += np.repeat((np.cumsum(sizes) - sizes).astype(np.int32), entries)
        return Graph._from_rows(indptr, indices)

    def subgraph(self, nodes: Sequence[int] | npt.ArrayLike) -> Graph:
        """The induced subgraph G[nodes], nodes renumbered in the given order.

        >>> Graph([[0, 1, 2], [1, 2, 3]]).subgraph([3, 2, 0]).edge_index.tolist()
        [[0, 1], [1, 0]]
        """
        chosen = node_list(nodes, self.num_nodes)
        return Graph._from_rows(*native.induced_subgraph(self.indptr, self.indices, chosen))

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """The number of undirected edges."""
        return len(self.indices) // 2

    @cached_property
    def edge_index(self) -> torch.Tensor:
        """Both directions of every edge, sorted: an int64 tensor of shape (2, 2m)."""
        import torch

        source = np.repeat(np.arange(self.num_nodes, dtype=np.int64), self.degrees)
        return torch.from_numpy(np.stack([source, self.indices.astype(np.int64)]))

    @property
    def degrees(self) -> Int64:
        return np.diff(self.indptr)

    def neighbours(self, node: int) -> list[int]:
        """The sorted neighbours of a node."""
        node = range(self.num_nodes)[node]
        return [int(u) for u in self.indices[self.indptr[node] : self.indptr[node + 1]]]

    @cached_property
    def component(self) -> Int32:
        """The connected component of every node; components are numbered by their smallest node."""
        label = native.connected_components(self.indptr, self.indices)
        label.flags.writeable = False
        return label

    @property
    def num_components(self) -> int:
        return int(self.component.max(initial=-1)) + 1

    def to_networkx(self) -> nx.Graph[int]:
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(self.num_nodes))
        source, target = self._upper_edges()
        graph.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
        return graph

    def _upper_edges(self) -> tuple[Int64, Int64]:
        source = np.repeat(np.arange(self.num_nodes, dtype=np.int64), self.degrees)
        upper = source < self.indices
        return source[upper], self.indices[upper].astype(np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return np.array_equal(self.indptr, other.indptr) and np.array_equal(self.indices, other.indices)

    def __hash__(self) -> int:
        return hash((self.indptr.tobytes(), self.indices.tobytes()))

    def __repr__(self) -> str:
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges})"


def moralize(graph: EdgeIndex | nx.DiGraph[Any], num_nodes: int | None = None) -> Graph:
    """The moral graph of a directed graph: the parents of every node are joined by edges and directions dropped.

    A Bayesian network on the directed graph is a Markov network on the moral graph.

    Args:
        graph: edges u → v as integers of shape (2, m), or a NetworkX `DiGraph`.
        num_nodes: number of nodes; by default one more than the largest id.

    >>> moralize([[0, 1], [2, 2]]).edge_index.tolist()
    [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    """
    edges: Any = graph
    if hasattr(graph, "nodes"):
        if not edges.is_directed():
            raise InputError("Expected a directed NetworkX graph; got an undirected one. It needs no moralization.")
        edges, num_nodes = _networkx_edges(graph)
    source, target = (np.ascontiguousarray(each, dtype=np.int64) for each in _endpoints(edges))
    return Graph._from_rows(*native.moral_graph(source, target, _count_nodes(source, target, num_nodes)))


def node_list(nodes: Sequence[int] | npt.ArrayLike, num_nodes: int) -> Int32:
    """Distinct node ids of a graph, checked, as an int32 array for the core."""
    chosen = _integers(nodes, "nodes")
    if chosen.ndim != 1:
        raise InputError(f"Expected nodes as a flat list; got shape {chosen.shape}.")
    if chosen.size and (chosen.min() < 0 or chosen.max() >= num_nodes):
        outside = chosen[(chosen < 0) | (chosen >= num_nodes)][0]
        raise InputError(f"Expected nodes between 0 and {num_nodes - 1}; got {outside}.")
    if len(np.unique(chosen)) != len(chosen):
        raise InputError("Expected distinct nodes; got one twice. Remove duplicates first.")
    return chosen.astype(np.int32)


def _integers(values: Any, name: str) -> npt.NDArray[Any]:
    if hasattr(values, "detach") and hasattr(values, "dim"):
        values = values.detach().cpu().numpy()
    if not hasattr(values, "__array__") and not isinstance(values, Sequence | int | float):
        raise InputError(
            f"Expected {name} as an array of integers; got {type(values).__name__}. "
            f"For NetworkX graphs, PyG Data and sparse matrices: Graph.of(...)."
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"Expected {name} as a rectangular array of integers; got rows of different lengths."
        ) from error
    if array.size == 0 and array.dtype == np.float64 and not isinstance(values, np.ndarray):
        array = array.astype(np.int64)  # NumPy reads an empty list as floats
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"Expected {name} of an integer type; got {array.dtype}. Convert it, e.g. with .long().")
    return array


def _endpoints(edge_index: Any) -> tuple[Ends, Ends]:
    """The two rows, as int32 or int64; an array of one of these types is not copied, such as a memory-mapped file."""
    array = _integers(edge_index, "edge_index")
    if array.ndim != 2 or array.shape[0] != 2:
        raise InputError(f"Expected edge_index of shape (2, m); got {array.shape}. Transpose a list of pairs first.")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"Expected node ids below 2^63; got {array.max()}.")
    if array.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        array = array.astype(np.int64)
    return array[0], array[1]


def _count_nodes(source: Ends, target: Ends, num_nodes: int | None) -> int:
    if num_nodes is None:
        if min(source.min(initial=0), target.min(initial=0)) < 0:
            lowest = np.minimum(source, target)
            edge = int((lowest < 0).argmax())
            raise InputError(f"Expected node ids of at least 0; got {lowest[edge]} in edge {edge}.")
        num_nodes = max(int(source.max(initial=-1)), int(target.max(initial=-1))) + 1
    return check_num_nodes(num_nodes)


def check_num_nodes(num_nodes: int) -> int:
    """Raises `InputError` for a number of nodes that the core, which numbers nodes in 32 bits, does not support."""
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer) or num_nodes < 0:
        raise InputError(f"Expected num_nodes as an integer of at least 0; got {num_nodes!r}.")
    if num_nodes > native.MAX_GRAPH_NODES:
        raise InputError(
            f"Expected at most {native.MAX_GRAPH_NODES} nodes, which the core numbers in 32 bits; got {num_nodes}. "
            "Number the nodes 0, 1, 2, … without gaps, or split the graph."
        )
    return int(num_nodes)


def _networkx_edges(graph: Any) -> tuple[Int64, int]:
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2)
    return edges.T, len(number)
