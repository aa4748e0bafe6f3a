"""Functions compatible with a graph: sums of functions of its maximal cliques (Definition 1 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.theory.cliques import Clique, CliqueIndex, maximal_cliques
from neuraltrees.theory.interpolated_table import InterpolatedTable, MarkovNetworkLike

Function: TypeAlias = Callable[[Tensor], Tensor]


def answer_dtype(x: Tensor) -> torch.dtype:
    """The dtype of outputs: that of the features, or float64 for integer features."""
    return x.dtype if x.is_floating_point() else torch.float64


@dataclass(frozen=True)
class Component:
    """A summand: a function of the features of a clique, in the order in which the clique lists its nodes.

    Args:
        nodes: the clique.
        function: maps features of shape (…, k) to values of shape (…).
        lipschitz: its Lipschitz constant in the sup norm, where known.
        factor: multiplies its values.
    """

    nodes: Clique
    function: Function
    lipschitz: float | None = None
    factor: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        """Shapes: x :math:`(…, k)` → :math:`(…)`"""
        value = self.function(x)
        if not isinstance(value, Tensor) or value.shape != x.shape[:-1]:
            got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise InputError(
                f"Expected the component on {self.nodes} to map shape {tuple(x.shape)} to {tuple(x.shape[:-1])}; "
                f"got {got}. Reduce over the last dimension."
            )
        return value if self.factor == 1 else self.factor * value

    @property
    def slope(self) -> float | None:
        return None if self.lipschitz is None else abs(self.factor) * self.lipschitz


class CompatibleFunction:
    r"""A function compatible with a graph, :math:`f(X) = \sum_{C ∈ \mathcal{C}(G)} θ_C(x_C)` over its maximal cliques.

    A component on a clique that is not maximal becomes part of the first maximal clique that contains it.

    Args:
        graph: the graph.
        components: for each clique, a function of its nodes' features, in the order in which the clique lists them.
        lipschitz: Lipschitz constants of the components in the sup norm, one for all or one per clique; only
            `approximate` needs them. Theorem 3 assumes 1.

    Shapes: X :math:`(…, n)` → :math:`(…)`

    >>> path = Graph([[0, 1], [1, 2]])
    >>> f = CompatibleFunction(path, {(0, 1): lambda x: x[..., 0] * x[..., 1], (2,): lambda x: x[..., 0] ** 2})
    >>> f.cliques
    ((0, 1), (1, 2))
    >>> f(torch.tensor([[2.0, 3.0, 4.0], [1.0, 0.0, 5.0]]))
    tensor([22., 25.])
    >>> (2 * f - f)(torch.tensor([2.0, 3.0, 4.0]))
    tensor(22.)
    """

    def __init__(
        self,
        graph: Graph,
        components: Mapping[Sequence[int], Function],
        lipschitz: float | Mapping[Sequence[int], float] | None = None,
    ) -> None:
        parts = []
        for nodes, function in components.items():
            slope = lipschitz.get(nodes) if isinstance(lipschitz, Mapping) else lipschitz
            if slope is not None and not slope >= 0:
                raise InputError(f"Expected a Lipschitz constant of at least 0 on {tuple(nodes)}; got {slope}.")
            parts.append(Component(tuple(nodes), function, slope))
        self._set(graph, parts)

    def _set(self, graph: Graph, components: Iterable[Component]) -> None:
        self.graph = graph
        self.cliques = maximal_cliques(graph)
        index = CliqueIndex(graph)
        of_clique: dict[Clique, list[Component]] = {clique: [] for clique in self.cliques}
        for component in components:
            of_clique[index.find(component.nodes)].append(component)
        self._components = {clique: tuple(parts) for clique, parts in of_clique.items()}

    @classmethod
    def _of(cls, graph: Graph, components: Iterable[Component]) -> CompatibleFunction:
        function = cls.__new__(cls)
        function._set(graph, components)
        return function

    @classmethod
    def from_markov_network(cls, network: MarkovNetworkLike, unit: bool = False) -> CompatibleFunction:
        r"""The logarithm of a discrete model's unnormalised distribution, :math:`\log p(X) + \log Z`.

        Integer features are states. For real features the tables are interpolated linearly in every coordinate, so
        that the function is continuous, as the theorems require.

        Args:
            network: has `cardinalities`, `cliques` and one table in `log_potentials` per clique.
            unit: whether features lie in [0, 1], where :math:`x_v` means state :math:`x_v (c_v - 1)`; else features
                are states, from 0 to :math:`c_v - 1`.
        """
        for clique, table in zip(network.cliques, network.log_potentials, strict=True):
            if table.dim() != len(clique):
                raise InputError(
                    f"Expected a table of {len(clique)} dimensions for the clique {tuple(clique)}; got shape "
                    f"{tuple(table.shape)}. Pass the networks of a batch one at a time."
                )
        tables = [InterpolatedTable(table, unit) for table in network.log_potentials]
        pairs = [pair for clique in network.cliques for pair in combinations(sorted(set(clique)), 2)]
        edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).t()
        graph = Graph(edges, num_nodes=len(network.cardinalities))
        parts = zip(network.cliques, tables, strict=True)
        return cls._of(graph, [Component(tuple(clique), table, table.lipschitz) for clique, table in parts])

    def components(self, clique: Clique) -> tuple[Component, ...]:
        """The summands of a maximal clique."""
        return self._components[clique]

    def theta(self, clique: Clique) -> Function:
        """:math:`θ_C` of a maximal clique, as a function of its features in ascending order of nodes.

        >>> f = CompatibleFunction(Graph([[0], [1]]), {(1, 0): lambda x: x[..., 0] - x[..., 1]})
        >>> f.theta((0, 1))(torch.tensor([2.0, 5.0]))
        tensor(3.)
        """
        parts = [(part, [clique.index(node) for node in part.nodes]) for part in self._components[clique]]

        def value(x: Tensor) -> Tensor:
            total = x.new_zeros(x.shape[:-1], dtype=x.dtype if x.is_floating_point() else torch.float64)
            for part, columns in parts:
                total = total + part(x[..., columns])
            return total

        return value

    def lipschitz(self, clique: Clique) -> float | None:
        """A Lipschitz constant of :math:`θ_C` in the sup norm; None if one of its summands has none."""
        slopes = [part.slope for part in self._components[clique]]
        return None if None in slopes else math.fsum(slope for slope in slopes if slope is not None)

    def __call__(self, x: Tensor) -> Tensor:
        self.check(x)
        total = x.new_zeros(x.shape[:-1], dtype=x.dtype if x.is_floating_point() else torch.float64)
        for parts in self._components.values():
            for part in parts:
                total = total + part(x[..., list(part.nodes)])
        return total

    def check(self, x: Tensor) -> None:
        """Raises `InputError` unless the features have one column per node."""
        if x.dim() < 1 or x.shape[-1] != self.graph.num_nodes:
            raise InputError(f"Expected features of shape (…, {self.graph.num_nodes}); got {tuple(x.shape)}.")

    def _all(self) -> list[Component]:
        return [part for parts in self._components.values() for part in parts]

    def __add__(self, other: CompatibleFunction | float) -> CompatibleFunction:
        if isinstance(other, int | float):
            return self._of(self.graph, [*self._all(), Component((), _one, 0.0, float(other))])
        if not isinstance(other, CompatibleFunction):
            return NotImplemented
        if other.graph != self.graph:
            raise InputError(
                f"Expected functions on the same graph; got {self.graph} and {other.graph}, which differ. "
                f"Build both on the union of their edges."
            )
        return self._of(self.graph, [*self._all(), *other._all()])

    def __mul__(self, factor: float) -> CompatibleFunction:
        if not isinstance(factor, int | float):
            return NotImplemented
        return self._of(self.graph, [replace(part, factor=factor * part.factor) for part in self._all()])

    def __neg__(self) -> CompatibleFunction:
        return self * -1.0

    def __sub__(self, other: CompatibleFunction | float) -> CompatibleFunction:
        return self + -other

    def __rsub__(self, other: float) -> CompatibleFunction:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        return (
            f"CompatibleFunction(num_nodes={self.graph.num_nodes}, num_cliques={len(self.cliques)}, "
            f"num_components={len(self._all())})"
        )


def _one(x: Tensor) -> Tensor:
    return x.new_ones(x.shape[:-1], dtype=x.dtype if x.is_floating_point() else torch.float64)
