"""A compatible function as a sum over the root bags of an H-tree (the paper's factorisation lemma)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.htree import HTree
from neuraltrees.theory.cliques import Clique
from neuraltrees.theory.compatible import CompatibleFunction, answer_dtype


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Factorisation:
    r""":math:`f(X) = \sum_{r ∈ R} γ_r(x_{B_r})` with :math:`γ_r = \sum_{C ∈ \mathcal{C}_r} θ_C(x_C)`.

    Every maximal clique lies in a root bag. Each is given to the first root bag that contains it, so that the
    :math:`\mathcal{C}_r` are a partition of the cliques and none is counted twice.

    Args:
        function: a function compatible with a graph.
        htree: an H-tree of that graph.

    Shapes: X :math:`(…, n)` → :math:`(…, |R|)`, in the order of `roots`

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> path = Graph([[0, 1], [1, 2]])
    >>> f = CompatibleFunction(path, {(0, 1): lambda x: x.prod(-1), (1, 2): lambda x: x.sum(-1)})
    >>> parts = Factorisation(f, build_htree(path))
    >>> parts.cliques
    {0: ((1, 2),), 1: ((0, 1),)}
    >>> parts(torch.tensor([2.0, 3.0, 4.0]))
    tensor([7., 6.])
    """

    function: CompatibleFunction
    htree: HTree
    cliques: dict[int, tuple[Clique, ...]]

    def __init__(self, function: CompatibleFunction, htree: HTree) -> None:
        check_tree(function, htree)
        roots = torch.nonzero(htree.parent < 0).flatten().tolist()
        for name, value in (
            ("function", function),
            ("htree", htree),
            ("cliques", distribute(function.cliques, {root: htree.bag(root) for root in roots})),
        ):
            object.__setattr__(self, name, value)

    @property
    def roots(self) -> tuple[int, ...]:
        """The root nodes of the H-tree."""
        return tuple(self.cliques)

    def gamma(self, root: int, x: Tensor) -> Tensor:
        """:math:`γ_r`; it reads only the columns of the root's bag.

        Shapes: x :math:`(…, n)` → :math:`(…)`
        """
        self.function.check(x)
        value = x.new_zeros(x.shape[:-1], dtype=answer_dtype(x))
        for clique in self.cliques[root]:
            value = value + self.function.theta(clique)(x[..., list(clique)])
        return value

    def __call__(self, x: Tensor) -> Tensor:
        self.function.check(x)
        values = [self.gamma(root, x) for root in self.roots]
        return torch.stack(values, -1) if values else x.to(answer_dtype(x))

    def __repr__(self) -> str:
        return f"Factorisation(function={self.function}, htree={self.htree})"


def distribute(cliques: Iterable[Clique], bags: Mapping[int, Sequence[int]]) -> dict[int, tuple[Clique, ...]]:
    """Gives every clique to the first bag that contains it.

    >>> distribute([(0, 1), (1, 2)], {7: (0, 1), 8: (0, 1, 2)})
    {7: ((0, 1),), 8: ((1, 2),)}
    """
    holders: dict[int, list[int]] = {}
    for place, bag in bags.items():
        for node in bag:
            holders.setdefault(node, []).append(place)
    members = {place: set(bag) for place, bag in bags.items()}
    given: dict[int, list[Clique]] = {place: [] for place in bags}
    for clique in cliques:
        for place in holders.get(clique[0], []):
            if members[place].issuperset(clique):
                given[place].append(clique)
                break
        else:
            raise InputError(
                f"Expected a bag that holds the clique {clique}; none does. "
                f"Build the H-tree from the function's graph: build_htree(f.graph)."
            )
    return {place: tuple(got) for place, got in given.items()}


def check_tree(function: CompatibleFunction, htree: HTree) -> None:
    """Raises `InputError` unless the tree has as many graph nodes as the function's graph."""
    if htree.num_graph_nodes != function.graph.num_nodes:
        raise InputError(
            f"Expected an H-tree of the function's graph of {function.graph.num_nodes} nodes; got one of a graph of "
            f"{htree.num_graph_nodes} nodes. Build it from that graph: build_htree(f.graph)."
        )
