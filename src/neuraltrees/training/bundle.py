"""A trained network with all that a prediction needs, in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from neuraltrees.data.features import describe, from_description
from neuraltrees.data.scaling import AS_THEY_ARE, Scaling
from neuraltrees.data.task import Inputs, TableColumns
from neuraltrees.decomposition.decompose import Method
from neuraltrees.decomposition.sampling import Sampler
from neuraltrees.errors import DivergedError, InputError
from neuraltrees.files import PathLike, as_path
from neuraltrees.htree.build import Terminal
from neuraltrees.nn.encoder import Categories, Features
from neuraltrees.nn.network import Network
from neuraltrees.objectives import Classification, Objective, find_objective
from neuraltrees.options import find_place
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.training.checkpoint import load_tensors, save_tensors
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Fitted

TRUSTED = ("torch_geometric.nn.", "neuraltrees.nn.")  # modules whose networks a file may name
STATISTICS = ("mean", "std", "edge_mean", "edge_std", "encoding_mean", "encoding_std")  # tensors of the scaling
FORMAT, SECOND_FORMAT, FIRST_FORMAT = (f"neuraltrees-bundle-{number}" for number in (3, 2, 1))


@dataclass(frozen=True, eq=False, repr=False)
class Bundle:
    """One trained network, or an ensemble of several: weights, the specification of the network, and the form of its
    inputs and outputs.

    Args:
        network: the specification of the network.
        objective: what its answers mean.
        features: the form of the features of nodes.
        weights: parameters and buffers; the first dimension is over the networks of the ensemble.
        types: the names of the node types.
        edge_features: the form of the features of edges; None if it reads none.
        scaling: how features are scaled before the network reads them.
        max_treewidth, seed, sampler, method, terminal: how H-trees are built.
        facts: facts about the training, such as metrics.
        inputs: how scenes are converted to graphs, or which columns of a table of nodes are the features, for a network
            that was trained on them.
    """

    network: NetworkSpec
    objective: Objective
    features: Features
    weights: dict[str, Tensor]
    types: tuple[str, ...] = ("node",)
    edge_features: int | Categories | None = None
    scaling: Scaling = AS_THEY_ARE
    max_treewidth: int | None = None
    seed: int = 0
    facts: dict[str, Any] | None = None
    sampler: Sampler = "elimination"
    method: Method = "min_fill"
    terminal: Terminal = "clique"
    inputs: Inputs | None = None

    @classmethod
    def of(cls, fitted: Fitted, run: int | Sequence[int] | None = None) -> Bundle:
        """The network of one run, by default the one with the best validation metric; or an ensemble of several runs.

        The prediction of an ensemble is the mean prediction of its networks: mean probabilities, if labels are classes.
        A run that diverged at once has no network.
        """
        if not isinstance(fitted, Fitted):
            raise InputError(f"Expected what fit returned; got {type(fitted).__name__}.")
        task, metric = fitted.task, fitted.task.objective.metric
        run = fitted.best_run if run is None else run
        members = list(run) if isinstance(run, Sequence) else [run]
        if not members or not all(isinstance(each, int) and 0 <= each < len(fitted.val) for each in members):
            raise InputError(
                f"Expected a run between 0 and {len(fitted.val) - 1}, or a list of at least one; got {run!r}."
            )
        lost = [each for each in members if int(fitted.best_epoch[each]) == 0]
        if lost:
            raise DivergedError(
                f"Expected a run with a finite validation metric; run {lost[0]} diverged at once. Lower lr, or set "
                f"clip, in TrainingSpec."
            )
        columns = {
            "run": members,
            f"validation {metric.name}": fitted.val[members].tolist(),
            f"test {metric.name}": fitted.test[members].tolist(),
            "best epoch": fitted.best_epoch[members].tolist(),
        }
        facts = columns if isinstance(run, Sequence) else {name: values[0] for name, values in columns.items()}
        assert task.features is not None
        return cls(
            fitted.spec,
            task.objective,
            task.features,
            {name: value[members].cpu().clone() for name, value in fitted.network.state_dict().items()},
            task.types,
            task.edge_features if fitted.network.reads_edges else None,
            task.scaling,
            task.max_treewidth,
            task.seed,
            facts,
            task.sampler,
            task.method,
            task.terminal,
            task.inputs,
        )

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The label names of each node type, if labels are classes."""
        return self.objective.labels if isinstance(self.objective, Classification) else {}

    @property
    def given_features(self) -> Features:
        """The form of the features of nodes before scaling."""
        given = self.scaling.given_features
        if given is not None:
            return given
        features, encodings = self.features, self.scaling.encodings
        if isinstance(features, Categories):
            return replace(features, numbers=features.numbers - encodings)
        if isinstance(features, int):
            return (features - encodings) // (2 if self.scaling.squares else 1)
        return features

    @property
    def given_edge_features(self) -> int | Categories | None:
        """The form of the features of edges before scaling; None if none are needed."""
        return None if self.scaling.geometry else self.edge_features

    @property
    def members(self) -> int:
        """The number of networks."""
        return len(next(iter(self.weights.values())))

    def build(self) -> Network:
        """The network with its weights, in evaluation mode; the state of torch's generator is not changed."""
        with torch.random.fork_rng(devices=[]):
            network = self.network.build_for(
                self.features, self.edge_features, self.objective, self.members, self.inputs
            )
        network.load_state_dict(self.weights)
        return network.eval()

    def save(self, path: PathLike) -> None:
        """Writes a `.safetensors` file atomically."""
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
            "method": self.method,
            "terminal": self.terminal,
            "logarithm": self.scaling.logarithm,
            "squares": self.scaling.squares,
            "geometry": self.scaling.geometry,
            "walks": self.scaling.walks,
            "laplacian": self.scaling.laplacian,
            "facts": self.facts,
            "scenes": self.inputs.as_dict() if isinstance(self.inputs, SceneFormat) else None,
            "columns": list(self.inputs.names) if isinstance(self.inputs, TableColumns) else None,
        }
        parts = {name: getattr(self.scaling, name) for name in STATISTICS}
        scale = {name: value for name, value in parts.items() if value is not None}
        weights = {f"weights.{name}": value.contiguous() for name, value in self.weights.items()}
        save_tensors(as_path(path), weights | scale, about)

    def __repr__(self) -> str:
        bound = "" if self.max_treewidth is None else f", max_treewidth={self.max_treewidth}"
        return f"Bundle({self.network.name}, {self.objective!r}{bound}, facts={self.facts})"

    @classmethod
    def load(cls, path: PathLike, allow: Sequence[str] = ()) -> Bundle:
        """Reads a file written by `save`.

        Args:
            path: the file.
            allow: places of code that the file may import, such as `mypackage.convs:MyConv`, since a file from another
                person could name any code. Networks of this library and PyG's convolutions are always allowed.
        """
        if isinstance(allow, str):
            raise InputError(f"Expected allow as a list of places; got the text {allow!r}. Pass [{allow!r}].")
        tensors, about = load_tensors(as_path(path), (FORMAT, SECOND_FORMAT, FIRST_FORMAT), "bundle")
        weights = {name.removeprefix("weights."): value for name, value in tensors.items() if "." in name}
        try:
            if about["format"] == FIRST_FORMAT:
                about, weights = _from_first(about, weights)
            network = _network(about)
            _check_places(network, allow, path)
            bundle = cls(
                network,
                find_objective(about["objective"]["name"], about["objective"]["content"]),
                from_description(about["features"]),
                weights,
                tuple(about["types"]),
                from_description(about["edge_features"]),
                Scaling(
                    tuple(about["logarithm"]),
                    squares=about.get("squares", False),
                    geometry=about.get("geometry", False),
                    walks=about.get("walks", 0),
                    laplacian=about.get("laplacian", 0),
                    **{name: tensors[name] for name in STATISTICS if name in tensors},
                ),
                about["max_treewidth"],
                about["seed"],
                about["facts"],
                about.get("sampler", "paper"),  # older versions had no other sampler
                about.get("method", "min_fill"),
                about.get("terminal", "clique"),
                _inputs(about),
            )
            if not weights:
                raise KeyError("weights")
            bundle.build()
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise InputError(f"Expected {path} to be a bundle of neuraltrees; got a broken one: {error}.") from None
        return bundle


