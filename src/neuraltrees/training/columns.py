"""Columns of many graphs in a folder, one file per column, read through memory maps."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, as_path, locked, make_folder, write_whole
from neuraltrees.nn.ragged import Column, Ragged

FORMAT = "neuraltrees columns 1"
INDEX = "index.json"


def write_columns(folder: PathLike, ragged: Ragged, subject: str) -> None:
    """Writes columns to a folder; see `columns_writer`."""
    with columns_writer(folder, subject) as write:
        write(ragged)


@contextmanager
def columns_writer(folder: PathLike, subject: str) -> Iterator[Callable[[Ragged], None]]:
    """A context with a function that appends the columns of some graphs to the files of a folder.

    The index, which describes the columns, is written at the end of the context: a folder without it has no columns.

    Args:
        folder: created if it is missing; files of an interrupted call are replaced.
        subject: what the columns belong to, such as the fingerprint of a task.
    """
    folder = as_path(folder)
    make_folder(folder)
    with locked(folder), ExitStack() as files:
        (folder / INDEX).unlink(missing_ok=True)
        writer = _Writer(folder, files)
        yield writer.add
        writer.sync()  # the columns are on disk before the index says so
        files.close()
        write_whole(folder / INDEX, json.dumps(writer.index(subject), indent=1).encode())


class _Writer:
    """Appends columns to their files."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self.folder, self.stack = folder, files
        self.files: dict[str, BinaryIO] = {}
        self.about: dict[str, dict[str, Any]] = {}
        self.ends: dict[str, int] = {}
        self.limits: dict[str, int] = {}
        self.places: dict[str, dict[str, str | None]] = {}

    def add(self, ragged: Ragged) -> None:
        tensors = {f"column.{name}": each.values for name, each in ragged.columns.items()}
        for space, each in ragged.ptr.items():
            before = self.ends.get(space)
            tensors[f"ptr.{space}"] = each if before is None else each[1:] + before
            self.ends[space] = (before or 0) + int(each[-1])
        _check_room(self.folder, sum(each.numel() * each.element_size() for each in tensors.values()))
        for name, each in tensors.items():
            self._append(name, each.detach().cpu().contiguous().numpy())
        for name, limit in ragged.limits.items():
            self.limits[name] = max(limit, self.limits.get(name, limit))
        self.places = {name: {"space": each.space, "into": each.into} for name, each in ragged.columns.items()}

    def _append(self, name: str, array: npt.NDArray[Any]) -> None:
        if name not in self.files:
            self.files[name] = self.stack.enter_context((self.folder / f"{name}.column").open("wb"))
            self.about[name] = {"dtype": array.dtype.str, "shape": [0, *array.shape[1:]]}
        array.tofile(self.files[name])
        self.about[name]["shape"][0] += len(array)

    def sync(self) -> None:
        """Waits until all columns are on disk."""
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())

    def index(self, subject: str) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "subject": subject,
            "limits": self.limits,
            "columns": self.places,
            "files": self.about,
        }


def open_columns(folder: PathLike, subject: str) -> Ragged | None:
    """The columns of a folder, as memory maps; None if it has none.

    Raises `InputError` for columns of another subject and for truncated files.
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
