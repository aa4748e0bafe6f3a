"""A fast check of all graphs of a task at once, so that tens of thousands need not be checked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.nn.encoder import Categories, Features
from neuraltrees.objectives import Classification, MultiLabel, Objective, Regression

BLOCK = 512  # graphs whose arrays are joined at a time: few enough that memory is used again instead of mapped anew


def surely_fine(
    graphs: Sequence[Data], objective: Objective, features: Features | None, edges: int | Categories | None
) -> bool:
    """Whether all graphs surely have valid features, edges and labels; False if the graphs must be checked one by one.

    It covers plain graphs of one node type with labels per graph, of the objectives of this library. After False, a
    check of every graph finds the mistake, if there is one, and raises its error.
    """
    if isinstance(features, dict) or features is None or not all(type(graph) is Data for graph in graphs):
        return False
    if any("num_nodes" in graph for graph in graphs):
        return False
    blocks = (graphs[start : start + BLOCK] for start in range(0, len(graphs), BLOCK))
    return all(_block_fine(block, objective, features, edges) for block in blocks)


def _block_fine(
    graphs: Sequence[Data], objective: Objective, features: Features, edges: int | Categories | None
) -> bool:
    x, ends, attr, y = ([graph.get(name) for graph in graphs] for name in ("x", "edge_index", "edge_attr", "y"))
    attr = [each.unsqueeze(1) if isinstance(each, Tensor) and each.dim() == 1 else each for each in attr]
    fine = _columns_fine(x, features) and _edges_fine(ends, x) and _labels_fine(y, objective)
    if edges is None or not fine:
        return fine
    return _columns_fine(attr, edges) and all(len(a) == e.shape[1] for a, e in zip(attr, ends, strict=True))


def _alike(columns: Sequence[Any]) -> bool:
    """Whether all are dense matrices of one type, with as many columns."""
    first = columns[0]
    if not isinstance(first, Tensor) or first.dim() != 2 or first.layout != torch.strided:
        return False
    return all(
        isinstance(each, Tensor)
        and each.dim() == 2
        and each.dtype == first.dtype
        and each.shape[1] == first.shape[1]
        and each.layout == torch.strided
        and each.device == first.device
        for each in columns
    )


def _columns_fine(columns: Sequence[Any], expected: int | Categories | Any) -> bool:
    if not _alike(columns) or columns[0].is_complex() or columns[0].dtype == torch.bool:
        return False
    values = torch.cat(list(columns))
    width = expected.width if isinstance(expected, Categories) else expected
    if values.shape[1] != width or width == 0:
        return False
    if values.is_floating_point() and not bool(values.float().isfinite().all()):
        return False
    return _categories_fine(values, expected) if isinstance(expected, Categories) else values.is_floating_point()


def _categories_fine(values: Tensor, expected: Categories) -> bool:
    columns = values[:, : len(expected.sizes)]
    if not columns.numel():
        return True
    if columns.is_floating_point() and not torch.equal(columns, columns.round()):
        return False
    low, high = (each.tolist() for each in columns.aminmax(dim=0))
    return min(low) >= 0 and all(most < size for most, size in zip(high, expected.sizes, strict=True))


def _edges_fine(ends: Sequence[Any], x: Sequence[Tensor]) -> bool:
    good = all(
        isinstance(each, Tensor) and each.dim() == 2 and each.shape[0] == 2 and each.dtype == torch.int64
        for each in ends
    )
    if not good or len({each.device for each in ends}) > 1:
        return False
    joined = torch.cat(list(ends), 1)
    nodes, edges = (torch.tensor(counts) for counts in ([len(each) for each in x], [each.shape[1] for each in ends]))
    last = nodes.repeat_interleave(edges).to(joined.device)
    return bool(((joined >= 0) & (joined < last)).all())


def _labels_fine(y: Sequence[Any], objective: Objective) -> bool:
    # A subclass may check more.
    if objective.level != "graph" or type(objective) not in (Classification, MultiLabel, Regression):
        return False
    width = 1 if isinstance(objective, Classification) else objective.out_channels
    if not all(isinstance(each, Tensor) and each.numel() == width for each in y) or len({each.dtype for each in y}) > 1:
        return False
    labels = torch.stack([each.flatten() for each in y])
    if isinstance(objective, Classification):
        if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
            return False
        return -1 <= int(labels.min()) <= int(labels.max()) < objective.width
    if labels.is_complex():
        return False
    if isinstance(objective, Regression):
        return not bool(labels.float().isinf().any())
    return bool((labels.isnan() | (labels == -1) | (labels == 0) | (labels == 1)).all())
