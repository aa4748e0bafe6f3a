"""The probabilities of networks corrected by the labels of neighbours: exact marginals of a Potts model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.inference.crf import Evidence, FactorTables, Planned, Solver, Structure
from neuraltrees.inference.crf.checks import check_limits, united
from neuraltrees.nn.head.crf.probabilities import labels_of, normalised

STEPS = 15  # steps of L-BFGS
BOUND = 4.0  # largest absolute strength of edges
EXTREME = 10.0  # largest absolute logarithm of a factor; a step of L-BFGS that is too long ends here


@dataclass(frozen=True)
class Strengths:
    """The numbers of a Potts model on top of a network, or of several.

    Args:
        network: factor of the network's log-probabilities, above 0: one over their temperature.
        known: added to the score where a node has the label of a known neighbour.
        edge: added to the score where two unknown neighbours have the same label.
        others: factors of the log-probabilities of further networks.
    """

    network: float = 1.0
    known: float = 0.0
    edge: float = 0.0
    others: tuple[float, ...] = ()

    @classmethod
    def of(cls, factors: Tensor, known: float = 0.0, edge: float = 0.0, *, unused: int = 0) -> Strengths:
        """Strengths with a factor per network, and zero for so many further ones."""
        first, *others = factors.tolist()
        return cls(first, known, edge, (*others, *[0.0] * unused))

    @property
    def numbers(self) -> list[float]:
        """The factors of all networks, then those of known neighbours and of edges."""
        return [self.network, *self.others, self.known, self.edge]


class PottsPosterior:
    r"""Corrects the probabilities of any network by the labels of neighbours, known and unknown:

    .. math:: p(y) \propto \exp\Bigl(a \sum_v \log p_v(y_v) + b_{known} \sum_{u known} [y_u = y_v]
        + b_{edge} \sum_{u, v unknown} [y_u = y_v]\Bigr)

    with sums over edges uv. The answers are exact marginals on sampled subgraphs of the unknown nodes, averaged; all
    edges to known nodes are kept. `fit` learns the three numbers from held-out labels; the network is not trained.

    The log-probabilities can also be a list, those of several networks: each gets a factor of its own, and their
    weighted sum takes the place of the one. A second network that reads the features of a node alone, such as an MLP,
    often helps beside one that mixes them with its neighbours'.

    Args:
        graph: one graph, a list of them, or PyG's `Data` or `Batch`; nodes of several follow one another.
        max_treewidth: treewidth of the sampled subgraphs; 1 for spanning forests, None for all edges, if the graph is
            narrow enough.
        samples: number of sampled subgraphs that are averaged; one without a `max_treewidth`.
        seed: seed of the samples.
        careful: whether `fit` sets the strengths of edges to zero unless they raise the log-likelihood of m held-out
            labels by more than log m (Bayesian information criterion), and first the factors of further networks unless
            they raise it by more than half of that each; with all of these zero, every predicted label is that of the
            network. If false, answers gain a little more where these matter and lose a little where they do not.
        memory_limit: bytes that tables may take; see `CRF`.

    Attributes:
        strengths: the numbers that `fit` learned; they can also be set directly.
        alone: the numbers without edges: the factors of the networks only.
        gain: the number of nats by which the strengths of edges raised the log-likelihood of the held-out labels.

    Shapes: log_probabilities :math:`(n, C)` each, known and y :math:`(n)`

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

    def fit(self, log_probabilities: Tensor | Sequence[Tensor], known: Tensor | None, y: Tensor) -> PottsPosterior:
        """Learns the numbers by the mean negative log-likelihood of held-out labels given the known ones.

        A weak Gaussian prior keeps them finite where the labels say nothing about them. The same input gives the same
        numbers.

        Args:
            log_probabilities: log-probabilities or logits of the labels of every node, by a network that has not seen
                the held-out labels; or a list of those of several networks.
            known: known labels, usually those of the training nodes; -1 elsewhere.
            y: held-out labels, usually those of the validation nodes; -1 elsewhere.
        """
        case = self._case(log_probabilities, known)
        held_out = labels_of("y", y, *case.networks.shape[1:]).to(case.networks.device)
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
        fewer = replace(case.given, planned=Planned.of(case.given.plans[: 2 if self.limits.max_treewidth == 1 else 1]))
        weight = 1 / (2 * len(nodes))

        def weigh(networks: Tensor) -> tuple[Tensor, float]:
            """The logarithms of the factors of some networks, without edges, and the likelihood."""
            return _maximise(
                lambda free: likelihood(_pooled(networks, _factors(free)).softmax(1)),
                networks.new_zeros(len(networks)),
                networks.new_full((len(networks),), weight),
            )

        networks, penalty = case.networks, log(len(nodes))
        (alone, without), unused = weigh(networks), 0
        if self.careful and len(networks) > 1:
            first, reached = weigh(networks[:1])
            if len(nodes) * (without - reached) <= (len(networks) - 1) * penalty / 2:
                networks, alone, without, unused = networks[:1], first, reached, len(networks) - 1
        some = replace(case, networks=networks)
        found, reached = _maximise(
            lambda free: likelihood(some.marginals(_numbers(free), fewer)),
            torch.cat([alone, alone.new_full((2,), 0.3)]),
            torch.cat([torch.full_like(alone, weight), alone.new_full((2,), 0.1 * weight)]),
        )
        self.gain = len(nodes) * (reached - without)
        self.alone = Strengths.of(_factors(alone), unused=unused)
        self.strengths = Strengths.of(_numbers(found)[:-2], *_numbers(found)[-2:].tolist(), unused=unused)
        if self.careful and self.gain <= penalty:
            self.strengths = self.alone
        return self

    @torch.no_grad()
    def __call__(self, log_probabilities: Tensor | Sequence[Tensor], known: Tensor | None = None) -> Tensor:
        """Probabilities of the labels of every node given the known ones; one-hot where a label is known.

        Args:
            log_probabilities: of as many networks as in `fit`.
            known: known labels; -1 elsewhere.

        Shapes: → :math:`(n, C)`
        """
        if self.strengths is None:
            raise InputError("Expected strengths; got none. Call fit first, or set strengths=Strengths(…).")
        case = self._case(log_probabilities, known)
        count, given = 1 + len(self.strengths.others), len(case.networks)
        if count != given:
            raise InputError(
                f"Expected log_probabilities of as many networks as there are factors, {count}; got {given}."
            )
        return case.marginals(case.networks.new_tensor(self.strengths.numbers), case.given)

    def _case(self, log_probabilities: Tensor | Sequence[Tensor], known: Tensor | None) -> _Case:
        """The input, checked, with the plans of inference."""
        networks = _networks(log_probabilities, self.num_nodes)
        _, nodes, labels = networks.shape
        if known is None:
            known = torch.full((nodes,), -1)
        known = labels_of("known", known, nodes, labels).to(networks.device)
        key = (labels, networks.device)
        if key not in self._solvers:
            counts, index = np.full(nodes, labels), np.zeros((self.graph.num_edges, 1), np.int64)
            structure = Structure.of(self.graph, counts, self.owner, self.num_graphs, index, 1)
            self._solvers[key] = Solver(structure, self.limits).to(networks.device)
        return _Case.of(self._solvers[key], networks, known)


