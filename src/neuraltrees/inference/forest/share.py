"""The share of a process in a chunk of a forest: its groups, by stages, and the messages that cross to others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import torch

from neuraltrees.graph import Int64
from neuraltrees.inference.forest.plan import Chunk, Group, Inbox, Sender, Side


@dataclass(frozen=True)
class Cut:
    """Messages of one process to another: rows `start` to `stop` of a group of the sender.

    The receiver keeps them as if they were a group of their own, `number`.
    """

    sender: int
    receiver: int
    group: int
    start: int
    stop: int
    number: int
    shape: tuple[int, ...]

    @property
    def entries(self) -> int:
        return (self.stop - self.start) * prod(self.shape)


@dataclass(frozen=True, eq=False)
class Share:
    """What a process computes of a chunk.

    Args:
        chunk: its groups, which read messages of other processes as those of groups of their own.
        numbers: the number of each of these groups in the whole chunk.
        stages: the numbers of its groups in every stage.
        cuts: for every stage, the messages that it sends or receives after the stage.
    """

    chunk: Chunk
    numbers: tuple[int, ...]
    stages: tuple[tuple[int, ...], ...]
    cuts: tuple[tuple[Cut, ...], ...]


def share_of(chunk: Chunk, part: Int64, stage: Int64, rank: int) -> Share:
    """The share of process `rank`; `part` and `stage` are those of every variable, the same for all of a group."""
    first = [int(group.variables[0]) for group in chunk.groups]
    parts, stages = part[first].tolist(), stage[first].tolist()
    count = max(stages, default=-1) + 1
    cuts: list[list[Cut]] = [[] for _ in range(count)]
    renamed: dict[tuple[int, int], Cut] = {}
    for reader, group in enumerate(chunk.groups):
        for sender in _senders(group):
            if parts[sender.group] != parts[reader]:
                there = chunk.groups[sender.group]
                cut = Cut(
                    parts[sender.group],
                    parts[reader],
                    sender.group,
                    sender.start,
                    sender.stop,
                    len(chunk.groups) + len(renamed),
                    there.shape,
                )
                renamed[sender.group, sender.start] = cut
                if rank in (cut.sender, cut.receiver):
                    cuts[stages[sender.group]].append(cut)
    sent = {cut.group for cut in renamed.values() if cut.sender == rank}
    own = [number for number, each in enumerate(parts) if each == rank]
    groups = tuple(_renamed(chunk.groups[number], renamed, parts, rank, sent) for number in own)
    variables = torch.cat([torch.zeros(0, dtype=torch.int64), *(group.variables.cpu() for group in groups)])
    return Share(
        replace(chunk, groups=groups, variables=variables, entries=sum(_entries(group) for group in groups)),
        tuple(own),
        tuple(tuple(number for number in own if stages[number] == each) for each in range(count)),
        tuple(tuple(each) for each in cuts),
    )


def _senders(group: Group) -> Iterator[Sender]:
    """All that a group reads messages of."""
    for inbox in (group.inbox, *(part.inbox for side in (group.left, group.right) if side for part in side.parts)):
        if inbox is not None:
            yield from inbox.senders


def _renamed(group: Group, renamed: dict[tuple[int, int], Cut], parts: list[int], rank: int, sent: set[int]) -> Group:
    """The group, reading messages of other processes under their own numbers."""

    def inbox(given: Inbox | None) -> Inbox | None:
        if given is None:
            return None
        return replace(given, senders=tuple(sender(each) for each in given.senders))

    def sender(given: Sender) -> Sender:
        if parts[given.group] == rank:
            return given
        return replace(given, group=renamed[given.group, given.start].number, start=0, stop=given.stop - given.start)

    def side(given: Side | None) -> Side | None:
        if given is None:
            return None
        return replace(given, parts=tuple(replace(part, inbox=inbox(part.inbox)) for part in given.parts))

    right = side(group.right)
    assert right is not None
    spent = tuple(each for each in group.spent if parts[each] == rank and each not in sent)
    return replace(group, left=side(group.left), right=right, inbox=inbox(group.inbox), spent=spent)


def _entries(group: Group) -> int:
    """Entries of both tables and of the messages of a group."""
    sides = sum(prod(side.shape) for side in (group.left, group.right) if side is not None)
    return group.count * (sides + prod(group.shape))
