"""Benchmarks typed H-trees of scenes against a NetworkX construction with copies, and a tracker against rebuilding.

.venv/bin/python benchmarks/scenes.py
.venv/bin/python benchmarks/scenes.py --only trees --layouts corridor grid
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import HeteroData

from neuraltrees.scenes import (
    Scene,
    SceneNode,
    SceneTracker,
    TypedGraph,
    TypedTree,
    read_scene,
    typed_graph,
    typed_tree,
)

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.oracle.htree import build_htree, networkx_junction_tree
from tests.scenes.scenes import building

LAYOUTS = ("corridor", "path", "grid", "hall")
TIMES_FASTER, MOST_NODES, TRACKER_FASTER = 1000, 5.0, 5.0
console = Console(width=150)


def seconds(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of several runs."""
    found = []
    gc.collect()
    gc.disable()
    for _ in range(repeats):
        start = clock()
        result = work()
        found.append(clock() - start)
        del result
    gc.enable()
    return min(found)


def tree_with_copies(graph: TypedGraph, in_place: bool = False) -> nx.Graph:
    """An H-tree of the rooms; the tree of each room's objects is copied under every root bag that holds the room.

    The room is a member of all bags of its objects, with a leaf wherever they have leaves.

    Args:
        graph: the typed graph.
        in_place: whether the tree grows in place; NetworkX's own union makes a new tree every time.
    """
    plain = graph.graph.to_networkx()
    kind = [graph.types[i] for i in graph.node_type]
    whole: nx.Graph = nx.Graph()
    for component in nx.connected_components(plain):
        rooms = [v for v in sorted(component) if kind[v] == "room"]
        tree = build_htree(plain.subgraph(rooms), networkx_junction_tree)
        for room in rooms:
            objects = [v for v in plain[room] if kind[v] == "object"]
            for part in nx.connected_components(plain.subgraph(objects)):
                below = build_htree(plain.subgraph(part), networkx_junction_tree)
                roots = [v for v, level in below.nodes(data="level") if level == 0]
                below.remove_edges_from(list(below.subgraph(roots).edges))
                with_leaves = {next(iter(below[v])) for v, kappa in below.nodes(data="kappa") if kappa is not None}
                for v in list(below):
                    if below.nodes[v]["kappa"] is None:
                        below.nodes[v]["bag"] = below.nodes[v]["bag"] | {room}
                for v in with_leaves:
                    leaf = below.number_of_nodes()
                    below.add_node(leaf, bag=frozenset([room]), kappa=room, level=None, parent=v)
                    below.add_edge(leaf, v)
                holders = [v for v, data in tree.nodes(data=True) if data["level"] == 0 and room in data["bag"]]
                for holder in holders:
                    first = tree.number_of_nodes()
                    if in_place:
                        tree.add_nodes_from((first + v, dict(data)) for v, data in below.nodes(data=True))
                        tree.add_edges_from((first + a, first + b) for a, b in below.edges)
                    else:
                        tree = nx.disjoint_union(tree, below)
                    nx.set_node_attributes(tree, {first + v: 1 for v in roots}, "level")
                    tree.add_edges_from((holder, first + v) for v in roots)
        whole = nx.disjoint_union(whole, tree)
    return whole


def tensors_of(tree: nx.Graph, graph: TypedGraph) -> HeteroData:
    """Features and edges by type, node by node: leaves have position and size, bags the mean position and zeros."""
    kind = [graph.types[i] for i in graph.node_type]
    features: dict[str, list[torch.Tensor]] = {}
    place = {}
    for v, data in tree.nodes(data=True):
        types = "-".join(sorted({kind[u] for u in data["bag"]})) + ("" if data["kappa"] is None else " leaf")
        position = torch.tensor(np.mean([graph.positions[u] for u in data["bag"]], axis=0), dtype=torch.float32)
        size = (
            torch.zeros(3) if data["kappa"] is None else torch.tensor(graph.sizes[data["kappa"]], dtype=torch.float32)
        )
        place[v] = (types, len(features.setdefault(types, [])))
        features[types].append(torch.cat([position, size]))
    edges: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for a, b in tree.to_directed().edges:
        edges.setdefault((place[a][0], "to", place[b][0]), []).append((place[a][1], place[b][1]))
    found = HeteroData()
    for types, rows in features.items():
        found[types].x = torch.stack(rows)
    for key, pairs in edges.items():
        found[key].edge_index = torch.tensor(pairs).T.contiguous()
    return found


