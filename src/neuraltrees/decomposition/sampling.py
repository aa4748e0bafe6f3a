"""Graph → subgraph of bounded treewidth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neuraltrees._core import native
from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.decomposition.decomposition import TreeDecomposition
from neuraltrees.graph import Graph


@dataclass(frozen=True)
class BoundedTreewidthSample:
    """A subgraph on all nodes, its decomposition of width at most k, and the share of the graph's edges that are kept.

    Unpacks as `subgraph, decomposition = sample`.
    """

    subgraph: Graph
    decomposition: TreeDecomposition
    kept: float

    def __iter__(self) -> Iterator[Graph | TreeDecomposition]:
        yield self.subgraph
        yield self.decomposition


def sample_bounded_treewidth(graph: Graph, k: int, seed: int = 0) -> BoundedTreewidthSample:
    """Keeps the edges that fall inside a k-tree grown over every component (Yoo et al., WSDM 2020).

    Each new node goes to the bag of k + 1 nodes that holds most of its neighbours; its new bag is that bag with one
    node replaced by it. A connected graph stays connected; k = 1 gives a spanning tree. O(m (k + log n)) time.

    Args:
        graph: the graph.
        k: the treewidth bound, at least 1.
        seed: breaks ties; the same seed gives the same sample.

    >>> sample = sample_bounded_treewidth(Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), k=1)
    >>> subgraph, decomposition = sample
    >>> subgraph, decomposition.width, sample.kept
    (Graph(num_nodes=4, num_edges=3), 1, 0.75)
    """
    graph = Graph.of(graph)
    bound = min(check_at_least("k", k, 1), max(1, graph.num_nodes))
    indptr, indices, bag_ptr, bag_nodes, edges = native.sample_bounded_treewidth(
        graph.indptr, graph.indices, bound, check_seed(seed)
    )
    subgraph = Graph._from_rows(indptr, indices)
    td = TreeDecomposition._from_arrays(graph.num_nodes, bag_ptr, bag_nodes, edges, made_for=subgraph)
    return BoundedTreewidthSample(subgraph, td, subgraph.num_edges / graph.num_edges if graph.num_edges else 1.0)
