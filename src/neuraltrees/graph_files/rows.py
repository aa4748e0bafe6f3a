"""Rows of text files: separated by commas, semicolons, tabs or blanks; each with its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from neuraltrees.errors import ParseError

COMMENTS = ("#", "%", "//")


@dataclass(frozen=True)
class Row:
    """A line of a file, cut into cells."""

    line: int
    cells: tuple[str, ...]


def decoded(content: bytes) -> str:
    """The text of a file in UTF-8; `ParseError` for other bytes."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ParseError(f"line {line}: expected text in UTF-8, got the byte 0x{content[error.start]:02x}.") from None


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text with their ends; unlike `splitlines`, only at line feeds and carriage returns.

    >>> list(lines_of("a\\x85b\\r\\nc"))
    ['a\\x85b\\r\\n', 'c']
    """
    return iter(io.StringIO(text, newline=""))


def read_rows(content: bytes, ending: str) -> list[Row]:
    """The rows of a file without its comments and empty lines.

    The cells of `.csv` are separated by commas or semicolons, of `.tsv` by tabs, of others by whatever the first line
    has: tabs, commas, semicolons or blanks.

    >>> [row.cells for row in read_rows(b"# friends\\nada bob 3\\nbob cy 1\\n", ".txt")]
    [('ada', 'bob', '3'), ('bob', 'cy', '1')]
    """
    text = decoded(content)
    first = next((line for line in lines_of(text) if line.strip() and not _is_comment(line)), "")
    separator = _separator(first, ending)
    rows = _by_blanks(text) if separator is None else _separated(text, separator)
    return [row for row in rows if any(row.cells)]


def _separator(first: str, ending: str) -> str | None:
    if ending == ".tsv":
        return "\t"
    if ending == ".csv":
        return ";" if ";" in first and "," not in first else "\t" if "\t" in first and "," not in first else ","
    return next((each for each in "\t,;" if each in first), None)


def _by_blanks(text: str) -> Iterator[Row]:
    for number, line in enumerate(lines_of(text), 1):
        if not _is_comment(line):
            yield Row(number, tuple(line.split()))


def _separated(text: str, separator: str) -> Iterator[Row]:
    reader = csv.reader(lines_of(text), delimiter=separator, strict=True, skipinitialspace=True)
    start = 1
    try:
        for cells in reader:
            if cells and not _is_comment(cells[0]):
                yield Row(start, tuple(cell.strip() for cell in cells))
            start = reader.line_num + 1
    except csv.Error as error:
        raise ParseError(f"line {max(1, reader.line_num)}: expected cells as in CSV, got: {error}.") from None


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(COMMENTS)
