"""The engine of a conditional random field: plans for masks of known labels, and inference with them."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.errors import InputError, ModelTooLargeError
from neuraltrees.inference.crf.core import plan_core, readable, run_core
from neuraltrees.inference.crf.remainder import Limits, Remainder, make_remainders
from neuraltrees.inference.crf.structure import Structure
from neuraltrees.inference.crf.tables import Tables
from neuraltrees.inference.forest import Forest
from neuraltrees.movable import moved

PLANS = 64  # number of masks of known nodes whose plans are cached
GPU_CHUNK = 2**28  # entries of the tables that are in GPU memory at the same time; few large operations are fastest
Plans: TypeAlias = tuple[Remainder, ...]
Choose: TypeAlias = Callable[[Forest, Tensor, tuple[Tensor, ...]], Tensor]


class CRFAnswer(NamedTuple):
    """Marginals of every node, one-hot where its label is known; log Z of every graph given the known labels.

    Shapes: marginals :math:`(*B, n, C)`, log_partition :math:`(*B, G)`
    """

    marginals: Tensor
    log_partition: Tensor


@dataclass(frozen=True, eq=False)
class Planned:
    """The plans of inference for a mask of known labels, one per sampled subgraph, made when they are first needed.

    Args:
        make: makes the plans.
        core: the plan of the compiled core, which needs no others; None if it cannot be used.
    """

    make: Callable[[], Plans]
    core: native.PairwisePlan | None = None

    @classmethod
    def of(cls, plans: Sequence[Remainder]) -> Planned:
        """Plans that are already made."""
        return cls(lambda: tuple(plans))

    @cached_property
    def plans(self) -> Plans:
        return self.make()

    def to(self, device: torch.device) -> Planned:
        """The same on a device."""
        return Planned(lambda: moved(self.plans, device), self.core if device.type == "cpu" else None)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Known labels, -1 elsewhere, or None if no label is known; and the plans of inference given them.

    Shapes: known :math:`(n)` for all of the batch or :math:`(B, n)`
    """

    known: Tensor | None
    planned: Planned = field(default_factory=lambda: Planned.of(()))

    @property
    def plans(self) -> Plans:
        return self.planned.plans


