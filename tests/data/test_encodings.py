"""Positional encodings equal PyG's own, and go with a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE
from torch_geometric.utils import erdos_renyi_graph

import neuraltrees as nt
from neuraltrees.data import encodings
from neuraltrees.data.encodings import laplacian_vectors, return_probabilities
from neuraltrees.nn import Categories
from neuraltrees.objectives import Regression
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, TrainingSpec, fit


def graphs(count: int = 20) -> list[Data]:
    torch.manual_seed(0)
    found = []
    for number in range(count):
        edges = erdos_renyi_graph(3 + number % 9, 0.4)
        x = torch.randint(0, 3, (3 + number % 9, 1))
        found.append(Data(x=x, edge_index=edges, y=torch.rand(1)))
    return found


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_return_probabilities_are_those_of_pyg(steps: int) -> None:
    for found, graph in zip(return_probabilities(graphs(), steps), graphs(), strict=True):
        if graph.edge_index.shape[1]:
            torch.testing.assert_close(found, AddRandomWalkPE(steps, attr_name="pe")(graph).pe)
        else:
            assert not found.any()


@pytest.mark.parametrize("entries", [0, 20])
def test_large_graphs_are_computed_some_columns_at_a_time(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    expected = return_probabilities(graphs(), 6)
    monkeypatch.setattr(encodings, "ENTRIES", entries)
    for found, value in zip(return_probabilities(graphs(), 6), expected, strict=True):
        torch.testing.assert_close(found, value)


def test_vectors_solve_the_equation_of_the_laplacian() -> None:
    path = Data(edge_index=torch.tensor([[0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]]), num_nodes=5)
    (vectors,) = laplacian_vectors([path], 6)
    adjacency = torch.zeros(5, 5).index_put((path.edge_index[0], path.edge_index[1]), torch.ones(8))
    scale = adjacency.sum(1).rsqrt()
    normalised = torch.eye(5) - scale[:, None] * adjacency * scale
    for column in vectors[:, :3].T:
        image = normalised @ column
        torch.testing.assert_close(image, (image @ column) * column, atol=1e-5, rtol=0)
    assert not vectors[:, 3:].any(), "a graph of five nodes has three by PyG's rule"


def test_a_task_and_its_bundle_encode_alike(tmp_path: Path) -> None:
    task = Task(graphs(), Regression()).encoded(walks=4, laplacian=2)
    assert task.features == Categories((3,), numbers=6)
    columns = torch.cat([graph.x[:, 1:5] for graph in task.graphs])
    expected = torch.cat(return_probabilities(graphs(), 4))
    torch.testing.assert_close(columns, torch.nan_to_num((expected - expected.mean(0)) / expected.std(0)))
    fitted = fit(task, NetworkSpec(hidden=4, layers=1), TrainingSpec(epochs=1, batches=1), [Run(0, task.split(0))])
    Bundle.of(fitted).save(tmp_path / "model.safetensors")
    bundle = Bundle.load(tmp_path / "model.safetensors")
    assert bundle.scaling.walks == 4 and bundle.scaling.laplacian == 2
    assert bundle.given_features == Categories((3,))
    plain = Data(x=graphs()[4].x, edge_index=graphs()[4].edge_index)
    found = Predictor(bundle).predict([plain])
    torch.testing.assert_close(found[0][0, 0], fitted.answers()[4, 0, 0], atol=1e-5, rtol=1e-4)


def test_what_cannot_be_encoded() -> None:
    task = Task(graphs(), Regression()).encoded(walks=2)
    with pytest.raises(nt.InputError, match="Expected a task without positional encodings"):
        task.encoded(walks=2)
    with pytest.raises(nt.InputError, match="Expected walks as an integer of at least 0; got -1"):
        Task(graphs(), Regression()).encoded(walks=-1)
