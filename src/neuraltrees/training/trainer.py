"""Trains R independent runs at once: own seed, split, weights, dropout and best snapshot each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor

from neuraltrees.checks import check_seed
from neuraltrees.data.task import Task
from neuraltrees.datasets import Split
from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.dropout import Coins
from neuraltrees.nn.models import Network
from neuraltrees.training.batches import Portion, portions
from neuraltrees.training.executors import Replay
from neuraltrees.training.spec import NetworkSpec, TrainingSpec


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
    """What there is to say after an epoch, for every run.

    Shapes: loss, val, test and best_val :math:`(R)`
    """

    number: int
    of: int
    loss: Tensor
    val: Tensor
    test: Tensor
    best_val: Tensor


@dataclass(frozen=True)
class Fitted:
    """What came out: for every run the accuracies at its best validation epoch, and the weights it had then.

    Args:
        task, spec: what was trained on and what was trained.
        network: the R networks, with the weights of their best epoch.
        val, test: accuracies at that epoch.
        best_epoch: its number, from 1; 0 with the first weights for a run that diverged at once.
        loss_curve, val_curve, test_curve: mean training loss and accuracies of every epoch, NaN once a run had stopped.
        seconds: how long the training took.

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


OnEpoch: TypeAlias = Callable[[Epoch], None]


def fit(
    task: Task,
    network: NetworkSpec,
    training: TrainingSpec,
    runs: Sequence[Run],
    device: torch.device | str = "cpu",
    on_epoch: OnEpoch | None = None,
) -> Fitted:
    """Trains every run to the end; see `Trainer` for training in steps.

    >>> from torch_geometric.data import Data
    >>> from neuraltrees.datasets import random_node_split
    >>> x = torch.randn(20, 2)
    >>> pairs = torch.arange(20).view(10, 2).t()
    >>> task = Task([Data(x=x, y=(x[:, 0] > 0).long(), edge_index=pairs)], {"node": ("left", "right")})
    >>> runs = [Run(seed, random_node_split(20, 0.5, 0.2, 0.3, seed)) for seed in (0, 1)]
    >>> fitted = fit(task, NetworkSpec(hidden=8, layers=2), TrainingSpec(epochs=3), runs)
    >>> fitted.test.shape, fitted.loss_curve.shape
    (torch.Size([2]), torch.Size([3, 2]))
    """
    trainer = Trainer(task, network, training, runs, device)
    trainer.train(on_epoch)
    return trainer.result()


