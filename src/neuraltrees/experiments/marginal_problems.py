"""Random Markov networks and their exact node marginals, as a learning problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import networkx as nx
import torch
from torch import Tensor

from neuraltrees.decomposition import decompose
from neuraltrees.graph import Graph
from neuraltrees.inference import JunctionTree, MarkovNetwork, loopy_marginals

STRENGTHS = (0.2, 1.0)  # range of β


def partial_k_tree(k: int, seed: int, nodes: int = 14, kept: float = 0.8) -> nx.Graph[int]:
    """A connected subgraph of a random k-tree; each edge is kept with probability `kept`, or if it is a bridge.

    >>> partial_k_tree(2, seed=0).number_of_nodes()
    14
    """
    generator = torch.Generator().manual_seed(seed)
    graph: nx.Graph[int] = nx.complete_graph(k + 1)
    cliques = [list(range(k + 1))]
    for node in range(k + 1, nodes):
        clique = cliques[int(torch.randint(len(cliques), (), generator=generator))]
        left_out = int(torch.randint(k + 1, (), generator=generator))
        joined = [member for member in clique if member != clique[left_out]]
        graph.add_edges_from((node, member) for member in joined)
        cliques.append([*joined, node])
    for edge in list(graph.edges):
        if float(torch.rand((), generator=generator)) >= kept:
            graph.remove_edge(*edge)
            if not nx.is_connected(graph):
                graph.add_edge(*edge)
    return graph


def scene_like(seed: int) -> nx.Graph[int]:
    """A room (node 0) adjacent to all its objects, which form cliques of 3 or 4."""
    generator = torch.Generator().manual_seed(seed)
    graph: nx.Graph[int] = nx.Graph()
    while graph.number_of_nodes() < 12:
        first, size = max(1, graph.number_of_nodes()), int(torch.randint(3, 5, (), generator=generator))
        group = range(first, first + size)
        graph.add_edges_from((a, b) for a in (0, *group) for b in group if a < b)
    return graph


@dataclass(frozen=True)
class Family:
    """A family of random graphs, and the number of states per variable."""

    make: Callable[[int], nx.Graph[int]]
    states: int


FAMILIES: dict[str, Family] = {
    "tree": Family(lambda seed: nx.random_labeled_tree(14, seed=seed), 4),
    "cycle": Family(lambda seed: nx.cycle_graph(14), 3),
    "grid 3 × 5": Family(lambda seed: nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 5)), 3),
    "grid 4 × 4": Family(lambda seed: nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4)), 2),
    "scene": Family(scene_like, 4),
    **{f"partial {k}-tree": Family(partial(partial_k_tree, k), 2) for k in range(1, 6)},
}


@dataclass(frozen=True)
class MarginalProblem:
    r"""Marginals of :math:`p(y) ∝ \exp(\sum_v θ_v(y_v) + β \sum_{uv} J(y_u, y_v))` as a function of θ and β.

    Args:
        graphs: graphs that share :math:`J`.
        coupling: the table :math:`J`, symmetric, with rows and columns that sum to 0 and a mean square of 1.

    Shapes: coupling :math:`(k, k)`
    """

    graphs: tuple[Graph, ...]
    coupling: Tensor

    @classmethod
    def random(cls, family: str, seed: int, first_graph: int = 0, count: int = 1) -> MarginalProblem:
        """Random graphs of a family and a random table, which does not depend on the graphs."""
        kind = FAMILIES[family]
        generator = torch.Generator().manual_seed(seed)
        table = torch.randn(kind.states, kind.states, generator=generator, dtype=torch.float64)
        table = table + table.mT
        # Centred, so that the table only describes interaction: row means would act as potentials of single variables.
        means = table.mean(0)
        table = table - means - means.view(-1, 1) + means.mean()
        graphs = [kind.make(1000 * seed + first_graph + i) for i in range(count)]
        return cls(tuple(map(Graph.from_networkx, graphs)), table / table.square().mean().sqrt())

    @property
    def states(self) -> int:
        return len(self.coupling)

    @property
    def union(self) -> Graph:
        return Graph.union(self.graphs)

    @property
    def treewidth(self) -> int:
        """The largest exact treewidth of the graphs."""
        return max(decompose(graph, "exact").width for graph in self.graphs)

    def sample(self, count: int, seed: int, loopy: bool = False) -> Samples:
        """Samples `count` random potentials per graph, with their exact marginals."""
        generator = torch.Generator().manual_seed(seed)
        low, high = STRENGTHS
        features, exact, approximate = [], [], []
        for graph in self.graphs:
            theta = torch.randn(graph.num_nodes, count, self.states, generator=generator, dtype=torch.float64)
            beta = low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)
            model = self._model(graph, theta, beta)
            exact.append(torch.stack(JunctionTree.of(model).run(model.log_potentials).marginals))
            if loopy:
                approximate.append(torch.stack(loopy_marginals(model)))
            degree = graph.edge_index[0].bincount(minlength=graph.num_nodes).double() / 4
            constant = torch.stack([beta.expand(graph.num_nodes, -1), degree.view(-1, 1).expand(-1, count)], -1)
            features.append(torch.cat([theta, constant], -1))
        found = torch.cat(approximate).float() if loopy else None
        return Samples(torch.cat(features).float(), torch.cat(exact).float(), found)

    def _model(self, graph: Graph, theta: Tensor, beta: Tensor) -> MarkovNetwork:
        source, target = graph.edge_index
        edges = [(u, v) for u, v in zip(source.tolist(), target.tolist(), strict=True) if u < v]
        pair = beta.view(-1, 1, 1) * self.coupling
        cliques: Sequence[tuple[int, ...]] = [*((v,) for v in range(graph.num_nodes)), *edges]
        return MarkovNetwork([self.states] * graph.num_nodes, cliques, [*theta, *[pair] * len(edges)])


@dataclass(frozen=True)
class Samples:
    """Potentials as node features, their exact marginals and, optionally, those of loopy belief propagation.

    Shapes: x :math:`(n, B, k + 2)`, exact and loopy :math:`(n, B, k)`
    """

    x: Tensor
    exact: Tensor
    loopy: Tensor | None


def total_variation(predicted: Tensor, exact: Tensor) -> float:
    """The mean total variation distance over nodes and samples, in per cent."""
    return 50 * float((predicted - exact).abs().sum(-1).mean())
