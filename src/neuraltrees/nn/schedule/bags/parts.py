"""The part of nodes, edges and bags that one of several processes computes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.parallel import Array, Group, Halo, Part
from neuraltrees.nn.parallel.halo import places_of, read_elsewhere
from neuraltrees.nn.schedule.bags.structure import BagParts, BagPlan, Exchanges
from neuraltrees.nn.sweep.parts import CutForest
from neuraltrees.nn.sweep.plan import SweepPlan

Space: TypeAlias = Literal["nodes", "bags", "edges"]


@dataclass(frozen=True, eq=False)
class Owners:
    """The part of every node, bag and edge: an edge belongs to its target, a node to the first bag that holds it.

    Shapes: nodes :math:`(n)`, bags :math:`(B)`, edges :math:`(m)`
    """

    nodes: Array
    bags: Array
    edges: Array

    @classmethod
    def of(cls, plan: BagPlan, parts: int, cost: float) -> Owners:
        """Cuts the tree of bags into parts of equal work, for bags and for the nodes that belong to them."""
        assert plan.bags is not None
        bags, target = plan.bags, plan.target.index.numpy()
        node, bag = bags.member_node.index.numpy(), bags.member_bag.index.numpy()
        count = len(bags.kind)
        first = np.full(plan.target.rows, count)  # a node without edges is in no bag
        np.minimum.at(first, node, bag)
        of_node = 2 * cost + np.bincount(target, minlength=len(first))
        weight = np.full(count, 2 * cost) + np.bincount(first, of_node, count)[:count]
        for end in (bag, bags.link_target.index.numpy()):
            weight += np.bincount(end, minlength=count)
        assert isinstance(bags.forest, SweepPlan)
        part = native.cut_forest(bags.forest.parent.numpy(), weight.astype(np.float64), parts).astype(np.int64)
        nodes = np.where(first < count, np.append(part, 0)[first], np.arange(len(first)) % parts)
        return cls(nodes, part, nodes[target])

    @classmethod
    def of_nodes(cls, nodes: Array, target: Tensor) -> Owners:
        """The owners of nodes and edges, without bags."""
        return cls(nodes, np.zeros(0, np.int64), nodes[target.numpy()])


def part_of(plan: BagPlan, owners: Owners, group: Group) -> tuple[BagPlan, Part]:
    """The plan of the part of one process: messages to its own nodes, bags and edges.

    It receives the states of other processes that it reads: nodes along edges of the graph, nodes of its bags, and
    neighbours of its bags. What its bags send to a node of another process is summed before it is sent.
    """
    whole, rank = _Whole(plan, owners, group), group.rank
    source, target = plan.source.index.numpy(), plan.target.index.numpy()
    own = np.flatnonzero(owners.edges == rank)
    around, at = whole.halo("nodes", source, owners.nodes[target])
    members = links = inside = None
    bags, edges = None, own
    if plan.bags is not None:
        given = plan.bags
        bag = given.member_bag.index.numpy()
        members, at_member = whole.halo("nodes", given.member_node.index.numpy(), owners.bags[bag], "sums")
        ends = given.link_source.index.numpy(), given.link_target.index.numpy()
        links, at_link = whole.halo("bags", ends[0], owners.bags[ends[1]])
        held = given.inside_edge.index.numpy(), given.inside_bag.index.numpy()
        inside, at_edge = whole.halo("edges", held[0], owners.bags[held[1]])
        edges = np.flatnonzero(at_edge >= 0)[np.argsort(at_edge[at_edge >= 0])]
        bags = _bags_of(given, whole, at_member, at_link, at_edge)
    numbers = {space: torch.from_numpy(whole.rows(space)) for space in ("nodes", "bags", "edges")}
    local = replace(
        plan,
        source=_incidence(at, source[own]),
        target=_incidence(whole.place("nodes"), target[own]),
        bags=bags,
        bag_graph=None if plan.bag_graph is None else plan.bag_graph[numbers["bags"]],
        part=Exchanges(group, around, members, links, inside, numbers, len(edges)),
    )
    own_nodes, owner = numbers["nodes"], torch.from_numpy(owners.nodes)
    return local, Part(group, own_nodes, own_nodes, torch.from_numpy(edges), owner)


def _bags_of(given: BagParts, whole: _Whole, at_member: Array, at_link: Array, at_edge: Array) -> BagParts:
    """The bags of a process."""
    here, place = whole.owners.bags == whole.group.rank, whole.place("bags")

    def mine(bag: Incidence) -> Array:
        return np.flatnonzero(here[bag.index.numpy()])

    member, inside, ring = mine(given.member_bag), mine(given.inside_bag), mine(given.ring_bag)
    link = np.flatnonzero(here[given.link_target.index.numpy()])
    at_ring = places_of(ring, len(given.ring_bag.index))
    step = np.flatnonzero(at_ring[given.ring_end.index.numpy()] >= 0)
    own, leaves = torch.from_numpy(whole.rows("bags")), torch.from_numpy(member)

    def chosen(which: Incidence, rows: Array, at: Array) -> Incidence:
        return _incidence(at, which.index.numpy()[rows])

    return BagParts(
        given.kind[own],
        given.size[own],
        chosen(given.member_node, member, at_member),
        chosen(given.member_bag, member, place),
        chosen(given.inside_edge, inside, at_edge),
        chosen(given.inside_bag, inside, place),
        chosen(given.link_source, link, at_link),
        chosen(given.link_target, link, place),
        chosen(given.ring_node, ring, at_member),
        chosen(given.ring_bag, ring, place),
        chosen(given.ring_next, ring, at_ring),
        chosen(given.ring_before, ring, at_ring),
        chosen(given.ring_edge, step, at_edge),
        chosen(given.ring_end, step, at_ring),
        CutForest.of(_whole_forest(given), whole.owners.bags, whole.group),
        None if given.code is None else given.code[own],
        None if given.place is None else given.place[leaves],
    )


@dataclass(frozen=True, eq=False)
class _Whole:
    """What all processes know."""

    plan: BagPlan
    owners: Owners
    group: Group

    def rows(self, space: Space) -> Array:
        """The rows that this process owns."""
        return np.flatnonzero(getattr(self.owners, space) == self.group.rank)

    def place(self, space: Space) -> Array:
        """The place of each row of the whole among the rows of this process; -1 for others."""
        return places_of(self.rows(space), len(getattr(self.owners, space)))

    def halo(self, space: Space, row: Array, reader: Array, what: str = "halo") -> tuple[Halo | None, Array]:
        """The halo of rows, and the place of each row of the whole among its own and the received ones; -1 for others.

        Args:
            space: what the rows are.
            row, reader: the rows that are read, and the processes that read them.
            what: see `Halo`.
        """
        owner = getattr(self.owners, space)
        found = read_elsewhere(owner[row], reader, row, self.group.size)
        own = self.rows(space)
        place = places_of(own, len(owner))
        halo = Halo.of(self.group, *found, place, what)
        come = found[2][found[1] == self.group.rank]
        return halo, places_of(np.concatenate([own, come]), len(owner))


def _incidence(at: Array, rows: Array) -> Incidence:
    return Incidence(torch.from_numpy(at[rows]), int(at.max(initial=-1)) + 1)


def _whole_forest(bags: BagParts) -> Array:
    assert isinstance(bags.forest, SweepPlan) and bags.forest.order is None
    parent: Array = bags.forest.parent.numpy()
    return parent
