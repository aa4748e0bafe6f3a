"""Verdicts follow from the numbers: small results that confirm a claim, and others that do not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from neuraltrees.experiments import claims, summary
from neuraltrees.experiments.statistics import Difference
from neuraltrees.experiments.table1 import CONVS, NETWORKS
from neuraltrees.experiments.times import PRINTED

SPREAD = (-0.02, 0.0, 0.01, 0.01)


def cell(mean: float, name: dict[str, Any], wobble: float = 0.0) -> dict[str, Any]:
    """Four runs around a mean; runs of equal seeds go up and down together, but for a little."""
    runs = [
        {"seed": seed, "split": [7, 1, 2], "val": mean + shift, "test": mean + shift + wobble * (-1) ** seed}
        for seed, shift in enumerate(SPREAD)
    ]
    extra = {"settings": {"epochs": 5}, "seconds": 60.0, "device": "abacus"}
    return {"name": name, "runs": [run | {"best_epoch": 1} for run in runs], **extra}


def table1(tree: float, stored: float, symmetric: float, sage: float) -> dict[str, Any]:
    means = dict(zip(NETWORKS, (tree, stored, symmetric), strict=True))
    cells = []
    for conv in CONVS:
        for name, mean in means.items():
            value = sage if (conv, name) == ("sage", "GNN") else mean
            cells.append(cell(value, {"conv": conv, "network": name}, 0.003 if name == "neural tree" else 0))
    return {"cells": cells}


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
    content = {
        "cells": [
            cell(value, {"network": name, "share": share}, 0.002 * (name == "neural tree") * (share > 0.5))
            for name, values in (("neural tree", (0.3, end)), ("GNN, stored edges", (0.3, 0.4)), ("GNN", (0.3, 0.4)))
            for share, value in zip((0.1, 0.7), values, strict=True)
        ]
    }
    assert claims.rises_more_sharply({"training-data": content}).verdict == verdict


@pytest.mark.parametrize(("best", "verdict"), [(4, "confirmed"), (1, "refuted")])
def test_the_best_rounds_are_near_the_diameter(best: int, verdict: str) -> None:
    cells = [cell(0.6 if t == best else 0.5, {"network": "neural tree", "rounds": t}, 0.001 * t) for t in range(1, 7)]
    found = claims.best_near_the_diameter({"iterations": {"cells": cells, "diameters": [3, 4, 4], "nodes": [1, 1, 1]}})
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
    found = claims.crosses_on_pubmed_alone({"citation-data": {"cells": cells}})
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.02, 0.02, 0.0), "confirmed"),
        (
            (0.02, 0.0, 0.0),
            "in part: flat where it says; 1 to 3 points on Cora with k = 4, not significantly with k = 6",
        ),
        ((0.0, 0.0, 0.0), "in part: flat where it says; no such gain on Cora"),
        ((0.02, 0.02, 0.05), "in part: it matters elsewhere too; 1 to 3 points on Cora with k = 4, 6"),
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
    assert claims.treewidth_matters_on_cora({"citation-treewidth": {"cells": cells}}).verdict == verdict


def test_the_papers_own_times_confirm_its_claim() -> None:
    rows = [
        {"conv": conv, "model": model, "train": times[place], "test": times[2 + place]}
        for conv, times in PRINTED.items()
        for place, model in enumerate(("gnn", "neural-tree"))
    ]
    points = [{"rows": rows, "device": "Quadro P4000"}]
    assert claims.trains_slower({"train-time": {"points": points}}).verdict == "confirmed"


@pytest.mark.parametrize(("train", "verdict"), [(5.0, "confirmed"), (2.0, "depends on the implementation")])
def test_times(train: float, verdict: str) -> None:
    rows = [
        {"conv": conv, "model": model, "train": train if model == "neural-tree" else 1.0, "test": 1.0}
        for conv in CONVS
        for model in ("gnn", "neural-tree")
    ]
    points = [{"rows": rows, "device": "abacus"}]
    assert claims.trains_slower({"train-time": {"points": points}}).verdict.startswith(verdict)
    points.append({"rows": [row | {"train": 1.0} for row in rows], "device": "slide rule"})
    found = claims.trains_slower({"train-time": {"points": points}})
    assert found.verdict == (
        f"depends on the implementation: here it takes 1.0 to {train:.1f} times as long to train "
        "and 1.0 to 1.0 times as long to test"
    ), "it has to hold on every device"
    assert f"abacus: train GCN {train:.1f} ×" in found.evidence and "slide rule: train GCN 1.0 ×" in found.evidence
    rows = [{"dataset": "Cora", "k": k, "sampling": 1.0, "building": growth} for k, growth in ((1, 1.0), (10, 8.0))]
    assert claims.sampling_is_flat({"compute-time": {"rows": rows}}).verdict == "confirmed"
    rows[-1]["building"] = 1.0
    assert claims.sampling_is_flat({"compute-time": {"rows": rows}}).verdict == "refuted"


def test_differences_without_a_test() -> None:
    assert Difference.of([0.5], [0.4]).sign() == 0
    for first in ([0.5, 0.6], [0.5, 0.6, 0.7]):
        second = [value - 0.1 for value in first]
        assert str(Difference.of(first, second)) == "+10.0", "all runs differ by the same: nothing to test"


def test_the_page(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "images").mkdir()
    content = table1(0.6, 0.5, 0.4, 0.4) | {"note": "In a hurry."}
    (tmp_path / "results" / "table1.json").write_text(json.dumps(content))
    summary.write_results(tmp_path)
    page = (tmp_path / "results.md").read_text()
    assert "| 1 | The neural tree beats its GNN for every convolution | **confirmed** |" in page
    assert "| 7 | Sampling time is flat in k while construction grows | not judged | compute-time was not run |" in page
    assert "4 runs a cell, at most 5 epochs, on abacus, 12 minutes of training. In a hurry." in page
    assert "    neuraltrees reproduce table1 --out docs/results\n" in page
    assert "| GCN | 40.9 / 50.6 | 50.0 ± 1.4 | 40.0 ± 1.4 |" in page
    assert "Not run: training-data, iterations" in page
    assert (tmp_path / "images" / "table1.svg").read_text().lstrip().startswith("<?xml")
