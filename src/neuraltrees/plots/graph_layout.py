"""Layout of a graph: distances in the drawing follow distances in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuraltrees.plots.layout import Floats, Ints, Layout, components, hops, pack

if TYPE_CHECKING:
    from neuraltrees.graph import Graph

EDGE = 30.0  # visible length of an edge between two boxes
BOX_GAP, EDGE_GAP = 8.0, 3.0  # minimum distance of a box to another box, and to an edge that passes by


def graph_layout(graph: Graph, size: Floats) -> Layout:
    """Lays out every component so that distances in the drawing follow distances in the graph.

    Args:
        graph: a graph of n nodes.
        size: widths and heights of its boxes, shape (n, 2).
    """
    edges = graph.edge_index.t().numpy()
    edges = edges[edges[:, 0] < edges[:, 1]]
    distance = hops(graph.num_nodes, edges)
    parts = []
    for nodes in components(distance):
        boxes, inner = size[nodes], distance[np.ix_(nodes, nodes)]
        pairs = np.argwhere(np.triu(inner == 1))
        dense = len(pairs) >= 3 * len(nodes)
        # Edges of a dense graph run through boxes in any layout except on a circle.
        shape = _circle(len(nodes)) if dense and len(nodes) <= 40 else _upright(_stress(inner), pairs)
        # Wide boxes only need longer horizontal edges.
        center = _spread(shape * (EDGE + boxes.mean(0)), boxes, pairs[:0] if dense else pairs)
        parts.append((nodes, Layout(center, boxes, list(center[pairs]))))
    return pack(parts, size)


def _circle(count: int) -> Floats:
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.sin(angle), np.cos(angle)], 1) * max(1.0, 0.13 * count)


def _stress(hops: Floats) -> Floats:
    """Minimise sum_ij (|x_i - x_j| / hops_ij - 1)^2 by majorisation, the best of several starts.

    The starts are classical scaling, good for paths and grids, a circle, good for cycles and stars, and random points.
    """
    count, eye = len(hops), np.eye(len(hops))
    if count == 1:
        return np.zeros((1, 2))
    weight = (1 - eye) / (hops + eye) ** 2
    inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)

    def apart(x: Floats) -> Floats:
        square = (x**2).sum(1)
        return np.asarray(np.sqrt(np.maximum(square[:, None] + square - 2 * x @ x.T, 0.0)))

    def improved(x: Floats, rounds: int) -> Floats:
        for _ in range(rounds):
            pull = weight * hops / np.maximum(apart(x) + eye, 1e-9)
            x = inverse @ (pull.sum(1)[:, None] * x - pull @ x)
        return x

    rng, centring = np.random.default_rng(0), eye - 1 / count
    size, axis = np.linalg.eigh(-0.5 * centring @ hops**2 @ centring)
    scaling = (axis * np.sqrt(np.maximum(size, 0.0)))[:, :-3:-1] + 1e-3 * rng.normal(size=(count, 2))
    starts = [scaling, _circle(count), *rng.normal(size=(min(12, 600 // count), count, 2)) * hops.max() / 2]
    ends = [improved(start, 60) for start in starts]
    # Rounded, so that among equally good drawings every machine takes the first.
    best = min(ends, key=lambda x: round(float((weight * (apart(x) - hops) ** 2).sum()), 3))
    return improved(best, min(600, 60_000 // count))


def _upright(xy: Floats, pairs: Ints) -> Floats:
    """Rotates a drawing so that its edges are as parallel to the axes as possible, with the first node upper left."""
    angle = np.deg2rad(np.arange(0, 180, 0.5))
    turns = xy @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
    slant = np.abs(turns[:, pairs[:, 0]] - turns[:, pairs[:, 1]]).sum((1, 2))
    best = turns[np.lexsort([np.ptp(turns[:, :, 1], axis=1).round(2), slant.round(2)])[0]]
    best = best - (best.min(0) + best.max(0)) / 2
    return np.asarray(best * np.where(best[0] * (-1, 1) < -1e-6, -1, 1))


def _spread(center: Floats, size: Floats, pairs: Ints) -> Floats:
    """Moves boxes apart, and away from edges that run through them."""
    count, rounds = len(size), min(400, 20_000 // len(size))
    need = (size[:, None] + size) / 2 + BOX_GAP
    later = np.sign(np.arange(count)[:, None] - np.arange(count))[:, :, None]
    free = np.ones((len(pairs), count), dtype=bool)
    free[np.arange(len(pairs))[:, None], pairs] = False
    for step in range(rounds + 400):
        between = center[:, None] - center
        lack = need - np.abs(between)
        lack[(lack <= 1e-6).any(2) | np.eye(count, dtype=bool)] = 0.0
        axis = (lack == lack.min(2, keepdims=True)) & (lack > 0)
        move = (0.5 * lack * axis * np.where(between == 0, later, np.sign(between))).sum(1)
        if step < rounds and len(pairs):
            tail, edge = center[pairs[:, 0]], center[pairs[:, 1]] - center[pairs[:, 0]]
            length = np.maximum(np.linalg.norm(edge, axis=1, keepdims=True), 1e-9)
            normal = edge[:, ::-1] * (-1, 1) / length
            offset = center - tail[:, None]
            along = (offset @ (edge / length)[:, :, None])[:, :, 0]
            beside = (offset @ normal[:, :, None])[:, :, 0]
            close = np.abs(normal) @ size.T / 2 + EDGE_GAP - np.abs(beside)
            close[(close <= 1e-6) | ~free | (along < 0) | (along > length)] = 0.0
            push = (0.2 * (1 - step / rounds) * close * np.where(beside < 0, -1, 1))[:, :, None] * normal[:, None]
            move += push.sum(0)
            np.add.at(move, pairs, -0.5 * push.sum(1)[:, None])
        if not np.abs(move).max(initial=0.0) > 1e-6:
            break
        center = center + move
    return center
