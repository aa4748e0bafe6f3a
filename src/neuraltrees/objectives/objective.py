"""The interface of an objective: what a label is, the loss, the metric and a prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.objectives.confusion import Confusion
from neuraltrees.objectives.metric import Metric
from neuraltrees.objectives.prediction import Prediction

Level: TypeAlias = Literal["node", "graph"]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]


class Objective:
    """What is learned: labels of nodes or of graphs.

    Your own objective is a subclass with the methods that raise `NotImplementedError` here. Items are nodes or graphs,
    depending on `level`; R is the number of runs that are trained at once.

    - `name`: its name in files; see `register_objective`.
    - `level`: "node" or "graph".
    - `metric`: the metric of the validation items, which determines the best epoch, and of the test items.
    """

    name: ClassVar[str]
    level: Level
    metric: Metric

    def __init__(self, level: Level, metric: Metric) -> None:
        if not isinstance(level, str) or level not in get_args(Level):
            raise InputError(f"Expected level out of {', '.join(get_args(Level))}; got {level!r}.")
        self.level, self.metric = level, metric

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """All metrics that a report shows, by name."""
        return {self.metric.name: self.metric}

    def confusions(self, answers: Tensor, y: Tensor) -> tuple[Confusion, ...]:
        """The confusion matrix of each node type, or of graphs; empty if labels are not classes.

        Shapes: answers :math:`(items, C)`, y :math:`(items, ...)`, without missing labels
        """
        return ()

    @property
    def out_channels(self) -> int | Mapping[str, int]:
        """The number of answers per item, or a mapping of node types to it."""
        raise NotImplementedError

    def check(self, graph: Data, node_type: Tensor) -> None:
        """Raises `InputError` unless the labels `graph.y` have the right form.

        Shapes: node_type :math:`(n)`
        """
        raise NotImplementedError

    def targets(self, graphs: Sequence[Data], node_types: Sequence[Tensor]) -> Tensor:
        """The labels of all items, concatenated; missing labels are marked.

        Shapes: :math:`(items, ...)`
        """
        return torch.cat([self.labels_of(graph) for graph in graphs])

    def labels_of(self, graph: Data) -> Tensor:
        """The labels of the items of a graph, the first dimension over items."""
        y: Tensor = graph.y
        return y if self.level == "node" else y.reshape(1, -1)

    def weight(self, y: Tensor) -> Tensor:
        """The weight of every item in the mean loss: zero if its labels are missing.

        Shapes: :math:`(items, ...)` → :math:`(items)`
        """
        raise NotImplementedError

    def labelled(self, y: Tensor) -> Tensor:
        """Which items have a label, and so count in metrics; by default those with a weight.

        Shapes: :math:`(items, ...)` → :math:`(items)`
        """
        return self.weight(y) > 0

    def readable(self, y: Tensor) -> Tensor:
        """Labels of nodes as input of a network that reads labels: numbers from 0, or -1 for a missing label.

        Shapes: :math:`(items)` → :math:`(items)`
        """
        raise InputError(f"Expected classes of nodes for a head that reads labels; got {self!r}. Use another head.")

    def loss(self, answers: Tensor, y: Tensor) -> Tensor:
        """The loss of every item, times its weight; it must be finite for an item without a label, whose loss is not
        used.

        Shapes: answers :math:`(items, R, C)` → :math:`(items, R)`
        """
        raise NotImplementedError

    def predict(self, answers: Tensor) -> Tensor:
        """Answers in readable form, such as probabilities.

        Shapes: :math:`(items, ..., C)` → the same
        """
        raise NotImplementedError

    def answers(self, predicted: Tensor) -> Tensor:
        """The answers that `predict` converts to these predictions, on which metrics of mean predictions are computed.

        Shapes: :math:`(items, ..., C)` → the same
        """
        raise InputError(f"Expected an objective with a method `answers`, the inverse of `predict`; {self!r} has none.")

    def describe(self, predicted: Tensor, types: Sequence[int], top: int = 1) -> list[Prediction]:
        """Every row of `predict` as a `Prediction` with names.

        Args:
            predicted: a row per item.
            types: the type of every node of the graph.
            top: how many labels to list.
        """
        raise NotImplementedError

    def check_training(self, y: Tensor, node_type: Tensor, used: Tensor, train: Tensor) -> None:
        """Raises `InputError` if the split makes learning impossible, such as a class without a training item.

        Shapes: y :math:`(items, ...)`, node_type, used and train :math:`(items)`
        """

    def check_measurable(self, y: Tensor, part: str) -> None:
        """Raises `InputError` if the metric cannot be computed on the labelled items of a part of the split.

        Shapes: y :math:`(items, ...)`
        """

    def as_dict(self) -> dict[str, Any]:
        """Plain values from which `from_dict` makes the objective again."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The objective that `as_dict` described."""
        return cls(**content)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(level={self.level!r}, metric={self.metric.name!r})"


_REGISTERED: dict[str, type[Objective]] = {}


def register_objective(kind: type[Objective]) -> type[Objective]:
    """Class decorator that registers an objective by its name, so that files can refer to it."""
    _REGISTERED[kind.name] = kind
    return kind


def find_objective(name: str, content: Mapping[str, Any]) -> Objective:
    """The objective of that name, with the values of a file."""
    if name not in _REGISTERED:
        raise InputError(
            f"Expected an objective out of {', '.join(_REGISTERED)}; got {name!r}. Import the module that calls "
            f"register_objective for it first."
        )
    return _REGISTERED[name].from_dict(content)


def check_loss(loss: Any) -> Loss | None:
    """Raises `InputError` unless the loss is None or callable."""
    if loss is not None and not callable(loss):
        raise InputError(f"Expected loss as a function of answers and labels; got {loss!r}.")
    found: Loss | None = loss
    return found


def checked_losses(losses: Any, shape: Sequence[int]) -> Tensor:
    """The result of a user's loss function; `InputError` unless it has a loss per item and run."""
    if not isinstance(losses, Tensor) or losses.shape != torch.Size(shape):
        came = f"shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise InputError(
            f"Expected a loss function that returns a loss for every item and run, of shape {tuple(shape)}; got "
            f"{came}. Use reduction='none'."
        )
    return losses


def tensor_labels(graph: Data) -> Tensor | None:
    """The labels of a graph; `InputError` unless they are a tensor."""
    y: Any = graph.y
    if y is not None and not isinstance(y, Tensor):
        raise InputError(f"Expected labels y as a tensor; got {type(y).__name__}. Use torch.as_tensor(y).")
    return y


def find_metric(given: str | Metric, known: Mapping[str, Metric]) -> Metric:
    """A metric by name, or the `Metric` itself."""
    if isinstance(given, Metric):
        return given
    if not isinstance(given, str) or given not in known:
        raise InputError(f"Expected metric out of {', '.join(known)} or a Metric; got {given!r}.")
    return known[given]
