"""A trained network with all that a prediction needs, in one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.transform import attach_htrees
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.training.batches import portion
from neuraltrees.training.checkpoint import load_tensors, save_tensors
from neuraltrees.training.engine import Fitted
from neuraltrees.training.problem import Problem
from neuraltrees.training.scaling import AS_THEY_ARE, Scaling
from neuraltrees.training.spec import NetworkSpec
from neuraltrees.training.task import check_graph

FORMAT = "neuraltrees-bundle-1"


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
    def of(cls, fitted: Fitted, problem: Problem, network: NetworkSpec, run: int | None = None) -> Bundle:
        """The network of one run; by default that of the best validation accuracy."""
        run = int(fitted.val.argmax()) if run is None else run
        task = problem.task
        weights = {name: value[run : run + 1].cpu().clone() for name, value in fitted.network.state_dict().items()}
        labels = {name: list(names) for name, names in task.labels.items()}
        facts = {
            "run": run,
            "validation accuracy": float(fitted.val[run]),
            "test accuracy": float(fitted.test[run]),
            "best epoch": int(fitted.best_epoch[run]),
        }
        return cls(network, labels, task.num_features, weights, problem.scaling, task.max_treewidth, task.seed, facts)

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
        scaled = []
        for number, graph in enumerate(graphs):
            try:
                check_graph(graph, self.num_features, self.classes, labelled=False)
            except InputError as error:
                raise InputError(f"Graph {number}: {error}") from None
            scaled.append(self.scaling.apply(graph))
        if not scaled:
            return []
        if self.network.model == "neural-tree":
            scaled = attach_htrees(scaled, self.max_treewidth, seed=self.seed)
        sizes = [graph.num_nodes for graph in scaled]
        network = self._build()
        with torch.no_grad():
            part = portion(scaled, network, self.network.merge, torch.arange(sum(sizes)), torch.device("cpu"))
            logits = network.run(part.x, part.plan, part.node_type).squeeze(1)
        return list(logits.softmax(-1).split_with_sizes(sizes))

    def _build(self) -> Any:
        network = self.network.build(self.num_features, self.classes, runs=1)
        network.load_state_dict(self.weights)
        return network.eval()
