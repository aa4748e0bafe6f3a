"""Exact structured answers on generated scenes: networks, the CRF head without and with a network, and the optimum.

The two networks are those of `posterior-gap-sage-full`, with its splits and its tuned hyper-parameters; its results are
used where its file lies beside this one. The head is not tuned: its weight decay is one over the number of training
nodes, the prior of a standard normal distribution. On top of class statistics, its tables have the same prior.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from neuraltrees.data.task import Task
from neuraltrees.datasets import Split, SyntheticScenes
from neuraltrees.datasets.loaders import SIZES
from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.class_statistics import statistics_and_head
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.gap_protocols import FULL
from neuraltrees.experiments.gap_protocols import Protocol as GapProtocol
from neuraltrees.experiments.scene_pool import ScenePool, make_pool, split_scenes
from neuraltrees.experiments.statistics import percent
from neuraltrees.experiments.structured_scenes_page import STATISTICS, draw
from neuraltrees.inference.crf.approximate import loopy_beliefs, mean_field
from neuraltrees.movable import moved
from neuraltrees.nn import CRFHead
from neuraltrees.objectives import Calibration
from neuraltrees.training.batches import feature_columns, joined_graphs
from neuraltrees.training.fitting import trained
from neuraltrees.training.network_spec import ModelName, NetworkSpec
from neuraltrees.training.runs import Fitted, Run
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Name, Record, Results, Store, in_words, open_store

NAME = "structured-scenes"
LONGER = "head, three times the steps"
NETWORKS: dict[str, ModelName] = {
    "gnn": "gnn",
    "neural-tree": "neural-tree",
    "gnn + head": "gnn",
    "neural-tree + head": "neural-tree",
}
TUNED = {"gnn": (6, 0.002), "neural-tree": (6, 0.005)}  # rounds and learning rate, by `posterior-gap-sage-full`
TOGETHER = 100  # scenes whose approximate answers are computed together
APPROXIMATE = {"loopy": loopy_beliefs, "mean_field": mean_field}


@dataclass(frozen=True)
class Protocol:
    """The settings of the experiment.

    Args:
        sizes: numbers of training scenes, at the middle coupling.
        couplings: label couplings, with the middle number of scenes.
        middle: what is fixed while the other varies.
        joint: whether networks with the head are trained.
        steps: gradient steps of the head alone.
        per_step: training scenes per step of the head alone.
        rate: its learning rate.
        exact_share: share of the epochs that are trained by the exact likelihood.
        joint_exact_share: the same for a network with the head.
        prior: precision of the prior of tables on top of class statistics.
        folds: of the training nodes, for `cross_fit` of class statistics.
        networks: the protocol of the networks.
    """

    sizes: tuple[int, ...] = (30, 100, 300, 1000, 3000, 10000)
    couplings: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0)
    middle: tuple[int, float] = (3000, 1.0)
    joint: bool = True
    steps: int = 800
    per_step: int = 300
    rate: float = 0.1
    exact_share: float = 0.25
    joint_exact_share: float = 0.05
    prior: float = 1.0
    folds: int = 5
    networks: GapProtocol = FULL

    def subject(self) -> dict[str, Any]:
        found = asdict(replace(self, networks=None))  # type: ignore[arg-type]  # left out of the dictionary
        return found | {"networks": self.networks.subject()}

    def quick(self) -> Protocol:
        """A small version that takes about a minute on two cores."""
        networks = self.networks.quick()
        return replace(self, sizes=(100,), couplings=(), middle=(100, 1.0), joint=False, steps=150, networks=networks)

    def settings(self) -> list[tuple[str, int, float]]:
        """Method, number of training scenes and coupling of all cells."""
        size, coupling = self.middle
        everywhere = [(n, coupling) for n in self.sizes] + [(size, each) for each in self.couplings]
        places = list(dict.fromkeys([self.middle, *everywhere]))
        found = [(method, *place) for place in places for method in ("gnn", "neural-tree", "head")]
        found += [(name, *place) for place in places for name in NETWORKS if "head" in name and self.joint]
        found += [(STATISTICS, *place) for place in places]
        return [*found, (LONGER, *self.middle)] if self.joint else found


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Runs what is missing in the JSON file and returns all results in it."""
    protocol = Protocol().quick() if scale.quick else Protocol()
    networks = replace(protocol.networks, runs=scale.runs or protocol.networks.runs)
    protocol = replace(protocol, networks=networks, steps=scale.epochs or protocol.steps)

    @lru_cache(maxsize=1)
    def pool_of(scenes: int, coupling: float) -> ScenePool:
        log(f"generating {scenes:,} scenes, coupling {coupling:g}")
        return make_pool(scenes, coupling, networks)

    earlier = path.with_name("posterior-gap-sage-full.json")
    stored = Results.read(earlier) if earlier.exists() and not scale.quick else None
    later = {name: getattr(protocol, name) for name in ("prior", "folds")}  # not named by the first files
    with open_store(path, NAME, protocol.subject(), later) as store:
        for method, scenes, coupling in protocol.settings():
            key: Name = {"method": method, "scenes": scenes, "coupling": coupling}
            if store.get(key) is not None or not scale.wants(key) or _taken(stored, key, store, networks):
                continue
            if method == STATISTICS:
                rival = store.get({**key, "method": "head"})
                record = run_statistics(protocol, key, rival, partial(pool_of, scenes, coupling))
            else:
                record = run_method(pool_of(scenes, coupling), protocol, key, scale.device)
            store.add(key, record)
            accuracy = percent([run["test"] for run in record["runs"]])
            log(f"{in_words(key)}: {accuracy:.1f} % in {record['seconds']:.0f} s")
    return store.results


