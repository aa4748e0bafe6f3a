"""Graph: where it comes from, what it holds, and that it never changes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from tests.oracle import strategies
from tests.oracle.bridge import from_graph, to_graph

PATH = nt.Graph([[0, 1, 2], [1, 2, 3]])
PATH_EDGES = [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_from_torch(dtype: torch.dtype) -> None:
    graph = nt.Graph(torch.tensor([[0, 1, 2], [1, 2, 3]], dtype=dtype))
    assert graph.edge_index.tolist() == PATH_EDGES
    assert graph.edge_index.dtype == torch.int64


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i8"])
def test_from_numpy(dtype: str) -> None:
    assert nt.Graph(np.array([[0, 1, 2], [1, 2, 3]], dtype=dtype)).edge_index.tolist() == PATH_EDGES


def test_from_strided_arrays() -> None:
    pairs = np.array([[0, 1], [1, 2], [2, 3]])
    assert nt.Graph(pairs.T) == PATH
    assert nt.Graph(torch.tensor(pairs).t()) == PATH
    assert nt.Graph(np.array([[0, 9, 1, 9, 2, 9], [1, 9, 2, 9, 3, 9]])[:, ::2]) == PATH


def test_edge_index_is_not_kept() -> None:
    edges = np.array([[0, 1, 2], [1, 2, 3]])
    graph = nt.Graph(edges)
    edges[:] = 0
    assert graph == PATH
    assert edges.flags.writeable


def test_loops_are_dropped_and_parallel_and_reversed_edges_merged() -> None:
    graph = nt.Graph([[0, 1, 1, 0, 2, 1], [1, 0, 1, 1, 2, 2]])
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert (graph.num_nodes, graph.num_edges) == (3, 2)


def test_number_of_nodes_is_one_more_than_the_largest_id() -> None:
    assert nt.Graph([[4], [1]]).num_nodes == 5
    assert nt.Graph([[1], [4]]).num_nodes == 5
    assert nt.Graph([[7], [7]]).num_nodes == 8


@pytest.mark.parametrize("num_nodes", [6, np.int64(6), np.uint8(6)])
def test_isolated_nodes_are_kept(num_nodes: int) -> None:
    graph = nt.Graph([[0], [1]], num_nodes=num_nodes)
    assert graph.num_nodes == 6
    assert graph.degrees.tolist() == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "edges", [[[], []], np.zeros((2, 0), dtype=np.int32), torch.zeros(2, 0, dtype=torch.long)], ids=type
)
def test_empty_graph(edges: nt.graph.EdgeIndex) -> None:
    graph = nt.Graph(edges)
    assert (graph.num_nodes, graph.num_edges, graph.num_components) == (0, 0, 0)
    assert graph.edge_index.shape == (2, 0)
    assert graph.component.tolist() == []
    assert nt.Graph(edges, num_nodes=3).num_nodes == 3


def test_rows_are_compressed_and_sorted() -> None:
    graph = nt.Graph([[2, 2, 2, 0], [3, 0, 1, 1]])
    assert graph.indptr.tolist() == [0, 2, 4, 7, 8]
    assert graph.indices.tolist() == [1, 2, 0, 2, 0, 1, 3, 2]
    assert (graph.indptr.dtype, graph.indices.dtype) == (np.int64, np.int32)
    assert graph.degrees.tolist() == [2, 2, 3, 1]
    assert [graph.neighbours(v) for v in range(4)] == [[1, 2], [0, 2], [0, 1, 3], [2]]


def test_repr() -> None:
    assert repr(nt.Graph([[0, 1], [1, 2]], num_nodes=5)) == "Graph(num_nodes=5, num_edges=2)"


def test_from_networkx_numbers_nodes_as_it_iterates() -> None:
    names: nx.Graph = nx.Graph()
    names.add_nodes_from(["kitchen", "table", "attic", "chair"])
    names.add_edges_from([("chair", "kitchen"), ("table", "kitchen"), ("table", "table")])
    graph = nt.Graph.from_networkx(names)
    assert graph.edge_index.tolist() == [[0, 0, 1, 3], [1, 3, 0, 0]]
    assert graph.num_nodes == 4


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_from_networkx_of_another_kind(kind: type[nx.Graph]) -> None:
    graph = nt.Graph.from_networkx(kind([(1, 0), (0, 1), (0, 1), (1, 2)]))
    assert graph.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]


def test_from_networkx_without_nodes() -> None:
    assert nt.Graph.from_networkx(nx.Graph()) == nt.Graph([[], []])


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csr_array, sp.csc_matrix, sp.lil_matrix])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_from_scipy(kind: Callable[..., sp.sparray], dtype: type) -> None:
    dense = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], dtype=dtype)
    assert nt.Graph.from_scipy(kind(dense)).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert nt.Graph.from_scipy(kind(dense)).num_nodes == 4


def test_from_scipy_skips_stored_zeros() -> None:
    matrix = sp.csr_array((np.array([1.0, 0.0]), (np.array([0, 1]), np.array([1, 2]))), shape=(3, 3))
    assert matrix.nnz == 2
    assert nt.Graph.from_scipy(matrix).edge_index.tolist() == [[0, 1], [1, 0]]


# PyG scripts a class while it is imported, which torch 2.13 deprecates.
IMPORTS_PYG = pytest.mark.filterwarnings("ignore:.torch.jit.script.:DeprecationWarning")


@IMPORTS_PYG
def test_from_data() -> None:
    from torch_geometric.data import Data

    data = Data(x=torch.zeros(4, 2), edge_index=torch.tensor([[0, 1], [1, 1]]))
    assert nt.Graph.from_data(data) == nt.Graph([[0], [1]], num_nodes=4)


@IMPORTS_PYG
def test_from_data_without_features() -> None:
    from torch_geometric.data import Data

    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=5)
    assert nt.Graph.from_data(data) == nt.Graph([[0, 1], [1, 2]], num_nodes=5)
    assert nt.Graph.from_data(Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=2)).num_nodes == 2


def test_union() -> None:
    triangle, lone = nt.Graph([[0, 1, 2], [1, 2, 0]]), nt.Graph([[], []], num_nodes=1)
    union = nt.Graph.union(graph for graph in [lone, triangle, lone, PATH])
    assert union.num_nodes == 9
    assert union.edge_index[:, : 2 * 3].tolist() == [[1, 1, 2, 2, 3, 3], [2, 3, 1, 3, 1, 2]]
    assert union.edge_index[:, 2 * 3 :].tolist() == [[5, 6, 6, 7, 7, 8], [6, 5, 7, 6, 8, 7]]
    assert union.component.tolist() == [0, 1, 1, 1, 2, 3, 3, 3, 3]


def test_union_of_nothing_and_of_one() -> None:
    assert nt.Graph.union([]) == nt.Graph([[], []])
    assert nt.Graph.union([PATH]) == PATH


def test_subgraph_is_numbered_in_the_given_order() -> None:
    assert PATH.subgraph([3, 0, 2]).edge_index.tolist() == [[0, 2], [2, 0]]
    assert PATH.subgraph(np.array([1, 2], dtype=np.uint8)).edge_index.tolist() == [[0, 1], [1, 0]]
    assert PATH.subgraph(torch.tensor([2, 1, 0])).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert PATH.subgraph([]) == nt.Graph([[], []])
    assert PATH.subgraph(range(4)) == PATH


def test_components_are_numbered_by_their_smallest_node() -> None:
    graph = nt.Graph([[5, 4, 1], [0, 2, 6]], num_nodes=7)
    assert graph.component.tolist() == [0, 1, 2, 3, 2, 0, 1]
    assert graph.num_components == 4


def test_to_networkx() -> None:
    graph = nt.Graph([[2, 0], [0, 3]], num_nodes=5).to_networkx()
    assert list(graph.nodes) == [0, 1, 2, 3, 4]
    assert sorted(map(sorted, graph.edges)) == [[0, 2], [0, 3]]


def test_equality_and_hash() -> None:
    same = nt.Graph([[3, 2, 1, 1], [2, 1, 0, 1]])
    assert same == PATH
    assert hash(same) == hash(PATH)
    assert len({same, PATH}) == 1
    assert nt.Graph([[0, 1, 2], [1, 2, 3]], num_nodes=5) != PATH
    assert nt.Graph([[0, 1, 1], [1, 2, 3]]) != PATH
    assert PATH != "Graph(num_nodes=4, num_edges=3)"


@pytest.mark.parametrize("name", ["indptr", "indices", "component"])
def test_arrays_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(PATH, name)[0] = 1


@pytest.mark.parametrize("name", ["indptr", "indices", "num_nodes", "edge_index", "new"])
def test_attributes_are_frozen(name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(PATH, name, np.zeros(1))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    again = pickle.loads(pickle.dumps(PATH, protocol))
    assert again == PATH
    assert again.edge_index.tolist() == PATH_EDGES


def test_copies_are_equal() -> None:
    assert copy.copy(PATH) == PATH
    assert copy.deepcopy(PATH) == PATH


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph, 4))])
def test_copies_are_read_only_too(copied: Callable[[nt.Graph], nt.Graph]) -> None:
    again = copied(PATH)
    assert not again.indptr.flags.writeable
    assert not again.indices.flags.writeable


def test_neighbours_of_a_node_that_is_not_there() -> None:
    with pytest.raises((IndexError, nt.InputError)):
        PATH.neighbours(4)
    for node in (-1, -2):
        try:
            assert PATH.neighbours(node) == PATH.neighbours(4 + node)
        except (IndexError, nt.InputError):
            continue


@pytest.mark.parametrize("suffix", [".gr", ".gr.gz", ".gr.xz"])
def test_gr_round_trip(tmp_path: Path, suffix: str) -> None:
    graph = nt.Graph([[0, 2, 2], [3, 1, 3]], num_nodes=6)
    graph.write_gr(tmp_path / f"graph{suffix}")
    assert nt.Graph.read_gr(tmp_path / f"graph{suffix}") == graph
    assert nt.Graph.read_gr(str(tmp_path / f"graph{suffix}")) == graph


def test_gr_text(tmp_path: Path) -> None:
    nt.Graph([[0, 2], [3, 1]]).write_gr(tmp_path / "graph.gr")
    assert (tmp_path / "graph.gr").read_text() == "p tw 4 2\n1 4\n2 3\n"


def test_gr_of_the_empty_graph(tmp_path: Path) -> None:
    nt.Graph([[], []]).write_gr(tmp_path / "graph.gr")
    assert (tmp_path / "graph.gr").read_text() == "p tw 0 0\n"
    assert nt.Graph.read_gr(tmp_path / "graph.gr") == nt.Graph([[], []])


@given(graph=strategies.graphs(max_nodes=12))
@settings(deadline=None, max_examples=60)
def test_round_trip_over_networkx(graph: nx.Graph) -> None:
    ours = to_graph(graph)
    assert nx.utils.graphs_equal(ours.to_networkx(), from_graph(ours))
    assert {frozenset(edge) for edge in ours.to_networkx().edges} == {frozenset(edge) for edge in graph.edges}
    assert nt.Graph.from_networkx(ours.to_networkx()) == ours


@given(graph=strategies.graphs(max_nodes=12))
@settings(deadline=None, max_examples=60)
def test_round_trip_over_scipy(graph: nx.Graph) -> None:
    matrix = nx.to_scipy_sparse_array(graph, nodelist=range(len(graph)))
    assert nt.Graph.from_scipy(matrix) == to_graph(graph)
    assert nt.Graph.from_scipy(sp.triu(matrix)) == to_graph(graph)


@given(graph=strategies.graphs(max_nodes=12))
@settings(deadline=None, max_examples=60)
def test_components_are_those_of_networkx(graph: nx.Graph) -> None:
    expected = sorted(nx.connected_components(graph), key=min)
    component = to_graph(graph).component.tolist()
    assert [{v for v, c in enumerate(component) if c == number} for number in range(len(expected))] == expected
    assert to_graph(graph).num_components == len(expected)


@given(graphs=st.lists(strategies.graphs(max_nodes=6), max_size=4))
@settings(deadline=None, max_examples=60)
def test_subgraphs_of_a_union_are_its_parts(graphs: list[nx.Graph]) -> None:
    parts = [to_graph(graph) for graph in graphs]
    union, start = nt.Graph.union(parts), 0
    assert union.num_edges == sum(part.num_edges for part in parts)
    for part in parts:
        assert union.subgraph(range(start, start + part.num_nodes)) == part
        start += part.num_nodes
    assert union.num_nodes == start


@given(graph=strategies.graphs(max_nodes=10), data=st.data())
@settings(deadline=None, max_examples=60)
def test_subgraph_has_the_edges_among_its_nodes(graph: nx.Graph, data: st.DataObject) -> None:
    nodes = data.draw(st.permutations(range(len(graph))).map(lambda order: order[: len(order) // 2 + 1]))
    sub = to_graph(graph).subgraph(nodes)
    pairs = {frozenset((nodes[u], nodes[v])) for u, v in sub.edge_index.t().tolist()}
    assert pairs == {frozenset(edge) for edge in graph.subgraph(nodes).edges}
