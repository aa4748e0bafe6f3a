"""Checks of the arguments of a conditional random field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.errors import InputError, ZeroProbabilityError
from neuraltrees.graph import Graph, Int64
from neuraltrees.inference.crf.remainder import Limits


def check_limits(states: Any, max_treewidth: Any, samples: Any, seed: Any, memory_limit: Any) -> Limits:
    """The limits of inference, each checked."""
    for name, value in (("states", states), ("max_treewidth", max_treewidth)):
        if value is not None:
            check_at_least(name, value, 1)
    if check_at_least("samples", samples, 1) > 1 and max_treewidth is None:
        raise InputError(f"Expected a max_treewidth for {samples} sampled subgraphs; got none. Set max_treewidth=1.")
    return Limits(states, max_treewidth, samples, check_seed(seed), memory_limit)


def united(graph: Any) -> tuple[Graph, Int64, int]:
    """The union of some graphs, the graph of every node, and the number of graphs."""
    if isinstance(graph, Graph):
        return graph, np.zeros(graph.num_nodes, np.int64), 1
    if isinstance(graph, Data):
        union, batch = Graph.from_data(graph), graph.get("batch")
        if batch is None:
            return union, np.zeros(union.num_nodes, np.int64), 1
        owner = batch.cpu().numpy().astype(np.int64)
        return union, owner, max(int(getattr(graph, "num_graphs", 1)), int(owner.max(initial=-1)) + 1)
    if isinstance(graph, Sequence) and all(isinstance(each, Graph) for each in graph):
        sizes = [each.num_nodes for each in graph]
        return Graph.union(list(graph)), np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    raise InputError(
        f"Expected a Graph, a list of them, or a torch_geometric Data or Batch; got {type(graph).__name__}."
    )


def check_numbers(unary: Tensor, tables: Mapping[str, Tensor]) -> None:
    """Raises an error for NaN, inf, and a node without a possible label."""
    used = unary.detach()
    if used.numel() and all(each.numel() for each in tables.values()):
        # The largest entry of a row tells of nan, inf and a row of -inf; mostly there is no more to look at.
        largest = [used.amax(-1), *(each.detach().amax().view(1) for each in tables.values())]
        if bool(largest[0].isfinite().all()) and all(float(each) < torch.inf for each in largest[1:]):
            return
    for name, given in {"unary": used, **tables}.items():
        each = given.detach()
        wrong = each.isnan() | (each == torch.inf)
        if bool(wrong.any()):
            place = tuple(wrong.nonzero()[0].tolist())
            raise InputError(f"Expected finite numbers or -inf in {name}; got {float(each[place])} at {place}.")
    empty = (used == -torch.inf).all(-1).nonzero()
    if len(empty):
        raise ZeroProbabilityError(
            f"Expected a possible label for every node; all labels of node {int(empty[0, -1])} have -inf."
        )


def known_labels(known: Any, batch: torch.Size, num_nodes: int) -> Tensor:
    """Known labels as integers, with at most one batch dimension. Shapes: → :math:`(n)` or :math:`(B, n)`"""
    if not isinstance(known, Tensor) or known.is_floating_point() or known.dtype == torch.bool:
        came = known.dtype if isinstance(known, Tensor) else type(known).__name__
        raise InputError(f"Expected known as integers, a label or -1 for every node; got {came}.")
    if known.shape not in ((num_nodes,), (*batch, num_nodes)):
        raise InputError(
            f"Expected known of shape ({num_nodes},), or with the batch {tuple(batch)} of unary before it; "
            f"got {tuple(known.shape)}."
        )
    labels = known.long()
    return labels if labels.dim() == 1 else labels.reshape(-1, num_nodes)


def check_labels(known: Tensor, labels: Int64) -> None:
    """Raises an error for a known label that a node does not have. Shapes: known :math:`(*, n)`, labels :math:`(n)`"""
    limit = torch.from_numpy(labels).to(known.device)
    wrong = ((known < -1) | (known >= limit)).nonzero()
    if len(wrong):
        node = int(wrong[0, -1])
        raise InputError(
            f"Expected known labels from 0 to {int(limit[node]) - 1}, or -1; got {int(known[tuple(wrong[0])])} at node "
            f"{node}."
        )


def check_together(total: Tensor) -> None:
    """Raises an error if the known labels of a graph exclude each other. Shapes: total :math:`(B, G)`"""
    wrong = (total.detach() == -torch.inf).nonzero()
    if len(wrong):
        raise ZeroProbabilityError(
            f"Expected known labels that are possible together; those of graph {int(wrong[0, -1])} exclude each other."
        )
