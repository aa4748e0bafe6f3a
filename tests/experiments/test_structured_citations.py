"""structured-citations: networks as PyG has them, the same model in loopy and exact inference, and a page of it all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import APPNP, GCNConv

from neuraltrees import Graph, PottsPosterior, Split, Strengths
from neuraltrees.experiments import structured_citations
from neuraltrees.experiments.citation_networks import ROUNDS, CitationNet, Citations, Recipe, propagate, train
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.page import markdown
from neuraltrees.experiments.structured_citations import EXPERIMENT, MLP, Case, compare, compare_beside, loopy
from neuraltrees.tuning.store import Results


def small(seed: int = 0, tree: bool = False) -> Citations:
    """Two communities whose features tell them apart, more or less."""
    stream = np.random.default_rng(seed)
    y = stream.integers(0, 2, 60)
    if tree:
        ends = np.stack([np.arange(1, 60), [stream.integers(0, node) for node in range(1, 60)]])
    else:
        ends = stream.integers(0, 60, (2, 400))
        ends = ends[:, (ends[0] < ends[1]) & (y[ends[0]] == y[ends[1]])]
    x = (stream.random((60, 8)) < 0.3) + 0.5 * (np.arange(8) < 4) * y[:, None]
    edges = torch.as_tensor(Graph(ends, num_nodes=60).edge_index)
    return Citations(Data(x=torch.tensor(x).float().to_sparse(), y=torch.tensor(y), edge_index=edges, num_nodes=60))


def thirds() -> Split:
    part = torch.arange(60) % 3
    return Split(part == 0, part == 1, part == 2)


def test_the_networks_are_those_of_pyg() -> None:
    citations = small()
    h = torch.randn(60, 3)
    expected = APPNP(ROUNDS, 0.2)(h, citations.edge_index)
    torch.testing.assert_close(propagate(citations.adjacency, h, 0.2), expected)
    net = CitationNet(citations, Recipe(None, hidden=5)).eval()
    layers = GCNConv(8, 5), GCNConv(5, 2)
    with torch.no_grad():
        for layer, weight in zip(layers, (net.first, net.second), strict=True):
            layer.lin.weight.copy_(weight.t())
    dense = citations.x.matrix.to_dense()
    expected = layers[1](layers[0](dense, citations.edge_index).relu(), citations.edge_index)
    found = net(citations)
    torch.testing.assert_close(found, expected)
    ours = torch.autograd.grad(found.square().sum(), net.first)[0]
    theirs = torch.autograd.grad(expected.square().sum(), layers[0].lin.weight)[0]
    torch.testing.assert_close(ours, theirs.t())


def test_dropped_values_of_matrix_and_transpose_are_the_same() -> None:
    torch.manual_seed(0)
    dropped = small().x.dropped(0.5)
    assert torch.equal(dropped.matrix.to_dense(), dropped.transposed.to_dense().t())
    assert 0 < int((dropped.matrix.values() == 0).sum()) < len(dropped.matrix.values())


def test_training_is_deterministic_and_learns() -> None:
    citations = small()
    first, epoch = train(citations, thirds(), Recipe(None, hidden=8), 1, 60, 20)
    again, _ = train(citations, thirds(), Recipe(None, hidden=8), 1, 60, 20)
    assert torch.equal(first, again) and epoch % 2 == 0
    right = (first.argmax(1) == citations.y)[thirds().test]
    assert right.float().mean() > 0.75


def test_loopy_has_the_model_of_the_posterior() -> None:
    citations = small(tree=True)
    network = torch.randn(60, 2).log_softmax(1)
    case = Case(citations, thirds(), network)
    known = case.part(case.split.train)
    posterior = PottsPosterior(citations.graph, max_treewidth=None)
    posterior.strengths = Strengths(0.8, -0.5, 1.1)
    torch.testing.assert_close(loopy(case, posterior.strengths, known), posterior(network, known), atol=1e-4, rtol=0)


def test_every_method_is_judged_by_the_same_nodes() -> None:
    citations = small()
    network, _ = train(citations, thirds(), Recipe(0.1, hidden=8), 0, 40, 20)
    found = compare(Case(citations, thirds(), network), (1, 2, 4))
    methods = found["methods"]
    assert list(methods) == [
        *("network", "k = 1", "temperature", "careful", "k = 2", "k = 4", "loopy"),
        *("correct and smooth", "label propagation"),
    ]
    test = thirds().test
    assert methods["network"]["test"] == pytest.approx(float((network.argmax(1) == citations.y)[test].float().mean()))
    assert methods["temperature"]["test"] == methods["network"]["test"]
    assert methods["careful"] in (methods["k = 1"], methods["temperature"])
    assert list(found["learned"]) == ["k = 1", "k = 2"] and set(found["learned"]["k = 1"]) == {
        *("network", "known", "edge", "gain")
    }


def test_an_mlp_reads_no_neighbours() -> None:
    citations = small()
    net = CitationNet(citations, MLP).eval()
    expected = (citations.x.matrix.to_dense() @ net.first + net.bias[0]).relu() @ net.second + net.bias[1]
    torch.testing.assert_close(net(citations), expected)


def test_two_networks_are_weighed_and_compared_with_one() -> None:
    citations = small()
    network, _ = train(citations, thirds(), Recipe(None, hidden=8), 0, 40, 20)
    case = Case(citations, thirds(), network)
    useless = torch.zeros_like(network).log_softmax(1)
    found = compare_beside(case, useless)
    methods = found["methods"]
    assert list(methods) == ["network", "MLP", "k = 1", "no edges", "careful"]
    assert methods["no edges"]["test"] == methods["network"]["test"]  # the factor of what says nothing does not matter
    assert found["learned"]["careful"]["others"] == [0.0]
    assert set(found["learned"]["k = 1"]) == {"network", "known", "edge", "others", "gain"}
    knows = torch.nn.functional.one_hot(citations.y, 2).mul(0.9).add(0.05).log()
    helped = compare_beside(Case(citations, thirds(), useless), knows)["methods"]
    assert helped["network"]["test"] < 0.8 and helped["no edges"]["test"] == 1


def test_resumed_and_drawn(tmp_path: Path, data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, told = tmp_path / "x.json", list[str]()
    scale = Scale(quick=True, runs=1, epochs=4, data_root=str(data_root))
    results = EXPERIMENT.measure(scale, path, told.append)
    assert [record["name"]["network"] for record in results.records] == ["GCN", "APPNP"] * 2 and len(told) == 4
    assert ["beside" in record["name"] for record in results.records] == [False] * 2 + [True] * 2
    monkeypatch.setattr(structured_citations, "train", lambda *given: pytest.fail("trained again"))
    assert EXPERIMENT.measure(scale, path, told.append) == results == Results.read(path) and len(told) == 4
    page = markdown(EXPERIMENT.show(results, tmp_path))
    assert "above the network alone on 0 of 2 settings" in page and "| Cora | 20 | APPNP | 1 |" in page
    assert (tmp_path / "structured-citations.svg").exists()


def test_the_verdict_counts_settings(tmp_path: Path) -> None:
    def record(nodes: int | None, seed: int, gain: float) -> dict[str, object]:
        def judged(test: float) -> dict[str, float]:
            return {"val": 0.0, "test": test, "calibration_error": 1 - test, "log_loss": 1.0}

        names = ("network", "temperature", "k = 1", "careful", "loopy", "correct and smooth", "label propagation")
        methods = {name: judged(0.5 + 0.01 * seed + gain * (name == "k = 1")) for name in names}
        name = {"data": "Cora", "nodes": nodes, "network": "GCN", "seed": seed}
        return {"name": name, "methods": methods, "learned": {"k = 1": {"network": 1.0, "known": 2.0, "edge": 3.0}}}

    gains: list[tuple[int | None, int, float]] = [(20, seed, 0.1 + 0.001 * (seed % 2)) for seed in range(4)]
    gains += [(None, seed, -0.1 + 0.001 * (seed % 2)) for seed in range(4)]
    records = [record(*each) for each in reversed(gains)]
    page = markdown(EXPERIMENT.show(Results("x", records, {"bounds": [1]}), tmp_path))
    assert (
        "the posterior with k = 1 is significantly (p < 0.05) above the network alone on 1 of 2 settings "
        "(GCN on Cora, 20), level on 0 and below on 1 (GCN on Cora, all); the careful one is significantly (p < 0.05) "
        "above the network alone on 0 of 2 settings, level on 2 and below on 0" in page
    )
    assert "Against Correct and Smooth the posterior is above on 1, level on 0 and below on 1." in page
    assert page.index("| Cora | 20 | GCN |") < page.index("| Cora | all | GCN |")
