"""The demo: both networks with every convolution on generated scenes, compared with the exact posterior."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from typing import get_args

import torch
from torch import Tensor

from neuraltrees.data.task import Task
from neuraltrees.datasets import SyntheticScenes, random_graph_split
from neuraltrees.datasets.loaders import SIZES
from neuraltrees.decomposition import decompose
from neuraltrees.experiments.demo_head import STEPS, train_head
from neuraltrees.experiments.own_features import from_own_features
from neuraltrees.experiments.report import Confusion, DemoReport, Trained
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.training.fitting import trained
from neuraltrees.training.network_spec import ConvName, ModelName, NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.version import __version__

MODELS: tuple[ModelName, ...] = ("neural-tree", "gnn")
NAMES = {"neural-tree": "neural tree", "gnn": "GNN"}


@dataclass(frozen=True)
class DemoSize:
    """Size of the demo; the default takes less than a minute on two cores."""

    scenes: int = 400
    coupling: float = 1.0
    runs: int = 2
    epochs: int = 30
    hidden: int = 48


def run_demo(
    size: DemoSize, seed: int = 0, workers: int = 2, on_trained: Callable[[Trained, int, int], None] | None = None
) -> DemoReport:
    """Trains a GNN and a neural tree with each of the four convolutions, and the exact head; compares with the optimum.

    Args:
        size: numbers of scenes, runs and epochs, and other sizes.
        seed: seed of the scenes, the splits and the runs.
        workers: number of processes; the result does not depend on it.
        on_trained: called after each network with (result, number of finished networks, number of networks).
    """
    dataset = SyntheticScenes(size.scenes, size.coupling, seed)
    task = Task(list(dataset), dataset.labels).scaled(SIZES).with_trees()
    sizes = [graph.num_nodes for graph in task.graphs]
    runs = [Run(seed + run, random_graph_split(sizes, seed=seed + run)) for run in range(size.runs)]
    specs = _specs(size.hidden)
    trained: dict[int, Trained] = {}
    # The slowest trainings start first.
    order = sorted(range(len(specs)), key=lambda i: (specs[i].conv != "gat", specs[i].model != "neural-tree"))
    with ProcessPoolExecutor(min(workers, len(specs)), get_context("spawn"), _one_thread) as pool:
        head = pool.submit(train_head, dataset, runs)
        pending = {pool.submit(_train, task, specs[i], size.epochs, runs): i for i in order}
        for done in as_completed(pending):
            number = pending[done]
            trained[number] = done.result()
            if on_trained is not None:
                on_trained(trained[number], len(trained), len(specs))
        exact = head.result()
    listed = [trained[number] for number in range(len(specs))]
    posterior, alone = dataset.posterior(), from_own_features(dataset)
    scene = _scene_to_draw(dataset)
    graph = Graph.from_data(dataset[scene])
    decomposition = decompose(graph, "exact")
    htree = build_htree(graph, decomposition)
    kinds = list(dataset.labels.values())
    names = [_spoken(kinds[int(k)][int(y)]) for k, y in zip(dataset[scene].node_type, dataset[scene].y, strict=True)]
    return DemoReport(
        title="Neural trees on generated scenes",
        facts=_facts(size, seed, task.num_nodes, specs[0]),
        graph=graph,
        names=_numbered(names),
        decomposition=decomposition,
        htree=htree,
        trained=listed,
        optimum=_mean_accuracy(posterior, task.y, runs),
        features_only=_mean_accuracy(alone, task.y, runs),
        confusions=[_confusion(task, runs[0], exact.guesses, kind) for kind in dataset.labels],
        rounds=specs[0].layers,
        diameters=(_diameter(graph), htree.diameter()),
        links={},
        exact=exact,
    )


def _specs(hidden: int) -> list[NetworkSpec]:
    """Both networks for every convolution; GAT has two heads of half the size, so that all cost about the same."""
    specs = []
    for conv in get_args(ConvName):
        for model in MODELS:
            size = hidden // 2 if conv == "gat" else hidden
            specs.append(NetworkSpec(model=model, conv=conv, hidden=size, layers=4, heads=2, dropout=0.1))
    return specs


def _training(epochs: int) -> TrainingSpec:
    decay_every = max(1, epochs * 2 // 5)
    return TrainingSpec(epochs=epochs, lr=0.01, weight_decay=1e-4, decay_every=decay_every, every_class=False)


def _train(task: Task, spec: NetworkSpec, epochs: int, runs: Sequence[Run]) -> Trained:
    fitted = trained(task, spec, _training(epochs), runs)
    return Trained(
        network=NAMES[spec.model],
        conv=spec.conv,
        test=tuple(fitted.test.tolist()),
        val=tuple(fitted.val.tolist()),
        loss_curve=tuple(fitted.loss_curve.mean(1).tolist()),
        val_curve=tuple(fitted.val_curve.mean(1).tolist()),
        seconds=fitted.seconds,
    )


def _mean_accuracy(scores: Tensor, y: Tensor, runs: Sequence[Run]) -> float:
    correct = scores.argmax(1) == y
    return float(torch.stack([correct[run.split.test].double().mean() for run in runs]).mean())


def _confusion(task: Task, run: Run, guess: Tensor, kind: str) -> Confusion:
    """The confusion matrix of the test nodes of a type, in one run: the test nodes of several runs overlap."""
    names = task.labels[kind]
    nodes = run.split.test & (task.node_type == list(task.labels).index(kind))
    counts = torch.zeros(len(names), len(names))
    counts.index_put_((task.y[nodes], guess[nodes]), torch.tensor(1.0), accumulate=True)
    return Confusion(f"{kind}s", counts, [_spoken(name) for name in names])


def _spoken(label: str) -> str:
    return label.replace("_", " ")


def _numbered(names: Sequence[str]) -> list[str]:
    """Names, with a number appended to those that occur several times.

    >>> _numbered(["bottle", "sink", "bottle"])
    ['bottle 1', 'sink', 'bottle 2']
    """
    counts = Counter(names)
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} {seen[name]}" if counts[name] > 1 else name)
    return found


def _diameter(graph: Graph) -> int:
    """The longest shortest path of a connected graph, in edges."""
    import networkx as nx

    return int(nx.diameter(graph.to_networkx()))


def _scene_to_draw(dataset: SyntheticScenes) -> int:
    """The index of a scene of about seven nodes, which gives a readable picture."""
    sizes = torch.tensor([abs(data.num_nodes - 7) - data.num_edges / 1000 for data in dataset])
    return int(sizes.argmin())


def _facts(size: DemoSize, seed: int, nodes: int, spec: NetworkSpec) -> dict[str, str]:
    given = {"scenes": size.scenes, "coupling": size.coupling, "runs": size.runs, "epochs": size.epochs, "seed": seed}
    training = _training(size.epochs)
    return {
        "command": "neuraltrees demo " + " ".join(f"--{name} {value:g}" for name, value in given.items()),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": f"neuraltrees {__version__}, torch {torch.__version__}, Python {platform.python_version()}",
        "data": f"{size.scenes} scenes ({nodes:,} nodes), coupling {size.coupling:g}",
        "split": "70 / 10 / 20 % of the scenes, another one in every run",
        "network": f"{spec.layers} rounds, {size.hidden} hidden units (GAT: 2 heads of {size.hidden // 2}), "
        f"dropout {spec.dropout:g}",
        "training": f"{size.runs} runs of {size.epochs} epochs; Adam, learning rate {training.lr:g}, halved every "
        f"{training.decay_every} epochs; weight decay {training.weight_decay:g}; not tuned",
        "exact head": f"{STEPS} steps of pseudo-likelihood over all training scenes; not tuned",
        "seed": str(seed),
    }


def _one_thread() -> None:
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
