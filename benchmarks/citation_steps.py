"""A step on the H-trees of PubMed against a GCN on the graph; part of training.py."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from benchmarks.bars import Row
from benchmarks.straightforward import GCN, full_batch_step
from benchmarks.turns import epochs_of, interleaved
from neuraltrees.data import HTreeData
from neuraltrees.data.transform import attach_htree
from neuraltrees.datasets import CitationNetwork, citation_split
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.training import NetworkSpec, Run, Task, Trainer, TrainingSpec

NETWORK = NetworkSpec(conv="gcn", hidden=16, layers=2, dropout=0.5, readout=False)
ADAM = {"lr": 0.01, "weight_decay": 5e-4}
TREEWIDTHS = (1, 2, 4, 6)
TRAINING = TrainingSpec(every_class=False, epochs=1000, lr=0.005, weight_decay=1e-3, batches=16)


def normalised_adjacency(graph: Data) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 as a sparse CSR tensor, which PyG also accepts as edges."""
    edges, weight = gcn_norm(graph.edge_index, num_nodes=graph.num_nodes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sparse CSR is in beta
        return torch.sparse_coo_tensor(edges.flip(0), weight, (graph.num_nodes,) * 2).coalesce().to_sparse_csr()


def citation(data_root: Path) -> list[Row]:
    torch.set_num_threads(1)
    graph = CitationNetwork("PubMed", data_root)[0]
    split, classes = citation_split(graph.y, None), int(graph.y.max()) + 1
    train, adjacency = split.train.nonzero().flatten(), normalised_adjacency(graph)
    features = {"sparse": graph.x, "dense": graph.x.to_dense()}
    works: dict[str, Callable[[], None]] = {}

    def rival(name: str, x: Tensor, edges: Tensor, **options: bool) -> None:
        network = GCN(x.shape[1], NETWORK.hidden, classes, NETWORK.dropout, **options)
        works[name] = full_batch_step(network, lambda: network(x, edges), graph.y, train, ADAM)

    def ours(name: str, x: Tensor, data: HTreeData) -> list[int]:
        task = Task([data], [str(label) for label in range(classes)])
        network = NETWORK.build(task)
        plan = network.plan(data)
        ready = x if x.layout == torch.strided else SparseMap.of_features(x)  # as the training engine does
        works[name] = full_batch_step(network, lambda: network(ready, plan), graph.y, train, ADAM)
        return list(plan.rounds.states)

    for kind, x in features.items():
        rival(f"{kind} x", x, graph.edge_index)
        rival(f"{kind} x, cached", x, graph.edge_index, cached=True)
        rival(f"{kind} x, adjacency in rows", x, adjacency, normalize=False)
    sizes, states = [], []
    for k in TREEWIDTHS:
        data = attach_htree(graph, k)
        sizes.append(data.htree.num_nodes)
        states += [ours(f"ours, {kind} x, k={k}", x, data) for kind, x in features.items()][:1]
        task = Task([data], {"class": [str(label) for label in range(classes)]})
        works[f"engine, k={k}"] = epochs_of(Trainer(task, NETWORK, TRAINING, [Run(0, split)]))
    taken = interleaved(works, 30)

    def against(kind: str, other: str, bar: float | None = None) -> Row:
        ratios = [taken[f"ours, {kind} x, k={k}"] / taken[other] for k in TREEWIDTHS]
        what = f"PubMed, k={ks}: a step on the tree, {kind} x, against a GCN on the graph, {other}"
        measured = " ".join(f"{ratio:.2f}" for ratio in ratios) + " ×"
        return Row(what, measured) if bar is None else Row(what, measured, f"≤ {bar} ×", max(ratios) <= bar)

    ks = ",".join(map(str, TREEWIDTHS))
    rows = [against("sparse", "dense x", 1.5), against("dense", "dense x"), against("sparse", "sparse x")]
    for kind, form in product(features, ("cached", "adjacency in rows")):
        rows.append(against(kind, f"{kind} x, {form}"))
    for kind in features:
        rows.append(
            Row(f"the steps on the tree, {kind} x", milliseconds(taken, [f"ours, {kind} x, k={k}" for k in TREEWIDTHS]))
        )
    names = [name for name in works if not name.startswith(("ours", "engine"))]
    rows += [Row(f"the step on the graph, {name}", milliseconds(taken, [name])) for name in names]
    engine = milliseconds(taken, [f"engine, k={k}" for k in TREEWIDTHS])
    return [
        *rows,
        Row("an epoch of the engine, sparse x: the step, then the accuracies of all nodes", engine),
        Row("tree nodes", numbers(sizes)),
        Row("states computed, round 1 + round 2", "  ".join(f"{a:,} + {b:,}" for a, b in states)),
    ]


def numbers(values: Sequence[int]) -> str:
    return " ".join(f"{value:,}" for value in values)


def milliseconds(taken: Mapping[str, float], names: Sequence[str]) -> str:
    return " ".join(f"{taken[name] * 1e3:.1f}" for name in names) + " ms"
