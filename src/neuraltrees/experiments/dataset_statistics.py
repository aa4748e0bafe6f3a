"""Sizes of the datasets: nodes, edges, classes, features; treewidths and H-tree diameters of the scene graphs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from neuraltrees.datasets import CitationNetwork, StanfordSceneGraphs
from neuraltrees.decomposition import decompose
from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.page import Block, Figure, Table
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.plots.style import panels, save_both
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Results, open_store

PRINTED = {"PubMed": (19717, 44338, 3), "CiteSeer": (3327, 4732, 6), "Cora": (2708, 5429, 7)}


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Recomputes all statistics, which takes seconds."""
    with open_store(path, "dataset-statistics") as store:
        for name in PRINTED:
            data = CitationNetwork(name, scale.data_root)[0]
            graph = Graph.from_data(data)
            sizes = {
                "nodes": graph.num_nodes,
                "edges": graph.num_edges,
                "classes": int(data.y.max()) + 1,
                "features": int(data.num_features),
            }
            store.add({"data": name}, sizes | machine("cpu"))
        scenes = [Graph.from_data(scene) for scene in StanfordSceneGraphs(scale.data_root)]
        log(f"{len(scenes)} scene graphs and {len(PRINTED)} citation networks")
        lists = {
            "nodes": [graph.num_nodes for graph in scenes],
            "edges": [graph.num_edges for graph in scenes],
            "treewidths": [decompose(graph, "exact").width for graph in scenes],
            "diameters": [build_htree(graph).diameter() for graph in scenes],
        }
        store.add({"data": "scene graphs"}, lists | machine("cpu"))
    return store.results


def draw(results: Results, folder: Path) -> list[Block]:
    scenes = results.one(data="scene graphs")
    figure, axes = panels(2)
    titles = {"treewidths": "treewidth of a scene graph (exact)", "diameters": "diameter of its H-tree"}
    for each, (name, title) in zip(axes, titles.items(), strict=True):
        counts: Counter[int] = Counter(scenes[name])
        each.bar(list(counts), list(counts.values()), color="0.5")
        each.set_xlabel(title)
        each.set_ylabel("scene graphs")
    save_both(figure, folder, "dataset-statistics")
    rows = []
    for name, printed in PRINTED.items():
        sizes = results.one(data=name)
        pairs = zip((sizes["nodes"], sizes["edges"], sizes["classes"]), printed, strict=True)
        rows.append([name, *(f"{ours:,} ({theirs:,})" for ours, theirs in pairs), f"{sizes['features']:,}"])
    widths, diameters = scenes["treewidths"], scenes["diameters"]
    count = len(widths)
    rows.append(
        [f"{count} scene graphs", f"{sum(scenes['nodes']):,}", f"{sum(scenes['edges']):,}", "15 + 35", "6"],
    )
    return [
        Table(["data", "nodes (paper)", "undirected edges (paper)", "classes (paper)", "features"], rows),
        f"Scene graphs: treewidth {min(widths)} to {max(widths)}, mean {sum(widths) / count:.2f}; "
        f"H-tree diameter {min(diameters)} to {max(diameters)}, mean {sum(diameters) / count:.2f}.",
        Figure(WHAT, "dataset-statistics.svg"),
    ]


WHAT = "sizes of all datasets, treewidths and diameters"
EXPERIMENT = Experiment("dataset-statistics", WHAT, measure, draw, shrinks=False)
