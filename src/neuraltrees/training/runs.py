"""The inputs and the result of a training of R runs at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.errors import DivergedError, InputError
from neuraltrees.nn.network import Network
from neuraltrees.objectives import Confusion, Metric
from neuraltrees.training.batches import Known, divide
from neuraltrees.training.deck import planned_batches
from neuraltrees.training.executors import Executor
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.seeding import build_with
from neuraltrees.training.threads import computing_with, threads_for

MOST_STATES = 2**24  # numbers in the states of a batch


@dataclass(frozen=True)
class Run:
    """One run: the seed of its weights and its dropout, and its split."""

    seed: int
    split: Split

    def __post_init__(self) -> None:
        if check_seed(self.seed) >= 2**63:
            raise InputError(f"Expected a seed below 2^63; got {self.seed}.")
        if not isinstance(self.split, Split):
            raise InputError(f"Expected split as a Split, such as task.split(seed); got {type(self.split).__name__}.")


@dataclass(frozen=True)
class Epoch:
    """Per-run metrics of an epoch.

    Args:
        number: number of the epoch, from 1.
        of: number of all epochs.
        loss: mean training loss.
        val, test: metric of the validation and test items.
        best_val: the best validation metric so far.

    Shapes: loss, val, test and best_val :math:`(R)`
    """

    number: int
    of: int
    loss: Tensor
    val: Tensor
    test: Tensor
    best_val: Tensor


@dataclass(frozen=True)
class RunReport:
    """The metrics of one run on a part of its split.

    Args:
        metrics: all metrics of the objective by name; NaN for a run that diverged at once.
        confusions: the confusion matrix of each node type, or of graphs, if labels are classes.
    """

    metrics: dict[str, float]
    confusions: tuple[Confusion, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"metrics": self.metrics, "classes": [each.as_dict() for each in self.confusions]}


@dataclass(frozen=True)
class Ensemble:
    """Several runs with the same split that predict together, by the mean of their predictions.

    Args:
        runs: their numbers, without those that diverged at once.
        val, test: the objective's metric of their mean predictions; NaN without runs.
    """

    runs: tuple[int, ...]
    val: float
    test: float


@dataclass(frozen=True, repr=False)
class Fitted:
    """Trained networks: for every run the metrics at its best validation epoch, and the weights it had then.

    Args:
        task, spec: the task, and the specification of the network.
        network: the R networks, with the weights of their best epochs.
        val, test: the objective's metric at the best epoch; NaN for a run that diverged at once.
        best_epoch: the number of the best epoch, from 1; 0, with the initial weights, for a run that diverged at once.
        loss_curve, val_curve, test_curve: mean training loss and metrics of every epoch, NaN after a run has stopped.
        seconds: duration of the training.
        threads: number of CPU threads that it used.
        runs: seed and split of each run.
        diverged_in: the first epoch whose training loss was not finite; 0 if there is none.
        known: the labels that every run may read, for a network that reads labels.
        executor: the executor of the training, which also computes `answers`.

    Shapes: val, test, best_epoch and diverged_in :math:`(R)`, curves :math:`(E, R)`
    """

    task: Task
    spec: NetworkSpec
    network: Network
    val: Tensor
    test: Tensor
    best_epoch: Tensor
    loss_curve: Tensor
    val_curve: Tensor
    test_curve: Tensor
    seconds: float
    threads: int = 1
    runs: Sequence[Run] = ()
    diverged_in: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    known: Known | None = None
    executor: Executor = field(default_factory=Executor)

    @classmethod
    def join(cls, parts: Sequence[Fitted]) -> Fitted:
        """The runs of several trainings of the same task and specification, one after another."""
        first, *others = parts
        if not others:
            return first
        epochs = max(len(part.loss_curve) for part in parts)
        weights = [part.network.state_dict() for part in parts]
        joined = {name: torch.cat([each[name] for each in weights]) for name in weights[0]}
        runs = tuple(run for part in parts for run in part.runs)
        return replace(
            first,
            network=build_with(first.spec, first.task, joined).to(next(iter(joined.values())).device).eval(),
            val=torch.cat([part.val for part in parts]),
            test=torch.cat([part.test for part in parts]),
            best_epoch=torch.cat([part.best_epoch for part in parts]),
            loss_curve=torch.cat([_padded(part.loss_curve, epochs) for part in parts], 1),
            val_curve=torch.cat([_padded(part.val_curve, epochs) for part in parts], 1),
            test_curve=torch.cat([_padded(part.test_curve, epochs) for part in parts], 1),
            seconds=sum(part.seconds for part in parts),
            threads=max(part.threads for part in parts),
            runs=runs,
            diverged_in=torch.cat([part.diverged_in for part in parts]),
            known=None if first.known is None else known_labels(first.task, runs),
        )

    @property
    def best_run(self) -> int:
        """The run with the best validation metric; `DivergedError` if all diverged at once."""
        metric, known = self.task.objective.metric, self.best_epoch > 0
        if not known.any():
            raise DivergedError(
                "Expected a run with a finite validation metric; all diverged. Lower lr, or set clip, in TrainingSpec."
            )
        values = self.val.nan_to_num(metric.worst)
        return int(values.argmax() if metric.higher_is_better else values.argmin())

    def report(self, part: Literal["train", "val", "test"] = "test") -> list[RunReport]:
        """All metrics of every run and, if labels are classes, precision, recall and F1 of each class.

        Args:
            part: the part of its split that a run is evaluated on.
        """
        if part not in ("train", "val", "test"):
            raise InputError(f"Expected part out of train, val, test; got {part!r}.")
        objective, y, answers = self.task.objective, self.task.targets, self.answers()
        masks = torch.stack([getattr(run.split, part) for run in self.runs], 1) & objective.labelled(y).unsqueeze(1)
        observed = {name: metric.observe(answers, y) for name, metric in objective.metrics.items()}
        values = {name: objective.metrics[name].reduce(seen, y, masks.float()) for name, seen in observed.items()}
        reports = []
        for run, epoch in enumerate(self.best_epoch.tolist()):
            if epoch == 0:
                reports.append(RunReport(dict.fromkeys(values, math.nan)))
                continue
            used = masks[:, run]
            confusions = objective.confusions(answers[used, run], y[used])
            reports.append(RunReport({name: float(each[run]) for name, each in values.items()}, confusions))
        return reports

    @torch.no_grad()
    def answers(self, batches: int | None = None) -> Tensor:
        """The answers of every run for every item of the task, before the objective converts them to predictions.

        If several processes trained, all of them must call it, and each gets all answers.

        Args:
            batches: number of batches that the graphs are divided into; by default at least 8, and so many that the
                states of a batch's nodes take about 64 MiB.

        Shapes: → :math:`(items, R, C)`
        """
        if batches is None:
            batches = max(8, self.task.num_nodes * len(self.runs) * self.spec.hidden // MOST_STATES)
        check_at_least("batches", batches, 1)
        found: Tensor | None = None
        executor, group = self.executor, self.executor.group
        if not executor.cuts:  # every process has a graph in every batch
            batches = max(1, min(batches, len(self.task.graphs) // group.size))
        divided = [executor.share(each) for each in divide(self.task, batches)]
        parts = group if executor.cuts else None
        for batch in planned_batches(self.task, self.network.eval(), divided, self.known, group=parts):
            with computing_with(threads_for(self.network, batch.plan)):
                answers = self.network(batch.x, batch.plan, edge_attr=batch.edges)
            if found is None:
                nothing = torch.nan if group.size == 1 else 0.0
                found = answers.new_full((self.task.num_items, *answers.shape[1:]), nothing)
            found[batch.items] = answers
        assert found is not None
        return executor.total(found).cpu()

    def mean_predictions(self, groups: Sequence[Sequence[int]], batches: int | None = None) -> Tensor:
        """The mean prediction of each group of runs, such as the runs of one split.

        Shapes: → :math:`(items, groups, C)`
        """
        predicted = self.task.objective.predict(self.answers(batches))
        return torch.stack([predicted[:, list(group)].mean(1) for group in groups], 1)

    def ensembles(self, size: int, batches: int | None = None) -> list[Ensemble]:
        """The first `size` runs as an ensemble, the next `size` runs as another, and so on.

        Args:
            size: runs per ensemble, which have the same split; see `neuraltrees.training.runs.of_ensembles`.
            batches: see `answers`.
        """
        if not 1 <= size <= len(self.runs) or len(self.runs) % size:
            raise InputError(f"Expected a size that divides the {len(self.runs)} runs; got {size}.")
        groups = [range(first, first + size) for first in range(0, len(self.runs), size)]
        for group in groups:
            first, *others = [self.runs[run].split for run in group]
            if not all(first.equals(each) for each in others):
                raise InputError(
                    f"Expected the runs {group[0]} to {group[-1]} of an ensemble to have the same split; got others."
                )
        objective, y = self.task.objective, self.task.targets
        predicted, metric = objective.predict(self.answers(batches).double()), objective.metric
        trained = [tuple(run for run in group if int(self.best_epoch[run])) for group in groups]
        missing = torch.full_like(predicted[:, 0], torch.nan)
        means = [predicted[:, list(group)].mean(1) if group else missing for group in trained]
        observed = metric.observe(objective.answers(torch.stack(means, 1)), y)
        values = []
        for part in (1, 2):
            used = torch.stack([_parts(self.runs[group[0]].split)[part] for group in groups], 1)
            mask = used & objective.labelled(y).unsqueeze(1)
            values.append(metric.reduce(observed, y, mask.to(observed.dtype)).tolist())
        return [Ensemble(*each) for each in zip(trained, *values, strict=True)]

    def __repr__(self) -> str:
        metric = self.task.objective.metric
        shown = f"{metric.name} {metric.show(float(self.test.nanmean()))}"
        return f"Fitted({self.spec.name}, {len(self.test)} runs, test {shown})"


def _padded(curve: Tensor, epochs: int) -> Tensor:
    return torch.cat([curve, curve.new_full((epochs - len(curve), curve.shape[1]), torch.nan)])


def of_ensembles(task: Task, seeds: Sequence[int], size: int) -> list[Run]:
    """The runs of ensembles, one ensemble per seed, one after another.

    The runs of an ensemble have the split of its seed. The first has the seed itself, the others add a million each, so
    that they are the same however many ensembles there are.
    """
    splits = [task.split(seed) for seed in seeds]
    members = range(check_at_least("ensemble", size, 1))
    return [Run(seed + member * 10**6, split) for seed, split in zip(seeds, splits, strict=True) for member in members]


def best_of(ensembles: Sequence[Ensemble], metric: Metric) -> Ensemble | None:
    """The ensemble with the best validation metric; None if there is none with a network."""
    sign = 1 if metric.higher_is_better else -1
    return max((each for each in ensembles if each.runs), key=lambda each: sign * each.val, default=None)


def _parts(split: Split) -> tuple[Tensor, Tensor, Tensor]:
    return split.train, split.val, split.test


def known_labels(task: Task, runs: Sequence[Run]) -> Known:
    """The training labels of every run, for a network that reads labels."""
    labels = task.objective.readable(task.targets).cpu().unsqueeze(1)
    train = torch.stack([run.split.train for run in runs], 1).cpu()
    return Known(torch.where(train, labels, -1), tuple(run.seed for run in runs))