def _check_places(network: NetworkSpec, allow: Sequence[str], path: PathLike) -> None:
    """Raises `InputError` if a file names code that is not allowed."""
    for place in network.places:
        if place in allow:
            continue
        known = find_place(place) if f"{place.partition(':')[0]}.".startswith(TRUSTED) else None
        is_module = isinstance(known, type) and issubclass(known, nn.Module)
        if not (is_module and f"{known.__module__}.".startswith(TRUSTED)):
            raise InputError(
                f"Expected {path} to name only code of this library; it names {place}. If you trust it, allow it: "
                f"Bundle.load(path, allow=[{place!r}]), or --allow {place} on the command line."
            )


def _network(about: Mapping[str, Any]) -> NetworkSpec:
    """The network of a file; earlier formats always had a `bag_start`, which concerned the schedule `bags` alone."""
    network = NetworkSpec(**about["network"])
    if about["format"] != FORMAT and network.schedule != "bags":
        return network.replace(bag_start=None)
    return network


def _from_first(about: dict[str, Any], weights: dict[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Converts a bundle of the first format, which supported only classes of nodes, to the current one."""
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


def _inputs(about: Mapping[str, Any]) -> Inputs | None:
    """How inputs become graphs, as a file tells it."""
    if about.get("scenes"):
        return SceneFormat.from_dict(about["scenes"])
    return TableColumns(tuple(about["columns"])) if about.get("columns") else None
