"""Graph → Markov network with random potentials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.inference.markov import MarkovNetwork


def random_markov_network(
    graph: Graph,
    cardinalities: int | Sequence[int] = 2,
    scale: float = 1.0,
    seed: int = 0,
    *,
    batch: int | Sequence[int] = (),
    dtype: torch.dtype = torch.float64,
) -> MarkovNetwork:
    r"""Log-potentials :math:`\theta \sim \mathcal{N}(0, scale^2)` on every node and every edge of a graph.

    Args:
        graph: the graph.
        cardinalities: states of every variable, or one number for all.
        scale: standard deviation of the log-potentials.
        seed: the same seed gives the same numbers.
        batch: batch shape: leading axes of the tables, for many networks at once.
        dtype: dtype of the tables.

    >>> random_markov_network(Graph([[0, 1], [1, 2]]), 3, batch=10)
    MarkovNetwork(num_variables=3, num_cliques=5, batch_shape=(10,))
    """
    counts = (
        [int(cardinalities)] * graph.num_nodes if isinstance(cardinalities, int | np.integer) else list(cardinalities)
    )
    if len(counts) != graph.num_nodes:
        raise InputError(f"Expected a cardinality for each of {graph.num_nodes} nodes; got {len(counts)}.")
    if not scale >= 0:
        raise InputError(f"Expected a scale of at least 0; got {scale}.")
    leading = (batch,) if isinstance(batch, int | np.integer) else tuple(batch)
    for size in leading:
        check_at_least("batch", size, 0)
    source, target = graph._upper_edges()
    cliques = [(v,) for v in range(graph.num_nodes)]
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    generator = torch.Generator().manual_seed(check_seed(seed) % 2**63)
    shapes = [tuple(counts[v] for v in clique) for clique in (*cliques, *pairs)]
    tables = [scale * torch.randn(*leading, *shape, dtype=dtype, generator=generator) for shape in shapes]
    return MarkovNetwork(counts, (*cliques, *pairs), tables)
