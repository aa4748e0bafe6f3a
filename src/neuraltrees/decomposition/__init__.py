"""Stage 2: tree decompositions and bounded-treewidth sampling."""

from neuraltrees.decomposition.decompose import decompose
from neuraltrees.decomposition.decomposition import BagKind, TreeDecomposition
from neuraltrees.decomposition.sampling import BoundedTreewidthSample, sample_bounded_treewidth

__all__ = [
    "BagKind",
    "BoundedTreewidthSample",
    "TreeDecomposition",
    "decompose",
    "sample_bounded_treewidth",
]
