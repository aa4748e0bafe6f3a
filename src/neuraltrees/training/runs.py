"""What goes into a training of R runs at once, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.checks import check_seed
from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.nn.network import Network
from neuraltrees.training.batches import Known, divide, make_batches
from neuraltrees.training.spec import NetworkSpec


@dataclass(frozen=True)
class Run:
    """One of the runs: the seed of its weights and its dropout, and its split."""

    seed: int
    split: Split

    def __post_init__(self) -> None:
        if check_seed(self.seed) >= 2**63:
            raise InputError(f"Expected a seed below 2^63; got {self.seed}.")


@dataclass(frozen=True)
class Epoch:
    """Per-run metrics of an epoch.

    Args:
        number: of the epoch, from 1.
        of: how many epochs there are.
        loss: mean training loss.
        val, test: metric of the validation and test items.
        best_val: the best metric of the validation items so far.

    Shapes: loss, val, test and best_val :math:`(R)`
    """

    number: int
    of: int
    loss: Tensor
    val: Tensor
    test: Tensor
    best_val: Tensor


@dataclass(frozen=True, repr=False)
class Fitted:
    """Trained networks: for every run the metrics at its best validation epoch, and the weights it had then.

    Args:
        task, spec: what was trained on and what was trained.
        network: the R networks, with the weights of their best epoch.
        val, test: the objective's metric at that epoch; NaN for a run that never had one, as it diverged at once.
        best_epoch: its number, from 1; 0 with the first weights for a run that diverged at once.
        loss_curve, val_curve, test_curve: mean training loss and metrics of every epoch, NaN once a run had stopped.
        seconds: how long the training took.
        known: the labels that every run may read, for a network that reads labels.

    Shapes: val, test and best_epoch :math:`(R)`, curves :math:`(E, R)`
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
    known: Known | None = None

    @torch.no_grad()
    def answers(self, batches: int = 8) -> Tensor:
        """What every run answers for every item of the task, before the objective makes predictions of it.

        Shapes: → :math:`(items, R, C)`
        """
        found: Tensor | None = None
        for batch in make_batches(self.task, self.network.eval(), divide(self.task, batches), self.known):
            answers = self.network(batch.x, batch.plan, edge_attr=batch.edges)
            if found is None:
                found = answers.new_full((self.task.num_items, *answers.shape[1:]), torch.nan)
            found[batch.items] = answers
        assert found is not None
        return found.cpu()

    def mean_predictions(self, groups: Sequence[Sequence[int]], batches: int = 8) -> Tensor:
        """The mean prediction of each of some groups of runs, such as those of one split.

        Shapes: → :math:`(items, groups, C)`
        """
        predicted = self.task.objective.predict(self.answers(batches))
        return torch.stack([predicted[:, list(group)].mean(1) for group in groups], 1)

    def __repr__(self) -> str:
        metric = self.task.objective.metric
        shown = f"{metric.name} {metric.show(float(self.test.nanmean()))}"
        return f"Fitted({self.spec.model} + {self.spec.conv}, {len(self.test)} runs, test {shown})"
