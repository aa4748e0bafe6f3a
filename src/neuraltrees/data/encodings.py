"""Positional encodings of nodes, computed for many graphs at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE

from neuraltrees.checks import check_at_least

ENTRIES = 2**19  # entries of the dense matrix of some graphs; it stays in the caches of a CPU


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
        end, nodes = start + 1, graphs[by_size[start]].num_nodes
        while end < len(by_size) and (nodes + (size := graphs[by_size[end]].num_nodes)) * size <= ENTRIES:
            end, nodes = end + 1, nodes + size
        chosen = [graphs[number] for number in by_size[start:end]]
        parts = torch.split(_together(chosen, steps, dtype), [graph.num_nodes for graph in chosen])
        for number, rows in zip(by_size[start:end], parts, strict=True):
            found[number] = rows.clone()
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


def _together(graphs: Sequence[Data], steps: int, dtype: torch.dtype) -> Tensor:
    """The return probabilities of all nodes of some graphs, by products of one sparse matrix with dense ones.

    Row v of the dense matrix has the probabilities of the nodes of v's graph after k steps from v; for a large graph,
    some columns at a time.

    Shapes: → :math:`(N, steps)`
    """
    sizes = torch.tensor([graph.num_nodes for graph in graphs])
    total, first = int(sizes.sum()), sizes.cumsum(0) - sizes
    source, target = torch.cat([graph.edge_index + shift for graph, shift in zip(graphs, first, strict=True)], 1)
    share = 1.0 / torch.bincount(source, minlength=total).clamp(min=1).to(dtype)
    walk = csr_array((share[source].numpy(), (source.numpy(), target.numpy())), (total, total))
    column = torch.arange(total) - first.repeat_interleave(sizes)  # the place of every node in its graph
    found = torch.zeros(total, steps, dtype=dtype)
    width = max(1, min(int(sizes.max()), ENTRIES // max(1, total)))
    for begin in range(0, int(sizes.max()), width):
        here = ((column >= begin) & (column < begin + width)).nonzero().flatten()
        place = column[here] - begin
        reached = torch.zeros(total, width, dtype=dtype).index_put_((here, place), torch.ones((), dtype=dtype)).numpy()
        for step in range(steps):
            reached = walk @ reached
            found[here, step] = torch.from_numpy(reached[here.numpy(), place.numpy()])
    return found
