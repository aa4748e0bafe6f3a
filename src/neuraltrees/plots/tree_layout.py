"""Layout of tree decompositions and H-trees: tidy trees in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from neuraltrees.plots.layout import COMPONENT_GAP, Floats, Ints, Layout, components, hops, pack

if TYPE_CHECKING:
    from neuraltrees.decomposition import TreeDecomposition
    from neuraltrees.htree import HTree

ROW_GAP = (26.0, 60.0)  # minimum and maximum space between two rows of a tree; it grows with the width of the children
LEAF_GAP, BAG_GAP, COUSIN_GAP, ROOT_GAP = 4.0, 10.0, 9.0, 18.0
BRACKET, BRACKET_STEP, BRACKET_RADIUS = 13.0, 7.0, 8.0  # root-root edges that pass over other roots


def decomposition_layout(decomposition: TreeDecomposition, size: Floats) -> Layout:
    """Lays out every component as a tree rooted at its centre, top-down, or left to right if that is much smaller.

    Args:
        decomposition: a tree decomposition of b bags.
        size: widths and heights of its boxes, shape (b, 2).
    """
    distance = hops(len(decomposition.bags), np.asarray(decomposition.edges, dtype=np.int64).reshape(-1, 2))
    parts = []
    for nodes in components(distance):
        boxes, inner = size[nodes], distance[np.ix_(nodes, nodes)]
        root = int(inner.max(1).argmin())
        level = inner[root].astype(int).tolist()
        parent = [
            int(np.argmax((inner[v] == 1) & (inner[root] < depth))) if depth else -1 for v, depth in enumerate(level)
        ]
        down, turned = (_tree(parent, level, [[root]], box, BAG_GAP) for box in (boxes, boxes[:, ::-1]))
        right = Layout(-turned.center[:, ::-1], boxes, [-line[:, ::-1] for line in turned.lines])
        parts.append((nodes, right if 1.5 * right.extent.max() < down.extent.max() else down))
    return pack(parts, size)


def htree_layout(htree: HTree, size: Floats) -> Layout:
    """Lays out level by level: roots in the top row, children below their parent, components side by side.

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


def _tree(parent: list[int], level: list[int], rows: Sequence[Sequence[int]], size: Floats, gap: float) -> Layout:
    """A forest in rows; `rows` lists the roots of each component from left to right."""
    count = len(parent)
    # Two artificial levels above the roots: one node per component, and one above all.
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
    # First straight down to the bottom of the row, so that an edge does not cross a taller box beside its parent.
    lines = [
        np.array([[x[p], top[level[p]] - size[p, 1]], [x[p], floor[level[p]]], [x[v], top[level[v]]]])
        for v, p in enumerate(parent)
        if p >= 0
    ]
    return Layout(center, size, lines)


def _tidy(children: Sequence[Sequence[int]], width: Sequence[float], gaps: Sequence[tuple[float, float]]) -> Floats:
    """Centres every node over its children, with subtrees as close as their outlines allow.

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
            # The mean of two valid placements, pushed to the left and pushed to the right, is valid and balanced.
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
    """Leftmost positions of subtrees, given the left and the right end of each of their rows."""
    end = np.full(max(map(len, parts)), -np.inf)
    place = np.zeros(len(parts))
    for i, part in enumerate(parts):
        space = np.where(np.arange(len(part)) == 0, *gaps)
        place[i] = np.max(end[: len(part)] + space - part[:, 0]) if i else 0.0
        end[: len(part)] = part[:, 1] + place[i]
    return place


def _row_order(roots: Ints, joined: Ints) -> list[int]:
    """Orders the roots of one component from left to right so that no two edges above the row cross.

    Both sides of the tree's centroid are in preorder, small branches first, because edges pass over these.
    """
    near: dict[int, list[int]] = {int(v): [] for v in roots}
    for a, b in joined.tolist():
        if a in near:
            near[a].append(b)
            near[b].append(a)

    def walk(v: int, origin: int) -> list[int]:
        branches = sorted((walk(u, v) for u in near[v] if u != origin), key=len)
        return [v, *(u for branch in branches for u in branch)]

    # At the centroid no branch holds more than half of the roots.
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
        # The brackets of one root start side by side, the longest ones in the middle, so that they do not cross.
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
