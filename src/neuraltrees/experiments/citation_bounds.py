"""Citation networks: how to bound the H-tree. Edges kept, nodes of the tree and accuracy by sampler and bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from neuraltrees.data.transform import attach_htree
from neuraltrees.datasets import CitationNetwork
from neuraltrees.decomposition import sample_bounded_treewidth
from neuraltrees.decomposition.sampling import Sampler
from neuraltrees.experiments.cells import DEFAULTS, Cell, Log, accuracies, best_by_validation, run_cells
from neuraltrees.experiments.citation_tuning import BUDGET
from neuraltrees.experiments.citations import NETWORKS, TOO_LARGE
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.graph import Graph
from neuraltrees.plots.style import MORE, panels, save_both
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Name, Record, Results, open_store

SIZES = (None, 20)  # training nodes per class; None means all remaining nodes
RATES = (0.01, 0.05)
WHOLE: Name = {"sampler": "whole", "k": None}
PAPER: Name = {"sampler": "paper", "k": 4}
OURS: Name = {"sampler": "elimination", "k": 4}
VARIANTS: tuple[Name, ...] = (PAPER, OURS, WHOLE, *({"sampler": "elimination", "k": k} for k in (1, 2, 8)))


def variants(dataset: str, quick: bool = False) -> list[Name]:
    """The samplers and bounds of a dataset; `whole` is the tree of the whole graph."""
    listed = VARIANTS[:3] if quick else VARIANTS
    return [each for each in listed if dataset != TOO_LARGE or each != WHOLE]


def cells(scale: Scale) -> Iterator[Cell]:
    """Neural tree + GCN with two learning rates each."""
    fixed = {**BUDGET, "weight_decay": 5e-5, "bag_start": "zero"} | scale.choose((10, 2), (BUDGET["epochs"], 60))
    for size in SIZES[:1] if scale.quick else SIZES:
        for dataset in ("cora",) if scale.quick else reversed(NETWORKS):
            for variant in variants(dataset, scale.quick):
                for rate in RATES:
                    bound: dict[str, Any] = {"max_treewidth": variant["k"]}
                    if variant != WHOLE:
                        bound["sampler"] = variant["sampler"]
                    name: Name = {"dataset": dataset, "nodes": size, **variant, "lr": rate}
                    values = {**fixed, **bound, "lr": rate, "train_per_class": size, "dropout": 0.5}
                    yield Cell.of(name, dataset=dataset, conv="gcn", model="neural-tree", **values)


def measure(scale: Scale, path: Path, log: Log) -> Results:
    wanted = list(cells(scale))
    with open_store(path, "citation-bounds", defaults=DEFAULTS) as store:
        for dataset in dict.fromkeys(cell.config.dataset for cell in wanted):
            data = CitationNetwork(dataset, scale.data_root)[0]
            for variant in variants(dataset, scale.quick):
                name: Name = {"dataset": dataset, **variant}
                if store.get(name) is None:
                    store.add(name, _sizes(data, variant) | machine("cpu"))
    return run_cells("citation-bounds", wanted, path, scale.device, log, scale.execution)


def _sizes(data: Any, variant: Name) -> dict[str, Any]:
    """The share of edges kept and the nodes of the H-tree."""
    if variant == WHOLE:
        return {"kept": 1.0, "tree_nodes": attach_htree(data).htree.num_nodes}
    k, sampler = cast(int, variant["k"]), cast(Sampler, variant["sampler"])
    sample = sample_bounded_treewidth(Graph.from_data(data), k, restarts=4, sampler=sampler)
    tree = attach_htree(data, k, sampler=sampler).htree
    return {"kept": sample.kept, "tree_nodes": tree.num_nodes}


def _measured(results: Results, **tree: Any) -> Record:
    """What `_sizes` found."""
    return next(record for record in results.find(**tree) if "tree_nodes" in record)


def _best(results: Results, **cell: Any) -> dict[str, Any]:
    """The cell with the learning rate of the best validation accuracy."""
    found = {rate: each for rate in RATES for each in results.find(**cell, lr=rate)}
    return {**cell, "lr": best_by_validation(found)}


def draw(results: Results, folder: Path) -> list[Block]:
    trained = [record["name"] for record in results.records if "lr" in record["name"]]
    datasets = list(dict.fromkeys(name["dataset"] for name in trained))
    figure, axes = panels(len(datasets), width=3.8)
    rows = []
    for each, dataset in zip(axes, datasets, strict=True):
        for size, look in zip(SIZES, MORE, strict=False):
            here = {"dataset": dataset, "nodes": size}
            found = [variant for variant in VARIANTS if results.find(**here, **variant)]
            scores = {i: accuracies(results, **_best(results, **here, **found[i])) for i in range(len(found))}
            if PAPER not in found:
                continue
            base = scores[found.index(PAPER)]
            sizes = [_measured(results, dataset=dataset, **variant) for variant in found]
            nodes = [each["tree_nodes"] for each in sizes]
            label = "all remaining nodes" if size is None else f"{size} per class"
            places = [percent(scores[i]) for i in range(len(found))]
            each.plot(nodes, places, linestyle="", marker=look.marker, color=look.color, label=label)
            for i, variant in enumerate(found):
                kept = sizes[i]["kept"]
                words = [NETWORKS[dataset], "all" if size is None else str(size), str(variant["sampler"])]
                words += ["" if variant["k"] is None else str(variant["k"]), f"{100 * kept:.1f} %", f"{nodes[i]:,}"]
                rows.append([*words, mean_std(scores[i]), "" if variant == PAPER else paired(scores[i], base)])
        each.set_xscale("log")
        each.set_xlabel("nodes of the H-tree")
        each.set_title(NETWORKS[dataset])
    axes[0].set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    save_both(figure, folder, "citation-bounds")
    header = ["data", "nodes per class", "sampler", "k", "edges kept", "tree nodes", "accuracy", "− paper, k = 4"]
    return [Table(header, rows), Figure(EXPERIMENT.what, "citation-bounds.svg")]


EXPERIMENT = Experiment(
    "citation-bounds", "citation networks: accuracy and size of the H-tree by sampler and bound", measure, draw
)
