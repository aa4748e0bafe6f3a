"""Results as a JSON file of named records, written atomically after every record, so that work can be resumed.

A file names its experiment and, as its subject, all settings that its results depend on. A record has a name, possibly
settings of its own, and any values:

    {"experiment": "table1", "subject": {}, "note": "…", "records": [{"name": {"conv": "gcn"}, "seconds": 28.7, …}, …]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, locked, make_folder, write_whole

Name: TypeAlias = Mapping[str, str | int | float | None]
Settings: TypeAlias = Mapping[str, Any]
Record: TypeAlias = dict[str, Any]

REMEDY = "Choose another folder, or the same values."
_MISSING = object()


@dataclass(frozen=True)
class Results:
    """The content of a file of results.

    Args:
        experiment: the experiment that the records belong to.
        records: each with its `name`, its `settings` if it has any, and its values.
        subject: the settings that all records depend on.
        note: a remark that was added by hand, and is kept.

    >>> results = Results("x", [{"name": {"conv": "gcn", "k": None}, "test": 0.5}, {"name": {"conv": "gat"}}])
    >>> results.one(conv="gcn", k=None)["test"], len(results.find()), results.find(k=4)
    (0.5, 2, [])
    """

    experiment: str
    records: list[Record] = field(default_factory=list)
    subject: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def read(cls, path: PathLike) -> Results:
        """Reads a file; `InputError` unless it is a complete file of results."""
        remedy = "Restore it, or choose another folder."
        try:
            content = json.loads(Path(path).read_bytes())
        except ValueError as error:
            raise InputError(f"Expected {path} to be a file of results; it is not JSON: {error}. {remedy}") from None
        try:
            found = cls(content["experiment"], content["records"], content["subject"], content.get("note", ""))
            sound = isinstance(found.subject, dict) and all(isinstance(each["name"], dict) for each in found.records)
        except (KeyError, TypeError):
            sound = False
        if not sound:
            raise InputError(f"Expected {path} to be a file of results; got another JSON file. {remedy}")
        return found

    def find(self, **name: Any) -> list[Record]:
        """The records whose names contain these values."""
        wanted = name.items()
        return [each for each in self.records if all(each["name"].get(key, _MISSING) == value for key, value in wanted)]

    def one(self, **name: Any) -> Record:
        """The first record whose name contains these values; `InputError` if there is none."""
        found = self.find(**name)
        if not found:
            raise InputError(f"Expected {in_words(name)} in the results of {self.experiment}; got none.")
        return found[0]


class Store:
    """A file of results that is open for writing; see `open_store`."""

    def __init__(self, path: Path, results: Results, defaults: Settings) -> None:
        self.path, self.results, self.defaults = path, results, defaults
        self._places = {_key(each["name"]): place for place, each in enumerate(results.records)}

    def get(self, name: Name, settings: Settings | None = None) -> Record | None:
        """The record of that name, or None; `InputError` if it has other settings."""
        place = self._places.get(_key(name))
        if place is None:
            return None
        record = self.results.records[place]
        differing = _differing(record.get("settings", {}), settings or {}, self.defaults) if settings else []
        if differing:
            raise InputError(
                f"Expected {self.path} to hold {in_words(name)} with the same settings; it has another "
                f"{', '.join(differing)}. {REMEDY}"
            )
        return record

    def add(self, name: Name, values: Mapping[str, Any], settings: Settings | None = None) -> Record:
        """Writes a record, replacing one of the same name; numbers that are not finite become null."""
        record: Record = {"name": dict(name), **({"settings": dict(settings)} if settings else {}), **values}
        record = _plain(record)
        place = self._places.setdefault(_key(name), len(self.results.records))
        self.results.records[place : place + 1] = [record]
        self._write()
        return record

    def arrange(self, names: Sequence[Name]) -> None:
        """Sorts the records of these names into their order, however they were added; others stay in place."""
        wanted = {_key(name): place for place, name in enumerate(names)}
        records = self.results.records
        at = [place for place, each in enumerate(records) if _key(each["name"]) in wanted]
        ordered = sorted(at, key=lambda place: wanted[_key(records[place]["name"])])
        if ordered != at:
            for place, each in zip(at, [records[place] for place in ordered], strict=True):
                records[place] = each
            self._places = {_key(each["name"]): place for place, each in enumerate(records)}
            self._write()

    def _write(self) -> None:
        found = self.results
        content: dict[str, Any] = {"experiment": found.experiment, "subject": found.subject}
        content |= {"note": found.note} if found.note else {}
        content |= {"records": found.records}
        write_whole(self.path, (json.dumps(content, indent=1) + "\n").encode())


@contextmanager
def open_store(
    path: PathLike, experiment: str, subject: Settings | None = None, defaults: Settings | None = None
) -> Iterator[Store]:
    """Opens a file of results for writing and locks it; it is created when the first record is added.

    Args:
        path: the JSON file.
        experiment: the experiment that its records belong to.
        subject: the settings that all records depend on; a file with other settings is refused.
        defaults: values of settings that are missing in the file, since they were introduced after it was written.
    """
    path = Path(path)
    make_folder(path.parent)
    with locked(path):  # two processes would both do the missing work
        here = _plain(subject or {})
        found = Results.read(path) if path.exists() else Results(experiment, subject=here)
        if found.experiment != experiment:
            raise InputError(
                f"Expected {path} to hold results of {experiment}; it holds those of {found.experiment}. {REMEDY}"
            )
        differing = _differing(found.subject, here, defaults or {})
        if differing:
            raise InputError(
                f"Expected {path} to hold results of {experiment} with the same settings; it has another "
                f"{', '.join(differing)}. {REMEDY}"
            )
        yield Store(path, found, defaults or {})


def in_words(name: Name) -> str:
    """A name as text.

    >>> in_words({"conv": "gcn", "hidden_size": 32})
    'conv gcn, hidden size 32'
    """
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in name.items())


def _key(name: Name) -> str:
    return json.dumps(dict(name), sort_keys=True)


def _differing(there: Settings, here: Settings, defaults: Settings) -> list[str]:
    """The names of the settings that differ, with their values unless these are long."""
    had, wanted, default = _flat(there), _flat(_plain(here)), _flat(_plain(defaults))
    had = {name: default[name] for name in wanted if name in default} | had
    found = []
    for name in dict.fromkeys([*wanted, *had]):
        pair = had.get(name, _MISSING), wanted.get(name, _MISSING)
        if pair[0] != pair[1]:
            shown = ["none" if value is _MISSING else json.dumps(value) for value in pair]
            long = max(map(len, shown)) > 60
            found.append(name if long else f"{name} ({shown[0]} there, {shown[1]} here)")
    return found


def _flat(settings: Settings, prefix: str = "") -> dict[str, Any]:
    """Nested settings by names such as network.conv."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def _plain(value: Any) -> Any:
    """The value as it is after writing and reading JSON; numbers that are not finite become None."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value
