"""Positions at which nodes without a position of their own are drawn."""

from __future__ import annotations

import math

import numpy as np

from neuraltrees.scenes import Scene
from neuraltrees.scenes.scene import Float64

MOST_SPRINGS = 600  # nodes of a component that a spring layout places; a larger one becomes a spiral


def scene_positions(scene: Scene, centres: Float64) -> tuple[Float64, int]:
    """The positions at which nodes are drawn, and the number of nodes without a position of their own.

    A node without a position is drawn next to its neighbours. Nodes whose component has no position are drawn on a
    spiral next to the scene. If no node has a position, the whole graph is laid out.

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
    """A layout of the graph by its edges alone: components side by side in rows, the largest first."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(scene.num_nodes))
    graph.add_edges_from(scene.edges.tolist())
    found = np.zeros((scene.num_nodes, 3))
    parts = sorted((sorted(part) for part in nx.connected_components(graph)), key=lambda part: -len(part))
    row_end = 2.5 * math.sqrt(scene.num_nodes)
    x = y = tall = 0.0
    for part in parts:
        radius = math.sqrt(len(part))
        if x > 0 and x + 2 * radius > row_end:
            x, y, tall = 0.0, y + tall, 0.0
        middle = np.array([x + radius, y + radius, 0.0])
        if len(part) > MOST_SPRINGS:
            found[part] = middle + [_spiral(turn) for turn in range(len(part))]
        else:
            placed = nx.spring_layout(graph.subgraph(part), seed=0, scale=radius if len(part) > 1 else 0.0)
            found[part, :2] = middle[:2] + [placed[node] for node in part]
        x, tall = x + 2 * radius + 1, max(tall, 2 * radius + 1)
    return found


def _spiral(turn: int) -> Float64:
    """A point of a sunflower spiral; adjacent points are about 1 apart."""
    angle, radius = turn * 2.399963229728653, math.sqrt(turn)
    return np.array([radius * math.cos(angle), radius * math.sin(angle), 0.0])
