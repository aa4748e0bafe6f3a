"""Learning on graphs through their H-trees."""

from typing import TYPE_CHECKING

from neuraltrees.decomposition import BoundedTreewidthSample as BoundedTreewidthSample
from neuraltrees.decomposition import TreeDecomposition as TreeDecomposition
from neuraltrees.decomposition import decompose as decompose
from neuraltrees.decomposition import sample_bounded_treewidth as sample_bounded_treewidth
from neuraltrees.errors import ApproximationError as ApproximationError
from neuraltrees.errors import InputError as InputError
from neuraltrees.errors import InvalidDecompositionError as InvalidDecompositionError
from neuraltrees.errors import InvalidHTreeError as InvalidHTreeError
from neuraltrees.errors import ModelTooLargeError as ModelTooLargeError
from neuraltrees.errors import NativeCoreError as NativeCoreError
from neuraltrees.errors import NeuralTreesError as NeuralTreesError
from neuraltrees.errors import ParseError as ParseError
from neuraltrees.errors import TreeTooLargeError as TreeTooLargeError
from neuraltrees.errors import ZeroProbabilityError as ZeroProbabilityError
from neuraltrees.graph import Graph as Graph
from neuraltrees.graph import moralize as moralize
from neuraltrees.lazy import lazy_names as _lazy_names
from neuraltrees.version import __version__ as __version__

if TYPE_CHECKING:
    from neuraltrees.data import HTreeData as HTreeData
    from neuraltrees.data import ToHTree as ToHTree
    from neuraltrees.htree import HTree as HTree
    from neuraltrees.htree import build_htree as build_htree
    from neuraltrees.htree import load_htree as load_htree
    from neuraltrees.htree import save_htree as save_htree
    from neuraltrees.nn import GNN as GNN
    from neuraltrees.nn import NeuralTree as NeuralTree
    from neuraltrees.plots.drawing import draw as draw

# torch and matplotlib take a second or more to import; names that need them are loaded when first used, so that
# `neuraltrees --help` and a plain decomposition answer at once.
_LAZY = {
    "HTree": "neuraltrees.htree",
    "build_htree": "neuraltrees.htree",
    "load_htree": "neuraltrees.htree",
    "save_htree": "neuraltrees.htree",
    "draw": "neuraltrees.plots.drawing",
    "NeuralTree": "neuraltrees.nn",
    "GNN": "neuraltrees.nn",
    "HTreeData": "neuraltrees.data",
    "ToHTree": "neuraltrees.data",
}

__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
