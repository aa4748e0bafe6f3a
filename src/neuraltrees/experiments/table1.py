"""Table 1: test accuracy on the scene graphs, four convolutions, on the graph and on its H-tree."""

from __future__ import annotations

from pathlib import Path
from statistics import stdev
from typing import get_args

from neuraltrees.experiments.cells import Cell, accuracies
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.statistics import mean_std, paired, percent
from neuraltrees.plots.style import LOOKS, panels, save_both
from neuraltrees.training.network_spec import ConvName
from neuraltrees.tuning.store import Results

CONVS = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "gin": "GIN"}
# The H-tree of a graph has no directions, so the direction of the stored edges only matters to the GNN.
NETWORKS = {
    "neural tree": ("neural-tree", "symmetric"),
    "GNN, stored edges": ("gnn", "stored"),
    "GNN": ("gnn", "symmetric"),
}
PRINTED = {  # the paper's accuracies: on the graph, on the H-tree
    "gcn": (40.88, 50.63),
    "sage": (59.54, 63.57),
    "gat": (46.56, 62.16),
    "gin": (49.25, 63.53),
}


def cells(scale: Scale) -> list[Cell]:
    """The paper's hyper-parameters, random 70/10/20 % node splits, the same for every cell."""
    common = scale.choose((100, 2), (1000, 12))
    small = {"hidden": 32, "heads": 2} if scale.quick else {}
    return [
        Cell.of(
            {"conv": conv, "network": name},
            dataset="stanford3dsg",
            model=model,
            conv=conv,
            edges=edges,
            tf32=True,
            **common,
            **small,
        )
        for conv in get_args(ConvName)
        for name, (model, edges) in NETWORKS.items()
    ]


def draw(results: Results, folder: Path) -> list[Block]:
    tests = {(conv, name): accuracies(results, conv=conv, network=name) for conv in CONVS for name in NETWORKS}
    rows = []
    for conv, title in CONVS.items():
        tree, stored, both = (tests[conv, name] for name in NETWORKS)
        graph_printed, tree_printed = PRINTED[conv]
        rows.append(
            [
                title,
                f"{graph_printed:.1f} / {tree_printed:.1f}",
                *map(mean_std, (stored, both, tree)),
                f"{percent(stored) - graph_printed:+.1f} / {percent(tree) - tree_printed:+.1f}",
                paired(tree, stored),
                paired(tree, both),
            ]
        )
    _draw_bars(tests, folder)
    header = ["convolution", "paper: graph / tree", "GNN, stored edges", "GNN, symmetric edges", "neural tree"]
    header += ["ours − paper: graph (stored) / tree", "tree − stored", "tree − symmetric"]
    return [Table(header, rows), Figure(WHAT, "table1.svg")]


def _draw_bars(tests: dict[tuple[str, str], list[float]], folder: Path) -> None:
    figure, (axes,) = panels(1, width=7)
    for place, name in enumerate(NETWORKS):
        look = LOOKS[name]
        where = [number + 0.27 * (place - 1) for number in range(len(CONVS))]
        means = [percent(tests[conv, name]) for conv in CONVS]
        label = "GNN, symmetric edges" if name == "GNN" else name
        axes.bar(where, means, 0.25, color=look.color, hatch=look.hatch, edgecolor="white", label=label)
        spreads = [100 * stdev(tests[conv, name]) if len(tests[conv, name]) > 1 else 0.0 for conv in CONVS]
        axes.errorbar(where, means, spreads, fmt="none", ecolor="0.25", capsize=2, linewidth=1)
    for number, conv in enumerate(CONVS):
        for offset, printed in zip((0.0, -0.27), PRINTED[conv], strict=True):
            axes.plot([number + offset - 0.12, number + offset + 0.12], [printed] * 2, color="black", linewidth=1.5)
    axes.plot([], [], color="black", linewidth=1.5, label="printed in the paper")
    axes.set_xticks(range(len(CONVS)), list(CONVS.values()))
    axes.set_ylabel("test accuracy in %")
    axes.grid(visible=False, axis="x")
    axes.legend(fontsize=8, ncols=2, loc="upper left")
    axes.set_ylim(0, 80)
    save_both(figure, folder, "table1")


WHAT = "scene graphs: test accuracy of four convolutions on graph and tree"
EXPERIMENT = Experiment.of_cells("table1", WHAT, cells, draw)
