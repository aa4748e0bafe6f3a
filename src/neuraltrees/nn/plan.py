"""A plan: all that a network needs to know of a graph or tree and that depends on neither features nor weights."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Made once by `network.plan(data)` and used in every step: `network(x, plan)`.

    Args:
        rounds: what the schedule made of the structure.
        places: what the head made of it, such as the type and the graph of every node.
        node_type: the type of every node, for encoders of types; None where there are none.
        num_nodes: number of graph nodes; None where it is not known before the features are seen.
        num_edges: number of graph edges, likewise.
        made_for: the kind of network that it was made for, in words; None for any.
    """

    rounds: Any
    places: Any
    node_type: Tensor | None = None
    num_nodes: int | None = None
    num_edges: int | None = None
    made_for: str | None = None

    def to(self, device: torch.device | str) -> Plan:
        """The same plan with all its tensors on a device."""
        parts = {each.name: moved(getattr(self, each.name), torch.device(device)) for each in fields(self)}
        return replace(self, **parts)

    def __repr__(self) -> str:
        return f"Plan({self.rounds!r}, num_nodes={self.num_nodes})"


def moved(value: T, device: torch.device) -> T:
    """Tensors on a device, wherever they are in dataclasses, tuples, lists, dicts and objects with a method `to`.

    >>> moved((torch.zeros(1), "text"), torch.device("meta"))[0].device.type
    'meta'
    """
    found: Any = value
    if isinstance(value, Tensor):
        found = value.to(device)
    elif callable(getattr(value, "to", None)):
        found = value.to(device)  # type: ignore[attr-defined]
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        changed = {name: moved(part, device) for name, part in parts.items()}
        if any(changed[name] is not part for name, part in parts.items()):
            found = replace(value, **changed)
    elif isinstance(value, tuple | list):
        items = [moved(each, device) for each in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            found = type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    elif isinstance(value, dict):
        found = {key: moved(each, device) for key, each in value.items()}
    return found  # type: ignore[no-any-return]