class Trainer:
    """The training of R runs, epoch by epoch.

    All that changes is in tensors: the weights of the runs, Adam's moments, the numbers of the epoch and the step, the
    best snapshots and the curves. `state` gives them, `restore` takes them back; from there training goes on as if it
    had never been interrupted, since neither the dropout nor the order of the batches has a memory of its own.

    Args:
        task: the graphs.
        network: the network to train.
        training: how to train it.
        runs: seed and split of each run.
        device: where to train; on a GPU the steps are captured once and replayed.
    """

    def __init__(
        self,
        task: Task,
        network: NetworkSpec,
        training: TrainingSpec,
        runs: Sequence[Run],
        device: torch.device | str = "cpu",
    ) -> None:
        if not isinstance(runs, Sequence) or not runs:
            raise InputError(f"Expected a list of at least one Run; got {runs!r}.")
        for run in runs:
            if not isinstance(run, Run):
                raise InputError(f"Expected runs as Run(seed, split); got {type(run).__name__}.")
            task.check_split(run.split, training.every_class)
        self.task, self.spec = task, network
        self.training, self.device, count = training, check_device(device), len(runs)
        self.network = _seeded(network, task, [run.seed for run in runs]).to(self.device)
        if network.model == "neural-tree":
            task = task.with_trees()
        self.divisions = [
            portions(task, self.network, network.merge, training.batches, self.device, number)
            for number in range(training.divisions)
        ]
        self.portions = self.divisions[0]
        self.coins = Coins(torch.tensor([run.seed for run in runs], device=self.device))
        self.network.set_coins(self.coins)
        masks = [torch.stack(part, 1).to(self.device) for part in zip(*map(_masks, runs), strict=True)]
        self.train_mask, self.val_mask, self.test_mask = masks
        self.lr = torch.tensor(training.lr, device=self.device)
        self.optimiser = torch.optim.Adam(
            self.network.parameters(),
            lr=self.lr,
            weight_decay=training.weight_decay,
            fused=True,
            capturable=self.device.type == "cuda",
        )
        self.best = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        self.correct = torch.zeros(task.num_nodes, count, device=self.device)
        self.diverged = torch.zeros(count, dtype=torch.bool, device=self.device)
        self.running_loss = torch.zeros(count, device=self.device)
        self.epoch = torch.zeros((), dtype=torch.int64, device=self.device)
        self.waited = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.best_epoch = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.best_val = torch.full((count,), -1.0, device=self.device)
        self.best_test = torch.full((count,), -1.0, device=self.device)
        self.curves = torch.full((3, training.epochs, count), float("nan"), device=self.device)
        self.seconds = 0.0
        self._replay = Replay(self.device)

    @property
    def epochs_done(self) -> int:
        return int(self.epoch)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or every run has stopped early."""
        return self.epochs_done >= self.training.epochs or bool(self._stopped().all())

    def train(self, on_epoch: OnEpoch | None = None) -> None:
        """Runs the epochs that are left, telling of each; on a GPU of every tenth, as it waits for nothing between."""
        rhythm = 1 if self.device.type == "cpu" else 10
        done = first = self.epochs_done
        start, before = time.perf_counter(), self.seconds
        while done < self.training.epochs and not (done == first and self.finished):
            self.run_epoch(done)
            done += 1
            if done % rhythm == 0 or done == self.training.epochs:
                self.seconds = before + time.perf_counter() - start
                if on_epoch is not None:
                    on_epoch(self.report())
                if self.finished:
                    break

    def report(self) -> Epoch:
        """The last epoch."""
        done = self.epochs_done
        loss, val, test = self.curves[:, done - 1].cpu()
        return Epoch(done, self.training.epochs, loss, val, test, self.best_val.cpu())

    def result(self) -> Fitted:
        """The best epoch of every run; the network gets the weights it had then."""
        done = self.epochs_done
        if done == 0:
            raise InputError("Expected at least one epoch of training before the result; got none.")
        self.network.set_coins(None)
        network = deepcopy(self.network)
        self.network.set_coins(self.coins)
        network.load_state_dict(self.best)
        loss, val, test = self.curves[:, :done].cpu()
        return Fitted(
            self.task,
            self.spec,
            network.eval(),
            self.best_val.clamp(min=0).cpu(),
            self.best_test.clamp(min=0).cpu(),
            self.best_epoch.cpu(),
            loss,
            val,
            test,
            self.seconds,
        )

    def state(self) -> dict[str, Tensor]:
        """All tensors that change, by name."""
        names = ("epoch", "waited", "best_epoch", "best_val", "best_test", "curves")
        state = {name: getattr(self, name) for name in names}
        state["step"] = self.coins.step
        state["seconds"] = torch.tensor(self.seconds, dtype=torch.float64)
        state |= {f"network.{name}": value for name, value in self.network.state_dict().items()}
        state |= {f"best.{name}": value for name, value in self.best.items()}
        for name, parameter in self.network.named_parameters():
            for part, value in self.optimiser.state[parameter].items():
                state[f"adam.{part}.{name}"] = value
        return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in state.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Goes back to a state of the same training."""
        self._prepare_adam()
        own = self.state()
        shapes, theirs = ({name: value.shape for name, value in each.items()} for each in (own, state))
        if shapes != theirs:
            wrong = sorted(name for name in shapes.keys() | theirs.keys() if shapes.get(name) != theirs.get(name))
            raise InputError(f"Expected the state of this very training; got another: {', '.join(wrong[:4])} differ.")
        for name in ("epoch", "waited", "best_epoch", "best_val", "best_test", "curves"):
            getattr(self, name).copy_(state[name])
        self.coins.go_to(state["step"])
        self.running_loss.zero_()
        self.seconds = float(state["seconds"])
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                value.copy_(state[f"network.{name}"])
            for name, value in self.best.items():
                value.copy_(state[f"best.{name}"])
            for name, parameter in self.network.named_parameters():
                for part, moment in self.optimiser.state[parameter].items():
                    moment.copy_(state[f"adam.{part}.{name}"])

    def run_epoch(self, done: int) -> None:
        """Runs one epoch, the one after so many."""
        decay = self.training.decay_every
        self.lr.fill_(self.training.lr * (self.training.decay ** (done // decay) if decay else 1))
        # It depends on the epoch alone, so that it is the same for any runs and after a break.
        order = torch.randperm(len(self.portions), generator=torch.Generator().manual_seed(done))
        division = done % len(self.divisions)
        with _products(self.training.tf32 and self.device.type == "cuda"):
            self.network.train()
            for number in order.tolist():
                self._replay(("step", division, number), partial(self._step, self.divisions[division][number]))
            self.network.eval()
            self._replay("finish", self._finish_epoch)

    def _step(self, batch: Portion) -> None:
        self.optimiser.zero_grad()
        logits = self.network.run(batch.x, batch.plan, batch.node_type)
        labels = batch.y.clamp(min=0).view(-1, 1, 1).expand(-1, logits.shape[1], 1)
        losses = -logits.log_softmax(-1).gather(-1, labels).squeeze(-1)
        mask = self.train_mask[batch.nodes]
        losses = losses * mask
        # Runs share nothing, so the sum of their losses has the gradient of each; one without a node here gets zero.
        counts = mask.sum(0).clamp(min=1)
        torch.autograd.backward((losses.sum(0) / counts).sum())
        self.optimiser.step()
        self.coins.go_to(self.coins.step + 1)
        self.running_loss += losses.detach().sum(0)

    def evaluate(self) -> None:
        """Finds out which nodes every run labels right."""
        self._replay("evaluate", self._evaluate)

    @torch.no_grad()
    def _evaluate(self) -> None:
        for batch in self.portions:
            best = self.network.run(batch.x, batch.plan, batch.node_type).max(-1)
            self.correct[batch.nodes] = (best.indices == batch.y.view(-1, 1)).to(self.correct)
            self.diverged |= ~best.values.isfinite().all(0)

    @torch.no_grad()
    def _finish_epoch(self) -> None:
        self.diverged.zero_()
        self._evaluate()
        val, test = ((self.correct * mask).sum(0) / mask.sum(0) for mask in (self.val_mask, self.test_mask))
        going = ~self._stopped()
        loss = self.running_loss / self.train_mask.sum(0)
        row = torch.where(going, torch.stack([loss, val, test]), torch.nan)
        self.curves.index_copy_(1, self.epoch.view(1), row.unsqueeze(1))
        self.running_loss.zero_()
        self.epoch += 1
        # A network that has diverged says nothing, though the largest of its NaNs has a place and may be right.
        better = going & ~self.diverged & (val > self.best_val)
        for old, new in ((self.best_val, val), (self.best_test, test), (self.best_epoch, self.epoch)):
            old.copy_(torch.where(better, new, old))
        self.waited.copy_(torch.where(better, 0, self.waited + 1))
        for name, value in self.network.state_dict().items():
            of_run = better.view(-1, *[1] * (value.dim() - 1))
            self.best[name].copy_(torch.where(of_run, value, self.best[name]))

    def _stopped(self) -> Tensor:
        patience = self.training.patience
        return torch.zeros_like(self.waited, dtype=torch.bool) if patience is None else self.waited >= patience

    def _prepare_adam(self) -> None:
        """Makes Adam's moments, which it makes itself in its first step, without moving the weights."""
        for parameter in self.network.parameters():
            if not self.optimiser.state[parameter]:
                step = torch.zeros((), dtype=torch.float32, device=self.device)
                zero = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                self.optimiser.state[parameter] = {"step": step, "exp_avg": zero, "exp_avg_sq": zero.clone()}


@contextmanager
def _products(tf32: bool) -> Iterator[None]:
    """Products of matrices with rounded factors for a while, if that is wanted."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def check_device(name: torch.device | str) -> torch.device:
    """The device of that name, if this machine has it."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise InputError(f"Expected a device such as cpu or cuda; got {name!r}.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"Expected a device that is there; got {name}, and CUDA is not available. Use cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(f"Expected one of {torch.cuda.device_count()} CUDA devices; got {name}.")
    return device


def _seeded(spec: NetworkSpec, task: Task, seeds: Sequence[int]) -> Network:
    """R networks, each with the weights that it would have alone."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        together = spec.build(task.num_features, task.classes, runs=len(seeds))
        for run, seed in enumerate(seeds):
            torch.manual_seed(seed)
            alone = spec.build(task.num_features, task.classes, runs=1)
            for mine, value in zip(together.parameters(), alone.parameters(), strict=True):
                mine[run] = value[0]
    return together


def _masks(run: Run) -> tuple[Tensor, Tensor, Tensor]:
    return run.split.train.float(), run.split.val.float(), run.split.test.float()
