"""Times: training and testing an epoch of every network, and preparing H-trees against the treewidth bound."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch
from matplotlib.ticker import LogLocator, NullFormatter

from neuraltrees.data.task import Task
from neuraltrees.datasets import CitationNetwork, StanfordSceneGraphs, random_node_split
from neuraltrees.decomposition import sample_bounded_treewidth
from neuraltrees.experiments.cells import Tell, load_results, machine
from neuraltrees.experiments.experiment import Experiment, Results, Scale
from neuraltrees.experiments.table1 import CONVS
from neuraltrees.files import write_whole
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.plots.style import MORE, panels, save
from neuraltrees.training.config import TrainConfig, preset
from neuraltrees.training.runs import Run
from neuraltrees.training.spec import ConvName, ModelName
from neuraltrees.training.trainer import Trainer

PRINTED = {  # seconds an epoch on a Quadro P4000: training GNN, training tree, testing GNN, testing tree
    "gcn": (0.072, 0.305, 0.048, 0.058),
    "sage": (0.068, 0.311, 0.042, 0.060),
    "gat": (0.089, 0.872, 0.049, 0.107),
    "gin": (0.079, 0.348, 0.043, 0.059),
}


def measure_training(scale: Scale, path: Path, tell: Tell) -> Results:
    """One run of each network with the paper's hyper-parameters: the best of several epochs, and of several tests.

    The file keeps the times of every device that was measured, the newest for each.
    """
    before = load_results(path, "train-time").get("points", [])
    scenes = StanfordSceneGraphs(scale.data_root)
    task = Task(list(scenes), scenes.labels).with_trees()
    run = Run(0, random_node_split(task.num_nodes))
    epochs = 3 if scale.quick else 12
    rows = []
    for conv in get_args(ConvName):
        for model in get_args(ModelName):
            config = TrainConfig(dataset="stanford3dsg", model=model, conv=conv, **preset("stanford3dsg", model, conv))
            trainer = Trainer(task, config.network, config.training, [run], scale.device)
            # On a GPU every batch is run, then captured; from then on it is replayed.
            first = 1 if scale.device == "cpu" else 2 * config.training.divisions
            numbers = iter(range(first + epochs))
            for _ in range(first):
                trainer.run_epoch(next(numbers))
                trainer.evaluate()
            whole = min(_seconds(partial(trainer.run_epoch, next(numbers)), scale.device) for _ in range(epochs))
            test = min(_seconds(trainer.evaluate, scale.device) for _ in range(epochs))
            rows.append({"conv": conv, "model": model, "train": whole - test, "test": test})
            tell(f"{conv}, {model}: {1000 * (whole - test):.1f} ms to train an epoch, {1000 * test:.1f} ms to test")
    measured = {"rows": rows, **machine(scale.device)}
    others = [point for point in before if point["device"] != measured["device"]]
    results: Results = {"experiment": "train-time", "points": [*others, measured]}
    write_whole(path, json.dumps(results, indent=1).encode())
    return results


def show_training(results: Results, folder: Path) -> list[str]:
    points = results["points"]
    figure, axes = panels(len(points), width=4.6)
    lines = []
    for each, point in zip(axes, points, strict=True):
        times = {(row["conv"], row["model"]): row for row in point["rows"]}
        lines += [
            f"On {point['device']}, one run, the paper's hyper-parameters:",
            "",
            "| convolution | train, GNN | train, tree | ratio (paper) | test, GNN | test, tree | ratio (paper) |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(_row(title, times[conv, "gnn"], times[conv, "neural-tree"], conv) for conv, title in CONVS.items()),
            "",
        ]
        for place, (model, name) in enumerate((("gnn", "GNN"), ("neural-tree", "neural tree"))):
            heights = [1000 * times[conv, model]["train"] for conv in CONVS]
            where = [number + 0.4 * place - 0.2 for number in range(len(CONVS))]
            each.bar(where, heights, 0.38, label=name, color=("#0072b2", "#d55e00")[place], hatch=("", "//")[place])
        each.set_xticks(range(len(CONVS)), list(CONVS.values()))
        each.set_ylabel("ms to train an epoch")
        each.set_title(point["device"], fontsize=10)
    axes[0].legend(frameon=False)
    save(figure, folder, "train-time")
    return lines[:-1]


def _row(title: str, gnn: dict[str, float], tree: dict[str, float], conv: str) -> str:
    """A line of the table: times of both networks, and their ratio beside the paper's."""
    printed = PRINTED[conv]
    row = []
    for kind, (slow, quick) in (("train", (printed[1], printed[0])), ("test", (printed[3], printed[2]))):
        row += [f"{1000 * each[kind]:.1f} ms" for each in (gnn, tree)]
        row.append(f"{tree[kind] / gnn[kind]:.1f} × ({slow / quick:.1f} ×)")
    return f"| {title} | {' | '.join(row)} |"


