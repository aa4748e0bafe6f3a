"""One layer on nodes, edges and bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.norm import RunBatchNorm, RunLayerNorm
from neuraltrees.nn.parallel import Group
from neuraltrees.nn.schedule.bags.options import BagOptions
from neuraltrees.nn.schedule.bags.structure import BagParts, BagPlan
from neuraltrees.nn.schedule.schedule import Body
from neuraltrees.nn.sweep import SweepLayer


@dataclass(frozen=True, eq=False)
class Of:
    """For rows that are a part of a whole: all processes, and the numbers of these rows in the whole."""

    group: Group
    numbers: Tensor


class Update(nn.Module):
    r""":math:`h + \mathrm{drop}(N_2(W_2\, \mathrm{relu}(N_1(\sum_i a_i W_{1i}))))`, with batch norm
    or layer norm; padding stays zero.

    Args:
        body: sizes, dropout and normalisation.
        inputs: the number of tensors :math:`a_i` that the new state depends on; the first is the state itself.

    Shapes: h :math:`(N, *, H)`, weight :math:`(N)` → :math:`(N, *, H)`
    """

    def __init__(self, body: Body, inputs: int) -> None:
        super().__init__()
        size, runs = body.hidden_channels, body.runs
        norm = RunLayerNorm if body.layer_norm else RunBatchNorm
        # One matrix for all inputs, which are concatenated. No bias before a norm.
        self.lin1, self.norm1 = RunLinear(inputs * size, size, runs, bias=False), norm(size, runs)
        self.lin2, self.norm2 = RunLinear(size, size, runs, bias=False), norm(size, runs)
        self.drop = Dropout(body.dropout)

    def forward(self, h: Tensor, inputs: Sequence[Tensor], weight: Tensor | None, of: Of | None = None) -> Tensor:
        group, numbers = (None, None) if of is None else (of.group, of.numbers)
        z = self.norm1.padded(self.lin1(torch.cat([*inputs], -1)), weight, True, group)
        new: Tensor = h + self.drop(self.norm2.padded(self.lin2(z), weight, False, group), numbers)
        return new


class GraphMessages(nn.Module):
    r""":math:`h_v + \sum_{u → v} \mathrm{relu}(h_u + e_{uv} W_e + b_e)`, the sum of GINE with ε = 0.

    Shapes: h :math:`(n, *, H)`, edges :math:`(m, *, D)` → :math:`(n, *, H)`
    """

    def __init__(self, body: Body) -> None:
        super().__init__()
        size, runs, channels = body.hidden_channels, body.runs, body.edge_channels
        self.lin_edge = None if channels is None else RunLinear(channels, size, runs)

    def forward(self, h: Tensor, plan: BagPlan, edges: Tensor | None) -> Tensor:
        sent = plan.source.take(plan.read("around", h))
        if self.lin_edge is not None and edges is not None:
            sent = sent + self.lin_edge(edges[: len(sent)])
        return h + plan.target.sum(sent.relu())


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

    def forward(self, h: Tensor, b: Tensor, bags: BagParts, edges: Tensor | None) -> tuple[Tensor, Tensor]:
        from_nodes = self.of_node(h)
        received = bags.member_bag.sum(bags.member_node.take(from_nodes.relu()))
        if self.of_ring is not None:
            received = received + self._of_rings(h, from_nodes, bags, edges)
        return received, bags.link_target.sum(bags.link_source.take(self.of_bag(b).relu()))

    def _of_rings(self, h: Tensor, from_nodes: Tensor, bags: BagParts, edges: Tensor | None) -> Tensor:
        """What the order of nodes on cycles adds to the sum over nodes."""
        assert self.of_ring is not None
        here = bags.ring_node.take(from_nodes)
        sent = bags.ring_node.take(self.of_ring.multiply(h))
        beside = bags.ring_next.take(sent) + bags.ring_next.sum(sent)
        if self.of_edge is not None and edges is not None:
            beside = beside + bags.ring_end.sum(bags.ring_edge.take(self.of_edge(edges)))
        return bags.ring_bag.sum((here + beside).relu() - here.relu())


class BagLayer(nn.Module):
    r"""Updates the states of bags, then of nodes, then of edges.

    .. math::
        b_B &← b_B + \mathrm{MLP}\big[b_B ‖ \sum_{v ∈ B} ... ‖ \sum_{B' ∼ B} ... ‖ \mathrm{sweep}_B\big] \\
        h_v &← h_v + \mathrm{MLP}\big[h_v + \sum_{u → v} \mathrm{relu}(h_u + e_{uv}) ‖ \sum_{B ∋ v} b_B\big] \\
        e_{uv} &← e_{uv} + \mathrm{MLP}\big[e_{uv} ‖ h_u + h_v ‖ \sum_{B ∋ u, v} b_B\big]

    Args:
        body: sizes, dropout and normalisation.
        parts: those of "graph", "tree" and "sweep" that it has.
        options: see `BagOptions`.
    """

    def __init__(self, body: Body, parts: Sequence[str], options: BagOptions) -> None:
        super().__init__()
        on_graph, on_tree = "graph" in parts, "tree" in parts or "sweep" in parts
        self.graph = GraphMessages(body) if on_graph else None
        self.tree = BagMessages(body, options.rings) if on_tree else None
        size, runs = body.hidden_channels, body.runs
        self.to_sweep = RunLinear(size, size, runs) if "sweep" in parts else None
        self.sweep = SweepLayer(size, runs, gated=options.gated) if "sweep" in parts else None
        self.bags = Update(body, 3 + ("sweep" in parts)) if on_tree else None
        self.nodes = Update(body, 1 + on_tree)
        self.edges = Update(body, 2 + on_tree) if options.edge_states else None

    def forward(
        self, h: Tensor, b: Tensor | None, edges: Tensor | None, plan: BagPlan
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The states of nodes, bags and edges after the layer."""
        about = [h if self.graph is None else self.graph(h, plan, edges)]
        if self.tree is not None and self.bags is not None:
            assert b is not None and plan.bags is not None
            heard = [b, *self.tree(plan.read("members", h), plan.read("links", b), plan.bags, edges)]
            if self.sweep is not None and self.to_sweep is not None:
                heard.append(self.sweep(self.to_sweep(b), plan.bags.forest))
            b = self.bags(b, heard, plan.bag_weight, _of(plan, "bags"))
            about.append(plan.reduce("members", plan.bags.member_node.sum(plan.bags.member_bag.take(b))))
        h = self.nodes(h, about, plan.node_weight, _of(plan, "nodes"))
        if self.edges is not None and edges is not None:
            own = edges[: len(plan.source.index)]
            around = [own, plan.source.take(plan.read("around", h)) + plan.target.take(h)]
            if self.tree is not None and b is not None and plan.bags is not None:
                around.append(plan.reduce("inside", plan.bags.inside_edge.sum(plan.bags.inside_bag.take(b))))
            edges = plan.read("inside", self.edges(own, around, plan.edge_weight, _of(plan, "edges")))
        return h, b, edges


def _of(plan: BagPlan, space: str) -> Of | None:
    return None if plan.part is None else Of(plan.part.group, plan.part.numbers[space])
