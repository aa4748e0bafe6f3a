"""Small random forests for property tests."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from neuraltrees.inference import Forest, MarkovNetwork
from tests.oracle.joint import Joint


@dataclass(frozen=True)
class Drawn:
    """Small graphs with potentials; what lies beyond the states of a variable is nan."""

    graphs: list[nt.Graph]
    cardinalities: list[int]
    relation: list[int] | None
    unary: Tensor
    pairwise: Tensor

    @property
    def potentials(self) -> tuple[Tensor, Tensor]:
        return self.unary, self.pairwise

    @property
    def owner(self) -> list[int]:
        return [i for i, graph in enumerate(self.graphs) for _ in range(graph.num_nodes)]

    def forest(self, **options: Any) -> Forest:
        return Forest.of(self.graphs, self.cardinalities, relation=self.relation, **options)

    def models(self) -> list[MarkovNetwork]:
        """One for each graph, with the same potentials."""
        first, edge, found = 0, 0, []
        for graph in self.graphs:
            states = self.cardinalities[first : first + graph.num_nodes]
            cliques: list[tuple[int, ...]] = [(v,) for v in range(graph.num_nodes)]
            tables = [self.unary[first + v, :count] for v, count in enumerate(states)]
            for u, v in upper_edges(graph):
                table = self.pairwise[edge if self.relation is None else self.relation[edge]]
                cliques.append((u, v))
                tables.append(table[: states[u], : states[v]])
                edge += 1
            found.append(MarkovNetwork(states, cliques, tables))
            first += graph.num_nodes
        return found

    def joints(self) -> list[Joint]:
        return [
            Joint(model.cardinalities, model.cliques, [table.numpy() for table in model.log_potentials])
            for model in self.models()
        ]

    @property
    def possible(self) -> bool:
        return all(joint.best > -np.inf for joint in self.joints())


def upper_edges(graph: nt.Graph) -> list[tuple[int, int]]:
    return [(u, v) for u, v in graph.edge_index.T.tolist() if u < v]


def draw_forest(
    graphs: list[nt.Graph],
    cardinalities: list[int],
    relation: list[int] | None = None,
    seed: int = 0,
    scale: float = 1.0,
    zeros: tuple[float, float] = (0.0, 0.0),
) -> Drawn:
    """Normal log-potentials of a scale; `zeros` are the shares of -inf among those of variables and of pairs."""
    rng = np.random.default_rng(seed)
    most = max(cardinalities, default=1)
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    edges = [(a + u, a + v) for a, graph in zip(starts, graphs, strict=False) for u, v in upper_edges(graph)]
    numbers = list(range(len(edges))) if relation is None else relation
    unary = scale * rng.standard_normal((len(cardinalities), most))
    unary[rng.random(unary.shape) < zeros[0]] = -np.inf
    for row, states in zip(unary, cardinalities, strict=True):
        row[states:] = np.nan
    pairwise = scale * rng.standard_normal((max(numbers, default=-1) + 1, most, most))
    pairwise[rng.random(pairwise.shape) < zeros[1]] = -np.inf
    read = np.zeros(pairwise.shape, bool)
    for number, (u, v) in zip(numbers, edges, strict=True):
        read[number, : cardinalities[u], : cardinalities[v]] = True
    pairwise[~read] = np.nan
    return Drawn(graphs, cardinalities, relation, torch.from_numpy(unary), torch.from_numpy(pairwise))


@st.composite
def forests(draw: st.DrawFn, variables: int = 6, states: int = 3, zeros: float = 0.3, scale: float = 2000.0) -> Drawn:
    """Up to three graphs, some without variables, in pieces, of any density; a table for each edge, or shared ones.

    Entries may be zero, and their logarithms may differ by thousands.
    """
    graphs: list[nt.Graph] = []
    for _ in range(draw(st.integers(1, 3))):
        count = draw(st.integers(0, variables))
        pairs = list(itertools.combinations(range(count), 2))
        kept = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        graphs.append(nt.Graph(np.array(kept, dtype=np.int64).reshape(-1, 2).T, num_nodes=count))
    total, edges = (sum(getattr(graph, name) for graph in graphs) for name in ("num_nodes", "num_edges"))
    cardinalities = draw(st.lists(st.integers(1, states), min_size=total, max_size=total))
    relation = draw(st.none() | st.lists(st.integers(0, 2), min_size=edges, max_size=edges))
    size = draw(st.sampled_from([0.0, 1.0, min(5.0, scale), scale]))
    shares = draw(st.sampled_from([(0.0, 0.0), (zeros, 0.0), (zeros, zeros / 3)]))
    return draw_forest(graphs, cardinalities, relation, draw(st.integers(0, 2**32 - 1)), size, shares)


def random_graphs(count: int, nodes: int, edges: int, seed: int = 0) -> list[nt.Graph]:
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(nodes), 2)))
    return [nt.Graph(pairs[rng.permutation(len(pairs))[:edges]].T, num_nodes=nodes) for _ in range(count)]