def _taken(stored: Results | None, key: Mapping[str, Any], store: Store, networks: GapProtocol) -> bool:
    """Takes the record of a plain network from `posterior-gap-sage-full`, if that has it."""
    if stored is None or key["method"] not in TUNED or stored.subject != json.loads(json.dumps(networks.subject())):
        return False
    found = stored.find(model=key["method"], scenes=key["scenes"], coupling=key["coupling"])
    if not found:
        return False
    store.add(key, {name: value for name, value in found[0].items() if name not in ("name", "settings")})
    return True


def run_method(pool: ScenePool, protocol: Protocol, key: Name, device: str) -> Record:
    """Trains all runs of a method at one setting, and measures its answers on the test nodes."""
    method, scenes = str(key["method"]), int(key["scenes"] or 0)
    runs = [Run(seed, split) for seed, split in enumerate(pool.splits(scenes, protocol.networks))]
    nodes = int(runs[0].split.train.sum())
    if method in ("head", LONGER):
        task = _with_squares(scenes, float(key["coupling"] or 0), protocol)
        steps = (3 if method == LONGER else 1) * protocol.steps
        network, training = head_alone(replace(protocol, steps=steps), scenes, nodes)
    else:
        task = pool.task
        network, training = with_network(protocol, method, scenes)
    fitted = trained(task, network, training, runs, device)
    columns: dict[str, Sequence[float]] = {"val": fitted.val.tolist(), "test": fitted.test.tolist()}
    columns["best_epoch"] = fitted.best_epoch.tolist()
    for name, right in (("posterior", pool.by_posterior), ("own_features", pool.by_features)):
        columns[name] = [float(right[run.split.test].double().mean()) for run in runs]
    if network.head == "crf":
        columns |= structured_columns(fitted, runs, approximate=method == "head")
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return {
        "runs": [
            {"seed": run.seed, "split": list(run.split.counts), **row} for run, row in zip(runs, rows, strict=True)
        ],
        "parameters": sum(each.numel() for each in fitted.network.parameters()) // len(runs),
        "seconds": round(fitted.seconds, 3),
        **machine(device),
    }


def run_statistics(protocol: Protocol, key: Name, rival: Record | None, pool_of: Callable[[], ScenePool]) -> Record:
    """Measures the head on top of class statistics, on the CPU.

    The accuracies of the exact posterior and of own features are those of the `rival` of the same splits, if there is
    one, since they take longer than the rest.
    """
    start, scenes = time.perf_counter(), int(key["scenes"] or 0)
    dataset = SyntheticScenes(scenes + sum(protocol.networks.held_out), float(key["coupling"] or 0), seed=0)
    task = Task(list(dataset), SyntheticScenes.labels).scaled(SIZES)
    masks, sizes = split_scenes(len(dataset), scenes, protocol.networks), dataset.slices["x"].diff()
    splits = [Split(*(mask.repeat_interleave(sizes) for mask in each)) for each in masks]
    rows: list[dict[str, Any]] = []
    for split, answers in statistics_and_head(task, splits, protocol.prior, protocol.folds):
        right = (answers.argmax(-1) == task.y).double()
        row: dict[str, Any] = {"seed": len(rows), "split": list(split.counts)}
        row |= {name: float(right[mask].mean()) for name, mask in (("val", split.val), ("test", split.test))}
        if rival is None:
            pool = pool_of()
            optimal = {"posterior": pool.by_posterior, "own_features": pool.by_features}
            row |= {name: float(each[split.test].double().mean()) for name, each in optimal.items()}
        else:
            row |= {name: rival["runs"][len(rows)][name] for name in ("posterior", "own_features")}
        row["calibration_error"] = Calibration.of(answers[split.test], task.y[split.test]).error
        rows.append(row)
    return {"runs": rows, "seconds": round(time.perf_counter() - start, 3), **machine("cpu")}


