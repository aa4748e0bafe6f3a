"""The two-stage grid of the paper: rounds, hidden size and learning rate, then dropout and L2 regularisation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from neuraltrees.experiments.cells import Cell, Name, Tell, run_cells
from neuraltrees.experiments.experiment import Experiment, Results, Scale
from neuraltrees.files import write_whole
from neuraltrees.plots.style import FORMATS
from neuraltrees.plots.tuning import tune_figure
from neuraltrees.training.spec import ModelName
from neuraltrees.tuning.trials import PAPER_GRID, Grid, Point, TrialDone, Tuned, select

SMALL_GRID = Grid((2, 4), (16, 32), (0.005, 0.01), (0.25, 0.5), (0.0, 1e-3))
PRINTED = {"gnn": Point(3, 64, 0.01, 0.25, 0.0), "neural-tree": Point(4, 128, 0.01, 0.25, 0.0)}  # GCN, in the paper


def measure(scale: Scale, path: Path, tell: Tell) -> Results:
    """GCN on the graph and on its H-tree; the second stage follows from the first."""
    common = {"dataset": "stanford3dsg", "conv": "gcn"} | scale.choose((3, 1), (1000, 6))
    grid = SMALL_GRID if scale.quick else PAPER_GRID
    results: Results = {}
    for model in get_args(ModelName):
        for stage in (1, 2):
            points = grid.first() if stage == 1 else grid.second(_best(results, model, 1).point)
            cells = [_cell(model, stage, point, common) for point in points.points()]
            results = run_cells("hyperparameters", cells, path, scale.device, tell)
    results |= {"grid": grid.values()}
    write_whole(path, json.dumps(results, indent=1).encode())
    return results


def show(results: Results, folder: Path) -> list[str]:
    grid = Grid(**results["grid"])
    lines = [
        "| network | chosen: rounds, hidden, learning rate, dropout, L2 | in the paper | validation | test |",
        "| --- | --- | --- | --- | --- |",
    ]
    for model, printed in PRINTED.items():
        first, best = (_best(results, model, stage) for stage in (1, 2))
        cell = _cell(model, 2, best.point, {"dataset": "stanford3dsg", "conv": "gcn"}).config
        trials = tuple(_trials(results, model, 1) + _trials(results, model, 2))
        tuned = Tuned(cell.network, cell.training, grid, trials, first, best)
        for form in FORMATS:
            tune_figure(tuned, folder / f"hyperparameters-{model}.{form}")
        row = [f"{best.point}", f"{printed}", f"{100 * best.val_mean:.1f}", f"{100 * best.test_mean:.1f}"]
        lines.append(f"| {model} + GCN | {' | '.join(row)} |")
    pictures = " ".join(f"![{model}](hyperparameters-{model}.svg)" for model in PRINTED)
    return [*lines, "", pictures]


def _cell(model: str, stage: int, point: Point, common: dict[str, Any]) -> Cell:
    values: dict[str, float] = {
        "layers": point.layers,
        "hidden": point.hidden,
        "lr": point.lr,
        "dropout": point.dropout,
        "weight_decay": point.weight_decay,
    }
    name: Name = {"model": model, "stage": stage, **values}
    return Cell.of(name, model=model, **(common | values))


def _trials(results: Results, model: str, stage: int) -> list[TrialDone]:
    trials = []
    for cell in results["cells"]:
        name = dict(cell["name"])
        if (name.pop("model"), name.pop("stage")) == (model, stage):
            val, test = (tuple(run[kind] for run in cell["runs"]) for kind in ("val", "test"))
            trials.append(TrialDone(stage, Point(**name), val, test, cell["seconds"]))
    return trials


def _best(results: Results, model: str, stage: int) -> TrialDone:
    """By validation accuracy; of equals the smaller network wins."""
    return select(_trials(results, model, stage), lambda point: point.layers * point.hidden**2)


EXPERIMENT = Experiment(
    "hyperparameters", "scene graphs: the paper's two-stage grid, GCN on graph and tree", measure, show
)
