"""A predictor builds once, keeps plans by structure, and answers as one that plans anew."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.serving import predictor as module
from neuraltrees.training import fit
from tests.training.tasks import QUICK, SMALL, small_runs, small_task


@pytest.fixture(scope="module")
def bundle() -> nt.Bundle:
    task = small_task()
    return nt.Bundle.of(fit(task, SMALL, QUICK, small_runs(task, [0])))


def test_plans_are_kept_by_structure(bundle: nt.Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor, planned = nt.Predictor(bundle), []
    plan = predictor.network.plan
    monkeypatch.setattr(predictor.network, "plan", lambda data: planned.append(1) or plan(data))
    graphs = small_task().graphs
    first = predictor.predict(graphs[:2])
    other = [Data(**(graph.to_dict() | {"x": graph.x + 1})) for graph in graphs[:2]]
    assert not torch.equal(predictor.predict(other)[0], first[0])
    assert len(planned) == 1
    turned = [Data(**(graph.to_dict() | {"node_type": 1 - graph.node_type})) for graph in graphs[:2]]
    assert not torch.equal(predictor.predict(turned)[0], first[0])
    assert len(planned) == 2
    for ours, theirs in zip(predictor.predict(graphs[:2]), first, strict=True):
        assert torch.equal(ours, theirs)


def test_few_plans_are_kept(bundle: nt.Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLANS", 2)
    predictor = nt.Predictor(bundle)
    graphs = small_task().graphs
    alone = [predictor.predict([graph])[0] for graph in graphs[:5]]
    assert len(predictor._plans) == 2
    for graph, expected in zip(graphs, alone, strict=False):
        assert torch.equal(predictor.predict([graph])[0], expected)


def test_plans_of_large_graphs_are_not_all_kept(bundle: nt.Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = small_task().graphs
    sizes = [graph.num_nodes for graph in graphs[:3]]
    monkeypatch.setattr(module, "PLAN_NODES", sizes[1] + sizes[2])
    predictor = nt.Predictor(bundle)
    for graph in graphs[:3]:
        predictor.predict([graph])
    assert [nodes for _, nodes in predictor._plans.values()] == sizes[1:]
    monkeypatch.setattr(module, "PLAN_NODES", 0)
    predictor.predict([graphs[0]])
    assert len(predictor._plans) == 1  # the latest, whatever its size


def test_bad_input(bundle: nt.Bundle) -> None:
    predictor = nt.Predictor(bundle)
    assert predictor.predict([]) == []
    with pytest.raises(nt.InputError, match="Expected a list of graphs; got Data"):
        predictor.predict(small_task().graphs[0])
    with pytest.raises(nt.InputError, match="Expected top as an integer of at least 1; got 0"):
        predictor.label(small_task().graphs, top=0)
    graph = small_task().graphs[0].clone()
    del graph.node_type
    with pytest.raises(nt.InputError, match="Graph 0: Expected node_type, since there are the types first, other"):
        predictor.predict([graph])
    with pytest.raises(nt.InputError, match="Expected a device such as cpu or cuda; got 'abacus'"):
        nt.Predictor(bundle, "abacus")
