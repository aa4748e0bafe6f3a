"""Stage 2: tree decompositions and bounded-treewidth sampling."""

from neuraltrees.decomposition.codes import BagCodes, bag_codes
from neuraltrees.decomposition.decompose import decompose
from neuraltrees.decomposition.decomposition import BagKind, TreeDecomposition
from neuraltrees.decomposition.sampling import BoundedTreewidthSample, sample_bounded_treewidth
from neuraltrees.decomposition.structure import BlockCutTree, SPQRTree, block_cut_tree, spqr_tree

__all__ = [
    "BagCodes",
    "BagKind",
    "BlockCutTree",
    "BoundedTreewidthSample",
    "SPQRTree",
    "TreeDecomposition",
    "bag_codes",
    "block_cut_tree",
    "decompose",
    "sample_bounded_treewidth",
    "spqr_tree",
]
