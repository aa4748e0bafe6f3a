"""The options of `BagRounds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from neuraltrees.errors import InputError
from neuraltrees.nn.schedule.start import BagStart, check_start

Aggr: TypeAlias = Literal["sum", "mean"]
Part: TypeAlias = Literal["graph", "tree", "sweep"]


@dataclass(frozen=True)
class BagOptions:
    """What `BagRounds` computes.

    Args:
        parts: what every layer reads: "graph" (messages along the edges of the graph), "tree" (messages between nodes
            and the bags that hold them, and between bags) and "sweep" (sums over all bags, weighted by their distance
            in the tree), joined by "+". Different layers are separated by commas, and the last is repeated:
            "graph,graph+tree".
        start: the initial state of a bag: zero as in the paper, or the mean or the sum of its nodes' states before the
            first layer that reads bags.
        features: whether the kind, the size and the inner edges of a bag are added to its initial state.
        rings: whether the message of a node on a cycle to its bag depends on its neighbours on the cycle.
        edge_states: whether edges have states that layers update; else layers read the edge features.
        gated: whether the decays of sweeps depend on the states.
        aggr: whether a node reads the sum or the mean of the messages along its edges, and of the states of its bags.
        update_layers: number of linear layers of an update, 1 or 2; with 0 the sum of all messages is normalised as it
            is, as in a GCN, and the states that are sent along edges of the graph, and from a node to itself, pass
            through a linear layer of their own.
        skip: whether the new state of a node is added to its state before the layer; those of bags and edges always
            are.
        views: whether the first layers, those that read the graph alone, compute the states of nodes with equal views
            once, in training; see `Views`. These nodes share their dropout.
        codes: whether codes of bags, and of the places of nodes in bags, are added to the initial states; see
            `bag_codes`. For canonical H-trees.

    >>> BagOptions("graph,graph+tree").layers(3)
    [('graph',), ('graph', 'tree'), ('graph', 'tree')]
    """

    parts: str = "graph+tree"
    start: BagStart = "sum"
    features: bool = True
    rings: bool = True
    edge_states: bool = False
    gated: bool = False
    aggr: Aggr = "sum"
    update_layers: int = 2
    skip: bool = True
    codes: bool = False
    views: bool = False

    def __post_init__(self) -> None:
        check_start(self.start, "start")
        if self.aggr not in get_args(Aggr):
            raise InputError(f"Expected aggr out of {', '.join(get_args(Aggr))}; got {self.aggr!r}.")
        if self.update_layers not in (0, 1, 2):
            raise InputError(f"Expected 0, 1 or 2 update_layers; got {self.update_layers!r}.")
        self.layers(1)
        if self.views and (self.edge_states or self.codes):
            other = "edge_states" if self.edge_states else "codes of bags"
            raise InputError(
                f"Expected views without {other}, which differ for nodes of equal views; got both. Leave one of them "
                f"out."
            )

    def layers(self, count: int) -> list[tuple[str, ...]]:
        """The parts of each of `count` layers, in the order graph, tree, sweep."""
        if not isinstance(self.parts, str):
            raise InputError(f'Expected parts as a text such as "graph+tree"; got {self.parts!r}.')
        given = [tuple(part.strip() for part in layer.split("+")) for layer in self.parts.split(",")]
        for part in (part for layer in given for part in layer):
            if part not in get_args(Part):
                raise InputError(f"Expected parts out of {', '.join(get_args(Part))}, joined by +; got {part!r}.")
        ordered = [tuple(part for part in get_args(Part) if part in layer) for layer in given]
        return [ordered[min(number, len(ordered) - 1)] for number in range(count)]

    def layers_on_views(self, count: int) -> int:
        """How many of `count` layers compute states of views.

        >>> BagOptions("graph,graph,graph+tree", views=True).layers_on_views(4)
        2
        """
        on_tree = [parts != ("graph",) for parts in self.layers(count)]
        return (on_tree.index(True) if any(on_tree) else count) if self.views else 0

    @property
    def needs_tree(self) -> bool:
        """Whether any layer reads bags."""
        return any(part in self.parts for part in ("tree", "sweep"))
