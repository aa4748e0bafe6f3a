"""Cells of an experiment: trainings that have a name, run once, and are kept in a JSON file with every run."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

import torch

from neuraltrees.errors import InputError
from neuraltrees.files import write_whole
from neuraltrees.training.config import TrainConfig, preset
from neuraltrees.training.problem import load_problem
from neuraltrees.training.trainer import fit
from neuraltrees.version import __version__

Name: TypeAlias = Mapping[str, str | int | float | None]
Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """A training of several runs.

    Args:
        name: what tells it from the other cells of its experiment.
        config: everything that decides its outcome.
    """

    name: Name
    config: TrainConfig

    @classmethod
    def of(cls, name: Name, **values: Any) -> Cell:
        """A cell with the preset of its dataset and network, but for the values given."""
        defaults = preset(values["dataset"], values["model"], values["conv"])
        return cls(name, TrainConfig(**(defaults | values)))


def run_cells(experiment: str, cells: Sequence[Cell], path: Path, device: str, tell: Tell) -> dict[str, Any]:
    """Trains the cells that the JSON file does not have yet, and returns all that it then has.

    The file is written whole after every cell. A file of the same experiment with other settings raises `InputError`.
    """
    content = load_results(path, experiment) or {"experiment": experiment, "cells": []}
    done = {json.dumps(dict(cell["name"])): cell for cell in content["cells"]}
    for number, cell in enumerate(cells, start=1):
        found = done.get(json.dumps(dict(cell.name)))
        settings = _settings(cell.config)
        if found is not None:
            # A setting that the file does not know is younger than the file, whose runs had what is now the default.
            had = _DEFAULTS | found["settings"]
            differ = [name for name, value in settings.items() if had[name] != value]
            if differ:
                raise InputError(
                    f"Expected {path} to hold {_in_words(cell.name)} with {differ[0]} = {settings[differ[0]]!r}; "
                    f"got {had[differ[0]]!r}. Choose another --out."
                )
            continue
        problem = load_problem(cell.config)
        fitted = fit(problem.task, cell.config.network, cell.config.training, problem.runs, device)
        values = zip(fitted.val.tolist(), fitted.test.tolist(), fitted.best_epoch.tolist(), strict=True)
        runs = [
            {"seed": run.seed, "split": list(run.split.counts), "val": val, "test": test, "best_epoch": epoch}
            for run, (val, test, epoch) in zip(problem.runs, values, strict=True)
        ]
        content["cells"].append(
            {
                "name": dict(cell.name),
                "settings": settings,
                "runs": runs,
                "seconds": round(fitted.seconds, 3),
                "epochs_run": len(fitted.loss_curve),
                **machine(device),
            }
        )
        write_whole(path, json.dumps(content, indent=1).encode())
        mean, spread = 100 * float(fitted.test.mean()), 100 * float(fitted.test.std()) if len(runs) > 1 else 0.0
        tell(f"{number}/{len(cells)} {_in_words(cell.name)}: {mean:.1f} ± {spread:.1f} % in {fitted.seconds:.0f} s")
    return content


def load_results(path: Path, experiment: str) -> dict[str, Any]:
    """What the file of an experiment holds, nothing if there is none; any other file raises `InputError`."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"Expected results in {path}; got no JSON: {error}. Choose another --out.") from None
    if not isinstance(content, dict) or content.get("experiment") != experiment:
        raise InputError(f"Expected results of {experiment} in {path}; got something else. Choose another --out.")
    return content


def machine(device: str) -> dict[str, Any]:
    """What a result was made on."""
    cuda = torch.device(device).type == "cuda"
    threads = torch.get_num_threads()
    cpu = f"CPU ({platform.machine()}, {threads} thread{'s' if threads > 1 else ''})"
    name = torch.cuda.get_device_name(device) if cuda else cpu
    versions = {"neuraltrees": __version__, "torch": torch.__version__, "python": platform.python_version()}
    return {"device": name, "versions": versions}


def accuracies(content: Mapping[str, Any], kind: str = "test", **name: Any) -> list[float]:
    """The test accuracies of the runs of one cell, by their seeds, or those of another kind."""
    for cell in content["cells"]:
        if all(cell["name"].get(key) == value for key, value in name.items()):
            return [run[kind] for run in sorted(cell["runs"], key=lambda run: int(run["seed"]))]
    raise InputError(f"Expected a cell {_in_words(name)} in the results of {content.get('experiment')}; got none.")


def _settings(config: TrainConfig) -> dict[str, Any]:
    """The configuration as JSON gives it back, without what does not change the outcome."""
    settings: dict[str, Any] = json.loads(json.dumps(config.replace(device="cpu", data_root=None).as_dict()))
    return settings


def _in_words(name: Name) -> str:
    return ", ".join(f"{key} {value}" for key, value in name.items())


_DEFAULTS = {each.name: each.default for each in fields(TrainConfig)}
