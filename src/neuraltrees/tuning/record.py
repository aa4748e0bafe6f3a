"""The record of a training in a store: the metrics of every run, the duration and the machine."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from neuraltrees.data.task import Task
from neuraltrees.training.checkpoint import Checkpoint
from neuraltrees.training.fitting import trained
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.trainer import OnEpoch
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.tuning.grid import Point
from neuraltrees.tuning.store import Record
from neuraltrees.version import __version__


def train_record(
    task: Task,
    network: NetworkSpec,
    training: TrainingSpec,
    runs: Sequence[Run],
    device: torch.device | str = "cpu",
    on_epoch: OnEpoch | None = None,
    checkpoint: Checkpoint | None = None,
    ensemble: int = 1,
) -> Record:
    """Trains every run to the end; metrics are those of the best validation epoch, NaN for a run that diverged.

    With `ensemble`, every so many runs count as one, whose metrics are those of their mean predictions; those of the
    single networks are its `members`. Numbers of parameters are those of all networks of a run.
    """
    fitted = trained(task, network, training, runs, device, on_epoch, checkpoint)
    columns = (fitted.val.tolist(), fitted.test.tolist(), fitted.best_epoch.tolist())
    found = [
        {"seed": run.seed, "split": list(run.split.counts), "val": val, "test": test, "best_epoch": epoch}
        for run, val, test, epoch in zip(runs, *columns, strict=True)
    ]
    if ensemble > 1:
        together = fitted.ensembles(ensemble)
        single = [found[first : first + ensemble] for first in range(0, len(found), ensemble)]
        found = [
            {"seed": members[0]["seed"], "split": members[0]["split"], "val": each.val, "test": each.test}
            | {"members": [{name: one[name] for name in ("val", "test", "best_epoch")} for one in members]}
            for each, members in zip(together, single, strict=True)
        ]
    return {
        "runs": found,
        "parameters": sum(each.numel() for each in fitted.network.parameters()) // len(found),
        "seconds": round(fitted.seconds, 3),
        "epochs_run": len(fitted.loss_curve),
        **machine(device, fitted.threads),
    }


@dataclass(frozen=True)
class TrialJob:
    """What all trials of a search have in common; its answer for a point of the grid is the record of a training."""

    task: Task
    runs: Sequence[Run]
    network: NetworkSpec
    training: TrainingSpec
    device: str = "cpu"
    word: str = "trial"
    saved: bool = True

    def answer(self, point: Point) -> Record:
        return train_record(self.task, *point.applied(self.network, self.training), self.runs, self.device)


def machine(device: torch.device | str, threads: int | None = None) -> dict[str, Any]:
    """The device, the number of CPU threads (by default torch's own) and the versions of a result."""
    cuda = torch.device(device).type == "cuda"
    threads = threads or torch.get_num_threads()
    cpu = f"CPU ({platform.machine()}, {threads} thread{'s' if threads > 1 else ''})"
    name = torch.cuda.get_device_name(device) if cuda else cpu
    versions = {"neuraltrees": __version__, "torch": torch.__version__, "python": platform.python_version()}
    return {"device": name, "versions": versions}
