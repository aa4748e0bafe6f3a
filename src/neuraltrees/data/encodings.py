"""Positional encodings of nodes, computed for many graphs at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE

from neuraltrees.checks import check_at_least

ENTRIES = 2**22  # entries of the matrices that are multiplied at once
DENSE = 2048  # number of nodes up to which dense matrices are used


def return_probabilities(graphs: Sequence[Data], steps: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """The probabilities that a random walk from a node is back at the node after 1, 2, …, `steps` steps.

    The same numbers as PyG's `AddRandomWalkPE`, for many graphs at once. Except for rounding, they do not depend on the
    numbering of the nodes.

    Shapes: each :math:`(n, steps)`

    >>> square = Data(edge_index=torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]]), num_nodes=4)
    >>> return_probabilities([square], 2)[0][0].tolist()
    [0.0, 0.5]
    """
    check_at_least("steps", steps, 1)
    found: list[Tensor] = [torch.zeros(0, steps, dtype=dtype)] * len(graphs)
    by_size = sorted(range(len(graphs)), key=lambda number: graphs[number].num_nodes)
    start = 0
    while start < len(by_size):
        end = start + 1
        while end < len(by_size) and (end + 1 - start) * graphs[by_size[end]].num_nodes ** 2 <= ENTRIES:
            end += 1
        chosen = by_size[start:end]
        size = graphs[chosen[-1]].num_nodes
        if size > DENSE:
            found[chosen[0]] = _of_large(graphs[chosen[0]], steps, dtype)
        else:
            matrices = torch.stack([_walk(graphs[number], size, dtype) for number in chosen])
            for number, rows in zip(chosen, _diagonals(matrices, steps), strict=True):
                found[number] = rows[: graphs[number].num_nodes].clone()
        start = end
    return found


def laplacian_vectors(graphs: Sequence[Data], count: int) -> list[Tensor]:
    """The eigenvectors of the `count` smallest non-zero eigenvalues of the normalised Laplacian, by PyG's
    `AddLaplacianEigenvectorPE`; zero beyond those that a graph has. The entry of largest size is positive.

    Shapes: each :math:`(n, count)`
    """
    check_at_least("count", count, 1)
    found = []
    for graph in graphs:
        rows, most = graph.num_nodes, max(0, min(count, graph.num_nodes - 2))
        values = torch.zeros(rows, count)
        if most:
            bare = Data(edge_index=graph.edge_index, num_nodes=rows)
            vectors = AddLaplacianEigenvectorPE(most, attr_name="vectors", is_undirected=True)(bare).vectors
            largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
            values[:, :most] = vectors * torch.where(largest < 0, -1, 1)
        found.append(values)
    return found


def _walk(graph: Data, size: int, dtype: torch.dtype) -> Tensor:
    """The transition matrix, padded by zeros; the row of a node without edges is zero."""
    source, target = graph.edge_index
    matrix = torch.zeros(size, size, dtype=dtype)
    matrix.index_put_((source, target), torch.ones(len(source), dtype=dtype), accumulate=True)
    return matrix / matrix.sum(1, keepdim=True).clamp(min=1)


def _diagonals(walk: Tensor, steps: int) -> Tensor:
    """The diagonals of the first powers. Half of the powers suffice: the diagonal of A B needs no matrix product.

    Shapes: walk :math:`(G, n, n)` → :math:`(G, n, steps)`
    """
    columns = [walk.diagonal(dim1=1, dim2=2)]
    lower = walk
    while len(columns) < steps:
        columns.append((lower * lower.mT).sum(2))
        if len(columns) == steps:
            break
        higher = lower @ walk
        columns.append((lower * higher.mT).sum(2))
        lower = higher
    return torch.stack(columns, 2)


def _of_large(graph: Data, steps: int, dtype: torch.dtype) -> Tensor:
    """The return probabilities of a large graph, some columns at a time, with a sparse matrix."""
    rows = graph.num_nodes
    source = graph.edge_index[0]
    degree = torch.bincount(source, minlength=rows).clamp(min=1)
    walk = torch.sparse_coo_tensor(
        graph.edge_index, (1.0 / degree.to(dtype))[source], (rows, rows), check_invariants=False
    ).coalesce()
    found = torch.zeros(rows, steps, dtype=dtype)
    for first in range(0, rows, 512):
        columns = torch.arange(first, min(rows, first + 512))
        reached = torch.zeros(rows, len(columns), dtype=dtype)
        reached[columns, torch.arange(len(columns))] = 1.0
        for step in range(steps):
            reached = torch.sparse.mm(walk, reached)
            found[columns, step] = reached[columns, torch.arange(len(columns))]
    return found
