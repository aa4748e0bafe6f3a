"""Loaders of the built-in datasets: options → task."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from neuraltrees.data.splits import Split, citation_split, random_graph_split, random_node_split
from neuraltrees.data.task import Task
from neuraltrees.datasets.buildings import SyntheticBuildings
from neuraltrees.datasets.citation import CitationNetwork
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.datasets.stanford import StanfordSceneGraphs
from neuraltrees.datasets.synthetic import SyntheticScenes
from neuraltrees.objectives import Classification

SIZES = (3, 4, 5)  # the columns of a scene graph's features that hold the size of the bounding box


def load_citation(spec: DataSpec) -> Task:
    """Cora, CiteSeer or PubMed: classify papers by their field."""
    (graph,) = CitationNetwork(spec.dataset, spec.data_root)
    names = tuple(f"class {label}" for label in range(int(graph.y.max()) + 1))
    splitter = partial(_citation_split, graph.y, spec.train_per_class)
    return Task([graph], Classification({"paper": names}), spec.max_treewidth, spec.seed, splitter=splitter)


def load_stanford(spec: DataSpec) -> Task:
    """The scene graphs of the paper; nodes are split at random."""
    scenes = StanfordSceneGraphs(spec.data_root, spec.edges)
    splitter = partial(_node_split, len(scenes.y), spec.train_share)
    return _scenes(Task(list(scenes), scenes.labels, spec.max_treewidth, spec.seed, splitter=splitter), spec)


def load_synthetic(spec: DataSpec) -> Task:
    """Generated scenes; whole scenes are split at random."""
    scenes = SyntheticScenes(spec.scenes, spec.coupling, spec.seed)
    sizes = [scene.num_nodes for scene in scenes]
    splitter = partial(_graph_split, sizes, spec.train_share)
    return _scenes(Task(list(scenes), scenes.labels, spec.max_treewidth, spec.seed, splitter=splitter), spec)


def load_buildings(spec: DataSpec) -> Task:
    """Generated buildings of several rooms; whole buildings are split at random."""
    buildings = SyntheticBuildings(spec.scenes, spec.coupling, seed=spec.seed)
    splitter = partial(_graph_split, [building.num_nodes for building in buildings], spec.train_share)
    return _scenes(Task(list(buildings), buildings.labels, spec.max_treewidth, spec.seed, splitter=splitter), spec)


def _scenes(task: Task, spec: DataSpec) -> Task:
    if spec.geometry:  # which takes logarithms itself
        return task.scaled(squares=spec.squares, geometry=True)
    if not (spec.log_sizes or spec.standardise or spec.squares):
        return task
    return task.scaled(SIZES if spec.log_sizes else (), spec.standardise, spec.squares)


def _citation_split(y: Tensor, per_class: int | None, seed: int) -> Split:
    return citation_split(y, per_class, seed=seed)


def _node_split(nodes: int, share: float, seed: int) -> Split:
    return random_node_split(nodes, share, seed=seed)


def _graph_split(sizes: list[int], share: float, seed: int) -> Split:
    return random_graph_split(sizes, share, seed=seed)
