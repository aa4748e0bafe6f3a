"""Registers the built-in datasets, in the same way as any other dataset."""

from __future__ import annotations

from typing import Any

from neuraltrees.datasets.registry import graph_preset, register_dataset

# Hidden size, rounds, weight decay (L2) and learning rate, as tuned in the paper for scene graphs.
_SCENE_GRAPHS: dict[tuple[str, str], tuple[int, int, float, float]] = {
    ("gnn", "gcn"): (64, 3, 0.0, 0.01),
    ("gnn", "sage"): (128, 3, 1e-3, 0.005),
    ("gnn", "gat"): (128, 2, 1e-4, 0.001),
    ("gnn", "gin"): (64, 3, 1e-3, 0.005),
    ("neural-tree", "gcn"): (128, 4, 0.0, 0.01),
    ("neural-tree", "sage"): (128, 4, 1e-3, 0.005),
    ("neural-tree", "gat"): (128, 4, 1e-4, 0.0005),
    ("neural-tree", "gin"): (128, 4, 1e-3, 0.005),
}


def citation_preset(model: str, conv: str) -> dict[str, Any]:
    """The hyper-parameters of the GCN and GAT papers, except for neural trees: their bags start with the mean of their
    nodes' features, which `citation-start` compares with the zero of the paper, and with GCN they learn at the rate and
    weight decay of the best validation accuracy there. At a rate of 0.01, 200 epochs are too few for them.

    >>> citation_preset("gnn", "gat")["heads"], citation_preset("neural-tree", "gcn")["bag_start"]
    (8, 'mean')
    """
    common: dict[str, Any] = {
        "layers": 2,
        "readout": False,
        "batches": 1,
        "epochs": 200,
        "weight_decay": 5e-4,
        "max_treewidth": 4,
    }
    attention = {"hidden": 8, "heads": 8, "dropout": 0.6, "lr": 0.005}
    found = common | (attention if conv == "gat" else {"hidden": 16, "dropout": 0.5, "lr": 0.01})
    if model == "neural-tree":
        found |= {"bag_start": "mean"} | ({"lr": 0.05, "weight_decay": 5e-5} if conv == "gcn" else {})
    return found


def scene_graph_preset(model: str, conv: str) -> dict[str, Any]:
    """The hyper-parameters of the paper."""
    values = _SCENE_GRAPHS.get((model, conv), (128, 4, 1e-3, 0.005))
    found: dict[str, Any] = dict(zip(("hidden", "layers", "weight_decay", "lr"), values, strict=True))
    found |= {"epochs": 1000, "every_class": False}  # some labels are too rare to be in every training set
    if conv == "gin":
        found["divisions"] = 8  # with fixed batches, its batch normalisation overfits to them
    return found


def generated_preset(model: str, conv: str) -> dict[str, Any]:
    """As for scene graphs, with fewer epochs and standardised features."""
    return scene_graph_preset(model, conv) | {"epochs": 200, "standardise": True, "log_sizes": True}


def scenes_preset(model: str, conv: str) -> dict[str, Any]:
    """The hyper-parameters of networks on typed H-trees of scenes.

    >>> scenes_preset("neural-tree", "sage")["schedule"]
    'typed'
    """
    found: dict[str, Any] = {"hidden": 64, "layers": 3, "dropout": 0.25, "residual": True, "layer_norm": True}
    found |= {"epochs": 100, "lr": 0.004, "weight_decay": 1e-4, "warmup": 3, "cosine": True, "every_class": False}
    found |= {"evaluate_every": 5, "crf_states": 8}
    return found | ({"schedule": "typed"} if model == "neural-tree" else {})


LOADERS = "neuraltrees.datasets.loaders"
register_dataset("synthetic", f"{LOADERS}:load_synthetic", "generated scenes with a known posterior", generated_preset)
register_dataset("stanford3dsg", f"{LOADERS}:load_stanford", "482 scene graphs of the paper", scene_graph_preset)
for _name in ("cora", "citeseer", "pubmed"):
    register_dataset(_name, f"{LOADERS}:load_citation", "a citation network", citation_preset)
MOLECULES = "neuraltrees.datasets.molecules"
register_dataset("zinc", f"{MOLECULES}:load_zinc", "ZINC-12k, solubility of molecules", graph_preset(60, 80))
register_dataset("peptides-func", f"{MOLECULES}:load_peptides", "functions of peptides", graph_preset(20, 160, "mean"))
for _name, _preset in {
    "esol": graph_preset(60, 12),
    "freesolv": graph_preset(60, 8),
    "bace": graph_preset(40, 16, "mean"),
    "tox21": graph_preset(25, 64, "mean"),
    "hiv": graph_preset(10, 256, "mean"),
}.items():
    register_dataset(_name, f"{MOLECULES}:load_moleculenet", "molecules of MoleculeNet", _preset)
register_dataset("tu", "neuraltrees.datasets.tu:load_tu", "graphs of TUDataset", graph_preset(60, 16), members="NAME")
for _name in ("csl", "exp"):
    register_dataset(
        _name, "neuraltrees.datasets.expressivity:load_expressivity", "graphs hard to tell apart", graph_preset(100, 16)
    )
register_dataset("buildings", f"{LOADERS}:load_buildings", "generated buildings of several rooms", generated_preset)
register_dataset(
    "scenes", "neuraltrees.scenes.loading:load_scenes", "scene graphs of robots", scenes_preset, members="FOLDER"
)
