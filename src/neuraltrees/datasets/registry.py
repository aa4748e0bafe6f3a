"""Datasets by name: built-in, registered, from an entry point, or your own function as MODULE:FUNCTION."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from neuraltrees.datasets.spec import DataSpec
from neuraltrees.errors import InputError, NeuralTreesError, did_you_mean
from neuraltrees.files import read_whole
from neuraltrees.graph import Graph
from neuraltrees.graph_files import is_graph_file
from neuraltrees.options import find_place

if TYPE_CHECKING:
    from neuraltrees.data.task import Task

GROUP = "neuraltrees.datasets"  # group of the entry points
SMILES_EPOCHS = ((2_000, 60), (10_000, 30), (50_000, 15))  # largest number of molecules, and epochs
PAIRS = ("brec", "sr25")  # pairs of graphs without labels to learn

Load: TypeAlias = "Callable[[DataSpec], Task] | Callable[[], Task]"
Preset: TypeAlias = Callable[[str, str], Mapping[str, Any]]


def no_preset(model: str, conv: str) -> Mapping[str, Any]:
    """The preset of a dataset without defaults of its own."""
    return {}


def files_preset(model: str, conv: str) -> Mapping[str, Any]:
    """The preset of a graph that is read from files."""
    return {"standardise": True, "epochs": 300, "batches": 1, "every_class": False}


def smiles_preset(path: str, model: str, conv: str) -> Mapping[str, Any]:
    """The preset of a table of molecules, by its number of lines: about eighty molecules per step."""
    try:
        rows = read_whole(path).count(b"\n")
    except OSError:  # reading the table says what is wrong
        rows = 0
    epochs = next((epochs for most, epochs in SMILES_EPOCHS if rows <= most), 8)
    return {"train_share": 0.8, **graph_preset(epochs, max(4, min(512, round(rows / 80))))(model, conv)}


def graph_preset(epochs: int, batches: int, pool: str = "sum") -> Preset:
    """The preset of many small graphs, such as molecules: about a hundred graphs per step, AdamW along a cosine.

    Args:
        epochs, batches: passes over all graphs, and steps per pass.
        pool: "sum" for targets that grow with the size of the graph, "mean" for others.

    >>> graph_preset(60, 12)("gnn", "sage")["batches"]
    12
    """
    return partial(_graph_preset, epochs, batches, pool)


def _graph_preset(epochs: int, batches: int, pool: str, model: str, conv: str) -> dict[str, Any]:
    found: dict[str, Any] = {"hidden": 96, "layers": 4, "dropout": 0.1, "residual": True, "pool": pool}
    found |= {"optimiser": "adamw", "lr": 0.001, "weight_decay": 1e-5, "warmup": min(5, epochs // 10), "cosine": True}
    found |= {"epochs": epochs, "batches": batches, "every_class": False}
    if model in ("neural-tree", "gnn"):
        found |= {"schedule": "bags", "parts": "graph+tree" if model == "neural-tree" else "graph", "shuffle": True}
        found |= {"method": "canonical", "terminal": "bag"}
    return found


@dataclass(frozen=True)
class DatasetEntry:
    """A registered dataset.

    Args:
        name: the value of `--dataset`.
        load: a function of the options (`DataSpec`), or without arguments, that returns a `Task`; or its MODULE:NAME.
        what: a line of help.
        preset: function of model and convolution that returns default values of other options.
        members: for a family of datasets, what to call a member: the value of `--dataset` is then NAME:MEMBER.
    """

    name: str
    load: Load | str
    what: str = ""
    preset: Preset = no_preset
    members: str | None = None


_REGISTERED: dict[str, DatasetEntry] = {}


def register_dataset(
    name: str, load: Load | str, what: str = "", preset: Preset = no_preset, members: str | None = None
) -> DatasetEntry:
    """Makes a dataset known by name in this process.

    The command line knows it by name if an entry point of the group `neuraltrees.datasets` names its `load`; and any
    function by MODULE:FUNCTION, `--dataset mypackage.scenes:load`.

    Args:
        name: what to call it.
        load: a function that returns a `Task`, or its MODULE:FUNCTION. It gets the options (`DataSpec`) if it takes one
            argument without a default.
        what: a line of help.
        preset: function of model and convolution that returns default values of other options.
        members: for a family of datasets, what to call a member. `--dataset NAME:MEMBER` then loads one, and `load`
            finds its name in `options.dataset`.

    >>> register_dataset("mine", "mypackage.scenes:load").name
    'mine'
    """
    if not isinstance(name, str) or not name or ":" in name:
        raise InputError(f"Expected the name of a dataset without a colon; got {name!r}.")
    if not (callable(load) or (isinstance(load, str) and ":" in load)) or not callable(preset):
        raise InputError(
            f"Expected load and preset as functions, or load as MODULE:FUNCTION; got {load!r}, {preset!r}."
        )
    _REGISTERED[name] = DatasetEntry(name, load, what, preset, members)
    return _REGISTERED[name]


def dataset_names() -> list[str]:
    """The names of all registered datasets, including those of entry points."""
    registered = [name if each.members is None else f"{name}:{each.members}" for name, each in _REGISTERED.items()]
    return [*registered, *(point.name for point in entry_points(group=GROUP) if point.name not in _REGISTERED)]


def find_dataset(name: str) -> DatasetEntry:
    """The entry of a dataset by its name or MODULE:FUNCTION, without loading it."""
    family, colon, _ = name.partition(":")
    if family in _REGISTERED and bool(colon) == (_REGISTERED[family].members is not None):
        return _REGISTERED[family]
    if name in PAIRS:
        raise InputError(
            f"Expected a dataset with labels to learn; {name} has pairs of graphs to tell apart. Load them: "
            f"neuraltrees.datasets.{name}()."
        )
    if is_graph_file(name) and (":" not in name or Path(name).exists()):
        return DatasetEntry(name, "neuraltrees.datasets.tables:load_files", "a graph file", files_preset)
    if ":" in name:
        return DatasetEntry(name, name)
    for point in entry_points(group=GROUP):
        if point.name == name:
            return DatasetEntry(name, f"{point.module}:{point.attr}")
    hint = did_you_mean(name, dataset_names())
    raise InputError(
        f"Expected dataset out of {', '.join(dataset_names())}, MODULE:FUNCTION, a graph file such as friends.csv, "
        f"or with smiles=COLUMN a table of molecules; got {name!r}.{hint}"
    )


def entry_of(spec: DataSpec) -> DatasetEntry:
    """The entry of the dataset that the options name, without loading it: a table of molecules if they say `smiles`."""
    if spec.smiles is not None:
        place = "neuraltrees.datasets.smiles_table:load_smiles"
        return DatasetEntry(spec.dataset, place, "a table of molecules", partial(smiles_preset, spec.dataset))
    if spec.target is not None and not spec.dataset.startswith("scenes:"):
        raise InputError(
            f"Expected smiles=COLUMN beside target={spec.target}, the column of the SMILES; got none. For classes of "
            f"nodes of a graph file: label=COLUMN."
        )
    return find_dataset(spec.dataset)


def load_task(spec: DataSpec) -> Task:
    """Loads the dataset that the options name, with their split, scaling and treewidth bound."""
    from neuraltrees.data.task import Task

    if not isinstance(spec, DataSpec):
        raise InputError(f"Expected options as DataSpec(dataset=...); got {spec!r}.")
    entry = entry_of(spec)
    load = find_place(entry.load)
    takes_options = _takes_options(load, spec.dataset)
    try:
        task = load(spec) if takes_options else load()
    except (NeuralTreesError, OSError):
        raise
    except Exception as error:
        raise InputError(
            f"Expected {spec.dataset} to return a Task; it raised {type(error).__name__}: {error}."
        ) from error
    if not isinstance(task, Task):
        raise InputError(
            f"Expected {spec.dataset} to return a Task; got {type(task).__name__}. "
            f"Wrap your graphs: Task(graphs, labels)."
        )
    asked = {name: getattr(spec, name) for name in ("seed", "method", "terminal")}
    changes: dict[str, Any] = {name: value for name, value in asked.items() if getattr(task, name) != value}
    bound = spec.max_treewidth
    if spec.max_tree_nodes is not None:
        from neuraltrees.htree import largest_treewidth_bound

        graphs = [Graph.from_data(graph) for graph in task.graphs]
        bound = largest_treewidth_bound(
            graphs, spec.max_tree_nodes, spec.method, seed=spec.seed, sampler=spec.sampler, terminal=spec.terminal
        )
    if bound is not None:
        changes |= {"max_treewidth": bound, "sampler": spec.sampler}
    if task.splitter is None:
        changes["splitter"] = partial(_random_split, task.num_items, spec.train_share)
    task = task.replace(**changes) if changes else task
    task = task.scaled() if spec.standardise and not task.scaling.changes else task
    return task.encoded(spec.walks, spec.laplacian) if spec.walks or spec.laplacian else task


def _takes_options(load: Any, name: str) -> bool:
    """Whether a function takes the options; `InputError` for one that takes more."""
    try:
        given = inspect.signature(load).parameters.values()
    except (TypeError, ValueError):
        raise InputError(f"Expected {name} to be a function that returns a Task; got {load!r}.") from None
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [each for each in given if each.default is inspect.Parameter.empty and each.kind in plain]
    if len(needed) > 1 or (needed and needed[0].kind is inspect.Parameter.KEYWORD_ONLY):
        raise InputError(f"Expected {name} to take the options or nothing; it takes {len(needed)} arguments.")
    return bool(needed)


def _random_split(items: int, share: float, seed: int) -> Any:
    from neuraltrees.data.splits import random_node_split

    return random_node_split(items, share, seed=seed)
