"""Positional encodings of nodes, computed for many graphs at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE

from neuraltrees._core import native
from neuraltrees.checks import check_at_least
from neuraltrees.data.packed import pointers

PER_THREAD = 2**18  # results per thread: fewer take less time than starting one


def return_probabilities(graphs: Sequence[Data], steps: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """The probabilities that a random walk from a node is back at the node after 1, 2, …, `steps` steps; graph after
    graph.

    The same numbers as PyG's `AddRandomWalkPE`, for many graphs at once. Except for rounding, they do not depend on the
    numbering of the nodes. An edge that is listed several times counts as often.

    Shapes: :math:`(N, steps)`

    >>> square = Data(edge_index=torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]]), num_nodes=4)
    >>> return_probabilities([square], 2)[0].tolist()
    [0.0, 0.5]
    """
    check_at_least("steps", steps, 1)
    edges = [torch.zeros(2, 0, dtype=torch.int64), *(graph.edge_index for graph in graphs)]
    counts = [graph.num_nodes for graph in graphs], [each.shape[1] for each in edges[1:]]
    nodes, ends = (torch.tensor(each, dtype=torch.int64) for each in counts)
    source, target = torch.cat(edges, 1)
    found = torch.empty(int(nodes.sum()), steps, dtype=dtype)
    native.return_probabilities(
        source.numpy(),
        target.numpy(),
        pointers(nodes).numpy(),
        pointers(ends).numpy(),
        found.numpy(),
        max(1, min(torch.get_num_threads(), found.numel() // PER_THREAD)),
    )
    return found


def laplacian_vectors(graphs: Sequence[Data], count: int) -> Tensor:
    """The eigenvectors of the `count` smallest non-zero eigenvalues of the normalised Laplacian, by PyG's
    `AddLaplacianEigenvectorPE`; zero beyond those that a graph has, graph after graph. The entry of largest size is
    positive.

    Shapes: :math:`(N, count)`
    """
    check_at_least("count", count, 1)
    found = [torch.zeros(0, count)]
    for graph in graphs:
        rows, most = graph.num_nodes, max(0, min(count, graph.num_nodes - 2))
        values = torch.zeros(rows, count)
        if most:
            bare = Data(edge_index=graph.edge_index, num_nodes=rows)
            vectors = AddLaplacianEigenvectorPE(most, attr_name="vectors", is_undirected=True)(bare).vectors
            largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
            values[:, :most] = vectors * torch.where(largest < 0, -1, 1)
        found.append(values)
    return torch.cat(found)