@dataclass(frozen=True, eq=False)
class Solver:
    """Answers for one batch dimension, with potentials that were checked before.

    Shapes: unary :math:`(B, n, D)`, known :math:`(n)` for all of the batch or :math:`(B, n)`, -1 where it is not known
    """

    structure: Structure
    limits: Limits = field(default_factory=Limits)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    kept: OrderedDict[Any, Planned] = field(default_factory=OrderedDict)
    latest: list[tuple[weakref.ref[Tensor], int, Evidence]] = field(default_factory=list)

    def to(self, device: torch.device | str) -> Solver:
        """The same with its indices on a device; cached plans are dropped."""
        there = torch.device(device)
        return replace(self, structure=moved(self.structure, there), device=there, kept=OrderedDict(), latest=[])

    def given(self, known: Tensor | None, source: Tensor | None = None) -> Evidence:
        """The known labels with the plans of inference given them, one per sampled subgraph; cached by mask.

        Args:
            known: known labels, checked.
            source: the tensor that `known` was made of. If it is the one of the last call with a source, and torch has
                not changed it since, its values are not looked at again, so that nothing waits for a GPU.
        """
        if source is None or source.is_inference():
            return Evidence(known, self._plans(known))
        for last, version, evidence in self.latest:
            if last() is source and version == source._version:
                return evidence
        evidence = Evidence(known, self._plans(known))
        self.latest[:] = [(weakref.ref(source), source._version, evidence)]
        return evidence

    def _plans(self, known: Tensor | None) -> Planned:
        key = _mask(known)
        if key not in self.kept:
            self.kept[key] = self._planned(known)
            if len(self.kept) > PLANS:
                self.kept.popitem(last=False)
        self.kept.move_to_end(key)
        return self.kept[key]

    def _planned(self, known: Tensor | None) -> Planned:
        size = self.structure.num_nodes
        mask = torch.zeros(1, size, dtype=torch.bool) if known is None else (known >= 0).cpu().view(-1, size)
        limits, core = self.limits, None
        if self.device.type == "cuda" and limits.chunk_entries is None:
            limits = replace(limits, chunk_entries=GPU_CHUNK)

        def make() -> Plans:
            with _explained():
                return moved(make_remainders(self.structure, mask, limits), self.device)

        if self.device.type == "cpu" and limits.max_treewidth is None and limits.memory_limit is None:
            core = plan_core(self.structure, mask.numpy(), limits.states)
        planned = Planned(make, core)
        if core is None:
            planned.plans  # noqa: B018  # now, since tables that are too large are an error
        return planned

    def solve(self, unary: Tensor, tables: Tables, given: Evidence, check: bool = True) -> CRFAnswer:
        """Marginals and log Z; means over the sampled subgraphs.

        Args:
            unary, tables: the potentials of nodes, and those of edges and cliques.
            given: the result of `given` for the known labels.
            check: see `Forest.run`.
        """
        if check and (answer := self._by_core(unary, tables, given)) is not None:
            return answer
        ready = _Ready.of(unary, tables, given)
        marginals, totals = ready.run(check)
        return CRFAnswer(ready.placed(marginals), self._total(ready, totals))

    def again(self, unary: Tensor, tables: Tables, known: Tensor | None) -> CRFAnswer | None:
        """The answer of the compiled core with a cached plan, for arguments whose values were not checked; None if any
        of them is wrong, if there is no such plan, or if the core has no answer."""
        if len(tables) > 1 or not readable(unary, tables[0]) or (key := _mask(known)) not in self.kept:
            return None
        self.kept.move_to_end(key)
        return self._by_core(unary, tables, Evidence(known, self.kept[key]))

    def marginals(self, unary: Tensor, tables: Tables, given: Evidence, check: bool = True) -> Tensor:
        """Marginals alone. Shapes: → :math:`(B, n, D)`"""
        if check and (answer := self._by_core(unary, tables, given)) is not None:
            return answer.marginals
        ready = _Ready.of(unary, tables, given)
        return ready.placed(ready.run(check)[0])

    def log_partition(self, unary: Tensor, tables: Tables, given: Evidence, check: bool = True) -> Tensor:
        """Log Z alone. Shapes: → :math:`(B, G)`"""
        if check and (answer := self._by_core(unary, tables, given, marginals=False)) is not None:
            return answer.log_partition
        ready = _Ready.of(unary, tables, given)
        totals = []
        with _explained():
            for plan in given.plans:
                own, (pairs, *more), _ = ready.potentials(plan)
                totals.append(plan.forest.log_partition(own, pairs, log_cliques=more, check=check))
        return self._total(ready, totals)

    def _by_core(self, unary: Tensor, tables: Tables, given: Evidence, marginals: bool = True) -> CRFAnswer | None:
        """The answer of the compiled core, or None where it has none; without `marginals`, those are the potentials."""
        core, edges, known = given.planned.core, tables[0], given.known
        if core is None or not len(unary) or not readable(unary, edges) or not (known is None or known.is_cpu):
            return None
        shape, graphs = unary.shape, self.structure.num_graphs
        if known is not None and known.dim() == 2:
            copies = len(known)
            unary, edges, known = unary.reshape(1, -1, shape[2]), edges.flat(copies), known.reshape(-1)
            graphs *= copies
        found = run_core(core, unary, edges, known, graphs, marginals)
        if found is None:
            return None
        total, probabilities = found
        whole = unary if probabilities is None else probabilities
        return CRFAnswer(whole.view(shape), total.view(shape[0], self.structure.num_graphs))

    def pick(self, unary: Tensor, tables: Tables, given: Evidence, choose: Choose) -> Tensor:
        """Labels of all nodes, chosen by the function `choose` of a forest. Shapes: → :math:`(B, n)`"""
        plan, *more = given.plans
        if more:
            raise InputError(
                f"Expected one sampled subgraph, to choose the labels of all nodes jointly; got {1 + len(more)}. Use "
                f"samples=1, or the largest marginals."
            )
        ready = _Ready.of(unary, tables, given)
        with _explained():
            potentials, found, kept = ready.potentials(plan)
            states = choose(plan.forest, potentials, found)
        if kept is not None:
            states = kept.gather(2, states.unsqueeze(-1)).squeeze(-1)
        whole = ready.labels.unsqueeze(0).expand(len(ready.unary), -1).clone()
        whole[:, plan.variables] = states
        return whole.view(ready.shape[:2])

    def neighbours(self, unary: Tensor, tables: Tables, known: Tensor, all_nodes: bool = True) -> Tensor:
        """Potentials of every node plus those of edges and cliques whose other nodes are known; its own label is not
        used.

        Args:
            unary, tables: the potentials of nodes, and those of edges and cliques.
            known: the known labels, -1 elsewhere.
            all_nodes: if false, the rows of nodes that are not known themselves have any values, which is faster.

        Shapes: → :math:`(B, n, D)`
        """
        copies = len(known) if known.dim() == 2 else 1
        flat = unary.reshape(1, -1, unary.shape[2]) if known.dim() == 2 else unary
        labels = known.reshape(-1)
        for factors, own in zip(self.structure.factors, tables, strict=True):
            own, nodes = own.flat(copies), factors.repeated(copies, self.structure.num_nodes)
            number = torch.arange(len(nodes), device=unary.device)
            for axis in reversed(range(factors.order)):
                others = tuple(other for other in range(factors.order) if other != axis)
                needed = others if all_nodes else range(factors.order)
                read = reduce(torch.minimum, [labels.index_select(0, nodes[:, each]) for each in needed]) >= 0
                chosen, ends = number, nodes
                if not unary.is_cuda:  # there, the number of rows has to be the same for all labels
                    chosen = read.nonzero().squeeze(1)
                    ends = nodes.index_select(0, chosen)
                label = [labels.index_select(0, ends[:, other]) for other in others]
                added = own.given(others, chosen, [each.clamp(min=0) for each in label])
                if unary.is_cuda:
                    added = added.masked_fill(~read.unsqueeze(-1), 0.0)
                flat = flat.index_add(1, ends[:, axis], added.expand(len(flat), -1, -1))
        return flat.view(unary.shape)

    def check_memory(self, unary: Tensor, given: Evidence, tracked: bool) -> None:
        """Raises `ModelTooLargeError` if inference takes more memory than is allowed; with or without a gradient."""
        with _explained():
            for plan in given.plans:
                plan.forest.check_memory(len(unary) if plan.copies == 1 else 1, unary.element_size(), tracked)

    def _total(self, ready: _Ready, totals: list[Tensor]) -> Tensor:
        """Log Z of every graph, with the score of the known labels."""
        total, plan = _mean(totals), ready.plans[0]
        total = torch.nn.functional.pad(total, (0, plan.num_graphs - total.shape[-1]))
        return (plan.constant(ready.unary, ready.tables, ready.labels) + total).view(
            ready.shape[0], self.structure.num_graphs
        )


