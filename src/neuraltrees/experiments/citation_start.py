"""Citation networks: what bags start with. Zero, as in the paper, against the mean of their nodes' features."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from neuraltrees.experiments.cells import Cell, accuracies, best_by_validation
from neuraltrees.experiments.citation_tuning import BUDGET
from neuraltrees.experiments.citations import NETWORKS
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.plots.style import LOOKS, MORE, Look, panels, save_both
from neuraltrees.tuning.store import Name, Results

SIZES = (None, 20)  # training nodes per class; None means all remaining nodes
RATES = (0.05, 0.01)
GRAPH, ZERO, MEAN = "graph", "zero", "mean"
STARTS = (ZERO, MEAN, GRAPH)  # the initial states of bags, and the GCN on the graph itself
LABELS = {GRAPH: "GCN on the graph", ZERO: "neural tree, zero", MEAN: "neural tree, mean"}


def cells(scale: Scale) -> list[Cell]:
    """GCN on H-trees of treewidth at most 4 and on the graph, with two learning rates each.

    PubMed, which takes longest, comes last.
    """
    return sorted(_cells(scale), key=lambda cell: cell.name["dataset"] == "pubmed")


def _cells(scale: Scale) -> Iterator[Cell]:
    fixed = {**BUDGET, "weight_decay": 5e-5, "dropout": 0.5} | scale.choose((10, 2), (BUDGET["epochs"], 60))
    sizes, datasets = (SIZES[:1], ("cora",)) if scale.quick else (SIZES, tuple(reversed(NETWORKS)))
    for rate, size, dataset in product(RATES, sizes, datasets):
        for start in STARTS:
            name: Name = {"dataset": dataset, "nodes": size, "start": start, "lr": rate}
            values: dict[str, Any] = {**fixed, "lr": rate, "train_per_class": size, "conv": "gcn"}
            if start == GRAPH:
                values |= {"model": "gnn"}
            else:
                values |= {"model": "neural-tree", "max_treewidth": 4, "bag_start": start}
            yield Cell.of(name, dataset=dataset, **values)


def scores(results: Results, dataset: str, size: int | None) -> dict[str, list[float]]:
    """The test accuracies of every start, with the learning rate of the best validation accuracy; {} without zero."""
    found = {}
    for start in STARTS:
        cell: dict[str, Any] = {"dataset": dataset, "nodes": size, "start": start}
        rates = {rate: each for rate in RATES for each in results.find(**cell, lr=rate)}
        if rates:
            found[start] = accuracies(results, **cell, lr=best_by_validation(rates))
    return found if ZERO in found and MEAN in found else {}


def draw(results: Results, folder: Path) -> list[Block]:
    datasets = list(dict.fromkeys(record["name"]["dataset"] for record in results.records))
    datasets = [each for each in datasets if any(scores(results, each, size) for size in SIZES)]
    figure, axes = panels(len(datasets), width=3.4)
    rows = []
    for each, dataset in zip(axes, datasets, strict=True):
        for place, size in enumerate(SIZES):
            found = scores(results, dataset, size)
            for shift, (start, values) in enumerate(found.items()):
                look = _look(start)
                where = [place + 0.22 * (shift - 1)]
                style: dict[str, Any] = {"marker": look.marker, "color": look.color, "linestyle": ""}
                each.plot(where * len(values), [100 * value for value in values], alpha=0.35, markersize=4, **style)
                label = LABELS[start] if place == 0 else None
                each.plot(where, [percent(values)], markersize=9, label=label, **style)
            if found:
                graph = found.get(GRAPH)
                rows.append(
                    [
                        NETWORKS[dataset],
                        "all" if size is None else str(size),
                        *(mean_std(found[start]) for start in (ZERO, MEAN)),
                        paired(found[MEAN], found[ZERO]),
                        "" if graph is None else mean_std(graph),
                        "" if graph is None else paired(found[MEAN], graph),
                    ]
                )
        each.set_xticks(range(len(SIZES)), ["all remaining" if size is None else str(size) for size in SIZES])
        each.set_xlim(-0.6, len(SIZES) - 0.4)
        each.set_xlabel("training nodes per class")
        each.set_title(NETWORKS[dataset])
    axes[0].set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    save_both(figure, folder, "citation-start")
    header = ["data", "nodes per class", "zero", "mean", "mean − zero", "GCN on the graph", "mean − GCN"]
    return [Table(header, rows), Figure(EXPERIMENT.what, "citation-start.svg")]


def _look(start: str) -> Look:
    return {GRAPH: LOOKS["GNN"], ZERO: MORE[0], MEAN: MORE[1]}[start]


EXPERIMENT = Experiment.of_cells(
    "citation-start",
    "citation networks: bags that start at zero or with the mean of their nodes' features, GCN, k = 4",
    cells,
    draw,
)