def head_alone(protocol: Protocol, scenes: int, nodes: int) -> tuple[NetworkSpec, TrainingSpec]:
    """A conditional random field with potentials that are quadratic in the features."""
    batches = max(1, scenes // protocol.per_step)
    epochs = math.ceil(protocol.steps / batches)
    network = NetworkSpec(
        model="none",
        dropout=0.0,
        head="crf",
        crf_learning="likelihood",
        crf_exact_share=protocol.exact_share,
    )
    training = TrainingSpec(
        epochs=epochs,
        lr=protocol.rate,
        weight_decay=1 / nodes,
        batches=batches,
        cosine=True,
        every_class=False,
        evaluate_every=max(1, epochs // 16),
    )
    return network, training


def with_network(protocol: Protocol, method: str, scenes: int) -> tuple[NetworkSpec, TrainingSpec]:
    """A network as in `posterior-gap-sage-full`, with or without the head."""
    model = NETWORKS[method]
    rounds, rate = TUNED[model]
    network = replace(protocol.networks.network(model), layers=rounds)
    training = replace(protocol.networks.training(scenes), lr=rate)
    if "head" in method:
        share = protocol.joint_exact_share
        network = replace(network, head="crf", crf_learning="likelihood", crf_exact_share=share)
        training = replace(training, evaluate_every=max(1, training.epochs // 16))
    return network, training


def _with_squares(scenes: int, coupling: float, protocol: Protocol) -> Task:
    """The same scenes with the squares of the features beside them."""
    dataset = SyntheticScenes(scenes + sum(protocol.networks.held_out), coupling, seed=0)
    return Task(list(dataset), SyntheticScenes.labels).scaled(SIZES, squares=True)


@torch.no_grad()
def structured_columns(fitted: Fitted, runs: Sequence[Run], approximate: bool) -> dict[str, list[float]]:
    """Calibration error of the test nodes; and the accuracy of approximate inference with the same potentials."""
    labels = fitted.task.y
    answers = fitted.answers(batches=max(1, len(fitted.task.graphs) // 400)).softmax(-1)
    found: dict[str, list[float]] = {"calibration_error": [], "confidence": []}
    for number, run in enumerate(runs):
        test = run.split.test
        found["calibration_error"].append(Calibration.of(answers[test, number], labels[test]).error)
        found["confidence"].append(float(answers[test, number].max(-1).values.double().mean()))
    if approximate:
        for name in APPROXIMATE:
            right = approximate_answers(fitted, name).argmax(-1) == labels.unsqueeze(1)
            found[name] = [float(right[run.split.test, number].double().mean()) for number, run in enumerate(runs)]
    return found


def approximate_answers(fitted: Fitted, name: str) -> Tensor:
    """Approximate marginals from the trained potentials, without known labels. Shapes: → :math:`(n, R, C)`"""
    network, task = fitted.network.eval(), fitted.task
    found: Tensor | None = None
    head, like = network.head, next(network.parameters())
    assert isinstance(head, CRFHead)
    start = 0
    for first in range(0, len(task.graphs), TOGETHER):
        graphs = task.graphs[first : first + TOGETHER]
        joined = joined_graphs(graphs, task.types)
        field = moved(head.field(joined), like.device)
        unary, (tables,) = head.potentials(
            network.states(feature_columns(graphs, like), network.bare_plan(joined))[0], field
        )
        for run in range(len(unary)):
            own = replace(tables, tables=tables.tables[run : run + 1])
            marginals = APPROXIMATE[name](unary[run : run + 1], own, field.solver.structure.ends)[0]
            found = marginals.new_zeros(task.num_items, len(unary), marginals.shape[-1]) if found is None else found
            found[start : start + len(marginals), run] = marginals
        start += joined.num_nodes
    assert found is not None
    return found.cpu()


EXPERIMENT = Experiment(
    NAME,
    "generated scenes: networks, the CRF head without and with them, and the exact posterior",
    measure,
    draw,
    divides=True,
)
