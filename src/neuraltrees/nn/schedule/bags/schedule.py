"""Rounds on the graph, on the bags of its H-tree, or on both side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.movable import moved
from neuraltrees.nn.encoder import Categories, CategoryEncoder
from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.linear import RunLinear
from neuraltrees.nn.ensemble.norm import without_padding
from neuraltrees.nn.ensemble.relu_sum import edge_sum
from neuraltrees.nn.ensemble.rows import Rows
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.parallel import Group, Part, cost_of_state
from neuraltrees.nn.ragged import Cut, Ragged
from neuraltrees.nn.schedule.bags.codes import BITS, signs
from neuraltrees.nn.schedule.bags.columns import columns_of
from neuraltrees.nn.schedule.bags.layer import BagLayer, EdgeRows, Shares
from neuraltrees.nn.schedule.bags.options import BagOptions
from neuraltrees.nn.schedule.bags.parts import Owners, part_of
from neuraltrees.nn.schedule.bags.structure import KINDS, MOST, BagParts, BagPlan
from neuraltrees.nn.schedule.bags.views import BagStarts
from neuraltrees.nn.schedule.graph import node_parts
from neuraltrees.nn.schedule.schedule import Body, Schedule


class BagRounds(Schedule):
    """States on graph nodes and on the bags of an H-tree, updated in turn.

    All leaves of a graph node share one state in every round, so that a node reads all bags that hold it. With the
    `parts` "graph" only, this is GINE with residual rounds; with "tree" only, no message is sent along an edge of the
    graph; with "graph+tree", both.

    Args:
        body: see `Body`; the convolution is ignored.
        options: see `BagOptions`; a `bag_start` of the body takes precedence over their start.
    """

    cuttable = True
    takes_rows = True

    def __init__(self, body: Body, options: BagOptions | None = None) -> None:
        super().__init__(body)
        options = BagOptions() if options is None else options
        if body.bag_start is not None:
            options = replace(options, start=body.bag_start)
        self.options = options
        self.needs_tree = self.has_bags = options.needs_tree
        size, runs = body.hidden_channels, body.runs
        self.edge_start = None
        if options.edge_states:
            if body.edge_channels is not None:
                self.edge_start = RunLinear(body.edge_channels, size, runs)
            body = replace(body, edge_channels=size)
        channels = body.edge_channels
        self.start = RunLinear(body.in_channels, size, runs)
        layers = options.layers(body.num_layers)
        self.layers = nn.ModuleList(BagLayer(body, parts, options) for parts in layers)
        self.finish = None if body.out_channels == size else RunLinear(size, body.out_channels, runs)
        self.about = self.inside = None
        if options.needs_tree and options.features:
            self.about = CategoryEncoder(Categories((KINDS, MOST + 1)), size, runs)
            self.inside = None if channels is None else RunLinear(channels, size, runs, bias=False)
        coded = options.needs_tree and options.codes
        self.of_code = RunLinear(BITS, size, runs, bias=False) if coded else None
        self.of_place = RunLinear(BITS, size, runs, bias=False) if coded else None

    @classmethod
    def having(cls, **options: object) -> partial[BagRounds]:
        """A constructor with these options, for `NeuralTree(schedule=BagRounds.having(parts="tree"))`."""
        return partial(cls, options=BagOptions(**options))  # type: ignore[arg-type]  # BagOptions checks them

    def columns(self, data: Data) -> Ragged:
        found = columns_of(data, self.options.needs_tree, self.options.codes)
        return found.with_segments() if self.start.weight.is_cuda else found

    @property
    def views(self) -> int:
        return self.options.layers_on_views(self.body.num_layers)

    @property
    def capturable(self) -> bool:
        return not self.views and super().capturable

    @property
    def column_kind(self) -> str:
        codes, segments = self.options.codes, self.start.weight.is_cuda
        return f"{super().column_kind}, both neighbours on cycles, codes {codes}, segments {segments}"

    def cut_plan(self, cut: Cut) -> BagPlan:
        return BagPlan.of(cut, self.start.weight.dtype)

    def feature_rows(self, plan: BagPlan) -> Tensor | None:
        return None if plan.views is None else plan.views.node

    def per_view(self, plan: BagPlan) -> tuple[BagPlan, Incidence] | None:
        if plan.views is None or len(plan.views.layers) < len(self.layers):
            return None
        return replace(plan, expands=False), plan.views.last

    def plan(self, data: Data) -> BagPlan:
        return moved(self.cut_plan(self.columns(data).whole()), self.start.weight.device)

    def part(self, data: Data, group: Group) -> tuple[BagPlan, Part]:
        plan = self.cut_plan(columns_of(data, self.options.needs_tree, self.options.codes).whole())
        cost = cost_of_state(self.body.hidden_channels)
        if plan.bags is None:
            degree = plan.target.index.bincount(minlength=plan.target.rows).numpy()
            owners = Owners.of_nodes(node_parts(data, degree + 2 * cost, group.size), plan.target.index)
        else:
            owners = Owners.of(plan, group.size, cost)
        local, here = part_of(plan, owners, group)
        return moved(local, self.start.weight.device), here

    def forward(self, x: Tensor | SparseMap, plan: BagPlan, edges: Tensor | Rows | None = None) -> Tensor:
        h, _ = self._rounds(x, plan, edges)
        return h

    def nodes_and_bags(
        self, x: Tensor | SparseMap, plan: BagPlan, edges: Tensor | Rows | None = None
    ) -> tuple[Tensor, Tensor]:
        h, b = self._rounds(x, plan, edges)
        assert b is not None
        return h, b

    def _rounds(
        self, x: Tensor | SparseMap, plan: BagPlan, given: Tensor | Rows | None
    ) -> tuple[Tensor, Tensor | None]:
        """The states of graph nodes and of bags after the last round; None for bags if there are none."""
        if self.needs_tree and (plan.bags is None or (self.of_code is not None and plan.bags.code is None)):
            raise InputError(
                f"Expected a plan with bags{' and their codes' if self.of_code is not None else ''}; got one without. "
                f"Make it with this network's own plan(data)."
            )
        if self.body.edge_channels is not None and given is None:
            raise InputError("Expected edge_attr, since the network was made with edge_channels; got none.")
        h = self.start.shift(self.start.multiply(x))
        if self.of_place is not None and plan.bags is not None and plan.bags.place is not None:
            h = h + plan.reduce("members", plan.bags.member_node.sum(self.of_place(signs(plan.bags.place, h.dtype))))
        h = without_padding(h, plan.node_weight)
        edges = self._first_edges(given, plan, h)
        means = self.options.aggr == "mean"
        on_views = () if plan.views is None else plan.views.layers
        for number, views in enumerate(on_views):
            h = self._layer(number).on_views(h, edges, views, Shares.of(views, h) if means else None)
        after = self.layers[len(on_views) :]
        if plan.views is not None and plan.expands and not after:
            h = plan.views.last.take(h)
        shares = Shares.of(plan, h) if means and after else None
        b: Tensor | None = None
        for number, layer in enumerate(cast(Sequence[BagLayer], after)):
            here = plan.after_views() if plan.views is not None and number == 0 else plan
            if b is None and layer.tree is not None and plan.bags is not None:
                starts = plan.bags if plan.views is None or plan.views.bags is None else plan.views.bags.starts
                b = self._first_bags(plan.read("members", h), starts, edges, plan.bag_weight)
            h, b, edges = layer(h, b, edges, here, shares)
        if self.finish is None:
            return h, b
        return self.finish(h), None if b is None else self.finish(b)

    def _layer(self, number: int) -> BagLayer:
        return cast(BagLayer, self.layers[number])

    def _first_edges(self, given: Tensor | Rows | None, plan: BagPlan, h: Tensor) -> Tensor | EdgeRows | None:
        """The features of edges, or their initial states if they have any."""
        if not self.options.edge_states:
            return EdgeRows.of(given, plan) if isinstance(given, Rows) else given
        if self.edge_start is None or given is None:
            return h.new_zeros(plan.num_edges, *h.shape[1:])
        states = given.map(self.edge_start).dense() if isinstance(given, Rows) else self.edge_start(given)
        return without_padding(states, plan.edge_weight)

    def _first_bags(
        self, h: Tensor, bags: BagParts | BagStarts, edges: Tensor | EdgeRows | None, weight: Tensor | None
    ) -> Tensor:
        """The states of bags before the first layer that reads them, from the states of nodes at that time."""
        b = h.new_zeros(len(bags.kind), *h.shape[1:])
        if self.options.start != "zero":
            b = edge_sum(h, bags.member_node, bags.member_bag)
            if self.options.start == "mean":
                ones = torch.ones(len(bags.member_bag.index), 1, dtype=h.dtype, device=h.device)
                b = b / bags.member_bag.sum(ones).clamp(min=1).view(-1, *[1] * (h.dim() - 1))
        if self.about is not None:
            b = b + self.about(torch.stack([bags.kind, bags.size], 1))
        if self.of_code is not None and bags.code is not None:
            b = b + self.of_code(signs(bags.code, b.dtype))
        if self.inside is not None and isinstance(edges, EdgeRows):
            counts = edges.rows.counts(bags.inside_edge, bags.inside_bag)
            b = b + edges.rows.map(self.inside.multiply).times(counts)
        elif self.inside is not None and isinstance(edges, Tensor):
            b = b + bags.inside_bag.sum(bags.inside_edge.take(self.inside.multiply(edges)))
        return without_padding(b, weight)

    def activation(self, h: Tensor) -> Tensor:
        return h
