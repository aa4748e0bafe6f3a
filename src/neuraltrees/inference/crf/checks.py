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


def own_labels(unary: Tensor, labels: Int64) -> Tensor:
    """The potentials with -inf for labels that a node does not have, whatever was given there.

    Shapes: unary :math:`(*, n, C)`, labels :math:`(n)` → :math:`(*, n, C)`
    """
    if labels.min(initial=unary.shape[-1]) == unary.shape[-1]:
        return unary
    own = torch.arange(unary.shape[-1]) < torch.from_numpy(labels).unsqueeze(1)
    return unary.masked_fill(~own.to(unary.device), -torch.inf)


def check_numbers(unary: Tensor, tables: Mapping[str, Tensor]) -> None:
    """Raises an error for NaN, inf, and a node without a possible label."""
    used = unary.detach()
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


def check_together(total: Tensor) -> None:
    """Raises an error if the known labels of a graph exclude each other. Shapes: total :math:`(B, G)`"""
    wrong = (total.detach() == -torch.inf).nonzero()
    if len(wrong):
        raise ZeroProbabilityError(
            f"Expected known labels that are possible together; those of graph {int(wrong[0, -1])} exclude each other."
        )
