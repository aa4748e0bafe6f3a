"""Trains R independent runs at once, each with its own seed, split, weights, dropout and best weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.modules.dropout import _DropoutNd

from neuraltrees.checks import count_threads
from neuraltrees.data.task import Task
from neuraltrees.errors import InputError
from neuraltrees.training.arguments import check_arguments, check_on_epoch
from neuraltrees.training.average import WeightAverage
from neuraltrees.training.batches import GraphBatch
from neuraltrees.training.device import check_device, rounded_products
from neuraltrees.training.executors import Executor, executor_for
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.optimiser import RunOptimiser
from neuraltrees.training.runs import Epoch, Fitted, Run, known_labels
from neuraltrees.training.seeding import build_seeded, build_with
from neuraltrees.training.source import Step, source_for
from neuraltrees.training.threads import computing_with, threads_for
from neuraltrees.training.training_spec import TrainingSpec

OnEpoch: TypeAlias = Callable[[Epoch], None]

CURVES = ("epoch", "waited", "best_epoch", "best_val", "best_test", "curves")


class Trainer:
    """The training of R runs, epoch by epoch.

    It uses the `forward` and the plans of a network, and the loss and the metric of the task's objective. Its whole
    state is in tensors: weights, the optimiser's moments, the numbers of the epoch and the step, the best weights and
    the curves. `state` returns them and `restore` sets them; training then continues as if it had not been interrupted,
    since dropout and the order of batches depend only on these numbers.

    Args:
        task: the graphs and the objective.
        network: the network to train.
        training: how to train it.
        runs: seed and split of each run.
        device: the device to train on.
        executor: how the work is executed; by default steps on a GPU are captured once and replayed.
        threads: number of CPU threads. By default one for small networks and graphs, where several threads would mostly
            wait for each other, and up to torch's own number for large ones.
        company: runs that are trained in turns with these, and have the same batches.
    """

    def __init__(
        self,
        task: Task,
        network: NetworkSpec,
        training: TrainingSpec,
        runs: Sequence[Run],
        device: torch.device | str = "cpu",
        executor: Executor | None = None,
        threads: int | None = None,
        company: Sequence[Run] = (),
    ) -> None:
        check_arguments(task, network, training, runs, executor)
        for run in runs:
            task.check_split(run.split, training.every_class)
        self.task, self.spec, self.objective = task, network, task.objective
        self.training, self.device, self.runs, count = training, check_device(device), tuple(runs), len(runs)
        self.network = build_seeded(network, task, [run.seed for run in runs]).to(self.device)
        if training.compile:
            self.network.compile(dynamic=False)
        own_dropout = any(isinstance(each, _DropoutNd) for each in self.network.modules())
        replayed = self.network.capturable and not own_dropout and training.accumulate == 1
        self.executor = executor or executor_for(self.device, replayed)
        cuts, group = self.executor.cuts, self.executor.group
        if cuts or (self.network.needs_tree and not self.network.schedule.cuttable):
            task = task.with_trees()
        if not cuts:
            self.network.set_group(group)
        self.known = known_labels(self.task, runs) if self.network.reads_labels else None
        seeds = torch.tensor([run.seed for run in runs], device=self.device)
        masks = self.network.set_dropout(seeds, 0 if cuts else group.rank)
        assert masks is not None
        self.dropout_masks = masks
        self.y = task.targets.to(self.device)
        weight = self.objective.weight(self.y)
        labelled = self.objective.labelled(self.y).float().unsqueeze(1)
        splits = [torch.stack(part, 1).to(self.device) for part in zip(*map(_masks, runs), strict=True)]
        self.train_mask, self.val_mask, self.test_mask = (mask * labelled for mask in splits)
        self.train_weight = self.train_mask * weight.unsqueeze(1)
        # The last row is for padding, which takes the place of an item in a batch.
        self.train_mask, self.train_weight = (
            F.pad(each, (0, 0, 0, 1)) for each in (self.train_mask, self.train_weight)
        )
        train = torch.stack([run.split.train for run in (*runs, *company)], 1).any(1)
        measured = ((self.val_mask + self.test_mask) > 0).any(1)
        masked = (self.train_weight, train, measured)
        self.source = source_for(task, self.network, training, self.executor, self.known, masked)
        largest = max(threads_for(self.network, batch.plan) for batch in self.source.largest)
        self.threads = largest if threads is None else count_threads(threads)
        # torch's dropout in the user's own parts draws from torch's generator, which is then seeded by the step.
        self.draws = own_dropout
        self.optimiser = RunOptimiser(self.network, training, self.device)
        self.average = None if training.average is None else WeightAverage(self.network, training.average)
        self.best = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        self.observed: Tensor | None = None
        self.running_loss = torch.zeros(count, device=self.device)
        self.epoch = torch.zeros((), dtype=torch.int64, device=self.device)
        self.waited = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.best_epoch = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.best_val = torch.full((count,), self.objective.metric.worst, device=self.device)
        self.best_test = torch.full((count,), torch.nan, device=self.device)
        self.curves = torch.full((3, training.epochs, count), torch.nan, device=self.device)
        self.seconds = 0.0

    @property
    def batches(self) -> Sequence[GraphBatch]:
        """Batches with all items that metrics are computed on."""
        return self.source.batches

    @property
    def epochs_done(self) -> int:
        return int(self.epoch)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or every run has stopped early."""
        return self.epochs_done >= self.training.epochs or bool(self._stopped().all())

    def train(self, on_epoch: OnEpoch | None = None) -> None:
        """Runs the remaining epochs and reports each; on a GPU every tenth, since a report waits for the GPU."""
        check_on_epoch(on_epoch)
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
        """The last epoch; metrics are the last that were computed."""
        done = self.epochs_done
        every = self.training.evaluate_every
        measured = done if done == self.training.epochs else max(every, done - done % every)
        loss = self.curves[0, done - 1].cpu()
        val, test = self.curves[1:, min(measured, self.training.epochs) - 1].cpu()
        return Epoch(done, self.training.epochs, loss, val, test, self.best_val.cpu())

    def result(self) -> Fitted:
        """The metrics of the best epoch of every run, and a new network with the weights of these epochs."""
        done = self.epochs_done
        if done == 0:
            raise InputError("Expected at least one epoch of training before the result; got none.")
        network = build_with(self.spec, self.task, self.best).to(self.device)
        loss, val, test = self.curves[:, :done].cpu()
        never = self.best_epoch == 0
        return Fitted(
            self.task,
            self.spec,
            network.eval(),
            self.best_val.masked_fill(never, torch.nan).cpu(),
            self.best_test.masked_fill(never, torch.nan).cpu(),
            self.best_epoch.cpu(),
            loss,
            val,
            test,
            self.seconds,
            self.threads,
            self.runs,
            self._diverged_in(),
            self.known,
            self.executor,
        )

    def state(self) -> dict[str, Tensor]:
        """All tensors that training changes, by name."""
        state = {name: getattr(self, name) for name in CURVES}
        state["step"] = self.dropout_masks.step
        state["seconds"] = torch.tensor(self.seconds, dtype=torch.float64)
        state |= {f"network.{name}": value for name, value in self.network.state_dict().items()}
        state |= {f"average.{name}": value for name, value in self._averages().items()}
        state |= {f"best.{name}": value for name, value in self.best.items()}
        state |= {f"adam.{name}": value for name, value in self.optimiser.state().items()}
        return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in state.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restores a state of the same training, whose number of epochs may have been different.

        Training then continues with the present number of epochs. The result equals that of an uninterrupted training,
        unless the learning rate depends on the number of epochs (`cosine`) and that number has changed.
        """
        own, state = self.state(), self._with_room(state)
        shapes, theirs = ({name: value.shape for name, value in each.items()} for each in (own, state))
        if shapes != theirs:
            wrong = sorted(name for name in shapes.keys() | theirs.keys() if shapes.get(name) != theirs.get(name))
            raise InputError(f"Expected a state of this training; got another: {', '.join(wrong[:4])} differ.")
        for name in CURVES:
            getattr(self, name).copy_(state[name])
        self.dropout_masks.go_to(state["step"])
        self.running_loss.zero_()
        self.seconds = float(state["seconds"])
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                value.copy_(state[f"network.{name}"])
            for name, value in self._averages().items():
                value.copy_(state[f"average.{name}"])
            for name, value in self.best.items():
                value.copy_(state[f"best.{name}"])
            for name, value in self.optimiser.state().items():
                value.copy_(state[f"adam.{name}"])

    def _with_room(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """A state whose curves have room for the epochs of this training."""
        if not isinstance(state, dict):
            raise InputError(f"Expected the state of a training, as state() returns it; got {type(state).__name__}.")
        if not {"curves", "epoch"} <= state.keys() or state["curves"].dim() != 3:
            return state
        done, curves = int(state["epoch"]), state["curves"]
        if done > self.training.epochs:
            raise InputError(
                f"Expected at least the {done} epochs that are done already; got epochs = {self.training.epochs}."
            )
        resized = curves.new_full((curves.shape[0], self.training.epochs, curves.shape[2]), torch.nan)
        resized[:, :done] = curves[:, :done]
        return state | {"curves": resized}

    def run_epoch(self, done: int) -> None:
        """Runs epoch `done`, zero-based."""
        self.optimiser.set_rate(self.training.rate(done))
        with computing_with(self.threads), rounded_products(self.device, self.training.tf32, self.training.bf16):
            self.network.train()
            for step in self.source.steps(done):
                with self._seeded() if self.draws else nullcontext():
                    self.executor(step.name, partial(self._step, step))
            measured = (done + 1) % self.training.evaluate_every == 0 or done + 1 == self.training.epochs
            if measured:
                self.evaluate()
            if self.objective.metric.capturable:
                self.executor(("finish", measured), partial(self._finish_epoch, measured))
            else:
                self._finish_epoch(measured)

    @contextmanager
    def _seeded(self) -> Iterator[None]:
        with torch.random.fork_rng():
            torch.manual_seed(self.dropout_masks.seed_of(0, 0))
            yield

    def _step(self, step: Step) -> None:
        batch = step.batch()
        if step.first:
            self.optimiser.zero_grad()
        if batch.lessons:
            losses = self.network.loss(batch.x, batch.lessons[step.lesson], batch.edges)
            losses = losses * self.objective.weight(batch.y).to(losses.dtype).unsqueeze(1)
        else:
            losses = self.objective.loss(self.network(batch.x, batch.plan, edge_attr=batch.edges), batch.y)
        losses = losses * self.train_mask[batch.items]
        # Runs are independent, so the gradient of the sum of their losses is the gradient of each.
        torch.autograd.backward((losses.sum(0) / step.weight).sum())
        if step.last:
            self.executor.sum_gradients(self.network.parameters())
            self.optimiser.step(step.idle)
            if self.average is not None:
                self.average.update(self.dropout_masks.step)
        self.dropout_masks.go_to(self.dropout_masks.step + 1)
        self.running_loss += losses.detach().sum(0)

    def evaluate(self) -> None:
        """Computes the metric's observations of the answers of every run for all items."""
        self.network.eval()
        with computing_with(self.threads):
            if self.observed is None:
                # The metric determines the shape; the tensor must exist before the work below is captured.
                seen = self._observed(self.source.batches[0])
                self.observed = seen.new_zeros(self.task.num_items, *seen.shape[1:])
            self.executor("evaluate", self._evaluate)

    @torch.no_grad()
    def _evaluate(self) -> None:
        assert self.observed is not None
        self.observed.zero_()
        with nullcontext() if self.average is None else self.average.in_use():
            for batch in self.source.batches:
                self.observed[batch.items] = self._observed(batch)
        self.executor.total(self.observed)

    @torch.no_grad()
    def _observed(self, batch: GraphBatch) -> Tensor:
        # These batches have other shapes than those of steps, for which the network is compiled.
        network = self.network.forward if self.training.compile else self.network
        answers: Tensor = network(batch.x, batch.plan, edge_attr=batch.edges)
        return self.objective.metric.observe(answers, batch.y)

    @torch.no_grad()
    def _finish_epoch(self, measured: bool = True) -> None:
        metric = self.objective.metric
        val = test = torch.full_like(self.best_val, torch.nan)
        if measured:
            assert self.observed is not None
            val, test = (metric.reduce(self.observed, self.y, mask) for mask in (self.val_mask, self.test_mask))
        going = ~self._stopped()
        loss = self.executor.total(self.running_loss) / self.train_weight.sum(0)
        row = torch.where(going, torch.stack([loss, val, test]), torch.nan)
        self.curves.index_copy_(1, self.epoch.view(1), row.unsqueeze(1))
        self.running_loss.zero_()
        self.epoch += 1
        if not measured:
            self.waited += 1
            return
        better = going & metric.better(val, self.best_val)
        for old, new in ((self.best_val, val), (self.best_test, test), (self.best_epoch, self.epoch)):
            old.copy_(torch.where(better, new, old))
        self.waited.copy_(torch.where(better, 0, self.waited + 1))
        for name, value in (self.network.state_dict() | self._averages()).items():
            of_run = better.view(-1, *[1] * (value.dim() - 1))
            self.best[name].copy_(torch.where(of_run, value, self.best[name]))

    def _averages(self) -> dict[str, Tensor]:
        """The averaged weights; empty without averaging."""
        return {} if self.average is None else self.average.values

    def _stopped(self) -> Tensor:
        patience = self.training.patience
        return torch.zeros_like(self.waited, dtype=torch.bool) if patience is None else self.waited >= patience

    def _diverged_in(self) -> Tensor:
        """The first epoch of every run whose loss was not finite; 0 for none."""
        done, number = self.epochs_done, torch.arange(1, self.epochs_done + 1).unsqueeze(1)
        patience = self.training.patience
        last = torch.full_like(self.best_epoch, done) if patience is None else self.best_epoch + patience
        broken = ~self.curves[0, :done].isfinite().cpu() & (number <= last.cpu())
        return torch.where(broken.any(0), broken.int().argmax(0) + 1, 0)


def _masks(run: Run) -> tuple[Tensor, Tensor, Tensor]:
    return run.split.train.float(), run.split.val.float(), run.split.test.float()
