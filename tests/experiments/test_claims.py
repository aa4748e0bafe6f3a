"""Verdicts follow from the numbers: small results that confirm a claim, and others that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from neuraltrees.experiments import claims
from neuraltrees.experiments.statistics import Difference
from neuraltrees.experiments.table1 import CONVS, NETWORKS
from neuraltrees.experiments.times import PRINTED
from neuraltrees.tuning.store import Results

SPREAD = (-0.02, 0.0, 0.01, 0.01)


def cell(mean: float, name: dict[str, Any], wobble: float = 0.0) -> dict[str, Any]:
    """Four runs around a mean; runs of equal seeds go up and down together, but for a little."""
    runs = [
        {"seed": seed, "split": [7, 1, 2], "val": mean + shift, "test": mean + shift + wobble * (-1) ** seed}
        for seed, shift in enumerate(SPREAD)
    ]
    extra = {"settings": {"epochs": 5}, "seconds": 60.0, "device": "abacus"}
    return {"name": name, "runs": [run | {"best_epoch": 1} for run in runs], "parameters": 1, **extra}


def of(*records: dict[str, Any]) -> Results:
    return Results("x", list(records))


def table1(tree: float, stored: float, symmetric: float, sage: float) -> Results:
    means = dict(zip(NETWORKS, (tree, stored, symmetric), strict=True))
    cells = []
    for conv in CONVS:
        for name, mean in means.items():
            value = sage if (conv, name) == ("sage", "GNN") else mean
            cells.append(cell(value, {"conv": conv, "network": name}, 0.003 if name == "neural tree" else 0))
    return Results("table1", cells)


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ((0.6, 0.5, 0.4, 0.4), "confirmed"),
        (
            (0.6, 0.5, 0.4, 0.6),
            "depends on the edges: confirmed on the stored ones; on symmetric ones not for GraphSAGE",
        ),
        ((0.5, 0.6, 0.4, 0.4), "refuted"),
    ],
)
def test_the_neural_tree_beats_its_gnn(means: Sequence[float], verdict: str) -> None:
    found = claims.beats_its_gnn({"table1": table1(*means)})
    assert found.verdict == verdict
    assert "stored edges: GCN" in found.evidence and "(p " in found.evidence


@pytest.mark.parametrize(("end", "verdict"), [(0.7, "confirmed"), (0.35, "refuted")])
def test_its_accuracy_rises_more_sharply(end: float, verdict: str) -> None:
    cells = [
        cell(value, {"network": name, "share": share}, 0.002 * (name == "neural tree") * (share > 0.5))
        for name, values in (("neural tree", (0.3, end)), ("GNN, stored edges", (0.3, 0.4)), ("GNN", (0.3, 0.4)))
        for share, value in zip((0.1, 0.7), values, strict=True)
    ]
    assert claims.rises_more_sharply({"training-data": of(*cells)}).verdict == verdict


@pytest.mark.parametrize(("best", "verdict"), [(4, "confirmed"), (1, "refuted")])
def test_the_best_rounds_are_near_the_diameter(best: int, verdict: str) -> None:
    cells = [cell(0.6 if t == best else 0.5, {"network": "neural tree", "rounds": t}, 0.001 * t) for t in range(1, 7)]
    trees = {"name": {"data": "scene graphs"}, "diameters": [3, 4, 4], "nodes": [1, 1, 1]}
    found = claims.best_near_the_diameter({"iterations": of(*cells, trees)})
    assert found.verdict == verdict
    assert found.evidence.startswith(f"Best T = {best} (60.0 ± ")
    assert found.evidence.endswith("; all others are significantly worse. Mean diameter 3.67.")


@pytest.mark.parametrize(
    ("pubmed", "cora", "verdict"),
    [
        (0.9, 0.7, "confirmed"),
        (0.8, 0.7, "in part: not above on PubMed; does not cross on CiteSeer and Cora"),
        (0.9, 0.9, "in part: above on PubMed; crosses on Cora, GCN"),
        (0.8, 0.9, "refuted"),
        (None, 0.7, "in part: above on PubMed with GAT, not with GCN; does not cross on CiteSeer and Cora"),
    ],
)
def test_crossing(pubmed: float | None, cora: float, verdict: str) -> None:
    cells = []
    ends = [("pubmed", "gcn", 0.8), ("pubmed", "gat", 0.9)] if pubmed is None else [("pubmed", "gcn", pubmed)]
    for dataset, conv, end in (*ends, ("cora", "gcn", cora)):
        for k in (None, 1, 4):
            for nodes in (20, None):
                name = {"dataset": dataset, "conv": conv, "nodes": nodes, "k": k}
                graph = 0.85 if nodes is None else 0.8
                tree = 0.6 if nodes else end - 0.01 * (k == 1)
                cells.append(cell(graph if k is None else tree, name, 0.001 * (k or 0)))
    found = claims.crosses_on_pubmed_alone({"citation-data": of(*cells)})
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.02, 0.02, 0.0), "confirmed"),
        (
            (0.02, 0.0, 0.0),
            "in part: flat on PubMed and CiteSeer; 1 to 3 points on Cora with k = 4, not significantly with k = 6",
        ),
        ((0.0, 0.0, 0.0), "in part: flat on PubMed and CiteSeer; no such gain on Cora"),
        ((0.02, 0.02, 0.05), "in part: k matters on PubMed or CiteSeer too; 1 to 3 points on Cora with k = 4, 6"),
        ((0.0, 0.0, 0.05), "refuted"),
    ],
)
def test_the_treewidth_matters_on_cora(gains: tuple[float, float, float], verdict: str) -> None:
    gain = {("cora", 4): gains[0], ("cora", 6): gains[1], ("pubmed", 6): gains[2]}
    cells = [
        cell(0.8 + gain.get((dataset, k), 0), {"dataset": dataset, "k": k}, 0.001 * (k or 0))
        for dataset in ("pubmed", "cora")
        for k in (None, 1, 4, 6)
    ]
    assert claims.treewidth_matters_on_cora({"citation-treewidth": of(*cells)}).verdict == verdict


def epoch(conv: str, model: str, train: float, test: float, device: str = "abacus") -> dict[str, Any]:
    name = {"device": device, "conv": conv, "model": model}
    return {"name": name, "train": train, "test": test, "device": device}


def test_the_papers_own_times_confirm_its_claim() -> None:
    records = [
        epoch(conv, model, times[place], times[2 + place])
        for conv, times in PRINTED.items()
        for place, model in enumerate(("gnn", "neural-tree"))
    ]
    assert claims.trains_slower({"train-time": of(*records)}).verdict == "confirmed"


@pytest.mark.parametrize(("train", "verdict"), [(5.0, "confirmed"), (2.0, "depends on the implementation")])
def test_training_times(train: float, verdict: str) -> None:
    pairs = [(conv, model) for conv in CONVS for model in ("gnn", "neural-tree")]
    records = [epoch(conv, model, train if model == "neural-tree" else 1.0, 1.0) for conv, model in pairs]
    assert claims.trains_slower({"train-time": of(*records)}).verdict.startswith(verdict)
    records += [epoch(conv, model, 1.0, 1.0, "slide rule") for conv, model in pairs]
    found = claims.trains_slower({"train-time": of(*records)})
    assert found.verdict == (
        f"depends on the implementation: here it takes 1.0 to {train:.1f} times as long to train "
        "and 1.0 to 1.0 times as long to test"
    ), "it has to hold on every device"
    assert f"abacus: train GCN {train:.1f} ×" in found.evidence and "slide rule: train GCN 1.0 ×" in found.evidence


@pytest.mark.parametrize(("building", "verdict"), [(8.0, "confirmed"), (1.0, "refuted")])
def test_sampling_times(building: float, verdict: str) -> None:
    times = of(
        {"name": {"data": "Cora", "k": 10}, "sampling": 1.0, "building": building},
        {"name": {"data": "Cora", "k": 1}, "sampling": 1.0, "building": 1.0},
        {"name": {"data": "scene graphs"}, "building": 1.0},
    )
    found = claims.sampling_is_flat({"compute-time": times})
    assert found.verdict == verdict
    assert found.evidence == f"k = 10 against k = 1: Cora sampling 1.0 ×, building {building:.1f} ×."


def test_differences_without_a_test() -> None:
    assert Difference.of([0.5], [0.4]).sign() == 0
    for first in ([0.5, 0.6], [0.5, 0.6, 0.7]):
        second = [value - 0.1 for value in first]
        assert str(Difference.of(first, second)) == "+10.0", "all runs differ by the same: nothing to test"
