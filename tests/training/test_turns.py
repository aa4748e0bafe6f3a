"""Runs that are trained one after another, because their states are large, give what they give together."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.training import fitting, source
from neuraltrees.training.checkpoint import Checkpoint
from neuraltrees.training.fitting import in_turns, trained
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.trainer import Trainer
from neuraltrees.training.training_spec import TrainingSpec

SPEC = NetworkSpec(hidden=8, layers=2, dropout=0.2)
TRAINING = TrainingSpec(epochs=4, lr=0.05, batches=2)


def task_of(graphs: int = 12) -> Task:
    draw = torch.Generator().manual_seed(0)
    pairs = torch.arange(6).view(3, 2).t()
    found = []
    for _ in range(graphs):
        x = torch.randn(6, 2, generator=draw)
        found.append(Data(x=x, y=(x[:, 0] > 0).long(), edge_index=pairs))
    return Task(found, {"node": ("left", "right")})


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run counts as large."""
    monkeypatch.setattr(fitting, "LARGE", 1)
    monkeypatch.setattr(fitting, "MOST", 1)


@pytest.mark.usefixtures("alone")
def test_runs_in_turns_give_what_they_give_together() -> None:
    task = task_of()
    runs = [Run(seed, task.split(seed)) for seed in (3, 4, 5)]
    assert [len(part) for part in in_turns(task, SPEC, TRAINING, runs, "cpu")] == [1, 1, 1]
    trainer = Trainer(task, SPEC, TRAINING, runs)
    trainer.train()
    together, found = trainer.result(), trained(task, SPEC, TRAINING, runs)
    for name in ("val", "test", "best_epoch", "loss_curve", "val_curve", "test_curve", "diverged_in"):
        torch.testing.assert_close(getattr(found, name), getattr(together, name), equal_nan=True)
    torch.testing.assert_close(found.answers(), together.answers())
    assert found.runs == tuple(runs)
    assert found.seconds > 0


def test_small_runs_are_trained_together() -> None:
    task = task_of()
    runs = [Run(seed, task.split(0)) for seed in range(3)]
    assert in_turns(task, SPEC, TRAINING, runs, "cpu") == [runs]
    large = NetworkSpec(hidden=2**12, layers=2)
    assert [len(part) for part in in_turns(task, large, TRAINING, runs, "cpu")] == [1, 1, 1]
    assert in_turns(task, large, TRAINING, runs, "cuda") == [runs]
    viewed = large.replace(schedule="bags", parts="graph", views=True)
    assert in_turns(task, viewed, TRAINING, runs, "cpu") == [runs], "states of views are few"
    assert len(in_turns(task, viewed.replace(parts="graph,tree"), TRAINING, runs, "cpu")) == 3
    wide = NetworkSpec(hidden=2**11, layers=2)
    assert [len(part) for part in in_turns(task, wide, TRAINING, runs, "cpu")] == [3]


def test_shuffled_batches_of_other_splits_are_not_separated() -> None:
    task, large = task_of(), NetworkSpec(hidden=2**12, layers=2)
    shuffled = TRAINING.replace(shuffle=True)
    assert len(in_turns(task, large, shuffled, [Run(seed, task.split(0)) for seed in range(3)], "cpu")) == 3
    assert len(in_turns(task, large, shuffled, [Run(seed, task.split(seed)) for seed in range(3)], "cpu")) == 1


@pytest.mark.usefixtures("alone")
def test_an_interrupted_turn_goes_on(tmp_path: Path) -> None:
    """The first run is done and the second one interrupted: neither begins again."""
    task = task_of()
    runs = [Run(seed, task.split(seed)) for seed in (0, 1)]
    checkpoint = Checkpoint(tmp_path / "unfinished" / "one.safetensors", {"data": "test"})
    whole = trained(task, SPEC, TRAINING, runs)
    epochs: list[int] = []

    def stop(epoch: object) -> None:
        epochs.append(1)
        if len(epochs) == 6:
            raise KeyboardInterrupt

    fast = pytest.MonkeyPatch()
    fast.setattr(fitting, "EVERY", 0.0)
    with pytest.raises(KeyboardInterrupt):
        trained(task, SPEC, TRAINING, runs, on_epoch=stop, checkpoint=checkpoint)
    fast.undo()
    assert len(list(checkpoint.path.parent.iterdir())) == 2
    epochs.clear()
    again = trained(task, SPEC, TRAINING, runs, on_epoch=lambda epoch: epochs.append(1), checkpoint=checkpoint)
    assert len(epochs) == 2
    assert torch.equal(again.loss_curve, whole.loss_curve)
    assert torch.equal(again.answers(), whole.answers())
    assert not checkpoint.path.parent.exists()


def few(task: Task, seed: int, train: int = 2) -> Split:
    """A split of whole graphs: two graphs train, the others validate and test."""
    order = torch.randperm(len(task.graphs), generator=torch.Generator().manual_seed(seed))
    parts = order[:train], order[train : train + 5], order[train + 5 :]
    masks = [torch.zeros(len(task.graphs), dtype=torch.bool).index_fill(0, part, True) for part in parts]
    return Split(*(mask.repeat_interleave(6) for mask in masks))


def test_steps_leave_out_graphs_that_no_run_trains_on(monkeypatch: pytest.MonkeyPatch) -> None:
    task, plain = task_of(20), SPEC.replace(dropout=0.0)
    runs = [Run(seed, few(task, seed)) for seed in (0, 1)]
    trainer = Trainer(task, plain, TRAINING, runs)
    nodes = [sum(len(step.batch().y) for step in trainer.source.steps(0)), sum(len(each.y) for each in trainer.batches)]
    assert nodes[0] <= 6 * 2 * 2 and nodes[1] == task.num_nodes
    trainer.train()
    monkeypatch.setattr(source, "graphs_to_train_on", lambda task, train: None)
    whole = Trainer(task, plain, TRAINING, runs)
    assert sum(len(step.batch().y) for step in whole.source.steps(0)) == task.num_nodes
    whole.train()
    found, expected = trainer.result(), whole.result()
    torch.testing.assert_close(found.loss_curve, expected.loss_curve)
    torch.testing.assert_close(found.answers(), expected.answers())


def test_all_graphs_stay_where_most_nodes_train_or_batches_have_statistics() -> None:
    task = task_of(20)
    many = Trainer(task, SPEC, TRAINING, [Run(0, few(task, 0, train=10))])
    normed = Trainer(task, SPEC.replace(conv="gin"), TRAINING, [Run(0, few(task, 0))])
    for trainer in (many, normed):
        assert sum(len(step.batch().y) for step in trainer.source.steps(0)) == task.num_nodes


@pytest.mark.usefixtures("alone")
def test_runs_in_turns_leave_out_the_same_graphs() -> None:
    task = task_of(20)
    runs = [Run(seed, few(task, seed)) for seed in (0, 1, 2)]
    assert [len(part) for part in in_turns(task, SPEC, TRAINING, runs, "cpu")] == [1, 1, 1]
    trainer = Trainer(task, SPEC, TRAINING, runs)
    trainer.train()
    together, found = trainer.result(), trained(task, SPEC, TRAINING, runs)
    torch.testing.assert_close(found.loss_curve, together.loss_curve)
    torch.testing.assert_close(found.answers(), together.answers())
