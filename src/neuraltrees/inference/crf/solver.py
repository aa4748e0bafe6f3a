"""The engine of a conditional random field: plans for known labels, and answers by them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from neuraltrees.errors import InputError, ModelTooLargeError
from neuraltrees.inference.crf.remainder import Limits, Remainder, Structure, make_remainders
from neuraltrees.inference.crf.tables import EdgeTables
from neuraltrees.inference.forest import Forest
from neuraltrees.movable import moved

PLANS = 64  # masks of known nodes whose plans are kept
Plans: TypeAlias = tuple[Remainder, ...]
Choose: TypeAlias = Callable[[Forest, Tensor, Tensor], Tensor]


class CRFAnswer(NamedTuple):
    """Marginals of every node, one-hot where its label is known; log Z of every graph given the known labels.

    Shapes: marginals :math:`(*B, n, C)`, log_partition :math:`(*B, G)`
    """

    marginals: Tensor
    log_partition: Tensor


@dataclass(frozen=True, eq=False)
class Solver:
    """Answers for one batch dimension, with potentials that were checked before.

    Shapes: unary :math:`(B, n, D)`, known :math:`(n)` for all of the batch or :math:`(B, n)`, -1 where it is not known
    """

    structure: Structure
    limits: Limits = field(default_factory=Limits)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    kept: OrderedDict[Any, Plans] = field(default_factory=OrderedDict)

    def to(self, device: torch.device | str) -> Solver:
        """The same with its indices on a device; plans are made anew."""
        there = torch.device(device)
        return replace(self, structure=moved(self.structure, there), device=there, kept=OrderedDict())

    def given(self, known: Tensor | None) -> Plans:
        """The plans for the nodes that are known, one per sampled subgraph; made once for a mask."""
        key: Any = None
        if known is not None:
            key = known.shape, np.packbits((known >= 0).cpu().numpy()).tobytes()
        if key in self.kept:
            self.kept.move_to_end(key)
            return self.kept[key]
        size = self.structure.num_nodes
        mask = torch.zeros(1, size, dtype=torch.bool) if known is None else (known >= 0).cpu().view(-1, size)
        try:
            plans = moved(make_remainders(self.structure, mask, self.limits), self.device)
        except ModelTooLargeError as error:
            raise _too_wide(error) from None
        self.kept[key] = plans
        if len(self.kept) > PLANS:
            self.kept.popitem(last=False)
        return plans

    def solve(
        self,
        unary: Tensor,
        tables: EdgeTables,
        known: Tensor | None = None,
        plans: Plans | None = None,
        check: bool = True,
    ) -> CRFAnswer:
        """Marginals and log Z; means over the sampled subgraphs.

        Args:
            unary, tables: the potentials.
            known: the known labels.
            plans: what `given` returned for them; looking them up waits for a GPU.
            check: see `Forest.run`.
        """
        plans = self.given(known) if plans is None else plans
        unary, tables, labels, shape = _flat(plans[0], unary, tables, known)
        marginals, totals = _run(plans, unary, tables, labels, check)
        total = self._total(plans[0], unary, tables, labels, totals, shape[0])
        return CRFAnswer(_placed(plans[0], marginals, labels, shape), total)

    def marginals(
        self,
        unary: Tensor,
        tables: EdgeTables,
        known: Tensor | None = None,
        plans: Plans | None = None,
        check: bool = True,
    ) -> Tensor:
        """Marginals alone. Shapes: → :math:`(B, n, D)`"""
        plans = self.given(known) if plans is None else plans
        unary, tables, labels, shape = _flat(plans[0], unary, tables, known)
        return _placed(plans[0], _run(plans, unary, tables, labels, check)[0], labels, shape)

    def log_partition(
        self,
        unary: Tensor,
        tables: EdgeTables,
        known: Tensor | None = None,
        plans: Plans | None = None,
        check: bool = True,
    ) -> Tensor:
        """Log Z alone. Shapes: → :math:`(B, G)`"""
        plans = self.given(known) if plans is None else plans
        unary, tables, labels, shape = _flat(plans[0], unary, tables, known)
        own = plans[0].fold(unary, tables, labels)
        with _explained():
            totals = [plan.forest.log_partition(*plan.potentials(own, tables)[:2], check=check) for plan in plans]
        return self._total(plans[0], unary, tables, labels, totals, shape[0])

    def pick(self, unary: Tensor, tables: EdgeTables, known: Tensor | None, choose: Choose) -> Tensor:
        """Labels of all nodes that a forest chooses. Shapes: → :math:`(B, n)`"""
        plan, *more = self.given(known)
        if more:
            raise InputError(
                f"Expected one sampled subgraph, to choose the labels of all nodes together; got {1 + len(more)}. "
                f"Use samples=1, or the largest marginals."
            )
        unary, tables, labels, shape = _flat(plan, unary, tables, known)
        with _explained():
            potentials, pairs, kept = plan.potentials(plan.fold(unary, tables, labels), tables)
            states = choose(plan.forest, potentials, pairs)
        if kept is not None:
            states = kept.gather(2, states.unsqueeze(-1)).squeeze(-1)
        whole = labels.unsqueeze(0).expand(len(unary), -1).clone()
        whole[:, plan.variables] = states
        return whole.view(shape[:2])

    def neighbours(self, unary: Tensor, tables: EdgeTables, known: Tensor) -> Tensor:
        """Potentials of every node, with those of its edges to known nodes; its own label is not used.

        Shapes: → :math:`(B, n, D)`
        """
        copies = len(known) if known.dim() == 2 else 1
        first, last = self.structure.repeated_ends(copies)
        flat = unary.reshape(1, -1, unary.shape[2]) if known.dim() == 2 else unary
        tables, labels = tables.flat(copies), known.reshape(-1)
        number = torch.arange(len(first), device=unary.device)
        for end, other, given in ((first, last, tables.rows), (last, first, tables.columns)):
            label = labels.index_select(0, end)
            added = given(number, label.clamp(min=0)).masked_fill((label < 0).unsqueeze(-1), 0.0)
            flat = flat.index_add(1, other, added.expand(len(flat), -1, -1))
        return flat.view(unary.shape)

    def _total(
        self,
        plan: Remainder,
        unary: Tensor,
        tables: EdgeTables,
        labels: Tensor,
        totals: list[Tensor],
        batch: int,
    ) -> Tensor:
        """Log Z of every graph, with the score of the known labels."""
        total = _mean(totals)
        total = torch.nn.functional.pad(total, (0, plan.num_graphs - total.shape[-1]))
        return (plan.constant(unary, tables, labels) + total).view(batch, self.structure.num_graphs)


class _explained:
    """Says what to do about tables that are too large."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ModelTooLargeError):
            raise _too_wide(error) from None


