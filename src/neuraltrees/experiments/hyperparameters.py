"""The two-stage grid search of the paper: rounds, hidden size and learning rate, then dropout and weight decay."""

from __future__ import annotations

from pathlib import Path

from neuraltrees.experiments.cells import DEFAULTS, Cell, Log, search_cells
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.plots.tuning import tune_figure
from neuraltrees.training.network_spec import PAPER_MODELS
from neuraltrees.tuning.grid import PAPER_GRID, PAPER_STAGES, Grid, Point
from neuraltrees.tuning.search import finished_search
from neuraltrees.tuning.store import Results, open_store

SMALL_GRID = Grid(layers=(2, 4), hidden=(16, 32), lr=(0.005, 0.01), dropout=(0.25, 0.5), weight_decay=(0.0, 1e-3))
PRINTED = {  # the paper's choice for GCN
    "gnn": Point(layers=3, hidden=64, lr=0.01, dropout=0.25, weight_decay=0.0),
    "neural-tree": Point(layers=4, hidden=128, lr=0.01, dropout=0.25, weight_decay=0.0),
}


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Tunes GCN on the graph and on its H-tree."""
    common = {"dataset": "stanford3dsg", "conv": "gcn"} | scale.choose((3, 1), (1000, 6))
    grid = SMALL_GRID if scale.quick else PAPER_GRID
    with open_store(path, "hyperparameters", {"grid": dict(grid)}, DEFAULTS) as store:
        for model in PAPER_MODELS:
            cell = Cell.of({"model": model}, model=model, **common)
            search_cells(cell, grid, PAPER_STAGES, store, scale.device, scale.execution, log)
    return store.results


def draw(results: Results, folder: Path) -> list[Block]:
    grid = Grid(**results.subject["grid"])
    rows, figures = [], list[Block]()
    for model, printed in PRINTED.items():
        tuned = finished_search(results, grid, PAPER_STAGES, name={"model": model})
        best = tuned.best
        for ending in ("svg", "png"):
            tune_figure(tuned, folder / f"hyperparameters-{model}.{ending}")
        accuracies = f"{100 * best.val_mean:.1f}", f"{100 * best.test_mean:.1f}"
        rows.append([f"{model} + GCN", str(best.point), str(printed), *accuracies])
        figures.append(Figure(model, f"hyperparameters-{model}.svg"))
    header = ["network", "chosen: rounds, hidden, learning rate, dropout, L2", "in the paper", "validation", "test"]
    return [Table(header, rows), *figures]


EXPERIMENT = Experiment(
    "hyperparameters", "scene graphs: the paper's two-stage grid, GCN on graph and tree", measure, draw
)
