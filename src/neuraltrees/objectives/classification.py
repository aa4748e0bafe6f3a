"""One label out of several, per node or per graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.objectives.classification_metrics import ACCURACY, macro_f1
from neuraltrees.objectives.confusion import Confusion
from neuraltrees.objectives.metric import Metric
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
from neuraltrees.objectives.prediction import LabelPrediction, Prediction


@register_objective
class Classification(Objective):
    r"""Cross entropy :math:`-\log \mathrm{softmax}(a)_y`, and accuracy.

    Labels `y` are integers from 0, or -1 for a missing label; one integer per node or per graph.

    Args:
        labels: the names of the classes, or a mapping of node types to them.
        level: labels of nodes or of graphs.
        metric: "accuracy", "macro-f1" or your own `Metric`.
        class_weights: the weights of the classes, in the order of the labels; for several node types a mapping of types
            to lists.
        loss: a function that replaces the cross entropy, from logits (n, R, C) and labels (n) to losses (n, R).

    >>> Classification(("cat", "dog")).out_channels
    {'node': 2}
    """

    name = "classification"

    def __init__(
        self,
        labels: Sequence[str] | Mapping[str, Sequence[str]],
        level: Level = "node",
        metric: str | Metric = "accuracy",
        class_weights: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        loss: Loss | None = None,
    ) -> None:
        self.labels = _named(labels, level)
        self.width = max(len(names) for names in self.labels.values())
        known = {"accuracy": ACCURACY, "macro-f1": macro_f1(self.width, len(self.labels))}
        found = find_metric(metric, known)
        # Labels are numbered over all node types; only F1 uses these numbers, other metrics those within a type.
        self._metrics = {
            name: _of_own_type(each, self.width) if len(self.labels) > 1 and name != "macro-f1" else each
            for name, each in (known | {found.name: found}).items()
        }
        super().__init__(level, self._metrics[found.name])
        if level == "graph" and len(self.labels) > 1:
            raise InputError(f"Expected the labels of graphs; got those of {len(self.labels)} node types.")
        self.class_weights = None if class_weights is None else _weights(class_weights, self.labels, self.width)
        self.own_loss = check_loss(loss)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return self._metrics

    def confusions(self, answers: Tensor, y: Tensor) -> tuple[Confusion, ...]:
        kinds, found = y // self.width, list[Confusion]()
        for kind, (name, labels) in enumerate(self.labels.items()):
            mine = kinds == kind
            predicted = answers[mine, : len(labels)].argmax(-1)
            found.append(Confusion.of(name, tuple(labels), self._label(y[mine]), predicted))
        return tuple(found)

    @property
    def out_channels(self) -> Mapping[str, int]:
        return {name: len(names) for name, names in self.labels.items()}

    def check(self, graph: Data, node_type: Tensor) -> None:
        y: Tensor | None = tensor_labels(graph)
        size = node_type.shape[0] if self.level == "node" else 1
        wrong_size = y is not None and y.numel() != size if self.level == "graph" else y is None or y.shape != (size,)
        if y is None or wrong_size or y.is_floating_point() or y.dtype == torch.bool:
            came = "none" if y is None else f"{y.dtype} of shape {tuple(y.shape)}"
            raise InputError(f"Expected labels y as integers of shape ({size},); got {came}.{self._advice(y, size)}")
        y = y.long().flatten()
        counts = torch.tensor(list(self.out_channels.values()))
        limit = counts[node_type] if self.level == "node" else counts
        wrong = ((y < -1) | (y >= limit)).nonzero().flatten()
        if len(wrong):
            item = int(wrong[0])
            name = list(self.labels)[int(node_type[item])] if self.level == "node" else "graph"
            where = f" at node {item}" if self.level == "node" else ""
            raise InputError(
                f"Expected {name} labels between 0 and {int(limit[item]) - 1}, or -1 for none; "
                f"got {int(y[item])}{where}."
            )

    def _advice(self, y: Tensor | None, size: int) -> str:
        if self.level == "node" and y is not None and y.numel() == 1 and size > 1:
            return " For labels of graphs: Classification(labels, level='graph')."
        if y is not None and y.is_floating_point():
            return " For numbers: Regression; for several labels at once: MultiLabel."
        return ""

    def targets(self, graphs: Sequence[Data], node_types: Sequence[Tensor]) -> Tensor:
        """Labels numbered over all node types, `width` numbers per type; -1 for a missing label."""
        y = torch.cat([graph.y.long().flatten() for graph in graphs])
        if len(self.labels) == 1:
            return y
        return torch.where(y < 0, -1, y + self.width * torch.cat(list(node_types)))

    def _label(self, y: Tensor) -> Tensor:
        """The label within its node type; 0 if it is missing."""
        known = y.clamp(min=0)
        return known if len(self.labels) == 1 else known % self.width

    def labelled(self, y: Tensor) -> Tensor:
        return y >= 0

    def readable(self, y: Tensor) -> Tensor:
        if self.level == "graph" or self.own_loss is not None:
            return super().readable(y)
        return torch.where(y < 0, -1, self._label(y))

    def weight(self, y: Tensor) -> Tensor:
        known = (y >= 0).float()
        return known if self.class_weights is None else known * self.class_weights.to(y.device)[y.clamp(min=0)]

    def loss(self, answers: Tensor, y: Tensor) -> Tensor:
        labels = self._label(y)
        if self.own_loss is not None:
            losses = checked_losses(self.own_loss(answers, labels), answers.shape[:2])
        else:
            index = labels.view(-1, 1, 1).expand(-1, answers.shape[1], 1)
            losses = -answers.log_softmax(-1).gather(-1, index).squeeze(-1)
        return losses if self.class_weights is None else losses * self.weight(y).to(losses.dtype).view(-1, 1)

    def predict(self, answers: Tensor) -> Tensor:
        return answers.softmax(-1)

    def answers(self, predicted: Tensor) -> Tensor:
        return predicted.log()

    def describe(self, predicted: Tensor, types: Sequence[int], top: int = 1) -> list[Prediction]:
        named = list(self.labels.items())
        found: list[Prediction] = []
        for item, row in enumerate(predicted.tolist()):
            kind, labels = named[types[item] if self.level == "node" else 0]
            ranked = sorted(zip(row, labels, strict=False), reverse=True)[:top]
            found.append(LabelPrediction(kind, tuple((label, share) for share, label in ranked)))
        return found

    def check_training(self, y: Tensor, node_type: Tensor, used: Tensor, train: Tensor) -> None:
        """Raises `InputError` if a label of the split has no training item."""
        known, y = y >= 0, self._label(y)
        for kind, (name, labels) in enumerate(self.labels.items()):
            mine = (node_type == kind) & known
            seen, taught = (y[mask & mine].bincount(minlength=len(labels)) for mask in (used, train))
            missing = [str(labels[label]) for label in ((seen > 0) & (taught == 0)).nonzero().flatten().tolist()]
            if missing:
                raise InputError(
                    f"Expected a training {self.level} of every {name} label; got none of {', '.join(missing)}. "
                    f"Train on more items, use another seed, or set every_class=False."
                )

    def as_dict(self) -> dict[str, Any]:
        return {
            "labels": {name: list(names) for name, names in self.labels.items()},
            "level": self.level,
            "metric": self.metric.name if self.metric.name in ("accuracy", "macro-f1") else "accuracy",
            "class_weights": None if self.class_weights is None else self._weights_by_type(),
        }

    def _weights_by_type(self) -> dict[str, list[float]]:
        assert self.class_weights is not None
        rows = self.class_weights.view(len(self.labels), -1).tolist()
        return {kind: row[: len(names)] for (kind, names), row in zip(self.labels.items(), rows, strict=True)}

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {len(names)} labels" for name, names in self.labels.items())
        return f"{type(self).__name__}({counts}, level={self.level!r}, metric={self.metric.name!r})"


def _named(labels: Any, level: Level) -> dict[str, tuple[str, ...]]:
    """The label names of each node type, or of graphs."""
    if isinstance(labels, Sequence) and not isinstance(labels, str):
        labels = {str(level): labels}
    good = isinstance(labels, Mapping) and all(
        isinstance(names, Sequence) and not isinstance(names, str) for names in labels.values()
    )
    if not good:
        raise InputError(
            f"Expected labels as a mapping of node types to names, such as {{'node': ('cat', 'dog')}}; got {labels!r}."
        )
    if not labels or not all(len(names) for names in labels.values()):
        raise InputError(f"Expected label names for at least one node type; got {dict(labels)}.")
    for kind, names in labels.items():
        names = [str(name) for name in names]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"Expected every {kind} label once; got {twice!r} twice.")
    return {str(kind): tuple(str(name) for name in names) for kind, names in labels.items()}


def _weights(given: Any, labels: Mapping[str, Sequence[str]], width: int) -> Tensor:
    """The weights of the classes of all types, `width` entries per type."""
    by_type = given if isinstance(given, Mapping) else {next(iter(labels)): given}
    if by_type.keys() != labels.keys():
        raise InputError(f"Expected class_weights of {', '.join(labels)}; got those of {', '.join(by_type)}.")
    weights = torch.zeros(len(labels), width)
    for row, kind in zip(weights, labels, strict=True):
        values = by_type[kind]
        try:
            listed = torch.as_tensor(list(values), dtype=torch.float32)
        except (TypeError, ValueError):
            listed = torch.empty(0)
        if listed.shape != (len(labels[kind]),) or not bool((listed >= 0).all()) or not bool(listed.isfinite().all()):
            raise InputError(
                f"Expected class_weights as {len(labels[kind])} numbers of at least 0, one per {kind} label; "
                f"got {values!r}."
            )
        row[: len(listed)] = listed
    return weights.flatten()


def _of_own_type(metric: Metric, width: int) -> Metric:
    """The metric with labels numbered within their type."""
    return replace(
        metric,
        observe=partial(_with_own_labels, function=metric.observe, width=width),
        reduce=partial(_with_own_labels, function=metric.reduce, width=width),
    )


def _with_own_labels(first: Tensor, y: Tensor, *rest: Tensor, function: Callable[..., Tensor], width: int) -> Tensor:
    return function(first, torch.where(y < 0, -1, y % width), *rest)