def measure_preparing(scale: Scale, path: Path, tell: Tell) -> Results:
    """Sampling and building against k, the best of several times; the scene graphs in one call."""
    repeats, ks = (2, (1, 4, 8)) if scale.quick else (5, tuple(range(1, 11)))
    rows: list[dict[str, Any]] = []
    for name in CitationNetwork.names:
        graph = Graph.from_data(CitationNetwork(name, scale.data_root)[0])
        for k in ks:
            sample = sample_bounded_treewidth(graph, k)
            works: dict[str, Callable[[], object]] = {
                "sampling": partial(sample_bounded_treewidth, graph, k),
                "building": partial(build_htree, sample.subgraph, sample.decomposition),
            }
            best = {kind: min(_seconds(work) for _ in range(repeats)) for kind, work in works.items()}
            rows.append({"dataset": name, "k": k, **best})
        in_words = ", ".join(f"{kind} {1000 * seconds:.1f} ms" for kind, seconds in best.items())
        tell(f"{name}, k = {k}: {in_words}")
    scenes = Graph.union([Graph.from_data(scene) for scene in StanfordSceneGraphs(scale.data_root)])
    seconds = min(_seconds(partial(build_htree, scenes)) for _ in range(repeats))
    results: Results = {"experiment": "compute-time", "rows": rows, "scene graphs": seconds, **machine("cpu")}
    write_whole(path, json.dumps(results, indent=1).encode())
    return results


def show_preparing(results: Results, folder: Path) -> list[str]:
    figure, axes = panels(2)
    names = list(dict.fromkeys(row["dataset"] for row in results["rows"]))
    lines = ["| data | k | sampling | building |", "| --- | --- | --- | --- |"]
    for name, (colour, marker, style) in zip(names, MORE, strict=False):
        rows = [row for row in results["rows"] if row["dataset"] == name]
        for each, kind in zip(axes, ("sampling", "building"), strict=True):
            times = [1000 * row[kind] for row in rows]
            each.plot([row["k"] for row in rows], times, style, color=colour, marker=marker, label=name)
            each.set_xlabel("treewidth bound k")
            each.set_ylabel(f"ms for {kind}")
            each.set_yscale("log")
            each.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            each.yaxis.set_major_formatter("{x:g}")
            each.yaxis.set_minor_formatter(NullFormatter())
        lines += [
            f"| {name} | {row['k']} | {1000 * row['sampling']:.2f} ms | {1000 * row['building']:.2f} ms |"
            for row in (rows[0], rows[-1])
        ]
    axes[0].legend(frameon=False)
    save(figure, folder, "compute-time")
    seconds = results["scene graphs"]
    last = f"H-trees of all 482 scene graphs: {1000 * seconds:.2f} ms (2.08 s in the paper), on {results['device']}."
    return [*lines, "", last]


def _seconds(work: Callable[[], object], device: str = "cpu") -> float:
    start = time.perf_counter()
    work()
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


TRAINING = Experiment(
    "train-time", "training and testing time an epoch, graph and tree", measure_training, show_training
)
PREPARING = Experiment(
    "compute-time", "time to sample and to build H-trees against the treewidth bound", measure_preparing, show_preparing
)
