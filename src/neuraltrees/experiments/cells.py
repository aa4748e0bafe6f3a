"""Cells of an experiment's table: named trainings of several runs, stored in the experiment's JSON file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import torch

from neuraltrees.experiments.statistics import mean_std
from neuraltrees.pools.execution import Execution
from neuraltrees.training.checkpoint import Checkpoint
from neuraltrees.training.config import TrainConfig, preset
from neuraltrees.training.problem import load_problem
from neuraltrees.tuning.grid import Grid, Point, Stages
from neuraltrees.tuning.record import TrialJob, train_record
from neuraltrees.tuning.search import search
from neuraltrees.tuning.store import Name, Record, Results, Store, in_words, open_store
from neuraltrees.tuning.trials import Trial, Tuned, select

Log: TypeAlias = Callable[[str], None]
Key = TypeVar("Key")
ONE_BY_ONE = Execution()

# Results that are older than the options `sampler` and `bag_start` used the paper's sampler and start of bags.
DEFAULTS = {each.name: each.default for each in fields(TrainConfig)} | {"sampler": "paper", "bag_start": "zero"}


@dataclass(frozen=True)
class Cell:
    """A training of several runs.

    Args:
        name: identifies it among the cells of its experiment.
        config: everything that its outcome depends on.
    """

    name: Name
    config: TrainConfig

    @classmethod
    def of(cls, name: Name, **values: Any) -> Cell:
        """A cell with the preset of its dataset and network, overridden by the given values."""
        defaults = preset(values["dataset"], values["model"], values["conv"])
        return cls(name, TrainConfig(**(defaults | values)))

    def __str__(self) -> str:
        return in_words(self.name)


@dataclass(frozen=True)
class CellJob:
    """Trains cells; an answer is the record of a training, and its metric as text.

    Args:
        device: cpu or cuda.
        folder: where the states of unfinished trainings are kept: the next job goes on with them.
    """

    device: str
    folder: Path
    word: str = "training"
    saved: bool = True

    def answer(self, cell: Cell) -> tuple[Record, str]:
        problem = load_problem(cell.config)
        config, identity = cell.config, settings_of(cell.config) | {"data": problem.task.fingerprint()}
        number = sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        checkpoint = Checkpoint(self.folder / f"{number}.safetensors", identity)
        given = (problem.task, config.network, config.training, problem.runs, self.device)
        values = train_record(*given, checkpoint=checkpoint, ensemble=config.ensemble)
        test = torch.tensor([run["test"] for run in values["runs"]])
        spread = float(test.std()) if len(test) > 1 else 0.0
        return values, problem.task.objective.metric.show_spread(float(test.mean()), spread)


def run_cells(
    experiment: str,
    cells: Sequence[Cell],
    path: Path,
    device: str,
    log: Log,
    execution: Execution = ONE_BY_ONE,
) -> Results:
    """Trains the cells that are missing in the JSON file, and returns all results in it.

    The file is written after every cell, and the state of a training every minute, into the folder `unfinished` beside
    it. A stored cell of the same name with other settings raises `InputError`.
    """
    with open_store(path, experiment, defaults=DEFAULTS) as store:
        settings = {str(cell): settings_of(cell.config) for cell in cells}
        missing = [cell for cell in cells if store.get(cell.name, settings[str(cell)]) is None]
        numbers = {str(cell): number for number, cell in enumerate(cells, start=1)}
        pool = execution.pool(lambda: CellJob(device, path.parent / "unfinished"), one_thread=False)
        with pool, closing(pool.attempt(missing)) as outcomes:
            for cell, (values, shown) in outcomes:
                record = store.add(cell.name, values, settings[str(cell)])
                log(f"{numbers[str(cell)]}/{len(cells)} {cell}: {shown} in {record['seconds']:.0f} s")
        store.arrange([cell.name for cell in cells])
    return store.results


def search_cells(
    cell: Cell, grid: Grid, stages: Stages, store: Store, device: str, execution: Execution, log: Log
) -> Tuned:
    """Tunes the hyper-parameters of one cell, each trial stored as a cell; see `search`."""

    def job() -> TrialJob:
        problem = load_problem(cell.config)
        return TrialJob(problem.task, problem.runs, cell.config.network, cell.config.training, device)

    def on_trial(trial: Trial) -> None:
        if not trial.resumed:
            val = mean_std(trial.val)
            log(f"{in_words(cell.name)}, {trial.point}: validation {val} % in {trial.seconds:.0f} s")

    with execution.pool(job) as pool:
        return search(
            grid,
            stages,
            pool,
            store,
            name=cell.name,
            settings=lambda point: settings_of(cell.config.replace(**point)),
            on_trial=on_trial,
        )


def accuracies(results: Results, kind: str = "test", **name: Any) -> list[float]:
    """The accuracies of the runs of one cell, in the order of their seeds; `kind` is test or val."""
    runs = results.one(**name)["runs"]
    return [run[kind] for run in sorted(runs, key=lambda run: int(run["seed"]))]


def best_by_validation(found: Mapping[Key, Record]) -> Key:
    """The key of the record with the best mean validation accuracy; see `select`."""
    trials = {key: Trial.of(Point(), record) for key, record in found.items()}
    best = select(trials.values())
    return next(key for key, trial in trials.items() if trial is best)


def trained(results: Results) -> list[Record]:
    """The records that are trainings."""
    return [record for record in results.records if "runs" in record]


def settings_of(config: TrainConfig) -> dict[str, Any]:
    """The configuration without the options that do not change the outcome."""
    settings = config.replace(device="cpu", data_root=None, compile=False, prefetch=False, columns=None).as_dict()
    if config.max_treewidth is None or config.model == "gnn":
        del settings["sampler"]
    settings["bag_start"] = config.network.first_bags
    if settings["bag_start"] is None:
        del settings["bag_start"]
    return settings
