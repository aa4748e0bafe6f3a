"""A conditional random field on top of a network, with exact inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.inference.crf import Evidence, Limits, Solver, Structure, Tables
from neuraltrees.inference.crf.solver import GPU_CHUNK
from neuraltrees.nn.ensemble.precision import full_precision
from neuraltrees.nn.head.crf.lessons import Field, Learning, Lesson, checked_labels, hide
from neuraltrees.nn.head.crf.pairs import Pairs
from neuraltrees.nn.head.crf.parts import Gathering, Parted
from neuraltrees.nn.head.crf.triangles import Triangles
from neuraltrees.nn.head.head import Head, Places
from neuraltrees.nn.head.node import NodeHead
from neuraltrees.nn.parallel import Part


class CRFHead(Head):
    r"""Log-marginals :math:`\log p(y_v \mid x, y_{known})` of

    .. math:: p(y \mid x) \propto \exp\Bigl(\sum_v θ_v(y_v; h_v) + \sum_{uv \in E} θ_{uv}(y_u, y_v)\Bigr)

    where a linear layer per node type computes θ_v from the states, and θ_uv is a table per pair of node types, or a
    mixture of tables by the features of the edge. With `triangles`, a table per triple of node types is added for every
    three nodes that are joined with each other. Inference is exact, on the subgraph of the nodes whose labels are not
    known.

    Args:
        in_channels: size of the states.
        out_channels: number of labels, or the number for each node type.
        runs: number of independent runs.
        edge_channels: number of features per edge; None where edges have none.
        learning: the loss: "pseudo", the likelihood of every label given the known labels of its neighbours, which
            needs no inference; "marginal", the exact marginals of randomly hidden labels given the others; or
            "likelihood", the joint likelihood of all labels.
        apart: whether θ_v is trained as if there were no edges, and the tables on top of it; else all are trained
            together.
        exact_share: share of the epochs, the last ones, that train by exact inference; the epochs before use "pseudo",
            which is much faster.
        hidden: for "marginal", the share of the training labels that a lesson hides.
        masks: for "marginal", the number of random choices of hidden labels, used one after another.
        relations: number of edge types (`edge_type`) with tables of their own.
        gates: number of tables that are mixed by the features of edges, through a linear layer and tanh; by default one
            per feature, through tanh of the feature itself.
        rank: rank of the tables, for many labels; None for full tables.
        triangles: whether to learn tables of triangles, of (labels)^3 entries.
        states, max_treewidth, samples: bounds of inference on wide graphs; see `CRF`.
        memory_limit: bytes that tables may take; see `CRF`.

    Shapes: :math:`(n, *, F) → (n, *, C)`, where C is the largest number of labels; minus infinity for labels that a
    node's type does not have
    """

    reads_labels = True
    reads_edges = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int | Mapping[str, int],
        runs: int | None = None,
        *,
        edge_channels: int | None = None,
        learning: Learning = "pseudo",
        apart: bool = False,
        exact_share: float = 0.25,
        hidden: float = 0.5,
        masks: int = 8,
        relations: int = 1,
        gates: int | None = None,
        rank: int | None = None,
        triangles: bool = False,
        states: int | None = None,
        max_treewidth: int | None = None,
        samples: int = 1,
        memory_limit: float | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, runs)
        if learning not in get_args(Learning):
            raise InputError(f"Expected learning out of {', '.join(get_args(Learning))}; got {learning!r}.")
        for name, share in (("hidden", hidden), ("exact_share", exact_share)):
            if not isinstance(share, int | float) or not 0 < share <= 1:
                raise InputError(f"Expected {name} above 0 and up to 1; got {share!r}.")
        for name, value in (("masks", masks), ("relations", relations), ("gates", gates), ("rank", rank)):
            if value is not None:
                check_at_least(name, value, 1)
        self.learning, self.apart, self.exact_share = learning, apart, exact_share
        self.hidden, self.masks = hidden, masks
        self.limits = Limits(states, max_treewidth, samples, 0, memory_limit)
        self.node = NodeHead(in_channels, out_channels, runs)
        self.labels = tuple(self.node.classes.values())
        self.pairs = Pairs(self.labels, runs, relations, edge_channels, gates, rank)
        self.triangles = Triangles(self.labels, runs) if triangles else None

    @property
    def capturable(self) -> bool:
        """Whether a step may be captured as a CUDA graph; always, since its work depends on no values."""
        return True

    def plan(self, data: Data, known: Tensor | None = None) -> Field:
        """Plans inference for a graph or a batch of graphs, given known labels.

        Args:
            data: a graph with `edge_index`, and with `node_type` if there are several types.
            known: labels, -1 where they are not known; the same for all runs, or one column per run.

        Shapes: known :math:`(n)` or :math:`(n, R)`
        """
        field = self.field(data)
        if known is None:
            return _given(field, None)
        return _given(field, self._checked(known, _types(field.places.node_type, len(known), len(self.labels))))

    def field(self, data: Data) -> Field:
        """The plan without what depends on known labels."""
        places = Places.of(data)
        graph = Graph(data.edge_index, num_nodes=int(data.num_nodes))
        kinds = _types(places.node_type, graph.num_nodes, len(self.labels))
        pairs = self.pairs.plan(data, graph, kinds)
        owner = np.zeros(graph.num_nodes, np.int64) if places.graph is None else places.graph.cpu().numpy()
        structure = Structure.of(
            graph,
            np.array(self.labels)[kinds],
            owner,
            places.num_graphs,
            pairs.index.numpy(),
            self.pairs.num_tables,
            self.pairs.weighted,
            () if self.triangles is None else (self.triangles.plan(graph, kinds),),
        )
        # A GPU is fastest with few large operations, a CPU with tables that stay in its caches.
        large = GPU_CHUNK if next(self.parameters()).is_cuda else None
        return Field(places, Solver(structure, replace(self.limits, chunk_entries=large)), pairs)

    def lessons(self, data: Data, known: Tensor, seeds: Sequence[int]) -> list[Lesson]:
        """The lessons made of the training labels; see `turn`.

        Args:
            data: a graph or a batch of graphs.
            known: the training labels of every run, -1 elsewhere.
            seeds: the seed of every run, for the choice of hidden labels.

        Shapes: known :math:`(n, R)`
        """
        field = self.field(data)
        labels = self._checked(known, _types(field.places.node_type, len(known), len(self.labels)))
        first = Lesson("pseudo", replace(field, given=Evidence(labels)), labels, torch.ones(labels.shape))
        if self.learning == "pseudo":
            return [first]
        if self.learning == "likelihood":
            unseen = _without_targets(labels, field)
            given = torch.where(labels >= 0, labels, unseen)
            more = [
                Lesson("likelihood", _given(field, unseen), labels, _per_graph(labels, field), _given(field, given))
            ]
        else:
            more = [
                self._marginal(field, labels, hide(labels, self.hidden, number, seeds))
                for number in range(self.masks if self.hidden < 1 else 1)
            ]
        return [*more] if self.exact_share == 1 else [first, *more]

    def _marginal(self, field: Field, labels: Tensor, shown: Tensor) -> Lesson:
        target = torch.where(shown >= 0, -1, labels)
        shown = torch.where(shown >= 0, shown, _without_targets(target, field))
        count, all_labels = (target >= 0).sum(1, keepdim=True), (labels >= 0).sum(1, keepdim=True)
        return Lesson("marginal", _given(field, shown), target, (all_labels / count.clamp(min=1)).expand(labels.shape))

    def turn(self, done: int, epochs: int, lessons: int) -> int:
        """The number of the lesson of the next epoch, after `done`: first pseudo-likelihood, then the exact lessons."""
        if self.exact_share == 1 or lessons == 1:
            return done % lessons
        start = round((1 - self.exact_share) * epochs)
        return 0 if done < start else 1 + (done - start) % (lessons - 1)

    def part(self, data: Data, part: Part, known: Tensor | None = None) -> Parted[Field]:
        self._check_parts()
        return Gathering.of(data, part).parted(self.plan(data, known))

    def part_lessons(self, data: Data, part: Part, known: Tensor, seeds: Sequence[int]) -> list[Parted[Lesson]]:
        self._check_parts()
        gathering = Gathering.of(data, part)
        return [gathering.parted(each) for each in self.lessons(data, known, seeds)]

    def _check_parts(self) -> None:
        if self.pairs.weighted:
            raise InputError(
                "Expected a CRF head whose tables do not depend on features of edges, to compute in parts; got one "
                "with edge_channels. Set edge_features=False, or use one process."
            )

    @full_precision
    def forward(self, h: Tensor, places: Field | Parted[Field], edge_attr: Tensor | None = None) -> Tensor:
        field = places.whole if isinstance(places, Parted) else places
        unary, tables = self.potentials(h, places, edge_attr)
        check = not _capturing(h)
        marginals = field.solver.marginals(unary, tables, field.given, check)
        answers = _own(self._logarithm(marginals, unary).transpose(0, 1), places)
        return answers if self.runs is not None else answers.squeeze(1)

    @full_precision
    def loss(self, h: Tensor, given: Lesson | Parted[Lesson], edge_attr: Tensor | None = None) -> Tensor:
        """The loss of every node, zero where the lesson has no label. Shapes: → :math:`(n, R)`"""
        lesson = given.whole if isinstance(given, Parted) else given
        unary, tables = self.potentials(h, given if isinstance(given, Parted) else lesson.field, edge_attr)
        own = unary.detach() if self.apart else unary
        if lesson.kind == "likelihood":
            losses = self._joint(own, tables, lesson)
        else:
            losses = _cross_entropy(self._answers(own, tables, lesson), lesson.labels)
        if self.apart:
            losses = losses + _cross_entropy(unary.log_softmax(-1), lesson.labels)
        return _own((losses * lesson.scale).transpose(0, 1), given)

    def _answers(self, unary: Tensor, tables: Tables, lesson: Lesson) -> Tensor:
        field = lesson.field
        if lesson.kind == "pseudo":
            assert field.given.known is not None
            return field.solver.neighbours(unary, tables, field.given.known, all_nodes=False).log_softmax(-1)
        found = field.solver.marginals(unary, tables, field.given, check=not _capturing(unary))
        return self._logarithm(found, unary)

    def _joint(self, unary: Tensor, tables: Tables, lesson: Lesson) -> Tensor:
        """The negative log-likelihood of a graph, repeated at each of its labelled nodes; `scale` averages it."""
        assert lesson.given is not None
        free, given = (
            field.solver.log_partition(unary, tables, field.given, check=not _capturing(unary))
            for field in (lesson.field, lesson.given)
        )
        graph = lesson.field.places.graph
        nodes = (
            (free - given).index_select(1, graph) if graph is not None else (free - given).expand(-1, unary.shape[1])
        )
        return nodes * (lesson.labels >= 0)

    def potentials(
        self, h: Tensor, field: Field | Parted[Any], edge_attr: Tensor | None = None
    ) -> tuple[Tensor, Tables]:
        """The potentials of all nodes, and the tables of edges, then of triangles. Shapes: → :math:`(R, n, C)`"""
        unary = self.node(h, field.places)
        unary = unary.unsqueeze(1) if unary.dim() == 2 else unary
        if isinstance(field, Parted):
            unary = field.gathered(unary)
            field = field.whole.field if isinstance(field.whole, Lesson) else field.whole
        tables: Tables = (self.pairs(field.pairs, edge_attr),)
        if self.triangles is not None:
            tables += (self.triangles(field.solver.structure.factors[1].index),)
        return unary.transpose(0, 1), tables

    def _logarithm(self, marginals: Tensor, unary: Tensor) -> Tensor:
        """Logarithms, finite where rounding gave zero; minus infinity for labels that a node does not have."""
        least = torch.finfo(marginals.dtype).tiny
        return marginals.clamp(min=least).log().masked_fill(unary == -torch.inf, -torch.inf)

    def _checked(self, known: Tensor, kinds: Any) -> Tensor:
        """The known labels by run. Shapes: :math:`(n)` or :math:`(n, R)` → :math:`(n)` or :math:`(R, n)`"""
        labels = checked_labels(known, torch.from_numpy(np.array(self.labels)[kinds]), self.runs)
        return labels if labels.dim() == 1 else labels.t().contiguous()


def _own(rows: Tensor, places: Any) -> Tensor:
    """The rows that a process answers for. Shapes: :math:`(n, *) → (n', *)`"""
    return rows.index_select(0, places.own) if isinstance(places, Parted) else rows


def _given(field: Field, known: Tensor | None) -> Field:
    return replace(field, given=field.solver.given(known))


def _types(node_type: Tensor | None, count: int, types: int) -> Any:
    if node_type is None or types == 1:
        return np.zeros(count, np.int64)
    return node_type.cpu().numpy()


def _without_targets(labels: Tensor, field: Field) -> Tensor:
    """Zero in graphs without a label to predict, as if all were known, so that nothing is computed there; else -1.

    Shapes: :math:`(R, n)` → :math:`(R, n)`
    """
    return torch.where(_per_graph(labels, field, least=0).isinf(), 0, -1)


def _per_graph(labels: Tensor, field: Field, least: int = 1) -> Tensor:
    """One over the number of labelled nodes in the graph of every node. Shapes: :math:`(R, n)`"""
    graph = field.places.graph
    owner = torch.zeros(labels.shape[1], dtype=torch.int64) if graph is None else graph.cpu()
    known = (labels >= 0).float()
    count = torch.zeros(len(labels), field.places.num_graphs).index_add(1, owner, known)
    return 1 / count.index_select(1, owner).clamp(min=least)


def _cross_entropy(answers: Tensor, labels: Tensor) -> Tensor:
    """Zero where there is no label. Shapes: :math:`(R, n, C)`, :math:`(R, n)` → :math:`(R, n)`"""
    found = -answers.gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2)
    return torch.where(labels >= 0, found, 0.0)


def _capturing(tensor: Tensor) -> bool:
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()
