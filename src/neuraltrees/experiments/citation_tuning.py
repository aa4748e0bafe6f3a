"""Learning rate, L2 regularisation and dropout for the citation networks, by validation accuracy alone.

Layers, sizes and heads are those of the papers of GCN and GAT. GNN and neural tree get the same grid, once with few and
once with many training nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from neuraltrees.experiments.cells import Cell, Name, Tell, run_cells
from neuraltrees.experiments.experiment import Results, Scale

GRIDS = {  # learning rates, L2 regularisations, dropouts
    "gcn": ((0.01, 0.05), (5e-5, 5e-4), (0.2, 0.5)),
    "gat": ((0.005, 0.02), (5e-4,), (0.3, 0.6)),
}
REGIMES: dict[str, int | None] = {"few": 20, "many": None}  # training nodes a class where each is tuned
FEW = 500  # fewer training nodes a class than that are few
BUDGET = {"epochs": 1000, "patience": 100}
FIRST_SEED = 100  # the runs that are reported have others, and so other splits

Tuned: TypeAlias = dict[tuple[str, str, str, str], dict[str, Any]]


def regime(nodes: int | None) -> str:
    """Which of the tuned settings serves so many training nodes a class.

    >>> regime(100), regime(None)
    ('few', 'many')
    """
    return "few" if nodes is not None and nodes < FEW else "many"


def tune(wanted: Sequence[tuple[str, str]], path: Path, scale: Scale, tell: Tell) -> Tuned:
    """The best point of the grid for every dataset, convolution, network and regime, kept in the file."""
    cells = [cell for dataset, conv in wanted for cell in tuning_cells(dataset, conv, scale)]
    return best_points(run_cells("citation-tuning", cells, path, scale.device, tell))


def tuning_cells(dataset: str, conv: str, scale: Scale) -> list[Cell]:
    """Three runs of every point; trees of treewidth 4."""
    cells = []
    for model, (where, size) in product(("gnn", "neural-tree"), REGIMES.items()):
        for lr, weight_decay, dropout in product(*GRIDS[conv]):
            values = {"lr": lr, "weight_decay": weight_decay, "dropout": dropout}
            name: Name = {"dataset": dataset, "conv": conv, "model": model, "regime": where, **values}
            fixed = {"train_per_class": size, "seed": FIRST_SEED, "runs": 3, "data_root": scale.data_root, **BUDGET}
            cells.append(Cell.of(name, dataset=dataset, conv=conv, model=model, **values, **fixed))
    return cells


def best_points(results: Results) -> Tuned:
    """By the mean validation accuracy; of equals the first."""
    best: dict[tuple[str, str, str, str], tuple[float, dict[str, Any]]] = {}
    for cell in results["cells"]:
        name = dict(cell["name"])
        key = tuple(name.pop(part) for part in ("dataset", "conv", "model", "regime"))
        val = sum(run["val"] for run in cell["runs"]) / len(cell["runs"])
        if key not in best or val > best[key][0]:
            best[key] = (val, name)
    return {key: values for key, (_, values) in best.items()}
