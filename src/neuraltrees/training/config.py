"""The configuration of a training: a flat value object, from a YAML file, flags, or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import yaml
from pydantic import Field

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.training.spec import NetworkSpec, Share, TrainingSpec

DatasetName: TypeAlias = Literal["synthetic", "stanford3dsg", "cora", "citeseer", "pubmed"]
SCENES, CITATIONS = ("synthetic", "stanford3dsg"), ("cora", "citeseer", "pubmed")


class TrainConfig(NetworkSpec, TrainingSpec):
    """Everything that decides the outcome of a training."""

    dataset: DatasetName = Field("synthetic", description="What to train on.")
    runs: int = Field(1, ge=1, description="Independent runs, trained at once.")
    seed: int = Field(0, ge=0, description="Run r has the seed SEED + r, for its split, weights and dropout.")
    device: str = Field("cpu", description="cpu or cuda.")
    data_root: str | None = Field(None, description="The folder of the datasets.")
    standardise: bool = Field(False, description="Scale every feature to mean 0 and standard deviation 1.")
    train_share: Share = Field(0.7, gt=0, description="Share of the nodes (synthetic: of the scenes) to train on.")
    scenes: int = Field(500, ge=3, description="synthetic: number of scenes.")
    coupling: float = Field(1.0, ge=0, description="synthetic: how much neighbouring objects tell of each other.")
    edges: Literal["symmetric", "stored"] = Field(
        "symmetric", description="stanford3dsg, GNN: both directions of every edge, or as stored in the file."
    )
    max_treewidth: int | None = Field(None, ge=1, description="Bound k of the treewidth of sampled subgraphs.")
    train_per_class: int | None = Field(
        None, ge=1, description="Citation networks: training nodes a class; by default all that remain."
    )

    @property
    def network(self) -> NetworkSpec:
        return NetworkSpec(**{name: getattr(self, name) for name in NetworkSpec.model_fields})

    @property
    def training(self) -> TrainingSpec:
        return TrainingSpec(**{name: getattr(self, name) for name in TrainingSpec.model_fields})


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
    return found | ({"epochs": 200, "standardise": True} if dataset == "synthetic" else {"epochs": 1000})


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
    # Checks the three names that the preset depends on, and the rest with it.
    plain = TrainConfig(**given)
    return TrainConfig(**(preset(plain.dataset, plain.model, plain.conv) | given))


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
