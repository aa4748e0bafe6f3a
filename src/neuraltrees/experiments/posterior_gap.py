"""The gap between the test accuracy of GNN and neural tree and that of the exact posterior.

It is measured against the number of training scenes and the label coupling. Both networks get the same scenes, splits,
number of steps and tuning, which only uses validation accuracies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import cast

from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.gap_page import draw, gap_of
from neuraltrees.experiments.gap_protocols import FULL, PROTOCOLS, Protocol
from neuraltrees.experiments.scene_pool import ScenePool, make_pool
from neuraltrees.experiments.statistics import mean_std, percent
from neuraltrees.training.network_spec import ModelName
from neuraltrees.training.runs import Epoch, Run
from neuraltrees.tuning.grid import Point
from neuraltrees.tuning.record import TrialJob, train_record
from neuraltrees.tuning.search import search
from neuraltrees.tuning.store import Name, Record, Results, Store, in_words, open_store
from neuraltrees.tuning.trials import Trial

TUNING_SEED = 100  # differs from the seeds of the reported runs
LARGE_FROM = 100_000  # training scenes from which an experiment counts as large


def measure(name: str, protocol: Protocol, scale: Scale, path: Path, log: Log) -> Results:
    """Runs what is missing in the JSON file and returns all results in it."""
    if scale.quick:
        protocol = protocol.quick()
    protocol = replace(protocol, runs=scale.runs or protocol.runs, steps=scale.epochs or protocol.steps)

    @lru_cache(maxsize=1)
    def pool_of(scenes: int, coupling: float) -> ScenePool:
        log(f"generating {scenes:,} scenes, coupling {coupling:g}")
        return make_pool(scenes, coupling, protocol)

    with open_store(path, name, protocol.subject(), FULL.subject()) as store:
        best = {m: tuned(protocol, m, store, lambda: pool_of(*protocol.middle), scale, log) for m in protocol.models}
        for (scenes, coupling), model in product(protocol.settings(), protocol.models):
            key = {"model": model, "scenes": scenes, "coupling": coupling}
            if store.get(key, best[model]) is None:
                pool = pool_of(scenes, coupling)
                record = store.add(key, train(pool, protocol, key, best[model], scale.device, log), best[model])
                gap = gap_of(record)
                log(f"{in_words(key)}: {gap:+.1f} points to the posterior in {record['seconds']:.0f} s")
    return store.results


def tuned(
    protocol: Protocol, model: ModelName, store: Store, pool_of: Callable[[], ScenePool], scale: Scale, log: Log
) -> Point:
    """The best rounds and learning rate by the mean validation accuracy of two runs at the middle setting."""
    if protocol.grid.size == 1:
        return protocol.grid.points()[0]
    scenes, _ = protocol.middle

    def job() -> TrialJob:
        pool = pool_of()
        runs = [Run(TUNING_SEED + i, split) for i, split in enumerate(pool.splits(scenes, protocol)[:2])]
        return TrialJob(pool.task, runs, protocol.network(model), protocol.training(scenes), scale.device)

    def on_trial(trial: Trial) -> None:
        if not trial.resumed:
            log(f"tuning {model}, {trial.point}: validation {mean_std(trial.val)} % in {trial.seconds:.0f} s")

    with scale.execution.pool(job) as workers:
        return search(protocol.grid, (), workers, store, name={"model": model}, on_trial=on_trial).best.point


def train(pool: ScenePool, protocol: Protocol, key: Name, point: Point, device: str, log: Log) -> Record:
    """Trains all runs of a network at one setting; adds the accuracies of the posterior and of own features."""
    model, scenes = cast(ModelName, key["model"]), cast(int, key["scenes"])
    network, training = point.applied(protocol.network(model), protocol.training(scenes))
    runs = [Run(seed, split) for seed, split in enumerate(pool.splits(scenes, protocol))]

    def on_epoch(epoch: Epoch) -> None:
        if epoch.number % 10 == 0 or scenes >= LARGE_FROM:
            log(f"  {model}, epoch {epoch.number} of {epoch.of}: validation {percent(epoch.val.tolist()):.1f} %")

    record = train_record(pool.task, network, training, runs, device, on_epoch)
    for run, entry in zip(runs, record["runs"], strict=True):
        entry["posterior"] = float(pool.by_posterior[run.split.test].double().mean())
        entry["own_features"] = float(pool.by_features[run.split.test].double().mean())
    return record


def _experiment(name: str, protocol: Protocol, what: str) -> Experiment:
    large = max(protocol.sizes) >= LARGE_FROM
    what = f"gap to the exact posterior on generated scenes, {what}"
    return Experiment(name, what, partial(measure, name, protocol), partial(draw, name), large)


EXPERIMENTS = tuple(_experiment(name, *about) for name, about in PROTOCOLS.items())
