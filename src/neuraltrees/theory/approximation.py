"""The neural tree of Theorem 3: networks at the bags of an H-tree, within ε of a compatible function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.htree import HTree
from neuraltrees.nn.schedule.leaves import pool_leaves
from neuraltrees.theory.aggregation import RootSum
from neuraltrees.theory.compatible import CompatibleFunction, answer_dtype
from neuraltrees.theory.composition import Composition
from neuraltrees.theory.grid_resolution import check_accuracy, choose_cells, slope_of
from neuraltrees.theory.hat_network import HatNetwork
from neuraltrees.theory.ridge_network import RidgeNetwork

ApproximationMethod: TypeAlias = Literal["interpolate", "fit"]


@dataclass(frozen=True, eq=False, repr=False)
class Approximation:
    r"""A compatible function as message passing on an H-tree.

    Leaves hold the features. A bag whose subgraph is complete applies its network to its leaves,
    :math:`h_u = \mathrm{ReLU}(\hat θ_{B_u}(h_l) - \min \hat θ_{B_u})`; any other bag sums its children,
    :math:`h_u = \mathrm{ReLU}(\sum_w h_w)`. Then `RootSum` brings the sum of the roots to every leaf. The output of a
    graph node is the mean over its leaves, plus the minima that were subtracted.

    In a disconnected graph the output of a node is the part of the function on its own component; the function is the
    sum over components.

    Args:
        composition: the function along the H-tree.
        networks: the network of every bag that computes a clique.
        epsilon: the requested accuracy.

    Shapes: X :math:`(…, n)` in the unit cube → :math:`(…)`
    """

    composition: Composition
    networks: dict[int, HatNetwork] | dict[int, RidgeNetwork]
    epsilon: float

    @cached_property
    def aggregation(self) -> RootSum:
        """The rounds that bring the sum of the roots to the leaves; its scale bounds that sum."""
        scale = sum(network.high - network.low for network in self.networks.values())
        return RootSum.for_tree(self.composition.htree, scale * (1 + 1e-6) or 1.0)

    @property
    def error_bound(self) -> float | None:
        """A proven bound on the sup-error, the sum of the bounds of all cliques; None for fitted networks."""
        proven = [network.error for network in self.networks.values() if isinstance(network, HatNetwork)]
        return sum(proven, 0.0) if len(proven) == len(self.networks) else None

    @property
    def num_parameters(self) -> int:
        """Parameters of the bags, without those of the aggregation, which do not depend on the function."""
        return sum(self.parameters_by_bag().values())

    def parameters_by_bag(self) -> dict[int, int]:
        """Number of parameters per bag; a bag that only sums has one weight per child that is not constantly zero."""
        count: dict[int, int] = {}
        for bag in self.composition.bags:
            network = self.networks.get(bag)
            used = sum(count.get(child, 0) > 0 for child in self.composition.children[bag])
            count[bag] = used if network is None else network.num_parameters
        return count

    def answers(self, x: Tensor) -> Tensor:
        """The output of every graph node.

        Shapes: x :math:`(…, n)` → :math:`(…, n)`
        """
        flat = self._checked(x)
        tree = self.composition.htree
        sums = self.aggregation(torch.where((tree.parent < 0).unsqueeze(1), self._upwards(flat), 0), tree)
        pooled = pool_leaves(sums, tree.kappa, flat.shape[1]) + self._minima[self._component].unsqueeze(1)
        return pooled.t().reshape(x.shape).to(answer_dtype(x))

    def __call__(self, x: Tensor) -> Tensor:
        answers = self.answers(x)
        first = {component: node for node, component in reversed(list(enumerate(self._component.tolist())))}
        return answers[..., list(first.values())].sum(-1)

    def measured_error(self, points: int = 2000, seed: int = 0) -> float:
        """The largest error at corners of the cube, on a grid, and at random points, at most `points` of each."""
        x = cube_points(self.composition.function.graph.num_nodes, points, seed)
        return float((self(x) - self.composition.function(x)).abs().max())

    def _upwards(self, x: Tensor) -> Tensor:
        """States of all tree nodes after the rounds from the leaves to the roots, shape (N, P)."""
        tree, composition = self.composition.htree, self.composition
        h = x.new_zeros(tree.num_nodes, len(x))
        leaves = tree.kappa >= 0
        h[leaves] = x.t()[tree.kappa[leaves]]
        for bag in composition.bags:
            below, network = list(composition.children[bag]), self.networks.get(bag)
            if network is not None:
                h[bag] = (network(h[below].t()) - network.low).relu()
            elif not leaves[below[0]]:
                h[bag] = h[below].sum(0).relu()
        return h

    @cached_property
    def _component(self) -> Tensor:
        """For every graph node, its tree in the forest."""
        tree = self.composition.htree
        leaves = tree.kappa >= 0
        component = torch.zeros(tree.num_graph_nodes, dtype=torch.int64)
        component[tree.kappa[leaves]] = tree.component[leaves]
        return component

    @cached_property
    def _minima(self) -> Tensor:
        minima = torch.zeros(self.composition.htree.num_components, dtype=torch.float64)
        for bag, network in self.networks.items():
            minima[self.composition.htree.component[bag]] += network.low
        return minima

    def _checked(self, x: Tensor) -> Tensor:
        self.composition.function.check(x)
        low, high = (float(bound) for bound in x.detach().aminmax()) if x.numel() else (0.0, 1.0)
        if not (low >= 0 and high <= 1):
            raise InputError(f"Expected features between 0 and 1; got {low} to {high}.")
        return x.reshape(x.shape[:-1].numel(), x.shape[-1]).double()

    def __repr__(self) -> str:
        return (
            f"Approximation(epsilon={self.epsilon}, error_bound={self.error_bound}, networks={len(self.networks)}, "
            f"num_parameters={self.num_parameters})"
        )


def approximate(
    function: CompatibleFunction,
    htree: HTree,
    epsilon: float,
    method: ApproximationMethod = "interpolate",
    *,
    max_parameters: int = 2_000_000,
) -> Approximation:
    r"""Builds networks on an H-tree that are within ε of a compatible function on :math:`[0, 1]^n`, in the sup norm.

    - `interpolate`: a `HatNetwork` for every clique. The errors of all cliques sum to less than ε, proven from the
      Lipschitz constants of the function. The grids are refined one cell at a time, each time where the error
      decreases most per added parameter.
    - `fit`: a `RidgeNetwork`, which has one hidden layer, for every clique, each with an equal share of ε. Its error is
      measured at tens of thousands of points, not proven.

    Args:
        function: a compatible function; `interpolate` needs its Lipschitz constants.
        htree: an H-tree of its graph.
        epsilon: the accuracy, above 0.
        method: one of the above.
        max_parameters: a larger network raises `ApproximationError` before it is built.

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> from neuraltrees.theory import naive_parameters
    >>> path = Graph([[0, 1], [1, 2]])
    >>> half_product = lambda x: x.prod(-1) / 2
    >>> f = CompatibleFunction(path, {(0, 1): half_product, (1, 2): half_product}, lipschitz=1.0)
    >>> g = approximate(f, build_htree(path), epsilon=0.1)
    >>> g.error_bound < 0.1, g.measured_error() < g.error_bound
    (True, True)
    >>> g.num_parameters, naive_parameters(f, epsilon=0.1)
    (5286, 118117)
    """
    check_accuracy(epsilon)
    if method not in get_args(ApproximationMethod):
        raise InputError(f"Expected a method out of {', '.join(get_args(ApproximationMethod))}; got {method!r}.")
    composition = Composition(function, htree)
    cliques = {bag: clique for bag in composition.bags if (clique := composition.clique(bag)) is not None}
    used = {bag: clique for bag, clique in cliques.items() if function.components(clique)}
    if method == "fit":
        share = epsilon / max(1, len(used))
        fitted: dict[int, RidgeNetwork] = {}
        left = max_parameters
        for bag, clique in used.items():
            fitted[bag] = RidgeNetwork.fit(function.theta(clique), len(clique), share, left)
            left -= fitted[bag].num_parameters
        return Approximation(composition, fitted, epsilon)
    parts = [(len(clique), slope_of(function, clique)) for clique in used.values()]
    cells = choose_cells(parts, epsilon, max_parameters)
    networks = {
        bag: HatNetwork.of(function.theta(clique), size, count, slope)
        for (bag, clique), (size, slope), count in zip(used.items(), parts, cells, strict=True)
    }
    return Approximation(composition, networks, epsilon)


def cube_points(dimension: int, count: int, seed: int) -> Tensor:
    """Points of the unit cube: corners, a grid, and random ones, at most `count` of each."""
    if dimension == 0:
        return torch.zeros(1, 0, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    corners = torch.randint(2, (count, dimension), generator=generator).double()
    if 2**dimension <= count:
        corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * dimension)
    side = int(count ** (1 / dimension))
    grid = torch.cartesian_prod(*[(torch.arange(side, dtype=torch.float64) + 0.5) / max(1, side)] * dimension)
    random = torch.rand(count, dimension, dtype=torch.float64, generator=generator)
    return torch.cat([part.reshape(-1, dimension) for part in (corners, grid, random)])
