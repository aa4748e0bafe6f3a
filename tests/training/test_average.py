"""Averaged weights: the slow average of all steps, evaluated and kept; resumed as if never broken."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neuraltrees.training import Trainer, fit
from neuraltrees.training.average import WeightAverage
from tests.training.tasks import QUICK, SMALL, small_runs, small_task

AVERAGED = QUICK.replace(average=0.7, epochs=8, batches=1)


def slow_average(history: list[dict[str, Tensor]], decay: float) -> dict[str, Tensor]:
    """The average from its definition, as a weighted sum over all weights there have been."""
    found = history[0]
    for step, weights in enumerate(history[1:]):
        keep = min(decay, (1 + step) / (10 + step))
        found = {name: keep * found[name] + (1 - keep) * value for name, value in weights.items()}
    return found


def weights_of(trainer: Trainer) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in trainer.network.state_dict().items()}


@pytest.mark.parametrize("conv", ["sage", "gin"])  # gin has batch norm, whose statistics are averaged too
def test_it_is_the_slow_average(conv: str) -> None:
    task = small_task()
    trainer = Trainer(task, SMALL.replace(conv=conv), AVERAGED, small_runs(task, [0, 1]))
    history = [weights_of(trainer)]
    for epoch in range(AVERAGED.epochs):
        trainer.run_epoch(epoch)
        history.append(weights_of(trainer))
    assert trainer.average is not None
    assert any("running" in name for name in trainer.average.values) == (conv == "gin")
    for name, value in slow_average(history, 0.7).items():
        torch.testing.assert_close(trainer.average.values[name], value)


def test_training_itself_does_not_change() -> None:
    task = small_task()
    runs = small_runs(task, [0, 1])
    plain, averaged = (fit(task, SMALL, AVERAGED.replace(average=each), runs) for each in (None, 0.7))
    assert torch.equal(plain.loss_curve, averaged.loss_curve)
    assert not torch.equal(plain.val_curve, averaged.val_curve)


@pytest.mark.parametrize("conv", ["sage", "gin"])
def test_what_is_kept_is_what_was_measured(conv: str) -> None:
    task = small_task()
    runs = small_runs(task, [0, 1])
    fitted = fit(task, SMALL.replace(conv=conv), AVERAGED, runs)
    right = fitted.answers().argmax(-1) == task.y.unsqueeze(1)
    for number, run in enumerate(runs):
        assert float(right[run.split.test, number].float().mean()) == float(fitted.test[number])


def test_it_goes_on_as_if_never_broken() -> None:
    task = small_task()
    runs = small_runs(task, [0, 1])
    whole = fit(task, SMALL, AVERAGED, runs)
    first, again = (Trainer(task, SMALL, AVERAGED, runs) for _ in range(2))
    for epoch in range(3):
        first.run_epoch(epoch)
    again.restore(first.state())
    again.train()
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, again.result().network.state_dict()[name])


def test_the_network_gets_its_own_weights_back() -> None:
    layer = torch.nn.Linear(2, 1)
    average = WeightAverage(layer, 0.5)
    before = layer.weight.detach().clone()
    with torch.no_grad():
        layer.weight += 1
    average.update(torch.tensor(100))
    with average.in_use():
        torch.testing.assert_close(layer.weight.detach(), before + 0.5)
    torch.testing.assert_close(layer.weight.detach(), before + 1)
