"""Learning on graphs through their H-trees."""

from typing import TYPE_CHECKING

from neuraltrees.decomposition import BagCodes as BagCodes
from neuraltrees.decomposition import BagKind as BagKind
from neuraltrees.decomposition import BlockCutTree as BlockCutTree
from neuraltrees.decomposition import BoundedTreewidthSample as BoundedTreewidthSample
from neuraltrees.decomposition import SPQRTree as SPQRTree
from neuraltrees.decomposition import TreeDecomposition as TreeDecomposition
from neuraltrees.decomposition import bag_codes as bag_codes
from neuraltrees.decomposition import block_cut_tree as block_cut_tree
from neuraltrees.decomposition import decompose as decompose
from neuraltrees.decomposition import sample_bounded_treewidth as sample_bounded_treewidth
from neuraltrees.decomposition import spqr_tree as spqr_tree
from neuraltrees.errors import ApproximationError as ApproximationError
from neuraltrees.errors import DivergedError as DivergedError
from neuraltrees.errors import DivergenceWarning as DivergenceWarning
from neuraltrees.errors import InputError as InputError
from neuraltrees.errors import InvalidDecompositionError as InvalidDecompositionError
from neuraltrees.errors import InvalidHTreeError as InvalidHTreeError
from neuraltrees.errors import MissingExtraError as MissingExtraError
from neuraltrees.errors import ModelTooLargeError as ModelTooLargeError
from neuraltrees.errors import NativeCoreError as NativeCoreError
from neuraltrees.errors import NeuralTreesError as NeuralTreesError
from neuraltrees.errors import NeuralTreesWarning as NeuralTreesWarning
from neuraltrees.errors import ParseError as ParseError
from neuraltrees.errors import TreeTooLargeError as TreeTooLargeError
from neuraltrees.errors import ZeroProbabilityError as ZeroProbabilityError
from neuraltrees.graph import Graph as Graph
from neuraltrees.graph import moralize as moralize
from neuraltrees.graph_files import NamedGraph as NamedGraph
from neuraltrees.graph_files import read_graph as read_graph
from neuraltrees.lazy import lazy_names as _lazy_names
from neuraltrees.version import __version__ as __version__

if TYPE_CHECKING:
    from neuraltrees.data import HTreeData as HTreeData
    from neuraltrees.data import SceneGeometry as SceneGeometry
    from neuraltrees.data import ToHTree as ToHTree
    from neuraltrees.data import attach_htree as attach_htree
    from neuraltrees.data import attach_htrees as attach_htrees
    from neuraltrees.data.folds import cross_fit as cross_fit
    from neuraltrees.data.scaling import Scaling as Scaling
    from neuraltrees.data.splits import Split as Split
    from neuraltrees.data.splits import citation_split as citation_split
    from neuraltrees.data.splits import random_graph_split as random_graph_split
    from neuraltrees.data.splits import random_node_split as random_node_split
    from neuraltrees.data.task import Task as Task
    from neuraltrees.datasets import CitationNetwork as CitationNetwork
    from neuraltrees.datasets import MoleculesFromSmiles as MoleculesFromSmiles
    from neuraltrees.datasets import StanfordSceneGraphs as StanfordSceneGraphs
    from neuraltrees.datasets import SyntheticBuildings as SyntheticBuildings
    from neuraltrees.datasets import SyntheticScenes as SyntheticScenes
    from neuraltrees.datasets import load_task as load_task
    from neuraltrees.datasets import register_dataset as register_dataset
    from neuraltrees.htree import HTree as HTree
    from neuraltrees.htree import build_htree as build_htree
    from neuraltrees.htree import largest_treewidth_bound as largest_treewidth_bound
    from neuraltrees.htree import load_htree as load_htree
    from neuraltrees.htree import save_htree as save_htree
    from neuraltrees.inference import CRF as CRF
    from neuraltrees.inference import BayesianNetwork as BayesianNetwork
    from neuraltrees.inference import Forest as Forest
    from neuraltrees.inference import JunctionTree as JunctionTree
    from neuraltrees.inference import MarkovNetwork as MarkovNetwork
    from neuraltrees.inference import infer as infer
    from neuraltrees.inference import read_bif as read_bif
    from neuraltrees.inference import read_uai as read_uai
    from neuraltrees.nn import GNN as GNN
    from neuraltrees.nn import MLP as MLP
    from neuraltrees.nn import BagOptions as BagOptions
    from neuraltrees.nn import BagRounds as BagRounds
    from neuraltrees.nn import Categories as Categories
    from neuraltrees.nn import Convolution as Convolution
    from neuraltrees.nn import CRFHead as CRFHead
    from neuraltrees.nn import CRFPosterior as CRFPosterior
    from neuraltrees.nn import GraphHead as GraphHead
    from neuraltrees.nn import Head as Head
    from neuraltrees.nn import NeuralTree as NeuralTree
    from neuraltrees.nn import Plan as Plan
    from neuraltrees.nn import PottsPosterior as PottsPosterior
    from neuraltrees.nn import Schedule as Schedule
    from neuraltrees.nn import Strengths as Strengths
    from neuraltrees.objectives import Classification as Classification
    from neuraltrees.objectives import Metric as Metric
    from neuraltrees.objectives import MultiLabel as MultiLabel
    from neuraltrees.objectives import Objective as Objective
    from neuraltrees.objectives import Regression as Regression
    from neuraltrees.objectives import register_objective as register_objective
    from neuraltrees.plots.drawing import draw as draw
    from neuraltrees.serving import Predictor as Predictor
    from neuraltrees.training import Bundle as Bundle
    from neuraltrees.training import NetworkSpec as NetworkSpec
    from neuraltrees.training import Run as Run
    from neuraltrees.training import Trainer as Trainer
    from neuraltrees.training import TrainingSpec as TrainingSpec
    from neuraltrees.training import fit as fit
    from neuraltrees.tuning.grid import Grid as Grid
    from neuraltrees.tuning.tune import tune as tune

