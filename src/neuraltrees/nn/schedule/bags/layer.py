"""One layer on nodes, edges and bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.norm import RunBatchNorm, RunLayerNorm, Then
from neuraltrees.nn.ensemble.relu_sum import edge_sum, relu_sum
from neuraltrees.nn.ensemble.rows import Rows
from neuraltrees.nn.parallel import Group
from neuraltrees.nn.schedule.bags.options import BagOptions
from neuraltrees.nn.schedule.bags.structure import BagParts, BagPlan
from neuraltrees.nn.schedule.bags.views import ViewEdges
from neuraltrees.nn.schedule.schedule import Body
from neuraltrees.nn.sweep import SweepLayer


@dataclass(frozen=True, eq=False)
class Of:
    """For rows that are a part of a whole: all processes, and the numbers of these rows in the whole."""

    group: Group
    numbers: Tensor


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Features of edges as rows of a table.

    Args:
        rows: the features.
        on_rings: for every node of every cycle, how many of the edges from its neighbours on the cycle have each row;
            None without bags.

    Shapes: on_rings :math:`(Q, K)`
    """

    rows: Rows
    on_rings: Tensor | None

    @classmethod
    def of(cls, rows: Rows, plan: BagPlan) -> EdgeRows:
        bags = plan.bags
        return cls(rows, None if bags is None else rows.counts(bags.ring_edge, bags.ring_end))


class Update(nn.Module):
    r""":math:`h + \mathrm{drop}(N_2(W_2\, \mathrm{relu}(N_1(\sum_i a_i W_{1i}))))`, with batch norm
    or layer norm; with one layer :math:`h + \mathrm{drop}(\mathrm{relu}(N_1(\sum_i a_i W_{1i})))`, with none
    :math:`h + \mathrm{drop}(\mathrm{relu}(N_1(\sum_i a_i)))`. Padding stays zero.

    Args:
        body: sizes, dropout and normalisation.
        inputs: the number of tensors :math:`a_i` that the new state depends on.
        layers: 0, 1 or 2 linear layers.
        skip: whether h is added.

    Shapes: h :math:`(N, *, H)`, weight and copies (see `RunBatchNorm`) :math:`(N)` → :math:`(N, *, H)`
    """

    def __init__(self, body: Body, inputs: int, layers: int, skip: bool = True) -> None:
        super().__init__()
        size, runs = body.hidden_channels, body.runs
        norm = RunLayerNorm if body.layer_norm else RunBatchNorm
        # One matrix for all inputs, which are concatenated. No bias before a norm.
        self.lin1 = RunLinear(inputs * size, size, runs, bias=False) if layers else None
        self.norm1, self.skip = norm(size, runs), skip
        self.lin2 = RunLinear(size, size, runs, bias=False) if layers == 2 else None
        self.norm2 = norm(size, runs) if layers == 2 else None
        self.drop = Dropout(body.dropout)

    def forward(
        self,
        h: Tensor,
        inputs: Sequence[Tensor],
        weight: Tensor | None,
        of: Of | None = None,
        copies: Tensor | None = None,
    ) -> Tensor:
        group, numbers = (None, None) if of is None else (of.group, of.numbers)
        z = _total(inputs) if self.lin1 is None else self.lin1(torch.cat([*inputs], -1))
        then = Then(h if self.skip else None, self.drop, numbers)
        if self.lin2 is None or self.norm2 is None:
            return self.norm1.padded(z, weight, True, group, then, copies)
        inner = self.norm1.padded(z, weight, True, group, copies=copies)
        return self.norm2.padded(self.lin2(inner), weight, False, group, then, copies)


@dataclass(frozen=True, eq=False)
class Shares:
    """What sums over the edges of a node and over its bags are multiplied by, so that they become means.

    Args:
        edges: for the edges of a node.
        closed: for the edges of a node and the node itself.
        bags: for its bags.

    Shapes: :math:`(n, *1, 1)` each
    """

    edges: Tensor
    closed: Tensor
    bags: Tensor | None

    @classmethod
    def of(cls, plan: BagPlan | ViewEdges, like: Tensor) -> Shares:
        """For states like these. Shapes: like :math:`(n, *, F)`"""

        def share(count: Tensor) -> Tensor:
            return count.clamp(min=1).reciprocal()

        shape = [1] * (like.dim() - 1)
        degree = plan.target.sum(like.new_ones(len(plan.target.index), *shape))
        edges, closed = share(degree), share(degree + 1)
        if not isinstance(plan, BagPlan) or plan.bags is None:
            return cls(edges, closed, None)
        members = like.new_ones(len(plan.bags.readers.index), *shape)
        return cls(edges, closed, share(plan.reduce("members", plan.bags.readers.sum(members))))