@dataclass(frozen=True, eq=False)
class _Ready:
    """Potentials and labels in the numbering of the plans: over copies of the graph, if every batch entry has its own
    mask. `own` are the potentials of the unknown nodes plus those of factors whose other nodes are known.

    Shapes: unary :math:`(B, N, D)`, labels :math:`(N)`, own :math:`(B, V, D)`; `shape` is that of the given potentials
    """

    plans: Plans
    unary: Tensor
    tables: Tables
    labels: Tensor
    own: Tensor
    shape: torch.Size

    @classmethod
    def of(cls, unary: Tensor, tables: Tables, given: Evidence) -> _Ready:
        shape, plan = unary.shape, given.plans[0]
        if given.known is None:
            labels = torch.full((shape[1],), -1, dtype=torch.int64, device=unary.device)
        else:
            labels = given.known.reshape(-1)
        if plan.copies > 1:
            unary, tables = unary.reshape(1, -1, shape[2]), tuple(each.flat(plan.copies) for each in tables)
        return cls(given.plans, unary, tables, labels, plan.fold(unary, tables, labels), shape)

    def potentials(self, plan: Remainder) -> tuple[Tensor, tuple[Tensor, ...], Tensor | None]:
        """The inputs of the forest of a plan; see `Remainder.potentials`."""
        if len(plan.joint) > 1:  # tables of cliques may be large: it is known before they are made
            tracked = self.own.requires_grad or any(each.tables.requires_grad for each in self.tables)
            plan.forest.check_memory(len(self.own), self.own.element_size(), tracked and torch.is_grad_enabled())
        return plan.potentials(self.own, self.tables, self.labels)

    def run(self, check: bool) -> tuple[Tensor, list[Tensor]]:
        """Marginals of the unknown nodes, averaged over plans, and log Z of every plan. Shapes: → :math:`(B, V, D)`"""
        parts, totals = [], []
        with _explained():
            for plan in self.plans:
                potentials, (pairs, *more), kept = self.potentials(plan)
                total, found = plan.forest.run(potentials, pairs, log_cliques=more, check=check)
                parts.append(_scattered(found, kept, self.own.shape[-1]))
                totals.append(total)
        return _mean(parts), totals

    def placed(self, marginals: Tensor) -> Tensor:
        """Marginals of all nodes, one-hot at known ones. Shapes: :math:`(B, V, D)` → :math:`(B, n, D)`"""
        if self.plans[0].trivial:
            return marginals
        whole = self.labels.unsqueeze(1) == torch.arange(self.shape[-1], device=self.labels.device)
        whole = whole.to(marginals.dtype).unsqueeze(0).expand(len(marginals), -1, -1)
        return whole.index_copy(1, self.plans[0].variables, marginals).reshape(self.shape)


def _mask(known: Tensor | None) -> Any:
    """What plans are cached by: which nodes are known."""
    return None if known is None else (known.shape, np.packbits((known >= 0).cpu().numpy()).tobytes())


class _explained:
    """A context that adds a remedy to errors about tables that are too large."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ModelTooLargeError):
            remedy = (
                "Keep fewer labels per node (states=8) or fewer edges (max_treewidth=2), pass more known labels, or "
                "raise memory_limit."
            )
            raise ModelTooLargeError(error.needed, error.limit, error.width, remedy) from None


def _mean(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.stack(parts).mean(0)


def _scattered(marginals: Tensor, kept: Tensor | None, width: int) -> Tensor:
    """Marginals of all labels from those of the labels that were kept."""
    if kept is None:
        return torch.nn.functional.pad(marginals, (0, width - marginals.shape[-1]))
    return marginals.new_zeros(*marginals.shape[:2], width).scatter(2, kept, marginals)
