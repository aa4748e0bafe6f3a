"""Exact inference on many small Markov networks of different structure at once, in a few large tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy.typing as npt
import torch
from torch import Tensor

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph, Int64
from neuraltrees.inference.answer import check_possible
from neuraltrees.inference.forest.down import distribute, draw
from neuraltrees.inference.forest.plan import Chunk
from neuraltrees.inference.forest.potentials import Potentials, UseIndex, check_potentials, index_uses, load
from neuraltrees.inference.forest.solve import Found, Work, add_shares, solve, solve_chunk, sort_answers
from neuraltrees.inference.forest.structure import Structure, make_structure
from neuraltrees.inference.memory import TABLES_FOR_GRADIENT, check_memory_limit, check_size
from neuraltrees.inference.passes import maximise
from neuraltrees.movable import moved

CHUNK = 2**22  # entries; tables that fit into the caches of a CPU are fastest


class ForestAnswer(NamedTuple):
    """The result of `Forest.run`: log Z of every graph, and the marginals of every variable, zero beyond its states.

    Shapes: log_partition :math:`(*B, N)`, marginals :math:`(*B, n, D)`
    """

    log_partition: Tensor
    marginals: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    r"""Exact inference on the variables of one or many graphs, with potentials on variables, edges and cliques:

    .. math:: p(y) \propto
        \exp\Bigl(\sum_v \theta_v(y_v) + \sum_{uv \in E} \theta_{uv}(y_u, y_v) + \sum_c \theta_c(y_c)\Bigr)

    Variables are summed out one after another; steps of all graphs with the same height, cardinalities and split form
    one tensor, so that a whole dataset takes a few dozen operations. A step does not compute the table of its clique:
    its factors are multiplied into two smaller tables, whose matrix product is the sum (see `split`).

    Sums are computed in linear space, after division by the largest entries. If a sum is so small that it may have lost
    precision, because potentials differ by hundreds or tables have zeros, `check` detects it and repeats the
    chunk in log space.

    Made by `Forest.of`. For tables that only fit into memory one at a time, use `JunctionTree`.

    Shapes: log_unary :math:`(*B, n, D)` with :math:`D = \max_v d_v`, log_pairwise :math:`(T, D, D)` or
    :math:`(*B, T, D, D)`, its entries :math:`(y_u, y_v)` with u < v; log_cliques one of :math:`(T, D, …)` or
    :math:`(*B, T, D, …)` for every family, with an axis per variable of a clique, in the order of the clique; nothing
    beyond the states of a variable is read

    >>> chain, pair = Graph([[0, 1], [1, 2]]), Graph([[0], [1]])
    >>> forest = Forest.of([chain, pair], cardinalities=2, relation=[0, 0, 0])
    >>> alike = torch.tensor([[[0.6, 0.4], [0.4, 0.6]]]).log()
    >>> unary = torch.zeros(5, 2)
    >>> unary[0] = torch.tensor([0.9, 0.1]).log()
    >>> answer = forest.run(unary, alike)
    >>> [round(z, 4) for z in answer.log_partition.exp().tolist()]
    [1.0, 2.0]
    >>> [round(p, 4) for p in answer.marginals[:3, 0].tolist()]
    [0.9, 0.58, 0.516]
    """

    structure: Structure
    chunks: tuple[Chunk, ...]
    chunk_of_graph: Int64
    uses: tuple[UseIndex, ...]
    owner: Tensor
    chunk_entries: int
    memory_limit: int | None

    @classmethod
    def of(
        cls,
        graphs: Graph | Sequence[Graph],
        cardinalities: int | Sequence[int] | npt.ArrayLike | Tensor,
        *,
        owner: Sequence[int] | npt.ArrayLike | Tensor | None = None,
        relation: Sequence[int] | npt.ArrayLike | Tensor | None = None,
        order: Sequence[int] | npt.ArrayLike | None = None,
        cliques: Sequence[npt.ArrayLike | Tensor] = (),
        clique_relation: Sequence[Sequence[int] | npt.ArrayLike | Tensor] | None = None,
        chunk_entries: int = CHUNK,
        memory_limit: float | None = None,
    ) -> Forest:
        """Computes all steps and indices of a structure, on the CPU; see `to`.

        Args:
            graphs: a list of graphs, whose variables are concatenated; or one graph, with `owner` a union of many.
            cardinalities: number of states of every variable, or one number for all.
            owner: the graph of every variable of a union, as PyG's `batch`.
            relation: the number of the table of every edge, in the order of `edges`; by default every edge has its own.
            order: the elimination order of the variables; by default from the `min_fill` decomposition.
            cliques: families of tuples of variables that have a table together; those of a family have the same size.
                They need not be joined by edges.
            clique_relation: for every family, the number of the table of every clique; by default each has its own.
            chunk_entries: number of entries of the tables that are in memory at the same time, in whole graphs; more is
                faster on a GPU.
            memory_limit: bytes that the tables of a chunk may take, or with a gradient, three times the tables of all
                chunks; by default half of the memory of the machine, or of the GPU that holds them.
        """
        structure = make_structure(graphs, cardinalities, owner, relation, order, cliques, clique_relation)
        limit, most = check_memory_limit(memory_limit), check_at_least("chunk_entries", chunk_entries, 1)
        width, here = structure.elimination.width, torch.device("cpu")
        check_size(8 * structure.largest_message, limit, width, here)
        chunks, chunk_of_graph = structure.chunks("linear", most)
        check_size(8.0 * max((chunk.entries + chunk.copied for chunk in chunks), default=0), limit, width, here)
        return cls(
            structure, chunks, chunk_of_graph, index_uses(structure), torch.from_numpy(structure.owner), most, limit
        )

    @property
    def edges(self) -> Tensor:
        """Both ends of every edge, the lower number first. Shapes: :math:`(2, E)`"""
        return torch.from_numpy(self.structure.edges.variables.T.copy()).to(self.device)

    @property
    def device(self) -> torch.device:
        return self.owner.device

    @cached_property
    def entries(self) -> int:
        """The number of entries of the tables of all chunks."""
        return sum(chunk.entries for chunk in self.chunks)

    def to(self, device: torch.device | str) -> Forest:
        """The same forest with its indices on a device."""
        there = torch.device(device)
        if there == self.device:
            return self
        return replace(self, chunks=moved(self.chunks, there), uses=moved(self.uses, there), owner=self.owner.to(there))

    def __repr__(self) -> str:
        structure = self.structure
        more = sum(len(family.table) for family in structure.families[1:])
        cliques = f"num_cliques={more}, " if more else ""
        return (
            f"Forest(num_graphs={structure.num_graphs}, num_variables={len(structure.states)}, "
            f"num_edges={len(structure.edges.table)}, num_tables={structure.edges.num_tables}, {cliques}"
            f"width={structure.elimination.width}, num_chunks={len(self.chunks)}, "
            f"num_groups={sum(len(chunk.groups) for chunk in self.chunks)}, entries={self.entries}, "
            f"chunk_entries={self.chunk_entries}, memory_limit={self.memory_limit})"
        )

    def run(
        self, log_unary: Tensor, log_pairwise: Tensor, *, log_cliques: Sequence[Tensor] = (), check: bool = True
    ) -> ForestAnswer:
        """Log Z of every graph and the marginals of every variable, differentiable in the potentials.

        Args:
            log_unary: potentials of the variables; -inf rules a state out.
            log_pairwise: potentials of the edges, or those that `relation` has numbered.
            log_cliques: potentials of every family of cliques, or those that `clique_relation` has numbered.
            check: whether to check the results, which waits for a GPU. If false, sums that lost precision are not
                repeated, and a graph without a possible labelling has log Z -inf or nan.

        Raises `ZeroProbabilityError` if a graph has no labelling of positive probability. On a GPU, float32 products
        have full precision unless torch is allowed to use TF32.
        """
        potentials, batch = self._prepare(log_unary, [log_pairwise, *log_cliques])
        most = self.structure.most_states
        total, found = self._solve(potentials, lambda chunk, steps: distribute(chunk, steps, most), check)
        if check:
            self._check_possible(total, potentials.unary)
        marginals = sort_answers(potentials.unary, found)
        return ForestAnswer(total.view(*batch, *total.shape[1:]), marginals.view(*batch, *marginals.shape[1:]))

    def log_partition(
        self, log_unary: Tensor, log_pairwise: Tensor, *, log_cliques: Sequence[Tensor] = (), check: bool = True
    ) -> Tensor:
        """Log Z of every graph without marginals; -inf if it has no possible labelling. Shapes: → :math:`(*B, N)`"""
        potentials, batch = self._prepare(log_unary, [log_pairwise, *log_cliques])
        total, _ = self._solve(potentials, None, check)
        return total.view(*batch, *total.shape[1:])

    @torch.no_grad()
    def sample(
        self,
        log_unary: Tensor,
        log_pairwise: Tensor,
        uniform: Tensor,
        *,
        log_cliques: Sequence[Tensor] = (),
        check: bool = True,
    ) -> Tensor:
        r"""Exact samples: in the reverse of the order in which they are summed out, every variable takes the first
        state at which its cumulative probability, given those before it, exceeds its uniform number.

        Shapes: uniform :math:`(*C, *B, n)`, from 0 to 1 → :math:`(*C, *B, n)`
        """
        potentials, batch = self._prepare(log_unary, [log_pairwise, *log_cliques])
        shape = (*batch, len(self.structure.states))
        right_shape = uniform.shape[max(0, uniform.dim() - len(shape)) :] == shape
        if not uniform.is_floating_point() or not right_shape or uniform.device != self.device:
            raise InputError(
                f"Expected uniform numbers of shape (*, {', '.join(map(str, shape))}) on {self.device}, one per "
                f"variable; got {uniform.dtype} of shape {tuple(uniform.shape)} on {uniform.device}."
            )
        count = uniform.shape[: uniform.dim() - len(shape)].numel()
        numbers = uniform.reshape(count, *potentials.unary.shape[:2])
        states = torch.zeros_like(numbers, dtype=torch.int64)
        total, _ = self._solve(potentials, lambda chunk, steps: draw(chunk, steps, numbers, states), check)
        if check:
            self._check_possible(total, potentials.unary)
        return states.view(uniform.shape)

    @torch.no_grad()
    def map(
        self, log_unary: Tensor, log_pairwise: Tensor, *, log_cliques: Sequence[Tensor] = ()
    ) -> tuple[Tensor, Tensor]:
        r"""A most probable labelling of every graph, and its log score :math:`\max_y \sum \theta`.

        Shapes: → :math:`(*B, n)` and :math:`(*B, N)`
        """
        potentials, batch = self._prepare(log_unary, [log_pairwise, *log_cliques])
        states = torch.zeros(1, *potentials.unary.shape[:2], dtype=torch.int64, device=self.device)
        found = [
            solve_chunk(chunk, "log", *potentials[:2], lambda chunk, steps: draw(chunk, steps, None, states), maximise)
            for number in range(len(self.chunks))
            for chunk in self._in_log_space(number, potentials)
        ]
        best = add_shares(potentials.constant, self.owner, found)
        self._check_possible(best, potentials.unary)
        return states.view(*batch, -1), best.view(*batch, *best.shape[1:])

    def _solve(self, potentials: Potentials, work: Work | None, check: bool) -> tuple[Tensor, list[Found]]:
        chunks = self.chunks if len(potentials.unary) else ()
        found = solve(chunks, lambda number: self._in_log_space(number, potentials), potentials, work, check)
        return add_shares(potentials.constant, self.owner, found), found

    def _in_log_space(self, number: int, potentials: Potentials) -> list[Chunk]:
        chunks, unary = self._log_chunks[number], potentials.unary
        self._check_size(chunks, len(unary), unary.element_size(), potentials.tracked)
        return self._log_chunks[number]

    @cached_property
    def _log_chunks(self) -> list[list[Chunk]]:
        """For every chunk, the chunks of the same graphs for log space, which have no splits."""
        chunks, of_graph = self.structure.chunks("log", self.chunk_entries, self.chunk_of_graph)
        within = dict(zip(of_graph.tolist(), self.chunk_of_graph.tolist(), strict=True))
        found: list[list[Chunk]] = [[] for _ in self.chunks]
        for number, chunk in enumerate(chunks):
            found[within[number]].append(moved(chunk, self.device))
        return found

    def _prepare(self, log_unary: Tensor, log_factors: Sequence[Tensor]) -> tuple[Potentials, torch.Size]:
        structure = self.structure
        batch = check_potentials(log_unary, log_factors, structure, self.device)
        tracked = torch.is_grad_enabled() and any(each.requires_grad for each in (log_unary, *log_factors))
        self.check_memory(batch.numel(), log_unary.element_size(), tracked)
        unary = log_unary.reshape(batch.numel(), *log_unary.shape[-2:])
        orders = (1 + family.order for family in structure.families)
        factors = [
            each.reshape(each.shape[:-axes].numel(), *each.shape[-axes:])
            for axes, each in zip(orders, log_factors, strict=True)
        ]
        return load(self.uses, structure.num_graphs, unary, factors), batch

    def check_memory(self, batch: int, element_size: int, tracked: bool) -> None:
        """Raises `ModelTooLargeError` if tables for a batch take more memory than is allowed; `run` does it, too.

        Args:
            batch: number of entries of the batch.
            element_size: bytes of a number.
            tracked: whether a gradient is needed.
        """
        self._check_size(self.chunks, batch, element_size, tracked)

    def _check_size(self, chunks: Sequence[Chunk], batch: int, element_size: int, tracked: bool) -> None:
        """Checks the memory of the largest chunk, or with a gradient that of all chunks."""
        entries = [chunk.entries + chunk.copied for chunk in chunks]
        count = TABLES_FOR_GRADIENT * sum(entries) if tracked else max(entries, default=0)
        needed = float(count) * batch * element_size
        check_size(needed, self.memory_limit, self.structure.elimination.width, self.device)

    def _check_possible(self, total: Tensor, unary: Tensor) -> None:
        def place(number: int) -> str:
            entry, graph = divmod(number, self.structure.num_graphs)
            where = f" in graph {graph}" + (f" of entry {entry} of the batch" if len(total) > 1 else "")
            for v in (self.owner == graph).nonzero().flatten().tolist():
                if bool((unary[entry, v, : int(self.structure.states[v])] == -torch.inf).all()):
                    return f"{where}, whose variable {v} has no possible state"
            return where

        check_possible(total, place)
