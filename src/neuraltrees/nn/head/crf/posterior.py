"""A conditional random field on top of the probabilities of any model, learned from cross-fitted ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.inference.crf import FactorTables, Tables
from neuraltrees.inference.crf.checks import check_limits
from neuraltrees.nn.head.crf.head import CRFHead
from neuraltrees.nn.head.crf.lessons import Field
from neuraltrees.nn.head.crf.probabilities import labels_of, normalised

STEPS = 60  # steps of L-BFGS
SCALE_PRIOR, BIAS_PRIOR = 1.0, 10.0  # precisions of the factors of the log-probabilities, and of the biases of labels


@dataclass(frozen=True, eq=False)
class _Weights:
    """What is learned beside the tables: a factor of the log-probabilities and a bias per label, for each node type;
    and the frequencies of labels, which smooth the probabilities.

    Shapes: scale :math:`(K)`, bias and frequency :math:`(K, C)`
    """

    scale: Tensor
    bias: Tensor
    frequency: Tensor


class CRFPosterior:
    r"""Corrects the probabilities of any model by the labels of neighbours, known and unknown:

    .. math:: p(y) \propto \exp\Bigl(\sum_v (a \log q_v(y_v) + b_{y_v})
        + \sum_{uv \in E} θ_{uv}(y_u, y_v)\Bigr)

    with the tables θ_uv of `CRFHead`: one per pair of node types, mixed by the features of the edge if it has any.
    The answers are exact marginals given the known labels. Where `PottsPosterior` learns three numbers, this learns
    which labels are found side by side.

    `fit` learns the factor a, the biases and the tables from training labels: every label given those of its
    neighbours (pseudo-likelihood), with normal priors. A model is surer about labels that it was trained on than about
    others, and tables that are learned on top of such probabilities would be too weak: give it those of `cross_fit`.
    The model should read the features of a node alone, not labels of its neighbours, which would count twice.

    Args:
        data: a graph or a batch of graphs, with `node_type` if there are several types, and `edge_attr` if tables are
            to depend on features of edges; these should have mean 0 and standard deviation 1.
        labels: number of labels, or the number for each node type, such as `{"room": 15, "object": 35}`.
        prior: precision of the normal prior of the entries of tables.
        gate_prior: the same for tables that are weighted by features of edges.
        smoothing: the share ε of label frequencies in the smoothed probabilities :math:`q = (1 - ε) p + ε f`.
        states, max_treewidth, samples, memory_limit: bounds of inference on wide graphs; see `CRF`.

    Attributes:
        tables: the learned tables of pairs of node types, before those that are weighted by features of edges.
        scale: the learned factor of the log-probabilities, for each node type.

    Shapes: log_probabilities :math:`(n, C)`, known and y :math:`(n)`; tables :math:`(T, C, C)`

    >>> ring = Data(edge_index=torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]), num_nodes=6)
    >>> y, unsure = torch.tensor([0, 1, 0, 1, -1, -1]), torch.full((6, 2), 0.5).log()
    >>> posterior = CRFPosterior(ring, 2, prior=0.1).fit(unsure, y)
    >>> posterior(unsure, y).argmax(1).tolist()
    [0, 1, 0, 1, 0, 1]
    """

    def __init__(
        self,
        data: Data,
        labels: int | Mapping[str, int],
        *,
        prior: float = 5.0,
        gate_prior: float = 20.0,
        smoothing: float = 0.1,
        states: int | None = None,
        max_treewidth: int | None = None,
        samples: int = 1,
        memory_limit: float | None = None,
    ) -> None:
        for name, value in (("prior", prior), ("gate_prior", gate_prior)):
            if not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise InputError(f"Expected {name} above 0; got {value!r}.")
        if not isinstance(smoothing, int | float) or not 0 < smoothing < 1:
            raise InputError(f"Expected smoothing between 0 and 1; got {smoothing!r}.")
        for each in labels.values() if isinstance(labels, Mapping) else [labels]:
            check_at_least("labels", each, 1)
        check_limits(states, max_treewidth, samples, 0, memory_limit)
        self.prior, self.gate_prior, self.smoothing = float(prior), float(gate_prior), float(smoothing)
        self.edge_attr = _edge_features(data)
        self.head = CRFHead(
            1,
            labels,
            edge_channels=None if self.edge_attr is None else self.edge_attr.shape[1],
            states=states,
            max_treewidth=max_treewidth,
            samples=samples,
            memory_limit=memory_limit,
        )
        torch.nn.init.zeros_(self.head.pairs.table)
        self.head.requires_grad_(False)
        self.field: Field = self.head.field(data)
        kinds = torch.zeros(self.num_nodes, dtype=torch.int64)
        if len(self.head.labels) > 1 and self.field.places.node_type is not None:
            kinds = self.field.places.node_type.cpu().long()
        self.kinds = kinds
        self.possible = torch.arange(max(self.head.labels)) < torch.tensor(self.head.labels)[kinds].unsqueeze(1)
        self._weights: _Weights | None = None

    @property
    def num_nodes(self) -> int:
        return self.field.solver.structure.num_nodes

    @property
    def tables(self) -> Tensor:
        self._learned()
        (of_edges,) = self._tables(self.head.pairs.table)
        return of_edges.tables[0, : self.head.pairs.num_bases].detach()

    @property
    def scale(self) -> Tensor:
        return self._learned().scale

    def __repr__(self) -> str:
        counts = dict(self.head.node.classes)
        labels = next(iter(counts.values())) if len(counts) == 1 else counts
        return (
            f"CRFPosterior(num_nodes={self.num_nodes}, labels={labels}, prior={self.prior:g}, "
            f"gate_prior={self.gate_prior:g}, smoothing={self.smoothing:g}, fitted={self._weights is not None})"
        )

    def fit(self, log_probabilities: Tensor, y: Tensor) -> CRFPosterior:
        """Learns from labels. The same input gives the same weights.

        Args:
            log_probabilities: log-probabilities or logits of the labels of every node; those of a labelled node by a
                model that was not trained on its label, see `cross_fit`.
            y: the labels to learn from, usually of the training nodes; -1 elsewhere.
        """
        probabilities, labels = self._checked(log_probabilities, "y", y)
        nodes = (labels >= 0).nonzero().flatten()
        if not len(nodes):
            raise InputError("Expected at least one label in y, to learn from; got -1 everywhere.")
        start = self._start(probabilities, labels)
        network = self._smoothed(probabilities, start)
        pairs = self.head.pairs.to(probabilities.dtype)
        scale, bias, table = free = [start.scale.clone(), start.bias.clone(), torch.zeros_like(pairs.table)]
        precision = torch.full((len(table), 1, 1), self.gate_prior).to(table)
        precision[: pairs.num_bases] = self.prior
        target = labels.index_select(0, nodes).unsqueeze(1)
        optimiser = torch.optim.LBFGS(
            [each.requires_grad_() for each in free], max_iter=STEPS, history_size=10, line_search_fn="strong_wolfe"
        )

        def closure() -> Tensor:
            optimiser.zero_grad()
            unary = self._unary(network, scale, bias).unsqueeze(0)
            scores = self.field.solver.neighbours(unary, self._tables(table), labels).squeeze(0)
            likelihood = scores.index_select(0, nodes).log_softmax(1).gather(1, target).sum()
            penalty = SCALE_PRIOR * (scale - 1).square().sum() + BIAS_PRIOR * bias.square().sum()
            loss = ((penalty + (precision * table.square()).sum()) / 2 - likelihood) / len(nodes)
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
            return loss

        optimiser.step(closure)  # type: ignore[no-untyped-call]  # torch has no types here
        pairs.table.copy_(table.detach())
        self._weights = _Weights(scale.detach(), bias.detach(), start.frequency)
        return self

    @torch.no_grad()
    def __call__(self, log_probabilities: Tensor, known: Tensor | None = None) -> Tensor:
        """Probabilities of the labels of every node given the known ones; one-hot where a label is known.

        Shapes: → :math:`(n, C)`
        """
        weights = self._learned()
        known = torch.full((self.num_nodes,), -1) if known is None else known
        probabilities, labels = self._checked(log_probabilities, "known", known)
        weights = _Weights(*(each.to(probabilities) for each in (weights.scale, weights.bias, weights.frequency)))
        unary = self._unary(self._smoothed(probabilities, weights), weights.scale, weights.bias)
        tables = self._tables(self.head.pairs.table.to(unary))
        solver = self.field.solver
        return solver.marginals(unary.unsqueeze(0), tables, solver.given(labels)).squeeze(0)

    def _learned(self) -> _Weights:
        if self._weights is None:
            raise InputError("Expected a posterior that has learned; call fit first.")
        return self._weights

    def _checked(self, log_probabilities: Any, name: str, labels: Any) -> tuple[Tensor, Tensor]:
        """Probabilities of the labels that each node can have, and the labels."""
        found = normalised(log_probabilities, self.num_nodes).cpu()
        if found.shape[1] != self.possible.shape[1]:
            raise InputError(f"Expected log_probabilities of {self.possible.shape[1]} labels; got {found.shape[1]}.")
        labels = labels_of(name, labels, *found.shape).cpu()
        wrong = ((labels >= 0) & ~self.possible.gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1)).nonzero()
        if len(wrong):
            node = int(wrong[0, 0])
            most = int(self.possible[node].sum()) - 1
            raise InputError(f"Expected {name} from 0 to {most}, or -1; got {int(labels[node])} at node {node}.")
        return found.masked_fill(~self.possible, -torch.inf).softmax(1), labels

    def _start(self, probabilities: Tensor, labels: Tensor) -> _Weights:
        """The weights before learning."""
        count = torch.zeros(len(self.head.labels), probabilities.shape[1], dtype=probabilities.dtype)
        known = labels >= 0
        count.index_put_((self.kinds[known], labels[known]), probabilities.new_ones(()), accumulate=True)
        # Half a node more of every label: one that was never seen remains possible.
        own = torch.arange(count.shape[1]) < torch.tensor(self.head.labels).unsqueeze(1)
        count = (count + 0.5) * own
        return _Weights(count.new_ones(len(count)), torch.zeros_like(count), count / count.sum(1, keepdim=True))

    def _smoothed(self, probabilities: Tensor, weights: _Weights) -> Tensor:
        """Logarithms of the smoothed probabilities, zero for labels that a node cannot have."""
        mixed = (1 - self.smoothing) * probabilities + self.smoothing * weights.frequency[self.kinds]
        return torch.where(self.possible, mixed, 1.0).log()

    def _unary(self, network: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        own = network * scale[self.kinds].unsqueeze(1) + bias[self.kinds]
        return own.masked_fill(~self.possible, -torch.inf)

    def _tables(self, table: Tensor) -> Tables:
        features = None if self.edge_attr is None else self.edge_attr.to(table)
        of_edges: FactorTables = torch.func.functional_call(
            self.head.pairs, {"table": table}, (self.field.pairs, features)
        )
        return (of_edges,)


def _edge_features(data: Any) -> Tensor | None:
    if not isinstance(data, Data):
        raise InputError(f"Expected a torch_geometric Data or Batch; got {type(data).__name__}.")
    found: Tensor | None = data.get("edge_attr")
    if found is None:
        return None
    found = found.detach().cpu()
    return found.unsqueeze(1) if found.dim() == 1 else found
