"""Checkpoints: the state of a training in one file, written atomically."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.files import read_whole, write_whole

FORMAT = "neuraltrees-checkpoint-2"


@dataclass(frozen=True)
class Checkpoint:
    """The file of the state of a training, and the settings that identify the training.

    Args:
        path: a `.safetensors` file.
        identity: settings by name, which must be the same when a training is resumed.
        may_change: names of settings that may differ nevertheless.
    """

    path: Path
    identity: dict[str, object]
    may_change: Sequence[str] = ()

    def numbered(self, number: int) -> Checkpoint:
        """The checkpoint of a part of this training."""
        path = self.path.with_name(f"{self.path.stem}-{number}{self.path.suffix}")
        return replace(self, path=path, identity=self.identity | {"part": number})

    def save(self, state: dict[str, Tensor]) -> None:
        """Replaces the saved state by this one."""
        save_tensors(self.path, state, {"format": FORMAT, "identity": self.identity})

    def remove(self) -> None:
        """Removes the file, and its folder if that is empty then."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.parent.rmdir()

    def load(self) -> dict[str, Tensor]:
        """The saved state; `InputError` if the file is broken or belongs to another training."""
        state, about = load_tensors(self.path, (FORMAT,), "checkpoint")
        theirs = about.get("identity")
        found = theirs if isinstance(theirs, dict) else {}
        ours = json.loads(json.dumps(self.identity))
        fixed = (ours.keys() | found.keys()).difference(self.may_change)
        differ = [name for name in fixed if ours.get(name) != found.get(name)]
        if differ:
            name = sorted(differ)[0]
            raise InputError(
                f"Expected {self.path} to hold this training, with {name} = {ours.get(name)!r}; "
                f"got {found.get(name)!r}. Train in another folder, or remove this file to start again."
            )
        return state


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, object]) -> None:
    """Tensors and JSON in one safetensors file, with a checksum."""
    about = about | {"checksum": _checksum(tensors)}
    content = safetensors.torch.save(tensors, {"about": json.dumps(about)})
    write_whole(path, content)


def load_tensors(path: Path, forms: Sequence[str], what: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the JSON of a file; `InputError` unless it is a complete file of one of these formats."""
    content = read_whole(path)
    try:
        tensors = safetensors.torch.load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        about = json.loads(header.get("__metadata__", {}).get("about", "{}"))
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"Expected {path} to be a {what} of neuraltrees; got a broken file: {error}.") from None
    found = about.get("format") if isinstance(about, dict) else None
    if isinstance(found, str) and found not in forms and found.rpartition("-")[0] == forms[0].rpartition("-")[0]:
        raise InputError(
            f"Expected {path} in the format {forms[0]}; got {found}, of another version of neuraltrees. Train again "
            f"with this version, or use that one."
        )
    if found not in forms:
        raise InputError(f"Expected {path} to be a {what} of neuraltrees; got a file of another kind.")
    if about.get("checksum") != _checksum(tensors):
        raise InputError(f"Expected {path} to be a complete {what}; its content does not match its checksum.")
    return tensors, about


def _checksum(tensors: dict[str, Tensor]) -> str:
    digest = sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
    return digest.hexdigest()
