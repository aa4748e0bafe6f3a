"""How many cells the grids of `HatNetwork` need for a given accuracy, and how many parameters they have."""

from __future__ import annotations

import heapq
import math

from neuraltrees.errors import ApproximationError, InputError
from neuraltrees.theory.cliques import Clique
from neuraltrees.theory.compatible import CompatibleFunction
from neuraltrees.theory.hat_network import hat_error, hat_parameters


def choose_cells(parts: list[tuple[int, float]], epsilon: float, max_parameters: int) -> list[int]:
    """Cells per axis of each clique's grid, such that the proven errors sum to less than epsilon.

    Args:
        parts: number of variables and Lipschitz constant of every clique.
        epsilon: the bound on the sum of the errors.
        max_parameters: more parameters raise `ApproximationError`.

    >>> choose_cells([(1, 1.0), (3, 1.0)], 0.5, 10_000)
    [5, 2]
    """

    def gain(number: int) -> tuple[float, int]:
        (size, slope), now = parts[number], cells[number]
        saved = hat_error(size, now, slope) - hat_error(size, now + 1, slope)
        return -saved / (hat_parameters(size, now + 1) - hat_parameters(size, now)), number

    cells = [1] * len(parts)
    total = sum(hat_parameters(size, 1) for size, _ in parts)
    error = sum(hat_error(size, 1, slope) for size, slope in parts)
    queue = [gain(number) for number in range(len(parts))]
    heapq.heapify(queue)
    while error >= epsilon * (1 - 1e-9) or total > max_parameters:
        if total > max_parameters:
            raise ApproximationError(
                f"Expected at most {max_parameters:,} parameters; an error below {epsilon:g} takes more, about "
                f"10^{math.log10(equal_shares(parts, epsilon)):.1f}. Take a larger epsilon, bound the treewidth of the "
                f"graph (sample_bounded_treewidth(graph, k=2)), or raise max_parameters."
            )
        _, number = heapq.heappop(queue)
        size, slope = parts[number]
        total += hat_parameters(size, cells[number] + 1) - hat_parameters(size, cells[number])
        cells[number] += 1
        error += hat_error(size, cells[number], slope) - hat_error(size, cells[number] - 1, slope)
        heapq.heappush(queue, gain(number))
    # The last step may have refined more than needed: remove cells again, from the largest networks first.
    for number in sorted(range(len(parts)), key=lambda number: -hat_parameters(parts[number][0], cells[number])):
        size, slope = parts[number]
        while cells[number] > 1:
            more = hat_error(size, cells[number] - 1, slope) - hat_error(size, cells[number], slope)
            if error + more >= epsilon * (1 - 1e-9):
                break
            cells[number] -= 1
            error += more
    return cells


def equal_shares(parts: list[tuple[int, float]], epsilon: float) -> int:
    """Number of parameters if every clique gets an equal share of ε; nothing is allocated."""
    share = epsilon / max(1, len(parts))
    return sum(hat_parameters(size, _cells(size, slope, share)) for size, slope in parts)


def naive_parameters(function: CompatibleFunction, epsilon: float) -> int:
    """Number of parameters of the same interpolation on all n variables at once, which ignores the graph."""
    check_accuracy(epsilon)
    slope = sum(slope_of(function, clique) for clique in function.cliques)
    size = function.graph.num_nodes
    return hat_parameters(size, _cells(size, slope, epsilon)) if size else 0


def check_accuracy(epsilon: float) -> None:
    """Raises `InputError` unless the accuracy is finite and above 0."""
    if not 0 < epsilon < float("inf"):
        raise InputError(f"Expected a finite epsilon above 0; got {epsilon}.")


def _cells(size: int, slope: float, epsilon: float) -> int:
    """The smallest number of cells with an error below epsilon."""
    return max(1, int(hat_error(size, 1, slope) / (epsilon * (1 - 1e-9))) + 1)


def slope_of(function: CompatibleFunction, clique: Clique) -> float:
    """The Lipschitz constant on a clique; raises `InputError` where it is not known."""
    slope = function.lipschitz(clique)
    if slope is None or not slope < float("inf"):
        raise InputError(
            f"Expected a finite Lipschitz constant for every component; got {slope} on {clique}. "
            f'Set it: CompatibleFunction(graph, components, lipschitz=1.0); or use method="fit".'
        )
    return slope
