"""Trainings by several processes and by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.nn.parallel import Group
from neuraltrees.training import NetworkSpec, Run, Task, Trainer, TrainingSpec
from neuraltrees.training.executors import CutTrees, DataParallel, Executor
from tests.training.tasks import paths, small_runs, small_task


@dataclass(frozen=True)
class Training:
    """What is trained, and how; `labels` are those of nodes or of graphs."""

    network: NetworkSpec
    training: TrainingSpec
    labels: str = "nodes"
    seeds: list[int] = field(default_factory=lambda: [0, 1])

    def problem(self) -> tuple[Task, list[Run]]:
        if self.labels == "nodes":
            task = small_task(13)
            return task, small_runs(task, self.seeds)
        graphs = [Data(x=each.x, edge_index=each.edge_index, y=each.x.mean().view(1)) for each in paths(17)]
        task = Task(graphs, nt.Regression(["mean"]))
        splits = [nt.datasets.random_node_split(len(graphs), seed=seed) for seed in self.seeds]
        return task, [Run(seed, split) for seed, split in zip(self.seeds, splits, strict=True)]

    def trainer(self, executor: Executor | None = None, **changes: Any) -> Trainer:
        task, runs = self.problem()
        return Trainer(task, self.network, self.training.replace(**changes), runs, executor=executor)


def outcome(trainer: Trainer) -> dict[str, Tensor]:
    """Losses and metrics of every epoch, and the answers of the best ones.

    Not the weights: Adam makes steps of full size of gradients that are zero but for rounding, such as that of a bias
    before a batch norm.
    """
    names = ("epoch", "waited", "best_epoch", "best_val", "best_test", "curves", "step")
    state = {name: value for name, value in trainer.state().items() if name in names}
    return state | {"answers": trainer.result().answers()}


def trained(given: Training) -> dict[str, Tensor]:
    """By one process."""
    trainer = given.trainer()
    trainer.train()
    return outcome(trainer)


def trained_together(group: Group, given: Training, cuts: bool) -> dict[str, Tensor]:
    """By one of several processes."""
    trainer = given.trainer((CutTrees if cuts else DataParallel)(group))
    trainer.train()
    return outcome(trainer)


def begun(group: Group, given: Training, cuts: bool, epochs: int) -> dict[str, Tensor]:
    """The state after some epochs."""
    trainer = given.trainer((CutTrees if cuts else DataParallel)(group), epochs=epochs)
    trainer.train()
    return trainer.state()


def continued(group: Group, given: Training, cuts: bool, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """From such a state to the end."""
    trainer = given.trainer((CutTrees if cuts else DataParallel)(group))
    trainer.restore(state)
    trainer.train()
    return outcome(trainer)


def order_of_items(group: Group, given: Training) -> list[list[int]]:
    """The items of every step of two epochs that this process computes."""
    trainer = given.trainer(DataParallel(group))
    return [sorted(step.batch().items.tolist()) for epoch in range(2) for step in trainer.source.steps(epoch)]


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        close = {"rtol": 1e-4, "atol": 1e-4} if name == "answers" else {"rtol": 1e-5, "atol": 1e-5}
        torch.testing.assert_close(found[name], value, equal_nan=True, **close)
