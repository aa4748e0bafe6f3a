"""Which parts the layers of `BagRounds` have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from neuraltrees.errors import InputError

Part: TypeAlias = Literal["graph", "tree", "sweep"]
Start: TypeAlias = Literal["zero", "mean", "sum"]


@dataclass(frozen=True)
class BagOptions:
    """What `BagRounds` computes.

    Args:
        parts: what every layer reads: "graph" (messages along the edges of the graph), "tree" (messages between nodes
            and the bags that hold them, and between bags) and "sweep" (every bag sees all others, by their distance in
            the tree), joined by "+". Layers that differ are separated by commas, the last stands for all that follow:
            "graph,graph+tree".
        start: bags start at zero as in the paper, or at the mean or the sum of their nodes' first states.
        features: whether bags also start with what they are: their kind, their size and the edges inside them.
        rings: whether a node of a cycle sends its bag what its neighbours on the cycle are, too.
        edge_states: whether edges have states that layers update; else their features stay as they are.
        gated: whether the decays of sweeps depend on the states.
        codes: whether bags, and nodes for their places in bags, also start with codes of what the bags look like; see
            `bag_codes`. For canonical H-trees.

    >>> BagOptions("graph,graph+tree").layers(3)
    [('graph',), ('graph', 'tree'), ('graph', 'tree')]
    """

    parts: str = "graph+tree"
    start: Start = "sum"
    features: bool = True
    rings: bool = True
    edge_states: bool = False
    gated: bool = False
    codes: bool = False

    def __post_init__(self) -> None:
        if self.start not in get_args(Start):
            raise InputError(f"Expected start out of {', '.join(get_args(Start))}; got {self.start!r}.")
        self.layers(1)

    def layers(self, count: int) -> list[tuple[str, ...]]:
        """The parts of each of so many layers, in the order graph, tree, sweep."""
        if not isinstance(self.parts, str):
            raise InputError(f'Expected parts as a text such as "graph+tree"; got {self.parts!r}.')
        given = [tuple(part.strip() for part in layer.split("+")) for layer in self.parts.split(",")]
        for part in (part for layer in given for part in layer):
            if part not in get_args(Part):
                raise InputError(f"Expected parts out of {', '.join(get_args(Part))}, joined by +; got {part!r}.")
        ordered = [tuple(part for part in get_args(Part) if part in layer) for layer in given]
        return [ordered[min(number, len(ordered) - 1)] for number in range(count)]

    @property
    def needs_tree(self) -> bool:
        """Whether any layer reads bags."""
        return any(part in self.parts for part in ("tree", "sweep"))
