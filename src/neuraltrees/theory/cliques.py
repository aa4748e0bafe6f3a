"""The maximal cliques of a graph."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph

Clique: TypeAlias = tuple[int, ...]


@lru_cache(maxsize=64)
def maximal_cliques(graph: Graph) -> tuple[Clique, ...]:
    """The maximal cliques, each ascending, all in order; an isolated node is one.

    >>> maximal_cliques(Graph([[0, 1, 2, 2], [1, 2, 0, 3]], num_nodes=5))
    ((0, 1, 2), (2, 3), (4,))
    """
    import networkx as nx

    return tuple(sorted(tuple(sorted(clique)) for clique in nx.find_cliques(graph.to_networkx())))


class CliqueIndex:
    """Finds the first maximal clique that contains given nodes."""

    def __init__(self, graph: Graph) -> None:
        self.cliques, self.num_nodes = maximal_cliques(graph), graph.num_nodes
        self.cliques_of: list[list[int]] = [[] for _ in range(graph.num_nodes)]
        for number, clique in enumerate(self.cliques):
            for node in clique:
                self.cliques_of[node].append(number)

    def find(self, nodes: Clique) -> Clique:
        """The first maximal clique that contains the nodes; `InputError` names a missing edge if they are no clique."""
        if len(set(nodes)) != len(nodes):
            raise InputError(f"Expected a component on distinct nodes; got {nodes}.")
        for node in nodes:
            if not 0 <= node < self.num_nodes:
                raise InputError(f"Expected a component on nodes between 0 and {self.num_nodes - 1}; got {nodes}.")
        for number in self.cliques_of[nodes[0]] if nodes else range(len(self.cliques)):
            if set(nodes) <= set(self.cliques[number]):
                return self.cliques[number]
        for u, v in combinations(nodes, 2):
            if not set(self.cliques_of[u]) & set(self.cliques_of[v]):
                raise InputError(
                    f"Expected a component on a clique; got {nodes}, but no edge joins {u} and {v}. "
                    f"Split it into components on cliques, or add the edge to the graph."
                )
        raise InputError("Expected a graph with nodes for a constant component; got the empty graph.")
