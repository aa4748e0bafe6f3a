"""The scene graphs of the paper as typed scenes: the typed neural tree against the untyped one, on the same splits.

The untyped neural tree has the geometry of `structured-stanford`, which was made by hand; another one has boxes as they
are. All have the same recipe, small enough for a CPU.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from neuraltrees.data.splits import random_node_split
from neuraltrees.data.task import Task
from neuraltrees.datasets import StanfordSceneGraphs
from neuraltrees.datasets.loaders import SIZES
from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Table
from neuraltrees.experiments.statistics import Difference, mean_std, paired, percent
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.scenes.generated import building_label_spaces, scene_of_room
from neuraltrees.scenes.spec import OBJECT, ROOM, TypedGraphSpec
from neuraltrees.scenes.task import scene_task
from neuraltrees.training.fitting import fit
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Name, Record, Results, in_words, open_store

NAME = "scenes-stanford"
TYPED, UNTYPED, PLAIN = "typed", "untyped, geometry by hand", "untyped, boxes as they are"
METHODS = (TYPED, UNTYPED, PLAIN)


@dataclass(frozen=True)
class Protocol:
    """The settings of the experiment.

    Args:
        splits: number of random splits of the nodes, 70 / 10 / 20 %.
        epochs: gradient steps, each over all scenes.
        rounds, hidden, dropout: of all networks.
        rate: learning rate of Adam.
        prior: precision of the normal prior of all weights: their weight decay times the number of training nodes.
        average: decay of the averaged weights.
    """

    splits: int = 10
    epochs: int = 300
    rounds: int = 3
    hidden: int = 32
    dropout: float = 0.3
    rate: float = 0.006
    prior: float = 5.0
    average: float = 0.98

    def quick(self) -> Protocol:
        """A small version that takes seconds."""
        return replace(self, splits=2, epochs=4, hidden=8)

    def network(self, method: str) -> NetworkSpec:
        return NetworkSpec(
            schedule="typed" if method == TYPED else None,
            hidden=self.hidden,
            layers=self.rounds,
            dropout=self.dropout,
            residual=True,
            layer_norm=True,
        )

    def training(self, nodes: int) -> TrainingSpec:
        return TrainingSpec(
            epochs=self.epochs,
            lr=self.rate,
            weight_decay=self.prior / nodes,
            batches=1,
            warmup=min(10, self.epochs // 4),
            cosine=True,
            average=self.average,
            evaluate_every=max(1, self.epochs // 6),
            every_class=False,
        )


def load(method: str, data_root: str | None) -> Task:
    """The scene graphs as a method sees them."""
    graphs = StanfordSceneGraphs(data_root)
    if method == TYPED:
        form = SceneFormat(building_label_spaces(), (OBJECT, ROOM), TypedGraphSpec(object_edges=False))
        return scene_task(map(scene_of_room, graphs), form)
    task = Task(list(graphs), graphs.labels)
    return task.scaled(geometry=True) if method == UNTYPED else task.scaled(SIZES)


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Runs what is missing in the JSON file and returns all results in it."""
    protocol = Protocol().quick() if scale.quick else Protocol()
    protocol = replace(protocol, splits=scale.runs or protocol.splits, epochs=scale.epochs or protocol.epochs)
    with open_store(path, NAME, asdict(protocol)) as store:
        for method in METHODS:
            key: Name = {"method": method}
            if store.get(key) is not None:
                continue
            record = store.add(key, run_method(load(method, scale.data_root), protocol, method, scale.device))
            accuracy = percent([run["test"] for run in record["runs"]])
            log(f"{in_words(key)}: {accuracy:.1f} % in {record['seconds']:.0f} s")
    return store.results


def run_method(task: Task, protocol: Protocol, method: str, device: str) -> Record:
    """Trains a method on all splits at once."""
    runs = [Run(seed, random_node_split(task.num_nodes, seed=seed)) for seed in range(protocol.splits)]
    training = protocol.training(runs[0].split.counts[0])
    fitted = fit(task, protocol.network(method), training, runs, device)
    columns: dict[str, Any] = {name: getattr(fitted, name).tolist() for name in ("val", "test", "best_epoch")}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return {
        "runs": [
            {"seed": run.seed, "split": list(run.split.counts), **row} for run, row in zip(runs, rows, strict=True)
        ],
        "parameters": sum(each.numel() for each in fitted.network.parameters()) // len(runs),
        "seconds": round(fitted.seconds, 3),
        **machine(device),
    }


def draw(results: Results, folder: Path) -> list[Block]:
    """A table of accuracies, and who is ahead."""
    found = {record["name"]["method"]: record for record in results.records}
    test = {method: [run["test"] for run in record["runs"]] for method, record in found.items()}
    rows = [
        [
            method,
            mean_std([run["val"] for run in found[method]["runs"]]),
            mean_std(test[method]),
            "" if method == TYPED or TYPED not in test else paired(test[TYPED], test[method]),
            f"{found[method]['parameters']:,}",
        ]
        for method in METHODS
        if method in found
    ]
    return [HOW, verdict(test), Table(["neural tree", "validation", "test", "typed − this", "weights"], rows)]


HOW = """\
The typed neural tree reads scenes: boxes without absolute positions, and the geometry of edges. The untyped one has the
25 features per node and 6 per edge of `structured-stanford`, which were made by hand; another one has the centroid and
size of every box, as in the paper. All have the same recipe, small enough for a CPU, and the same splits."""


def verdict(test: dict[str, list[float]]) -> str:
    """One sentence on the typed network against the better untyped one."""
    others = [method for method in (UNTYPED, PLAIN) if method in test]
    if TYPED not in test or not others:
        return "Not all networks were run."
    best = max(others, key=lambda method: percent(test[method]))
    difference = Difference.of(test[TYPED], test[best])
    where = {1: "is ahead of", 0: "is level with", -1: "is behind"}[difference.sign()]
    return f"**The typed neural tree {where} the better untyped one** ({best}): {difference}."


EXPERIMENT = Experiment(
    NAME, "scene graphs of the paper as typed scenes: the typed neural tree against the untyped one", measure, draw
)
