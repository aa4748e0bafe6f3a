"""How features are scaled before a network sees them; kept with it, so that predictions scale theirs alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_data
from neuraltrees.errors import InputError


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""Some features by their logarithm, then all shifted and divided; their squares beside them if wanted.

    Args:
        logarithm: columns that are replaced by their logarithm, such as sizes.
        mean, std: subtracted, and divided by, if given.
        squares: whether to append :math:`(z^2 - 1) / \sqrt{2}` of every scaled feature z, of mean 0 and standard
            deviation 1 if z is normal. A linear layer on both is the best classifier of classes with normal features.

    Shapes: mean and std :math:`(F)`

    >>> graph = Data(x=torch.tensor([[1.0, 2.0], [3.0, 2.0]]))
    >>> Scaling.fit([graph]).apply(graph).x.tolist()
    [[-0.7071067690849304, 0.0], [0.7071067690849304, 0.0]]
    """

    logarithm: tuple[int, ...] = ()
    mean: Tensor | None = None
    std: Tensor | None = None
    squares: bool = False

    @classmethod
    def fit(cls, graphs: Iterable[Data], logarithm: Sequence[int] = (), squares: bool = False) -> Scaling:
        """The scaling after which every feature of these graphs has mean 0 and standard deviation 1."""
        only = cls(check_columns(logarithm))
        x = torch.cat([only.apply(graph).x for graph in graphs])
        if len(x) < 2:
            raise InputError(f"Expected at least two nodes to learn a scaling from; got {len(x)}.")
        mean, std = x.double().mean(0), x.double().std(0)
        # A constant column has a deviation of rounding errors, by which nothing should be divided.
        std = torch.where(std > 1e-6 * mean.abs(), std, 1)
        return replace(only, mean=mean.to(x.dtype), std=std.to(x.dtype), squares=squares)

    def apply(self, graph: Data) -> Data:
        """A copy of the graph with scaled features; the rest is shared."""
        check_data(graph)
        x = graph.x
        if self.logarithm or self.mean is not None or self.squares:
            if x.layout != torch.strided:
                raise InputError("Expected dense features to scale; got sparse ones. Use them as they are.")
            columns = list(self.logarithm)
            if not all(0 <= column < x.shape[1] for column in columns):
                raise InputError(f"Expected columns between 0 and {x.shape[1] - 1}; got {columns}.")
            if columns and not (x[:, columns] > 0).all():
                node = int((x[:, columns] <= 0).any(1).nonzero()[0])
                raise InputError(
                    f"Expected positive features in the columns {columns}, whose logarithm is taken; "
                    f"got {x[node, columns].tolist()} at node {node}."
                )
            x = x.clone()
            x[:, columns] = x[:, columns].log()
            x = x if self.mean is None or self.std is None else (x - self.mean) / self.std
            x = torch.cat([x, (x.square() - 1) / 2**0.5], 1) if self.squares else x
        scaled = copy(graph)
        scaled.x = x
        return scaled


def check_columns(logarithm: Sequence[int]) -> tuple[int, ...]:
    """The columns whose logarithm is taken, as plain integers."""
    listed = logarithm if isinstance(logarithm, Iterable) and not isinstance(logarithm, str) else None
    if listed is None or any(isinstance(each, bool) or not isinstance(each, int | np.integer) for each in listed):
        raise InputError(f"Expected logarithm as a list of columns, such as (0, 3); got {logarithm!r}.")
    return tuple(int(column) for column in logarithm)


AS_THEY_ARE = Scaling()
