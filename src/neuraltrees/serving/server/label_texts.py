"""Labels of scenes as bytes: as JSON, and set in a scene in a form of Spark-DSG; numbers are written by the core."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuraltrees._core import native
from neuraltrees.scenes import NodeLabel, Scene
from neuraltrees.scenes.scene import NodeId
from neuraltrees.scenes.spark_columns import SparkMessage
from neuraltrees.serving.scene_labels import SceneLabels
from neuraltrees.serving.server.fast_json import write_json

Labels: TypeAlias = Mapping[NodeId, NodeLabel]
LENGTH, LABEL, NUMBER = 0xDD, 0xCE, 0xCB  # tags of the binary form


@dataclass(frozen=True, eq=False)
class _Table:
    """Labels of nodes whose probabilities have the same names.

    Args:
        which: the places of these nodes among all.
        names: the names of labels.
        chosen: the label of every node, as a place among the names.
        numbers: the number of the label of every node; None for one without a number.
        rows: the probabilities of all labels; None if they are not known.

    Shapes: rows :math:`(k, C)`
    """

    which: Sequence[int]
    names: Sequence[str]
    chosen: npt.NDArray[np.int64]
    numbers: Sequence[int | None]
    rows: npt.NDArray[np.float64] | None


def labels_as_json(scene: Scene, labels: Labels, top: int) -> bytes:
    """The labels of nodes with the most probable ones, and the report of the scene."""
    numbers = [scene.number[node_id] for node_id in labels]
    types = [_quoted(kind) for kind in scene.types]
    kinds = [types[kind] for kind in scene.node_type[numbers].tolist()]
    ids = [_quoted(each) if isinstance(each, str) else each for each in labels]
    entries = [""] * len(ids)
    for table in _tables(labels):
        names = [_quoted(name) for name in table.names]
        heads = [
            f'{{"id":{ids[i]},"type":{kinds[i]},"label":{names[place]}'
            + ("" if number is None else f',"number":{number}')
            for i, place, number in zip(table.which, table.chosen.tolist(), table.numbers, strict=True)
        ]
        if table.rows is None:
            texts = [head + "}" for head in heads]
        else:
            order = np.ascontiguousarray(np.argsort(-table.rows, axis=1, kind="stable")[:, :top])
            texts = native.label_texts(heads, names, table.rows, table.chosen, order)
        for i, text in zip(table.which, texts, strict=True):
            entries[i] = text
    return f'{{"nodes":[{",".join(entries)}],"report":{_quoted(str(scene.report))}}}'.encode()


def labelled_json(message: SparkMessage, labels: Labels) -> bytes:
    """Spark-DSG JSON with these labels; all other bytes stay the same."""
    columns, number, edits = message.columns, _numbers(message, labels), _Edits(message.body)

    def set_values(key: str, spans: npt.NDArray[np.int64], which: npt.NDArray[np.int64], texts: list[bytes]) -> None:
        # A value that is missing is added at the end of the attributes, which have others.
        mine, end = spans[which], columns["attributes"][which, 1] - 1
        added = mine[:, 0] < 0
        if added.any():
            prefix = f',"{key}":'.encode()
            texts = [prefix + text if new else text for new, text in zip(added.tolist(), texts, strict=True)]
        edits.add(np.where(added, end, mine[:, 0]), np.where(added, end, mine[:, 1]), texts)

    for table in _tables(labels):
        which, names = number[table.which], [_quoted(name) for name in table.names]
        set_values("name", columns["name_value"], which, [names[place].encode() for place in table.chosen.tolist()])
        known = [i for i, each in enumerate(table.numbers) if each is not None]
        texts = [b"%d" % each for each in table.numbers if each is not None]
        set_values("semantic_label", columns["label_value"], which[known], texts)
        if table.rows is not None:
            texts = native.probability_texts(names, table.rows)
            set_values("semantic_class_probabilities", columns["probabilities_value"], which, texts)
    return edits.done()


def labelled_binary(message: SparkMessage, labels: Labels) -> bytes:
    """The binary form of Spark-DSG with these labels; it has no field for the probabilities of objects."""
    columns, number, edits = message.columns, _numbers(message, labels), _Edits(message.body)

    def set_values(spans: npt.NDArray[np.int64], which: npt.NDArray[np.int64], text_of: Callable[[int], Any]) -> None:
        """Sets the values that nodes have a field for, and that are known."""
        texts = [text_of(i) if start >= 0 else None for i, start in enumerate(spans[which, 0].tolist())]
        known = [i for i, text in enumerate(texts) if text is not None]
        edits.add(spans[which[known], 0], spans[which[known], 1], [text for text in texts if text is not None])

    for table in _tables(labels):
        which = number[table.which]
        chosen = [_text(table.names[place]) for place in table.chosen.tolist()]
        numbers = [None if each is None else struct.pack("<BI", LABEL, each) for each in table.numbers]
        set_values(columns["name_value"], which, chosen.__getitem__)
        set_values(columns["label_value"], which, numbers.__getitem__)
        if table.rows is not None:
            set_values(columns["probabilities_value"], which, partial(_shares, table.names, table.rows))
    return edits.done()


class _Edits:
    """Parts of a message, and what they become."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._starts, self._stops = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        self._texts: list[bytes] = []

    def add(self, start: npt.NDArray[np.int64], stop: npt.NDArray[np.int64], texts: Sequence[bytes]) -> None:
        """Parts and their new texts."""
        self._starts.append(start)
        self._stops.append(stop)
        self._texts += texts

    def done(self) -> bytes:
        start, stop = np.concatenate(self._starts), np.concatenate(self._stops)
        order = np.argsort(start, kind="stable")
        return native.spliced(self._body, start[order], stop[order], [self._texts[i] for i in order.tolist()])