class GraphMessages(nn.Module):
    r""":math:`h_v + \sum_{u → v} \mathrm{relu}(h_u + e_{uv} W_e + b_e)`, the sum of GINE with ε = 0; with `shares` the
    mean over u. If it is `linear`,
    :math:`\mathrm{relu}(h_v W + b) + \sum_{u → v} \mathrm{relu}(h_u W + e_{uv} W_e + b_e)`; with `shares` the mean
    over v itself and u.

    Shapes: h :math:`(n, *, H)`, edges :math:`(m, *, D)` → :math:`(n, *, H)`
    """

    def __init__(self, body: Body, linear: bool) -> None:
        super().__init__()
        size, runs, channels = body.hidden_channels, body.runs, body.edge_channels
        self.of_node = RunLinear(size, size, runs) if linear else None
        self.lin_edge = None if channels is None else RunLinear(channels, size, runs)

    def forward(
        self, h: Tensor, plan: BagPlan | ViewEdges, edges: Tensor | EdgeRows | None, shares: Shares | None
    ) -> Tensor:
        sent = h if self.of_node is None else self.of_node.multiply(h)
        around = plan.read("around", sent)
        if self.lin_edge is None or edges is None:
            received = relu_sum(around, plan.source, plan.target)
        elif isinstance(edges, EdgeRows):
            rows = edges.rows.map(self.lin_edge)
            received = relu_sum(around, plan.source, plan.target, rows.table, plan.carried(rows))
        else:
            received = plan.target.sum((plan.source.take(around) + self.lin_edge(plan.features(edges))).relu())
        own = plan.own(sent)
        if self.of_node is None:
            return own + (received if shares is None else received * shares.edges)
        received = received + self.of_node.shift(own).relu()
        return received if shares is None else received * shares.closed


class BagMessages(nn.Module):
    r"""What a bag receives: :math:`\sum_{v ∈ B} \mathrm{relu}(h_v W + r_{vB})` from its nodes and
    :math:`\sum_{B' ∼ B} \mathrm{relu}(b_{B'} V)` from its neighbours in the tree.

    On a cycle, :math:`r_{vB}` is a linear function of the sum of the states of v's two neighbours on the cycle and of
    the features of the edges from them to v; it depends neither on where a cycle begins nor on its direction.

    Shapes: h :math:`(n, *, H)`, b :math:`(B, *, H)`, edges :math:`(m, *, D)` → twice :math:`(B, *, H)`
    """

    def __init__(self, body: Body, rings: bool) -> None:
        super().__init__()
        size, runs, channels = body.hidden_channels, body.runs, body.edge_channels
        self.of_node, self.of_bag = RunLinear(size, size, runs), RunLinear(size, size, runs)
        self.of_ring = RunLinear(size, size, runs, bias=False) if rings else None
        self.of_edge = RunLinear(channels, size, runs) if rings and channels is not None else None

    def forward(self, h: Tensor, b: Tensor, bags: BagParts, edges: Tensor | EdgeRows | None) -> tuple[Tensor, Tensor]:
        from_nodes, from_bags = self.of_node.multiply(h), self.of_bag.multiply(b)
        assert self.of_node.bias is not None and self.of_bag.bias is not None
        received = relu_sum(from_nodes, bags.member_node, bags.member_bag, self.of_node.bias.unsqueeze(0))
        if self.of_ring is not None:
            received = received + self._of_rings(h, from_nodes, bags, edges)
        return received, relu_sum(from_bags, bags.link_source, bags.link_target, self.of_bag.bias.unsqueeze(0))

    def _of_rings(self, h: Tensor, from_nodes: Tensor, bags: BagParts, edges: Tensor | EdgeRows | None) -> Tensor:
        """What the order of nodes on cycles adds to the sum over nodes."""
        assert self.of_ring is not None
        here = self.of_node.shift(bags.ring_node.take(from_nodes))
        beside = _beside(bags.ring_node.take(self.of_ring.multiply(h)), bags)
        if self.of_edge is not None and isinstance(edges, EdgeRows):
            assert edges.on_rings is not None
            beside = beside + edges.rows.map(self.of_edge).times(edges.on_rings)
        elif self.of_edge is not None and edges is not None:
            beside = beside + bags.ring_end.sum(bags.ring_edge.take(self.of_edge(edges)))
        return bags.ring_bag.sum((here + beside).relu() - here.relu())


