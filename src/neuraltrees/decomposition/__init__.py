"""Stage 2: tree decompositions and bounded-treewidth sampling."""

from neuraltrees.decomposition.decompose import decompose
from neuraltrees.decomposition.decomposition import TreeDecomposition
from neuraltrees.decomposition.sampling import BoundedTreewidthSample, sample_bounded_treewidth

__all__ = [
    "BoundedTreewidthSample",
    "TreeDecomposition",
    "decompose",
    "sample_bounded_treewidth",
]
