"""Stage 2: tree decompositions and bounded-treewidth sampling."""

from neuraltrees.decomposition.decompose import decompose as decompose
from neuraltrees.decomposition.decomposition import TreeDecomposition as TreeDecomposition
from neuraltrees.decomposition.sampling import BoundedTreewidthSample as BoundedTreewidthSample
from neuraltrees.decomposition.sampling import sample_bounded_treewidth as sample_bounded_treewidth
