"""Scaling of features; a bundle stores it, so that the inputs of predictions are scaled as in training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_data
from neuraltrees.data.encodings import laplacian_vectors, return_probabilities
from neuraltrees.data.scene_geometry import BOX, SceneGeometry
from neuraltrees.errors import InputError

FARTHEST = 4.0  # standard deviations from the mean at which features of geometry are clipped
ROWS = 2**13  # of values whose statistics are computed at once


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""Takes the logarithm of some features, standardises all of them, and appends their squares if wanted.

    Args:
        logarithm: columns that are replaced by their logarithm, such as sizes.
        mean, std: mean and standard deviation for standardisation, if given; one row for all nodes, or one per node
            type.
        squares: whether to append :math:`(z^2 - 1) / \sqrt{2}` of every scaled feature z, of mean 0 and standard
            deviation 1 if z is normal. If the features of each class are normal and independent, a linear layer on both
            is the optimal classifier.
        geometry: whether `SceneGeometry` is applied first. Features are then clipped at four standard deviations.
        edge_mean, edge_std: the same for edge features, a row per pair of node types (source · types + target).
        walks: how many return probabilities of random walks are appended; see `return_probabilities`.
        laplacian: how many eigenvectors of the Laplacian are appended; see `laplacian_vectors`.
        encoding_mean, encoding_std: mean and standard deviation of the appended columns.

    Shapes: mean and std :math:`(F)` or :math:`(K, F)`, edge_mean and edge_std :math:`(K^2, D)`, encoding_mean and
    encoding_std :math:`(walks + laplacian)`

    >>> graph = Data(x=torch.tensor([[1.0, 2.0], [3.0, 2.0]]))
    >>> Scaling.fit([graph]).apply(graph).x.tolist()
    [[-0.7071067690849304, 0.0], [0.7071067690849304, 0.0]]
    """

    logarithm: tuple[int, ...] = ()
    mean: Tensor | None = None
    std: Tensor | None = None
    squares: bool = False
    geometry: bool = False
    edge_mean: Tensor | None = None
    edge_std: Tensor | None = None
    walks: int = 0
    laplacian: int = 0
    encoding_mean: Tensor | None = None
    encoding_std: Tensor | None = None

    @classmethod
    def fit(
        cls,
        graphs: Iterable[Data],
        logarithm: Sequence[int] = (),
        squares: bool = False,
        geometry: bool = False,
        types: int = 1,
    ) -> Scaling:
        """The scaling after which every feature of these graphs has mean 0 and standard deviation 1.

        Args:
            graphs: to learn it from.
            logarithm, squares, geometry: see `Scaling`; with geometry, edge features are scaled as well.
            types: number of node types that are scaled apart; 1 for all nodes together.
        """
        graphs = list(graphs)
        only = cls(check_columns(logarithm), geometry=geometry)
        prepared = [only.apply(graph) for graph in graphs]
        x = torch.cat([graph.x for graph in prepared])
        if len(x) < 2:
            raise InputError(f"Expected at least two nodes to learn a scaling from; got {len(x)}.")
        kinds = torch.cat([_types(graph, types) for graph in prepared])
        mean, std = _statistics(x, kinds, types)
        if types == 1:
            mean, std = mean[0], std[0]
        found = replace(only, mean=mean, std=std, squares=squares)
        if not geometry:
            return found
        pairs = torch.cat([_pairs(graph, types) for graph in prepared])
        edge_mean, edge_std = _statistics(torch.cat([graph.edge_attr for graph in prepared]), pairs, types**2)
        return replace(found, edge_mean=edge_mean, edge_std=edge_std)

    @property
    def changes(self) -> bool:
        """Whether it does anything."""
        return self.scales or self.encodings > 0

    @property
    def scales(self) -> bool:
        """Whether it changes the given features."""
        return bool(self.logarithm) or self.mean is not None or self.squares or self.geometry

    @property
    def encodings(self) -> int:
        """How many columns of positional encodings it appends."""
        return self.walks + self.laplacian

    @property
    def given_features(self) -> int | None:
        """How many features a node has before scaling, if that follows from the scaling alone."""
        return BOX if self.geometry else None

    def apply(self, graph: Data) -> Data:
        """A copy of the graph with scaled features; the rest is shared."""
        check_data(graph)
        return self.encode([self._scaled(graph)])[0]

    def encode(self, graphs: Sequence[Data]) -> list[Data]:
        """Copies of graphs that are scaled already, with positional encodings appended; fastest for many at once."""
        if not self.encodings:
            return [copy(graph) for graph in graphs]
        return self._appended(graphs, self._encodings(graphs))

    def fit_encodings(self, graphs: Sequence[Data]) -> tuple[Scaling, list[Data]]:
        """This scaling with encodings of mean 0 and standard deviation 1 on these graphs, and the encoded graphs."""
        found = self._encodings(graphs)
        mean, std = _mean_and_std(found)
        scaling = replace(self, encoding_mean=mean, encoding_std=std)
        return scaling, scaling._appended(graphs, found)

    def _encodings(self, graphs: Sequence[Data]) -> Tensor:
        """Of all nodes, graph after graph. Shapes: :math:`(N, walks + laplacian)`"""
        walks = [return_probabilities(graphs, self.walks)] if self.walks else []
        vectors = [laplacian_vectors(graphs, self.laplacian)] if self.laplacian else []
        return torch.cat([*walks, *vectors], 1) if walks and vectors else (walks or vectors)[0]

    def _appended(self, graphs: Sequence[Data], encodings: Tensor) -> list[Data]:
        """The graphs with encodings, which are overwritten, beside their features."""
        if self.encoding_mean is not None and self.encoding_std is not None:
            encodings.sub_(self.encoding_mean).div_(self.encoding_std)
        encoded = []
        for graph, more in zip(graphs, torch.split(encodings, [graph.num_nodes for graph in graphs]), strict=True):
            each = copy(graph)
            each.x = torch.cat([graph.x.float(), more], 1)
            encoded.append(each)
        return encoded

    def _scaled(self, graph: Data) -> Data:
        if not self.scales:
            return graph
        if graph.x.layout != torch.strided:
            raise InputError("Expected dense features to scale; got sparse ones. Use them as they are.")
        scaled = SceneGeometry()(graph) if self.geometry else copy(graph)
        scaled.x = self._nodes(scaled)
        if self.edge_mean is not None and self.edge_std is not None:
            pairs = _pairs(graph, round(len(self.edge_mean) ** 0.5))
            scaled.edge_attr = (scaled.edge_attr - self.edge_mean[pairs]) / self.edge_std[pairs]
        return scaled

    def _nodes(self, graph: Data) -> Tensor:
        x: Tensor = graph.x
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
        if self.mean is not None and self.std is not None:
            mean, std = self.mean, self.std
            if mean.dim() == 2:
                kinds = _types(graph, len(mean))
                mean, std = mean[kinds], std[kinds]
            x = (x - mean) / std
            x = x.clamp(-FARTHEST, FARTHEST) if self.geometry else x
        return torch.cat([x, (x.square() - 1) / 2**0.5], 1) if self.squares else x


