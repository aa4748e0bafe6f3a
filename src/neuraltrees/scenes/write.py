"""Labels written into a Spark-DSG file; all other bytes stay the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, write_whole
from neuraltrees.scenes.json_files import parse, read_text
from neuraltrees.scenes.scene import NodeId
from neuraltrees.scenes.shares import Shares
from neuraltrees.scenes.spans import Member, elements, members, object_end, to_json
from neuraltrees.scenes.spark import MOST_ID, nodes_and_edges

MOST_LABEL = 2**32 - 1


@dataclass(frozen=True)
class NodeLabel:
    """The label of a node, with its number and the probabilities of all labels if they are known.

    Args:
        name: the name of the most probable label.
        label: its number; with None, `write_labels` keeps the number in the file.
        probabilities: the probability of every label by name; with None, `write_labels` keeps those in the file.

    >>> NodeLabel("kitchen", 10, {"kitchen": 0.9, "bath": 0.1}).name
    'kitchen'
    """

    name: str
    label: int | None = None
    probabilities: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for name in (self.name, *(self.probabilities or {})):
            if not isinstance(name, str) or any("\ud800" <= letter <= "\udfff" for letter in name):
                raise InputError(f"Expected the name of a label as text in Unicode; got {name!r}.")
        label = self.label
        if label is not None and (
            isinstance(label, bool) or not isinstance(label, int) or not 0 <= label <= MOST_LABEL
        ):
            raise InputError(f"Expected the number of a label from 0 to 2^32 - 1; got {label!r}.")
        for name, value in (self.probabilities or {}).items():
            good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not good or not 0 <= value <= 1:
                raise InputError(f"Expected probabilities by name, from 0 to 1; got {name!r}: {value!r}.")

    @classmethod
    def trusted(cls, name: str, label: int | None, probabilities: Mapping[str, float]) -> NodeLabel:
        """A label that is known to be valid, made without checking every probability: for many labels."""
        made = object.__new__(cls)
        made.__dict__.update(name=name, label=label, probabilities=probabilities)
        return made

    @property
    def values(self) -> dict[str, Any]:
        """The attributes of a Spark-DSG node that are to be set."""
        found: dict[str, Any] = {"name": self.name}
        if self.label is not None:
            found["semantic_label"] = self.label
        shares = self.probabilities
        if isinstance(shares, Shares):
            found["semantic_class_probabilities"] = shares.as_dict()
        elif shares is not None:
            found["semantic_class_probabilities"] = {name: float(p) for name, p in shares.items()}
        return found


def write_labels(scene: PathLike, labels: Mapping[NodeId, NodeLabel], out: PathLike) -> None:
    """Writes a Spark-DSG file with new labels of some nodes: `name`, `semantic_label`, `semantic_class_probabilities`.

    All other bytes stay as they are. The file is written whole or not at all; it may be the one that was read. `.gz`
    and `.xz` are packed by the ending of the path.

    Args:
        scene: a Spark-DSG JSON file.
        labels: by the id of the node; an id that the file does not have raises `InputError`.
        out: the file to write.
    """
    text = read_text(scene)
    try:
        labelled = set_labels(text, labels)
    except ParseError as error:
        raise error if str(scene) in str(error) else ParseError(f"{scene}: {error}") from None
    write_whole(out, labelled.encode())


def set_labels(text: str, labels: Mapping[NodeId, NodeLabel]) -> str:
    """`write_labels` for the text of a file instead of a path.

    >>> text = '{"nodes": [{"id": 7, "attributes": {"name": "R(0)"}}], "edges": []}'
    >>> set_labels(text, {7: NodeLabel("kitchen", 10)})
    '{"nodes": [{"id": 7, "attributes": {"name": "kitchen","semantic_label":10}}], "edges": []}'
    """
    for name, label in labels.items():
        if not isinstance(label, NodeLabel):
            raise InputError(f"Expected labels as NodeLabel; got {type(label).__name__} for node {name!r}.")
    nodes_and_edges(parse(text, "scene"))
    pieces: list[str] = []
    done = 0
    for start, stop, value in sorted(_edits(text, labels)):
        pieces += [text[done:start], value]
        done = stop
    return "".join([*pieces, text[done:]])


def _edits(text: str, labels: Mapping[NodeId, NodeLabel]) -> list[tuple[int, int, str]]:
    """Which part of the text becomes what."""
    left = dict(labels)
    found: list[tuple[int, int, str]] = []
    top = _last(members(text, len(text) - len(text.removeprefix("\ufeff").lstrip())))
    for start in elements(text, top["nodes"].start):
        if not left:
            break
        if text[start] != "{":
            continue
        node = _last(members(text, start))
        name = _id(text, node.get("id"))
        if name is None or name not in left:
            continue
        attributes = node.get("attributes")
        if attributes is None or text[attributes.start] != "{":
            raise InputError(f"Expected attributes of node {name} to set its label in; the file has none.")
        found += _node_edits(text, attributes.start, left.pop(name))
    if left:
        few = ", ".join(map(repr, list(left)[:5]))
        raise InputError(f"Expected ids of nodes of the file; got {len(left)} that it does not have: {few}.")
    return found


def _node_edits(text: str, start: int, label: NodeLabel) -> list[tuple[int, int, str]]:
    present = _last(members(text, start))
    edits = []
    added = []
    for key, value in label.values.items():
        if key in present:
            edits.append((present[key].start, present[key].stop, to_json(value)))
        else:
            added.append(f"{to_json(key)}:{to_json(value)}")
    if added:
        end, has_members = object_end(text, start)
        # After the last member, so that the spaces before the bracket stay.
        end = max((member.stop for member in present.values()), default=end) if has_members else end
        edits.append((end, end, ("," if has_members else "") + ",".join(added)))
    return edits


def _last(found: list[Member]) -> dict[str, Member]:
    """By key; of several with one key the last counts, as in every reader of JSON that is used here."""
    return {member.key: member for member in found}


def _id(text: str, member: Member | None) -> int | None:
    given = text[member.start : member.stop] if member else ""
    return int(given) if given.isdecimal() and len(given) <= 20 and int(given) < MOST_ID else None
