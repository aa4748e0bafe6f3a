"""The plan of a forest's passes: groups of steps of the same kind, which form one tensor, and their indices."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

from torch import Tensor

Space: TypeAlias = Literal["linear", "log"]
T = TypeVar("T")


@dataclass(frozen=True)
class Sender:
    """Rows of a group whose messages one inbox receives; `order` permutes their axes for it, `back` is the inverse."""

    group: int
    start: int
    stop: int
    order: tuple[int, ...] | None
    back: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Inbox:
    """Messages of one scope to the steps of a group, sender by sender.

    `row` is the step that receives each message; if `plain`, message i is for step i. Messages about more than the
    variable itself are multiplied: `first` is the number of the first message of every step, or one beyond the last
    number for steps without messages (`gaps`); `more` are the other messages, in turns with at most one per step.

    Shapes: row :math:`(M)`, first :math:`(G)`
    """

    senders: tuple[Sender, ...]
    row: Tensor
    plain: bool
    first: Tensor | None = None
    gaps: bool = False
    more: tuple[tuple[Tensor, Tensor], ...] = ()


@dataclass(frozen=True, eq=False)
class Lookup:
    """Factors of the steps of a group, one per step: the number of each in a stack of the chunk, or one for all.

    `shape` are the numbers of states of the factors' variables, in the order of the tables of the stack.

    Shapes: number :math:`(G)` or :math:`(1)`
    """

    stack: int
    number: Tensor
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """The factors of one scope in a side's table: given ones, and messages.

    `shape` is the scope's shape broadcast to the side, with 1 for axes that it does not have, which are `missing`.
    """

    shape: tuple[int, ...]
    missing: tuple[int, ...]
    lookups: tuple[Lookup, ...]
    inbox: Inbox | None


@dataclass(frozen=True)
class Side:
    """One of the two tables whose matrix product sums a variable out; that variable is its last axis.

    `axes` are its axes of the separator: the shared ones, then its own, which have `own` states together.
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

    Messages have the shape `shape`: the axes that both sides share, with `shared` states together, then those of the
    left side, then those of the right side. `inbox` are the messages about the variable only. `spent` are the groups
    whose messages no later group reads.

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
class Turned:
    """Some given tables with their axes in the order in which steps read them; None for all tables, or as given.

    Shapes: table :math:`(T)`
    """

    table: Tensor | None
    axes: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Stack:
    """The tables of one `Use` that a chunk reads; the last of them has no effect, if some step needs it (`neutral`)."""

    use: int
    parts: tuple[Turned, ...]
    neutral: bool


@dataclass(frozen=True, eq=False)
class Chunk:
    """Whole graphs whose tables are in memory at the same time: their groups, senders before receivers.

    `variables` are the variables of all groups, concatenated; `entries` is the number of entries of the tables of all
    steps, `copied` that of the tables in `stacks` on more than two variables.

    Shapes: variables :math:`(N)`
    """

    groups: tuple[Group, ...]
    variables: Tensor
    entries: int
    stacks: tuple[Stack, ...]
    copied: int

    @cached_property
    def borders(self) -> dict[int, list[int]]:
        """The rows at which the messages of every group are divided among senders, from 0 on."""
        found: defaultdict[int, set[int]] = defaultdict(lambda: {0})
        for group in self.groups:
            sides = [side for side in (group.left, group.right) if side is not None]
            inboxes = [group.inbox, *(part.inbox for side in sides for part in side.parts)]
            for sender in (sender for inbox in inboxes if inbox is not None for sender in inbox.senders):
                found[sender.group] |= {sender.start, sender.stop}
        return {group: sorted(rows) for group, rows in found.items()}
