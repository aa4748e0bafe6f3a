"""Exact label posteriors of a scene by writing down every labelling: obvious rather than fast.

p(r, o) ∝ exp(log π(r) + Σ_i log φ(o_i | r) + coupling · Σ_{i~j} A(o_i, o_j)) · p(x_0 | r) · Π_i p(x_i | o_i)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import lognorm, norm

Labelling = tuple[int, ...]


def log_joint(
    log_room: Any, log_object: Any, affinity: Any, coupling: float, edges: Any, room: Any, objects: Any
) -> dict[Labelling, float]:
    """The exponent of every labelling (r, o_0, …), with the log-likelihoods of the evidence added to it."""
    log_room, log_object, affinity, room, objects = (
        np.asarray(table).tolist() for table in (log_room, log_object, affinity, room, objects)
    )
    result = {}
    for r in range(len(log_room)):
        for o in product(range(len(affinity)), repeat=len(objects)):
            exponent = log_room[r] + room[r]
            exponent += sum(log_object[r][label] + objects[i][label] for i, label in enumerate(o))
            exponent += sum(coupling * affinity[o[i]][o[j]] for i, j in edges)
            result[(r, *o)] = exponent
    return result


def log_partition(joint: dict[Labelling, float]) -> float:
    peak = max(joint.values())
    return peak + math.log(math.fsum(math.exp(value - peak) for value in joint.values()))


def probability(joint: dict[Labelling, float], event: Callable[[Labelling], bool]) -> float:
    total = log_partition(joint)
    return math.fsum(math.exp(value - total) for labelling, value in joint.items() if event(labelling))


def marginal(joint: dict[Labelling, float], position: int, classes: int) -> list[float]:
    total = log_partition(joint)
    shares: list[list[float]] = [[] for _ in range(classes)]
    for labelling, value in joint.items():
        shares[labelling[position]].append(math.exp(value - total))
    return [math.fsum(share) for share in shares]


def sample(joint: dict[Labelling, float], uniform: list[float]) -> Labelling:
    """One label after another, given those before it: the first at which the cumulated probability exceeds u."""
    prefix: Labelling = ()
    for position, u in enumerate(uniform):
        joint = {labelling: value for labelling, value in joint.items() if labelling[:position] == prefix}
        classes = 1 + max(labelling[position] for labelling in joint)
        cumulated = np.cumsum(marginal(joint, position, classes)).tolist()
        prefix = (*prefix, next(label for label, share in enumerate(cumulated) if u < share))
    return prefix


def box_log_density(x: Any, mean: Any, std: Any) -> Any:
    """Of a bounding box given every label: centroid Gaussian, size log-normal, in metres."""
    x, mean, std = (np.asarray(value, dtype=np.float64) for value in (x, mean, std))
    place = norm(mean[:, :3], std[:, :3]).logpdf(x[:3])
    size = lognorm(s=std[:, 3:], scale=np.exp(mean[:, 3:])).logpdf(x[3:])
    return place.sum(1) + size.sum(1)


def two_tree(host: list[int]) -> list[tuple[int, int]]:
    """The edges of the 2-tree: each object from the third on joins both ends of an earlier edge."""
    edges = [(1, 0)]
    for i, edge in enumerate(host, start=2):
        a, b = edges[edge]
        edges += [(i, a), (i, b)]
    return edges
