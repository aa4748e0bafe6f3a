"""Running times of our operations on this machine, each next to that of a rival, on generated data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import networkx as nx
from torch import Tensor

from neuraltrees.data.task import Task
from neuraltrees.datasets import SyntheticScenes, random_graph_split
from neuraltrees.decomposition import sample_bounded_treewidth
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.inference import JunctionTree, random_markov_network
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.trainer import Trainer
from neuraltrees.training.training_spec import TrainingSpec

SCENES, NODES, RUNS, POTENTIALS = 150, 10_000, 8, 200


@dataclass(frozen=True)
class Comparison:
    """Seconds of one of our operations and of its rival."""

    what: str
    rival: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def measure(seed: int = 0) -> Iterator[Comparison]:
    """Yields one comparison after another; our times are the shortest of several, slow rivals run once."""
    scenes = SyntheticScenes(SCENES, seed=seed)
    graphs = [Graph.from_data(scene) for scene in scenes]
    plain = [graph.to_networkx() for graph in graphs]
    yield Comparison(
        f"H-trees of {SCENES} generated scenes",
        "NetworkX, only their junction trees",
        _best(partial(build_htree, Graph.union(graphs))),
        _seconds(lambda: [nx.junction_tree(graph) for graph in plain]),
    )
    sparse = nx.gnm_random_graph(NODES, 3 * NODES, seed=seed)
    large = Graph.from_networkx(sparse)
    yield Comparison(
        f"a sample of treewidth 4 and its H-tree, {NODES:,} nodes",
        "NetworkX, a maximum spanning tree",
        _best(lambda: build_htree(*sample_bounded_treewidth(large, 4, seed, sampler="paper"))),
        _seconds(lambda: nx.maximum_spanning_tree(sparse)),
    )
    task = Task(list(scenes), scenes.labels).scaled((3, 4, 5)).with_trees()
    sizes = [graph.num_nodes for graph in graphs]
    runs = [Run(seed + i, random_graph_split(sizes, seed=seed + i)) for i in range(RUNS)]
    network, training = NetworkSpec(hidden=64), TrainingSpec(epochs=10_000, batches=4, every_class=False)
    together = Trainer(task, network, training, runs)
    alone = [Trainer(task, network, training, [run]) for run in runs]
    for each in (together, *alone):
        each.run_epoch(0)
    yield Comparison(
        f"an epoch of {RUNS} neural trees at once",
        "one after another",
        _best(partial(together.run_epoch, 1)),
        sum(_best(partial(each.run_epoch, 1)) for each in alone),
    )
    model = random_markov_network(max(graphs, key=lambda graph: graph.num_nodes), 4, batch=POTENTIALS, seed=seed)
    tree = JunctionTree.of(model)
    yield Comparison(
        f"exact marginals for {POTENTIALS} potentials in a batch",
        "one by one",
        _best(partial(tree.run, model.log_potentials)),
        _seconds(lambda: [tree.run(_one(model.log_potentials, i)) for i in range(POTENTIALS)]),
    )


def _one(tables: tuple[Tensor, ...], number: int) -> list[Tensor]:
    return [table[number] for table in tables]


def _seconds(operation: Callable[[], object]) -> float:
    start = time.perf_counter()
    operation()
    return time.perf_counter() - start


def _best(operation: Callable[[], object]) -> float:
    """The shortest time of at least three repetitions, repeated until they take a third of a second together."""
    times = [_seconds(operation) for _ in range(3)]
    while sum(times) < 1 / 3:
        times.append(_seconds(operation))
    return min(times)
