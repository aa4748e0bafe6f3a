"""Citation networks: accuracy against the number of training nodes per class, and against the treewidth bound k."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from neuraltrees.experiments.cells import Cell, Log, accuracies, best_by_validation, run_cells
from neuraltrees.experiments.citation_tuning import BUDGET, Best, regime, tune
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.plots.style import LOOKS, MORE, line, panels, save_both
from neuraltrees.tuning.store import Name, Results

NETWORKS = {"pubmed": "PubMed", "citeseer": "CiteSeer", "cora": "Cora"}
# Training nodes per class, limited by the smallest class of each dataset; None means all remaining nodes.
SIZES: dict[str, tuple[int | None, ...]] = {
    "pubmed": (20, 100, 500, 1500, None),
    "citeseer": (20, 50, 100, None),
    "cora": (20, 50, 65, None),
}
TREEWIDTHS = (1, 2, 4, 6)


def data_cells(scale: Scale, best: Best) -> list[Cell]:
    """GCN and GAT, on the graph and on H-trees with several treewidth bounds."""
    cells = []
    for dataset, sizes in SIZES.items():
        for conv in ("gcn", "gat"):
            for size in (20, None) if scale.quick else sizes:
                for k in (None, 1) if scale.quick else (None, 1, 4):
                    name: Name = {"dataset": dataset, "conv": conv, "nodes": size, "k": k}
                    cells.append(_cell(name, dataset, conv, size, k, scale, best))
    return cells


def groups(results: Results) -> Iterator[tuple[str, str, list[int | None], list[int]]]:
    """Every dataset and convolution with results, its numbers of training nodes per class and its treewidth bounds."""
    for conv, dataset in product(("gcn", "gat"), NETWORKS):
        names = [record["name"] for record in results.find(dataset=dataset, conv=conv)]
        if names:
            sizes = sorted({name["nodes"] for name in names}, key=lambda nodes: nodes or float("inf"))
            yield dataset, conv, sizes, sorted({name["k"] for name in names} - {None})


def best_k(results: Results, ks: Sequence[int], **cell: Any) -> int:
    """The treewidth bound with the best validation accuracy."""
    return best_by_validation({k: results.one(k=k, **cell) for k in ks})


def draw_data(results: Results, folder: Path) -> list[Block]:
    found = list(groups(results))
    lines = len({conv for _, conv, _, _ in found})
    figure, axes = panels(len(found), width=3.9, height=3.0, rows=lines)
    rows = []
    for each, (dataset, conv, sizes, ks) in zip(axes, found, strict=True):
        where = list(range(len(sizes)))
        of = {k: [accuracies(results, dataset=dataset, conv=conv, nodes=n, k=k) for n in sizes] for k in (None, *ks)}
        line(each, where, of[None], "GNN", LOOKS["GNN"])
        for k, look in zip(ks, MORE, strict=False):
            line(each, where, of[k], f"neural tree, k = {k}", look)
        each.set_xticks(where, ["all" if n is None else str(n) for n in sizes])
        each.set_title(f"{conv.upper()} on {NETWORKS[dataset]}")
        each.set_xlabel("training nodes per class")
        for number, nodes in enumerate(sizes):
            best = best_k(results, ks, dataset=dataset, conv=conv, nodes=nodes)
            tree, graph = of[best][number], of[None][number]
            names = [NETWORKS[dataset], conv.upper(), "all" if nodes is None else str(nodes)]
            rows.append([*names, mean_std(graph), f"{mean_std(tree)} (k = {best})", paired(tree, graph)])
    for each in axes[:: -(-len(axes) // lines)]:
        each.set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save_both(figure, folder, "citation-data")
    header = ["data", "convolution", "nodes per class", "GNN", "neural tree, k by validation", "tree − GNN"]
    return [Table(header, rows), Figure(DATA.what, "citation-data.svg")]


def treewidth_cells(scale: Scale, best: Best) -> list[Cell]:
    """Neural tree + GCN, and GCN on the graph, trained on all remaining nodes."""
    ks = TREEWIDTHS[::3] if scale.quick else TREEWIDTHS
    return [
        _cell({"dataset": dataset, "k": k}, dataset, "gcn", None, k, scale, best)
        for dataset in SIZES
        for k in (None, *ks)
    ]


def _cell(name: Name, dataset: str, conv: str, size: int | None, k: int | None, scale: Scale, best: Best) -> Cell:
    model = "gnn" if k is None else "neural-tree"
    values: dict[str, Any] = {"train_per_class": size, **BUDGET} | scale.choose((10, 2), (BUDGET["epochs"], 60))
    if k is not None:
        # The paper's; citation-bounds and citation-start compare them with others.
        values |= {"max_treewidth": k, "sampler": "paper", "bag_start": "zero"}
    values |= best.get((dataset, conv, model, regime(size)), {})
    return Cell.of(name, dataset=dataset, conv=conv, model=model, **values)


def draw_treewidth(results: Results, folder: Path) -> list[Block]:
    datasets = list(dict.fromkeys(record["name"]["dataset"] for record in results.records))
    ks = bounds(results)
    figure, axes = panels(len(datasets), width=3.8)
    rows = []
    for each, dataset in zip(axes, datasets, strict=True):
        trees = [accuracies(results, dataset=dataset, k=k) for k in ks]
        graph = accuracies(results, dataset=dataset, k=None)
        line(each, ks, trees, "neural tree + GCN", LOOKS["neural tree"])
        each.axhline(percent(graph), color=LOOKS["GNN"].color, linestyle="--", label="GCN on the graph")
        each.set_xlabel("treewidth bound k")
        each.set_title(NETWORKS[dataset])
        rows.append([NETWORKS[dataset], mean_std(graph), *map(mean_std, trees), paired(trees[-1], trees[0])])
    axes[0].set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    save_both(figure, folder, "citation-treewidth")
    header = ["data", "GCN", *(f"k = {k}" for k in ks), f"k = {ks[-1]} − k = {ks[0]}"]
    return [Table(header, rows), Figure(TREEWIDTH.what, "citation-treewidth.svg")]


def bounds(results: Results) -> list[int]:
    """The treewidth bounds that were trained."""
    return sorted({record["name"]["k"] for record in results.records} - {None})


def _experiment(
    name: str, what: str, cells: Callable[[Scale, Best], list[Cell]], draw: Callable[[Results, Path], list[Block]]
) -> Experiment:
    def measure(scale: Scale, path: Path, log: Log) -> Results:
        wanted = dict.fromkeys((cell.config.dataset, cell.config.conv) for cell in cells(scale, {}))
        # The quick version uses the presets of the datasets.
        tuning = path.with_name("citation-tuning.json")
        best = {} if scale.quick else tune(list(wanted), tuning, scale, log)
        return run_cells(name, cells(scale, best), path, scale.device, log, scale.execution)

    return Experiment(name, what, measure, draw)


DATA = _experiment(
    "citation-data", "citation networks: accuracy against training nodes per class, GCN and GAT", data_cells, draw_data
)
TREEWIDTH = _experiment(
    "citation-treewidth", "citation networks: accuracy against the treewidth bound", treewidth_cells, draw_treewidth
)
