"""Scenes in the forms of Spark-DSG by the native readers: column by column, without an object per node.

They read well-formed scenes. What they decline, `scene_of_spark` reads node by node, which reports all that is unusual.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuraltrees._core import native
from neuraltrees.scenes.builder import SceneBuilder
from neuraltrees.scenes.report import Findings
from neuraltrees.scenes.scene import ADJACENT, IN, NO_LABEL, Int64, Scene
from neuraltrees.scenes.spark import (
    DEPTH,
    FORMAT,
    HEADER,
    NEWEST,
    UNLABELLED,
    layer_names,
    metadata_of,
    type_of,
    version_of,
)

Columns: TypeAlias = Mapping[str, Any]  # arrays, and lists of texts
LABEL_UNKNOWN = -2  # of a node whose label is none
BOX_INVALID, BOX_VALID = 1, 2


class LazyRows(Sequence[Mapping[str, Any]]):
    """A mapping per node, each made when it is read."""

    def __init__(self, count: int, make: Callable[[int], Mapping[str, Any]]) -> None:
        self._rows, self._make = range(count), make

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return tuple(map(self._make, self._rows[i]))
        return self._make(self._rows[i])


@dataclass(frozen=True, eq=False)
class SparkMessage:
    """A message in a form of Spark-DSG, its columns, and its scene.

    Args:
        body: the message.
        columns: what the native reader gives; see `SparkColumns` in the core.
        scene: the scene.
        binary: whether it is in the binary form.
    """

    body: bytes
    columns: Columns
    scene: Scene
    binary: bool


def read_json_columns(body: bytes) -> Columns | None:
    """The columns of Spark-DSG JSON; None for a text that must be read node by node."""
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            return None
    return native.read_spark_json(body)


def message_of_json(body: bytes, columns: Columns) -> SparkMessage | None:
    """The scene of these columns; None for one that must be read node by node."""
    (first, first_end), (second, second_end) = sorted(columns["arrays"].tolist())
    content = json.loads(body[:first] + b"[]" + body[first_end:second] + b"[]" + body[second_end:])
    spans = columns["attributes"]

    def attributes(i: int) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(body[spans[i, 0] : spans[i, 1]])
        return found

    return _message(body, columns, content, attributes)


def read_binary_columns(body: bytes) -> Columns | None:
    """The columns of the binary form of Spark-DSG; None for a message that must be read node by node."""
    columns = native.read_spark_binary(body)
    return columns if columns is not None and _in_order(columns) else None


def message_of_binary(body: bytes, columns: Columns) -> SparkMessage | None:
    """The scene of these columns; None for one that must be read node by node."""
    keys = np.stack([columns["layer_of_name"], columns["partition_of_name"]], 1).tolist()
    layers = zip(columns["layer_name"], keys, strict=True)
    named = {name: {"layer": layer, "partition": partition} for name, (layer, partition) in layers}
    types = columns["types"]
    version = dict(zip(("major", "minor", "patch"), NEWEST, strict=True))
    content = {HEADER: {"version": version}, "layer_names": named}
    names, number = columns["name"], columns["label"]
    ptr, vectors = columns["embedding_ptr"], columns["embedding"]

    def attributes(i: int) -> Mapping[str, Any]:
        found: dict[str, Any] = {"type": types[columns["type"][i]], "position": columns["position"][i].tolist()}
        if number[i] != NO_LABEL:  # a node that has these attributes
            found["name"] = names[i] or ""
            found["semantic_label"] = UNLABELLED if number[i] == LABEL_UNKNOWN else int(number[i])
        if not np.isnan(columns["distance"][i]):
            found["distance"] = float(columns["distance"][i])
        if columns["box"][i] == BOX_VALID:
            size, centre = columns["size"][i].tolist(), columns["centre"][i].tolist()
            found["bounding_box"] = {"type": "AABB", "dimensions": size, "world_P_center": centre}
        elif columns["box"][i] == BOX_INVALID:
            found["bounding_box"] = {"type": "INVALID"}
        if ptr[i + 1] > ptr[i]:
            found["semantic_feature"] = vectors[ptr[i] : ptr[i + 1]].tolist()
        return found

    return _message(body, columns, content, attributes)


def _message(
    body: bytes, columns: Columns, content: dict[str, Any], attributes: Callable[[int], Mapping[str, Any]]
) -> SparkMessage | None:
    ids: list[int] = columns["id"].tolist()
    order = np.argsort(columns["id"], kind="stable")
    known = columns["id"][order]
    if not ids or (known[1:] == known[:-1]).any():
        return None
    builder = SceneBuilder()
    version = version_of(content, builder)
    kinds, kind, depth = _kinds(columns, content)
    edges = _edges(columns, known, order, depth)
    if edges is None:
        return None
    pairs, relations, relation = edges
    _note(builder.findings, columns, ids, kinds, kind)
    metadata = metadata_of(content, builder)
    ptr, vectors = columns["embedding_ptr"], columns["embedding"]
    embedded = np.flatnonzero(ptr[1:] > ptr[:-1]).tolist()
    scene = Scene(
        tuple(ids),
        kinds,
        kind,
        tuple(columns["name"]),
        np.maximum(columns["label"], NO_LABEL),
        columns["position"],
        columns["size"],
        columns["centre"],
        {i: vectors[ptr[i] : ptr[i + 1]] for i in embedded},
        LazyRows(len(ids), attributes),
        pairs,
        relations,
        relation,
        metadata,
        builder.findings.report(FORMAT, version),
    )
    return SparkMessage(body, columns, scene, bool(len(columns["types"])))


def _kinds(columns: Columns, content: dict[str, Any]) -> tuple[tuple[str, ...], Int64, Int64]:
    """The types of nodes that occur, in the order of the nodes, and the type and the depth of every node."""
    rows = np.stack([columns[name] for name in ("layer", "partition", "agent", "prefix")], 1)
    changes = np.flatnonzero((rows[1:] != rows[:-1]).any(1)) + 1  # nodes of a layer often follow one another
    starts = [0, *changes.tolist()]
    names, found, places = layer_names(content), dict[tuple[int, ...], tuple[int, int]](), dict[str, int]()
    both = []
    for layer, partition, agent, prefix in rows[starts].tolist():
        row = (layer, partition, agent, prefix)
        if row not in found:
            record = {"layer": layer, "partition": partition} | ({"prefix": ""} if prefix else {})
            kind = type_of(record, "AgentNodeAttributes" if agent else None, names)
            assert kind is not None  # layers are numbers
            found[row] = places.setdefault(kind, len(places)), DEPTH.get(kind, layer)
        both.append(found[row])
    lengths = np.diff(starts, append=len(rows))
    kind_and_depth = np.repeat(np.array(both, dtype=np.int64), lengths, 0)
    return tuple(places), kind_and_depth[:, 0].copy(), kind_and_depth[:, 1]


def _edges(
    columns: Columns, known: npt.NDArray[np.uint64], order: Int64, depth: Int64
) -> tuple[Int64, tuple[str, ...], Int64] | None:
    """Edges between nodes by their numbers, the lower layer first; None if one of them must be left out."""
    ends = np.stack([columns["source"], columns["target"]], 1)
    place = np.minimum(np.searchsorted(known, ends), len(known) - 1)
    if (known[place] != ends).any():
        return None
    pairs = order[place]
    below, above = depth[pairs[:, 0]], depth[pairs[:, 1]]
    key = pairs.min(1) * len(known) + pairs.max(1)
    if (pairs[:, 0] == pairs[:, 1]).any() or len(np.unique(key)) < len(key):
        return None
    turned = below > above
    pairs[turned] = pairs[turned, ::-1]
    level = below == above
    if not len(level):
        return pairs, (), np.zeros(0, np.int64)
    relations = (ADJACENT, IN) if level[0] else (IN, ADJACENT)
    relation = (level != level[0]).astype(np.int64)
    return pairs, relations if relation.any() else relations[:1], relation


def _note(findings: Findings, columns: Columns, ids: Sequence[int], kinds: tuple[str, ...], kind: Int64) -> None:
    """Notes boxes that are invalid and labels that are none, in the order of the nodes."""
    invalid, unlabelled = columns["box"] == BOX_INVALID, columns["label"] == LABEL_UNKNOWN
    reasons = [("invalid box", np.flatnonzero(invalid)), ("no label", np.flatnonzero(unlabelled))]
    reasons = [(reason, which) for reason, which in reasons if len(which)]
    for reason, which in sorted(reasons, key=lambda each: int(each[1][0])):
        counts = Counter(kind[which].tolist())  # in the order in which types occur first
        by_type = {kinds[place]: count for place, count in counts.items()}
        findings.note_all(reason, by_type, [ids[i] for i in which[:5].tolist()])


def _in_order(columns: Columns) -> bool:
    """Whether nodes and edges come in the order in which the package spark-dsg has them; else it must sort them."""
    layer, partition, ids = columns["layer"], columns["partition"], columns["id"]
    if not np.isin(layer[partition == 0], columns["layers"]).all():
        return False
    if not _rises((ids, partition, layer, partition > 0)):
        return False
    order = np.argsort(ids, kind="stable")
    ends = np.stack([columns["source"], columns["target"]], 1)
    if not len(ids) or not len(ends):
        return bool(len(ids))
    place = order[np.minimum(np.searchsorted(ids[order], ends), len(ids) - 1)]
    (first, second), (low, high) = place.T, (ends.min(1), ends.max(1))
    same = (layer[first] == layer[second]) & (partition[first] == partition[second])
    group = np.where(same, np.where(partition[first] > 0, 1, 0), 2)
    return _rises((high, low, np.where(same, partition[first], 0), np.where(same, layer[first], 0), group))


def _rises(keys: tuple[npt.NDArray[Any], ...]) -> bool:
    """Whether rows are sorted, the last key first."""
    order = np.lexsort(keys)
    return bool((order[1:] > order[:-1]).all())
