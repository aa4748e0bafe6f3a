"""Generated buildings as typed scenes: the typed neural tree without and with the CRF head, and the exact posterior.

The scenes have all that the posterior depends on. Both networks have the same recipe but for the number of rounds.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.datasets import SyntheticBuildings
from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Table
from neuraltrees.experiments.statistics import Difference, mean_std, paired, percent
from neuraltrees.objectives import Calibration
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.scenes.generated import building_label_spaces, scene_of_building
from neuraltrees.scenes.spec import OBJECT, ROOM, TypedGraphSpec
from neuraltrees.scenes.task import scene_task
from neuraltrees.serving import Predictor
from neuraltrees.training.bundle import Bundle
from neuraltrees.training.fitting import fit
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Name, Record, Results, in_words, open_store

NAME = "scenes-buildings"
TYPED, HEAD = "typed tree alone", "typed tree with head"


@dataclass(frozen=True)
class Protocol:
    """The settings of the experiment.

    Args:
        sizes: numbers of training buildings.
        held_out: numbers of validation and test buildings, the same at all sizes.
        runs: number of runs, each with its own buildings.
        steps: gradient steps at each of the sizes.
        per_step: buildings per step.
        rounds: of the network without and with the head.
        hidden: size of the states.
        rate, decay: learning rate and weight decay of Adam.
    """

    sizes: tuple[int, ...] = (300, 1000, 3000)
    held_out: tuple[int, int] = (60, 200)
    runs: int = 1
    steps: tuple[int, ...] = (500, 700, 1150)
    per_step: int = 40
    rounds: tuple[int, int] = (3, 2)
    hidden: int = 64
    rate: float = 0.006
    decay: float = 1e-5

    def quick(self) -> Protocol:
        """A small version that takes seconds."""
        return replace(self, sizes=(20,), held_out=(5, 5), steps=(20,), per_step=10, hidden=16)

    def network(self, method: str) -> NetworkSpec:
        head = method == HEAD
        return NetworkSpec(
            schedule="typed",
            hidden=self.hidden,
            layers=self.rounds[head],
            dropout=0.0,
            residual=True,
            layer_norm=True,
            head="crf" if head else None,
        )

    def training(self, size: int) -> TrainingSpec:
        batches = max(1, (size + sum(self.held_out)) // self.per_step)
        epochs = math.ceil(dict(zip(self.sizes, self.steps, strict=True))[size] / batches)
        return TrainingSpec(
            epochs=epochs,
            lr=self.rate,
            weight_decay=self.decay,
            batches=batches,
            cosine=True,
            evaluate_every=epochs,  # exact answers for all buildings take as long as an epoch
            every_class=False,
        )


@dataclass(frozen=True)
class Pool:
    """The buildings of a run: first the validation and test buildings, then the training buildings.

    Shapes: sizes :math:`(B)`, right (whether the posterior finds the label of a test node) :math:`(n_{test})`
    """

    task: Task
    sizes: Tensor
    right: Tensor
    held_out: tuple[int, int]

    def split(self, train: int) -> Split:
        """The split with this number of training buildings."""
        val, test = self.held_out
        place = torch.arange(len(self.sizes)).repeat_interleave(self.sizes)
        return Split(
            (place >= val + test) & (place < val + test + train), place < val, (place >= val) & (place < val + test)
        )

    def part(self, train: int) -> Task:
        """The task with this number of training buildings and the held-out ones."""
        return self.task.replace(graphs=self.task.graphs[: sum(self.held_out) + train])


def make_pool(seed: int, train: int, held_out: tuple[int, int]) -> Pool:
    """Generates buildings, and computes the posterior of the labels of the test buildings."""
    buildings = SyntheticBuildings(sum(held_out) + train, seed=seed)
    form = SceneFormat(building_label_spaces(), (OBJECT, ROOM), TypedGraphSpec(object_edges=False))
    task = scene_task(map(scene_of_building, buildings), form)
    tested = buildings[held_out[0] : sum(held_out)]
    right = tested.posterior().argmax(1) == torch.cat([building.y for building in tested])
    return Pool(task, torch.tensor([graph.num_nodes for graph in task.graphs]), right, held_out)


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Runs what is missing in the JSON file and returns all results in it."""
    protocol = Protocol().quick() if scale.quick else Protocol()
    steps = protocol.steps if scale.epochs is None else (scale.epochs,) * len(protocol.sizes)
    protocol = replace(protocol, runs=scale.runs or protocol.runs, steps=steps)

    @lru_cache(maxsize=1)
    def pool_of(seed: int) -> Pool:
        log(f"generating {max(protocol.sizes) + sum(protocol.held_out):,} buildings")
        return make_pool(seed, max(protocol.sizes), protocol.held_out)

    with open_store(path, NAME, asdict(protocol)) as store:
        for method in (HEAD, TYPED):
            for size in reversed(protocol.sizes):
                key: Name = {"method": method, "buildings": size}
                if store.get(key) is not None or not scale.wants(key):
                    continue
                record = run_method(pool_of, protocol, method, size, scale.device)
                store.add(key, record)
                accuracy = percent([run["test"] for run in record["runs"]])
                log(f"{in_words(key)}: {accuracy:.1f} % in {record['seconds']:.0f} s")
    return store.results


