"""Checks that an H-tree was built for a graph."""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations

import numpy as np
import torch

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.htree import HTree


def spanned_graph(htree: HTree, graph: Graph) -> Graph:
    """The graph that an H-tree was built for, if it was built for this one or a subgraph on all its nodes.

    If the recursion of the tree ends at cliques, every bag with leaves below is complete, and these bags hold every
    edge. If all nodes below the roots are leaves, the roots need not be complete: what was kept is then what they hold.

    >>> from neuraltrees.htree import build_htree
    >>> path, square = Graph([[0, 1], [1, 2]]), Graph([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> spanned_graph(build_htree(path), Graph([[0, 1, 2], [1, 2, 0]])) == path
    True
    >>> spanned_graph(build_htree(square, terminal="bag"), square) == square
    True
    """
    if htree.num_nodes and int(htree.level.max()) < 2:
        return _held_by_roots(htree, graph)
    above = torch.unique(htree.parent[htree.kappa >= 0])
    start, size = htree.bag_ptr[above], htree.bag_ptr.diff()[above]
    edges = [torch.zeros(2, 0, dtype=torch.int64)]
    for members in torch.unique(size).tolist():
        bags = htree.bag_nodes[start[size == members, None] + torch.arange(members)]
        pairs = torch.tensor(list(combinations(range(members), 2)), dtype=torch.int64).reshape(-1, 2)
        edges.append(bags[:, pairs].reshape(-1, 2).t())
    return Graph(torch.cat(edges, 1), num_nodes=htree.num_graph_nodes)


def _held_by_roots(htree: HTree, graph: Graph) -> Graph:
    """The edges of the graph whose ends are together in a root."""
    size = htree.bag_ptr.diff()
    root = torch.repeat_interleave(torch.arange(htree.num_nodes), size)
    at_root = htree.parent[root] < 0
    bag, node = root[at_root].numpy(), htree.bag_nodes[at_root].numpy()
    held = bag * graph.num_nodes + node
    by_node = np.argsort(node, kind="stable")
    first = np.searchsorted(node[by_node], np.arange(graph.num_nodes + 1))
    count = np.diff(first)
    source, target = graph.edge_index.numpy()
    # Of the two ends of an edge, the one in fewer roots is looked for in all roots of its own.
    fewer = np.where(count[source] <= count[target], source, target)
    edge = np.repeat(np.arange(len(source)), count[fewer])
    step = np.arange(len(edge)) - np.repeat(np.cumsum(count[fewer]) - count[fewer], count[fewer])
    bags = bag[by_node[np.repeat(first[fewer], count[fewer]) + step]]
    together = np.isin(bags * graph.num_nodes + (source + target - fewer)[edge], held)
    kept = np.unique(edge[together])
    return Graph(np.stack([source[kept], target[kept]]), num_nodes=graph.num_nodes)


def check_fit(htree: HTree, graph: Graph) -> None:
    """Raises `InputError` unless the tree is an H-tree of the graph, or of a subgraph on all its nodes.

    The second is what `sample_bounded_treewidth` makes.

    >>> from neuraltrees.htree import build_htree
    >>> square, path = Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), Graph([[0, 1, 2], [1, 2, 3]])
    >>> check_fit(build_htree(path), square)
    >>> check_fit(build_htree(square), path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    neuraltrees.errors.InputError: Expected an H-tree of this graph; got one of a graph with an edge between 0 and 3...
    """
    htree = HTree(**{field.name: getattr(htree, field.name).cpu() for field in fields(htree)}).long()
    if htree.num_graph_nodes != graph.num_nodes:
        raise InputError(
            f"Expected an H-tree of this graph of {graph.num_nodes} nodes; got one of a graph of "
            f"{htree.num_graph_nodes} nodes. Build it from this graph: build_htree(graph)."
        )
    spanned = spanned_graph(htree, graph)
    extra = np.setdiff1d(_codes(spanned), _codes(graph))
    if len(extra):
        u, v = divmod(int(extra[0]), graph.num_nodes)
        raise InputError(
            f"Expected an H-tree of this graph; got one of a graph with an edge between {u} and {v}, which this one "
            f"does not have. Build it from this graph: build_htree(graph)."
        )
    htree.validate(spanned)


def _codes(graph: Graph) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """One number for each direction of every edge."""
    source, target = graph.edge_index.numpy()
    codes: np.ndarray[tuple[int], np.dtype[np.int64]] = source * graph.num_nodes + target
    return codes
