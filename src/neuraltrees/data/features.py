"""The form of the features of nodes and edges, and checks that a graph has features of that form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.nn.encoder import Categories, Features


def node_features(graphs: Sequence[Data]) -> Features:
    """The form of the node features of some graphs: the number of columns, or `Categories` if `x` holds integers.

    >>> node_features([Data(x=torch.tensor([[0, 4], [2, 1]]))])
    Categories(sizes=(3, 5))
    """
    columns = [graph.x for graph in graphs]
    for number, each in enumerate(columns):
        if not isinstance(each, Tensor) or each.dim() != 2:
            came = f"{each.dtype} of shape {tuple(each.shape)}" if isinstance(each, Tensor) else "none"
            came = came if each is None or isinstance(each, Tensor) else type(each).__name__
            advice = " Use torch.as_tensor(x, dtype=torch.float32)." if hasattr(each, "__array__") else ""
            raise InputError(f"Graph {number}: Expected features x as floats of shape (n, F); got {came}.{advice}")
    found = _found(columns)
    return 0 if found is None else found


def edge_features(graphs: Sequence[Data]) -> int | Categories | None:
    """The form of the edge features of some graphs; None if no graph has any."""
    columns = [edge_attr_of(graph) for graph in graphs]
    without = [number for number, each in enumerate(columns) if each is None]
    if len(without) == len(columns):
        return None
    if without:
        raise InputError(
            f"Expected edge_attr of all graphs or of none; graph {without[0]} has none. Give it zeros, or delete those "
            f"of the others."
        )
    return _found([each for each in columns if each is not None])


def _found(columns: Sequence[Tensor]) -> int | Categories | None:
    width = columns[0].shape[1]
    if columns[0].is_floating_point() or columns[0].layout != torch.strided:
        return width
    sizes = [[int(value) + 1 for value in each.amax(0)] for each in columns if len(each) and each.shape[1] == width]
    return Categories(max(1, *sizes_of) for sizes_of in zip(*sizes, [1] * width, strict=True)) if sizes else width


def check_features(graph: Data, features: Features, edges: int | Categories | None, node_type: Tensor) -> None:
    """Raises `InputError` unless a graph has features of this form.

    Shapes: node_type :math:`(n)`
    """
    if not isinstance(features, int) and isinstance(graph.x, Tensor) and graph.x.layout != torch.strided:
        raise InputError("Expected dense features x of categories or of several node types; got sparse ones.")
    if isinstance(features, Mapping):
        widest = max(_width(each) for each in features.values())
        check_columns("x", graph.x, widest, "node")
        for kind, (name, each) in enumerate(features.items()):
            rows = graph.x[node_type == kind]
            if isinstance(each, Categories):
                check_categories(f"x of {name} nodes", rows, each)
    else:
        check_columns("x", graph.x, _width(features), "node")
        if isinstance(features, Categories):
            check_categories("x", graph.x, features)
        elif not graph.x.is_floating_point():
            raise InputError(
                f"Expected features x as floats of shape (n, F); got {graph.x.dtype}. Use x.float(), or Categories."
            )
    if edges is not None:
        attr = edge_attr_of(graph)
        check_columns("edge_attr", attr, _width(edges), "edge")
        assert attr is not None
        if len(attr) != graph.edge_index.shape[1]:
            raise InputError(f"Expected edge_attr of {graph.edge_index.shape[1]} edges; got {len(attr)} rows.")
        if isinstance(edges, Categories):
            check_categories("edge_attr", attr, edges)


def edge_attr_of(graph: Data) -> Tensor | None:
    """The features of the edges, a row per edge; None if there are none."""
    attr: Any = graph.get("edge_attr")
    if attr is None:
        return None
    if not isinstance(attr, Tensor) or attr.dim() not in (1, 2) or attr.layout != torch.strided:
        came = f"shape {tuple(attr.shape)}" if isinstance(attr, Tensor) else type(attr).__name__
        raise InputError(f"Expected edge_attr as a dense tensor of shape (m, D); got {came}.")
    return attr.unsqueeze(1) if attr.dim() == 1 else attr


def check_columns(name: str, values: Any, width: int, what: str) -> None:
    """Raises `InputError` unless the values are finite numbers in `width` columns."""
    if not isinstance(values, Tensor) or values.dim() != 2 or values.is_complex() or values.dtype == torch.bool:
        came = "none" if values is None else type(values).__name__
        came = f"{values.dtype} of shape {tuple(values.shape)}" if isinstance(values, Tensor) else came
        raise InputError(f"Expected features {name} as floats of shape (n, F); got {came}.")
    if values.shape[1] == 0:
        raise InputError(f"Expected at least one feature per {what}; got none. A constant column will do.")
    if values.shape[1] != width:
        raise InputError(f"Expected {width} features per {what}; got {values.shape[1]}.")
    dense = values.layout == torch.strided
    # Networks compute in single precision, where large numbers of double precision are infinite.
    entries = (values if dense else values.to_sparse().coalesce().values()).float()
    if not entries.isfinite().all():
        where = f" at {what} {int((~entries.isfinite()).any(1).nonzero()[0])}" if dense else ""
        raise InputError(f"Expected finite features; got NaN or infinity{where}. Remove or replace such values.")


def check_categories(name: str, values: Tensor, categories: Categories) -> None:
    """Raises `InputError` unless every column of categories holds integers from 0 to its size - 1."""
    columns = values[:, : len(categories.sizes)]
    limit = torch.tensor(categories.sizes)
    wrong = (columns < 0) | (columns >= limit) | (columns != columns.long())
    if wrong.any():
        row, column = (int(each) for each in wrong.nonzero()[0])
        raise InputError(
            f"Expected {name} with integers between 0 and {int(limit[column]) - 1} in column {column}; got "
            f"{columns[row, column].item():g} in row {row}."
        )


def describe(features: Features | None) -> Any:
    """Features as plain values, for files; `from_description` reads them."""
    if isinstance(features, Mapping):
        return {name: describe(each) for name, each in features.items()}
    if not isinstance(features, Categories):
        return features
    named = {} if features.vocabulary is None else {"vocabulary": features.vocabulary}
    numbers = {"numbers": features.numbers} if features.numbers else {}
    return {"categories": list(features.sizes), **named, **numbers}


def from_description(content: Any) -> Any:
    """The features of a result of `describe`."""
    if isinstance(content, dict) and isinstance(content.get("categories"), list):
        return Categories(content["categories"], content.get("vocabulary"), content.get("numbers", 0))
    if isinstance(content, dict):
        return {name: from_description(each) for name, each in content.items()}
    return content


def _width(features: int | Categories) -> int:
    return features.width if isinstance(features, Categories) else features
