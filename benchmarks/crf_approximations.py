"""Errors of the approximations of a conditional random field, against exact marginals.

    python benchmarks/crf_approximations.py    # scene graphs need NEURALTREES_DATA

Generated scenes: 200 scenes of coupling 3 with the potentials that generated them, no label known. Scene graphs: the
potentials of a CRF head trained on 70 % of the labels, which are known, on those graphs whose unknown nodes have a
treewidth of at most 3. Per option: mean and largest total variation distance between approximate and exact marginals of
an unknown node, and the share of unknown nodes whose most probable label changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

import neuraltrees as nt
from neuraltrees.data.splits import random_node_split
from neuraltrees.datasets.scene_labels import SceneLabels
from neuraltrees.inference.crf import FactorTables, Limits, Solver, Structure, Tables
from neuraltrees.nn.head.crf import CRFHead
from neuraltrees.training.batches import feature_columns, joined_graphs

WIDEST = 3  # treewidth up to which scene graphs have exact answers in memory: 35^4 entries


@dataclass(frozen=True)
class Case:
    """Potentials of some graphs with known labels, -1 elsewhere."""

    name: str
    structure: Structure
    unary: Tensor
    tables: Tables
    known: Tensor

    def marginals(self, limits: Limits) -> Tensor:
        """Of the unknown nodes."""
        solver = Solver(self.structure, limits)
        return solver.marginals(self.unary, self.tables, solver.given(self.known))[0, self.known < 0]


def options() -> Iterator[tuple[str, Limits]]:
    for states in (2, 4, 8, 16):
        yield f"`states={states}`", Limits(states=states)
    for width in (1, 2, 3):
        yield f"`max_treewidth={width}`", Limits(max_treewidth=width)
    for width, samples in ((1, 4), (1, 16), (2, 4), (2, 16)):
        yield f"`max_treewidth={width}, samples={samples}`", Limits(max_treewidth=width, samples=samples)


def generated(count: int = 200, coupling: float = 3.0) -> Case:
    scenes = nt.SyntheticScenes(count, coupling=coupling)
    batch = Batch.from_data_list(list(scenes))
    labels = SceneLabels.of(scenes.model, batch.edge_index, batch.node_type, batch.batch)
    unary, pairwise = labels.potentials(scenes.model.log_likelihood(batch.x, batch.node_type))
    graph = nt.Graph.from_data(batch)
    counts = np.array([len(names) for names in scenes.labels.values()])[batch.node_type.numpy()]
    unary = unary.masked_fill(torch.arange(unary.shape[1]) >= torch.from_numpy(counts).unsqueeze(1), -torch.inf)
    first, _ = graph._upper_edges()
    index = batch.node_type.numpy()[first][:, None]
    structure = Structure.of(graph, counts, batch.batch.numpy(), len(scenes), index, 2)
    known = torch.full((len(counts),), -1)
    tables = (FactorTables(pairwise.unsqueeze(0), structure.index),)
    return Case(f"{count} generated scenes, no label known", structure, unary.unsqueeze(0), tables, known)


def scene_graphs() -> Case:
    data = nt.StanfordSceneGraphs()
    split = random_node_split(len(data.y), 0.7, seed=0)
    given = torch.where(split.train, data.y, -1)
    task = nt.Task(list(data), data.labels).scaled(logarithm=(3, 4, 5), squares=True)
    spec = nt.NetworkSpec(model="none", head="crf", dropout=0.0, crf_learning="pseudo")
    training = nt.TrainingSpec(epochs=100, lr=0.05, weight_decay=1e-3, batches=1, evaluate_every=50, every_class=False)
    network = nt.fit(task, spec, training, [nt.Run(0, split)]).network.eval()
    head, like = network.head, next(network.parameters())
    assert isinstance(head, CRFHead)
    sizes = [graph.num_nodes for graph in task.graphs]
    narrow = [_width(*each) <= WIDEST for each in zip(task.graphs, given.split(sizes), strict=True)]
    graphs = [graph for graph, kept in zip(task.graphs, narrow, strict=True) if kept]
    known = torch.cat([part for part, kept in zip(given.split(sizes), narrow, strict=True) if kept])
    joined = joined_graphs(graphs, task.types)
    field = head.field(joined)
    with torch.no_grad():
        states = network.states(feature_columns(graphs, like), network.bare_plan(joined))[0]
        unary, tables = head.potentials(states, field)
    name = f"{len(graphs)} of 482 scene graphs, 70 % of the labels known"
    return Case(name, field.solver.structure, unary.detach(), tables, known)


def _width(graph: Data, known: Tensor) -> int:
    """The treewidth of the subgraph of the unknown nodes, as found by a decomposition."""
    place = torch.full_like(known, -1)
    free = (known < 0).nonzero().flatten()
    place[free] = torch.arange(len(free))
    ends = place[graph.edge_index]
    return nt.decompose(nt.Graph(ends[:, (ends >= 0).all(0)], num_nodes=len(free))).width if len(free) else 0


@torch.no_grad()
def measure(case: Case) -> None:
    exact = case.marginals(Limits())
    print(f"{case.name}: {len(exact)} unknown nodes")
    print("| option | mean distance | largest distance | labels that change |\n| --- | --- | --- | --- |")
    for name, limits in options():
        found = case.marginals(limits)
        distance = (found - exact).abs().sum(1) / 2
        changed = (found.argmax(1) != exact.argmax(1)).double().mean()
        print(f"| {name} | {float(distance.mean()):.4f} | {float(distance.max()):.3f} | {100 * float(changed):.1f} % |")


if __name__ == "__main__":
    torch.set_num_threads(1)
    measure(generated())
    if os.environ.get("NEURALTREES_DATA"):
        measure(scene_graphs())
    else:
        print("scene graphs: not measured, since NEURALTREES_DATA is not set")
