"""Prints the table of docs/theory.md: parameters by Theorem 3, by its corollary, as built, and of the naive network.

    .venv/bin/python benchmarks/theory.py

Nothing is timed. The function of every clique has a Lipschitz constant of 1; the allowed error is 0.1 per clique.
"""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees.theory import (
    CompatibleFunction,
    approximate,
    maximal_cliques,
    naive_parameters,
    parameter_bound,
    parameter_bound_by_treewidth,
)

EPSILON = 0.1


def wave(number: int) -> Callable[[Tensor], Tensor]:
    """A function with values in [0, 1] that is not symmetric in its arguments."""

    def function(x: Tensor) -> Tensor:
        weight = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
        return 0.5 + 0.5 * (x @ (weight / weight.sum()) * 2 + number).sin()

    return function


def strip(nodes: int) -> nx.Graph[int]:
    """A strip of triangles: node i is adjacent to i + 1 and i + 2."""
    return nx.Graph([(i, i + step) for step in (1, 2) for i in range(nodes - step)])


GRAPHS = {
    **{f"path of {n} nodes": nx.path_graph(n) for n in (8, 16, 32)},
    **{f"ladder of {n} nodes": nx.ladder_graph(n // 2) for n in (8, 32)},
    **{f"strip of triangles, {n} nodes": strip(n) for n in (8, 32)},
}


def main() -> None:
    torch.set_default_dtype(torch.float64)
    print("| graph | treewidth | cliques | Theorem 3 | corollary | built on the tree | naive |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, nx_graph in GRAPHS.items():
        graph = nt.Graph.from_networkx(nx_graph)
        tree, cliques = nt.build_htree(graph), maximal_cliques(graph)
        f = CompatibleFunction(graph, {clique: wave(i) for i, clique in enumerate(cliques)}, lipschitz=1.0)
        built = approximate(f, tree, EPSILON * len(cliques))
        closed = parameter_bound_by_treewidth(graph.num_nodes, tree.treewidth, EPSILON)
        row = [f"{parameter_bound(tree, EPSILON):,.0f}", f"{closed:,.0f}", f"{built.num_parameters:,}"]
        naive = naive_parameters(f, EPSILON * len(cliques))
        print(f"| {name} | {tree.treewidth} | {len(cliques)} | {' | '.join(row)} | {naive:.1e} |", flush=True)
    print()
    for n in (8, 16, 32):
        graph = nt.Graph.from_networkx(nx.path_graph(n))
        f = CompatibleFunction(
            graph, {clique: wave(i) for i, clique in enumerate(maximal_cliques(graph))}, lipschitz=1.0
        )
        count = approximate(f, nt.build_htree(graph), 0.5).num_parameters
        print(f"path of {n} nodes, an error of 0.5 for the sum: {count:,} parameters")


if __name__ == "__main__":
    main()
