"""A trained network with all that a prediction needs, in one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.data.scaling import AS_THEY_ARE, Scaling
from neuraltrees.data.task import check_graph, listed, type_of, with_trees
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.training.batches import portion
from neuraltrees.training.checkpoint import load_tensors, save_tensors
from neuraltrees.training.spec import NetworkSpec
from neuraltrees.training.trainer import Fitted

FORMAT = "neuraltrees-bundle-1"


@dataclass(frozen=True)
class Guess:
    """A node's type and its most probable labels, each with its probability."""

    type: str
    top: tuple[tuple[str, float], ...]

    @property
    def label(self) -> str:
        return self.top[0][0]

    @property
    def probability(self) -> float:
        return self.top[0][1]


@dataclass(frozen=True, eq=False)
class Bundle:
    """One trained network: its weights, what it was built from, and how its inputs and outputs read.

    Args:
        network: what to build.
        labels: names of the labels of each node type.
        num_features: features of a node.
        weights: its parameters and statistics.
        scaling: how features are scaled first.
        max_treewidth, seed: how H-trees are built.
        facts: where it comes from, such as its accuracies.
    """

    network: NetworkSpec
    labels: dict[str, list[str]]
    num_features: int
    weights: dict[str, Tensor]
    scaling: Scaling = AS_THEY_ARE
    max_treewidth: int | None = None
    seed: int = 0
    facts: dict[str, Any] | None = None

    @classmethod
    def of(cls, fitted: Fitted, run: int | None = None) -> Bundle:
        """The network of one run; by default that of the best validation accuracy."""
        run = int(fitted.val.argmax()) if run is None else run
        if not 0 <= run < len(fitted.val):
            raise InputError(f"Expected a run between 0 and {len(fitted.val) - 1}; got {run}.")
        task = fitted.task
        weights = {name: value[run : run + 1].cpu().clone() for name, value in fitted.network.state_dict().items()}
        labels = {name: list(names) for name, names in task.labels.items()}
        facts = {
            "run": run,
            "validation accuracy": float(fitted.val[run]),
            "test accuracy": float(fitted.test[run]),
            "best epoch": int(fitted.best_epoch[run]),
        }
        how = (task.scaling, task.max_treewidth, task.seed)
        return cls(fitted.spec, labels, task.num_features, weights, *how, facts)

    def save(self, path: PathLike) -> None:
        """Writes a `.safetensors` file, whole or not at all."""
        about = {
            "format": FORMAT,
            "network": self.network.as_dict(),
            "labels": self.labels,
            "num_features": self.num_features,
            "max_treewidth": self.max_treewidth,
            "seed": self.seed,
            "logarithm": self.scaling.logarithm,
            "facts": self.facts,
        }
        parts = {"mean": self.scaling.mean, "std": self.scaling.std}
        scale = {name: value for name, value in parts.items() if value is not None}
        weights = {f"weights.{name}": value.contiguous() for name, value in self.weights.items()}
        save_tensors(Path(path), weights | scale, about)

    @classmethod
    def load(cls, path: PathLike) -> Bundle:
        """Reads what `save` wrote."""
        tensors, about = load_tensors(Path(path), FORMAT, "bundle")
        weights = {name.removeprefix("weights."): value for name, value in tensors.items() if "." in name}
        try:
            bundle = cls(
                NetworkSpec(**about["network"]),
                about["labels"],
                about["num_features"],
                weights,
                Scaling(tuple(about["logarithm"]), tensors.get("mean"), tensors.get("std")),
                about["max_treewidth"],
                about["seed"],
                about["facts"],
            )
            bundle._build()
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise InputError(f"Expected {path} to be a bundle of neuraltrees; got a broken one: {error}.") from None
        return bundle

    @property
    def classes(self) -> dict[str, int]:
        return {name: len(names) for name, names in self.labels.items()}

    def predict(self, graphs: Iterable[Data]) -> list[Tensor]:
        """Probabilities of the labels of every node, for each graph.

        Shapes: a list of :math:`(n, C)`, where C is the largest number of labels of a node type
        """
        scaled: list[Data] = []
        for number, graph in enumerate(listed(graphs)):
            try:
                check_graph(graph, self.num_features, self.classes, labelled=False)
                scaled.append(self.scaling.apply(graph))
            except InputError as error:
                raise InputError(f"Graph {number}: {error}") from None
        if not scaled:
            return []
        if self.network.model == "neural-tree":
            scaled = list(with_trees(scaled, self.max_treewidth, self.seed))
        sizes = [graph.num_nodes for graph in scaled]
        network = self._build()
        with torch.no_grad():
            part = portion(scaled, network, self.network.merge, torch.arange(sum(sizes)), torch.device("cpu"))
            logits = network.run(part.x, part.plan, part.node_type).squeeze(1)
        return list(logits.softmax(-1).split_with_sizes(sizes))

    def label(self, graphs: Iterable[Data], top: int = 1) -> list[list[Guess]]:
        """The most probable labels of every node, for each graph.

        Args:
            graphs: as for `predict`.
            top: how many labels of a node to list.
        """
        check_at_least("top", top, 1)
        graphs = listed(graphs)
        kinds = list(self.labels.items())
        answers = []
        for graph, rows in zip(graphs, self.predict(graphs), strict=True):
            guesses = []
            for kind, row in zip(type_of(graph).tolist(), rows.tolist(), strict=True):
                name, labels = kinds[kind]
                ranked = sorted(zip(row, labels, strict=False), reverse=True)[:top]
                guesses.append(Guess(name, tuple((label, share) for share, label in ranked)))
            answers.append(guesses)
        return answers

    def _build(self) -> Any:
        network = self.network.build(self.num_features, self.classes, runs=1)
        network.load_state_dict(self.weights)
        return network.eval()
