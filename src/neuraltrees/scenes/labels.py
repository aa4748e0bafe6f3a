"""Label spaces: the names of labels, the numbers that scenes use for them, and synonyms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.scenes.scene import NO_LABEL, Int64, NodeId, Scene

UNKNOWN_LABEL = "unknown"
# The key of a label space in the metadata of Spark-DSG: layer and partition.
_SPARK_KEYS = {"object": "_l2p0", "place": "_l3p0", "mesh_place": "_l3p1", "room": "_l4p0", "building": "_l5p0"}


def plain(name: str) -> str:
    """The form in which names are compared: lower case, with single spaces for underscores and hyphens.

    >>> plain("TV_Monitor "), plain("tv-monitor")
    ('tv monitor', 'tv monitor')
    """
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


@dataclass(frozen=True, eq=False, repr=False)
class LabelSpace:
    """The labels of a node type, by name. `unknown` is one of them: it stands for every label that is not listed.

    Args:
        names: the labels; `unknown` is appended if it is not among them.
        numbers: the name of every number that scenes use; several numbers may have the same name.
        synonyms: the label that every other name stands for.

    >>> rooms = LabelSpace(["kitchen", "bath"], {7: "kitchen", 9: "bath"}, {"bathroom": "bath"})
    >>> rooms
    LabelSpace(3 labels: kitchen, bath, unknown)
    >>> rooms.index("Bathroom"), rooms.index("cave"), rooms.name_of_number(7), rooms.number("bath")
    (1, 2, 'kitchen', 9)
    """

    names: tuple[str, ...]
    numbers: Mapping[int, str] = field(default_factory=dict)
    synonyms: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = _texts("names", self.names)
        known = {plain(name): name for name in names}
        if len(known) < len(names):
            twice = next(name for i, name in enumerate(names) if plain(name) in map(plain, names[:i]))
            raise InputError(f"Expected distinct names of labels; got {twice!r} twice, up to case and underscores.")
        if UNKNOWN_LABEL not in known:
            names = (*names, UNKNOWN_LABEL)
            known[UNKNOWN_LABEL] = UNKNOWN_LABEL
        if not isinstance(self.numbers, Mapping) or not isinstance(self.synonyms, Mapping):
            raise InputError("Expected numbers and synonyms of labels as dictionaries.")
        numbers: dict[int, str] = {}
        for number, name in self.numbers.items():
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
                raise InputError(f"Expected numbers of labels from 0; got {number!r}.")
            numbers[number] = _listed(name, known, f"number {number}")
        synonyms = {}
        for other, name in self.synonyms.items():
            if plain(_texts("synonyms", [other])[0]) in known:
                raise InputError(f"Expected synonyms that are no labels themselves; got {other!r}.")
            synonyms[other] = _listed(name, known, f"synonym {other!r}")
        for key, value in (("names", names), ("numbers", MappingProxyType(numbers))):
            object.__setattr__(self, key, value)
        object.__setattr__(self, "synonyms", MappingProxyType(synonyms))

    @classmethod
    def of_scene(cls, scene: Scene, node_type: str) -> LabelSpace:
        """The label space that a Spark-DSG file has for a node type in its metadata."""
        spaces: Any = scene.metadata.get("metadata")
        spaces = spaces.get("labelspaces") if isinstance(spaces, Mapping) else None
        given = spaces.get(_SPARK_KEYS.get(node_type, "")) if isinstance(spaces, Mapping) else None
        if given is None:
            raise InputError(
                f"Expected a label space for {node_type} in the scene's metadata; got none. Read one from a file: "
                f"LabelSpace.read(path)."
            )
        from neuraltrees.scenes.label_files import space_of

        return space_of(given, f"label space of {node_type}")

    @classmethod
    def read(cls, path: PathLike) -> LabelSpace:
        """Reads a label space from JSON, YAML or CSV; see `read_label_space`."""
        from neuraltrees.scenes.label_files import read_label_space

        return read_label_space(path)

    def write(self, path: PathLike) -> None:
        """Writes the label space as JSON, YAML or CSV, by the ending of the path; `read` gives the same back."""
        from neuraltrees.scenes.label_files import write_label_space

        write_label_space(self, path)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _place(self) -> dict[str, int]:
        found = {plain(name): i for i, name in enumerate(self.names)}
        return found | {plain(other): found[plain(name)] for other, name in self.synonyms.items()}

    @cached_property
    def _first_number(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for number, name in self.numbers.items():
            found.setdefault(name, number)
        return found

    @cached_property
    def numbers_in_order(self) -> tuple[int | None, ...]:
        """The number that scenes use for each of `names`; None if there is none."""
        return tuple(self._first_number.get(name) for name in self.names)

    @property
    def unknown(self) -> int:
        """The place of `unknown`."""
        return self._place[UNKNOWN_LABEL]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and plain(name) in self._place

    def index(self, name: str) -> int:
        """The place of a label in `names`, by its name or a synonym; the place of `unknown` for any other name."""
        return self._place.get(plain(name), self.unknown)

    def name_of_number(self, number: int) -> str:
        """The label of a number that scenes use; `unknown` for a number that is not listed."""
        return self.numbers.get(number, self.names[self.unknown])

    def number(self, name: str) -> int | None:
        """The number that scenes use for a label; None if there is none."""
        return self._first_number.get(self.names[self.index(name)])

    def labels_of(self, scene: Scene, ids: Iterable[NodeId] | None = None) -> Int64:
        """The label of every node, or of these, as a place in `names`; -1 for a node without a label.

        A node's number counts where it has one, else its name: names are labels in ConceptGraphs and 3DSSG. A number
        or a name that is not listed is `unknown`; but where scenes number their labels, a node without a number whose
        name is no label has none.
        """
        chosen = range(scene.num_nodes) if ids is None else [scene.number[name] for name in ids]
        found = np.full(len(chosen), NO_LABEL)
        for place, i in enumerate(chosen):
            name = scene.names[i]
            if scene.labels[i] != NO_LABEL:
                found[place] = self.index(self.name_of_number(int(scene.labels[i])))
            elif name is not None and (name in self or not self.numbers):
                found[place] = self.index(name)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSpace):
            return NotImplemented
        return (self.names, dict(self.numbers), dict(self.synonyms)) == (
            other.names,
            dict(other.numbers),
            dict(other.synonyms),
        )

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        few = ", ".join(self.names[:4]) + (", ..." if len(self.names) > 4 else "")
        return f"LabelSpace({len(self)} labels: {few})"


def _texts(what: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputError(f"Expected {what} of labels as a list of words; got {values!r:.60}.")
    for value in values:
        if not isinstance(value, str) or not plain(value):
            raise InputError(f"Expected {what} of labels as words; got {value!r:.60}.")
    return tuple(values)


def _listed(name: Any, known: Mapping[str, str], where: str) -> str:
    if not isinstance(name, str) or plain(name) not in known:
        raise InputError(f"Expected {where} to stand for one of the labels; got {name!r:.60}.")
    return known[plain(name)]
