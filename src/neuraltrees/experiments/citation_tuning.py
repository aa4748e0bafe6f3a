"""Learning rate, L2 regularisation and dropout for the citation networks, by validation accuracy alone.

Layers, sizes and heads are those of the papers of GCN and GAT. GNN and neural tree get the same grid, once with few and
once with many training nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TypeAlias

from neuraltrees.experiments.cells import DEFAULTS, Cell, Tell, search_cells
from neuraltrees.experiments.experiment import Scale
from neuraltrees.tuning.grid import Grid, Point
from neuraltrees.tuning.store import open_store

GRIDS = {
    "gcn": Grid(lr=(0.01, 0.05), weight_decay=(5e-5, 5e-4), dropout=(0.2, 0.5)),
    "gat": Grid(lr=(0.005, 0.02), weight_decay=(5e-4,), dropout=(0.3, 0.6)),
}
REGIMES: dict[str, int | None] = {"few": 20, "many": None}  # training nodes per class where each is tuned
FEW = 500  # fewer training nodes per class than that are few
BUDGET = {"epochs": 1000, "patience": 100}
FIRST_SEED = 100  # the runs that are reported have others, and so other splits

Best: TypeAlias = Mapping[tuple[str, str, str, str], Point]


def regime(nodes: int | None) -> str:
    """Which of the tuned settings serves so many training nodes per class.

    >>> regime(100), regime(None)
    ('few', 'many')
    """
    return "few" if nodes is not None and nodes < FEW else "many"


def tune(wanted: Sequence[tuple[str, str]], path: Path, scale: Scale, tell: Tell) -> Best:
    """The best point of the grid for every dataset, convolution, network and regime; trees of treewidth 4."""
    best = {}
    fixed = {"seed": FIRST_SEED, "runs": 3, "data_root": scale.data_root, **BUDGET}
    with open_store(path, "citation-tuning", defaults=DEFAULTS) as store:
        for (dataset, conv), model, where in product(wanted, ("gnn", "neural-tree"), REGIMES):
            names = {"dataset": dataset, "conv": conv, "model": model}
            cell = Cell.of({**names, "regime": where}, **names, train_per_class=REGIMES[where], **fixed)
            tuned = search_cells(cell, GRIDS[conv], (), store, scale.device, scale.workers, tell)
            best[dataset, conv, model, where] = tuned.best.point
    return best
