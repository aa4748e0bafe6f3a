"""Whole graphs: a GNN, the tree alone, and both together, with equal numbers of parameters and the same recipe."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from neuraltrees.errors import InputError
from neuraltrees.experiments.cells import Cell, Log, run_cells
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.statistics import p_value
from neuraltrees.plots.style import panels, save_both
from neuraltrees.tuning.store import Record, Results, in_words


@dataclass(frozen=True)
class Network:
    """A network of the comparison.

    Args:
        parts: what its layers read; see `BagOptions`.
        sizes: of its states on each dataset that it is run on, so that it has at most as many parameters as the others
            may have.
        options: those of `TrainConfig` that differ from the others: how its graphs and H-trees are prepared, layers.
        recipes: by dataset, how it is trained, if different from the protocol; it is compared with the GNN of the same
            recipes.
    """

    parts: str
    sizes: Mapping[str, int]
    options: Mapping[str, Any] = field(default_factory=dict)
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Protocol:
    """How a dataset is learned, by all networks in the same way.

    Args:
        what: the name of the metric.
        runs, epochs: numbers of runs and of epochs.
        recipe: all other options.
        lower_is_better: whether lower numbers are better.
        percent: whether numbers are shown as percentages.
        published: published results of others, as text.
    """

    what: str
    runs: int
    epochs: int
    recipe: Mapping[str, Any]
    lower_is_better: bool
    percent: bool
    published: str


GNN = "GNN"
SMALL_SETS = ("esol", "freesolv", "bace", "tox21")
BOTH = {"zinc": 80, "peptides-func": 76, "hiv": 92} | dict.fromkeys(SMALL_SETS, 64)
LONG: dict[str, dict[str, Any]] = {"zinc": {"epochs": 800, "layers": 4, "lr": 2e-3, "weight_decay": 0.1}}
SMALL_BATCHES: dict[str, dict[str, Any]] = {
    "peptides-func": {"epochs": 160, "layers": 3, "batches": 680, "lr": 1e-3, "dropout": 0.2, "walks": 32}
}
LOW_RATE: dict[str, dict[str, Any]] = {
    "hiv": {
        "epochs": 30,
        "layers": 3,
        "batches": 257,
        "lr": 5e-4,
        "weight_decay": 1e-5,
        "warmup": 5,
        "dropout": 0.2,
        "head_dropout": 0.3,
        "walks": 20,
    }
}
# Linear messages as in a GCN, and no encodings: most nodes of a batch have the same view as others.
VIEWS: dict[str, dict[str, Any]] = {
    "peptides-func": {
        "epochs": 60,
        "layers": 3,
        "batches": 340,
        "lr": 1e-3,
        "dropout": 0.2,
        "walks": 0,
        "aggr": "mean",
        "update_layers": 0,
        "skip": False,
        "edge_size": 16,
        "head_layers": 3,
        "average": 0.995,
        "clip": 1.0,
        "evaluate_every": 5,
        "warmup": 2,
        "views": True,
    }
}
# Every run trains four small networks, with at most 500,000 parameters together, whose mean predictions count.
ENSEMBLES: dict[str, dict[str, Any]] = {
    "hiv": {
        "epochs": 30,
        "layers": 2,
        "batches": 257,
        "lr": 1e-3,
        "weight_decay": 0.0,
        "warmup": 2,
        "dropout": 0.0,
        "head_dropout": 0.5,
        "average": 0.999,
        "ensemble": 4,
    }
}
NETWORKS: dict[str, Network] = {
    GNN: Network("graph", {"zinc": 156, "peptides-func": 148, "hiv": 180} | dict.fromkeys(SMALL_SETS, 124)),
    "tree alone": Network("tree", {"zinc": 80, "peptides-func": 80, "hiv": 96} | dict.fromkeys(SMALL_SETS, 68)),
    "graph and tree": Network("graph+tree", BOTH),
    "tree alone, sweeps": Network(
        "tree+sweep", {"zinc": 76, "peptides-func": 72, "hiv": 92} | dict.fromkeys(SMALL_SETS, 64)
    ),
    "graph, tree and sweeps": Network(
        "graph+tree+sweep", {"zinc": 72, "peptides-func": 72, "hiv": 88} | dict.fromkeys(SMALL_SETS, 60)
    ),
    "GNN, walks": Network("graph", {"zinc": 156}, {"walks": 20}),
    "tree alone, walks": Network("tree", {"zinc": 80}, {"walks": 20}),
    "graph and tree, walks": Network("graph+tree", {"zinc": 80}, {"walks": 20}),
    "graph and tree, min-fill": Network("graph+tree", BOTH, {"method": "min_fill", "terminal": "bag"}),
    "GNN, small batches": Network("graph", {"peptides-func": 192}, recipes=SMALL_BATCHES),
    "graph, then tree and sweeps, small batches": Network(
        "graph,graph+tree,graph+tree+sweep", {"peptides-func": 116}, recipes=SMALL_BATCHES
    ),
    "GNN, low rate": Network("graph", {"hiv": 200}, recipes=LOW_RATE),
    "graph and tree, low rate": Network("graph+tree", {"hiv": 104}, recipes=LOW_RATE),
    "GNN, views": Network("graph", {"peptides-func": 248}, recipes=VIEWS),
    "graph, then tree and sweeps, views": Network(
        "graph,graph,graph,tree+sweep", {"peptides-func": 180}, {"layers": 4}, VIEWS
    ),
    "GNN, ensembles": Network("graph", {"hiv": 72}, {"layers": 3}, ENSEMBLES),
    "tree alone, ensembles": Network("tree", {"hiv": 48}, recipes=ENSEMBLES),
    "graph and tree, ensembles": Network("graph+tree", {"hiv": 48}, recipes=ENSEMBLES),
    "graph, tree and sweeps, ensembles": Network("graph+tree+sweep", {"hiv": 44}, recipes=ENSEMBLES),
    "graph, then tree, ensembles": Network("graph,graph,graph+tree", {"hiv": 52}, {"layers": 3}, ENSEMBLES),
    "GNN, long": Network("graph", {"zinc": 186}, recipes=LONG),
    "graph and tree, long": Network("graph+tree", {"zinc": 96}, recipes=LONG),
}
COMMON: dict[str, Any] = {
    "model": "neural-tree",
    "conv": "gin",
    "schedule": "bags",
    "method": "canonical",
    "terminal": "bag",
    "shuffle": True,
    "cosine": True,
    "tf32": True,
    "optimiser": "adamw",
}
PROTOCOLS: dict[str, Protocol] = {
    "zinc": Protocol(
        "mean absolute error",
        4,
        300,
        {"layers": 6, "batches": 79, "lr": 1e-3, "weight_decay": 1e-2, "warmup": 8, "dropout": 0.0, "pool": "sum"}
        | {"evaluate_every": 10},
        True,
        False,
        "Published, with edge features: GIN 0.252, HIMP 0.151, GSN 0.108, CIN 0.079, GPS 0.070, GRIT 0.059.",
    ),
    "peptides-func": Protocol(
        "average precision, mean over 10 labels",
        4,
        100,
        {"layers": 6, "batches": 54, "lr": 2e-3, "weight_decay": 0.0, "warmup": 5, "dropout": 0.1, "pool": "mean"}
        | {"evaluate_every": 5, "walks": 20, "head_layers": 2},
        False,
        False,
        "Published: GCN 0.686 and GINE 0.662, tuned (Tönshoff et al. 2023), GPS 0.653, GRIT 0.699.",
    ),
    "hiv": Protocol(
        "ROC-AUC",
        5,
        50,
        {"layers": 4, "batches": 129, "lr": 1e-3, "weight_decay": 1e-2, "warmup": 3, "dropout": 0.3, "pool": "mean"}
        | {"evaluate_every": 2},
        False,
        True,
        "Published on this split: GIN 75.6, GIN with a virtual node 77.1, GSN 78.0, HIMP 78.8, CIN 80.9.",
    ),
}
SMALL: dict[str, Any] = {
    "layers": 4,
    "lr": 1e-3,
    "weight_decay": 1e-2,
    "warmup": 5,
    "dropout": 0.1,
    "evaluate_every": 2,
}
PROTOCOLS |= {
    "esol": Protocol("RMSE", 10, 100, SMALL | {"batches": 14, "pool": "sum"}, True, False, ""),
    "freesolv": Protocol("RMSE", 10, 100, SMALL | {"batches": 8, "pool": "sum"}, True, False, ""),
    "bace": Protocol("ROC-AUC", 10, 60, SMALL | {"batches": 19, "pool": "mean"}, False, True, ""),
    "tox21": Protocol("ROC-AUC, mean over 12 labels", 10, 60, SMALL | {"batches": 49, "pool": "mean"}, False, True, ""),
}


def cells(datasets: Sequence[str], scale: Scale) -> list[Cell]:
    """A cell for every dataset and network."""
    found = []
    for dataset in datasets:
        protocol = PROTOCOLS[dataset]
        for name, network in NETWORKS.items():
            if dataset not in network.sizes:
                continue
            size = 16 if scale.quick else network.sizes[dataset]
            own = network.recipes.get(dataset, {})
            common = scale.choose((protocol.runs, 2), (own.get("epochs", protocol.epochs), 2))
            recipe = COMMON | dict(protocol.recipe) | dict(own) | common
            values = recipe | dict(network.options) | {"compile": scale.compile}
            label = {"dataset": dataset, "network": name}
            found.append(Cell.of(label, dataset=dataset, parts=network.parts, hidden=size, **values))
    return found


def measure(name: str, datasets: Sequence[str], scale: Scale, path: Path, log: Log) -> Results:
    everything = cells(datasets, scale)
    chosen = [cell for cell in everything if scale.wants(cell.name)]
    if not chosen:
        names = "; ".join(in_words(cell.name) for cell in everything)
        raise InputError(f"Expected --only with words of a name out of {names}; got {scale.only!r}.")
    return run_cells(name, chosen, path, scale.device, log, scale.execution)


def draw(name: str, results: Results, folder: Path) -> list[Block]:
    datasets = [each for each in PROTOCOLS if results.find(dataset=each)]
    blocks: list[Block] = []
    figure, axes = panels(len(datasets), width=4.6)
    for dataset, panel in zip(datasets, axes, strict=True):
        protocol = PROTOCOLS[dataset]
        found = {each: results.find(dataset=dataset, network=each) for each in NETWORKS}
        records = {each: record[0] for each, record in found.items() if record}
        rows = [_row(each, record, records.get(_rival(each)), protocol) for each, record in records.items()]
        best = "lower is better" if protocol.lower_is_better else "higher is better"
        blocks.append(f"**{dataset}**, {protocol.what} of the test graphs ({best}). {protocol.published}".strip())
        blocks.append(Table(["network", "parameters", "validation", "test", "− GNN"], rows))
        for place, record in enumerate(records.values()):
            values = [_shown(run["test"], protocol) for run in record["runs"]]
            panel.plot([place] * len(values), values, "o", alpha=0.5, color=f"C{place}")
            panel.plot([place], [statistics.fmean(values)], "_", markersize=22, color=f"C{place}")
        panel.set_xticks(
            range(len(records)), [each.replace(", ", ",\n").replace(" and ", "\nand ") for each in records]
        )
        panel.tick_params(axis="x", labelsize=7)
        panel.set_title(dataset)
        panel.set_ylabel(protocol.what.split(",")[0] + (" in %" if protocol.percent else ""))
    save_both(figure, folder, name)
    return [*blocks, Figure(f"{', '.join(datasets)}: every run, and the mean of each network", f"{name}.svg")]


def _rival(name: str) -> str:
    """The GNN that a network is compared with: the one of the same recipes."""
    recipes = NETWORKS[name].recipes
    return next(each for each, network in NETWORKS.items() if network.parts == "graph" and network.recipes == recipes)


def _shown(value: float, protocol: Protocol) -> float:
    return 100 * value if protocol.percent else value


def _row(name: str, record: Record, base: Record | None, protocol: Protocol) -> list[str]:
    digits = 1 if protocol.percent else 4
    columns = []
    for part in ("val", "test"):
        values = [_shown(run[part], protocol) for run in record["runs"]]
        spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
        columns.append(f"{statistics.fmean(values):.{digits}f}{spread}")
    against = ""
    if base is not None and base is not record:
        mine, theirs = ([_shown(run["test"], protocol) for run in each["runs"]] for each in (record, base))
        if len(mine) == len(theirs):
            gap = statistics.fmean(mine) - statistics.fmean(theirs)
            p = p_value(mine, theirs)
            against = f"{gap:+.{digits}f}" + ("" if p is None else f" (p {'< 1e-4' if p < 1e-4 else f'= {p:.2g}'})")
    return [name, f"{record['parameters']:,}", *columns, against]


def _experiment(name: str, what: str, datasets: Sequence[str]) -> Experiment:
    return Experiment(name, what, partial(measure, name, datasets), partial(draw, name), large=True, divides=True)


EXPERIMENTS = (
    _experiment("molecules-zinc", "ZINC-12k: GNN, tree alone, and both, with at most 500,000 parameters", ["zinc"]),
    _experiment(
        "molecules-small",
        "small sets of molecules: GNN, tree alone, and both",
        SMALL_SETS,
    ),
    _experiment("molecules-hiv", "ogbg-molhiv's split: GNN, tree alone, and both", ["hiv"]),
    _experiment("long-range", "Peptides-func: what sweeps add, with at most 500,000 parameters", ["peptides-func"]),
)
