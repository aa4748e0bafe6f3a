"""ToHTree and the functions behind it."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.transforms import Compose

import neuraltrees as nt
from neuraltrees.data import HTreeData, ToHTree, attach_htree, attach_htrees
from neuraltrees.datasets import StanfordSceneGraphs
from tests.oracle import strategies
from tests.oracle.bridge import to_graph

SQUARE = Data(x=torch.ones(4, 2), edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), y=torch.zeros(4))


def data_of(graph: nt.Graph) -> Data:
    return Data(x=torch.ones(graph.num_nodes, 1), edge_index=graph.edge_index)


def same(a: Data, b: Data) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a.keys())  # noqa: SIM118


def test_the_tree_is_that_of_the_graph() -> None:
    data = ToHTree()(SQUARE)
    assert type(data) is HTreeData
    assert data.htree == nt.build_htree(nt.Graph.from_data(SQUARE))
    assert "tree_level" not in SQUARE


def test_bounded_treewidth_leaves_the_edges_of_the_graph() -> None:
    data = ToHTree(max_treewidth=1)(SQUARE)
    assert data.htree.treewidth == 1
    assert data.edge_index is SQUARE.edge_index
    subgraph, decomposition = nt.sample_bounded_treewidth(nt.Graph.from_data(SQUARE), k=1)
    assert data.htree == nt.build_htree(subgraph, decomposition)


def test_every_setting_counts() -> None:
    grid = data_of(nt.Graph.from_networkx(nx.grid_2d_graph(6, 6)))
    graph = nt.Graph.from_data(grid)
    assert attach_htree(grid, method="min_degree", seed=3).htree == nt.build_htree(graph, method="min_degree", seed=3)
    assert attach_htree(grid, restarts=1).htree == nt.build_htree(graph, restarts=1)
    assert attach_htree(grid, 2, seed=1).htree != attach_htree(grid, 2, seed=2).htree
    with pytest.raises(nt.TreeTooLargeError, match="at most 30 nodes"):
        attach_htree(grid, max_nodes=30)


def test_repr_names_every_setting() -> None:
    assert repr(ToHTree()) == (
        "ToHTree(max_treewidth=None, method='min_fill', seed=0, restarts=4, max_nodes=50000000, sampler='elimination', "
        "terminal='clique')"
    )
    other = ToHTree(4, "min_degree", 1, 2, 3)
    assert repr(other) == (
        "ToHTree(max_treewidth=4, method='min_degree', seed=1, restarts=2, max_nodes=3, sampler='elimination', "
        "terminal='clique')"
    )
    assert "max_treewidth=4" in repr(Compose([other]))
    assert repr(copy.deepcopy(other)) == repr(other)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampler": "any"}, "Expected sampler out of elimination, paper; got 'any'"),
        ({"max_treewidth": 0}, "Expected max_treewidth as an integer of at least 1; got 0"),
        ({"method": "magic"}, "Expected a method out of min_fill, .*; got 'magic'"),
        ({"seed": -1}, "Expected a seed between 0 and"),
        ({"restarts": 0}, "Expected restarts as an integer of at least 1; got 0"),
        ({"max_nodes": 0.5}, "Expected max_nodes as an integer of at least 1; got 0.5"),
    ],
)
def test_wrong_settings_are_refused_at_once(settings: dict[str, object], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        ToHTree(**settings)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(strategies.graphs(8).map(to_graph), max_size=5),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from(["min_fill", "min_degree", "junction_tree", "exact", "best"]),
    st.integers(0, 3),
)
def test_all_at_once_is_one_by_one(graphs: list[nt.Graph], k: int | None, method: str, seed: int) -> None:
    dataset = [data_of(graph) for graph in graphs]
    at_once = attach_htrees(dataset, k, method, seed=seed)
    assert len(at_once) == len(dataset)
    for data, one in zip(dataset, at_once, strict=True):
        assert same(one, attach_htree(data, k, method, seed=seed))


def test_empty_graphs_at_once() -> None:
    sizes = [0, 0, 2, 0, 1, 0]
    empty = [data_of(nt.Graph([[], []], num_nodes=n)) for n in sizes]
    for data, one in zip(empty, attach_htrees(empty), strict=True):
        assert same(one, attach_htree(data))
    assert attach_htrees([]) == []
    assert attach_htrees([], max_treewidth=2) == []


def test_each_graph_owns_its_tree() -> None:
    edge = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)

    def size(data: Data) -> int:
        buffer = io.BytesIO()
        torch.save(data, buffer)
        return buffer.tell()

    assert size(attach_htrees([edge] * 500)[7]) < 1.1 * size(attach_htree(edge))


def test_at_once_refuses_what_one_by_one_refuses() -> None:
    with pytest.raises(nt.InputError, match="got str"):
        attach_htrees(["graph"])
    with pytest.raises(nt.TreeTooLargeError):
        attach_htrees([SQUARE, SQUARE], max_nodes=10)


@pytest.mark.parametrize("k", [None, 2])
def test_scene_graphs(data_root: Path, k: int | None) -> None:
    dataset = StanfordSceneGraphs(data_root)
    at_once = attach_htrees(dataset, k)
    assert all(same(one, attach_htree(data, k)) for one, data in zip(at_once, dataset, strict=True))
    if k is None:
        assert sum(data.htree.treewidth for data in at_once) == 1325