# torch and matplotlib take a second or more to import; names that need them are loaded when first used, so that
# `neuraltrees --help` and a plain decomposition answer at once.
_LAZY = {
    "BayesianNetwork": "neuraltrees.inference",
    "Bundle": "neuraltrees.training",
    "BagOptions": "neuraltrees.nn",
    "BagRounds": "neuraltrees.nn",
    "Categories": "neuraltrees.nn",
    "CitationNetwork": "neuraltrees.datasets",
    "Classification": "neuraltrees.objectives",
    "Convolution": "neuraltrees.nn",
    "GNN": "neuraltrees.nn",
    "CRFHead": "neuraltrees.nn",
    "CRFPosterior": "neuraltrees.nn",
    "GraphHead": "neuraltrees.nn",
    "HTree": "neuraltrees.htree",
    "HTreeData": "neuraltrees.data",
    "Head": "neuraltrees.nn",
    "JunctionTree": "neuraltrees.inference",
    "MLP": "neuraltrees.nn",
    "MarkovNetwork": "neuraltrees.inference",
    "Metric": "neuraltrees.objectives",
    "MoleculesFromSmiles": "neuraltrees.datasets",
    "MultiLabel": "neuraltrees.objectives",
    "NetworkSpec": "neuraltrees.training",
    "NeuralTree": "neuraltrees.nn",
    "Objective": "neuraltrees.objectives",
    "Plan": "neuraltrees.nn",
    "PottsPosterior": "neuraltrees.nn",
    "Predictor": "neuraltrees.serving",
    "Regression": "neuraltrees.objectives",
    "Run": "neuraltrees.training",
    "Scaling": "neuraltrees.data.scaling",
    "SceneGeometry": "neuraltrees.data",
    "Schedule": "neuraltrees.nn",
    "Split": "neuraltrees.data.splits",
    "StanfordSceneGraphs": "neuraltrees.datasets",
    "Strengths": "neuraltrees.nn",
    "SyntheticBuildings": "neuraltrees.datasets",
    "SyntheticScenes": "neuraltrees.datasets",
    "Task": "neuraltrees.data.task",
    "ToHTree": "neuraltrees.data",
    "Trainer": "neuraltrees.training",
    "TrainingSpec": "neuraltrees.training",
    "attach_htree": "neuraltrees.data",
    "attach_htrees": "neuraltrees.data",
    "build_htree": "neuraltrees.htree",
    "citation_split": "neuraltrees.data.splits",
    "cross_fit": "neuraltrees.data.folds",
    "draw": "neuraltrees.plots.drawing",
    "fit": "neuraltrees.training",
    "largest_treewidth_bound": "neuraltrees.htree",
    "CRF": "neuraltrees.inference",
    "Forest": "neuraltrees.inference",
    "Grid": "neuraltrees.tuning.grid",
    "infer": "neuraltrees.inference",
    "tune": "neuraltrees.tuning.tune",
    "load_htree": "neuraltrees.htree",
    "load_task": "neuraltrees.datasets",
    "random_graph_split": "neuraltrees.data.splits",
    "random_node_split": "neuraltrees.data.splits",
    "read_bif": "neuraltrees.inference",
    "read_uai": "neuraltrees.inference",
    "register_dataset": "neuraltrees.datasets",
    "register_objective": "neuraltrees.objectives",
    "save_htree": "neuraltrees.htree",
}

__all__ = [
    "ApproximationError",
    "BagCodes",
    "BagKind",
    "BlockCutTree",
    "BoundedTreewidthSample",
    "DivergedError",
    "DivergenceWarning",
    "Graph",
    "InputError",
    "InvalidDecompositionError",
    "InvalidHTreeError",
    "ModelTooLargeError",
    "NamedGraph",
    "NativeCoreError",
    "MissingExtraError",
    "NeuralTreesError",
    "NeuralTreesWarning",
    "ParseError",
    "SPQRTree",
    "TreeDecomposition",
    "TreeTooLargeError",
    "ZeroProbabilityError",
    "bag_codes",
    "block_cut_tree",
    "decompose",
    "moralize",
    "read_graph",
    "sample_bounded_treewidth",
    "spqr_tree",
    "__version__",
    *_LAZY,
]
__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