class BagLayer(nn.Module):
    r"""Updates the states of bags, then of nodes, then of edges.

    .. math::
        b_B &← b_B + \mathrm{MLP}\big[b_B ‖ \sum_{v ∈ B} ... ‖ \sum_{B' ∼ B} ... ‖ \mathrm{sweep}_B\big] \\
        h_v &← h_v + \mathrm{MLP}\big[h_v + \sum_{u → v} \mathrm{relu}(h_u + e_{uv}) ‖ \sum_{B ∋ v} b_B\big] \\
        e_{uv} &← e_{uv} + \mathrm{MLP}\big[e_{uv} ‖ h_u + h_v ‖ \sum_{B ∋ u, v} b_B\big]

    With `BagOptions(aggr="mean")`, the sums in the second line are means. With `update_layers=0`, an update normalises
    the sum of what is received, and the sum of the bags that a node reads passes through a linear layer.

    Args:
        body: sizes, dropout and normalisation.
        parts: those of "graph", "tree" and "sweep" that it has.
        options: see `BagOptions`.
    """

    def __init__(self, body: Body, parts: Sequence[str], options: BagOptions) -> None:
        super().__init__()
        on_graph, on_tree = "graph" in parts, "tree" in parts or "sweep" in parts
        depth, size, runs = options.update_layers, body.hidden_channels, body.runs
        self.graph = GraphMessages(body, linear=depth == 0) if on_graph else None
        self.tree = BagMessages(body, options.rings) if on_tree else None
        self.to_nodes = RunLinear(size, size, runs, bias=False) if on_tree and depth == 0 else None
        self.to_sweep = RunLinear(size, size, runs) if "sweep" in parts else None
        self.sweep = SweepLayer(size, runs, gated=options.gated) if "sweep" in parts else None
        self.bags = Update(body, 3 + ("sweep" in parts), depth) if on_tree else None
        self.nodes = Update(body, 1 + on_tree, depth, options.skip)
        self.edges = Update(body, 2 + on_tree, max(1, depth)) if options.edge_states else None

    def forward(
        self, h: Tensor, b: Tensor | None, edges: Tensor | EdgeRows | None, plan: BagPlan, shares: Shares | None = None
    ) -> tuple[Tensor, Tensor | None, Tensor | EdgeRows | None]:
        """The states of nodes, bags and edges after the layer."""
        summed = self.nodes.lin1 is None
        own = plan.own(h) if self.nodes.skip or (self.graph is None and not summed) else h
        about = [] if self.graph is None and summed else [own]
        if self.graph is not None:
            about = [self.graph(h, plan, edges, shares)]
        if self.tree is not None and self.bags is not None:
            assert b is not None and plan.bags is not None
            heard = [*self.tree(plan.read("members", h), plan.read("links", b), plan.bags, edges)]
            own_bags = plan.own_bags(b)
            if not summed:
                heard.insert(0, own_bags)
            if self.sweep is not None and self.to_sweep is not None:
                heard.append(self.sweep(plan.own_bags(self.to_sweep(b)), plan.bags.forest))
            b = self.bags(own_bags, heard, plan.bag_weight, _of(plan, "bags"))
            held = plan.reduce("members", edge_sum(b, plan.bags.member_bag, plan.bags.readers))
            held = held if shares is None or shares.bags is None else held * shares.bags
            about.append(held if self.to_nodes is None else self.to_nodes(held))
        h = self.nodes(own, about, plan.node_weight, _of(plan, "nodes"))
        if self.edges is not None and isinstance(edges, Tensor):
            own = edges[: len(plan.source.index)]
            around = [own, plan.source.take(plan.read("around", h)) + plan.target.take(h)]
            if self.tree is not None and b is not None and plan.bags is not None:
                around.append(plan.reduce("inside", plan.bags.inside_edge.sum(plan.bags.inside_bag.take(b))))
            edges = plan.read("inside", self.edges(own, around, plan.edge_weight, _of(plan, "edges")))
        return h, b, edges

    def on_views(self, h: Tensor, edges: Tensor | EdgeRows | None, views: ViewEdges, shares: Shares | None) -> Tensor:
        """The states of views after a layer that reads the graph alone."""
        assert self.graph is not None
        own = views.own(h) if self.nodes.skip else h
        new: Tensor = self.nodes(own, [self.graph(h, views, edges, shares)], None, copies=views.copies)
        return new


def _total(tensors: Sequence[Tensor]) -> Tensor:
    first, *others = tensors
    for other in others:
        first = first + other
    return first


class _Beside(torch.autograd.Function):
    """The sum of both neighbours on a cycle; a gradient goes the same way."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, after: Tensor, before: Tensor) -> Tensor:
        ctx.save_for_backward(after, before)
        return x.index_select(0, after) + x.index_select(0, before)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        after, before = ctx.saved_tensors
        return grad.index_select(0, after) + grad.index_select(0, before), None, None


def _beside(x: Tensor, bags: BagParts) -> Tensor:
    after, before = bags.ring_next.index, bags.ring_before.index
    if torch.compiler.is_compiling():
        return x.index_select(0, after) + x.index_select(0, before)
    both: Tensor = _Beside.apply(x, after, before)  # type: ignore[no-untyped-call]  # torch has no types here
    return both


def _of(plan: BagPlan, space: str) -> Of | None:
    return None if plan.part is None else Of(plan.part.group, plan.part.numbers[space])
