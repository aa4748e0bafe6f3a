"""The nodes, edges and bags of graphs and their incidences, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.htree import HTree
from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.rows import Rows
from neuraltrees.nn.parallel import Group, Halo
from neuraltrees.nn.ragged import Column, Cut, Ragged, grouped
from neuraltrees.nn.schedule.bags.codes import tree_codes
from neuraltrees.nn.schedule.bags.views import BagStarts, Views
from neuraltrees.nn.schedule.tree import htree_of
from neuraltrees.nn.sweep import SweepPlan
from neuraltrees.nn.sweep.parts import CutForest

KINDS = 6  # number of kinds of bags: see `BagKind`
CYCLE = 3
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

    @property
    def starts(self) -> BagStarts:
        """What the initial states of the bags are made of."""
        return BagStarts(
            self.kind, self.size, self.member_node, self.member_bag, self.inside_edge, self.inside_bag, self.code
        )


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


def columns_of(data: Data, trees: bool, codes: bool = False) -> Ragged:
    """The columns of a batch of graphs.

    Args:
        data: a graph or a batch, with H-trees if `trees`.
        trees: whether to include bags.
        codes: whether to include codes of bags.
    """
    data = data.clone().cpu() if data.edge_index.is_cuda else data
    count = int(getattr(data, "num_graphs", None) or 1)
    batch = data.get("batch")
    graph = torch.zeros(int(data.num_nodes), dtype=torch.int64) if batch is None else batch
    _, nodes = grouped({}, graph, count)
    source, target = data.edge_index
    of_edge = graph[target]
    if not bool((of_edge.diff() >= 0).all()):
        raise InputError("Expected the edges of a batch sorted by graph; got them mixed. Use Batch.from_data_list.")
    _, edges = grouped({}, of_edge, count)
    ragged = Ragged(
        {"nodes": nodes, "edges": edges},
        {
            "source": Column(source - nodes[of_edge], "edges", "nodes"),
            "target": Column(target - nodes[of_edge], "edges", "nodes"),
        },
    )
    if not trees:
        return ragged
    tree = htree_of(data)
    given = tree_codes(Graph.from_data(data), tree) if codes else None
    return _with_bags(ragged, tree, graph, source, target, given)


def _with_bags(
    ragged: Ragged,
    tree: HTree,
    graph: Tensor,
    source: Tensor,
    target: Tensor,
    codes: tuple[Tensor, Tensor] | None,
) -> Ragged:
    nodes, edges, count = ragged.ptr["nodes"], ragged.ptr["edges"], ragged.num_graphs
    kappa, parent = tree.kappa.cpu(), tree.parent.cpu()
    is_bag = kappa < 0
    number = is_bag.long().cumsum(0) - 1
    ends = tree.edge_index.cpu()
    ends = number[ends[:, is_bag[ends[0]] & is_bag[ends[1]]]]
    # Bags are numbered in the order of a sweep: tree by tree, with parents before children.
    forest = SweepPlan.of_edges(ends, int(is_bag.sum()))
    order = torch.arange(forest.num_nodes) if forest.order is None else forest.order
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order)))
    number, ends = place[number.clamp(min=0)], place[ends]
    size, first = tree.bag_ptr.diff().cpu(), tree.bag_nodes.cpu()[tree.bag_ptr[:-1].cpu()]
    of_bag = graph[first[is_bag][order]]
    kinds = _kinds(tree)[is_bag][order]
    assert bool((of_bag.diff() >= 0).all()), "tree nodes stand graph by graph"
    _, bags = grouped({}, of_bag, count)

    leaf = ((kappa >= 0) & (parent >= 0)).nonzero().flatten()
    member_node, member_bag = kappa[leaf], number[parent[leaf]]
    by_bag = member_bag.argsort(stable=True)  # the leaves of a bag keep their order
    leaf, member_node, member_bag = leaf[by_bag], member_node[by_bag], member_bag[by_bag]
    of_member = graph[member_node]
    _, members = grouped({}, of_member, count)

    ends = ends[:, ends[1].argsort(stable=True)]
    of_link = of_bag[ends[1]]
    _, links = grouped({}, of_link, count)

    inside_edge, inside_bag = _edges_inside(member_node, member_bag, source, target, len(graph))
    of_inside = of_bag[inside_bag]
    _, inside = grouped({}, of_inside, count)

    on_ring = kinds[member_bag] == CYCLE
    ring_node, ring_bag = member_node[on_ring], member_bag[on_ring]
    of_ring = graph[ring_node]
    _, rings = grouped({}, of_ring, count)
    follows = _next_in_group(ring_bag)
    around = (kinds[inside_bag] == CYCLE) & (source != target)[inside_edge]
    ring_edge, of_step = inside_edge[around], of_inside[around]
    ring_end = _rows_of(inside_bag[around], target[ring_edge], ring_bag, ring_node, len(graph))
    _, steps = grouped({}, of_step, count)
    coded = {}
    if codes is not None:
        coded = {"code": Column(codes[0][is_bag][order], "bags"), "place": Column(codes[1][leaf], "members")}
    return ragged.with_columns(
        coded
        | {
            "kind": Column(kinds, "bags"),
            "size": Column(size[is_bag][order].clamp(max=MOST), "bags"),
            "above": Column(
                torch.where(forest.parent < 0, torch.arange(len(order)), forest.parent) - bags[of_bag], "bags", "bags"
            ),
            "member_node": Column(member_node - nodes[of_member], "members", "nodes"),
            "member_bag": Column(member_bag - bags[of_member], "members", "bags"),
            "link_source": Column(ends[0] - bags[of_link], "links", "bags"),
            "link_target": Column(ends[1] - bags[of_link], "links", "bags"),
            "inside_edge": Column(inside_edge - edges[of_inside], "inside", "edges"),
            "inside_bag": Column(inside_bag - bags[of_inside], "inside", "bags"),
            "ring_node": Column(ring_node - nodes[of_ring], "rings", "nodes"),
            "ring_bag": Column(ring_bag - bags[of_ring], "rings", "bags"),
            "ring_next": Column(follows - rings[of_ring], "rings", "rings"),
            "ring_before": Column(follows.argsort() - rings[of_ring], "rings", "rings"),
            "ring_edge": Column(ring_edge - edges[of_step], "steps", "edges"),
            "ring_end": Column(ring_end - rings[of_step], "steps", "rings"),
        },
        {"bags": bags, "members": members, "links": links, "inside": inside, "rings": rings, "steps": steps},
        {"depth": forest.depth, "bags": int(bags.diff().max())},
    )


def _kinds(tree: HTree) -> Tensor:
    kind: Tensor | None = getattr(tree, "kind", None)
    return torch.zeros_like(tree.level.cpu()) if kind is None else kind.cpu()


def _next_in_group(group: Tensor) -> Tensor:
    """The next row of the same group, cyclically; the rows of a group are consecutive.

    >>> _next_in_group(torch.tensor([4, 4, 4, 7, 7])).tolist()
    [1, 2, 0, 4, 3]
    """
    _, number, size = torch.unique_consecutive(group, return_inverse=True, return_counts=True)
    first = (size.cumsum(0) - size)[number]
    following: Tensor = first + (torch.arange(len(group)) - first + 1) % size[number]
    return following


def _rows_of(bag: Tensor, node: Tensor, in_bag: Tensor, in_node: Tensor, nodes: int) -> Tensor:
    """The rows that hold these nodes of these bags. Shapes: bag and node :math:`(K)`, in_bag and in_node :math:`(Q)`"""
    codes, order = (in_bag * nodes + in_node).sort()
    return order[torch.searchsorted(codes, bag * nodes + node)]


def _edges_inside(
    member_node: Tensor, member_bag: Tensor, source: Tensor, target: Tensor, nodes: int
) -> tuple[Tensor, Tensor]:
    """For every bag the edges between two of its nodes, bag by bag: the edge and the bag of each."""
    by_node = member_node.argsort(stable=True)
    count = member_node.bincount(minlength=nodes)
    first = count.cumsum(0) - count
    fewer = torch.where(count[source] <= count[target], source, target)  # the end that lies in fewer bags
    edge = torch.arange(len(source)).repeat_interleave(count[fewer])
    start = count[fewer].cumsum(0) - count[fewer]
    place = first[fewer[edge]] + torch.arange(len(edge)) - start[edge]
    bag = member_bag[by_node][place]
    other = (source + target)[edge] - fewer[edge]
    held = torch.isin(bag * nodes + other, member_bag * nodes + member_node)
    edge, bag = edge[held], bag[held]
    order = bag.argsort(stable=True)
    return edge[order], bag[order]
