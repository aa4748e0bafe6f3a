"""Cells of an experiment: trainings that have a name, trained once and stored with every run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from neuraltrees.experiments.statistics import mean_std
from neuraltrees.training.config import TrainConfig, preset
from neuraltrees.training.problem import load_problem
from neuraltrees.tuning.grid import Grid, Point, Stages
from neuraltrees.tuning.record import train_record
from neuraltrees.tuning.search import search
from neuraltrees.tuning.store import Name, Record, Results, Store, in_words, open_store
from neuraltrees.tuning.trials import Trial, Tuned, select
from neuraltrees.tuning.workers import Job, Workers

Tell: TypeAlias = Callable[[str], None]
Key = TypeVar("Key")

DEFAULTS = {each.name: each.default for each in fields(TrainConfig)}


@dataclass(frozen=True)
class Cell:
    """A training of several runs.

    Args:
        name: tells it from the other cells of its experiment.
        config: everything that decides its outcome.
    """

    name: Name
    config: TrainConfig

    @classmethod
    def of(cls, name: Name, **values: Any) -> Cell:
        """A cell with the preset of its dataset and network, but for the values given."""
        defaults = preset(values["dataset"], values["model"], values["conv"])
        return cls(name, TrainConfig(**(defaults | values)))


def run_cells(experiment: str, cells: Sequence[Cell], path: Path, device: str, tell: Tell) -> Results:
    """Trains the cells that the JSON file does not have yet, and returns all that it then has.

    The file is written after every cell. One of the same experiment with other settings raises `InputError`.
    """
    with open_store(path, experiment, defaults=DEFAULTS) as store:
        for number, cell in enumerate(cells, start=1):
            config, settings = cell.config, settings_of(cell.config)
            if store.get(cell.name, settings) is None:
                problem = load_problem(config)
                values = train_record(problem.task, config.network, config.training, problem.runs, device)
                record = store.add(cell.name, values, settings)
                test = mean_std([run["test"] for run in record["runs"]])
                tell(f"{number}/{len(cells)} {in_words(cell.name)}: {test} % in {record['seconds']:.0f} s")
    return store.results


def search_cells(cell: Cell, grid: Grid, stages: Stages, store: Store, device: str, workers: int, tell: Tell) -> Tuned:
    """A search over hyper-parameters around one cell, each trial stored as a cell; see `search`."""

    def job() -> Job:
        problem = load_problem(cell.config)
        return Job(problem.task, problem.runs, cell.config.network, cell.config.training, device)

    def on_trial(trial: Trial) -> None:
        if not trial.resumed:
            val = mean_std(trial.val)
            tell(f"{in_words(cell.name)}, {trial.point}: validation {val} % in {trial.seconds:.0f} s")

    with Workers(job, workers) as pool:
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
    """The test accuracies of the runs of one cell, by their seeds, or those of another kind."""
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
    """The configuration without what does not change the outcome."""
    return config.replace(device="cpu", data_root=None).as_dict()
