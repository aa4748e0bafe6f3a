"""HTreeData: one graph with its tree, and what PyG does to it."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose, ToUndirected

import neuraltrees as nt
from neuraltrees.data import HTreeData, ToHTree, attach_htree
from neuraltrees.data.htree_data import TREE_ATTRIBUTES
from tests.oracle import strategies
from tests.oracle.bridge import to_graph

EMPTY = torch.zeros(2, 0, dtype=torch.int64)


def path() -> Data:
    """Nodes 0-1-2; the root bags of its tree are {1, 2} and {0, 1}."""
    return Data(x=torch.tensor([[0.0], [1.0], [2.0]]), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.arange(3))


def triangle_and_lone_node() -> Data:
    """Two components: the tree is a forest of two."""
    return Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), y=torch.arange(4))


def data_of(graph: nt.Graph) -> Data:
    return Data(x=torch.ones(graph.num_nodes, 1), edge_index=graph.edge_index)


def tree_of(data: Data) -> nt.HTree:
    return nt.build_htree(nt.Graph.from_data(data))


def same(a: Data, b: Data) -> bool:
    """Equal attributes and values."""
    return set(a.keys()) == set(b.keys()) and all(torch.equal(a[key], b[key]) for key in a.keys())  # noqa: SIM118


@pytest.fixture
def batch() -> Batch:
    return Batch.from_data_list([attach_htree(path()), attach_htree(triangle_and_lone_node())])


def test_one_graph() -> None:
    data = HTreeData.from_data(path(), tree_of(path()))
    assert data.tree_level.tolist() == [0, 0, 1, 1, 1, 1]
    assert data.tree_component.tolist() == [0, 0, 0, 0, 0, 0]
    assert data.tree_edge_index.tolist() == [[0, 1, 2, 3, 4, 5, 0, 0, 1, 1], [1, 0, 0, 0, 1, 1, 2, 3, 4, 5]]
    assert data.tree_edge_type.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert data.tree_leaf.tolist() == [2, 3, 4, 5]
    assert data.tree_kappa.tolist() == [1, 2, 0, 1]
    assert data.tree_bag_size.tolist() == [2, 2, 1, 1, 1, 1]
    assert data.tree_bag_members.tolist() == [1, 2, 0, 1, 1, 2, 0, 1]
    assert {data[name].dtype for name in TREE_ATTRIBUTES} == {torch.int64}
    assert data.htree == tree_of(path())


def test_the_graph_stays_as_it_is() -> None:
    graph = path()
    data = HTreeData.from_data(graph, tree_of(graph))
    assert (data.num_nodes, data.num_edges, data.num_features) == (3, 2, 1)
    assert all(data[name] is graph[name] for name in ("x", "edge_index", "y"))
    assert not any(name in graph for name in TREE_ATTRIBUTES)
    assert repr(data).startswith("HTreeData(x=[3, 1], edge_index=[2, 2], y=[3], tree_level=[6], ")


def test_two_graphs_in_a_batch(batch: Batch) -> None:
    assert batch.edge_index.tolist() == [[0, 1, 3, 4, 5], [1, 2, 4, 5, 3]]
    assert batch.batch.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert batch.tree_level.tolist() == [0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1]
    assert batch.tree_component.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert batch.tree_edge_index.tolist() == [
        [0, 1, 2, 3, 4, 5, 0, 0, 1, 1, 7, 8, 9, 11, 6, 6, 6, 10],
        [1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 6, 6, 10, 7, 8, 9, 11],
    ]
    assert batch.tree_edge_type.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2]
    assert batch.tree_leaf.tolist() == [2, 3, 4, 5, 7, 8, 9, 11]
    assert batch.tree_kappa.tolist() == [1, 2, 0, 1, 3, 4, 5, 6]
    assert batch.tree_bag_size.tolist() == [2, 2, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1]
    assert batch.tree_bag_members.tolist() == [1, 2, 0, 1, 1, 2, 0, 1, 3, 4, 5, 3, 4, 5, 6, 6]


def test_the_tree_of_a_batch(batch: Batch) -> None:
    tree = batch.htree
    assert tree.parent.tolist() == [-1, -1, 0, 0, 1, 1, -1, 6, 6, 6, -1, 10]
    assert tree.kappa.tolist() == [-1, -1, 1, 2, 0, 1, -1, 3, 4, 5, -1, 6]
    assert tree.edge_type.tolist() == [0] * 2 + [1] * 8 + [2] * 8
    assert tree.bag_ptr.tolist() == [0, 2, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16]
    union = nt.Graph.union([nt.Graph.from_data(path()), nt.Graph.from_data(triangle_and_lone_node())])
    assert tree == nt.build_htree(union)


def test_every_tree_attribute_has_a_rule(batch: Batch) -> None:
    data = attach_htree(path())
    assert {name for name in data.keys() if name.startswith("tree_")} == set(TREE_ATTRIBUTES)  # noqa: SIM118
    assert {name: data.__inc__(name, data[name]) for name in TREE_ATTRIBUTES} == {
        "tree_level": 0,
        "tree_component": 1,
        "tree_edge_index": 6,
        "tree_edge_type": 0,
        "tree_leaf": 6,
        "tree_kappa": 3,
        "tree_bag_size": 0,
        "tree_bag_members": 3,
        "tree_kind": 0,
    }
    assert all(name in batch._slice_dict and name in batch._inc_dict for name in TREE_ATTRIBUTES)


def test_a_batch_comes_apart_again(batch: Batch) -> None:
    first, second = batch.to_data_list()
    assert type(first) is type(second) is HTreeData
    assert same(first, attach_htree(path()))
    assert same(second, attach_htree(triangle_and_lone_node()))


def test_a_batch_of_batches(batch: Batch) -> None:
    twice = Batch.from_data_list([batch, batch])
    graphs = [nt.Graph.from_data(path()), nt.Graph.from_data(triangle_and_lone_node())]
    assert twice.htree == nt.build_htree(nt.Graph.union(graphs + graphs))


@settings(max_examples=60, deadline=None)
@given(st.lists(strategies.graphs(7).map(to_graph), min_size=1, max_size=5))
def test_a_batch_holds_the_forest_of_the_union(graphs: list[nt.Graph]) -> None:
    batch = Batch.from_data_list([attach_htree(data_of(graph)) for graph in graphs])
    assert batch.htree == nt.build_htree(nt.Graph.union(graphs))
    assert [data.htree for data in batch.to_data_list()] == [nt.build_htree(graph) for graph in graphs]


def test_graphs_without_nodes_or_edges_in_a_batch() -> None:
    graphs = [nt.Graph(EMPTY, num_nodes=n) for n in (0, 2, 0, 1)]
    batch = Batch.from_data_list([attach_htree(data_of(graph)) for graph in graphs])
    assert batch.tree_kappa.tolist() == [0, 1, 2]
    assert batch.tree_component.tolist() == [0, 0, 1, 1, 2, 2]
    assert batch.htree == nt.build_htree(nt.Graph.union(graphs))


def test_graphs_that_know_only_their_number_of_nodes() -> None:
    lone = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3)
    batch = Batch.from_data_list([attach_htree(lone), attach_htree(lone)])
    assert attach_htree(lone).num_nodes == 3
    assert batch.num_nodes == 6
    assert batch.tree_kappa.tolist() == [0, 1, 2, 3, 4, 5]
    assert [data.num_nodes for data in batch.to_data_list()] == [3, 3]


@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")
def test_the_tree_does_not_hide_how_many_nodes_there_are() -> None:
    data = attach_htree(Data(edge_index=torch.tensor([[0, 1], [1, 2]])))
    assert data.num_nodes == 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("num_workers", [0, 1])
def test_data_loader(num_workers: int) -> None:
    dataset = [attach_htree(path()), attach_htree(triangle_and_lone_node()), attach_htree(path())]
    first, second = DataLoader(dataset, batch_size=2, num_workers=num_workers, follow_batch=["tree_level"])
    assert first.tree_kappa.tolist() == [1, 2, 0, 1, 3, 4, 5, 6]
    assert first.tree_level_batch.tolist() == [0] * 6 + [1] * 6
    assert first.htree.num_components == 3
    assert second.htree == tree_of(path())


def test_nodes_and_edges_of_the_tree_are_not_taken_for_those_of_the_graph() -> None:
    # Both directions of a triangle: the tree has as many leaves as the graph has nodes, and as many edges.
    triangle = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]))
    data = attach_htree(triangle)
    assert data.tree_leaf.size(0) == data.num_nodes
    assert data.tree_edge_type.size(0) == data.num_edges
    assert data.node_attrs() == ["x"]
    assert data.edge_attrs() == ["edge_index"]
    for changed in (data.coalesce(), ToUndirected()(data)):
        assert changed.htree == data.htree


def test_compose() -> None:
    data = Compose([ToUndirected(), ToHTree()])(path())
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.htree == tree_of(path())


def test_clone_copy_and_move(batch: Batch) -> None:
    data = attach_htree(path())
    for other in (data.clone(), copy.copy(data), copy.deepcopy(data), data.to("cpu"), pickle.loads(pickle.dumps(data))):
        assert type(other) is HTreeData
        assert same(other, data)
    assert data.clone().tree_level.data_ptr() != data.tree_level.data_ptr()
    assert pickle.loads(pickle.dumps(batch)).htree == batch.htree


@pytest.mark.gpu
def test_on_a_cuda_device() -> None:
    data = attach_htree(path().to("cuda"))
    assert {data[name].device.type for name in TREE_ATTRIBUTES} == {"cuda"}
    assert data.htree.parent.tolist() == [-1, -1, 0, 0, 1, 1]
    assert HTreeData.from_data(path().to("cuda"), data.htree).cpu().htree == tree_of(path())


def test_save_and_load_weights_only(tmp_path: Path) -> None:
    data = [attach_htree(path()), attach_htree(triangle_and_lone_node())]
    torch.save(data, tmp_path / "data.pt")
    first, second = torch.load(tmp_path / "data.pt", weights_only=True)
    assert type(first) is HTreeData
    assert same(first, data[0])
    assert second.htree == data[1].htree


class Graphs(InMemoryDataset):
    """The example of PyG's manual: processed once, then read from its file."""

    def __init__(self, root: Path, **options: Any) -> None:
        super().__init__(str(root), **options)
        self.load(self.processed_paths[0])

    processed_file_names = "data.pt"

    def process(self) -> None:
        self.save([self.pre_transform(data) for data in (path(), triangle_and_lone_node())], self.processed_paths[0])


