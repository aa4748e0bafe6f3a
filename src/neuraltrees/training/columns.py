"""Columns of many graphs in a folder, one file each, read through memory maps."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, as_path, locked, make_folder, write_whole
from neuraltrees.nn.ragged import Column, Ragged

FORMAT = "neuraltrees columns 1"
INDEX = "index.json"


def write_columns(folder: PathLike, ragged: Ragged, subject: str) -> None:
    """Writes columns to a folder: whole, or with an index that says what they are not at all.

    Args:
        folder: made where it is missing; what an interrupted writing left there is replaced.
        ragged: the columns.
        subject: what they are of, such as the fingerprint of a task.
    """
    folder = as_path(folder)
    make_folder(folder)
    with locked(folder):
        (folder / INDEX).unlink(missing_ok=True)
        tensors = {f"ptr.{space}": each for space, each in ragged.ptr.items()}
        tensors |= {f"column.{name}": each.values for name, each in ragged.columns.items()}
        _check_room(folder, sum(each.numel() * each.element_size() for each in tensors.values()))
        files = {name: _write(folder, name, each) for name, each in tensors.items()}
        places = {name: {"space": each.space, "into": each.into} for name, each in ragged.columns.items()}
        content = {
            "format": FORMAT,
            "subject": subject,
            "limits": dict(ragged.limits),
            "columns": places,
            "files": files,
        }
        write_whole(folder / INDEX, json.dumps(content, indent=1).encode())


def open_columns(folder: PathLike, subject: str) -> Ragged | None:
    """The columns of a folder, mapped into memory; None where there are none.

    Columns of something else, and files that were cut short, raise `InputError`.
    """
    folder = as_path(folder)
    index = folder / INDEX
    if not index.exists():
        if folder.is_dir() and any(path.suffix != ".column" and path.name != ".lock" for path in folder.iterdir()):
            raise InputError(
                f"Expected {folder} to be empty or to hold columns of graphs; got other files. Choose another."
            )
        return None
    try:
        content = json.loads(index.read_bytes())
        if content["format"] != FORMAT:
            raise KeyError("format")
        if content["subject"] != subject:
            raise InputError(
                f"Expected {folder} to hold the graphs of this task with these trees; got others. "
                f"Choose another folder, or delete it."
            )
        tensors = {name: _open(folder, name, **about) for name, about in content["files"].items()}
        ptr = {name.removeprefix("ptr."): each for name, each in tensors.items() if name.startswith("ptr.")}
        columns = {name: Column(tensors[f"column.{name}"], **about) for name, about in content["columns"].items()}
        return Ragged(ptr, columns, content["limits"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"Expected {index} to describe columns of graphs; got a broken file ({error}). Delete {folder}."
        ) from None


def _write(folder: Path, name: str, values: Tensor) -> dict[str, Any]:
    array = values.detach().cpu().contiguous().numpy()
    with (folder / f"{name}.column").open("wb") as file:
        array.tofile(file)
    return {"dtype": array.dtype.str, "shape": list(array.shape)}


def _open(folder: Path, name: str, dtype: str, shape: list[int]) -> Tensor:
    path = folder / f"{name}.column"
    kind = np.dtype(dtype)
    expected = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    size = path.stat().st_size if path.exists() else 0
    if kind.hasobject or size != expected:
        raise InputError(f"Expected {path} to have {expected:,} bytes; got {size:,}. Delete {folder} and start again.")
    if not expected:
        return torch.from_numpy(np.zeros(shape, kind))
    return torch.from_numpy(np.memmap(path, kind, mode="c", shape=tuple(shape)))  # nothing is written back


def _check_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size:
        raise InputError(
            f"Expected room for {size / 2**30:.1f} GiB in {folder}; got {free / 2**30:.1f} GiB. Choose another folder."
        )
