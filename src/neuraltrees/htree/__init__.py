"""Stage 3: H-trees."""

from neuraltrees.htree.bound import largest_treewidth_bound
from neuraltrees.htree.build import build_htree
from neuraltrees.htree.htree import HTree
from neuraltrees.htree.storage import load_htree, save_htree

__all__ = [
    "HTree",
    "build_htree",
    "largest_treewidth_bound",
    "load_htree",
    "save_htree",
]
