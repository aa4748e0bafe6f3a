"""Return probabilities of random walks by dense powers in double precision."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def dense_return_probabilities(edges: list[tuple[int, int]], num_nodes: int, steps: int) -> npt.NDArray[np.float64]:
    """The diagonals of the powers of D^-1 A; edges are directed, and count as often as they are listed.

    Shapes: → :math:`(n, steps)`
    """
    walk = np.zeros((num_nodes, num_nodes))
    for source, target in edges:
        walk[source, target] += 1
    walk /= np.maximum(walk.sum(1, keepdims=True), 1)
    power, found = np.eye(num_nodes), np.zeros((num_nodes, steps))
    for step in range(steps):
        power = power @ walk
        found[:, step] = np.diag(power)
    return found
