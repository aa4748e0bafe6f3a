"""Accuracy against the share of training nodes: scene graphs, neural tree + GCN and GCN."""

from __future__ import annotations

from pathlib import Path

from neuraltrees.experiments.cells import Cell, accuracies
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.experiments.table1 import NETWORKS
from neuraltrees.plots.style import LOOKS, line, panels, save_both
from neuraltrees.tuning.store import Results

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


def cells(scale: Scale) -> list[Cell]:
    """Validation and test nodes of a run do not depend on the share; training sets are nested."""
    common = scale.choose((10, 2), (1000, 15))
    small = {"hidden": 32} if scale.quick else {}
    fixed = {"dataset": "stanford3dsg", "conv": "gcn"} | common | small
    return [
        Cell.of({"network": name, "share": share}, model=model, edges=edges, train_share=share, **fixed)
        for share in (SHARES[::3] if scale.quick else SHARES)
        for name, (model, edges) in NETWORKS.items()
    ]


def draw(results: Results, folder: Path) -> list[Block]:
    shares = sorted({record["name"]["share"] for record in results.records})
    tests = {name: [accuracies(results, network=name, share=share) for share in shares] for name in NETWORKS}
    figure, (axes,) = panels(1, width=5.5)
    for name, values in tests.items():
        line(axes, [100 * share for share in shares], values, name, LOOKS[name])
    axes.set_xlabel("training nodes in % of all nodes")
    axes.set_ylabel("test accuracy in %")
    axes.legend()
    save_both(figure, folder, "training-data")
    rows = []
    for number, share in enumerate(shares):
        row = [mean_std(tests[name][number]) for name in NETWORKS]
        rows.append([f"{100 * share:.0f} %", *row, paired(tests["neural tree"][number], tests["GNN"][number])])
    rises = {name: percent(values[-1]) - percent(values[0]) for name, values in tests.items()}
    text = ", ".join(f"{name} {rise:+.1f}" for name, rise in rises.items())
    return [
        Table(["training share", *NETWORKS, "tree − GNN"], rows),
        f"Rise from the smallest to the largest share, in points: {text}.",
        Figure(WHAT, "training-data.svg"),
    ]


WHAT = "scene graphs: accuracy against the share of training nodes, GCN"
EXPERIMENT = Experiment.of_cells("training-data", WHAT, cells, draw)
