"""What a forest's passes do, in which order, with which indices: steps that are alike form one group, one tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from torch import Tensor

Space: TypeAlias = Literal["linear", "log"]
T = TypeVar("T")


@dataclass(frozen=True)
class Sender:
    """Rows of a group whose messages one inbox receives; `order` sorts their axes as it wants them."""

    group: int
    start: int
    stop: int
    order: tuple[int, ...] | None
    back: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Inbox:
    """Messages to the steps of a group that share a scope, one sender's after another's.

    `row` is the step that each is for; if `plain`, message i is for step i. Messages about more than the variable
    itself are multiplied: `first` is the number of one for every step, one beyond the last for steps that have none, if
    there are such `gaps`; `more` are the others, by turns in which no step has two.

    Shapes: row :math:`(M)`, first :math:`(G)`
    """

    senders: tuple[Sender, ...]
    row: Tensor
    plain: bool
    first: Tensor | None = None
    gaps: bool = False
    more: tuple[tuple[Tensor, Tensor], ...] = ()


@dataclass(frozen=True, eq=False)
class Part:
    """The factors of one scope in a side's table: a pair, and messages.

    `shape` are the scope's axes among those of the side, with 1 where it has none, and `missing` are those. `pair` is
    the number of the table of every step, or one for all of them.

    Shapes: pair :math:`(G)` or :math:`(1)`
    """

    shape: tuple[int, ...]
    missing: tuple[int, ...]
    pair: Tensor | None
    inbox: Inbox | None


@dataclass(frozen=True)
class Side:
    """One of the two tables whose matrix product sums a variable out; that variable is its last axis.

    `axes` are those of the separator: the ones that both sides share, then its own, of `own` states.
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    own: int
    parts: tuple[Part, ...]

    @property
    def receives(self) -> bool:
        return any(part.inbox is not None for part in self.parts)


@dataclass(frozen=True, eq=False)
class Group:
    """Steps of the same height, cardinalities and split: row i sums out `variables[i]`, given its `separators[i]`.

    Messages have the shape `shape`: the axes that both sides share, of `shared` states, then the left ones, then the
    right ones. `inbox` are messages about the variable alone. `spent` are the groups whose messages nobody needs after
    this one.

    Shapes: variables :math:`(G)`, separators :math:`(G, d)`
    """

    variables: Tensor
    separators: Tensor
    states: int
    shape: tuple[int, ...]
    shared: int
    left: Side | None
    right: Side
    inbox: Inbox | None
    spent: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.variables)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Whole graphs whose tables are in memory together: their groups, senders before receivers.

    `variables` are those of all groups, one group's after another's; `entries` counts those of all tables.

    Shapes: variables :math:`(N)`
    """

    groups: tuple[Group, ...]
    variables: Tensor
    entries: int
