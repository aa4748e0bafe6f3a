"""Conditional random fields on any graph of small treewidth, as a layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.inference.crf.case import Case
from neuraltrees.inference.crf.checks import (
    check_labels,
    check_limits,
    check_numbers,
    check_together,
    known_labels,
    united,
)
from neuraltrees.inference.crf.cliques import CliqueNodes, CliqueTables, Kind, match_tables, sort_cliques
from neuraltrees.inference.crf.entropy import entropy
from neuraltrees.inference.crf.solver import CRFAnswer, Solver
from neuraltrees.inference.crf.structure import Structure
from neuraltrees.inference.crf.tables import FactorTables
from neuraltrees.inference.forest import Forest
from neuraltrees.inference.forest.factors import integers


class CRF:
    r"""Exact inference for labels of nodes that depend on the labels of their neighbours:

    .. math:: p(y) \propto
        \exp\Bigl(\sum_v \theta_v(y_v) + \sum_{uv \in E} \theta_{uv}(y_u, y_v) + \sum_c \theta_c(y_c)\Bigr)

    with an optional sum over cliques c of three or more nodes. A tree decomposition is computed once for a graph, or a
    batch of graphs, and once for every mask of known labels: known labels are folded into the potentials of their
    neighbours, and only the subgraph of the other nodes is decomposed. Answers are differentiable in all potentials, on
    CPU and GPU.

    Args:
        graph: one graph, a list of them, or PyG's `Data` or `Batch`; nodes of several follow one another.
        labels: number of labels, one for all nodes or one per node; by default the number that the potentials have.
        relation: the number of the table of every edge, in the order of `edges`.
        cliques: tuples of three or more nodes that have a table together; they need not be joined by edges, but the
            decomposition joins them. Sizes may differ.
        clique_relation: the number of the table of every clique, in the given order; counted apart for each size.
        states: if tables would be too large: the number of labels to keep per node, the most probable ones by its own
            potentials and its known neighbours. The others get probability 0.
        max_treewidth: if the graph is too wide: the treewidth of a sampled subgraph to use instead, with the cliques
            inside it.
        samples: number of sampled subgraphs over which marginals and log Z are averaged.
        seed: seed of the samples.
        memory_limit: bytes that tables may take; by default half of the memory of the machine, or of the GPU. Graphs
            that do not fit together are computed one after another; a single graph that does not fit raises
            `ModelTooLargeError`.

    Shapes: unary :math:`(*B, n, C)`, whose entries beyond the labels of a node are not read; pairwise :math:`(C, C)`
    for all edges, :math:`(T, C, C)` by `relation`, or :math:`(E, C, C)` by edge, also with the batch before it; entries
    :math:`(y_u, y_v)` of `edges`, u < v; cliques of size r :math:`(C, …, C)` for all of them, :math:`(T, C, …, C)` by
    `clique_relation`, or :math:`(F, C, …, C)` by clique, also with the batch before it; r axes, in the order of the
    clique's nodes. With several sizes they are a dict of size and tensor.

    >>> chain = CRF(Graph([[0, 1], [1, 2]]))
    >>> unary, alike = torch.zeros(3, 2), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> known = torch.tensor([1, -1, -1])
    >>> [round(p, 3) for p in chain(unary, alike, known).marginals[:, 1].tolist()]
    [1.0, 0.731, 0.607]
    >>> chain.map(unary, alike, known).tolist()
    [1, 1, 1]
    >>> all_three = torch.zeros(2, 2, 2)
    >>> all_three[1, 1, 1] = 1.0
    >>> answer = CRF(Graph([[0, 1], [1, 2]]), cliques=[(0, 1, 2)])(unary, alike, known, cliques=all_three)
    >>> [round(p, 3) for p in answer.marginals[:, 1].tolist()]
    [1.0, 0.86, 0.795]
    """

    def __init__(
        self,
        graph: Graph | Sequence[Graph] | Data,
        labels: int | Sequence[int] | npt.ArrayLike | Tensor | None = None,
        *,
        relation: Sequence[int] | npt.ArrayLike | Tensor | None = None,
        cliques: CliqueNodes | None = None,
        clique_relation: Sequence[int] | npt.ArrayLike | Tensor | None = None,
        states: int | None = None,
        max_treewidth: int | None = None,
        samples: int = 1,
        seed: int = 0,
        memory_limit: float | None = None,
    ) -> None:
        self.graph, self.owner, self.num_graphs = united(graph)
        self.limits = check_limits(states, max_treewidth, samples, seed, memory_limit)
        edges = self.graph.num_edges
        self._relation = None if relation is None else integers("relation", relation, edges, 0)
        self._cliques = sort_cliques(cliques, clique_relation, self.owner)
        if labels is not None and not isinstance(labels, int | np.integer):
            labels = integers("labels", labels, self.num_nodes, 1)
        self._labels: Any = labels
        self._device = torch.device("cpu")
        self._solvers: dict[tuple[int, tuple[Kind, ...]], Solver] = {}
        self._missing: dict[int, list[tuple[int, Tensor]]] = {}

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def edges(self) -> Tensor:
        """Both ends of every edge, the lower number first. Shapes: :math:`(2, E)`"""
        return torch.from_numpy(np.stack(self.graph._upper_edges())).to(self._device)

    @property
    def cliques(self) -> dict[int, Tensor]:
        """The nodes of the cliques by size, in the order of their tables. Shapes: :math:`(F, r)` each"""
        return {each.size: torch.from_numpy(each.nodes).to(self._device) for each in self._cliques}

    def to(self, device: torch.device | str) -> CRF:
        """The same with its indices on a device."""
        there = CRF.__new__(CRF)
        there.__dict__.update(self.__dict__)
        there._device = torch.device(device)
        there._solvers = {key: solver.to(device) for key, solver in self._solvers.items()}
        there._missing = {}
        return there

    def __repr__(self) -> str:
        count = sum(len(each.nodes) for each in self._cliques)
        more = f", num_cliques={count}" if count else ""
        return f"CRF(num_nodes={self.num_nodes}, num_edges={self.graph.num_edges}, num_graphs={self.num_graphs}{more})"

    def __call__(
        self,
        unary: Tensor,
        pairwise: Tensor,
        known: Tensor | None = None,
        *,
        cliques: CliqueTables | None = None,
        check: bool = True,
    ) -> CRFAnswer:
        """Exact marginals and log Z.

        Args:
            unary: log-potentials of nodes; -inf forbids a label.
            pairwise: log-potentials of edges.
            known: known labels, -1 elsewhere; the same for the whole batch, or one row per entry.
            cliques: log-potentials of cliques, one tensor, or a dict of size and tensor.
            check: whether to check all values, which waits for a GPU. If false, sums that lost precision are not
                repeated, wrong values give wrong answers, and a tensor `known` that was passed before is not looked at
                again, so that calls can be captured as a CUDA graph after a first one.

        Shapes: unary :math:`(*B, n, C)`, known :math:`(n)` or :math:`(*B, n)`
        """
        case = self._unchecked(unary, pairwise, known, cliques, check)
        answer = case.solver.again(case.unary, case.tables, case.known) if check else None
        if answer is None:
            case = self._checked(case, check)
            answer = case.solver.solve(case.unary, case.tables, case.given, check)
            if check and case.known is not None:
                check_together(answer.log_partition)
        marginals, total = answer
        return CRFAnswer(marginals.view(unary.shape), total.view(*case.batch, self.num_graphs))

    def log_partition(
        self, unary: Tensor, pairwise: Tensor, known: Tensor | None = None, *, cliques: CliqueTables | None = None
    ) -> Tensor:
        """Log Z of every graph given the known labels, faster than with marginals. Shapes: → :math:`(*B, G)`"""
        case = self._case(unary, pairwise, known, cliques)
        return case.solver.log_partition(case.unary, case.tables, case.given).view(*case.batch, self.num_graphs)

    def log_likelihood(
        self, unary: Tensor, pairwise: Tensor, y: Tensor, *, cliques: CliqueTables | None = None
    ) -> Tensor:
        """Log-probability of the given labels of every graph; those of nodes without one (-1) are summed out.

        Shapes: unary :math:`(*B, n, C)`, y :math:`(n)` or :math:`(*B, n)` → :math:`(*B, G)`
        """
        given = self.log_partition(unary, pairwise, y, cliques=cliques)
        return given - self.log_partition(unary, pairwise, cliques=cliques)

    def conditionals(
        self, unary: Tensor, pairwise: Tensor, known: Tensor, *, cliques: CliqueTables | None = None
    ) -> Tensor:
        """Log-probabilities of every node's labels given the known labels of its neighbours; other edges, and cliques
        with another unknown node, are left out.

        A node's own label is not used: the sum of the entries at the labels of labelled nodes is the log
        pseudo-likelihood.

        Shapes: → :math:`(*B, n, C)`
        """
        case = self._case(unary, pairwise, known, cliques)
        assert case.known is not None
        return case.solver.neighbours(case.unary, case.tables, case.known).log_softmax(-1).view(unary.shape)

    @torch.no_grad()
    def map(
        self, unary: Tensor, pairwise: Tensor, known: Tensor | None = None, *, cliques: CliqueTables | None = None
    ) -> Tensor:
        """A most probable labelling (Viterbi). Shapes: → :math:`(*B, n)`"""
        case = self._case(unary, pairwise, known, cliques)

        def best(forest: Forest, own: Tensor, tables: tuple[Tensor, ...]) -> Tensor:
            return forest.map(own, tables[0], log_cliques=tables[1:])[0]

        found = case.solver.pick(case.unary, case.tables, case.given, best)
        return found.view(unary.shape[:-1])

    @torch.no_grad()
    def sample(
        self,
        unary: Tensor,
        pairwise: Tensor,
        known: Tensor | None = None,
        count: int = 1,
        generator: torch.Generator | None = None,
        *,
        cliques: CliqueTables | None = None,
    ) -> Tensor:
        """Exact samples of the labels of all nodes together. Shapes: → :math:`(count, *B, n)`"""
        case = self._case(unary, pairwise, known, cliques)

        def draw(forest: Forest, own: Tensor, tables: tuple[Tensor, ...]) -> Tensor:
            at = own.device if generator is None else generator.device
            uniform = torch.rand(own.shape[:2], generator=generator, dtype=own.dtype, device=at)
            return forest.sample(own, tables[0], uniform.to(own.device), log_cliques=tables[1:])

        found = [
            case.solver.pick(case.unary, case.tables, case.given, draw)
            for _ in range(check_at_least("count", count, 1))
        ]
        return torch.stack(found).view(count, *unary.shape[:-1])

    def entropy(
        self, unary: Tensor, pairwise: Tensor, known: Tensor | None = None, *, cliques: CliqueTables | None = None
    ) -> Tensor:
        r"""Entropy of the labelling of every graph given the known labels, in nats: :math:`\log Z - E[\text{score}]`.

        Shapes: → :math:`(*B, G)`
        """
        wanted = torch.is_grad_enabled()
        with torch.enable_grad():
            case = self._case(unary, pairwise, known, cliques)
            wanted = wanted and any(one.requires_grad for one in (case.unary, *(own.tables for own in case.tables)))
            each: Kind = "each"
            solver = self._solver(unary.shape[-1], (each,) * len(case.tables))
            found = entropy(solver, case.unary, case.tables, case.known, wanted).view(*case.batch, self.num_graphs)
        return found if wanted else found.detach()

    def _solver(self, width: int, kinds: tuple[Kind, ...]) -> Solver:
        """The engine for potentials of `width` labels, with tables of edges and of every size of cliques by kind."""
        if (width, kinds) not in self._solvers:
            labels = np.full(self.num_nodes, width if self._labels is None else self._labels)
            if labels.max(initial=1) > width:
                raise InputError(
                    f"Expected potentials of the {int(labels.max())} labels that a node has; got {width} of them."
                )
            index = np.arange(self.graph.num_edges)
            if kinds[0] == "one":
                index = np.zeros_like(index)
            elif kinds[0] == "relation" and self._relation is not None:
                index = self._relation
            count = max(1, int(index.max(initial=0)) + 1)
            cliques = [each.factors(kind) for each, kind in zip(self._cliques, kinds[1:], strict=True)]
            edges = (index[:, None], count, False)
            structure = Structure.of(self.graph, labels, self.owner, self.num_graphs, *edges, cliques)
            self._solvers[width, kinds] = Solver(structure, self.limits).to(self._device)
        return self._solvers[width, kinds]

    def _case(self, unary: Tensor, pairwise: Tensor, known: Tensor | None, cliques: CliqueTables | None = None) -> Case:
        """All arguments, checked, with one batch dimension."""
        return self._checked(self._unchecked(unary, pairwise, known, cliques))

    def _unchecked(
        self,
        unary: Tensor,
        pairwise: Tensor,
        known: Tensor | None,
        cliques: CliqueTables | None,
        check: bool = True,
    ) -> Case:
        """All arguments, of the right types and shapes, with one batch dimension; their values are not looked at."""
        if not isinstance(unary, Tensor) or unary.dim() < 2 or unary.shape[-2] != self.num_nodes:
            came = tuple(unary.shape) if isinstance(unary, Tensor) else type(unary).__name__
            raise InputError(f"Expected unary of shape (*, {self.num_nodes}, labels), one row per node; got {came}.")
        batch, width = unary.shape[:-2], unary.shape[-1]
        same = isinstance(pairwise, Tensor) and pairwise.shape == (width, width)
        more = match_tables(self._cliques, cliques)
        kinds = [each.kind(table) for each, table in zip(self._cliques, more, strict=True)]
        solver = self._solver(width, ("one" if same else "each" if self._relation is None else "relation", *kinds))
        tables = [self._tables(pairwise, batch, width, solver)]
        for each, table, factors in zip(self._cliques, more, solver.structure.factors[1:], strict=True):
            tables.append(each.tables(table, unary, factors.index))
        labels = None if known is None else known_labels(known, batch, self.num_nodes)
        one = unary.reshape(batch.numel(), *unary.shape[-2:])
        named = {f"cliques of {each.size} nodes": table for each, table in zip(self._cliques, more, strict=True)}
        source = None if check else known
        return Case(solver, one, tuple(tables), labels, batch, source, {"pairwise": pairwise, **named})

    def _checked(self, case: Case, check: bool = True) -> Case:
        """The same after a check of all values, with -inf for labels that a node does not have."""
        labels = case.solver.structure.labels
        unary = self._own_labels(case.unary, labels)
        if check and not torch.compiler.is_compiling():
            check_numbers(unary.view(*case.batch, *unary.shape[1:]), case.named)
            if case.known is not None:
                check_labels(case.known, labels)
        return case._replace(unary=unary)

    def _own_labels(self, unary: Tensor, labels: npt.NDArray[np.int64]) -> Tensor:
        """The potentials with -inf for labels that a node does not have, whatever was given there."""
        width = unary.shape[-1]
        if width not in self._missing:
            counts = [count for count in np.unique(labels).tolist() if count < width]
            rows = [torch.from_numpy((labels == count).nonzero()[0]).to(self._device) for count in counts]
            self._missing[width] = list(zip(counts, rows, strict=True))
        if self._missing[width]:
            unary = unary.clone()  # a mask of all entries would take ten times as long
        for count, nodes in self._missing[width]:
            unary[..., count:].index_fill_(-2, nodes, -torch.inf)
        return unary

    def _tables(self, pairwise: Tensor, batch: torch.Size, width: int, solver: Solver) -> FactorTables:
        structure = solver.structure
        count = self.graph.num_edges if self._relation is None else structure.factors[0].num_tables
        if isinstance(pairwise, Tensor) and pairwise.shape == (width, width):
            return FactorTables(pairwise.view(1, 1, width, width), structure.index)
        good = isinstance(pairwise, Tensor) and pairwise.shape[-3:] == (count, width, width)
        if not good or pairwise.shape[:-3] not in ((), batch):
            came = tuple(pairwise.shape) if isinstance(pairwise, Tensor) else type(pairwise).__name__
            what = "edges" if self._relation is None else "relations"
            raise InputError(
                f"Expected pairwise of shape ({width}, {width}), or ({count}, {width}, {width}) for {count} {what}, "
                f"also with the batch {tuple(batch)} of unary before it; got {came}."
            )
        if count == 0:
            pairwise = pairwise.new_zeros(*pairwise.shape[:-3], 1, width, width)
        return FactorTables(pairwise.reshape(-1, *pairwise.shape[-3:]), structure.index)
