"""A plan: all that a network prepares of a graph or tree before it sees features or weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from neuraltrees.movable import moved_fields
from neuraltrees.nn.parallel import Part


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Made once by `network.plan(data)` and used in every step: `network(x, plan)`.

    Args:
        rounds: the plan of the schedule.
        places: the plan of the head, such as the type and the graph of every node.
        node_type: the type of every node, for encoders per type; None if there are none.
        num_nodes: number of graph nodes; None if it is not known before the features are seen.
        num_edges: number of graph edges; None likewise.
        made_for: the kind of network that it was made for, in words; None for any.
        part: for the plan of a part of a graph, which rows it reads and answers; None for a whole graph.
        rows: the nodes whose features it reads, which are then those that are passed; None for all.
    """

    rounds: Any
    places: Any
    node_type: Tensor | None = None
    num_nodes: int | None = None
    num_edges: int | None = None
    made_for: str | None = None
    part: Part | None = None
    rows: Tensor | None = None

    def to(self, device: torch.device | str) -> Plan:
        """The same plan with all its tensors on a device."""
        return moved_fields(self, torch.device(device))

    def __repr__(self) -> str:
        return f"Plan({self.rounds!r}, num_nodes={self.num_nodes})"
