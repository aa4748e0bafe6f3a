"""Known labels of some nodes of graphs, as JSON; those of scenes are in `scenes/label_states.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.graph_checks import type_of
from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.files import PathLike, read_whole

MOST_COMPARED = 1000  # names that a mistyped one is compared with


def read_known(
    path: PathLike, graphs: Sequence[Data], names: Sequence[Sequence[str]], labels: Mapping[str, Sequence[str]]
) -> list[Tensor]:
    """The known labels of every graph, -1 for nodes that the file does not name.

    The file holds an object `{node: label}`, with nodes by name or by number and labels by name; for several graphs, a
    list of such objects under "graphs".

    Shapes: a list of :math:`(n)`

    Args:
        path: the file.
        graphs: the graphs, with `node_type` where there are several types.
        names: the names of the nodes of every graph.
        labels: the names of the labels of each node type.
    """
    _check_classes(labels)
    try:
        content = json.loads(read_whole(path), object_pairs_hook=_once)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"Expected {path} to be a JSON file; got: {error}.") from None
    return known_of(content, path, graphs, names, labels)


def known_of(
    content: object,
    where: object,
    graphs: Sequence[Data],
    names: Sequence[Sequence[str]],
    labels: Mapping[str, Sequence[str]],
) -> list[Tensor]:
    """`read_known` for parsed JSON; errors name `where` it is from."""
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
    known = [-1] * len(names)
    types, kinds = list(labels), type_of(graph, list(labels)).tolist()
    named: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        named.setdefault(name, []).append(number)
    for name, label in given.items():
        node = _node(name, named, len(names), place)
        of_type = list(labels[types[kinds[node]]])
        if not isinstance(label, str) or label not in of_type:
            advice = did_you_mean(label, of_type) or f" Labels are {', '.join(of_type[:6])}, …"
            raise InputError(
                f"{place}: expected a {types[kinds[node]]} label for node {name!r}; got {label!r}.{advice}"
            )
        if known[node] >= 0:
            raise InputError(f"{place}: expected one label per node; got two for node {name!r}.")
        known[node] = of_type.index(label)
    return torch.tensor(known, dtype=torch.int64)


def _node(name: str, named: Mapping[str, Sequence[int]], count: int, place: str) -> int:
    """The number of a node by its name, or else by its number as text."""
    found = named.get(name, ())
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{place}: expected the name of one node; got {name!r}, which {len(found)} nodes have. Use the node's "
            f"number."
        )
    if name.isdecimal() and len(name) < 20 and int(name) < count:
        return int(name)
    advice = did_you_mean(name, named) if count <= MOST_COMPARED else ""
    raise InputError(f"{place}: expected nodes by name or by number from 0 to {count - 1}; got {name!r:.60}.{advice}")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these pairs; a key that comes twice raises `InputError`."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise InputError(f"Expected every node once; got {key!r} twice.")
        found[key] = value
    return found
