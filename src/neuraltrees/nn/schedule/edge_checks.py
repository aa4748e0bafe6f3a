"""Checks of plain tensors that are the edges of a graph or of an H-tree.

Values are not checked while torch compiles or exports, nor on a GPU, which would have to wait.
"""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.errors import InputError


def check_graph_edges(edge_index: Tensor, num_nodes: int, what: str = "graph") -> None:
    """Raises `InputError` unless these are edges between `num_nodes` nodes.

    Shapes: edge_index :math:`(2, m)`
    """
    if not isinstance(edge_index, Tensor):
        raise InputError(
            f"Expected edge_index as a tensor, or a plan made by model.plan(data); got {type(edge_index).__name__}."
        )
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.dtype not in (torch.int32, torch.int64):
        raise InputError(
            f"Expected edge_index as integers of shape (2, E); got {edge_index.dtype} of shape "
            f"{tuple(edge_index.shape)}."
        )
    if not has_values(edge_index) or not edge_index.numel():
        return
    lowest, highest = (int(each) for each in edge_index.aminmax())
    if lowest < 0 or highest >= num_nodes:
        wrong = lowest if lowest < 0 else highest
        advice = " A GNN takes the edges of the graph, not those of its H-tree." if what == "graph" else ""
        raise InputError(
            f"Expected edges between the {num_nodes} nodes of the {what}, 0 to {num_nodes - 1}; got node {wrong}."
            f"{advice}"
        )


def check_tree_edges(edge_index: Tensor, kappa: Tensor, num_nodes: int) -> None:
    """Raises `InputError` unless every leaf has one bag as its only neighbour and is a copy of a graph node.

    Shapes: edge_index :math:`(2, E)`, kappa :math:`(N)`
    """
    if not isinstance(kappa, Tensor) or kappa.dim() != 1 or kappa.is_floating_point():
        came = f"{kappa.dtype} of shape {tuple(kappa.shape)}" if isinstance(kappa, Tensor) else type(kappa).__name__
        raise InputError(f"Expected kappa as integers, one per tree node; got {came}.")
    check_graph_edges(edge_index, kappa.shape[0], "H-tree")
    if not has_values(kappa) or not kappa.numel():
        return
    if int(kappa.max()) >= num_nodes:
        raise InputError(
            f"Expected kappa below {num_nodes}, the number of rows of x; got {int(kappa.max())}. "
            f"Pass the features of the graph that the tree was built from."
        )
    leaf = kappa >= 0
    source, target = edge_index
    between = leaf[source] & leaf[target]
    hangs = torch.bincount(target[leaf[target]], minlength=len(kappa))[leaf] == 1
    if bool(between.any()) or not bool(hangs.all()):
        raise InputError(
            "Expected the edge_index of an H-tree, in which every leaf has one bag as its only neighbour; got other "
            "edges, perhaps those of the graph. Use tree = build_htree(graph) with tree.edge_index and tree.kappa, or "
            "model.plan(data)."
        )


def has_values(tensor: Tensor) -> bool:
    """Whether the values of a tensor can be read here without waiting for a GPU or for a compiler."""
    return type(tensor) is Tensor and tensor.device.type == "cpu" and not torch.compiler.is_compiling()