def test_in_memory_dataset(tmp_path: Path) -> None:
    for _ in range(2):
        dataset = Graphs(tmp_path, pre_transform=ToHTree())
        assert type(dataset[1]) is HTreeData
        assert same(dataset[0], attach_htree(path()))
        assert same(dataset[1], attach_htree(triangle_and_lone_node()))
        (batch,) = DataLoader(dataset, batch_size=2)
        assert batch.tree_kappa.tolist() == [1, 2, 0, 1, 3, 4, 5, 6]
    assert dataset.tree_kappa.tolist() == [1, 2, 0, 1, 3, 4, 5, 6]


def test_two_settings_do_not_share_a_cached_dataset(tmp_path: Path) -> None:
    Graphs(tmp_path, pre_transform=ToHTree(max_treewidth=1))
    assert Graphs(tmp_path, pre_transform=ToHTree(max_treewidth=1))[1].htree.treewidth == 1
    for other in (ToHTree(), ToHTree(max_treewidth=2), ToHTree(max_treewidth=1, seed=1)):
        with pytest.warns(UserWarning, match="`pre_transform` argument differs"):
            Graphs(tmp_path, pre_transform=other)
    assert Graphs(tmp_path, pre_transform=ToHTree(), force_reload=True)[1].htree.treewidth == 2


