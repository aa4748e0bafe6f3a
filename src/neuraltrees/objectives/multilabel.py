"""Several binary labels per node or per graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
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
from neuraltrees.objectives.prediction import MultiLabelPrediction, Prediction
from neuraltrees.objectives.ranking_metrics import AVERAGE_PRECISION, ROC_AUC

METRICS = {"roc-auc": ROC_AUC, "average-precision": AVERAGE_PRECISION}


@register_objective
class MultiLabel(Objective):
    """Binary cross entropy of every label that is not missing.

    Labels `y` are 0 or 1, or NaN or -1 for a missing label; one row of all labels per graph or per node.

    Args:
        labels: the names of the labels.
        level: labels of graphs or of nodes.
        metric: "roc-auc" or "average-precision", the mean over labels, or your own `Metric`.
        loss: a function that replaces the cross entropy, from logits (n, R, L) and labels (n, 1, L) to losses
            (n, R, L).

    >>> MultiLabel(("toxic", "soluble")).out_channels
    2
    """

    name = "multi-label"

    def __init__(
        self,
        labels: Sequence[str],
        level: Level = "graph",
        metric: str | Metric = "roc-auc",
        loss: Loss | None = None,
    ) -> None:
        super().__init__(level, find_metric(metric, METRICS))
        self.labels, self.own_loss = named("label", labels), check_loss(loss)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return METRICS | {self.metric.name: self.metric}

    @property
    def out_channels(self) -> int:
        return len(self.labels)

    def check(self, graph: Data, node_type: Tensor) -> None:
        check_numbers(tensor_labels(graph), self.level, len(node_type), len(self.labels), "labels")
        y = self.labels_of(graph)
        wrong = ~(y.isnan() | (y == 0) | (y == 1))
        if wrong.any():
            raise InputError(f"Expected labels y of 0, 1, or NaN or -1 for none; got {float(y[wrong][0]):g}.")

    def labels_of(self, graph: Data) -> Tensor:
        return self.targets([graph], ())

    def targets(self, graphs: Sequence[Data], node_types: Sequence[Tensor]) -> Tensor:
        y = torch.cat([graph.y.reshape(-1, len(self.labels)) for graph in graphs]).float()
        return torch.where(y == -1, torch.nan, y)

    def weight(self, y: Tensor) -> Tensor:
        return (~y.isnan()).float().sum(1)

    def loss(self, answers: Tensor, y: Tensor) -> Tensor:
        known, truth = ~y.isnan().unsqueeze(1), y.nan_to_num(0.0).unsqueeze(1).to(answers.dtype)
        if self.own_loss is not None:
            losses = checked_losses(self.own_loss(answers, truth), answers.shape)
        else:
            losses = F.binary_cross_entropy_with_logits(answers, truth.expand_as(answers), reduction="none")
        return (losses * known).sum(-1)

    def check_measurable(self, y: Tensor, part: str) -> None:
        positive, negative = (y == 1).any(0), (y == 0).any(0)
        if self.metric.name in METRICS and not bool((positive & negative).any()):
            raise InputError(
                f"Expected {part} {self.level}s with and without some label, so that {self.metric.name} is defined; "
                f"every label is the same for all of them. Use more {part} {self.level}s, or another seed."
            )

    def predict(self, answers: Tensor) -> Tensor:
        return answers.sigmoid()

    def answers(self, predicted: Tensor) -> Tensor:
        return predicted.logit(eps=torch.finfo(predicted.dtype).eps)

    def describe(self, predicted: Tensor, types: Sequence[int], top: int = 1) -> list[Prediction]:
        rows = predicted.tolist()
        return [MultiLabelPrediction(self.level, tuple(zip(self.labels, row, strict=True))) for row in rows]

    def as_dict(self) -> dict[str, Any]:
        metric = self.metric.name if self.metric.name in METRICS else "roc-auc"
        return {"labels": list(self.labels), "level": self.level, "metric": metric}
