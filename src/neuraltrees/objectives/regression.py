"""Numbers, per node or per graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.objectives.metric import Metric
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
    """The error of every target, over those that are not missing.

    Targets `y` are numbers, NaN where one is missing. Of a graph: a row of as many as there are targets.

    Args:
        targets: the names of the targets.
        level: numbers of graphs or of nodes.
        metric: "mae" (mean absolute error), "rmse" (root mean squared error) or one's own.
        loss: a function of the answers (n, R, T) and the targets (n, 1, T) to losses (n, R, T); by default the absolute
            error for "mae" and the squared error for "rmse".

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
    ) -> None:
        super().__init__(level, find_metric(metric, METRICS))
        self.names = named("target", targets)
        self.own_loss: Loss = check_loss(loss) or (squared_error if self.metric.name == "rmse" else absolute_error)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return METRICS | {self.metric.name: self.metric}

    @property
    def out_channels(self) -> int:
        return len(self.names)

    def check(self, graph: Data, node_type: Tensor) -> None:
        check_numbers(tensor_labels(graph), self.level, len(node_type), len(self.names), "targets")
        y = self.labels_of(graph)
        if y.isinf().any():
            raise InputError("Expected finite targets y, or NaN for none; got infinity.")

    def labels_of(self, graph: Data) -> Tensor:
        y: Tensor = graph.y
        return y.reshape(-1, len(self.names)).float()

    def weight(self, y: Tensor) -> Tensor:
        return (~y.isnan()).float().sum(1)

    def loss(self, answers: Tensor, y: Tensor) -> Tensor:
        known, truth = ~y.isnan().unsqueeze(1), y.nan_to_num(0.0).unsqueeze(1).to(answers.dtype)
        return (checked_losses(self.own_loss(answers, truth), answers.shape) * known).sum(-1)

    def predict(self, answers: Tensor) -> Tensor:
        return answers

    def describe(self, predicted: Tensor, types: Sequence[int], top: int = 1) -> list[Prediction]:
        return [ValuePrediction(self.level, tuple(zip(self.names, row, strict=True))) for row in predicted.tolist()]

    def as_dict(self) -> dict[str, Any]:
        metric = self.metric.name if self.metric.name in METRICS else "mae"
        return {"targets": list(self.names), "level": self.level, "metric": metric}
