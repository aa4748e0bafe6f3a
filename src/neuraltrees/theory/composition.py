"""A compatible function as a composition along an H-tree (the paper's lemma on the compositional structure)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.htree import HTree
from neuraltrees.theory.cliques import Clique
from neuraltrees.theory.compatible import CompatibleFunction, Function, answer_dtype
from neuraltrees.theory.factorisation import Factorisation, distribute


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Composition:
    r"""Every :math:`γ_r` as nested functions of children, :math:`h_u = H_u(\{h_w : w ∈ N_{in}(u)\})`.

    A leaf holds the feature of its graph node, :math:`h_l = x_{κ(l)}`. The children of a bag decompose its subgraph, so
    the cliques of a bag are distributed over its children just as those of the graph are over the roots, and
    :math:`H_u` is the sum of the children. At a bag whose subgraph is complete the children are leaves, and :math:`H_u`
    is :math:`θ_{B_u}`, or zero if that clique was given to another bag or is not maximal in the graph.

    Args:
        function: a function compatible with a graph.
        htree: an H-tree of that graph.

    Shapes: X :math:`(…, n)` → :math:`(…, N)`, the values of all tree nodes; those of the roots are the :math:`γ_r`

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> path = Graph([[0, 1], [1, 2]])
    >>> f = CompatibleFunction(path, {(0, 1): lambda x: x.prod(-1), (1, 2): lambda x: x.sum(-1)})
    >>> Composition(f, build_htree(path))(torch.tensor([2.0, 3.0, 4.0]))
    tensor([7., 6., 3., 4., 2., 3.])
    """

    function: CompatibleFunction
    htree: HTree
    children: tuple[tuple[int, ...], ...]
    cliques: tuple[tuple[Clique, ...], ...]

    def __init__(self, function: CompatibleFunction, htree: HTree) -> None:
        children: list[list[int]] = [[] for _ in range(htree.num_nodes)]
        for node, parent in enumerate(htree.parent.tolist()):
            if parent >= 0:
                children[parent].append(node)
        cliques: list[tuple[Clique, ...]] = [()] * htree.num_nodes
        for root, given in Factorisation(function, htree).cliques.items():
            cliques[root] = given
        kappa = htree.kappa.tolist()
        for node, below in enumerate(children):  # a parent precedes its children
            if cliques[node] and kappa[below[0]] < 0:
                for child, given in distribute(cliques[node], {child: htree.bag(child) for child in below}).items():
                    cliques[child] = given
            elif cliques[node] and cliques[node] != (tuple(htree.bag(node)),):
                raise InputError(
                    f"Expected an H-tree of the function's graph; got one with the complete bag {htree.bag(node)}, "
                    f"where that graph has the clique {cliques[node][0]}. Build it anew: build_htree(f.graph)."
                )
        for name, value in (
            ("function", function),
            ("htree", htree),
            ("children", tuple(map(tuple, children))),
            ("cliques", tuple(cliques)),
        ):
            object.__setattr__(self, name, value)

    @property
    def bags(self) -> tuple[int, ...]:
        """The tree nodes that are not leaves, children before parents."""
        return tuple(node for node in reversed(range(len(self.children))) if self.children[node])

    def clique(self, node: int) -> Clique | None:
        """The clique whose component is computed at a bag, from its leaves; None where there is none."""
        complete = bool(self.children[node]) and int(self.htree.kappa[self.children[node][0]]) >= 0
        return self.cliques[node][0] if complete and self.cliques[node] else None

    def constituent(self, node: int) -> Function:
        """:math:`H_u` of a bag, a function of its children's values.

        Shapes: values :math:`(…, c)` → :math:`(…)`
        """
        if int(self.htree.kappa[self.children[node][0]]) < 0:
            return lambda values: values.sum(-1)
        clique = self.clique(node)
        if clique is None:
            return lambda values: torch.zeros_like(values[..., 0])
        return self.function.theta(clique)  # the leaves stand in ascending order of their graph nodes

    def __call__(self, x: Tensor) -> Tensor:
        self.function.check(x)
        kappa = self.htree.kappa
        start = x.to(answer_dtype(x))
        values = [start[..., node] if node >= 0 else start.new_zeros(()) for node in kappa.tolist()]
        for bag in self.bags:
            values[bag] = self.constituent(bag)(torch.stack([values[child] for child in self.children[bag]], -1))
        return torch.stack(values, -1) if values else start

    def __repr__(self) -> str:
        return f"Composition(function={self.function}, htree={self.htree})"
