"""From a configuration to the graphs and splits that it names."""

from __future__ import annotations

from dataclasses import dataclass

from neuraltrees.data.splits import citation_split, random_graph_split, random_node_split
from neuraltrees.data.task import Task
from neuraltrees.datasets import CitationNetwork, StanfordSceneGraphs, SyntheticScenes
from neuraltrees.training.config import CITATIONS, TrainConfig
from neuraltrees.training.trainer import Run

SIZES = (3, 4, 5)  # the columns of a scene graph's features that hold the size of the bounding box


@dataclass(frozen=True)
class Problem:
    """A task with the seed and split of each run."""

    task: Task
    runs: list[Run]


def load_problem(config: TrainConfig) -> Problem:
    """Reads or generates the dataset of a configuration and draws the split of every run."""
    seeds = range(config.seed, config.seed + config.runs)
    if config.dataset in CITATIONS:
        network = CitationNetwork(config.dataset, config.data_root)
        count = int(network[0].y.max()) + 1
        names = tuple(f"class {label}" for label in range(count))
        task = Task([network[0]], {"paper": names}, config.max_treewidth, config.seed)
        splits = [citation_split(task.y, config.train_per_class, seed=seed) for seed in seeds]
    elif config.dataset == "stanford3dsg":
        scenes = StanfordSceneGraphs(config.data_root, config.edges)
        task = Task(list(scenes), scenes.labels, config.max_treewidth, config.seed)
        splits = [random_node_split(task.num_nodes, config.train_share, seed=seed) for seed in seeds]
    else:
        generated = SyntheticScenes(config.scenes, config.coupling, config.seed)
        task = Task(list(generated), generated.labels, config.max_treewidth, config.seed)
        sizes = [graph.num_nodes for graph in task.graphs]
        splits = [random_graph_split(sizes, config.train_share, seed=seed) for seed in seeds]
    if config.log_sizes or config.standardise:
        task = task.scaled(SIZES if config.log_sizes else (), config.standardise)
    return Problem(task, [Run(seed, split) for seed, split in zip(seeds, splits, strict=True)])
