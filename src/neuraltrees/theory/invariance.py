"""Invariant functions as sums of exponentials of compatible functions (the paper's invariance theorem)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, prod
from typing import TypeAlias

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.theory.compatible import CompatibleFunction, Function

NodeWeight: TypeAlias = Callable[[Tensor], Tensor]
EdgeWeight: TypeAlias = Callable[[Tensor, Tensor], Tensor]

MOST_MAPS = 1_000_000


@dataclass(frozen=True, eq=False)
class ExpSum:
    r""":math:`h(X) = \sum_i α_i\, φ(f^i(X))` with :math:`φ = \exp` and compatible functions :math:`f^i`.

    The paper moves :math:`α_i` into :math:`f^i`, which only works for positive :math:`α_i`; here they stay outside.

    Shapes: X :math:`(…, n)` → :math:`(…)`

    >>> f = CompatibleFunction(Graph([[0], [1]]), {(0, 1): lambda x: x.prod(-1)})
    >>> h = ExpSum([f]) - ExpSum([2 * f])
    >>> h(torch.tensor([0.0, 1.0]))
    tensor(0.)
    """

    functions: Sequence[CompatibleFunction]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        weights = (1.0,) * len(self.functions) if self.weights is None else tuple(self.weights)
        if len(weights) != len(self.functions):
            raise InputError(f"Expected a weight for each of {len(self.functions)} functions; got {len(weights)}.")
        object.__setattr__(self, "functions", tuple(self.functions))
        object.__setattr__(self, "weights", weights)

    def __call__(self, x: Tensor) -> Tensor:
        total = x.new_zeros(x.shape[:-1], dtype=x.dtype if x.is_floating_point() else torch.float64)
        for weight, function in zip(self.weights or (), self.functions, strict=True):
            total = total + weight * function(x).exp()
        return total

    def __add__(self, other: ExpSum) -> ExpSum:
        return ExpSum((*self.functions, *other.functions), (*(self.weights or ()), *(other.weights or ())))

    def __mul__(self, factor: float) -> ExpSum:
        return ExpSum(self.functions, tuple(factor * weight for weight in self.weights or ()))

    def __neg__(self) -> ExpSum:
        return self * -1.0

    def __sub__(self, other: ExpSum) -> ExpSum:
        return self + -other

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"ExpSum({len(self.functions)} functions)"


def homomorphisms(
    pattern: Graph, graph: Graph, node: NodeWeight, edge: EdgeWeight, *, shift: float = 0.0, at: int | None = None
) -> ExpSum:
    r"""The weighted homomorphism number of a pattern H, whose linear combinations are dense in the invariant functions.

    :math:`\overline{\hom}(H, X) = \sum_π \prod_{u ∈ V(H)} θ(x_{π(u)}) \prod_{uv ∈ E(H)} θ(x_{π(u)}, x_{π(v)})` over the
    maps :math:`π: V(H) → V(G)`. Each product is :math:`\exp f^{H,π}` for a compatible function, the sum of the
    logarithms. A map must send each edge of H to an edge of G, which contributes its edge weight, or to a single node,
    which contributes its node weight.

    Weights have to be positive because of the logarithm. The paper's edge weights are in [-1, 1]; with a shift of c, a
    weight is written as :math:`(w + c) - c` and the product expanded, to a sum with coefficients of both signs.

    Args:
        pattern: H, a small graph.
        graph: G.
        node: positive weight of a node, a function of its feature.
        edge: weight of an edge, a symmetric function of the features of its ends, above -shift.
        shift: added to the edge weights before the logarithm.
        at: only count maps that send the first node of H to this node: the value of an equivariant function there.

    >>> edge, triangle = Graph([[0], [1]]), Graph([[0, 1, 2], [1, 2, 0]])
    >>> count = homomorphisms(edge, triangle, torch.ones_like, lambda a, b: a * b)
    >>> count(torch.tensor([1.0, 2.0, 3.0]))  # 3 maps to a single node, 2 (1·2 + 2·3 + 3·1) to edges
    tensor(25.)
    """
    if graph.num_nodes**pattern.num_nodes > MOST_MAPS:
        raise InputError(
            f"Expected at most {MOST_MAPS:,} maps; got {graph.num_nodes**pattern.num_nodes:,} from "
            f"{pattern.num_nodes} nodes to {graph.num_nodes}. Use a smaller pattern."
        )
    functions, weights = [], []
    for nodes, edges in _maps(pattern, graph, at):
        for weight, powers in _expanded(edges, shift):
            parts: dict[Sequence[int], Function] = {(u,): _node_log(node, count) for u, count in nodes.items()}
            parts |= {pair: _edge_log(edge, shift, count) for pair, count in powers.items() if count}
            functions.append(CompatibleFunction(graph, parts))
            weights.append(weight)
    return ExpSum(functions, weights)


def _maps(pattern: Graph, graph: Graph, at: int | None) -> Iterator[tuple[Counter[int], Counter[tuple[int, int]]]]:
    """For every map that preserves edges, how often it uses each node weight and each edge weight."""
    pairs = [(u, v) for u, v in pattern.edge_index.t().tolist() if u < v]
    joined = {(u, v) for u, v in graph.edge_index.t().tolist()}
    for image in product(range(graph.num_nodes), repeat=pattern.num_nodes):
        if at is not None and image[:1] != (at,):
            continue
        nodes, edges = Counter(image), Counter[tuple[int, int]]()
        for u, v in pairs:
            a, b = sorted((image[u], image[v]))
            if a == b:
                nodes[a] += 1
            elif (a, b) in joined:
                edges[a, b] += 1
            else:
                break
        else:
            yield nodes, edges


def _expanded(edges: Counter[tuple[int, int]], shift: float) -> Iterator[tuple[float, dict[tuple[int, int], int]]]:
    """Coefficients and powers of w + c in the product of the ((w + c) - c)^k over edges."""
    if not shift:
        yield 1.0, dict(edges)
        return
    for powers in product(*(range(count + 1) for count in edges.values())):
        terms = zip(edges.values(), powers, strict=True)
        weight = prod(comb(count, power) * (-shift) ** (count - power) for count, power in terms)
        yield float(weight), dict(zip(edges, powers, strict=True))


def _node_log(weight: NodeWeight, count: int) -> Function:
    return lambda x: count * _log(weight(x[..., 0]), "node")


def _edge_log(weight: EdgeWeight, shift: float, count: int) -> Function:
    return lambda x: count * _log(weight(x[..., 0], x[..., 1]) + shift, "edge")


def _log(value: Tensor, name: str) -> Tensor:
    if bool((value <= 0).any()):
        raise InputError(
            f"Expected positive {name} weights; got {float(value.min())}. Edge weights can be shifted: shift=2.0."
        )
    return value.log()
