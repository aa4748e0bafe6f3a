"""Collections of graphs as they come: some without edges or nodes, targets that are missing, parts without labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt

ODD = (2, 9, 20)  # these graphs are odd


def rings(nodes_of_odd: int, categories: bool = True) -> list[Data]:
    """Thirty rings with features of nodes and edges; the odd ones have fewer nodes and no edges."""
    draw = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(30):
        size = nodes_of_odd if number in ODD else 3 + number % 3
        place = torch.arange(size)
        edges = torch.stack([place, (place + 1) % max(size, 1)]) if number not in ODD else torch.zeros(2, 0).long()
        both = torch.cat([edges, edges.flip(0)], 1)
        x = torch.randint(0, 3, (size, 2), generator=draw)
        attr = torch.randint(0, 2, (both.shape[1], 1), generator=draw)
        y = torch.randn(1, 1, generator=draw)
        x, attr = (x, attr) if categories else (x.float(), attr.float())
        graphs.append(Data(x=x, edge_index=both, edge_attr=attr, y=y))
    return graphs


def fitted(task: nt.Task, **network: Any) -> Any:
    spec = nt.NetworkSpec(hidden=8, layers=2, heads=2, **network)
    training = nt.TrainingSpec(epochs=2, batches=3, every_class=False)
    return nt.fit(task, spec, training, [nt.Run(0, task.split(0))])


@pytest.mark.parametrize("nodes", [0, 1, 4], ids=["no nodes", "one node", "no edges"])
@pytest.mark.parametrize("model", ["neural-tree", "gnn"])
@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
@pytest.mark.parametrize("categories", [True, False], ids=["categories", "numbers"])
def test_graphs_without_edges_or_nodes(nodes: int, model: str, pool: str, categories: bool) -> None:
    features: dict[str, Any] = {"features": nt.Categories((3, 3)), "edge_features": nt.Categories((2,))}
    task = nt.Task(rings(nodes, categories), nt.Regression(("a",)), **(features if categories else {}))
    for conv in ("sage", "gin"):
        found = fitted(task, model=model, conv=conv, pool=pool)
        assert found.test.isfinite().all() and found.answers().isfinite().all()
        predictor = nt.Predictor(nt.Bundle.of(found))
        odd = [task.graphs[number] for number in ODD]
        alone = torch.cat([predictor.predict([graph])[0] for graph in odd])
        assert torch.allclose(torch.cat(predictor.predict(odd)), alone, atol=1e-5)
        together = predictor.predict(task.graphs)
        assert torch.allclose(torch.cat([together[number] for number in ODD]), alone, atol=1e-5)


@pytest.mark.parametrize("objective", [nt.Regression(("a",)), nt.MultiLabel(("a",))], ids=["numbers", "labels"])
def test_missing_targets_do_not_count(objective: nt.Objective) -> None:
    """The metrics of a run are those of the graphs whose targets are known."""
    graphs = rings(1)
    for number, graph in enumerate(graphs):
        graph.y = torch.tensor([[float(number % 2)]])
    split = nt.Split(*(torch.arange(30) % 3 == part for part in range(3)))
    for number in range(0, 30, 5):
        graphs[number].y = torch.tensor([[torch.nan]])
    task = nt.Task(graphs, objective, splitter=lambda seed: split)
    found = fitted(task)
    known = ~task.y.flatten().isnan()
    kept = [graph for graph, yes in zip(graphs, known.tolist(), strict=True) if yes]
    masks = [mask[known].unsqueeze(1).float() for mask in (split.val, split.test)]
    answers, y = found.answers()[known], nt.Task(kept, objective).targets
    metric = objective.metric
    val, test = (metric.reduce(metric.observe(answers, y), y, mask) for mask in masks)
    assert torch.allclose(val, found.val, atol=1e-5) and torch.allclose(test, found.test, atol=1e-5)


PARTS = ("training", "validation", "test")


@pytest.mark.parametrize("part", range(3), ids=PARTS)
@pytest.mark.parametrize(
    ("objective", "missing"),
    [
        (nt.Regression(("a",)), torch.tensor([[torch.nan]])),
        (nt.MultiLabel(("a",)), torch.tensor([[torch.nan]])),
        (nt.Classification(("a", "b"), level="graph"), torch.tensor([-1])),
    ],
    ids=["numbers", "labels", "classes"],
)
def test_all_labels_of_a_part_missing(part: int, objective: nt.Objective, missing: torch.Tensor) -> None:
    graphs = rings(1)
    split = nt.Split(*(torch.arange(30) % 3 == number for number in range(3)))
    for number, graph in enumerate(graphs):
        known = torch.tensor([number % 2]) if missing.dim() == 1 else torch.tensor([[float(number % 2)]])
        graph.y = missing if number % 3 == part else known
    task = nt.Task(graphs, objective, splitter=lambda seed: split)
    with pytest.raises(nt.InputError, match=rf"at least one {PARTS[part]} graph with a label; all 10 have none"):
        fitted(task)