def _types(graph: Data, types: int) -> Tensor:
    if types == 1:
        return torch.zeros(graph.num_nodes, dtype=torch.int64)
    kinds: Tensor | None = graph.get("node_type")
    if kinds is None:
        raise InputError(f"Expected node_type, since {types} node types are scaled apart; got none.")
    return kinds.long()


def _pairs(graph: Data, types: int) -> Tensor:
    """The pair of node types of every edge."""
    kinds = _types(graph, types)
    return kinds[graph.edge_index[0]] * types + kinds[graph.edge_index[1]]


def _statistics(values: Tensor, group: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of every column per group; the deviation of fewer than two rows is 1.

    Shapes: values :math:`(n, F)`, group :math:`(n)` → twice :math:`(groups, F)`
    """
    parts = (values if groups == 1 else values[group == number] for number in range(groups))
    means, stds = zip(*map(_mean_and_std, parts), strict=True)
    return torch.stack(means), torch.stack(stds)


def _mean_and_std(values: Tensor) -> tuple[Tensor, Tensor]:
    """Shapes: :math:`(n, F)` → twice :math:`(F)`"""
    # In double precision some rows at a time, of which a copy fits in the caches.
    blocks, count = torch.split(values, ROWS), len(values)
    mean = sum((block.double().sum(0) for block in blocks), values.new_zeros(values.shape[1]).double()) / max(1, count)
    std = torch.ones_like(mean)
    if count > 1:
        squares = sum(((block.double() - mean).square_().sum(0) for block in blocks), torch.zeros_like(mean))
        std = (squares / (count - 1)).sqrt()
    # A constant column has a deviation of rounding errors, by which nothing should be divided.
    std = torch.where(std > 1e-6 * mean.abs(), std, 1)
    return mean.to(values.dtype), std.to(values.dtype)


def check_columns(logarithm: Sequence[int]) -> tuple[int, ...]:
    """The columns whose logarithm is taken, as plain integers."""
    listed = logarithm if isinstance(logarithm, Iterable) and not isinstance(logarithm, str) else None
    if listed is None or any(isinstance(each, bool) or not isinstance(each, int | np.integer) for each in listed):
        raise InputError(f"Expected logarithm as a list of columns, such as (0, 3); got {logarithm!r}.")
    return tuple(int(column) for column in logarithm)


AS_THEY_ARE = Scaling()
