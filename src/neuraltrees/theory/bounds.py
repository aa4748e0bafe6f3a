"""How many parameters suffice for an ε-approximation: Theorem 3 of the paper and its corollary."""

from __future__ import annotations

import torch

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.htree import HTree


def parameter_bound(htree: HTree, epsilon: float, *, root_edges: bool = False) -> float:
    r"""The bound of Theorem 3: :math:`N = \sum_u (d_u - 1) \left(\frac{d_u - 1}{ε}\right)^{d_u - 1}` over the bags.

    A bag computes a function of :math:`d_u - 1` inputs, its children. The proof removes the edges among roots and gives
    each root one edge to an aggregator instead, so that :math:`d_u - 1` is the number of children of every bag. This
    is the number used here.

    The paper states an order of magnitude; this is the sum itself, with 1 for the constant of O(·), to compare trees
    and accuracies. O(·) hides the number of units per grid point (see `HatNetwork`), and that ε is the error of each
    clique, while the errors of all cliques add up. `approximate` keeps the error of the sum below ε: each clique gets
    a share of it.

    Args:
        htree: an H-tree.
        epsilon: the accuracy, above 0 and at most 1; functions map to [0, 1].
        root_edges: whether :math:`d_u` is the degree in the H-tree itself, edges among roots included, as the theorem
            is stated. The corollary's bound :math:`d_u - 1 ≤ \mathrm{tw} + 1` then fails for some roots.

    Returns infinity if the sum exceeds the largest float.

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> path = build_htree(Graph([[0, 1], [1, 2]]))  # two bags of two leaves each
    >>> parameter_bound(path, 0.5)
    64.0
    """
    check_epsilon(epsilon)
    inputs = torch.bincount(htree.parent[htree.parent >= 0], minlength=htree.num_nodes)
    if root_edges:
        inputs = torch.where(
            htree.kappa < 0, torch.bincount(htree.edge_index[1], minlength=htree.num_nodes) - 1, inputs
        )
    counts = torch.bincount(inputs[htree.kappa < 0])
    return sum((float(count) * _power(d, d / epsilon, d) for d, count in enumerate(counts.tolist()) if d), 0.0)


def parameter_bound_by_treewidth(num_nodes: int, treewidth: int, epsilon: float) -> float:
    r"""The corollary's closed form: :math:`N = n\, (\mathrm{tw} + 1)^{2 \mathrm{tw} + 3}\, ε^{-(\mathrm{tw} + 1)}`.

    With the constants at 1 it is never below `parameter_bound` of an H-tree of that treewidth: there are at most n
    roots; below a root are at most :math:`(\mathrm{tw} + 1)^{\mathrm{tw} + 1}` bags, itself included; and each has at
    most tw + 1 children.

    >>> parameter_bound_by_treewidth(3, 1, 0.5)
    384.0
    """
    check_epsilon(epsilon)
    check_at_least("num_nodes", num_nodes, 0)
    check_at_least("treewidth", treewidth, 0)
    size = treewidth + 1
    return _power(num_nodes * size, size, 2 * treewidth + 2) * _power(1, 1 / epsilon, size) if num_nodes else 0.0


def check_epsilon(epsilon: float) -> None:
    """Raises `InputError` unless the accuracy is above 0 and at most 1."""
    if not 0 < epsilon <= 1:
        raise InputError(f"Expected an epsilon above 0 and at most 1; got {epsilon}. Scale the function to [0, 1].")


def _power(factor: float, base: float, exponent: int) -> float:
    try:
        return factor * float(base) ** exponent
    except OverflowError:
        return float("inf")
