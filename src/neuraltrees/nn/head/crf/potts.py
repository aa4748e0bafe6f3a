"""A network's probabilities corrected by the labels of neighbours: exact marginals of a Potts model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.inference.crf import Evidence, FactorTables, Solver, Structure
from neuraltrees.inference.crf.checks import check_limits, united

STEPS = 15  # steps of L-BFGS
BOUND = 4.0  # largest absolute strength of edges
LEAST = -100.0  # the log-probability used for zero


@dataclass(frozen=True)
class Strengths:
    """The three numbers of a Potts model on top of a network.

    Args:
        network: factor of the network's log-probabilities, above 0: one over their temperature.
        known: added to the score where a node has the label of a known neighbour.
        edge: added to the score where two unknown neighbours have the same label.
    """

    network: float = 1.0
    known: float = 0.0
    edge: float = 0.0


class PottsPosterior:
    r"""Corrects the probabilities of any network by the labels of neighbours, known and unknown:

    .. math:: p(y) \propto \exp\Bigl(a \sum_v \log p_v(y_v) + b_{known} \sum_{u known} [y_u = y_v]
        + b_{edge} \sum_{u, v unknown} [y_u = y_v]\Bigr)

    with sums over edges uv. The answers are exact marginals on sampled subgraphs of the unknown nodes, averaged; all
    edges to known nodes are kept. `fit` learns the three numbers from held-out labels; the network is not trained.

    Args:
        graph: one graph, a list of them, or PyG's `Data` or `Batch`; nodes of several follow one another.
        max_treewidth: treewidth of the sampled subgraphs; 1 for spanning forests, None for all edges, if the graph is
            narrow enough.
        samples: number of sampled subgraphs that are averaged; one without a `max_treewidth`.
        seed: seed of the samples.
        careful: whether `fit` sets the strengths of edges to zero, which leaves every predicted label unchanged, unless
            they raise the log-likelihood of the m held-out labels by more than log m (Bayesian information criterion).
            If false, answers gain a little more where neighbours matter and lose a little where they do not.
        memory_limit: bytes that tables may take; see `CRF`.

    Attributes:
        strengths: the numbers that `fit` learned; they can also be set directly.
        alone: the numbers without edges: the network's temperature only.
        gain: the number of nats by which the strengths of edges raised the log-likelihood of the held-out labels.

    Shapes: log_probabilities :math:`(n, C)`, known and y :math:`(n)`

    >>> posterior = PottsPosterior(Graph([[0, 1, 2], [1, 2, 3]]))
    >>> unsure = torch.tensor([[0.5, 0.5]] * 4).log()
    >>> known, held_out = torch.tensor([1, -1, -1, -1]), torch.tensor([-1, 1, 1, -1])
    >>> posterior = posterior.fit(unsure, known, held_out)
    >>> posterior(unsure, known).argmax(1).tolist()
    [1, 1, 1, 1]
    """

    def __init__(
        self,
        graph: Graph | Sequence[Graph] | Data,
        *,
        max_treewidth: int | None = 1,
        samples: int = 8,
        seed: int = 0,
        careful: bool = True,
        memory_limit: float | None = None,
    ) -> None:
        self.graph, self.owner, self.num_graphs = united(graph)
        samples = 1 if max_treewidth is None else samples
        self.limits = check_limits(None, max_treewidth, samples, seed, memory_limit)
        self.careful = careful
        self.strengths: Strengths | None = None
        self.alone: Strengths | None = None
        self.gain: float | None = None
        self._solvers: dict[tuple[int, torch.device], Solver] = {}

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    def __repr__(self) -> str:
        return (
            f"PottsPosterior(num_nodes={self.num_nodes}, num_edges={self.graph.num_edges}, "
            f"max_treewidth={self.limits.max_treewidth}, samples={self.limits.samples}, strengths={self.strengths})"
        )

    def fit(self, log_probabilities: Tensor, known: Tensor | None, y: Tensor) -> PottsPosterior:
        """Learns the three numbers by the mean negative log-likelihood of held-out labels given the known ones.

        A weak Gaussian prior keeps them finite where the labels say nothing about them. The same input gives the same
        numbers.

        Args:
            log_probabilities: log-probabilities or logits of the labels of every node, by a network that has not seen
                the held-out labels.
            known: known labels, usually those of the training nodes; -1 elsewhere.
            y: held-out labels, usually those of the validation nodes; -1 elsewhere.
        """
        case = self._case(log_probabilities, known)
        held_out = _labels("y", y, *case.network.shape).to(case.network.device)
        assert case.given.known is not None
        both = ((held_out >= 0) & (case.given.known >= 0)).nonzero()
        if len(both):
            raise InputError(
                f"Expected held-out labels in y only for nodes without a known label; node {int(both[0, 0])} has both."
            )
        nodes = (held_out >= 0).nonzero().flatten()
        if not len(nodes):
            raise InputError("Expected at least one held-out label in y, to learn from; got -1 everywhere.")
        target = held_out.index_select(0, nodes).unsqueeze(1)

        def likelihood(marginals: Tensor) -> Tensor:
            found = marginals.index_select(0, nodes).gather(1, target)
            return found.clamp(min=torch.finfo(found.dtype).tiny).log().mean()

        # Wider subgraphs keep more of the edges and differ less from each other: one is enough to fit.
        fewer = replace(case.given, plans=case.given.plans[: 2 if self.limits.max_treewidth == 1 else 1])
        alone, without = _maximise(
            lambda free: likelihood((free[0].exp() * case.network).softmax(1)), case.network.new_zeros(1), len(nodes)
        )
        start = torch.cat([alone, alone.new_full((2,), 0.3)])
        found, reached = _maximise(lambda free: likelihood(case.marginals(_numbers(free), fewer)), start, len(nodes))
        self.gain = len(nodes) * (reached - without)
        self.alone = Strengths(float(alone[0].exp()))
        self.strengths = Strengths(*_numbers(found).tolist())
        if self.careful and self.gain <= log(len(nodes)):
            self.strengths = self.alone
        return self

    @torch.no_grad()
    def __call__(self, log_probabilities: Tensor, known: Tensor | None = None) -> Tensor:
        """Probabilities of the labels of every node given the known ones; one-hot where a label is known.

        Shapes: → :math:`(n, C)`
        """
        if self.strengths is None:
            raise InputError("Expected strengths; got none. Call fit first, or set strengths=Strengths(…).")
        case = self._case(log_probabilities, known)
        given = self.strengths
        numbers = case.network.new_tensor([given.network, given.known, given.edge])
        return case.marginals(numbers, case.given)

    def _case(self, log_probabilities: Tensor, known: Tensor | None) -> _Case:
        """The input, checked, with the plans of inference."""
        network = _normalised(log_probabilities, self.num_nodes)
        if known is None:
            known = torch.full((self.num_nodes,), -1)
        known = _labels("known", known, *network.shape).to(network.device)
        key = (network.shape[1], network.device)
        if key not in self._solvers:
            labels = np.full(self.num_nodes, network.shape[1])
            index = np.zeros((self.graph.num_edges, 1), np.int64)
            structure = Structure.of(self.graph, labels, self.owner, self.num_graphs, index, 1)
            self._solvers[key] = Solver(structure, self.limits).to(network.device)
        return _Case.of(self._solvers[key], network, known)


@dataclass(frozen=True, eq=False)
class _Case:
    """A network's log-probabilities with known labels, and how many known neighbours of every node have each label.

    Shapes: network and neighbours :math:`(n, C)`
    """

    solver: Solver
    given: Evidence
    network: Tensor
    neighbours: Tensor

    @classmethod
    def of(cls, solver: Solver, network: Tensor, known: Tensor) -> _Case:
        same = torch.eye(network.shape[1], dtype=network.dtype, device=network.device).view(
            1, 1, *[network.shape[1]] * 2
        )
        tables = (FactorTables(same, solver.structure.index),)
        counts = solver.neighbours(torch.zeros_like(network).unsqueeze(0), tables, known).squeeze(0)
        return cls(solver, solver.given(known), network, counts)

    def marginals(self, numbers: Tensor, given: Evidence) -> Tensor:
        """The marginals of the nodes, averaged over the plans. Shapes: numbers :math:`(3)` → :math:`(n, C)`"""
        network, known, edge = numbers.unbind()
        # The solver adds known labels to their neighbours with strength `edge`; the rest of `known` is added here.
        unary = network * self.network + (known - edge) * self.neighbours
        table = edge * torch.eye(unary.shape[1], dtype=unary.dtype, device=unary.device)
        tables = (FactorTables(table.view(1, 1, *table.shape), self.solver.structure.index),)
        return self.solver.marginals(unary.unsqueeze(0), tables, given).squeeze(0)


def _numbers(free: Tensor) -> Tensor:
    """The three numbers, a factor above zero and two bounded strengths, as functions of unbounded parameters."""
    return torch.cat([free[:1].exp(), BOUND * (free[1:] / BOUND).tanh()])


def _maximise(likelihood: Callable[[Tensor], Tensor], start: Tensor, count: int) -> tuple[Tensor, float]:
    """The parameters of the largest mean log-likelihood of `count` labels, under a weak prior, and that likelihood."""
    free = start.detach().clone().requires_grad_()
    weight = torch.tensor([1.0, 0.1, 0.1], dtype=start.dtype, device=start.device)[: len(start)] / (2 * count)
    best, reached = start, -torch.inf
    optimiser = torch.optim.LBFGS(
        [free], max_iter=STEPS, history_size=8, tolerance_change=1e-6, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = (weight * free.square()).sum() - likelihood(free)
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]  # torch has no types here
    with torch.no_grad():
        for each in (start, free.detach()):
            value = float(likelihood(each))
            if value > reached:
                best, reached = each, value
    return best, reached


def _normalised(values: Any, count: int) -> Tensor:
    """Normalised log-probabilities per node, checked; finite for impossible labels."""
    if (
        not isinstance(values, Tensor)
        or not values.is_floating_point()
        or values.shape[:1] != (count,)
        or values.dim() != 2
    ):
        came = f"{values.dtype} of shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise InputError(f"Expected log_probabilities as floats of shape ({count}, labels); got {came}.")
    if values.shape[1] < 1:
        raise InputError("Expected log_probabilities of at least one label; got none.")
    wrong = (values.isnan() | (values == torch.inf)).nonzero()
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise InputError(
            f"Expected finite numbers or -inf in log_probabilities; got {float(values[place])} at {place}."
        )
    empty = (values == -torch.inf).all(1).nonzero()
    if len(empty):
        raise InputError(f"Expected a possible label for every node; all labels of node {int(empty[0, 0])} have -inf.")
    return values.detach().log_softmax(1).clamp(min=LEAST)


def _labels(name: str, values: Any, count: int, labels: int) -> Tensor:
    """A label or -1 for every node, checked."""
    good = isinstance(values, Tensor) and not values.is_floating_point() and values.dtype != torch.bool
    if not good or values.shape != (count,):
        came = f"{values.dtype} of shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise InputError(f"Expected {name} as integers, a label or -1 for each of {count} nodes; got {came}.")
    wrong = ((values < -1) | (values >= labels)).nonzero()
    if len(wrong):
        node = int(wrong[0, 0])
        raise InputError(f"Expected {name} from 0 to {labels - 1}, or -1; got {int(values[node])} at node {node}.")
    found: Tensor = values.long()
    return found
