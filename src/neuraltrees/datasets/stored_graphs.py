"""Collections of graphs in files: arrays in `.npz`, and the files in `processed/` of PyG's datasets."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees.data.packed import PackedGraphs, pointers
from neuraltrees.datasets.root import VARIABLE, find_data_root
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike

AGAIN = "The file may be cut short: get it again."


def find_stored(root: PathLike | None, what: str, places: Sequence[str], advice: str) -> Path:
    """The first of some files or folders that exists under the data root.

    Args:
        root: the data root; see `find_data_root`.
        what: the dataset, for the error.
        places: paths relative to the root.
        advice: where to get it from; ROOT in it stands for the data root.
    """
    folder = find_data_root(root)
    for place in places:
        if (folder / place).exists():
            return folder / place
    raise InputError(
        f"Expected {what} under the data root {folder}; none of {', '.join(places)} is there. "
        f"{advice.replace('ROOT', str(folder))} Or set --data-root (in Python: root) or the environment variable "
        f"{VARIABLE} to a folder that has one of these."
    )


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Some arrays of an `.npz` file; no code in it is run."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            missing = [name for name in names if name not in file.files]
            if missing:
                raise InputError(
                    f"Expected {path} to have the arrays {', '.join(names)}; got no {', '.join(missing)} among "
                    f"{', '.join(file.files) or 'none'}."
                )
            return {name: file[name] for name in names}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
        if isinstance(error, InputError | FileNotFoundError):
            raise
        raise InputError(f"Expected {path} to be an .npz file of plain arrays; got: {error}. {AGAIN}") from error


def as_tensor(array: np.ndarray[Any, Any]) -> Tensor:
    """Integers as int64, other numbers as float32."""
    kind = np.int64 if array.dtype.kind in "iub" else np.float32
    return torch.from_numpy(np.ascontiguousarray(array, dtype=kind))


def pack(
    path: Path, arrays: dict[str, np.ndarray[Any, Any]], prefix: str = "", edges: str = "edge_attr"
) -> PackedGraphs:
    """Graphs of arrays `x`, `edge` (each edge once), `node_ptr`, `edge_ptr`, `y` and edge features."""
    x, edge, node_ptr, edge_ptr, y, attr = (
        as_tensor(arrays[f"{prefix}{name}"]) for name in ("x", "edge", "node_ptr", "edge_ptr", "y", edges)
    )
    with_columns = (each.unsqueeze(1) if each.dim() == 1 else each for each in (x, attr))
    x, attr = with_columns
    try:
        return PackedGraphs.of_edges(x, edge, y, node_ptr, edge_ptr, attr)
    except InputError as error:
        raise InputError(f"{path}: {error} {AGAIN}") from None


def read_tensors(path: Path) -> Any:
    """The content of a file of `torch.save`, read without running any code in it."""
    try:
        return torch.load(path, weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError, zipfile.BadZipFile, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"Expected {path} to be a file that torch saved; got one that cannot be read safely: {reason} Nothing in "
            f"it was run. Delete the folder {path.parent.name} and let PyG's dataset make it again."
        ) from None


def join_graphs(path: Path, graphs: Iterable[tuple[Tensor, Tensor, Tensor, Tensor]]) -> PackedGraphs:
    """Graphs of single tensors: features, both directions of the edges, their features, and labels."""
    x, ends, attr, y = zip(*graphs, strict=True)
    nodes, edges = (torch.tensor(counts) for counts in ([len(each) for each in x], [each.shape[1] for each in ends]))
    try:
        labels = torch.stack([each.flatten() for each in y])
        joined = (torch.cat(x).long(), torch.cat(ends, 1).long(), labels)
        return PackedGraphs(*joined, pointers(nodes), pointers(edges), torch.cat(attr).long())
    except (RuntimeError, InputError) as error:
        raise InputError(f"{path}: {error} {AGAIN}") from None


def read_processed(path: Path) -> PackedGraphs:
    """The graphs that a dataset of PyG saved, read without running any code in the file."""
    content = read_tensors(path)
    try:
        data, slices = content[0], content[1]
        attr = data.get("edge_attr")
        y: Tensor = data["y"]
        graphs = len(slices["edge_index"]) - 1
        if "x" in data:
            x, node_ptr = data["x"], slices["x"]
        else:  # graphs without features keep their numbers of nodes
            node_ptr = pointers(torch.tensor(data["_num_nodes"]))
            x = torch.zeros(int(node_ptr[-1]), 1, dtype=torch.int64)
        return PackedGraphs(
            x.unsqueeze(1) if x.dim() == 1 else x,
            data["edge_index"],
            y if len(y) == graphs else y.reshape(graphs, -1),
            node_ptr,
            slices["edge_index"],
            attr.unsqueeze(1) if attr is not None and attr.dim() == 1 else attr,
        )
    except (KeyError, TypeError, IndexError, AttributeError, RuntimeError) as error:
        raise InputError(
            f"Expected {path} to hold graphs with x, edge_index and y, as PyG saves them; got: "
            f"{type(error).__name__}: {error}."
        ) from None
    except InputError as error:
        raise InputError(f"{path}: {error} {AGAIN}") from None
