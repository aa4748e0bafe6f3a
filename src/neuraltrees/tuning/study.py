"""The record of a tuning: an Optuna study in SQLite, which any moment may interrupt, and what it is a study of."""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState, create_trial

from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, read_whole, write_whole
from neuraltrees.training.runs import Run
from neuraltrees.training.spec import NetworkSpec, TrainingSpec
from neuraltrees.tuning.trials import Grid, Point, TrialDone

SUBJECT, DATABASE, LOCK = "study.json", "study.db", "study.lock"


def has_study(folder: PathLike) -> bool:
    """Whether a folder holds a study, finished or not."""
    return any((Path(folder) / name).exists() for name in (SUBJECT, DATABASE))


def stored_grid(folder: PathLike) -> dict[str, Any]:
    """The values that the study in a folder tries, by name."""
    subject = _read_subject(Path(folder))
    return {name: subject[f"grid.{name}"] for name in Grid().values() if f"grid.{name}" in subject}


def subject_of(
    task: Task, runs: Sequence[Run], network: NetworkSpec, training: TrainingSpec, grid: Grid, device: str
) -> dict[str, Any]:
    """All that the result of a study depends on, by name; the values that are tuned are in the grid alone."""
    digest = sha256()
    for run in runs:
        digest.update(repr((run.seed, len(run.split.train))).encode())
        for mask in (run.split.train, run.split.val, run.split.test):
            digest.update(mask.numpy().tobytes())
    subject: dict[str, Any] = {"task": task.fingerprint(), "runs": digest.hexdigest(), "device": device}
    for part, spec in (("network", network), ("training", training)):
        subject |= {f"{part}.{name}": value for name, value in asdict(spec).items() if name not in grid.values()}
    return subject | {f"grid.{name}": list(values) for name, values in grid.values().items()}


class Study:
    """The trials that are done. A trial is written when it is over, in one transaction: none is ever half done."""

    def __init__(self, storage: optuna.storages.BaseStorage) -> None:
        sampler = optuna.samplers.RandomSampler()  # never asked: the grid says what is next
        self.stages = {
            stage: optuna.create_study(
                storage=storage,
                sampler=sampler,
                study_name=f"stage {stage}",
                direction="maximize",
                load_if_exists=True,
            )
            for stage in (1, 2)
        }

    def done(self, stage: int) -> dict[Point, TrialDone]:
        """The trials of a stage that are done."""
        found = {}
        for trial in self.stages[stage].get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            point, kept = Point(**trial.params), trial.user_attrs
            found[point] = TrialDone(stage, point, tuple(kept["val"]), tuple(kept["test"]), kept["seconds"])
        return found

    def add(self, trial: TrialDone, grid: Grid) -> None:
        """Keeps a trial of the stage that tries this grid."""
        self.stages[trial.stage].add_trial(
            create_trial(
                params=asdict(trial.point),
                distributions={name: CategoricalDistribution(values) for name, values in grid.values().items()},
                value=trial.val_mean,
                user_attrs={"val": list(trial.val), "test": list(trial.test), "seconds": trial.seconds},
            )
        )


@contextmanager
def open_study(folder: PathLike, subject: Mapping[str, Any]) -> Iterator[Study]:
    """The study in a folder, begun if there is none; one of another subject, or in use, raises `InputError`."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder), _quiet(), _opened(folder, subject) as storage:
        try:
            study = Study(storage)
        except Exception as error:
            raise _unreadable(folder, error) from error
        yield study


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two processes that both finish what is missing would do it twice. The lock ends with the process that has it."""
    with (folder / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Expected a folder in which nobody else tunes; another process does so in {folder}. "
                f"Wait for it, or choose another folder."
            ) from None
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _opened(folder: Path, subject: Mapping[str, Any]) -> Iterator[optuna.storages.RDBStorage]:
    path = (folder / DATABASE).resolve()
    if (folder / SUBJECT).exists():
        _check_subject(folder, subject)
    elif path.exists():
        raise InputError(f"Expected {SUBJECT} beside {path}, to know what it is a study of. Choose another folder.")
    else:
        write_whole(folder / SUBJECT, (json.dumps(subject, indent=2) + "\n").encode())
    try:
        # A URL gives some characters a meaning that they do not have in a path.
        connect = {"creator": lambda: sqlite3.connect(path, timeout=60)}
        storage = optuna.storages.RDBStorage(f"sqlite:///{DATABASE}", engine_kwargs=connect)
    except Exception as error:
        raise _unreadable(folder, error) from error
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _read_subject(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_whole(folder / SUBJECT))
    except ValueError as error:
        raise InputError(f"Expected {folder / SUBJECT} to be JSON; got: {error}. Choose another folder.") from None
    return found if isinstance(found, dict) else {}


def _check_subject(folder: Path, subject: Mapping[str, Any]) -> None:
    found = _read_subject(folder)
    differing = [
        name if name in ("task", "runs") else f"{name} ({found.get(name)} there, {subject.get(name)} here)"
        for name in dict.fromkeys([*subject, *found])
        if name not in found or name not in subject or found[name] != subject[name]
    ]
    if differing:
        raise InputError(
            f"Expected a folder with a study of the same task, runs, specification and grid, or with none; the one in "
            f"{folder} has another {', '.join(differing)}. Choose another folder, or the same values."
        )


def _unreadable(folder: Path, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:200]
    return InputError(f"Expected {folder / DATABASE} to be a study of Optuna; got: {reason}. Choose another folder.")
