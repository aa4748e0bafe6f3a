"""Label spaces in files: JSON, YAML and CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, as_path, write_whole
from neuraltrees.scenes.json_files import parse, read_text
from neuraltrees.scenes.labels import LabelSpace, plain

ENDINGS = (".json", ".yaml", ".yml", ".csv")
SEPARATOR = ";"  # between the numbers or synonyms of a row


def read_label_space(path: PathLike) -> LabelSpace:
    """A label space of a JSON, YAML or CSV file, in any of these forms.

    - a list of names, of pairs (number, name), or of records with `name` and `label` or `id`;
    - a dictionary from numbers to names or from names to numbers;
    - a dictionary with `label_names`, as the label spaces of Hydra have;
    - a dictionary with `names`, `numbers` and `synonyms`, as `LabelSpace.write` makes it;
    - a table with the column `name`, and `label`, `id` or `numbers`, and `synonyms`, several separated by `;`; or
      names alone, one per line.
    """
    path = as_path(path)
    ending = _ending(path)
    text = read_text(path)
    if ending == ".csv":
        return _of_table(text, path)
    if ending == ".json":
        return space_of(parse(text, path), str(path))
    import yaml

    try:
        return space_of(yaml.safe_load(text), str(path))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise ParseError(f"{path}: expected YAML; got: {str(error).splitlines()[0]}.") from None


def read_label_spaces(files: str) -> dict[str, LabelSpace]:
    """The label spaces of node types whose files are given as `room=rooms.csv,object=objects.yaml`."""
    found = {}
    for each in files.split(","):
        kind, equals, path = each.strip().partition("=")
        if equals and kind and path:
            found[kind] = read_label_space(path)
        elif each.strip():
            raise InputError(f"Expected label_spaces as TYPE=FILE, such as room=rooms.csv; got {each.strip()!r}.")
    return found


def write_label_space(space: LabelSpace, path: PathLike) -> None:
    """Writes a label space by the ending of the path; the file is written whole or not at all."""
    path = as_path(path)
    ending = _ending(path)
    content: Any = {"names": list(space.names), "numbers": dict(space.numbers), "synonyms": dict(space.synonyms)}
    if ending == ".csv":
        text = _table(space)
    elif ending == ".json":
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    else:
        import yaml

        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    write_whole(path, text.encode())


def space_of(content: Any, where: str) -> LabelSpace:
    """The label space of a parsed file."""
    if isinstance(content, dict) and "label_names" in content:
        content = content["label_names"]
    if isinstance(content, dict) and "names" in content:
        given = content.get("numbers") or {}
        if not isinstance(given, dict):
            raise ParseError(f"{where}: expected numbers as a dictionary; got {type(given).__name__}.")
        numbers = {_number(number, where): name for number, name in given.items()}
        return _made(content["names"], numbers, content.get("synonyms") or {}, where)
    if isinstance(content, dict):
        return _of_pairs([_pair(key, value) for key, value in content.items()], where)
    if isinstance(content, list) and content and all(isinstance(each, str) for each in content):
        return _made(content, {}, {}, where)
    if isinstance(content, list):
        return _of_pairs([_pair_of_record(record, where) for record in content], where)
    raise ParseError(f"{where}: expected a list or dictionary of labels; got {type(content).__name__}.")


def _ending(path: Path) -> str:
    endings = [ending for ending in path.suffixes if ending not in (".gz", ".xz")]
    if not endings or endings[-1].lower() not in ENDINGS:
        raise InputError(f"Expected a label space as {', '.join(ENDINGS)}; got {path}.")
    return endings[-1].lower()


def _made(names: Any, numbers: dict[int, str], synonyms: Any, where: str) -> LabelSpace:
    try:
        return LabelSpace(tuple(names) if isinstance(names, list) else names, numbers, synonyms)
    except InputError as error:
        raise ParseError(f"{where}: {error}") from None


def _of_pairs(pairs: list[tuple[Any, Any]], where: str) -> LabelSpace:
    names: dict[str, str] = {}
    numbers: dict[int, str] = {}
    for given, name in pairs:
        number = _number(given, where)
        if not isinstance(name, str):
            raise ParseError(f"{where}: expected a name for label {number}; got {name!r:.60}.")
        if number in numbers:
            raise ParseError(f"{where}: expected distinct numbers of labels; got {number} twice.")
        numbers[number] = names.setdefault(plain(name), name)
    if not names:
        raise ParseError(f"{where}: expected at least one label; got none.")
    return _made(list(names.values()), numbers, {}, where)


def _pair(key: Any, value: Any) -> tuple[Any, Any]:
    """Number and name of an entry of a dictionary, which may be either way round."""
    return (value, key) if isinstance(value, int) and not isinstance(value, bool) else (key, value)


def _pair_of_record(record: Any, where: str) -> tuple[Any, Any]:
    if isinstance(record, list | tuple) and len(record) == 2:
        return _pair(*record)
    if isinstance(record, dict) and "name" in record and ("label" in record or "id" in record):
        return record.get("label", record.get("id")), record["name"]
    raise ParseError(
        f"{where}: expected labels as names, as (number, name), or with name and label; got {record!r:.60}."
    )


def _number(value: Any, where: str) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParseError(f"{where}: expected the number of a label; got {value!r:.60}.")
    return value


def _of_table(text: str, where: Path) -> LabelSpace:
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text.removeprefix("\ufeff")))]
    except csv.Error as error:
        raise ParseError(f"{where}: expected a table; got: {error}.") from None
    rows = [row for row in rows if any(row)]
    head = [cell.lower() for cell in rows[0]] if rows else []
    if "name" not in head:
        if not rows or any(len(row) != 1 for row in rows):
            raise ParseError(f"{where}: expected a table with a column name, or one name per line.")
        return _made([row[0] for row in rows], {}, {}, str(where))
    names: dict[str, str] = {}
    numbers: dict[int, str] = {}
    synonyms: dict[str, str] = {}
    for line, row in enumerate(rows[1:], start=2):
        record = dict(zip(head, row, strict=False))
        if len(row) != len(head) or not record["name"]:
            raise ParseError(f"{where}, row {line}: expected {len(head)} cells with a name; got {row}.")
        name = names.setdefault(plain(record["name"]), record["name"])
        for column in ("label", "id", "numbers"):
            for number in filter(None, record.get(column, "").split(SEPARATOR)):
                known = numbers.setdefault(_number(number, f"{where}, row {line}"), name)
                if known != name:
                    raise ParseError(
                        f"{where}, row {line}: expected distinct numbers of labels; got {number} for {name!r}, as for "
                        f"{known!r}."
                    )
        for other in filter(None, record.get("synonyms", "").split(SEPARATOR)):
            known = synonyms.setdefault(other.strip(), name)
            if known != name:
                raise ParseError(
                    f"{where}, row {line}: expected synonyms of one label; got {other.strip()!r} for {name!r}, as for "
                    f"{known!r}."
                )
    return _made(list(names.values()), numbers, synonyms, str(where))


def _table(space: LabelSpace) -> str:
    for name in (*space.names, *space.synonyms):
        if SEPARATOR in name or name != name.strip():
            raise InputError(f"Expected names that a table can hold; got {name!r}. Write JSON instead.")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "numbers", "synonyms"])
    for name in space.names:
        numbers = SEPARATOR.join(str(number) for number, each in space.numbers.items() if each == name)
        synonyms = SEPARATOR.join(other for other, each in space.synonyms.items() if each == name)
        writer.writerow([name, numbers, synonyms])
    return out.getvalue()
