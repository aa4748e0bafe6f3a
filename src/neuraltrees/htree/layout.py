"""Where every node of a drawing stands: the graph by stress, the decomposition and the H-tree as tidy trees.

All lengths are points (1/72 inch), the unit of fonts. Boxes are as large as their texts and are moved apart, never
shrunk, so that what is legible in a small drawing is legible in a large one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from neuraltrees.decomposition import TreeDecomposition
    from neuraltrees.graph import Graph
    from neuraltrees.htree import HTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EDGE = 30.0  # what is seen of a graph edge between two boxes
BOX_GAP, EDGE_GAP = 8.0, 3.0  # from a box of the graph to another, and to an edge that passes by
ROW_GAP = (26.0, 60.0)  # between two rows of a tree, at least and, under a wide fan of children, at most
LEAF_GAP, BAG_GAP, COUSIN_GAP, ROOT_GAP, COMPONENT_GAP = 4.0, 10.0, 9.0, 18.0, 28.0
SHELF = 380.0  # components stand side by side at least up to this width
BRACKET, BRACKET_STEP, BRACKET_RADIUS = 13.0, 7.0, 8.0  # root-root edges that pass over other roots


@dataclass(frozen=True)
class Layout:
    """Boxes, and the lines that join them; y grows upwards.

    Args:
        center: centres of the boxes, shape (N, 2).
        size: widths and heights of the boxes, shape (N, 2).
        lines: for every edge the points of its line, shape (k, 2).
    """

    center: Floats
    size: Floats
    lines: list[Floats]

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower left and upper right corner of all that is drawn."""
        points = np.concatenate([self.center - self.size / 2, self.center + self.size / 2, *self.lines])
        return (points.min(0), points.max(0)) if len(points) else (np.zeros(2), np.zeros(2))

    @property
    def extent(self) -> Floats:
        """Width and height of all that is drawn."""
        low, high = self.bounds
        return high - low

    def moved(self, shift: Floats) -> Layout:
        """The same drawing in another place."""
        return Layout(self.center + shift, self.size, [line + shift for line in self.lines])


def graph_layout(graph: Graph, size: Floats) -> Layout:
    """Draw every component so that distances on paper follow distances in the graph.

    Args:
        graph: a graph of n nodes.
        size: widths and heights of its boxes, shape (n, 2).
    """
    edges = graph.edge_index.t().numpy()
    edges = edges[edges[:, 0] < edges[:, 1]]
    hops = _hops(graph.num_nodes, edges)
    parts = []
    for nodes in _components(hops):
        boxes, inner = size[nodes], hops[np.ix_(nodes, nodes)]
        pairs = np.argwhere(np.triu(inner == 1))
        dense = len(pairs) >= 3 * len(nodes)
        # Edges of a dense graph run through boxes wherever these stand, unless they stand on a circle.
        shape = _circle(len(nodes)) if dense and len(nodes) <= 40 else _upright(_stress(inner), pairs)
        # Wide boxes need longer edges from left to right only.
        center = _spread(shape * (EDGE + boxes.mean(0)), boxes, pairs[:0] if dense else pairs)
        parts.append((nodes, Layout(center, boxes, list(center[pairs]))))
    return _pack(parts, size)


def decomposition_layout(decomposition: TreeDecomposition, size: Floats) -> Layout:
    """Hang every component from its centre, downwards, or to the right where that is much narrower.

    Args:
        decomposition: a tree decomposition of b bags.
        size: widths and heights of its boxes, shape (b, 2).
    """
    hops = _hops(len(decomposition.bags), np.asarray(decomposition.edges, dtype=np.int64).reshape(-1, 2))
    parts = []
    for nodes in _components(hops):
        boxes, inner = size[nodes], hops[np.ix_(nodes, nodes)]
        root = int(inner.max(1).argmin())
        level = inner[root].astype(int).tolist()
        parent = [int(np.argmax((inner[v] == 1) & (inner[root] < depth))) if depth else -1
                  for v, depth in enumerate(level)]
        down, turned = (_tree(parent, level, [[root]], box, BAG_GAP) for box in (boxes, boxes[:, ::-1]))
        right = Layout(-turned.center[:, ::-1], boxes, [-line[:, ::-1] for line in turned.lines])
        parts.append((nodes, right if 1.5 * right.extent.max() < down.extent.max() else down))
    return _pack(parts, size)


def htree_layout(htree: HTree, size: Floats) -> Layout:
    """Draw level by level: roots in the top row, children below their parent, components side by side.

    Args:
        htree: an H-tree of N nodes.
        size: widths and heights of its boxes, shape (N, 2).
    """
    joined = htree.edge_index[:, htree.edge_type == 0].t().numpy()
    joined = joined[joined[:, 0] < joined[:, 1]]
    level, component = htree.level.numpy(), htree.component.numpy()
    rows = [_row_order(np.flatnonzero((level == 0) & (component == c)), joined) for c in np.unique(component)]
    tree = _tree(htree.parent.tolist(), level.tolist(), rows, size, LEAF_GAP)
    return Layout(tree.center, size, tree.lines + _root_edges(joined, [root for row in rows for root in row], tree))


