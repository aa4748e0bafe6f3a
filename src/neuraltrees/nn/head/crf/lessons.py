"""What a CRF head is trained on: which labels are shown, and which are to be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.inference.crf import Evidence, Solver
from neuraltrees.nn.head.crf.pairs import PairPlan
from neuraltrees.nn.head.head import Places

Learning: TypeAlias = Literal["pseudo", "marginal", "likelihood"]


NOTHING = Evidence(None)  # no known labels and no plans


@dataclass(frozen=True, eq=False)
class Field:
    """The plan of the head for a graph or a batch of graphs.

    Args:
        places: node types and graphs.
        solver: the engine of inference.
        pairs: the tables of the edges.
        given: the known labels, with the plans of inference given these.
    """

    places: Places
    solver: Solver
    pairs: PairPlan
    given: Evidence = NOTHING


@dataclass(frozen=True, eq=False)
class Lesson:
    """Labels to predict, given others.

    Args:
        kind: the loss.
        field: the graphs, with the labels that are shown.
        labels: the labels to predict, -1 elsewhere.
        scale: a factor of the loss of every node, so that all lessons weigh the same whatever their number of labels,
            and the likelihood of a graph is divided among its nodes.
        given: for the likelihood, the graphs with all labels shown.

    Shapes: labels and scale :math:`(R, n)`
    """

    kind: Learning
    field: Field
    labels: Tensor
    scale: Tensor
    given: Field | None = None


def checked_labels(known: Tensor, limit: Tensor, runs: int | None) -> Tensor:
    """Known labels as int64 on the CPU; `InputError` for a label that its node cannot have.

    Args:
        known: a label per node, -1 where it is not known.
        limit: the number of labels that each node can have.
        runs: number of independent runs.

    Shapes: known :math:`(n)` or :math:`(n, R)`, limit :math:`(n)` → the shape of known
    """
    count = len(limit)
    good = isinstance(known, Tensor) and not known.is_floating_point() and known.dtype != torch.bool
    if not good or known.shape not in ((count,), (count, runs or 1)):
        came = f"{known.dtype} of shape {tuple(known.shape)}" if isinstance(known, Tensor) else type(known).__name__
        raise InputError(f"Expected known as integers, a label or -1 for each of {count} nodes; got {came}.")
    labels = known.long().cpu()
    most = limit.view(-1, *[1] * (labels.dim() - 1))
    wrong = ((labels < -1) | (labels >= most)).nonzero()
    if len(wrong):
        node = int(wrong[0, 0])
        raise InputError(
            f"Expected known labels from 0 to {int(limit[node]) - 1}, or -1; got {int(labels[tuple(wrong[0])])} at "
            f"node {node}."
        )
    return labels


def hide(known: Tensor, share: float, number: int, seeds: Sequence[int]) -> Tensor:
    """The known labels with a random share of each run's hidden (-1); at least one is hidden if there is one.

    Shapes: known :math:`(R, n)` → :math:`(R, n)`
    """
    shown = known.clone()
    for row, seed in zip(shown, seeds, strict=True):
        labelled = (row >= 0).nonzero().flatten().numpy()
        stream = np.random.Generator(np.random.Philox(key=[seed % 2**64, number]))
        count = min(len(labelled), max(1, round(share * len(labelled))))
        row[torch.from_numpy(stream.permutation(labelled)[:count])] = -1
    return shown
