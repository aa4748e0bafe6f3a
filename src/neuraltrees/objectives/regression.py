"""Regression: numbers per node or per graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.objectives.metric import Metric, Observe
from neuraltrees.objectives.numbers import check_numbers, named
from neuraltrees.objectives.objective import (
    Level,
    Loss,
    Objective,
    check_loss,
    checked_losses,
    find_metric,
    register_objective,
    tensor_labels,
)
from neuraltrees.objectives.prediction import Prediction, ValuePrediction
from neuraltrees.objectives.regression_metrics import MAE, RMSE

METRICS = {"mae": MAE, "rmse": RMSE}


def absolute_error(answers: Tensor, y: Tensor) -> Tensor:
    return (answers - y).abs()


def squared_error(answers: Tensor, y: Tensor) -> Tensor:
    return (answers - y).square()


@register_objective
class Regression(Objective):
    """The error of every target that is not missing.

    Targets `y` are numbers, or NaN for a missing one; one row of all targets per graph or per node.

    Args:
        targets: the names of the targets.
        level: numbers of graphs or of nodes.
        metric: "mae" (mean absolute error), "rmse" (root mean squared error) or your own `Metric`.
        loss: a function from answers (n, R, T) and targets (n, 1, T) to losses (n, R, T); by default the absolute error
            for "mae" and the squared error for "rmse".
        mean, std: mean and standard deviation of every target. If given, the network learns :math:`(y - mean) / std`,
            and the loss is computed in these units; metrics and predictions have the units of `y`. See `standardised`.

    >>> Regression(("logS",)).out_channels
    1
    """

    name = "regression"

    def __init__(
        self,
        targets: Sequence[str] = ("value",),
        level: Level = "graph",
        metric: str | Metric = "mae",
        loss: Loss | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        self.names = named("target", targets)
        self.mean, self.std = _statistics(mean, std, len(self.names))
        found = find_metric(metric, METRICS)
        self._metrics = {name: self._in_units(each) for name, each in (METRICS | {found.name: found}).items()}
        super().__init__(level, self._metrics[found.name])
        self._plain, self._given_loss = found, loss
        self.own_loss: Loss = check_loss(loss) or (squared_error if self.metric.name == "rmse" else absolute_error)

    def standardised(self, y: Tensor) -> Regression:
        """The same objective with the mean and standard deviation of these targets; NaN is ignored.

        Shapes: y :math:`(items, T)`

        >>> Regression(("logS",)).standardised(torch.tensor([[1.0], [3.0], [torch.nan]])).mean
        (2.0,)
        """
        mean, std = [], []
        for name, column in zip(self.names, y.reshape(-1, len(self.names)).double().unbind(1), strict=True):
            known = column[~column.isnan()]
            if not len(known):
                raise InputError(f"Expected a training {self.level} with a number for {name}; all are missing.")
            mean.append(float(known.mean()))
            spread = float(known.std()) if len(known) > 1 else 0.0
            # The deviation of a constant is a rounding error; do not divide by it.
            std.append(spread if spread > 1e-6 * abs(mean[-1]) else 1.0)
        return type(self)(self.names, self.level, self._plain, self._given_loss, mean, std)

    def _in_units(self, metric: Metric) -> Metric:
        """The metric of answers in the units of the targets."""
        if self.mean is None or self.std is None:
            return metric
        return replace(metric, observe=partial(_in_units, observe=metric.observe, mean=self.mean, std=self.std))

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return self._metrics

    @property
    def out_channels(self) -> int:
        return len(self.names)

    def check(self, graph: Data, node_type: Tensor) -> None:
        check_numbers(tensor_labels(graph), self.level, len(node_type), len(self.names), "targets")
        y = self.labels_of(graph)
        if y.isinf().any():
            raise InputError("Expected finite targets y, or NaN for none; got infinity.")

    def labels_of(self, graph: Data) -> Tensor:
        return self.targets([graph], ())

    def targets(self, graphs: Sequence[Data], node_types: Sequence[Tensor]) -> Tensor:
        return torch.cat([graph.y.reshape(-1, len(self.names)) for graph in graphs]).float()

    def weight(self, y: Tensor) -> Tensor:
        return (~y.isnan()).float().sum(1)

    def loss(self, answers: Tensor, y: Tensor) -> Tensor:
        known, truth = ~y.isnan().unsqueeze(1), y.nan_to_num(0.0).unsqueeze(1).to(answers.dtype)
        if self.mean is not None and self.std is not None:
            truth = scaled(truth, self.mean, self.std)
        return (checked_losses(self.own_loss(answers, truth), answers.shape) * known).sum(-1)

    def predict(self, answers: Tensor) -> Tensor:
        return answers if self.mean is None or self.std is None else unscaled(answers, self.mean, self.std)

    def answers(self, predicted: Tensor) -> Tensor:
        return predicted if self.mean is None or self.std is None else scaled(predicted, self.mean, self.std)

    def describe(self, predicted: Tensor, types: Sequence[int], top: int = 1) -> list[Prediction]:
        return [ValuePrediction(self.level, tuple(zip(self.names, row, strict=True))) for row in predicted.tolist()]

    def as_dict(self) -> dict[str, Any]:
        metric = self.metric.name if self.metric.name in METRICS else "mae"
        scale = {} if self.mean is None or self.std is None else {"mean": list(self.mean), "std": list(self.std)}
        return {"targets": list(self.names), "level": self.level, "metric": metric, **scale}


def unscaled(answers: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Converts answers from standard deviations to the units of the targets.

    Shapes: answers :math:`(..., T)` → the same
    """
    # Column by column with plain numbers, since a captured step cannot copy a list to the GPU.
    columns = zip(answers.unbind(-1), mean, std, strict=True)
    return torch.stack([column * spread + middle for column, middle, spread in columns], -1)


def scaled(y: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Targets in standard deviations from the mean.

    Shapes: y :math:`(..., T)` → the same
    """
    columns = zip(y.unbind(-1), mean, std, strict=True)
    return torch.stack([(column - middle) / spread for column, middle, spread in columns], -1)


def _in_units(answers: Tensor, y: Tensor, observe: Observe, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    return observe(unscaled(answers, mean, std), y)


def _statistics(mean: Any, std: Any, width: int) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    """Both as one number per target, or None; `InputError` for anything else."""
    if mean is None and std is None:
        return None, None
    try:
        pair = torch.tensor([list(mean), list(std)], dtype=torch.float64)
    except (TypeError, ValueError):
        pair = torch.empty(0)
    if pair.shape != (2, width) or not bool(pair.isfinite().all()) or not bool((pair[1] > 0).all()):
        raise InputError(
            f"Expected mean and std as {width} finite number{'s' * (width > 1)} each, one per target, std above 0; got "
            f"{mean!r} and {std!r}."
        )
    return tuple(pair[0].tolist()), tuple(pair[1].tolist())
