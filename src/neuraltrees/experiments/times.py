"""Times: training and testing per epoch of every network, and preparing H-trees against the treewidth bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, get_args

import torch
from matplotlib.ticker import LogLocator

from neuraltrees.data.task import Task
from neuraltrees.datasets import CitationNetwork, StanfordSceneGraphs, random_node_split
from neuraltrees.decomposition import sample_bounded_treewidth
from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.experiments.table1 import CONVS
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.plots.style import LOOKS, MORE, panels, plain_numbers, save_both
from neuraltrees.training.config import TrainConfig, preset
from neuraltrees.training.network_spec import PAPER_MODELS, ConvName
from neuraltrees.training.runs import Run
from neuraltrees.training.trainer import Trainer
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Record, Results, open_store

NAMES = {"gnn": "GNN", "neural-tree": "neural tree"}
SCENES = "scene graphs"
PRINTED = {  # seconds per epoch on a Quadro P4000: training GNN, training tree, testing GNN, testing tree
    "gcn": (0.072, 0.305, 0.048, 0.058),
    "sage": (0.068, 0.311, 0.042, 0.060),
    "gat": (0.089, 0.872, 0.049, 0.107),
    "gin": (0.079, 0.348, 0.043, 0.059),
}


def measure_training(scale: Scale, path: Path, log: Log) -> Results:
    """Times one run of each network with the paper's hyper-parameters, the best of several epochs and evaluations.

    The file keeps the latest times of every device.
    """
    scenes = StanfordSceneGraphs(scale.data_root)
    task = Task(list(scenes), scenes.labels).with_trees()
    run = Run(0, random_node_split(task.num_nodes))
    epochs = 3 if scale.quick else 12
    with open_store(path, "train-time") as store:
        for conv, model in product(get_args(ConvName), PAPER_MODELS):
            config = TrainConfig(dataset="stanford3dsg", model=model, conv=conv, **preset("stanford3dsg", model, conv))
            trainer = Trainer(task, config.network, config.training, [run], scale.device)
            # On a GPU every batch is run once, then captured as a CUDA graph; from then on it is replayed.
            first = 1 if scale.device == "cpu" else 2 * config.training.divisions
            numbers = iter(range(first + epochs))
            for _ in range(first):
                trainer.run_epoch(next(numbers))
                trainer.evaluate()
            whole = min(_seconds(partial(trainer.run_epoch, next(numbers)), scale.device) for _ in range(epochs))
            test = min(_seconds(trainer.evaluate, scale.device) for _ in range(epochs))
            values = {"train": whole - test, "test": test, **machine(scale.device, trainer.threads)}
            store.add({"device": values["device"], "conv": conv, "model": model}, values)
            log(f"{conv}, {model}: {1000 * (whole - test):.1f} ms per training epoch, {1000 * test:.1f} ms per test")
    return store.results


def devices(results: Results) -> list[str]:
    """The devices that the results were measured on."""
    return list(dict.fromkeys(record["device"] for record in results.records if "device" in record))


def draw_training(results: Results, folder: Path) -> list[Block]:
    listed = devices(results)
    figure, axes = panels(len(listed), width=4.6)
    blocks: list[Block] = []
    header = ["convolution", "train, GNN", "train, tree", "ratio (paper)", "test, GNN", "test, tree", "ratio (paper)"]
    for each, device in zip(axes, listed, strict=True):
        times = {(conv, m): results.one(device=device, conv=conv, model=m) for conv in CONVS for m in NAMES}
        rows = [_row(title, times[conv, "gnn"], times[conv, "neural-tree"], conv) for conv, title in CONVS.items()]
        blocks += [f"On {device}, one run, the paper's hyper-parameters:", Table(header, rows)]
        for place, (model, name) in enumerate(NAMES.items()):
            heights = [1000 * times[conv, model]["train"] for conv in CONVS]
            where = [number + 0.4 * place - 0.2 for number in range(len(CONVS))]
            look = LOOKS[name]
            each.bar(where, heights, 0.38, label=name, color=look.color, hatch=look.hatch, edgecolor="white")
        each.set_xticks(range(len(CONVS)), list(CONVS.values()))
        each.set_ylabel("ms per training epoch")
        each.set_title(device)
        each.grid(visible=False, axis="x")
    axes[0].legend()
    save_both(figure, folder, "train-time")
    return [*blocks, Figure(TRAINING.what, "train-time.svg")]


def _row(title: str, gnn: Record, tree: Record, conv: str) -> list[str]:
    """A row of the table: times of both networks, and their ratio beside the paper's."""
    printed = PRINTED[conv]
    row = [title]
    for kind, (slow, quick) in (("train", (printed[1], printed[0])), ("test", (printed[3], printed[2]))):
        row += [f"{1000 * each[kind]:.1f} ms" for each in (gnn, tree)]
        row.append(f"{tree[kind] / gnn[kind]:.1f} × ({slow / quick:.1f} ×)")
    return row


