"""Accuracy against the number of rounds T, beside the diameters of the H-trees."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from neuraltrees.datasets import StanfordSceneGraphs
from neuraltrees.experiments.cells import Cell, Tell, accuracies, run_cells
from neuraltrees.experiments.experiment import Experiment, Results, Scale
from neuraltrees.experiments.statistics import mean_std, percent
from neuraltrees.files import write_whole
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.plots.style import LOOKS, line, panels, save

NETWORKS = {"neural tree": "neural-tree", "GNN": "gnn"}


def measure(scale: Scale, path: Path, tell: Tell) -> Results:
    """The trainings, and the diameters of all trees."""
    common = scale.choose((10, 2), (1000, 15))
    small = {"hidden": 32} if scale.quick else {}
    fixed = {"dataset": "stanford3dsg", "conv": "gcn"} | common | small
    cells = [
        Cell.of({"network": name, "rounds": rounds}, model=model, layers=rounds, **fixed)
        for rounds in range(1, 7)
        for name, model in NETWORKS.items()
    ]
    results = run_cells("iterations", cells, path, scale.device, tell)
    scenes = StanfordSceneGraphs(scale.data_root)
    diameters = [build_htree(Graph.from_data(scene)).diameter() for scene in scenes]
    # Every node of a scene is classified on the tree of that scene, so a tree counts as often as it has graph nodes.
    weights = [int(scene.num_nodes) for scene in scenes]
    results |= {"diameters": diameters, "nodes": weights}
    write_whole(path, json.dumps(results, indent=1).encode())
    return results


def show(results: Results, folder: Path) -> list[str]:
    rounds = sorted({cell["name"]["rounds"] for cell in results["cells"]})
    tests = {name: [accuracies(results, network=name, rounds=t) for t in rounds] for name in NETWORKS}
    counts: Counter[int] = Counter()
    for diameter, nodes in zip(results["diameters"], results["nodes"], strict=True):
        counts[diameter] += nodes
    total = sum(counts.values())
    mean = sum(diameter * count for diameter, count in counts.items()) / total
    figure, (left, right) = panels(2, width=4.6)
    for name, values in tests.items():
        line(left, rounds, values, name, LOOKS[name])
    left.axvline(mean, color="0.5", linestyle=":", label=f"mean diameter by nodes {mean:.1f}")
    left.set_xlabel("rounds T")
    left.set_ylabel("test accuracy in %")
    figure.legend(frameon=False, loc="outside upper left", ncols=3, fontsize=9)
    right.bar(list(counts), [100 * count / total for count in counts.values()], color="0.55")
    right.set_xlabel("diameter of the H-tree")
    right.set_ylabel("share of all graph nodes in %")
    save(figure, folder, "iterations")
    lines = [f"| rounds | {' | '.join(NETWORKS)} |", "| --- | --- | --- |"]
    lines += [f"| {t} | {' | '.join(mean_std(tests[name][i]) for name in NETWORKS)} |" for i, t in enumerate(rounds)]
    best = max(rounds, key=lambda t: percent(accuracies(results, "val", network="neural tree", rounds=t)))
    plain = sum(results["diameters"]) / len(results["diameters"])
    lines += [
        "",
        f"By validation the neural tree is best at T = {best}. "
        f"Mean diameter of the H-trees: {plain:.2f}, by nodes {mean:.2f}.",
    ]
    return lines


EXPERIMENT = Experiment(
    "iterations",
    "scene graphs: accuracy against the number of rounds, and the H-trees' diameters",
    measure,
    show,
)
