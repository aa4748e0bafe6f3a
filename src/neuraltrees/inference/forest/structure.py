"""The graphs of a forest, checked, and their elimination, divided into chunks that fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neuraltrees.decomposition import decompose
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph, Int64
from neuraltrees.inference.forest.build import build_chunks
from neuraltrees.inference.forest.elimination import Elimination, eliminate, order_of
from neuraltrees.inference.forest.factors import Family, Use, find_uses, integers, joined, make_families
from neuraltrees.inference.forest.groups import Joint, find_factors, find_kinds
from neuraltrees.inference.forest.plan import Chunk, Space


@dataclass(frozen=True, eq=False)
class Structure:
    """Variables of one or many graphs, their factors, edges first, and the order in which they are summed out.

    Variables with only one state have no neighbours in the elimination.

    Shapes: states and owner :math:`(n)`
    """

    states: Int64
    owner: Int64
    num_graphs: int
    families: tuple[Family, ...]
    elimination: Elimination

    @property
    def most_states(self) -> int:
        return int(self.states.max(initial=1))

    @property
    def edges(self) -> Family:
        return self.families[0]

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        return find_uses(self.families, self.states)

    @cached_property
    def largest_message(self) -> float:
        """The number of states of the largest separator."""
        ptr, members = self.elimination.ptr, self.elimination.members
        bits = np.append(0.0, np.cumsum(np.log2(self.states[self.elimination.order][members])))
        return float(2.0 ** min(1023.0, (bits[ptr[1:]] - bits[ptr[:-1]]).max(initial=0.0)))

    def chunks(self, space: Space, most: int, within: Int64 | None = None) -> tuple[tuple[Chunk, ...], Int64]:
        """The plan, and the chunk of every graph.

        Args:
            space: linear or log.
            most: largest number of entries of the tables of a chunk, unless a single graph has more.
            within: the chunk of every graph in another plan; graphs of different chunks are not joined.
        """
        steps = self.elimination
        states, owner = self.states[steps.order], self.owner[steps.order]
        joints = self._joints()
        factors = find_factors(steps, states, joints)
        kinds = find_kinds(steps, states, factors, space)
        entries = np.array([kind.entries for kind in kinds.kinds], np.float64)[kinds.of]
        cost = np.bincount(owner, entries, self.num_graphs)
        height = np.zeros(self.num_graphs, np.int64)
        np.maximum.at(height, owner, steps.height)
        within = np.zeros(self.num_graphs, np.int64) if within is None else within
        # Graphs of the same height have the same groups.
        order = np.lexsort((cost, height, within))
        before = np.cumsum(cost[order]) - cost[order]
        first = np.searchsorted(within[order], within[order])
        part = (before - before[first]) // most
        of_graph = np.empty(self.num_graphs, np.int64)
        new = np.append(True, (np.diff(part) != 0) | (np.diff(within[order]) != 0))
        of_graph[order] = np.cumsum(new[: len(order)]) - 1
        return build_chunks(steps, joints, factors, kinds, of_graph[owner], self.most_states), of_graph

    def _joints(self) -> tuple[Joint, ...]:
        """Factors of several variables, as the elimination meets them."""
        step = np.empty(len(self.states), np.int64)
        step[self.elimination.order] = np.arange(len(self.states))
        return tuple(
            Joint(step[use.variables], use.table, self.families[use.family].num_tables)
            for use in self.uses
            if len(use.axes) > 1
        )


def make_structure(
    graphs: Graph | Sequence[Graph],
    cardinalities: Any,
    owner: Any = None,
    relation: Any = None,
    order: Any = None,
    cliques: Sequence[Any] = (),
    clique_relation: Sequence[Any] | None = None,
) -> Structure:
    """Checks what a `Forest` is made of; see there."""
    if isinstance(graphs, Graph):
        graph = graphs
        of_graph = (
            np.zeros(graph.num_nodes, np.int64) if owner is None else integers("owner", owner, graph.num_nodes, 0)
        )
        num_graphs = 1 if owner is None else int(of_graph.max(initial=-1)) + 1
    elif owner is not None:
        raise InputError("Expected owner only for a union of graphs; got it with a list. Use Graph.union(graphs).")
    else:
        if not isinstance(graphs, Iterable):
            raise InputError(f"Expected a graph or a list of graphs; got {type(graphs).__name__}.")
        listed = [Graph.of(each) for each in graphs]
        graph, num_graphs = Graph.union(listed), len(listed)
        of_graph = np.repeat(np.arange(num_graphs), [each.num_nodes for each in listed])
    if isinstance(cardinalities, int | np.integer):
        cardinalities = np.full(graph.num_nodes, cardinalities)
    states = integers("cardinalities", cardinalities, graph.num_nodes, 1)
    source, target = graph._upper_edges()
    if (across := np.flatnonzero(of_graph[source] != of_graph[target])).size:
        edge = (int(source[across[0]]), int(target[across[0]]))
        raise InputError(f"Expected edges inside graphs; edge {edge} joins variables of different owners.")
    table = np.arange(len(source)) if relation is None else integers("relation", relation, len(source), 0)
    families = (
        Family(np.stack([source, target], 1), table),
        *make_families(cliques, clique_relation, of_graph),
    )
    free = (states[source] > 1) & (states[target] > 1)
    if not free.all():
        graph = Graph(np.stack([source[free], target[free]]), num_nodes=graph.num_nodes)
    graph = joined(graph, [use.variables for use in find_uses(families[1:], states)])
    steps = eliminate(graph, order_of(decompose(graph, threads=1)) if order is None else order)
    return Structure(states, of_graph, num_graphs, families, steps)