def measure_preparing(scale: Scale, path: Path, log: Log) -> Results:
    """Times of the paper's sampling and of building against k, the best of several.

    The scene graphs are built in one call.
    """
    repeats, ks = (2, (1, 4, 8)) if scale.quick else (5, tuple(range(1, 11)))
    with open_store(path, "compute-time") as store:
        for name in CitationNetwork.names:
            graph = Graph.from_data(CitationNetwork(name, scale.data_root)[0])
            for k in ks:
                sample = sample_bounded_treewidth(graph, k, sampler="paper")
                operations: dict[str, Callable[[], object]] = {
                    "sampling": partial(sample_bounded_treewidth, graph, k, sampler="paper"),
                    "building": partial(build_htree, sample.subgraph, sample.decomposition),
                }
                best = {kind: min(_seconds(each) for _ in range(repeats)) for kind, each in operations.items()}
                store.add({"data": name, "k": k}, best | machine("cpu"))
            in_ms = ", ".join(f"{kind} {1000 * seconds:.1f} ms" for kind, seconds in best.items())
            log(f"{name}, k = {k}: {in_ms}")
        scenes = Graph.union([Graph.from_data(scene) for scene in StanfordSceneGraphs(scale.data_root)])
        seconds = min(_seconds(partial(build_htree, scenes)) for _ in range(repeats))
        store.add({"data": SCENES}, {"building": seconds, **machine("cpu")})
    return store.results


def by_bound(results: Results) -> dict[str, list[Record]]:
    """The times of every citation network, by ascending bound k."""
    names = dict.fromkeys(record["name"]["data"] for record in results.records if "k" in record["name"])
    return {name: sorted(results.find(data=name), key=lambda record: int(record["name"]["k"])) for name in names}


def draw_preparing(results: Results, folder: Path) -> list[Block]:
    figure, axes = panels(2)
    rows = []
    for (name, records), look in zip(by_bound(results).items(), MORE, strict=False):
        style: dict[str, Any] = {"color": look.color, "marker": look.marker, "label": name}
        for each, kind in zip(axes, ("sampling", "building"), strict=True):
            times = [1000 * record[kind] for record in records]
            each.plot([record["name"]["k"] for record in records], times, look.dashes, **style)
            each.set_xlabel("treewidth bound k")
            each.set_ylabel(f"ms for {kind}")
            each.set_yscale("log")
            each.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            plain_numbers(each.yaxis)
        for record in (records[0], records[-1]):
            times = [f"{1000 * record[kind]:.2f} ms" for kind in ("sampling", "building")]
            rows.append([name, str(record["name"]["k"]), *times])
    axes[0].legend()
    save_both(figure, folder, "compute-time")
    scenes = results.one(data=SCENES)
    in_ms = f"{1000 * scenes['building']:.2f} ms"
    return [
        Table(["data", "k", "sampling", "building"], rows),
        f"H-trees of all 482 scene graphs: {in_ms} (2.08 s in the paper), on {scenes['device']}.",
        Figure(PREPARING.what, "compute-time.svg"),
    ]


def _seconds(operation: Callable[[], object], device: str = "cpu") -> float:
    start = time.perf_counter()
    operation()
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


TRAINING = Experiment(
    "train-time", "training and testing time per epoch, graph and tree", measure_training, draw_training
)
PREPARING = Experiment(
    "compute-time", "time to sample and to build H-trees against the treewidth bound", measure_preparing, draw_preparing
)
