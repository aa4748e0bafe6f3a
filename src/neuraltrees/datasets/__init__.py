"""Datasets: a registry of names, the data of the paper, generated scenes, and their splits."""

from typing import TYPE_CHECKING

import neuraltrees.datasets.builtin as _builtin  # noqa: F401  registers the built-in datasets
from neuraltrees.datasets.registry import dataset_names as dataset_names
from neuraltrees.datasets.registry import load_task as load_task
from neuraltrees.datasets.registry import register_dataset as register_dataset
from neuraltrees.datasets.spec import DataSpec as DataSpec
from neuraltrees.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from neuraltrees.data.folds import fold_split as fold_split
    from neuraltrees.data.splits import Split as Split
    from neuraltrees.data.splits import citation_split as citation_split
    from neuraltrees.data.splits import random_graph_split as random_graph_split
    from neuraltrees.data.splits import random_node_split as random_node_split
    from neuraltrees.datasets.buildings import SyntheticBuildings as SyntheticBuildings
    from neuraltrees.datasets.citation import CitationNetwork as CitationNetwork
    from neuraltrees.datasets.expressivity import GraphPair as GraphPair
    from neuraltrees.datasets.expressivity import brec as brec
    from neuraltrees.datasets.expressivity import sr25 as sr25
    from neuraltrees.datasets.root import find_data_root as find_data_root
    from neuraltrees.datasets.smiles import MoleculesFromSmiles as MoleculesFromSmiles
    from neuraltrees.datasets.stanford import StanfordSceneGraphs as StanfordSceneGraphs
    from neuraltrees.datasets.synthetic import SyntheticScenes as SyntheticScenes

# Importing this package does not import torch, so that `--help` is quick.
_LAZY = {
    "CitationNetwork": "neuraltrees.datasets.citation",
    "GraphPair": "neuraltrees.datasets.expressivity",
    "MoleculesFromSmiles": "neuraltrees.datasets.smiles",
    "Split": "neuraltrees.data.splits",
    "StanfordSceneGraphs": "neuraltrees.datasets.stanford",
    "SyntheticBuildings": "neuraltrees.datasets.buildings",
    "SyntheticScenes": "neuraltrees.datasets.synthetic",
    "brec": "neuraltrees.datasets.expressivity",
    "citation_split": "neuraltrees.data.splits",
    "find_data_root": "neuraltrees.datasets.root",
    "fold_split": "neuraltrees.data.folds",
    "random_graph_split": "neuraltrees.data.splits",
    "random_node_split": "neuraltrees.data.splits",
    "sr25": "neuraltrees.datasets.expressivity",
}

__all__ = ["DataSpec", "dataset_names", "load_task", "register_dataset", *_LAZY]
__getattr__, __dir__ = _lazy_names(__name__, _LAZY)
