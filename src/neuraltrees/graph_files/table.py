"""Tables with a header, such as a CSV file of molecules: columns of texts by name, each cell with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuraltrees.errors import InputError, ParseError, did_you_mean
from neuraltrees.files import PathLike, read_whole
from neuraltrees.graph_files.read import ending_of
from neuraltrees.graph_files.rows import Row, read_rows


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of texts, a cell per row.

    Args:
        source: where it comes from, for errors.
        columns: by name.
        lines: of the file, per row.
    """

    source: str
    columns: Mapping[str, Sequence[str]]
    lines: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str, what: str) -> Sequence[str]:
        """A column by its name, in any case if that is clear; `InputError` names those that there are."""
        if name in self.columns:
            return self.columns[name]
        alike = [each for each in self.columns if each.lower() == name.lower()]
        if len(alike) == 1:
            return self.columns[alike[0]]
        hint = did_you_mean(name, self.columns)
        raise InputError(
            f"{self.source}: expected a column {name!r} with {what}; got the columns {', '.join(self.columns)}.{hint}"
        )

    def place(self, row: int) -> str:
        """The line of a row, for errors."""
        return f"{self.source}: line {self.lines[row]}"


def read_table(path: PathLike) -> Table:
    """Reads a table with a header; `.csv`, `.tsv` or `.txt`, also with `.gz` or `.xz`."""
    try:
        return table_of(read_rows(read_whole(path), ending_of(path)), str(path))
    except ParseError as error:
        raise ParseError(f"{path}: {error}") from None


def table_of(rows: Sequence[Row], source: str, what: str = "molecule") -> Table:
    """The table of some rows, the first of which is the header; the others are one per node or molecule."""
    if len(rows) < 2:
        raise ParseError(f"line 1: expected a header and a row per {what}, got {len(rows)} rows.")
    header, *body = rows
    twice = next((name for name in header.cells if header.cells.count(name) > 1), None)
    if twice is not None or not all(header.cells):
        why = f"{twice!r} twice" if twice else "a column without a name"
        raise ParseError(f"line {header.line}: expected a header with a name for every column, got {why}.")
    for row in body:
        if len(row.cells) != len(header.cells):
            raise ParseError(
                f"line {row.line}: expected {len(header.cells)} cells as in the header, got {len(row.cells)}. The file "
                f"may be cut short, or a cell with a comma lacks its quotes."
            )
    columns = {name: [row.cells[place] for row in body] for place, name in enumerate(header.cells)}
    return Table(source, columns, tuple(row.line for row in body))
