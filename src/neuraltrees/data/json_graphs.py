"""Graphs as JSON, for programs that do not use PyG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.options import rule_in_words


class JsonNode(BaseModel):
    """A node: its features, and its type and name if it has any."""

    model_config = ConfigDict(extra="forbid", strict=True)
    x: list[float]
    type: str | None = None
    name: str | None = None


class JsonGraph(BaseModel):
    """Nodes, edges as pairs of their numbers from 0, and features of the edges if they have any."""

    model_config = ConfigDict(extra="forbid", strict=True)
    nodes: list[JsonNode] = Field(min_length=1)
    edges: list[list[int]]
    edge_attr: list[list[float]] | None = None


SCENE = (
    " It looks like a scene graph, which this model cannot read: use the model that comes with the package, scenes, or "
    "one that was trained with --dataset scenes:FOLDER."
)


def read_graphs(
    path: PathLike, types: Sequence[str], edge_features: bool = False, ragged: bool = False
) -> tuple[list[Data], list[list[str]]]:
    """The graphs of a file with `node_type` set, and the names of their nodes.

    Args:
        path: one graph, or several under "graphs"; `.gz` and `.xz` are unpacked.
        types: the node types, in their order.
        edge_features: whether every graph must have edge features.
        ragged: whether node types may have different numbers of features; shorter ones are padded with zeros.
    """
    try:
        content = json.loads(read_whole(path))
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"Expected {path} to be a JSON file; got: {error}.") from None
    return graphs_of(content, path, types, edge_features, ragged)


def graphs_of(
    content: Any, where: object, types: Sequence[str], edge_features: bool = False, ragged: bool = False
) -> tuple[list[Data], list[list[str]]]:
    """`read_graphs` for parsed JSON; errors name `where` it is from."""
    several = isinstance(content, dict) and "graphs" in content
    other = next((key for key in content if key != "graphs"), None) if several else None
    if other is not None:
        raise InputError(f"{where}: expected no key but 'graphs'; got {other!r:.60}. Put it into the graphs.")
    listed = content["graphs"] if several else [content]
    if not isinstance(listed, list) or not listed:
        came = "an empty list" if listed == [] else type(listed).__name__
        raise InputError(f"Expected {where} to hold a graph, or a list under 'graphs'; got {came}.")
    graphs, names = [], []
    for number, each in enumerate(listed):
        place = f"{where}, graph {number}" if several else f"{where}"
        try:
            graph = JsonGraph.model_validate(each)
        except ValidationError as error:
            detail = error.errors()[0]
            where = ".".join(map(str, detail["loc"])) or "graph"
            came = "" if detail["type"] == "missing" else f"; got {detail['input']!r:.80}"
            remedy = SCENE if _is_scene(each) else ""
            raise InputError(f"{place}: expected {where} {rule_in_words(detail['msg'])}{came}.{remedy}") from None
        if edge_features and graph.edge_attr is None:
            raise InputError(f"{place}: expected edge_attr, a list of numbers per edge, which the network reads.")
        graphs.append(_data(graph, types, place, ragged))
        names.append([node.name or str(i) for i, node in enumerate(graph.nodes)])
    return graphs, names


def _is_scene(content: Any) -> bool:
    """Whether it looks like a scene graph of a robot rather than a graph with features."""
    nodes = content.get("nodes") if isinstance(content, dict) else None
    first = nodes[0] if isinstance(nodes, list) and nodes else None
    return isinstance(first, dict) and "x" not in first and not first.keys().isdisjoint({"layer", "id", "position"})


def _data(graph: JsonGraph, types: Sequence[str], place: str, ragged: bool) -> Data:
    sizes = {len(node.x) for node in graph.nodes}
    if len(sizes) > 1 and not ragged:
        raise InputError(f"{place}: expected as many features for every node; got {sorted(sizes)}.")
    kinds = []
    for number, node in enumerate(graph.nodes):
        if node.type is None and len(types) == 1:
            kinds.append(0)
        elif node.type in types:
            kinds.append(types.index(node.type))
        else:
            raise InputError(f"{place}: expected node {number} of type {' or '.join(types)}; got {node.type!r}.")
    wrong = next((pair for pair in graph.edges if len(pair) != 2), None)
    if wrong is not None:
        raise InputError(f"{place}: expected edges as pairs of node numbers; got {wrong}.")
    outside = next((end for pair in graph.edges for end in pair if not 0 <= end < len(graph.nodes)), None)
    if outside is not None:
        raise InputError(
            f"{place}: expected edges between the nodes 0 to {len(graph.nodes) - 1}; got one at node {outside}."
        )
    edge_index, edge_attr = _edges(graph, place)
    return Data(
        x=torch.tensor([[*node.x, *[0.0] * (max(sizes) - len(node.x))] for node in graph.nodes], dtype=torch.float32),
        edge_index=edge_index,
        edge_attr=edge_attr,
        node_type=torch.tensor(kinds),
        num_nodes=len(kinds),
    )


def _edges(graph: JsonGraph, place: str) -> tuple[Tensor, Tensor | None]:
    """Both directions of every edge, each once, and their features."""
    edge_index = torch.tensor(graph.edges, dtype=torch.int64).reshape(-1, 2).t().contiguous()
    # An edge that is written once stands for both directions, which a GNN needs.
    both, which = torch.unique(torch.cat([edge_index, edge_index.flip(0)], 1), dim=1, return_inverse=True)
    if graph.edge_attr is None:
        return both, None
    if len(graph.edge_attr) != len(graph.edges) or len({len(row) for row in graph.edge_attr}) > 1:
        raise InputError(
            f"{place}: expected edge_attr as a list of equally many numbers for each of {len(graph.edges)} edges; got "
            f"{len(graph.edge_attr)} lists."
        )
    given = torch.tensor(graph.edge_attr, dtype=torch.float32).reshape(len(graph.edges), -1)
    # Where an edge is written in both directions, each has the features written with it.
    attr = given.new_zeros(both.shape[1], given.shape[1])
    count = len(graph.edges)
    attr[which[count:]] = given
    attr[which[:count]] = given
    return both, attr