@dataclass(frozen=True, eq=False)
class _Case:
    """Log-probabilities of networks with known labels, and how many known neighbours of every node have each label.

    Shapes: networks :math:`(M, n, C)`, neighbours :math:`(n, C)`
    """

    solver: Solver
    given: Evidence
    networks: Tensor
    neighbours: Tensor

    @classmethod
    def of(cls, solver: Solver, networks: Tensor, known: Tensor) -> _Case:
        labels = networks.shape[2]
        same = torch.eye(labels, dtype=networks.dtype, device=networks.device).view(1, 1, labels, labels)
        tables = (FactorTables(same, solver.structure.index),)
        counts = solver.neighbours(torch.zeros_like(networks[:1]), tables, known).squeeze(0)
        return cls(solver, solver.given(known), networks, counts)

    def marginals(self, numbers: Tensor, given: Evidence) -> Tensor:
        """The marginals of the nodes, averaged over the plans. Shapes: numbers :math:`(M + 2)` → :math:`(n, C)`"""
        known, edge = numbers[-2:].unbind()
        # The solver adds known labels to their neighbours with strength `edge`; the rest of `known` is added here.
        unary = _pooled(self.networks, numbers[:-2]) + (known - edge) * self.neighbours
        table = edge * torch.eye(unary.shape[1], dtype=unary.dtype, device=unary.device)
        tables = (FactorTables(table.view(1, 1, *table.shape), self.solver.structure.index),)
        return self.solver.marginals(unary.unsqueeze(0), tables, given).squeeze(0)


def _networks(log_probabilities: Tensor | Sequence[Tensor], nodes: int) -> Tensor:
    """The log-probabilities of all networks, checked. Shapes: → :math:`(M, n, C)`"""
    if isinstance(log_probabilities, list | tuple):
        if not log_probabilities:
            raise InputError("Expected log_probabilities of at least one network; got an empty list.")
        found = [normalised(each, nodes) for each in log_probabilities]
        for each in found[1:]:
            if each.shape != found[0].shape:
                raise InputError(
                    f"Expected log_probabilities of the same labels by all networks; got {found[0].shape[1]} and "
                    f"{each.shape[1]} labels."
                )
        return torch.stack([each.to(found[0]) for each in found])
    return normalised(log_probabilities, nodes).unsqueeze(0)


def _pooled(networks: Tensor, factors: Tensor) -> Tensor:
    """The weighted sum of log-probabilities.

    Shapes: networks :math:`(M, n, C)`, factors :math:`(M)` → :math:`(n, C)`
    """
    return (factors.view(-1, 1, 1) * networks).sum(0)


def _numbers(free: Tensor) -> Tensor:
    """The numbers, factors above zero and two bounded strengths, as functions of unbounded parameters."""
    return torch.cat([_factors(free[:-2]), BOUND * (free[-2:] / BOUND).tanh()])


def _factors(free: Tensor) -> Tensor:
    """Factors above zero as functions of unbounded parameters."""
    return free.clamp(-EXTREME, EXTREME).exp()


def _maximise(likelihood: Callable[[Tensor], Tensor], start: Tensor, weight: Tensor) -> tuple[Tensor, float]:
    """The parameters of the largest mean log-likelihood, with a weight of the square of each; and that likelihood."""
    free = start.detach().clone().requires_grad_()
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
