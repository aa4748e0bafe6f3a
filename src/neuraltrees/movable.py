"""Moves nested values with all their tensors to another device."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

T = TypeVar("T")


def moved(value: T, device: torch.device) -> T:
    """A value with its tensors on a device: those in dataclasses, tuples, lists, dicts and objects with a method `to`.

    A value without tensors is returned itself, not a copy.

    >>> moved((torch.zeros(1), "text"), torch.device("meta"))[0].device.type
    'meta'
    """
    found: Any = value
    if isinstance(value, Tensor):
        found = value.to(device)
    elif value is None or isinstance(value, type | int | str):
        pass
    elif callable(move := getattr(value, "to", None)):
        found = move(device)
    elif is_dataclass(value):
        found = moved_fields(value, device)
    elif isinstance(value, tuple | list):
        items = [moved(each, device) for each in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            found = type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    elif isinstance(value, dict):
        changed = {key: moved(each, device) for key, each in value.items()}
        if any(changed[key] is not each for key, each in value.items()):
            found = changed
    return cast(T, found)


def moved_fields(value: T, device: torch.device) -> T:
    """A dataclass with the tensors of all its fields on a device."""
    kind: Any = type(value)
    parts = {name: getattr(value, name) for name in _names(kind)}
    changed = {name: moved(part, device) for name, part in parts.items()}
    if all(changed[name] is part for name, part in parts.items()):
        return value
    return replace(value, **changed)  # type: ignore[type-var]  # a dataclass


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass that its constructor takes."""
    return tuple(each.name for each in fields(kind) if each.init)