def trees(layouts: list[str]) -> list[tuple[str, ...]]:
    rows = []
    for layout in layouts:
        scene = building(layout)
        graph = typed_graph(scene)
        ours = seconds(lambda scene=scene: typed_tree(scene), 100)
        tree = typed_tree(scene)
        tree.htree.validate(graph.graph)
        rival_tree = tree_with_copies(graph)
        repeats = 1 if rival_tree.number_of_nodes() > 10_000 else 2
        rival = seconds(lambda graph=graph: tensors_of(tree_with_copies(graph), graph), repeats)
        quick = seconds(lambda graph=graph: tensors_of(tree_with_copies(graph, True), graph), repeats)
        per_node, rival_per_node = tree.htree.num_nodes / graph.num_nodes, len(rival_tree) / graph.num_nodes
        ratio = rival / ours
        bar = f"≥ {TIMES_FASTER:,} ×" + (f", ≤ {MOST_NODES:g}" if layout != "hall" else "")
        met = ratio >= TIMES_FASTER and (layout == "hall" or per_node <= MOST_NODES)
        rows.append(
            (
                f"{layout}, {graph.num_nodes} nodes: scene → typed tree → tensors ({ours * 1e3:.2f} ms), against "
                f"NetworkX from the graph on ({rival:.2f} s)",
                f"{ratio:,.0f} ×, {per_node:.2f} tree nodes per node for {rival_per_node:.1f}",
                bar,
                "yes" if met else "NO",
            )
        )
        rows.append(
            (f"the same, against a rival whose tree grows in place ({quick:.2f} s)", f"{quick / ours:,.0f} ×", "–", "–")
        )
    return rows


def tracker(rooms: int = 500, repeats: int = 30) -> list[tuple[str, ...]]:
    scene = building("grid", rooms=rooms)
    tracked = SceneTracker(scene)
    assert tracked.tree == typed_tree(scene)
    random = np.random.default_rng(0)
    nodes = {node.id: node for node in scene.nodes}

    def move() -> TypedTree:
        """One object of one room moves by some centimetres."""
        node = nodes[f"object {random.integers(rooms)}.{random.integers(15)}"]
        position = np.add(node.position, random.uniform(-0.05, 0.05, 3))
        tracked.update([SceneNode(node.id, node.type, node.name, node.label, position, node.size)])
        return tracked.tree

    def moved() -> float:
        before = tracked.tree  # freed after the clock has stopped, as in `seconds`
        found = seconds(move, 1, time.process_time)
        del before
        return found

    # Moves differ, so that the median counts; of processor time, as one run of some milliseconds is easily interrupted.
    both = [(seconds(lambda: typed_tree(scene), 1, time.process_time), moved()) for _ in range(repeats)]
    rebuild, update = np.median(both, axis=0).tolist()
    assert tracked.tree == typed_tree(tracked.scene)
    return [
        (
            f"{rooms} rooms × 15 objects, one object moved: update and tree (median {update * 1e3:.1f} ms), against a "
            f"rebuild ({rebuild * 1e3:.1f} ms)",
            f"{rebuild / update:.1f} ×",
            f"≥ {TRACKER_FASTER:g} ×",
            "yes" if rebuild / update >= TRACKER_FASTER else "NO",
        )
    ]


def files(data: Path) -> list[tuple[str, ...]]:
    rows = []
    for path in sorted((data / "dsg").glob("*/*.json")):
        scene: Scene = read_scene(path)
        reading, building_tree = (
            seconds(lambda path=path: read_scene(path), 5),
            seconds(lambda s=scene: typed_tree(s), 20),
        )
        what = f"{path.name}: {scene.num_nodes} nodes, typed graph of {typed_graph(scene).num_nodes}"
        rows.append((what, f"read {reading * 1e3:.1f} ms, tree {building_tree * 1e3:.2f} ms", "–", "–"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=("trees", "tracker", "files"), default=["trees", "tracker"])
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--data-root", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("what", "measured", "bar", "met")
    rows = trees(options.layouts) if "trees" in options.only else []
    rows += tracker() if "tracker" in options.only else []
    rows += files(options.data_root) if "files" in options.only and options.data_root else []
    for row in rows:
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
