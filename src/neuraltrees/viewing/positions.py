"""Where nodes are drawn that have no position."""

from __future__ import annotations

import math

import numpy as np

from neuraltrees.scenes import Scene
from neuraltrees.scenes.scene import Float64


def scene_positions(scene: Scene, centres: Float64) -> tuple[Float64, int]:
    """Where nodes are drawn, and how many have no position of their own.

    A node without a position is drawn beside its neighbours; what has no neighbour with one either, on a spiral beside
    the scene, or in place of it where no node has a position.

    Shapes: centres :math:`(n, 3)` → :math:`(n, 3)`
    """
    found = np.where(np.isnan(scene.positions), centres, scene.positions)
    unknown = np.isnan(found).any(1)
    count = int(unknown.sum())
    if not count:
        return found, 0
    if count == scene.num_nodes:
        return _spread_out(scene), count
    near: dict[int, list[int]] = {}
    for a, b in scene.edges.tolist():
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    known = found[~unknown]
    step = max(0.3, float(np.ptp(known, axis=0).max()) / 40)
    left = np.flatnonzero(unknown).tolist()
    around: dict[int, int] = {}
    while left:
        later = []
        for node in left:
            anchor = next((other for other in near.get(node, ()) if not np.isnan(found[other]).any()), None)
            if anchor is None:
                later.append(node)
                continue
            turn = around[anchor] = around.get(anchor, 0) + 1
            found[node] = found[anchor] + step * _spiral(turn)
        if len(later) == len(left):
            corner = np.array([known[:, 0].max() + 3 * step, known[:, 1].min(), known[:, 2].min()])
            middle = np.sqrt(len(later)) * np.array([1.0, 1.0, 0.0])
            for turn, node in enumerate(later):
                found[node] = corner + step * (middle + _spiral(turn))
            break
        left = later
    return found, count


def _spread_out(scene: Scene) -> Float64:
    """A layout of the graph itself, in metres that mean nothing."""
    if scene.num_nodes > 600:
        return np.array([_spiral(turn) for turn in range(scene.num_nodes)])
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(scene.num_nodes))
    graph.add_edges_from(scene.edges.tolist())
    placed = nx.spring_layout(graph, seed=0, scale=float(np.sqrt(scene.num_nodes)))
    return np.array([(*placed[node], 0.0) for node in range(scene.num_nodes)]).reshape(-1, 3)


def _spiral(turn: int) -> Float64:
    """Points of a sunflower: any two neighbours are about one apart."""
    angle, radius = turn * 2.399963229728653, math.sqrt(turn)
    return np.array([radius * math.cos(angle), radius * math.sin(angle), 0.0])
