"""The part of a round that one process computes: the messages to its own states, and the states that it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from neuraltrees.nn.ensemble.sparse import Coefficients, Map
from neuraltrees.nn.messages import Messages, Numbers
from neuraltrees.nn.parallel.group import Group
from neuraltrees.nn.parallel.halo import Array, Halo, places_of, read_elsewhere


@dataclass(frozen=True, eq=False)
class Part:
    """The part of a graph that a process computes: the rows of the whole that it reads and answers for.

    Args:
        group: the processes.
        nodes: the graph nodes whose features it reads, in this order; other processes may read some of them too.
        owned: the graph nodes that it answers for; every node belongs to one process.
        edges: the graph edges whose features it reads.
        owner: for every graph node, the process that answers for it.

    Shapes: nodes :math:`(n')`, owned :math:`(n'')`, edges :math:`(m')`, owner :math:`(n)`
    """

    group: Group
    nodes: Tensor
    owned: Tensor
    edges: Tensor
    owner: Tensor


@dataclass(frozen=True, eq=False)
class RoundPart:
    """What rounds need in addition to their own states if a process computes a part of a graph or tree.

    Args:
        group: the processes.
        halos: for each round but the first, the states that it reads from other processes; None if there are none.
        numbers: the numbers of the states after each round in the whole, which determine dropout.
        readout: the map from the means over leaves, of this process and received from others, to its own graph nodes;
            None if nothing is summed.
    """

    group: Group
    halos: tuple[Halo | None, ...]
    numbers: tuple[Tensor, ...]
    readout: tuple[Halo | None, Map] | None = None

    def read(self, number: int, h: Tensor) -> Tensor:
        """The states that round `number`, from 1, reads: its own and those of others."""
        halo = self.halos[number - 1]
        return h if halo is None else halo.extend(h)

    def gathered(self, h: Tensor) -> Tensor:
        """The states of the graph nodes that this process answers for."""
        if self.readout is None:
            return h
        halo, share = self.readout
        return share(h if halo is None else halo.extend(h))


def first_round(
    messages: Messages, after: Array, owned: Array, group: Group, start: Coefficients | None = None
) -> tuple[Messages, Array, Coefficients | None]:
    """The first round of a part, the graph nodes whose features it reads, and the map from these to the states before
    the round, if there is one; every process has all features.

    Args:
        messages: the messages of the whole; states before the round are graph nodes, and a last zero state if
            `messages.zero`.
        after: the part of every state after the round.
        owned: graph nodes that the process answers for.
        start: the map from graph nodes to the states before the round; None if they are the same.

    Shapes: after :math:`(M)`, start :math:`(N, n)`
    """
    mine = after == group.rank
    kept = np.flatnonzero(mine[messages.target.numpy()])
    read = np.concatenate([messages.source.numpy()[kept], messages.own.numpy()[mine]])
    if start is not None:
        here = np.unique(read)
        narrow, columns = own_rows(start, here)
        nodes = np.union1d(columns, owned)
        place = torch.from_numpy(places_of(nodes, start.shape[1])[columns])
        wide = Coefficients(narrow.row, place[narrow.col], narrow.value, (len(here), len(nodes)))
        return _selected(messages, kept, mine, here), nodes, wide
    read = np.concatenate([read, owned])
    zero = messages.shape[1] - 1
    nodes = np.unique(read[read < zero] if messages.zero else read)
    here = np.append(nodes, zero) if messages.zero else nodes
    return _selected(messages, kept, mine, here), nodes, None


def later_round(messages: Messages, after: Array, before: Array, group: Group) -> tuple[Messages, Halo | None]:
    """A later round of a part, and the halo that it reads.

    Args:
        messages: the messages of the whole.
        after, before: the part of every state after and before the round; a node's state is in the same part in both.

    Shapes: after :math:`(M)`, before :math:`(N)`
    """
    source, target = messages.source.numpy(), messages.target.numpy()
    owner, reader, row = read_elsewhere(before[source], after[target], source, group.size)
    mine = after == group.rank
    inside = np.flatnonzero(before == group.rank)
    halo = Halo.of(group, owner, reader, row, places_of(inside, len(before)), "halo")
    here = np.concatenate([inside, row[reader == group.rank]])
    return _selected(messages, np.flatnonzero(mine[target]), mine, here), halo


def leaf_sums(
    pool: Coefficients, after: Array, owner: Array, group: Group
) -> tuple[Coefficients, Halo | None, Coefficients]:
    """The mean over leaves in parts: every process computes the mean over its own leaves of a graph node, and the
    process that answers for the node the mean of these means, weighted by their numbers of leaves.

    Each step is a mean, so that a bias can be added before or after it.

    Args:
        pool: the mean over the leaves of every graph node, from all states after the last round.
        after: the part of every state after the last round.
        owner: the part that answers for every graph node.

    Shapes: after :math:`(M)`, owner :math:`(n)`
    """
    node, state, value = pool.row.numpy(), pool.col.numpy(), pool.value.numpy()
    size, count = group.size, pool.shape[0]
    pair, which = np.unique(node * size + after[state], return_inverse=True)  # graph nodes, per part with leaves of it
    share = np.bincount(which, value, len(pair))
    of_node, of_part = pair // size, pair % size
    mine = np.flatnonzero(of_part == group.rank)
    inside = np.flatnonzero(after == group.rank)
    kept = np.flatnonzero(after[state] == group.rank)
    own = Coefficients(
        torch.from_numpy(places_of(mine, len(pair))[which[kept]]),
        torch.from_numpy(places_of(inside, len(after))[state[kept]]),
        torch.from_numpy(value[kept] / share[which[kept]]),
        (len(mine), len(inside)),
    )
    giver, reader, row = read_elsewhere(of_part, owner[of_node], np.arange(len(pair)), size)
    halo = Halo.of(group, giver, reader, row, places_of(mine, len(pair)), "sums")
    here = np.concatenate([mine, row[reader == group.rank]])
    answered = np.flatnonzero(owner == group.rank)
    wanted = np.flatnonzero(owner[of_node[here]] == group.rank)
    gather = Coefficients(
        torch.from_numpy(places_of(answered, count)[of_node[here[wanted]]]),
        torch.from_numpy(wanted),
        torch.from_numpy(share[here[wanted]]),
        (len(answered), len(here)),
    )
    return own, halo, gather


def _selected(messages: Messages, kept: Array, mine: Array, here: Array) -> Messages:
    """The messages to the states of a part.

    Args:
        kept: the numbers of the messages.
        mine: a mask of the states after the round.
        here: the states before the round that this process has, in their order.
    """
    at, own = torch.from_numpy(kept), torch.from_numpy(np.flatnonzero(mine))
    source = torch.from_numpy(places_of(here, messages.shape[1]))
    target = torch.from_numpy(places_of(np.flatnonzero(mine), len(mine)))
    numbers = messages.numbers
    return replace(
        messages,
        source=source[messages.source[at]],
        target=target[messages.target[at]],
        count=messages.count[at],
        relation=messages.relation[at],
        own=source[messages.own[own]],
        degree=messages.degree[own],
        source_degree=messages.source_degree[torch.from_numpy(here)],
        edge=None if messages.edge is None else messages.edge[at],
        numbers=None if numbers is None else Numbers(numbers.message[at], numbers.state[own], numbers.count),
    )


def own_edge_rows(rounds: list[Messages]) -> tuple[list[Messages], Array]:
    """The same messages with only the rows of edge features that they carry, and the numbers of these rows."""
    carried = [each.edge for each in rounds if each.edge is not None]
    if not carried:
        return rounds, np.zeros(0, np.int64)
    last = rounds[0].num_edge_rows - 1  # the zero row
    used = np.unique(np.concatenate([each.numpy() for each in carried]))
    used = used[used < last]
    place = places_of(np.append(used, last), last + 1)
    new = [
        replace(
            each,
            edge=None if each.edge is None else torch.from_numpy(place[each.edge.numpy()]),
            num_edge_rows=len(used) + 1,
        )
        for each in rounds
    ]
    return new, used


def own_rows(entries: Coefficients, rows: Array) -> tuple[Coefficients, Array]:
    """Some rows of a map, restricted to the columns that they read, and the numbers of these columns."""
    place = places_of(rows, entries.shape[0])
    kept = np.flatnonzero(place[entries.row.numpy()] >= 0)
    columns = np.unique(entries.col.numpy()[kept])
    narrow = Coefficients(
        torch.from_numpy(place[entries.row.numpy()[kept]]),
        torch.from_numpy(places_of(columns, entries.shape[1])[entries.col.numpy()[kept]]),
        entries.value[torch.from_numpy(kept)],
        (len(rows), len(columns)),
    )
    return narrow, columns
