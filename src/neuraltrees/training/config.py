"""The configuration of a training: a flat value object, from a YAML file, flags, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import yaml

from neuraltrees.datasets import DataSpec
from neuraltrees.datasets.registry import find_dataset
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.training.spec import NetworkSpec, TrainingSpec


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


def preset(dataset: str, model: str, conv: str) -> dict[str, Any]:
    """Defaults for a dataset and a network: the paper's for scene graphs, those of GCN and GAT for citation networks.

    >>> preset("stanford3dsg", "neural-tree", "sage")["lr"]
    0.005
    """
    return dict(find_dataset(dataset).preset(model, conv))


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
