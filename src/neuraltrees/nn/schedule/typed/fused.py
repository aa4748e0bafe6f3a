"""Rounds of GraphSAGE on a typed H-tree for inference on a CPU: as `TypedRounds` computes them, in fewer operations.

Gates, sums over messages and means are one pass of the native core, without a row per message in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees._core import native
from neuraltrees.movable import moved
from neuraltrees.nn.conv.sage import SAGEConv
from neuraltrees.nn.ensemble.sparse import stable_order
from neuraltrees.nn.schedule.rounds import RoundPlan
from neuraltrees.nn.schedule.typed.geometry import offset_rows
from neuraltrees.nn.schedule.typed.structure import DOWN, check_attributes, num_kinds

if TYPE_CHECKING:
    from neuraltrees.nn.schedule.typed.schedule import TypedRounds

Int64: TypeAlias = npt.NDArray[np.int64]
Float32: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SortedMessages:
    """Messages sorted by the row that receives them; those of row v begin at `start[v]`.

    Shapes: source and relation :math:`(E)`, start :math:`(M + 1)`
    """

    source: Int64
    relation: Int64
    start: Int64

    def means(self, h: Tensor, gates: Tensor | None = None) -> Tensor:
        """The mean over the messages to every row of the states that are sent, times the gates of their relations.

        Shapes: h :math:`(N, F)`, gates :math:`(relations, F)` → :math:`(M, F)`
        """
        out = torch.empty(len(self.start) - 1, h.shape[1])
        relation = None if gates is None else self.relation
        rows = None if gates is None else gates.numpy()
        native.gated_means(self.source, relation, self.start, h.numpy(), rows, out.numpy())
        return out


@dataclass(frozen=True, eq=False)
class RowSums:
    """Weighted sums of rows: each is added to its target.

    Shapes: target and weight :math:`(E)`
    """

    target: Int64
    weight: Float32

    def __call__(self, h: Tensor, rows: int) -> Tensor:
        """Shapes: h :math:`(E, F)` → :math:`(rows, F)`"""
        out = torch.zeros(rows, h.shape[1])
        native.add_rows(self.target, self.weight, h.numpy(), out.numpy())
        return out


@dataclass(frozen=True, eq=False)
class SceneGeometry:
    """The geometry of the graph's edges and of the tree's edges; see `TypedPlan`.

    Args:
        rows: the geometry of the edges of the graph; see `TypedTree`.
        relation: their relations.
        counts: per node, the logarithms of its numbers of outgoing and incoming edges of every relation.
        ends: from edges of the graph to their sources and to their targets.
        homes: from edges of the graph to their home bags.
        offsets: the offsets of tree edges.
        carried: from tree edges to the tree nodes that they lead to.
    """

    rows: Float32
    relation: Int64
    counts: Tensor
    ends: tuple[RowSums, RowSums]
    homes: RowSums
    offsets: Tensor
    carried: SortedMessages


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FusedPlan(RoundPlan):
    """The plan of `fused_states`; made in inference mode.

    Args:
        general: makes the plan that `TypedRounds` has otherwise: for training, for gradients and for other devices.
        num_nodes: number of graph nodes.
        bag_kind: the kind of every bag, from 0.
        first_states: the row of every tree node among graph nodes and bags.
        messages: those of all rounds but the last, between tree nodes.
        last: those of the last round, to leaves.
        leaf: the leaves, as tree nodes.
        leaf_edge: the tree edge to every leaf.
        pooled: from leaves to graph nodes.
        relation: the relation of every tree edge.
        geometry: None without geometry.
    """

    general: Callable[[], RoundPlan]
    num_nodes: int
    bag_kind: Tensor
    first_states: Tensor
    messages: SortedMessages
    last: SortedMessages
    leaf: Tensor
    leaf_edge: Tensor
    pooled: RowSums
    relation: Tensor
    geometry: SceneGeometry | None = None

    def to(self, device: torch.device) -> RoundPlan:
        """The same plan; on another device, the general one."""
        return self if device.type == "cpu" else moved(self.general(), device)


def can_fuse(schedule: TypedRounds) -> bool:
    """Whether `fused_states` computes what the schedule does, now: in inference mode, on a CPU."""
    if not torch.is_inference_mode_enabled() or schedule.training or torch.is_autocast_enabled("cpu"):
        return False
    weight = schedule.bags.weight
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and schedule.body.runs in (None, 1)
        and not schedule.norms
        and all(type(conv) is SAGEConv and len(conv.neighbours) == 1 for conv in schedule.convs)
    )


def fused_plan(schedule: TypedRounds, data: Data, general: Callable[[], RoundPlan]) -> FusedPlan:
    """The plan of a graph with a typed H-tree, or of a batch of them."""
    check_attributes(data)
    edge_index, edge_type, leaf, kappa, kind, offset = (
        data[name].cpu().numpy()
        for name in ("tree_edge_index", "tree_edge_type", "tree_leaf", "tree_kappa", "scene_kind", "scene_offset")
    )
    count, num_nodes, types = len(kind), int(data.num_nodes), schedule.types
    order = stable_order(edge_index[1], count)
    source, target, direction = edge_index[0][order], edge_index[1][order], edge_type[order]
    start = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=count), out=start[1:])
    # No bag has an empty set of types, so the kinds of bags are shifted down by one.
    shifted = kind - (kind >= types)
    relation = (shifted[source] * 3 + direction) * num_kinds(types) + shifted[target]
    into = np.empty(count, np.int64)
    down = np.flatnonzero(direction == DOWN)
    into[target[down]] = down
    leaf_edge = into[leaf]
    is_bag = np.ones(count, dtype=bool)
    is_bag[leaf] = False
    bag = np.flatnonzero(is_bag)
    first_states = np.empty(count, np.int64)
    first_states[leaf], first_states[bag] = kappa, np.arange(num_nodes, num_nodes + len(bag))
    share = 1 / np.maximum(np.bincount(kappa, minlength=num_nodes), 1)
    rounds = len(schedule.convs)
    geometry = None
    if schedule.geometry:
        carried = SortedMessages(np.arange(len(source)), relation, start)
        home = first_states[data.scene_home.cpu().numpy()] - num_nodes
        geometry = _geometry(schedule.relations, data, home, torch.from_numpy(offset[order]), carried)
    return FusedPlan(
        rounds=(),
        copies=(),
        pool=None,
        states=(*(count,) * (rounds - 1), len(leaf)),
        own=(),
        general=general,
        num_nodes=num_nodes,
        bag_kind=torch.from_numpy(kind[bag] - types - 1),
        first_states=torch.from_numpy(first_states),
        messages=SortedMessages(source, relation, start),
        last=SortedMessages(source[leaf_edge], relation[leaf_edge], np.arange(len(leaf) + 1)),
        leaf=torch.from_numpy(leaf),
        leaf_edge=torch.from_numpy(leaf_edge),
        pooled=RowSums(kappa, share.astype(np.float32)[kappa]),
        relation=torch.from_numpy(relation),
        geometry=geometry,
    )


def _geometry(relations: int, data: Data, home: Int64, offset: Tensor, carried: SortedMessages) -> SceneGeometry:
    ends, relation = data.scene_ends.cpu().numpy(), data.scene_relation.cpu().numpy()
    num_nodes = int(data.num_nodes)
    sums, counts = [], []
    for end in ends:
        alike = end * relations + relation
        counted = np.bincount(alike, minlength=num_nodes * relations).astype(np.float32)
        sums.append(RowSums(end, 1 / counted[alike]))
        counts.append(counted.reshape(-1, relations))
    return SceneGeometry(
        data.scene_geometry.float().cpu().numpy(),
        relation,
        torch.from_numpy(np.log1p(np.concatenate(counts, 1))),
        (sums[0], sums[1]),
        RowSums(home, np.ones(len(home), np.float32)),
        offset_rows(offset),
        carried,
    )


def fused_states(schedule: TypedRounds, x: Tensor, plan: FusedPlan) -> Tensor:
    """The states of graph nodes after the last round.

    Shapes: x :math:`(n, F)` or :math:`(n, 1, F)` → :math:`(n, *, width)`
    """
    single = _alone if schedule.body.runs is None else _first_run
    carried = means = None
    start = torch.cat([x.reshape(plan.num_nodes, -1), single(schedule.bags.weight).index_select(0, plan.bag_kind)])
    if plan.geometry is not None:
        _add_geometry(schedule, start, plan.geometry, plan.num_nodes)
        table = single(schedule.offsets.relation.weight).index_select(0, plan.relation)
        carried = torch.addmm(table, plan.geometry.offsets, single(schedule.offsets.lin.weight)).relu_()
        means = plan.geometry.carried.means(carried)
    h, final = start.index_select(0, plan.first_states), len(schedule.convs) - 1
    for number, conv in enumerate(cast(list[SAGEConv], list(schedule.convs))):
        last = number == final
        messages = plan.last if last else plan.messages
        gates = single(schedule.gates[number].weight) + 1 if schedule.types > 1 else None
        sent = messages.means(h, gates)
        own = h.index_select(0, plan.leaf) if last else h
        out = torch.addmm(single(conv.own.bias), own, single(conv.own.weight))
        out.addmm_(sent, single(conv.neighbours[0].weight))
        if conv.lin_edge is not None and carried is not None and means is not None:
            out.addmm_(carried.index_select(0, plan.leaf_edge) if last else means, single(conv.lin_edge.weight))
        if schedule.residual[number]:
            out += own
        h = out if last else out.relu_()
    pooled = plan.pooled(h, plan.num_nodes)
    return pooled if schedule.body.runs is None else pooled.unsqueeze(1)


def _add_geometry(schedule: TypedRounds, start: Tensor, geometry: SceneGeometry, num_nodes: int) -> None:
    """Adds what `EdgeGeometry` computes to the initial states."""
    single = _alone if schedule.body.runs is None else _first_run
    edges, (to_source, to_target) = schedule.edges, geometry.ends
    first = single(edges.first.weight)
    z = torch.empty(len(geometry.relation), first.shape[1])
    native.edge_states(geometry.relation, geometry.rows, first.numpy(), z.numpy())
    nodes, bags = start[:num_nodes], start[num_nodes:]
    nodes.addmm_(geometry.counts, single(edges.count.weight))
    nodes.addmm_(to_source(z, num_nodes), single(edges.source.weight))
    nodes.addmm_(to_target(z, num_nodes), single(edges.target.weight))
    bags.addmm_(geometry.homes(z, len(bags)), single(edges.home.weight))


def _alone(weight: Any) -> Tensor:
    return cast(Tensor, weight.detach())


def _first_run(weight: Any) -> Tensor:
    return cast(Tensor, weight.detach()[0])
