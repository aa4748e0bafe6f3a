"""Graph → subgraph of bounded treewidth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from neuraltrees._core import native
from neuraltrees.checks import check_at_least, check_restarts, check_seed
from neuraltrees.decomposition.decomposition import TreeDecomposition
from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.graph import Graph

Sampler: TypeAlias = Literal["elimination", "paper"]


@dataclass(frozen=True)
class BoundedTreewidthSample:
    """A subgraph on all nodes, its decomposition of width at most k, and the share of the graph's edges that it keeps.

    Unpacks as `subgraph, decomposition = sample`.
    """

    subgraph: Graph
    decomposition: TreeDecomposition
    kept: float

    def __iter__(self) -> Iterator[Graph | TreeDecomposition]:
        yield self.subgraph
        yield self.decomposition


def sample_bounded_treewidth(
    graph: Graph, k: int, seed: int = 0, *, restarts: int = 1, sampler: Sampler = "elimination"
) -> BoundedTreewidthSample:
    """A subgraph of treewidth at most k with many of the graph's edges and the same connected components.

    The sampler `elimination` keeps a component unchanged if min-fill finds a width of at most k for it. Otherwise it
    eliminates vertices of degree at most k, with fill edges that weigh as much as the edges that would be lost without
    them; from other vertices it drops the lightest edges until k are left. Bags hold no more nodes than the kept edges
    need, and dropped edges return where bags have room. Long graphs, such as grids, are also cut into slabs of few
    layers, and graphs with more edges than k-trees are also sampled as in the paper; the best result is returned.

    The sampler `paper` grows a k-tree over every component and keeps the edges inside it (Yoo et al., WSDM 2020): each
    new node goes to the bag of k + 1 nodes that holds most of its neighbours; its own bag is that bag with one node
    replaced by the new one.

    Args:
        graph: the graph.
        k: the treewidth bound, at least 1; k = 1 gives a spanning forest.
        seed: breaks ties; the same seed gives the same sample.
        restarts: how many times `elimination` runs: first on the graph, then on the kept subgraph, so that more dropped
            edges can return. More restarts never keep fewer edges.
        sampler: `elimination`, which keeps more edges and gives smaller H-trees, or `paper`, which is faster.

    >>> sample = sample_bounded_treewidth(Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), k=1)
    >>> subgraph, decomposition = sample
    >>> subgraph, decomposition.width, sample.kept
    (Graph(num_nodes=4, num_edges=3), 1, 0.75)
    """
    graph = Graph.of(graph)
    bound = min(check_at_least("k", k, 1), max(1, graph.num_nodes))
    check_sampler(sampler)
    runs, number = check_restarts(restarts), check_seed(seed)
    if sampler == "paper":
        found = native.sample_bounded_treewidth(graph.indptr, graph.indices, bound, number)
    else:
        found = native.bounded_subgraph(graph.indptr, graph.indices, bound, number, runs - 1)
    indptr, indices, bag_ptr, bag_nodes, edges = found
    subgraph = Graph._from_rows(indptr, indices)
    td = TreeDecomposition._from_arrays(graph.num_nodes, bag_ptr, bag_nodes, edges, made_for=subgraph)
    return BoundedTreewidthSample(subgraph, td, subgraph.num_edges / graph.num_edges if graph.num_edges else 1.0)


def check_sampler(sampler: str) -> None:
    """Raises `InputError` for an unknown sampler."""
    if sampler not in get_args(Sampler):
        hint = did_you_mean(sampler, get_args(Sampler))
        raise InputError(f"Expected sampler out of {', '.join(get_args(Sampler))}; got {sampler!r}.{hint}")