def _numbers(message: SparkMessage, labels: Labels) -> npt.NDArray[np.int64]:
    """The nodes of the labels, as numbers of the scene."""
    number = message.scene.number
    return np.array([number[node_id] for node_id in labels], dtype=np.int64)


def _tables(labels: Labels) -> list[_Table]:
    if not isinstance(labels, SceneLabels):
        return _grouped(labels)
    found, first = [], 0
    for kind in labels.kinds:
        which = range(first, first + len(kind.ids))
        numbers = [kind.numbers[place] for place in kind.best.tolist()]
        found.append(_Table(which, kind.names, kind.best, numbers, kind.rows))
        first = which.stop
    return found


def _grouped(labels: Labels) -> list[_Table]:
    """Labels one by one, those with probabilities of the same names together."""
    groups: dict[tuple[str, ...] | str, list[tuple[int, NodeLabel]]] = {}
    for i, label in enumerate(labels.values()):
        key = label.name if label.probabilities is None else tuple(label.probabilities)
        groups.setdefault(key, []).append((i, label))
    found = []
    for key, members in groups.items():
        names = (key,) if isinstance(key, str) else key
        chosen = np.array([names.index(label.name) for _, label in members])
        given = [[*(label.probabilities or {}).values()] for _, label in members]
        rows = None if isinstance(key, str) else np.array(given, dtype=np.float64)
        found.append(_Table([i for i, _ in members], names, chosen, [label.label for _, label in members], rows))
    return found


def _quoted(text: str) -> str:
    return write_json(text).decode()


def _text(text: str) -> bytes:
    """A text in binary: its length, then its letters."""
    letters = text.encode()
    return struct.pack("<BI", LENGTH, len(letters)) + letters


def _shares(names: Sequence[str], rows: npt.NDArray[np.float64], i: int) -> bytes:
    """The probabilities of a node in binary: names, sorted as in Spark-DSG, and numbers."""
    pairs = sorted((name.encode(), share) for name, share in zip(names, rows[i].tolist(), strict=True))
    parts = [struct.pack("<BI", LENGTH, len(name)) + name + struct.pack("<Bd", NUMBER, share) for name, share in pairs]
    return struct.pack("<BI", LENGTH, len(parts)) + b"".join(parts)
