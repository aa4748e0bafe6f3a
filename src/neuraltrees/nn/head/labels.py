"""Known labels as inputs: a network that reads the labels of some nodes in addition to the features of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.nn.head.crf.lessons import checked_labels, hide
from neuraltrees.nn.head.head import Places
from neuraltrees.nn.head.node import NodeHead


@dataclass(frozen=True, eq=False)
class Shown:
    """The places of nodes, the labels that are shown, and in training the labels to predict.

    Shapes: known and labels :math:`(n, R)`, -1 elsewhere; scale :math:`(R)`, a factor of the losses
    """

    places: Places
    known: Tensor | None = None
    labels: Tensor | None = None
    scale: Tensor | None = None


class LabelsHead(NodeHead):
    """A `NodeHead` of a network that reads known labels: a vector per label is added to the first state of its node.

    Training hides a random share of the training labels, shows the others, and learns to predict the hidden ones. It is
    the baseline for `CRFHead`, where known labels are evidence.

    Args:
        in_channels, out_channels, runs: as for `NodeHead`; states before the first round must have the size
            `in_channels` too, as those of encoded features (categories, or features per node type) do.
        hidden: share of the training labels that a lesson hides.
        masks: number of random choices of hidden labels, used one after another.
    """

    reads_labels = True
    by_row = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int | Mapping[str, int],
        runs: int | None = None,
        *,
        hidden: float = 0.5,
        masks: int = 8,
    ) -> None:
        super().__init__(in_channels, out_channels, runs)
        if not isinstance(hidden, int | float) or not 0 < hidden <= 1:
            raise InputError(f"Expected hidden above 0 and up to 1; got {hidden!r}.")
        self.hidden, self.masks = hidden, check_at_least("masks", masks, 1)
        lead = () if runs is None else (runs,)
        self.shown = nn.Parameter(torch.empty(*lead, len(self.classes) * self.num_classes, in_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.normal_(self.shown, std=0.5)

    def plan(self, data: Data, known: Tensor | None = None) -> Shown:
        places = Places.of(data)
        return Shown(places, None if known is None else self._by_run(known, places, int(data.num_nodes)))

    def lessons(self, data: Data, known: Tensor, seeds: Sequence[int]) -> list[Shown]:
        whole = Shown(Places.of(data))
        labels = self._by_run(known, whole.places, int(data.num_nodes))
        found = []
        for number in range(self.masks):
            shown = hide(labels.t().contiguous(), self.hidden, number, seeds).t()
            target = torch.where(shown >= 0, -1, labels)
            scale = (labels >= 0).sum(0) / (target >= 0).sum(0).clamp(min=1)
            found.append(replace(whole, known=shown.contiguous(), labels=target, scale=scale))
        return found

    def begin(self, h: Tensor, places: Any) -> Tensor:
        if places.known is None:
            return h
        if h.shape[-1] != self.in_channels:
            raise InputError(
                f"Expected states of size {self.in_channels} before the first round, to add vectors of labels to them; "
                f"got {h.shape[-1]}. Pass in_channels as a mapping of node types, so that features are encoded."
            )
        known: Tensor = places.known
        kinds = places.places.node_type if len(self.classes) > 1 else None
        index = known.clamp(min=0) + (0 if kinds is None else self.num_classes * kinds.unsqueeze(1))
        vectors = self.shown if self.runs is not None else self.shown.unsqueeze(0)
        rows = vectors.shape[1] * torch.arange(len(vectors), device=known.device) + index
        added = vectors.flatten(0, 1).index_select(0, rows.flatten()).view(*known.shape, -1)
        added = added * (known >= 0).unsqueeze(-1)
        return h + (added if self.runs is not None else added.squeeze(1))

    def forward(self, h: Tensor, places: Any) -> Tensor:
        return super().forward(h, places.places)

    def loss(self, h: Tensor, lesson: Shown) -> Tensor:
        assert lesson.labels is not None and lesson.scale is not None
        answers = self(h, lesson).log_softmax(-1)
        answers = answers if self.runs is not None else answers.unsqueeze(1)
        found = -answers.gather(2, lesson.labels.clamp(min=0).unsqueeze(2)).squeeze(2)
        return torch.where(lesson.labels >= 0, found, 0.0) * lesson.scale

    def _by_run(self, known: Tensor, places: Places, count: int) -> Tensor:
        """The known labels, checked, of every run. Shapes: :math:`(n)` or :math:`(n, R)` → :math:`(n, R)`"""
        limit, kinds = torch.tensor([*self.classes.values()]), places.node_type
        limits = limit[:1].expand(count) if kinds is None or len(limit) == 1 else limit[kinds.cpu()]
        labels = checked_labels(known, limits, self.runs)
        return labels.unsqueeze(1).expand(-1, self.runs or 1) if labels.dim() == 1 else labels
