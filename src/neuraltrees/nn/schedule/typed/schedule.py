"""Messages on the typed H-tree of a scene, in rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.movable import moved
from neuraltrees.nn.ensemble.backend import Backend
from neuraltrees.nn.ensemble.scatter import sum_rows
from neuraltrees.nn.ensemble.sparse import Coefficients, Map, SparseMap
from neuraltrees.nn.schedule.leaves import pooling
from neuraltrees.nn.schedule.rounds import RoundPlan, Rounds
from neuraltrees.nn.schedule.schedule import Body
from neuraltrees.nn.schedule.tree import TreeRounds
from neuraltrees.nn.schedule.typed.fused import FusedPlan, can_fuse, fused_plan, fused_states
from neuraltrees.nn.schedule.typed.geometry import EdgeGeometry, RunTable, TreeOffsets, by_relation, offset_rows
from neuraltrees.nn.schedule.typed.structure import TypedStructure, num_kinds

MOST_TYPES = 4  # every set of types has its own vector and gates
OFFSETS = 16  # size of the features that tree edges carry


@dataclass(frozen=True, eq=False, repr=False)
class TypedPlan(RoundPlan):
    """The rounds of a network on one typed H-tree.

    Args:
        bag_kind: the map from kinds of bags to bags.
        senders, gates: for every round, the maps from its states and from relations to messages; empty without gates.
        edges_of_leaves: the map from tree edges to those of the last round.
        geometry: the geometry of the edges of the graph, by relation; None without geometry.
        counts: per node, the logarithms of its numbers of outgoing and incoming edges of every relation.
        homes: the maps from edges of the graph to their sources, their targets and their home bags.
        offsets: the offsets of tree edges.
        relation: the map from relations to tree edges.
    """

    bag_kind: Map | None = None
    senders: tuple[Map, ...] = ()
    gates: tuple[Map, ...] = ()
    edges_of_leaves: Map | None = None
    geometry: Tensor | None = None
    counts: Tensor | None = None
    homes: tuple[Map, ...] = ()
    offsets: Tensor | None = None
    relation: Map | None = None


class TypedRounds(TreeRounds):
    r"""T rounds on the typed H-tree of a scene; the mean over leaves at the end.

    - A leaf starts with the encoded features of its node, a bag with a learned vector per set of types. The geometry of
      an edge of the graph is added to its home bag and to its two ends: :math:`φ_ρ` of offset, distance and sizes, at
      an end averaged over the edges of a relation.
    - The relation of a message is (kind of the source; root, up or down; kind of the target). The state that is sent is
      multiplied, channel by channel, by gates of the relation. A gate is one plus a weight, so that it starts at one
      and weight decay pulls it there.
    - A message carries the offset of its tree edge, as edge features.

    Absolute positions are not read: translating a scene has no effect. Rotating it does, since offsets and boxes are
    along the axes of the map.

    With one type and without geometry this is `TreeRounds`.

    Args:
        body: see `Body`; the convolution is gcn, sage, gat, gin or a subclass of `Convolution`.
        types: number of node types.
        relations: number of relations of the graph's edges.
        geometry: whether to read geometry.

    >>> from neuraltrees.nn import NeuralTree
    >>> network = NeuralTree(4, 8, 3, 2, schedule=TypedRounds.of(types=2, geometry=False))
    >>> network.schedule.types
    2
    """

    def __init__(self, body: Body, types: int = 1, relations: int = 1, geometry: bool = True) -> None:
        check_at_least("types", types, 1, MOST_TYPES)
        check_at_least("relations", relations, 1)
        if body.bag_start is not None:
            raise InputError(
                "Expected no bag_start for typed rounds, whose bags start with learned vectors; got "
                f"{body.bag_start!r}. Leave it out."
            )
        if body.edge_channels is not None:
            raise InputError(
                "Expected no edge features for typed rounds, which read the geometry of edges instead; got some. Leave "
                "edge_channels out (in NetworkSpec: edge_features=False)."
            )
        super().__init__(replace(body, edge_channels=OFFSETS) if geometry else body)
        self.body = body
        self.types, self.relations, self.geometry = types, relations, geometry
        if self.typed and self.external:
            raise InputError(
                "Expected gcn, sage, gat, gin or a subclass of Convolution for typed rounds; got a PyG convolution."
            )
        kinds = num_kinds(types)
        widths = [conv.in_channels for conv in self._convs()]
        if self.typed:
            self.bags = RunTable(kinds - types, widths[0], body.runs)
        if types > 1:
            self.gates = nn.ModuleList(RunTable(3 * kinds * kinds, width, body.runs, start=0.0) for width in widths)
        if geometry:
            self.edges = EdgeGeometry(relations, widths[0], body.runs, max(32, body.hidden_channels // 2))
            self.offsets = TreeOffsets(3 * kinds * kinds, OFFSETS, body.runs)

    @classmethod
    def of(cls, types: int, relations: int = 1, geometry: bool = True) -> Callable[[Body], TypedRounds]:
        """A constructor with these options, for `NeuralTree(schedule=TypedRounds.of(types=2))`."""
        return partial(cls, types=types, relations=relations, geometry=geometry)

    @property
    def plan_kind(self) -> str:
        return f"{super().plan_kind} for {self.types} types and {self.relations} relations"

    @property
    def typed(self) -> bool:
        """Whether it differs from `TreeRounds`."""
        return self.types > 1 or self.geometry

    def plan(self, data: Data) -> RoundPlan:
        if not self.typed:
            return super().plan(data)
        if can_fuse(self):
            return fused_plan(self, data, partial(self._general_plan, data))
        return self._general_plan(data)

    def _general_plan(self, data: Data) -> RoundPlan:
        backend = self.backend
        plan = self.bound(TypedStructure.of(data), backend)
        return plan if backend.device.type == "cpu" else moved(plan, backend.device)

    def bound(self, tree: TypedStructure, backend: Backend) -> TypedPlan:
        """The plan of a tree; with `SCATTER` it consists of operations that `torch.export` supports."""
        relation = tree.relations(self.types)
        return replace(self._rounds(tree, backend, relation), **self._first(tree, backend, relation))

    def _rounds(self, tree: TypedStructure, backend: Backend, relation: Tensor) -> TypedPlan:
        last, gated, dtype = len(self.convs) - 1, self.types > 1, self.dtype
        kinds, made = [(i == 0, i == last) for i in range(last + 1)], dict[Any, Any]()
        degree = tree.degree(dtype)
        messages = {kind: tree.messages(*kind, gated, self.body.relations, degree) for kind in dict.fromkeys(kinds)}
        rounds = []
        for kind, conv in zip(kinds, self._convs(), strict=True):
            key = (kind, conv.in_channels, conv.out_channels)
            if key not in made:
                made[key] = conv.bind(messages[kind], backend)
            rounds.append(made[key])
        of_leaves = backend.choice(tree.leaf, tree.kind.shape[0])
        own: tuple[Map | None, ...] = tuple(
            of_leaves if i == last and self.residual[i] else None for i in range(last + 1)
        )
        senders, gates = {}, {}
        rows = 3 * num_kinds(self.types) ** 2
        for kind in messages if gated else ():
            before = messages[kind].source_degree.shape[0] - messages[kind].num_messages
            senders[kind] = backend.choice(tree.senders(*kind), before)
            chosen = relation[tree.leaf_edge] if kind[1] else relation
            gates[kind] = backend.choice(chosen, rows)
        none = (None,) * len(rounds)
        pool = backend.map(pooling(tree.kappa, tree.num_nodes, dtype))
        states = tuple(messages[kind].shape[0] for kind in kinds)
        return TypedPlan(
            tuple(rounds),
            none,
            pool,
            states,
            own,
            senders=tuple(senders[kind] for kind in kinds) if gated else (),
            gates=tuple(gates[kind] for kind in kinds) if gated else (),
        )

    def _first(self, tree: TypedStructure, backend: Backend, relation: Tensor) -> dict[str, Any]:
        """The maps and tensors for initial states and for the features that messages carry."""
        dtype, num_bags = self.dtype, tree.bag.shape[0]
        kind = tree.kind[tree.bag] - self.types - 1
        found: dict[str, Any] = {"bag_kind": backend.choice(kind, num_kinds(self.types) - self.types)}
        if not self.geometry:
            return found
        count = tree.home.shape[0]
        edge = torch.arange(count, device=tree.home.device)
        maps, counts = [], []
        ones = torch.ones_like(edge, dtype=dtype)
        for end in tree.ends:
            alike = end * self.relations + tree.relation
            counted = sum_rows(ones, alike, tree.num_nodes * self.relations)
            maps.append(backend.map(Coefficients(end, edge, 1 / counted[alike], (tree.num_nodes, count))))
            counts.append(counted.view(-1, self.relations).log1p())
        home = tree.bag_rows[tree.home]
        maps.append(backend.map(Coefficients(home, edge, ones, (num_bags, count))))
        return found | {
            "geometry": by_relation(tree.geometry.to(dtype), tree.relation, self.relations),
            "counts": torch.cat(counts, 1),
            "homes": tuple(maps),
            "offsets": offset_rows(tree.offset.to(dtype)),
            "relation": backend.choice(relation, 3 * num_kinds(self.types) ** 2),
            "edges_of_leaves": backend.choice(tree.leaf_edge, tree.edge_type.shape[0]),
        }

    def forward(self, x: Tensor | SparseMap, plan: RoundPlan, edges: Tensor | None = None) -> Tensor:
        if isinstance(plan, FusedPlan):
            if can_fuse(self) and isinstance(x, Tensor) and x.layout == torch.strided:
                return fused_states(self, x, plan)
            plan = plan.general()
        if not isinstance(plan, TypedPlan):
            return super().forward(x, plan, edges)
        if not isinstance(x, Tensor) or x.layout != torch.strided:
            raise InputError("Expected dense features for typed rounds; got sparse ones. Use x.to_dense().")
        assert plan.bag_kind is not None
        bags = self.bags(plan.bag_kind)
        if x.dim() < bags.dim():  # features that all runs share
            x = x.unsqueeze(1).expand(-1, bags.shape[1], -1)
        start = torch.cat([x, bags])
        if plan.geometry is None or plan.counts is None or plan.offsets is None or plan.relation is None:
            return Rounds.forward(self, start, plan)
        start = start + self.edges(plan.geometry, plan.counts, *plan.homes)
        return Rounds.forward(self, start, plan, self.offsets(plan.offsets, plan.relation))

    def _sent(self, number: int, h: Any, plan: RoundPlan) -> Any:
        if not isinstance(plan, TypedPlan) or not plan.senders:
            return h
        gates: Tensor = self.gates[number](plan.gates[number], 1.0)
        senders = plan.senders[number]
        if torch.is_grad_enabled() or not isinstance(senders, SparseMap):
            return torch.cat([h, senders(h) * gates])
        # In place where no gradient needs the factors: a third of the memory traffic.
        rows: Tensor = h.new_empty(h.shape[0] + gates.shape[0], *h.shape[1:])
        rows[: h.shape[0]] = h
        torch.mul(senders(h), gates, out=rows[h.shape[0] :])
        return rows

    def _carried(self, number: int, edges: Tensor | None, plan: RoundPlan) -> Tensor | None:
        last = number == len(self.convs) - 1
        if edges is None or not last or not isinstance(plan, TypedPlan) or plan.edges_of_leaves is None:
            return edges
        return plan.edges_of_leaves(edges)

    def trace(
        self,
        edge_index: Tensor,
        kappa: Tensor | None,
        edge_type: Tensor | None,
        num_nodes: int,
        members: Tensor | None = None,
    ) -> RoundPlan:
        if not self.typed:
            return super().trace(edge_index, kappa, edge_type, num_nodes, members)
        raise InputError(
            "Expected a plan for typed rounds, which read more than an edge_index; got tensors. Call "
            "model(x, model.plan(data))."
        )
