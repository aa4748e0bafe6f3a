"""Stage 3: H-trees."""

from neuraltrees.htree.build import build_htree as build_htree
from neuraltrees.htree.htree import HTree as HTree
from neuraltrees.htree.storage import load_htree as load_htree
from neuraltrees.htree.storage import save_htree as save_htree
