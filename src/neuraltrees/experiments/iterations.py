"""Accuracy against the number of rounds T, and the diameters of the H-trees."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from neuraltrees.datasets import StanfordSceneGraphs
from neuraltrees.experiments.cells import Cell, Log, accuracies, best_by_validation, run_cells, trained
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.statistics import mean_std
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.plots.style import LOOKS, line, panels, save_both
from neuraltrees.tuning.store import Results, open_store

NETWORKS = {"neural tree": "neural-tree", "GNN": "gnn"}


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Runs the trainings and computes the diameters of all H-trees."""
    common = scale.choose((10, 2), (1000, 15))
    small = {"hidden": 32} if scale.quick else {}
    fixed = {"dataset": "stanford3dsg", "conv": "gcn"} | common | small
    cells = [
        Cell.of({"network": name, "rounds": rounds}, model=model, layers=rounds, **fixed)
        for rounds in range(1, 7)
        for name, model in NETWORKS.items()
    ]
    run_cells("iterations", cells, path, scale.device, log, scale.execution)
    scenes = StanfordSceneGraphs(scale.data_root)
    diameters = [build_htree(Graph.from_data(scene)).diameter() for scene in scenes]
    with open_store(path, "iterations") as store:
        store.add({"data": "scene graphs"}, {"diameters": diameters, "nodes": [int(s.num_nodes) for s in scenes]})
    return store.results


def rounds_of(results: Results) -> list[int]:
    """The numbers of rounds that were trained."""
    return sorted({record["name"]["rounds"] for record in trained(results)})


def best_rounds(results: Results) -> int:
    """The number of rounds of the neural tree with the best validation accuracy."""
    return best_by_validation({t: results.one(network="neural tree", rounds=t) for t in rounds_of(results)})


def draw(results: Results, folder: Path) -> list[Block]:
    rounds = rounds_of(results)
    tests = {name: [accuracies(results, network=name, rounds=t) for t in rounds] for name in NETWORKS}
    trees = results.one(data="scene graphs")
    # Every node is classified on the H-tree of its scene, so a tree is weighted by its number of graph nodes.
    counts: Counter[int] = Counter()
    for diameter, nodes in zip(trees["diameters"], trees["nodes"], strict=True):
        counts[diameter] += nodes
    total = sum(counts.values())
    mean = sum(diameter * count for diameter, count in counts.items()) / total
    figure, (left, right) = panels(2, width=4.6)
    for name, values in tests.items():
        line(left, rounds, values, name, LOOKS[name])
    left.axvline(mean, color="0.5", linestyle=":", label=f"mean diameter by nodes {mean:.1f}")
    left.set_xlabel("rounds T")
    left.set_ylabel("test accuracy in %")
    figure.legend(loc="outside upper left", ncols=3, fontsize=9)
    right.bar(list(counts), [100 * count / total for count in counts.values()], color="0.55")
    right.set_xlabel("diameter of the H-tree")
    right.set_ylabel("share of all graph nodes in %")
    save_both(figure, folder, "iterations")
    rows = [[str(t), *(mean_std(tests[name][i]) for name in NETWORKS)] for i, t in enumerate(rounds)]
    plain = sum(trees["diameters"]) / len(trees["diameters"])
    return [
        Table(["rounds", *NETWORKS], rows),
        f"By validation the neural tree is best at T = {best_rounds(results)}. "
        f"Mean diameter of the H-trees: {plain:.2f}, by nodes {mean:.2f}.",
        Figure(WHAT, "iterations.svg"),
    ]


WHAT = "scene graphs: accuracy against the number of rounds, and the H-trees' diameters"
EXPERIMENT = Experiment("iterations", WHAT, measure, draw)
