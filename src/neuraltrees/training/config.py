"""The configuration of a training: a flat value object, from a YAML file, flags, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import yaml

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.options import Spec, option
from neuraltrees.training.spec import NetworkSpec, TrainingSpec

DatasetName: TypeAlias = Literal["synthetic", "stanford3dsg", "cora", "citeseer", "pubmed"]
SCENES, CITATIONS = ("synthetic", "stanford3dsg"), ("cora", "citeseer", "pubmed")


@dataclass(frozen=True)
class DataSpec(Spec):
    """What to train on, how often and where."""

    dataset: DatasetName = option("synthetic", "What to train on.")
    runs: int = option(1, "Independent runs, trained at once.", ge=1)
    seed: int = option(0, "Run r has the seed SEED + r, for its split, weights and dropout.", ge=0)
    device: str = option("cpu", "cpu or cuda.")
    data_root: str | None = option(None, "The folder of the datasets.")
    standardise: bool = option(False, "Scale every feature to mean 0 and standard deviation 1.")
    log_sizes: bool = option(False, "Scene graphs: sizes of bounding boxes by their logarithm.")
    train_share: float = option(0.7, "Share of the nodes (synthetic: of the scenes) to train on.", gt=0, lt=1)
    scenes: int = option(500, "synthetic: number of scenes.", ge=10)
    coupling: float = option(1.0, "synthetic: how much neighbouring objects tell of each other.", ge=0, le=10)
    edges: Literal["symmetric", "stored"] = option(
        "symmetric", "stanford3dsg, GNN: both directions of every edge, or as stored in the file."
    )
    max_treewidth: int | None = option(None, "Bound k of the treewidth of sampled subgraphs.", ge=1)
    train_per_class: int | None = option(
        None, "Citation networks: training nodes a class; by default all that remain.", ge=1
    )


@dataclass(frozen=True)
class TrainConfig(TrainingSpec, NetworkSpec, DataSpec):
    """Everything that decides the outcome of a training, in one flat list of names."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  a file with an unknown name is refused

    @property
    def network(self) -> NetworkSpec:
        return NetworkSpec(**{each.name: getattr(self, each.name) for each in fields(NetworkSpec)})

    @property
    def training(self) -> TrainingSpec:
        return TrainingSpec(**{each.name: getattr(self, each.name) for each in fields(TrainingSpec)})


# Hidden size, rounds, L2 regularisation and learning rate as tuned in the paper for scene graphs.
_SCENE_GRAPHS: dict[tuple[str, str], tuple[int, int, float, float]] = {
    ("gnn", "gcn"): (64, 3, 0.0, 0.01),
    ("gnn", "sage"): (128, 3, 1e-3, 0.005),
    ("gnn", "gat"): (128, 2, 1e-4, 0.001),
    ("gnn", "gin"): (64, 3, 1e-3, 0.005),
    ("neural-tree", "gcn"): (128, 4, 0.0, 0.01),
    ("neural-tree", "sage"): (128, 4, 1e-3, 0.005),
    ("neural-tree", "gat"): (128, 4, 1e-4, 0.0005),
    ("neural-tree", "gin"): (128, 4, 1e-3, 0.005),
}


def preset(dataset: str, model: str, conv: str) -> dict[str, Any]:
    """Defaults for a dataset and a network: the paper's for scene graphs, those of GCN and GAT for citation networks.

    >>> preset("stanford3dsg", "neural-tree", "sage")["lr"]
    0.005
    >>> preset("cora", "gnn", "gat")["heads"]
    8
    """
    if dataset in CITATIONS:
        common = {"layers": 2, "readout": False, "batches": 1, "epochs": 200, "weight_decay": 5e-4, "max_treewidth": 4}
        attention = {"hidden": 8, "heads": 8, "dropout": 0.6, "lr": 0.005}
        return common | (attention if conv == "gat" else {"hidden": 16, "dropout": 0.5, "lr": 0.01})
    values = _SCENE_GRAPHS.get((model, conv), (128, 4, 1e-3, 0.005))
    found: dict[str, Any] = dict(zip(("hidden", "layers", "weight_decay", "lr"), values, strict=True))
    found["every_class"] = False  # some labels are too rare for every split to train on them
    if conv == "gin":
        found["divisions"] = 8  # its batch norm learns the batches by heart if they stay the same
    generated = {"epochs": 200, "standardise": True, "log_sizes": True}
    return found | (generated if dataset == "synthetic" else {"epochs": 1000})


def load_config(path: PathLike | None = None, overrides: Mapping[str, object] | None = None) -> TrainConfig:
    """A configuration from a YAML file and single values, which win; what neither names is the preset's.

    Args:
        path: a mapping of names to values.
        overrides: values by name; those that are None do not count.

    >>> load_config(overrides={"dataset": "cora", "conv": "gcn"}).hidden
    16
    """
    given = {} if path is None else _read(path)
    given |= {name: value for name, value in (overrides or {}).items() if value is not None}
    plain = _checked(given)
    return _checked(preset(plain.dataset, plain.model, plain.conv) | given)


def _checked(given: Mapping[str, object]) -> TrainConfig:
    """The values as they are meant ("64" in a file is a number), or an `InputError` that names the first wrong one."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(TrainConfig).validate_python(given)
    except ValidationError as error:
        detail = error.errors()[0]
        if not detail["loc"]:  # one of our own rules, already in words
            raise InputError(detail["msg"].removeprefix("Value error, ")) from None
        name = str(detail["loc"][0])
        if name not in (each.name for each in fields(TrainConfig)):
            names = ", ".join(each.name for each in fields(TrainConfig))
            raise InputError(f"Expected no other names than {names}; got {name!r}.") from None
        rule = detail["msg"].removeprefix("Input should be ").removesuffix(", unable to parse string as an integer")
        raise InputError(f"Expected {name} to be {rule}; got {detail['input']!r}.") from None


def _read(path: PathLike) -> dict[str, Any]:
    try:
        content = yaml.safe_load(read_whole(path))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"Expected {path} to be a YAML file; got: {' '.join(str(error).split())}.") from None
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise InputError(f"Expected {path} to map names to values, such as 'hidden: 64'; got {type(content).__name__}.")
    return content
