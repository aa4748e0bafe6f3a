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
BOUND = 4  # of the default's H-trees in citation-data
TOO_LARGE = "pubmed"  # the H-tree of the whole graph has 4.9 million nodes
OURS = "neural tree, default"


def data_cells(scale: Scale, best: Best) -> list[Cell]:
    """GCN and GAT, on the graph and on the paper's H-trees with several treewidth bounds; GCN also by default."""
    cells = []
    for dataset, sizes in SIZES.items():
        for conv in ("gcn", "gat"):
            for size in (20, None) if scale.quick else sizes:
                for k in (None, 1) if scale.quick else (None, 1, 4):
                    name: Name = {"dataset": dataset, "conv": conv, "nodes": size, "k": k}
                    cells.append(_cell(name, dataset, conv, size, k, scale, best))
                if conv == "gcn":
                    name = {"dataset": dataset, "conv": conv, "nodes": size, "bound": BOUND}
                    cells.append(_default_cell(name, dataset, size, BOUND, scale))
    return cells


def groups(results: Results) -> Iterator[tuple[str, str, list[int | None], list[int]]]:
    """Every dataset and convolution with results, its numbers of training nodes per class and its treewidth bounds."""
    for conv, dataset in product(("gcn", "gat"), NETWORKS):
        names = [record["name"] for record in results.find(dataset=dataset, conv=conv) if "k" in record["name"]]
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
        ours = {n: _found(results, dataset=dataset, conv=conv, nodes=n, bound=BOUND) for n in sizes}
        if any(ours.values()):
            drawn = [number for number, n in enumerate(sizes) if ours[n]]
            line(each, drawn, [ours[sizes[number]] for number in drawn], OURS, MORE[2])
        each.set_xticks(where, ["all" if n is None else str(n) for n in sizes])
        each.set_title(f"{conv.upper()} on {NETWORKS[dataset]}")
        each.set_xlabel("training nodes per class")
        for number, nodes in enumerate(sizes):
            best = best_k(results, ks, dataset=dataset, conv=conv, nodes=nodes)
            tree, graph = of[best][number], of[None][number]
            names = [NETWORKS[dataset], conv.upper(), "all" if nodes is None else str(nodes)]
            row = [*names, mean_std(graph), f"{mean_std(tree)} (k = {best})", paired(tree, graph)]
            rows.append([*row, *([mean_std(ours[nodes]), paired(ours[nodes], tree)] if ours[nodes] else ["", ""])])
    for each in axes[:: -(-len(axes) // lines)]:
        each.set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save_both(figure, folder, "citation-data")
    header = ["data", "convolution", "nodes per class", "GNN", "neural tree, k by validation", "tree − GNN"]
    header += ["neural tree, default", "default − tree"]
    return [Table(header, rows), DEFAULT, Figure(DATA.what, "citation-data.svg")]


DEFAULT = (
    "By default, trees are sampled by elimination, with k = 4 unless a column says otherwise, bags start with the mean "
    "of their nodes' features, and learning rate and weight decay are those of `neuraltrees train --conv gcn`, 0.05 "
    "and 5e-5, not tuned per column."
)


def treewidth_cells(scale: Scale, best: Best) -> list[Cell]:
    """Neural tree + GCN by the paper and by default, and GCN on the graph, trained on all remaining nodes."""
    ks = TREEWIDTHS[::3] if scale.quick else TREEWIDTHS
    cells = []
    for dataset in SIZES:
        cells += [_cell({"dataset": dataset, "k": k}, dataset, "gcn", None, k, scale, best) for k in (None, *ks)]
        wanted = ks if dataset == TOO_LARGE else (*ks, None)
        cells += [_default_cell({"dataset": dataset, "bound": k}, dataset, None, k, scale) for k in wanted]
    return cells


def _default_cell(name: Name, dataset: str, size: int | None, k: int | None, scale: Scale) -> Cell:
    """A neural tree + GCN as `neuraltrees train` has it; without a treewidth bound if k is None."""
    values: dict[str, Any] = {"train_per_class": size, **BUDGET} | scale.choose((10, 2), (BUDGET["epochs"], 60))
    values |= {"max_treewidth": k, "bag_start": "mean", "lr": 0.05, "weight_decay": 5e-5, "dropout": 0.5}
    return Cell.of(name, dataset=dataset, conv="gcn", model="neural-tree", **values)


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
        graph = accuracies(results, dataset=dataset, k=None)
        each.axhline(percent(graph), color=LOOKS["GNN"].color, linestyle="--", label="GCN on the graph")
        each.set_xlabel("treewidth bound k")
        each.set_title(NETWORKS[dataset])
        paper: dict[int | None, list[float]] = {k: accuracies(results, dataset=dataset, k=k) for k in ks}
        ours = {k: _found(results, dataset=dataset, bound=k) for k in (*ks, None)}
        for label, trees, look in (("paper", paper, LOOKS["neural tree"]), ("default", ours, MORE[2])):
            drawn = {k: values for k, values in trees.items() if values and k is not None}
            if not drawn:
                continue
            line(each, list(drawn), list(drawn.values()), f"neural tree + GCN, {label}", look)
            shown = [mean_std(trees[k]) if trees.get(k) else "" for k in (*ks, None)]
            first, last = drawn[ks[0]], drawn[ks[-1]]
            rows.append([NETWORKS[dataset], label, mean_std(graph), *shown, paired(last, first)])
    axes[0].set_ylabel("test accuracy in %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    save_both(figure, folder, "citation-treewidth")
    header = ["data", "trees", "GCN", *(f"k = {k}" for k in ks), "no bound", f"k = {ks[-1]} − k = {ks[0]}"]
    return [Table(header, rows), DEFAULT, Figure(TREEWIDTH.what, "citation-treewidth.svg")]


def _found(results: Results, **cell: Any) -> list[float]:
    """The accuracies of a cell; none if it was not run."""
    return accuracies(results, **cell) if results.find(**cell) else []


def bounds(results: Results) -> list[int]:
    """The treewidth bounds that were trained."""
    return sorted({record["name"].get("k") for record in results.records} - {None})


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
