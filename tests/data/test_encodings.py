"""Positional encodings equal PyG's own, and go with a bundle."""

from __future__ import annotations

from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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
from tests.oracle import strategies
from tests.oracle.walks import dense_return_probabilities


def graphs(count: int = 20) -> list[Data]:
    torch.manual_seed(0)
    found = []
    for number in range(count):
        edges = erdos_renyi_graph(3 + number % 9, 0.4)
        x = torch.randint(0, 3, (3 + number % 9, 1))
        found.append(Data(x=x, edge_index=edges, y=torch.rand(1)))
    return found


def from_edges(pairs: list[tuple[int, int]], num_nodes: int) -> Data:
    return Data(edge_index=torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T, num_nodes=num_nodes)


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_return_probabilities_are_those_of_pyg(steps: int) -> None:
    sizes = [graph.num_nodes for graph in graphs()]
    for found, graph in zip(return_probabilities(graphs(), steps).split(sizes), graphs(), strict=True):
        if graph.edge_index.shape[1]:
            torch.testing.assert_close(found, AddRandomWalkPE(steps, attr_name="pe")(graph).pe)
        else:
            assert not found.any()


def test_directed_graphs_are_those_of_pyg() -> None:
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 3), (4, 0)]
    found = return_probabilities([from_edges(pairs, 6)], 7)
    torch.testing.assert_close(found, AddRandomWalkPE(7, attr_name="pe")(from_edges(pairs, 6)).pe)
    assert found[:, 2].tolist() == pytest.approx([0.5, 0.5, 0.5, 1, 0, 0])


@given(
    st.lists(strategies.graphs(12), min_size=1, max_size=3),
    st.sampled_from(["both directions", "one direction", "more edges"]),
    st.integers(1, 9),
    st.sampled_from([(torch.float32, 1e-7), (torch.float64, 1e-14)]),
    st.randoms(use_true_random=False),
)
def test_return_probabilities_are_diagonals_of_powers(
    drawn: list[nx.Graph], kind: str, steps: int, precision: tuple[torch.dtype, float], random: Random
) -> None:
    """Of several graphs at once: undirected ones, directed ones, and with repeated edges and self-loops."""
    listed, expected = [], []
    for graph in drawn:
        pairs = list(graph.edges)
        if kind == "more edges":
            pairs += [(v, v) for v in graph if random.random() < 0.2] + [
                each for each in pairs if random.random() < 0.2
            ]
        if kind != "one direction":
            pairs += [(w, v) for v, w in pairs if v != w]
        random.shuffle(pairs)
        listed.append(from_edges(pairs, len(graph)))
        expected.append(dense_return_probabilities(pairs, len(graph), steps))
    found = return_probabilities(listed, steps, precision[0])
    assert found.dtype == precision[0]
    np.testing.assert_allclose(found.numpy(), np.concatenate(expected), atol=precision[1], rtol=precision[1])


def test_many_steps_on_a_large_graph() -> None:
    """The blocks of walks and the rows that they reach are parts of it."""
    circle = nx.circulant_graph(300, [1, 7])
    pairs = [pair for v, w in circle.edges for pair in ((v, w), (w, v))]
    pairs += [(v, 300 + v) for v in range(0, 300, 3)] + [(300 + v, v) for v in range(0, 300, 3)]
    found = return_probabilities([from_edges(pairs, 600)], 33, torch.float64)
    np.testing.assert_allclose(found.numpy(), dense_return_probabilities(pairs, 600, 33), atol=1e-14)


def test_threads_do_not_change_them(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = return_probabilities(graphs(300), 9)
    monkeypatch.setattr(encodings, "PER_THREAD", 1)
    assert torch.equal(return_probabilities(graphs(300), 9), alone)
    assert return_probabilities([], 3).shape == (0, 3)


def test_edges_of_nodes_that_do_not_exist() -> None:
    bad = from_edges([(0, 3)], 3)
    with pytest.raises(nt.InputError, match="Expected edges of graph 1 between the nodes 0 to 2; got one at node 3"):
        return_probabilities([from_edges([(0, 1)], 2), bad], 2)


def test_vectors_solve_the_equation_of_the_laplacian() -> None:
    path = Data(edge_index=torch.tensor([[0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]]), num_nodes=5)
    vectors = laplacian_vectors([path], 6)
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
    expected = return_probabilities(graphs(), 4)
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
