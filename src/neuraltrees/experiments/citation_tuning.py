"""Learning rate, weight decay and dropout for the citation networks, tuned by validation accuracy only.

Layers, sizes and heads are those of the GCN and GAT papers. Trees are those of the paper's sampler, and bags start at
zero. GNN and neural tree
are tuned over the same grid, once with few and once with many training nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TypeAlias

from neuraltrees.experiments.cells import DEFAULTS, Cell, Log, search_cells
from neuraltrees.experiments.experiment import Scale
from neuraltrees.tuning.grid import Grid, Point
from neuraltrees.tuning.store import open_store

GRIDS = {
    "gcn": Grid(lr=(0.01, 0.05), weight_decay=(5e-5, 5e-4), dropout=(0.2, 0.5)),
    "gat": Grid(lr=(0.005, 0.02), weight_decay=(5e-4,), dropout=(0.3, 0.6)),
}
REGIMES: dict[str, int | None] = {"few": 20, "many": None}  # training nodes per class in the tuning of each regime
FEW = 500  # training nodes per class below which the regime is "few"
BUDGET = {"epochs": 1000, "patience": 100}
FIRST_SEED = 100  # differs from the seeds, and so the splits, of the reported runs

Best: TypeAlias = Mapping[tuple[str, str, str, str], Point]


def regime(nodes: int | None) -> str:
    """The regime, few or many, of a number of training nodes per class.

    >>> regime(100), regime(None)
    ('few', 'many')
    """
    return "few" if nodes is not None and nodes < FEW else "many"


def tune(wanted: Sequence[tuple[str, str]], path: Path, scale: Scale, log: Log) -> Best:
    """The best grid point for every dataset, convolution, network and regime; neural trees have treewidth bound 4."""
    best = {}
    paper = {"sampler": "paper", "bag_start": "zero"}
    fixed = {"seed": FIRST_SEED, "runs": 3, "data_root": scale.data_root, **paper, **BUDGET}
    with open_store(path, "citation-tuning", defaults=DEFAULTS) as store:
        for (dataset, conv), model, where in product(wanted, ("gnn", "neural-tree"), REGIMES):
            names = {"dataset": dataset, "conv": conv, "model": model}
            cell = Cell.of({**names, "regime": where}, **names, train_per_class=REGIMES[where], **fixed)
            tuned = search_cells(cell, GRIDS[conv], (), store, scale.device, scale.execution, log)
            best[dataset, conv, model, where] = tuned.best.point
    return best