def _too_wide(error: ModelTooLargeError) -> ModelTooLargeError:
    remedy = (
        "Keep fewer labels per node (states=8), fewer edges (max_treewidth=2), tell more labels, or raise memory_limit."
    )
    return ModelTooLargeError(error.needed, error.limit, error.width, remedy)


def _flat(
    plan: Remainder, unary: Tensor, tables: EdgeTables, known: Tensor | None
) -> tuple[Tensor, EdgeTables, Tensor, torch.Size]:
    """Everything as the plan numbers it: copies of the graph one after another, if every entry has its own mask."""
    if known is None:
        labels = torch.full((unary.shape[1],), -1, dtype=torch.int64, device=unary.device)
    else:
        labels = known.reshape(-1)
    if plan.copies == 1:
        return unary, tables, labels, unary.shape
    return unary.reshape(1, -1, unary.shape[2]), tables.flat(plan.copies), labels, unary.shape


def _run(plans: Plans, unary: Tensor, tables: EdgeTables, labels: Tensor, check: bool) -> tuple[Tensor, list[Tensor]]:
    """Marginals of the unknown nodes, mean over the plans, and log Z by every plan."""
    own = plans[0].fold(unary, tables, labels)
    parts, totals = [], []
    with _explained():
        for plan in plans:
            potentials, pairs, kept = plan.potentials(own, tables)
            total, found = plan.forest.run(potentials, pairs, check=check)
            parts.append(_scattered(found, kept, own.shape[-1]))
            totals.append(total)
    return _mean(parts), totals


def _mean(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.stack(parts).mean(0)


def _scattered(marginals: Tensor, kept: Tensor | None, width: int) -> Tensor:
    """Marginals of all labels from those of the labels that were kept."""
    if kept is None:
        return torch.nn.functional.pad(marginals, (0, width - marginals.shape[-1]))
    return marginals.new_zeros(*marginals.shape[:2], width).scatter(2, kept, marginals)


def _placed(plan: Remainder, marginals: Tensor, labels: Tensor, shape: torch.Size) -> Tensor:
    """Those of all nodes, one-hot at known ones."""
    if plan.trivial:
        return marginals
    whole = labels.unsqueeze(1) == torch.arange(shape[-1], device=labels.device)
    whole = whole.to(marginals.dtype).unsqueeze(0).expand(len(marginals), -1, -1)
    return whole.index_copy(1, plan.variables, marginals).reshape(shape)
