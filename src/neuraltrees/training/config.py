"""The configuration of a training: a flat value object, from a YAML file, command-line options, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

import yaml

from neuraltrees.datasets import DataSpec
from neuraltrees.datasets.registry import entry_of, find_dataset
from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.files import PathLike, read_whole
from neuraltrees.options import close_choice, rule_in_words
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.training_spec import TrainingSpec


@dataclass(frozen=True)
class TrainConfig(TrainingSpec, NetworkSpec, DataSpec):
    """All options that determine the result of a training, in one flat namespace."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  # read by pydantic; unknown names are refused

    @property
    def network(self) -> NetworkSpec:
        return NetworkSpec(**{each.name: getattr(self, each.name) for each in fields(NetworkSpec)})

    @property
    def training(self) -> TrainingSpec:
        return TrainingSpec(**{each.name: getattr(self, each.name) for each in fields(TrainingSpec)})


def preset(dataset: str, model: str, conv: str) -> dict[str, Any]:
    """Defaults for a dataset and a network: the paper's for scene graphs, for example.

    >>> preset("stanford3dsg", "neural-tree", "sage")["lr"]
    0.005
    """
    return dict(find_dataset(dataset).preset(model, conv))


def load_config(path: PathLike | None = None, overrides: Mapping[str, object] | None = None) -> TrainConfig:
    """A configuration from a YAML file and single values, which take precedence; other values come from the preset.

    Args:
        path: a YAML file that maps names to values.
        overrides: values by name; None means not given.

    >>> load_config(overrides={"dataset": "cora", "conv": "gcn"}).hidden
    16
    """
    given = {} if path is None else _read(path)
    if path is not None:
        try:
            _checked(given)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    given |= {name: value for name, value in (overrides or {}).items() if value is not None}
    plain = _checked(given)
    defaults = dict(entry_of(plain).preset(plain.model, plain.conv))
    if "conv" in given and "schedule" not in given and defaults.get("schedule") == "bags":
        # A requested convolution needs rounds of the model, which use it; the schedule bags does not.
        defaults = {name: value for name, value in defaults.items() if name not in ("schedule", "parts", "shuffle")}
    return _checked(defaults | given)


def _checked(given: Mapping[str, object]) -> TrainConfig:
    """The values, converted to their types ("64" to a number); `InputError` names the first wrong one."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(TrainConfig).validate_python(given)
    except ValidationError as error:
        detail = error.errors()[0]
        if not detail["loc"]:  # one of our own rules, already in words
            raise InputError(detail["msg"].removeprefix("Value error, ")) from None
        name = str(detail["loc"][0])
        if name not in (each.name for each in fields(TrainConfig)):
            names = [each.name for each in fields(TrainConfig)]
            hint = did_you_mean(name, names)
            raise InputError(f"Expected no other names than {', '.join(names)}; got {name!r}.{hint}") from None
        hint = close_choice(detail["input"], get_type_hints(TrainConfig)[name])
        raise InputError(f"Expected {name} {rule_in_words(detail['msg'])}; got {detail['input']!r}.{hint}") from None


class _UniqueKeys(yaml.SafeLoader):
    """As `yaml.SafeLoader`, but a name that is given twice is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: dict[Any, int] = {}
        for key, _ in node.value:
            name, line = key.value, key.start_mark.line + 1
            if isinstance(name, str) and name in seen:
                raise InputError(f"expected every name once; got {name!r} in the lines {seen[name]} and {line}.")
            if isinstance(name, str):
                seen[name] = line
        return super().construct_mapping(node, deep)


def _read(path: PathLike) -> dict[str, Any]:
    try:
        content = yaml.load(read_whole(path), _UniqueKeys)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"Expected {path} to be a YAML file; got: {' '.join(str(error).split())}.") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise InputError(f"Expected {path} to map names to values, such as 'hidden: 64'; got {type(content).__name__}.")
    return content
