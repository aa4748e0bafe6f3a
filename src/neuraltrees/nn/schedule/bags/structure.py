"""The plan of `BagRounds`: the nodes, edges and bags of graphs and their incidences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.rows import Rows
from neuraltrees.nn.parallel import Group, Halo
from neuraltrees.nn.ragged import Cut
from neuraltrees.nn.schedule.bags.views import Views
from neuraltrees.nn.sweep import SweepPlan
from neuraltrees.nn.sweep.parts import CutForest

KINDS = 6  # number of kinds of bags: see `BagKind`
MOST = 32  # larger sizes of bags are encoded as this one


@dataclass(frozen=True, eq=False)
class BagParts:
    """What a layer needs to know about the bags of an H-tree.

    Args:
        kind, size: the kind and the size of every bag; see `BagKind`.
        member_node, member_bag: for every leaf, its graph node and its parent bag.
        inside_edge, inside_bag: the graph edges between two nodes of a bag, and the bag.
        link_source, link_target: both directions of the tree edges between bags.
        ring_node, ring_bag: the nodes of every cycle in cyclic order, and its bag.
        ring_next, ring_before: for every entry of `ring_node`, the entries of the next node on the cycle and of the one
            before.
        ring_edge, ring_end: the graph edges between neighbours on a cycle, and the entry of the node they point to.
        forest: the bags as rooted trees, for sweeps.
        code, place: see `tree_codes`; None without codes.
        reader: for every leaf, the graph node that reads its parent bag, where that is not `member_node`: see
            `BagPlan.after_views`.

    Shapes: kind, size and code :math:`(B)`, place :math:`(leaves)`
    """

    kind: Tensor
    size: Tensor
    member_node: Incidence
    member_bag: Incidence
    inside_edge: Incidence
    inside_bag: Incidence
    link_source: Incidence
    link_target: Incidence
    ring_node: Incidence
    ring_bag: Incidence
    ring_next: Incidence
    ring_before: Incidence
    ring_edge: Incidence
    ring_end: Incidence
    forest: SweepPlan | CutForest
    code: Tensor | None = None
    place: Tensor | None = None
    reader: Incidence | None = None

    @property
    def readers(self) -> Incidence:
        """For every leaf, the graph node that reads its parent bag."""
        return self.member_node if self.reader is None else self.reader


@dataclass(frozen=True, eq=False)
class Exchanges:
    """The exchanges of a process that computes a part of a graph.

    Args:
        group: the processes.
        around: nodes that it reads along edges of the graph.
        members: nodes of its bags, whose states it reads and to which it sends sums.
        links: neighbours of its bags in the tree.
        inside: edges inside its bags.
        numbers: the numbers of its own nodes, bags and edges in the whole.
        edges: the number of edges that it reads.
    """

    group: Group
    around: Halo | None
    members: Halo | None
    links: Halo | None
    inside: Halo | None
    numbers: Mapping[str, Tensor]
    edges: int


@dataclass(frozen=True, eq=False, repr=False)
class BagPlan:
    """The plan of `BagRounds`.

    Args:
        source, target: the ends of every edge of the graph.
        bags: the bags; None if the rounds read the graph only.
        node_weight, bag_weight, edge_weight: 0 for padding, else 1; None if nothing is padded.
        bag_graph: the graph of every bag; None if there are no bags.
        part: the exchanges of the plan of a part; None for a whole.
        views: the views of the nodes, if the first layers compute the state of every view once; else None.
        expands: whether the rounds return a state per node even if all layers are computed on views.
        before, bags_before: for every node and every bag, the row of its state before a layer; None if rows are the
            same before and after it.

    Shapes: node_weight :math:`(n)`, bag_weight and bag_graph :math:`(B)`, edge_weight :math:`(m)`
    """

    source: Incidence
    target: Incidence
    bags: BagParts | None
    node_weight: Tensor | None
    bag_weight: Tensor | None
    edge_weight: Tensor | None
    bag_graph: Tensor | None
    part: Exchanges | None = None
    views: Views | None = None
    expands: bool = True
    before: Incidence | None = None
    bags_before: Incidence | None = None

    def read(self, which: str, h: Tensor) -> Tensor:
        """The states of this process, followed by those received from others; see `Exchanges`."""
        halo: Halo | None = None if self.part is None else getattr(self.part, which)
        return h if halo is None else halo.extend(h)

    def reduce(self, which: str, h: Tensor) -> Tensor:
        """Sends sums to the processes that own their rows, where they are added; see `Exchanges`."""
        halo: Halo | None = None if self.part is None else getattr(self.part, which)
        return h if halo is None else halo.reduce(h)

    def own(self, h: Tensor) -> Tensor:
        """The state before a layer of every node after it."""
        return h if self.before is None else self.before.take(h)

    def own_bags(self, b: Tensor) -> Tensor:
        """The state before a layer of every bag after it."""
        return b if self.bags_before is None else self.bags_before.take(b)

    def after_views(self) -> BagPlan:
        """The plan of the first layer that computes a state per node: before it, states are those of views."""
        views = self.views
        assert views is not None
        own, bags = views.last, self.bags
        if bags is None or views.bags is None:
            return replace(self, source=own.chosen(self.source), before=own)
        of_bag = views.bags.of_bag
        bags = replace(
            bags,
            member_node=own.chosen(bags.member_node),
            link_source=of_bag.chosen(bags.link_source),
            ring_node=own.chosen(bags.ring_node),
            reader=bags.member_node,
        )
        return replace(self, source=own.chosen(self.source), bags=bags, before=own, bags_before=of_bag)

    def carried(self, rows: Rows) -> Tensor:
        """The row of edge features that every edge to a node of this process carries."""
        return rows.index[: len(self.source.index)]

    def features(self, edges: Tensor) -> Tensor:
        """The features of these edges."""
        return edges[: len(self.source.index)]

    @property
    def num_edges(self) -> int:
        """The number of edges that are read, including those of other processes."""
        return len(self.source.index) if self.part is None else self.part.edges

    @property
    def states(self) -> tuple[int, ...]:
        """An upper bound on the number of states."""
        return (self.source.rows + (0 if self.bags is None else len(self.bags.kind)),)

    def __repr__(self) -> str:
        return f"BagPlan(nodes={self.source.rows}, bags={self.states[0] - self.source.rows})"

    @classmethod
    def of(cls, cut: Cut, dtype: torch.dtype) -> BagPlan:
        """The plan of some graphs."""
        bags = None
        if "kind" in cut.columns:
            bags = BagParts(
                cut["kind"],
                cut["size"],
                cut.incidence("member_node"),
                cut.incidence("member_bag"),
                cut.incidence("inside_edge"),
                cut.incidence("inside_bag"),
                cut.incidence("link_source"),
                cut.incidence("link_target"),
                cut.incidence("ring_node"),
                cut.incidence("ring_bag"),
                cut.incidence("ring_next"),
                cut.incidence("ring_before"),
                cut.incidence("ring_edge"),
                cut.incidence("ring_end"),
                _forest(cut),
                cut.columns.get("code"),
                cut.columns.get("place"),
            )
        return cls(
            cut.incidence("source"),
            cut.incidence("target"),
            bags,
            cut.weight("nodes", dtype),
            None if bags is None else cut.weight("bags", dtype),
            cut.weight("edges", dtype),
            None if bags is None else cut.graph["bags"],
            views=Views.of(cut, dtype),
        )


def _forest(cut: Cut) -> SweepPlan:
    row = torch.arange(cut.rows["bags"], device=cut["above"].device)
    is_root = (cut["above"] == row) | (cut.graph["bags"] == cut.num_graphs)
    parent = torch.where(is_root, -1, cut["above"])
    return SweepPlan(parent, cut.ptr["bags"], None, cut.limits["depth"], cut.limits["bags"])
