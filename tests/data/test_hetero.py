"""Wherever data is accepted, HeteroData gets a message with what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData

import neuraltrees as nt

GRAPH = Data(x=torch.randn(4, 3), y=torch.tensor([0, 1, 0, 1]), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
HETERO = HeteroData()
HETERO["room"].x, HETERO["object"].x = torch.randn(2, 3), torch.randn(2, 3)
HETERO["room"].y, HETERO["object"].y = torch.tensor([0, 1]), torch.tensor([1, 0])
HETERO["room", "has", "object"].edge_index = torch.tensor([[0, 1], [0, 1]])

PLACES: dict[str, Callable[[Any], object]] = {
    "Task": lambda data: nt.Task([data], ("a", "b")),
    "Task.check_graph": lambda data: nt.Task([GRAPH], ("a", "b")).check_graph(data),
    "Graph.from_data": nt.Graph.from_data,
    "attach_htree": nt.attach_htree,
    "attach_htrees": lambda data: nt.attach_htrees([data]),
    "ToHTree": lambda data: nt.ToHTree()(data),
    "NeuralTree.plan": lambda data: nt.NeuralTree(3, 4, 2).plan(data),
    "GNN.plan": lambda data: nt.GNN(3, 4, 2).plan(data),
    "Scaling.fit": lambda data: nt.Scaling.fit([data]),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_hetero_data_gets_a_remedy(place: Callable[[Any], object]) -> None:
    for data in (HETERO, Batch.from_data_list([HETERO, HETERO])):
        with pytest.raises(nt.InputError, match=r"got HeteroData(Batch)?\. Use data\.to_homogeneous\(\)"):
            place(data)


def test_the_remedy_works() -> None:
    task = nt.Task([HETERO.to_homogeneous()], {"room": ("a", "b"), "object": ("a", "b")})
    assert task.node_type.tolist() == [0, 0, 1, 1]


def test_a_single_graph_of_any_kind_goes_in_brackets() -> None:
    for graph in (GRAPH, HETERO):
        with pytest.raises(nt.InputError, match=r"Expected a list of graphs; got .* in brackets"):
            nt.Task(graph, ("a", "b"))


@pytest.mark.parametrize("model", [nt.NeuralTree, nt.GNN, nt.MLP])
def test_data_in_the_place_of_tensors(model: Any) -> None:
    for arguments in ((GRAPH, GRAPH), (GRAPH.x, GRAPH), (HETERO, GRAPH.edge_index)):
        with pytest.raises(nt.InputError, match="Expected x and edge_index as tensors, or a plan; got "):
            model(3, 4, 2)(*arguments)
