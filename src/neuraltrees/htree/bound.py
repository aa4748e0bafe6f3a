"""The treewidth bound that belongs to a bound on the number of nodes of the H-tree."""

from __future__ import annotations

from collections.abc import Sequence

from neuraltrees.checks import check_at_least
from neuraltrees.decomposition.decompose import Method
from neuraltrees.decomposition.sampling import Sampler, sample_bounded_treewidth
from neuraltrees.errors import InputError, TreeTooLargeError
from neuraltrees.graph import Graph
from neuraltrees.htree.build import MOST_NODES, Terminal, build_htree

FIRST = (1, 2, 4)  # bounds that are tried in any case: a complete bag makes a smaller tree than its edges one by one


def largest_treewidth_bound(
    graph: Graph | Sequence[Graph],
    max_tree_nodes: int,
    method: Method = "min_fill",
    *,
    seed: int = 0,
    restarts: int = 4,
    sampler: Sampler = "elimination",
    terminal: Terminal = "clique",
) -> int:
    """The largest treewidth bound k for which the H-tree has at most the given number of nodes.

    The width of a decomposition says little about the size of the H-tree, since only complete bags have leaves. Where
    memory is the limit, this function keeps more edges than a small fixed k. Pass the bound on as `max_treewidth`,
    with the same options.

    Args:
        graph: the graph; or several, whose trees have at most `max_tree_nodes` together.
        max_tree_nodes: the largest number of nodes of the tree.
        method, seed, restarts, sampler, terminal: how the tree is built; see `ToHTree`, whose defaults these are.

    Returns:
        k, exact up to 8, above that up to 1/8 too small. If a graph fits as a whole, k is at least its width.

    >>> square_with_tail = Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])
    >>> largest_treewidth_bound(square_with_tail, 18), largest_treewidth_bound(square_with_tail, 17)
    (2, 1)
    """
    graphs = [graph] if isinstance(graph, Graph) else [Graph.of(each) for each in graph]
    check_at_least("max_tree_nodes", max_tree_nodes, 1)

    def measure(k: int, limit: int) -> tuple[int, bool]:
        """The number of nodes of the trees, some number above the limit if it is exceeded; are all edges kept?"""
        nodes, whole = 0, True
        for each in graphs:
            sample = sample_bounded_treewidth(each, k, seed, restarts=restarts, sampler=sampler)
            decomposition = None if method == "canonical" else sample.decomposition
            whole &= sample.kept == 1
            try:
                tree = build_htree(
                    sample.subgraph,
                    decomposition,
                    method,
                    terminal=terminal,
                    seed=seed,
                    restarts=restarts,
                    max_nodes=max(limit - nodes, 1),
                    dtype=None,
                )
            except TreeTooLargeError:
                return limit + 1, whole
            nodes += tree.num_nodes
        return nodes, whole

    starts = {k: measure(k, MOST_NODES) for k in FIRST}
    fitting = [k for k, (nodes, _) in starts.items() if nodes <= max_tree_nodes]
    if not fitting:
        least = min(nodes for nodes, _ in starts.values())
        raise InputError(
            f"Expected max_tree_nodes of at least {least}, what a small bound needs; got {max_tree_nodes}."
        )
    fits = next((k for k in fitting if starts[k][1]), fitting[-1])
    exceeds, whole = 2 * fits, starts[fits][1]
    while not whole:
        nodes, whole = measure(exceeds, max_tree_nodes)
        if nodes > max_tree_nodes:
            break
        fits, exceeds = exceeds, 2 * exceeds
    else:
        return fits
    while exceeds - fits > max(1, fits // 8):
        middle = (fits + exceeds) // 2
        nodes, _ = measure(middle, max_tree_nodes)
        fits, exceeds = (fits, middle) if nodes > max_tree_nodes else (middle, exceeds)
    return fits