def run_method(pool_of: Any, protocol: Protocol, method: str, size: int, device: str) -> Record:
    """Trains all runs of a method, one after another, since each has its own buildings."""
    rows, seconds, parameters = [], 0.0, 0
    for seed in range(protocol.runs):
        pool: Pool = pool_of(seed)
        task, split = pool.part(size), pool.split(size)
        split = Split(*(mask[: task.num_nodes] for mask in (split.train, split.val, split.test)))
        fitted = fit(task, protocol.network(method), protocol.training(size), [Run(seed, split)], device)
        first, stop = protocol.held_out[0], sum(protocol.held_out)
        predictor = Predictor(Bundle.of(fitted), device)
        found = torch.cat([row for graph in task.graphs[first:stop] for row in predictor.predict([graph])])
        labels = task.y[split.test]
        rooms = task.node_type[split.test] == task.types.index(ROOM)
        row: dict[str, Any] = {"seed": seed, "split": list(split.counts), "val": float(fitted.val[0])}
        row |= {"test": float(fitted.test[0]), "posterior": float(pool.right.double().mean())}
        right = (found.argmax(1) == labels).double()
        row |= {"rooms": float(right[rooms].mean()), "objects": float(right[~rooms].mean())}
        row["calibration_error"] = Calibration.of(found, labels).error
        rows.append(row)
        seconds += fitted.seconds
        parameters = sum(each.numel() for each in fitted.network.parameters())
    return {"runs": rows, "parameters": parameters, "seconds": round(seconds, 3), **machine(device)}


def draw(results: Results, folder: Path) -> list[Block]:
    """A table of accuracies."""
    rows, gaps = [], []
    for size in sorted({record["name"]["buildings"] for record in results.records}):
        found = {record["name"]["method"]: record["runs"] for record in results.find(buildings=size)}
        test = {name: [run["test"] for run in runs] for name, runs in found.items()}
        posterior = [run["posterior"] for run in next(iter(found.values()))]
        more, gap, error = "–", "–", "–"
        if HEAD in found:
            difference = Difference.of(test[HEAD], posterior)
            gap, error = str(difference), f"{percent([run['calibration_error'] for run in found[HEAD]]):.1f}"
            more = paired(test[HEAD], test[TYPED]) if TYPED in test else more
            gaps.append((size, difference.points))
        shown = [mean_std(test[name]) if name in test else "–" for name in (TYPED, HEAD)]
        rows.append([f"{size:,}", f"{percent(posterior):.1f}", *shown, more, gap, error])
    return [HOW, verdict(gaps), Table([*HEADER], rows)]


HOW = """\
Buildings of 5 to 10 rooms as scenes; whole buildings are held out, the same at all sizes. The networks read boxes, the
geometry of edges, and no absolute positions. The head is a conditional random field on the scene's own edges: it learns
by pseudo-likelihood and answers by exact marginals. Both networks have as many gradient steps."""
HEADER = (
    "buildings",
    "posterior",
    "typed tree",
    "typed tree + head",
    "head adds",
    "head − posterior",
    "calibration error in %",
)


def verdict(gaps: list[tuple[int, float]]) -> str:
    """One sentence on how near the head comes to the posterior.

    >>> verdict([(300, -9.0), (3000, -1.5)])
    '**With 3,000 training buildings, the typed neural tree with the head is 1.5 points below the exact posterior.**'
    """
    if not gaps:
        return "The network with the head was not run."
    size, points = gaps[-1]
    where = f"{abs(points):.1f} points {'below' if points < 0 else 'above'}"
    return f"**With {size:,} training buildings, the typed neural tree with the head is {where} the exact posterior.**"


EXPERIMENT = Experiment(
    NAME,
    "generated buildings as typed scenes: the typed neural tree with and without the CRF head",
    measure,
    draw,
    divides=True,
)
