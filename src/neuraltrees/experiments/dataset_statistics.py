"""Sizes of the datasets: nodes, edges, classes; treewidths and H-tree diameters of the scene graphs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from neuraltrees.datasets import CitationNetwork, StanfordSceneGraphs
from neuraltrees.decomposition import decompose
from neuraltrees.experiments.cells import Tell, machine
from neuraltrees.experiments.experiment import Experiment, Results, Scale
from neuraltrees.files import write_whole
from neuraltrees.graph import Graph
from neuraltrees.htree import build_htree
from neuraltrees.plots.style import panels, save

PRINTED = {"PubMed": (19717, 44338, 3), "CiteSeer": (3327, 4732, 6), "Cora": (2708, 5429, 7)}


def measure(scale: Scale, path: Path, tell: Tell) -> Results:
    """Counts everything anew: it takes seconds."""
    networks = {}
    for name in PRINTED:
        data = CitationNetwork(name, scale.data_root)[0]
        graph = Graph.from_data(data)
        networks[name] = {
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "classes": int(data.y.max()) + 1,
            "features": int(data.num_features),
        }
    scenes = [Graph.from_data(scene) for scene in StanfordSceneGraphs(scale.data_root)]
    tell(f"{len(scenes)} scene graphs and {len(networks)} citation networks")
    results: Results = {
        "experiment": "dataset-statistics",
        "networks": networks,
        "scenes": {"nodes": [g.num_nodes for g in scenes], "edges": [g.num_edges for g in scenes]},
        "treewidths": [decompose(graph, "exact").width for graph in scenes],
        "diameters": [build_htree(graph).diameter() for graph in scenes],
        **machine("cpu"),
    }
    write_whole(path, json.dumps(results, indent=1).encode())
    return results


def show(results: Results, folder: Path) -> list[str]:
    figure, axes = panels(2)
    titles = {"treewidths": "treewidth of a scene graph (exact)", "diameters": "diameter of its H-tree"}
    for each, (name, title) in zip(axes, titles.items(), strict=True):
        counts: Counter[int] = Counter(results[name])
        each.bar(list(counts), list(counts.values()), color="0.5")
        each.set_xlabel(title)
        each.set_ylabel("scene graphs")
    save(figure, folder, "dataset-statistics")
    lines = [
        "| data | nodes (paper) | undirected edges (paper) | classes (paper) | features |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, sizes in results["networks"].items():
        pairs = zip((sizes["nodes"], sizes["edges"], sizes["classes"]), PRINTED[name], strict=True)
        row = " | ".join(f"{ours:,} ({printed:,})" for ours, printed in pairs)
        lines.append(f"| {name} | {row} | {sizes['features']:,} |")
    scenes, widths, diameters = results["scenes"], results["treewidths"], results["diameters"]
    count = len(widths)
    lines.append(f"| {count} scene graphs | {sum(scenes['nodes']):,} | {sum(scenes['edges']):,} | 15 + 35 | 6 |")
    facts = f"Scene graphs: treewidth {min(widths)} to {max(widths)}, mean {sum(widths) / count:.2f}; "
    return [
        *lines,
        "",
        f"{facts}H-tree diameter {min(diameters)} to {max(diameters)}, mean {sum(diameters) / count:.2f}.",
    ]


EXPERIMENT = Experiment("dataset-statistics", "sizes of all datasets, treewidths and diameters", measure, show)
