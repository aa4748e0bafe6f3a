"""Checks of what a network is called with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.precision import autocasts
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.plan import Plan
from neuraltrees.nn.schedule.edge_checks import has_values

if TYPE_CHECKING:
    from neuraltrees.nn.network import Network


def count_rows(x: Tensor | SparseMap) -> int:
    """The number of graph nodes that features are given for."""
    if not isinstance(x, Tensor | SparseMap) or (isinstance(x, Tensor) and x.dim() < 2):
        came = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"Expected features x as a tensor of shape (n, F); got {came}.")
    return x.shape[0]


def check_features(network: Network, x: Tensor | SparseMap, plan: Plan) -> None:
    count_rows(x)
    if plan.made_for is not None and plan.made_for != network.kind:
        raise InputError(
            f"Expected a plan made by this network, {network.kind}; got one for {plan.made_for}. "
            f"Make it with this network's own plan(data)."
        )
    if plan.num_nodes is not None and plan.num_nodes != x.shape[0]:
        raise InputError(f"Expected features of the {plan.num_nodes} planned nodes; got {x.shape[0]} rows.")
    if isinstance(network.in_channels, int):
        if x.shape[-1] != network.in_channels:
            raise InputError(f"Expected {network.in_channels} features per node; got {x.shape[-1]}.")
        if isinstance(x, Tensor) and not x.is_floating_point():
            raise InputError(f"Expected features x as floats; got {x.dtype}. Use x.float(), or Categories.")
        check_precision(network, x)


def check_plan_alone(**given: Tensor | None) -> None:
    """Raises `InputError` for what a plan holds already, such as edge features in the place of another argument."""
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise InputError(
            f"Expected nothing but x, the plan and edge_attr; got {' and '.join(extra)} as well, which a plan holds. "
            f"Call model(x, plan), or model(x, plan, edge_attr=edge_attr)."
        )


def check_precision(network: Network, x: Tensor | SparseMap) -> None:
    """Raises `InputError` if features and weights differ in precision; autocast and the compiler convert them."""
    if not isinstance(x, Tensor) or torch.compiler.is_compiling() or autocasts(x):
        return
    kind = next(network.parameters()).dtype
    if x.dtype != kind:
        raise InputError(
            f"Expected features x of the dtype of the weights, {kind}; got {x.dtype}. Convert one of them: "
            f"x.to({kind}), or model.to({x.dtype})."
        )


def check_types(network: Network, node_type: Tensor | None) -> None:
    """Raises `InputError` for a node type that the encoder or the head does not have.

    Shapes: node_type :math:`(n)`
    """
    if node_type is None or not has_values(node_type) or not node_type.numel():
        return
    low, high = (int(each) for each in node_type.aminmax())
    answers = network.head.out_channels if network.head.level == "node" else None
    for part, given in (("features", network.in_channels), ("answers", answers)):
        if isinstance(given, Mapping) and len(given) > 1 and not 0 <= low <= high < len(given):
            raise InputError(
                f"Expected node_type between 0 and {len(given) - 1}, since the network has {part} for "
                f"{', '.join(given)}; got {low if low < 0 else high}."
            )


def checked_edges(network: Network, edge_attr: Tensor, plan: Plan) -> Tensor:
    if not network.reads_edges:
        raise InputError(
            "Expected no edge_attr for a network that was made without edge_channels; got some. Make it with "
            "edge_channels, or leave edge_attr out."
        )
    if edge_attr.dim() == 1:
        edge_attr = edge_attr.unsqueeze(1)
    if plan.num_edges is not None and plan.num_edges != edge_attr.shape[0]:
        raise InputError(f"Expected edge_attr of the {plan.num_edges} planned edges; got {edge_attr.shape[0]} rows.")
    return edge_attr
