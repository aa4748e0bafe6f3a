"""Datasets by name: built-in, registered, from an entry point, or your own function as MODULE:FUNCTION."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeAlias

from neuraltrees.datasets.spec import DataSpec
from neuraltrees.errors import InputError
from neuraltrees.options import find_place

if TYPE_CHECKING:
    from neuraltrees.data.task import Task

GROUP = "neuraltrees.datasets"  # group of the entry points

Load: TypeAlias = "Callable[[DataSpec], Task] | Callable[[], Task]"
Preset: TypeAlias = Callable[[str, str], Mapping[str, Any]]


def no_preset(model: str, conv: str) -> Mapping[str, Any]:
    """The preset of a dataset without defaults of its own."""
    return {}


@dataclass(frozen=True)
class DatasetEntry:
    """A registered dataset.

    Args:
        name: the value of `--dataset`.
        load: a function of the options (`DataSpec`), or without arguments, that returns a `Task`; or its MODULE:NAME.
        what: a line of help.
        preset: function of model and convolution that returns default values of other options.
    """

    name: str
    load: Load | str
    what: str = ""
    preset: Preset = no_preset


_REGISTERED: dict[str, DatasetEntry] = {}


def register_dataset(name: str, load: Load | str, what: str = "", preset: Preset = no_preset) -> DatasetEntry:
    """Registers a dataset by name for `load_task`, `neuraltrees train` and `neuraltrees tune`.

    An installed package can register its `load` by an entry point of the group `neuraltrees.datasets`, without being
    imported first. A function can also be used without registration: `--dataset mypackage.scenes:load`.

    Args:
        name: the value of `--dataset`.
        load: a function of the options (`DataSpec`), or without arguments, that returns a `Task`; or its MODULE:NAME.
        what: a line of help.
        preset: function of model and convolution that returns default values of other options.

    >>> register_dataset("mine", "mypackage.scenes:load").name
    'mine'
    """
    if not name or ":" in name:
        raise InputError(f"Expected the name of a dataset without a colon; got {name!r}.")
    _REGISTERED[name] = DatasetEntry(name, load, what, preset)
    return _REGISTERED[name]


def dataset_names() -> list[str]:
    """The names of all registered datasets, including those of entry points."""
    return [*_REGISTERED, *(point.name for point in entry_points(group=GROUP) if point.name not in _REGISTERED)]


def find_dataset(name: str) -> DatasetEntry:
    """The entry of a dataset by its name or MODULE:FUNCTION, without loading it."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if ":" in name:
        return DatasetEntry(name, name)
    for point in entry_points(group=GROUP):
        if point.name == name:
            return DatasetEntry(name, point.value)
    close = get_close_matches(name, dataset_names(), 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise InputError(f"Expected dataset out of {', '.join(dataset_names())}, or MODULE:FUNCTION; got {name!r}.{hint}")


def load_task(spec: DataSpec) -> Task:
    """Loads the dataset that the options name, with their split, scaling and treewidth bound."""
    from functools import partial

    from neuraltrees.data.splits import random_node_split
    from neuraltrees.data.task import Task

    entry = find_dataset(spec.dataset)
    load = find_place(entry.load)
    try:
        takes_options = bool(inspect.signature(load).parameters)
    except (TypeError, ValueError):
        raise InputError(f"Expected {spec.dataset} to be a function that returns a Task; got {load!r}.") from None
    task = load(spec) if takes_options else load()
    if not isinstance(task, Task):
        raise InputError(
            f"Expected {spec.dataset} to return a Task; got {type(task).__name__}. "
            f"Wrap your graphs: Task(graphs, labels)."
        )
    changes: dict[str, Any] = {"seed": spec.seed}
    if spec.max_treewidth is not None:
        changes["max_treewidth"] = spec.max_treewidth
    if task.splitter is None:
        changes["splitter"] = partial(_random_split, task.num_items, spec.train_share, random_node_split)
    task = task.replace(**changes)
    scaled = bool(task.scaling.logarithm) or task.scaling.mean is not None
    return task.scaled() if spec.standardise and not scaled else task


def _random_split(items: int, share: float, split: Callable[..., Any], seed: int) -> Any:
    return split(items, share, seed=seed)
