"""Labels of some nodes that are known, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.graph_checks import type_of
from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.files import PathLike, read_whole


def read_known(
    path: PathLike, graphs: Sequence[Data], names: Sequence[Sequence[str]], labels: Mapping[str, Sequence[str]]
) -> list[Tensor]:
    """The known labels of every graph, -1 for nodes that the file does not name.

    The file holds an object `{node: label}`, a node by its name or its number, a label by its name; for several graphs
    a list of such objects under "graphs".

    Args:
        path: the file.
        graphs: the graphs, with `node_type` where there are several types.
        names: those of their nodes.
        labels: the label names of each node type.
    """
    _check_classes(labels)
    try:
        content = json.loads(read_whole(path), object_pairs_hook=_once)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"Expected {path} to be a JSON file; got: {error}.") from None
    return known_of(content, path, graphs, names, labels)


def known_of(
    content: object,
    where: object,
    graphs: Sequence[Data],
    names: Sequence[Sequence[str]],
    labels: Mapping[str, Sequence[str]],
) -> list[Tensor]:
    """The same of parsed JSON; `where` it is from is said in errors."""
    _check_classes(labels)
    several = isinstance(content, dict) and isinstance(content.get("graphs"), list)
    listed = content["graphs"] if isinstance(content, dict) and several else [content]
    if len(listed) != len(graphs):
        raise InputError(
            f"Expected {where} to hold the known labels of {len(graphs)} graphs, a list under 'graphs'; got those of "
            f"{len(listed)}."
        )
    found = []
    for number, (given, graph, of_nodes) in enumerate(zip(listed, graphs, names, strict=True)):
        place = f"{where}, graph {number}" if several else f"{where}"
        if not isinstance(given, dict):
            raise InputError(f"{place}: expected an object of nodes and their labels; got {type(given).__name__}.")
        found.append(_known(given, graph, of_nodes, labels, place))
    return found


def _check_classes(labels: Mapping[str, Sequence[str]]) -> None:
    if not labels:
        raise InputError("Expected a model of classes, whose labels can be known; got another one. Leave --known out.")


def _known(
    given: Mapping[str, object], graph: Data, names: Sequence[str], labels: Mapping[str, Sequence[str]], place: str
) -> Tensor:
    known = torch.full((graph.num_nodes,), -1, dtype=torch.int64)
    types, kinds = list(labels), type_of(graph, list(labels)).tolist()
    for name, label in given.items():
        node = _node(name, names, place)
        of_type = list(labels[types[kinds[node]]])
        if not isinstance(label, str) or label not in of_type:
            advice = did_you_mean(label, of_type) or f" Labels are {', '.join(of_type[:6])}, …"
            raise InputError(
                f"{place}: expected a {types[kinds[node]]} label for node {name!r}; got {label!r}.{advice}"
            )
        if int(known[node]) >= 0:
            raise InputError(f"{place}: expected one label per node; got two for node {name!r}.")
        known[node] = of_type.index(label)
    return known


def _node(name: str, names: Sequence[str], place: str) -> int:
    count = names.count(name) if isinstance(names, list) else list(names).count(name)
    if count == 1:
        return list(names).index(name)
    if count > 1:
        raise InputError(f"{place}: expected a name of one node; {name!r} is that of {count}. Use the node's number.")
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    advice = did_you_mean(name, names)
    raise InputError(f"{place}: expected nodes by name or by number from 0 to {len(names) - 1}; got {name!r}.{advice}")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object without keys that come twice."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"Expected every node once; got {key!r} twice.")
        found[key] = value
    return found