def _hops(count: int, edges: Ints) -> Floats:
    """Numbers of edges between all pairs of nodes, infinite across components (Floyd and Warshall)."""
    hops = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
    hops[edges[:, 0], edges[:, 1]] = hops[edges[:, 1], edges[:, 0]] = 1.0
    for k in range(count):
        np.minimum(hops, hops[:, k, None] + hops[k], out=hops)
    return hops


def _components(hops: Floats) -> list[Ints]:
    first = np.isfinite(hops).argmax(1) if len(hops) else np.zeros(0, dtype=np.int64)
    return [np.flatnonzero(first == v) for v in np.unique(first)]


def _circle(count: int) -> Floats:
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.sin(angle), np.cos(angle)], 1) * max(1.0, 0.13 * count)


def _stress(hops: Floats) -> Floats:
    """Minimise sum_ij (|x_i - x_j| / hops_ij - 1)^2 by majorisation, the best of several starts.

    Classical scaling unrolls paths and grids, a circle opens cycles and stars, random points help the others.
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
    # Rounded, so that of equally good drawings the first one is taken on every machine.
    best = min(ends, key=lambda x: round(float((weight * (apart(x) - hops) ** 2).sum()), 3))
    return improved(best, min(600, 60_000 // count))


def _upright(xy: Floats, pairs: Ints) -> Floats:
    """Turn a drawing so that its edges lie along the axes as far as they can, its first node at the upper left."""
    angle = np.deg2rad(np.arange(0, 180, 0.5))
    turns = xy @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
    slant = np.abs(turns[:, pairs[:, 0]] - turns[:, pairs[:, 1]]).sum((1, 2))
    best = turns[np.lexsort([np.ptp(turns[:, :, 1], axis=1).round(2), slant.round(2)])[0]]
    best = best - (best.min(0) + best.max(0)) / 2
    return np.asarray(best * np.where(best[0] * (-1, 1) < -1e-6, -1, 1))


def _spread(center: Floats, size: Floats, pairs: Ints) -> Floats:
    """Push boxes off each other, and off the edges that would run through them."""
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


def _pack(parts: list[tuple[Ints, Layout]], size: Floats) -> Layout:
    """Set components side by side on shelves, single nodes last."""
    center, lines = np.zeros_like(size), list[Floats]()
    gap = np.array([COMPONENT_GAP, COMPONENT_GAP / 2])
    extent = [part.extent + gap for _, part in parts]
    limit = max(SHELF, 2.0 * np.sqrt(sum(width * height for width, height in extent)))
    shelves: list[list[int]] = []
    for i in sorted(range(len(parts)), key=lambda i: len(parts[i][0]) == 1):
        if not shelves or sum(extent[j][0] for j in [i, *shelves[-1]]) > limit + 1e-6:
            shelves.append([])
        shelves[-1].append(i)
    y = 0.0
    for shelf in shelves:
        x, height = 0.0, max(extent[i][1] for i in shelf)
        for i in shelf:
            nodes, part = parts[i]
            placed = part.moved(np.array([x, y - (height + part.extent[1]) / 2]) - part.bounds[0])
            center[nodes] = placed.center
            lines += placed.lines
            x += extent[i][0]
        y -= height
    return Layout(center, size, lines)


def _tree(parent: list[int], level: list[int], rows: Sequence[Sequence[int]], size: Floats, gap: float) -> Layout:
    """A forest in rows, its roots from left to right as given, a list per component."""
    count = len(parent)
    # Two levels above the roots keep each component, and all of them, together.
    children: list[list[int]] = [*([] for _ in parent), *map(list, rows), [*range(count, count + len(rows))]]
    for child, above in enumerate(parent):
        if above >= 0:
            children[above].append(child)
    gaps = [(gap, COUSIN_GAP)] * count + [(ROOT_GAP, COUSIN_GAP)] * len(rows) + [(0.0, COMPONENT_GAP)]
    x = _tidy(children, [*size[:, 0], *[0.0] * (len(rows) + 1)], gaps)[:count]
    top, floor = [0.0], []
    for depth in range(max(level, default=-1) + 1):
        fan = max((abs(x[v] - x[parent[v]]) for v in range(count) if level[v] == depth + 1), default=0.0)
        floor.append(top[-1] - max(size[v, 1] for v in range(count) if level[v] == depth))
        top.append(floor[-1] - float(np.clip(0.16 * fan, *ROW_GAP)))
    center = np.stack([x, np.array(top)[level] - size[:, 1] / 2], 1)
    # First straight down to the floor of the row: an edge must not cut a taller box beside its parent.
    lines = [np.array([[x[p], top[level[p]] - size[p, 1]], [x[p], floor[level[p]]], [x[v], top[level[v]]]])
             for v, p in enumerate(parent) if p >= 0]
    return Layout(center, size, lines)


def _tidy(children: Sequence[Sequence[int]], width: Sequence[float], gaps: Sequence[tuple[float, float]]) -> Floats:
    """Centre every node over its children, and set subtrees as close as the outlines of their rows allow.

    Args:
        children: children of every node from left to right; the last node is the root, whose subtrees do not interlock.
        width: width of every node.
        gaps: for every node, the space between its children and between their descendants.
    """
    order = [len(children) - 1]
    for v in order:
        order.extend(children[v])
    x = np.zeros(len(children))
    outline: dict[int, Floats] = {}
    for v in reversed(order):
        outline[v] = np.array([[-width[v] / 2, width[v] / 2]])
        if children[v]:
            parts = [outline.pop(child) for child in children[v]]
            if v == order[0]:
                parts = [np.tile([part[:, 0].min(), part[:, 1].max()], (len(part), 1)) for part in parts]
            # The mean of two valid placements is valid: pushed to the left and pushed to the right, it is even.
            place = _pushed_left(parts, gaps[v]) - _pushed_left([-p[:, ::-1] for p in parts[::-1]], gaps[v])[::-1]
            x[list(children[v])] = place = place / 2 - (place[0] + place[-1]) / 4
            below = np.array([[np.inf, -np.inf]] * max(map(len, parts)))
            for at, part in zip(place, parts, strict=True):
                left, right = below[: len(part)].T
                left[:], right[:] = np.minimum(left, part[:, 0] + at), np.maximum(right, part[:, 1] + at)
            outline[v] = np.concatenate([outline[v], below])
    for v in order:
        x[list(children[v])] += x[v]
    return x


def _pushed_left(parts: Sequence[Floats], gaps: tuple[float, float]) -> Floats:
    """Leftmost places of subtrees, given the left and the right end of each of their rows."""
    end = np.full(max(map(len, parts)), -np.inf)
    place = np.zeros(len(parts))
    for i, part in enumerate(parts):
        space = np.where(np.arange(len(part)) == 0, *gaps)
        place[i] = np.max(end[: len(part)] + space - part[:, 0]) if i else 0.0
        end[: len(part)] = part[:, 1] + place[i]
    return place


def _row_order(roots: Ints, joined: Ints) -> list[int]:
    """Roots of one component from left to right, so that no two edges above the row cross.

    Both sides of the middle of the tree are in preorder, small branches first, because edges pass over these.
    """
    near: dict[int, list[int]] = {int(v): [] for v in roots}
    for a, b in joined.tolist():
        if a in near:
            near[a].append(b)
            near[b].append(a)

    def walk(v: int, origin: int) -> list[int]:
        branches = sorted((walk(u, v) for u in near[v] if u != origin), key=len)
        return [v, *(u for branch in branches for u in branch)]

    # In the middle no branch holds more than half of the roots.
    middle = min(near, key=lambda v: max((len(walk(u, v)) for u in near[v]), default=0))
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    for branch in sorted((walk(u, middle) for u in near[middle]), key=len, reverse=True):
        min(sides, key=lambda side: sum(map(len, side))).insert(0, branch)
    left, right = ([v for branch in side for v in branch] for side in sides)
    row = [*reversed(left), middle, *right]
    return row if row[0] <= row[-1] else row[::-1]


def _root_edges(joined: Ints, row: list[int], tree: Layout) -> list[Floats]:
    """Straight lines between neighbours of the top row, brackets above it between other roots."""
    rank = {root: i for i, root in enumerate(row)}
    spans = sorted((sorted(rank[v] for v in edge) for edge in joined.tolist()), key=lambda span: span[1] - span[0])
    center, size = tree.center[row], tree.size[row]
    top = center[:, 1] + size[:, 1] / 2
    height: dict[tuple[int, int], float] = {}
    for a, b in spans:
        if b - a > 1:
            height[a, b] = max((h + BRACKET_STEP for (c, d), h in height.items() if a <= c and d <= b), default=BRACKET)

    def foot(root: int, other: int) -> float:
        # Brackets of one root stand side by side, those that reach farthest in the middle, so that they do not cross.
        ends = sorted((sum(span) - root for span in height if root in span), key=lambda end: (end > root, -end))
        step = min(6.0, (size[root, 0] - 8) / len(ends))
        return float(center[root, 0] + (ends.index(other) - (len(ends) - 1) / 2) * step)

    turn = np.linspace(0, np.pi / 2, 7)
    bow = BRACKET_RADIUS * np.stack([1 - np.cos(turn), np.sin(turn) - 1], 1)
    lines = []
    for a, b in spans:
        if b - a == 1:
            y = top[a] - size[[a, b], 1].min() / 2
            lines.append(np.array([[center[a, 0] + size[a, 0] / 2, y], [center[b, 0] - size[b, 0] / 2, y]]))
        else:
            x0, x1, y = foot(a, b), foot(b, a), top[a] + height[a, b]
            rise, fall = np.array([x0, y]) + bow, np.array([x1, y]) + bow[::-1] * (-1, 1)
            lines.append(np.concatenate([[[x0, top[a]]], rise, fall, [[x1, top[b]]]]))
    return lines