def test_a_tree_of_another_graph() -> None:
    with pytest.raises(nt.InputError, match="this graph of 3 nodes; got one of a graph of 4 nodes"):
        HTreeData.from_data(path(), tree_of(triangle_and_lone_node()))
    edges = [[0, 1, 2, 3], [1, 2, 3, 0]], [[0, 1, 2], [1, 2, 3]]
    square, row = (Data(edge_index=torch.tensor(e), num_nodes=4) for e in edges)
    with pytest.raises(nt.InputError, match="an edge between 0 and 3, which this one does not have"):
        HTreeData.from_data(row, tree_of(square))
    data = attach_htree(row)
    with pytest.raises(nt.InputError, match="an edge between 0 and 3"):
        data.htree = tree_of(square)
    assert data.htree == tree_of(row)


def test_a_tree_that_was_left_behind() -> None:
    smaller = attach_htree(path()).subgraph(torch.tensor([0, 1]))
    with pytest.raises(nt.InputError, match=r"of 2 nodes; got one of a graph of 3 nodes. Apply ToHTree after every"):
        _ = smaller.htree


def test_set_another_tree() -> None:
    data = attach_htree(triangle_and_lone_node())
    sample = nt.sample_bounded_treewidth(nt.Graph.from_data(data), k=1)
    data.htree = nt.build_htree(sample.subgraph, sample.decomposition)
    assert data.htree.treewidth == 1
    assert "htree" not in data


