"""A trained network with all that a prediction needs, in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from neuraltrees.data.features import describe, from_description
from neuraltrees.data.scaling import AS_THEY_ARE, Scaling
from neuraltrees.decomposition.sampling import Sampler
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.nn.encoder import Categories, Features
from neuraltrees.nn.network import Network
from neuraltrees.objectives import Classification, Objective, find_objective
from neuraltrees.options import find_place
from neuraltrees.training.checkpoint import load_tensors, save_tensors
from neuraltrees.training.runs import Fitted
from neuraltrees.training.spec import NetworkSpec

FORMAT, FIRST_FORMAT = "neuraltrees-bundle-2", "neuraltrees-bundle-1"


@dataclass(frozen=True, eq=False)
class Bundle:
    """One trained network: its weights, what it was built from, and how its inputs and outputs read.

    Args:
        network: what to build.
        objective: what its answers mean.
        features: what the features of nodes are.
        weights: its parameters and statistics.
        types: the names of the node types.
        edge_features: what the features of edges are; None where it reads none.
        scaling: how features are scaled first.
        max_treewidth, seed, sampler: how H-trees are built.
        facts: where it comes from, such as its metrics.
    """

    network: NetworkSpec
    objective: Objective
    features: Features
    weights: dict[str, Tensor] = field(repr=False)
    types: tuple[str, ...] = ("node",)
    edge_features: int | Categories | None = None
    scaling: Scaling = AS_THEY_ARE
    max_treewidth: int | None = None
    seed: int = 0
    facts: dict[str, Any] | None = None
    sampler: Sampler = "elimination"

    @classmethod
    def of(cls, fitted: Fitted, run: int | None = None) -> Bundle:
        """The network of one run; by default that of the best validation metric."""
        if not isinstance(fitted, Fitted):
            raise InputError(f"Expected what fit returned; got {type(fitted).__name__}.")
        task, metric = fitted.task, fitted.task.objective.metric
        if run is None:
            values = fitted.val.nan_to_num(metric.worst)
            run = int(values.argmax() if metric.higher_is_better else values.argmin())
        if not isinstance(run, int) or not 0 <= run < len(fitted.val):
            raise InputError(f"Expected a run between 0 and {len(fitted.val) - 1}; got {run!r}.")
        facts = {
            "run": run,
            f"validation {metric.name}": float(fitted.val[run]),
            f"test {metric.name}": float(fitted.test[run]),
            "best epoch": int(fitted.best_epoch[run]),
        }
        assert task.features is not None
        return cls(
            fitted.spec,
            task.objective,
            task.features,
            {name: value[run : run + 1].cpu().clone() for name, value in fitted.network.state_dict().items()},
            task.types,
            task.edge_features if fitted.network.reads_edges else None,
            task.scaling,
            task.max_treewidth,
            task.seed,
            facts,
            task.sampler,
        )

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The label names of each node type, if labels are classes."""
        return self.objective.labels if isinstance(self.objective, Classification) else {}

    def build(self) -> Network:
        """The network with its weights, ready to predict; torch's own generator stays as it was."""
        with torch.random.fork_rng(devices=[]):
            network = self.network.build_for(self.features, self.edge_features, self.objective, runs=1)
        network.load_state_dict(self.weights)
        return network.eval()

    def save(self, path: PathLike) -> None:
        """Writes a `.safetensors` file, whole or not at all."""
        about = {
            "format": FORMAT,
            "network": self.network.as_dict(),
            "objective": {"name": self.objective.name, "content": self.objective.as_dict()},
            "features": describe(self.features),
            "edge_features": describe(self.edge_features),
            "types": list(self.types),
            "max_treewidth": self.max_treewidth,
            "seed": self.seed,
            "sampler": self.sampler,
            "logarithm": self.scaling.logarithm,
            "facts": self.facts,
        }
        parts = {"mean": self.scaling.mean, "std": self.scaling.std}
        scale = {name: value for name, value in parts.items() if value is not None}
        weights = {f"weights.{name}": value.contiguous() for name, value in self.weights.items()}
        save_tensors(Path(path), weights | scale, about)

    @classmethod
    def load(cls, path: PathLike, allow: Sequence[str] = ()) -> Bundle:
        """Reads what `save` wrote.

        Args:
            path: the file.
            allow: places of code that the file may name, such as `mypackage.convs:MyConv`. A file from somebody else
                could name any code; that of this library and PyG's convolutions need no permission.
        """
        if isinstance(allow, str):
            raise InputError(f"Expected allow as a list of places; got the text {allow!r}. Put it in brackets.")
        tensors, about = load_tensors(Path(path), (FORMAT, FIRST_FORMAT), "bundle")
        weights = {name.removeprefix("weights."): value for name, value in tensors.items() if "." in name}
        try:
            if about["format"] == FIRST_FORMAT:
                about, weights = _from_first(about, weights)
            network = NetworkSpec(**about["network"])
            _check_places(network, allow, path)
            bundle = cls(
                network,
                find_objective(about["objective"]["name"], about["objective"]["content"]),
                from_description(about["features"]),
                weights,
                tuple(about["types"]),
                from_description(about["edge_features"]),
                Scaling(tuple(about["logarithm"]), tensors.get("mean"), tensors.get("std")),
                about["max_treewidth"],
                about["seed"],
                about["facts"],
                about.get("sampler", "paper"),  # an older file had no other
            )
            bundle.build()
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise InputError(f"Expected {path} to be a bundle of neuraltrees; got a broken one: {error}.") from None
        return bundle


def _check_places(network: NetworkSpec, allow: Sequence[str], path: PathLike) -> None:
    """Raises `InputError` if a file names code that nobody allowed."""
    for place in network.places:
        if place in allow:
            continue
        pyg = f"{place.partition(':')[0]}.".startswith("torch_geometric.nn.")
        known = find_place(place) if pyg else None
        is_module = isinstance(known, type) and issubclass(known, nn.Module)
        if not (is_module and f"{known.__module__}.".startswith("torch_geometric.nn.")):
            raise InputError(
                f"Expected {path} to name no code but that of this library; it names {place}. If you trust it, allow "
                f"it: Bundle.load(path, allow=[{place!r}]), or --allow {place} on the command line."
            )


def _from_first(about: dict[str, Any], weights: dict[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A bundle of the first format, which knew classes of nodes alone, in today's form."""
    content = {"labels": about["labels"], "level": "node", "metric": "accuracy"}
    newer = {
        "objective": {"name": "classification", "content": content},
        "features": about["num_features"],
        "edge_features": None,
        "types": list(about["labels"]),
    }
    renamed = {}
    for name, value in weights.items():
        part, _, rest = name.partition(".")
        renamed[f"head.{rest}" if part == "readout" else f"schedule.{name}"] = value
    return about | newer, renamed
