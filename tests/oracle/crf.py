"""A conditional random field by listing every labelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor


@dataclass(frozen=True)
class Listed:
    """All labellings that agree with the known labels, and their scores.

    Shapes: labellings :math:`(L, n)`, scores :math:`(L)`
    """

    labellings: Tensor
    scores: Tensor
    width: int

    @property
    def log_partition(self) -> Tensor:
        return self.scores.logsumexp(0)

    @property
    def probability(self) -> Tensor:
        return (self.scores - self.log_partition).exp()

    @property
    def marginals(self) -> Tensor:
        hot = torch.nn.functional.one_hot(self.labellings, self.width).to(self.scores.dtype)
        return (self.probability.view(-1, 1, 1) * hot).sum(0)

    @property
    def entropy(self) -> Tensor:
        share = self.probability
        return -torch.where(share > 0, share * share.clamp(min=1e-300).log(), 0.0).sum()


def list_labellings(
    counts: Sequence[int],
    edges: Sequence[tuple[int, int]],
    unary: Tensor,
    table: Callable[[int], Tensor],
    known: Sequence[int],
    cliques: Sequence[tuple[Sequence[int], Tensor]] = (),
) -> Listed:
    """Every labelling of a graph.

    Args:
        counts: number of labels of every node.
        edges: ends of every edge.
        unary: log-potentials of the nodes.
        table: those of an edge, by its number.
        known: labels, -1 where they are not known.
        cliques: nodes of further tables, and the tables.
    """
    choices = [range(count) if label < 0 else [label] for count, label in zip(counts, known, strict=True)]
    found = list(product(*choices))
    scores = []
    for labels in found:
        score = unary.new_zeros(())
        for node, label in enumerate(labels):
            score = score + unary[node, label]
        for number, (first, last) in enumerate(edges):
            score = score + table(number)[labels[first], labels[last]]
        for nodes, own in cliques:
            score = score + own[tuple(labels[node] for node in nodes)]
        scores.append(score)
    return Listed(torch.tensor(found, dtype=torch.int64).view(len(found), -1), torch.stack(scores), unary.shape[1])