def test_no_tree() -> None:
    with pytest.raises(nt.InputError, match=r"data with an H-tree; got it without tree_level, .* Apply ToHTree"):
        _ = HTreeData(x=torch.ones(1, 1)).htree


class PairData(Data):
    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 100 if key == "other" else super().__inc__(key, value, *args, **kwargs)


class PairHTreeData(HTreeData, PairData):
    pass


def test_batching_rules_of_others_are_not_dropped() -> None:
    pair = PairData.from_dict({**path().to_dict(), "other": torch.zeros(1)})
    for attach in (attach_htree, lambda data: HTreeData.from_data(data, tree_of(data))):
        with pytest.raises(nt.InputError, match="got PairData, whose own rules in PairData would be lost"):
            attach(pair)
    data = PairHTreeData.from_data(pair, tree_of(pair))
    batch = Batch.from_data_list([data, data])
    assert batch.other.tolist() == [0, 100]
    assert batch.tree_kappa.tolist() == [1, 2, 0, 1, 4, 5, 3, 4]


def test_neither_heterogeneous_nor_without_edges() -> None:
    with pytest.raises(nt.InputError, match=r"got HeteroData. Use data.to_homogeneous\(\)"):
        attach_htree(HeteroData())
    with pytest.raises(nt.InputError, match=r"got one without. Set data.edge_index first"):
        attach_htree(Data(x=torch.ones(2, 1)))


def test_a_batch_of_plain_data_gets_the_forest() -> None:
    batch = attach_htree(Batch.from_data_list([path(), path()]))
    assert batch.batch.tolist() == [0, 0, 0, 1, 1, 1]
    assert batch.htree.num_components == 2


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_features_are_shared_not_copied() -> None:
    sparse = torch.eye(3, 9).to_sparse()
    data = attach_htree(Data(x=sparse, edge_index=path().edge_index))
    assert data.x is sparse
    assert data.num_nodes == 3
    buffer = io.BytesIO()
    torch.save(data, buffer)
    buffer.seek(0)
    assert torch.load(buffer, weights_only=True).x.to_dense().equal(sparse.to_dense())
