"""Tables of nodes: a row per node with its name, its features and its label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.graph_files.read import ending_of
from neuraltrees.graph_files.rows import read_rows

NAMES = ("id", "node", "name", "node_id", "nodeid")


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Columns of texts, a cell per node.

    Args:
        source: where it comes from, for errors.
        names: of the nodes.
        columns: by name.
        lines: of the file, per node.
    """

    source: str
    names: tuple[str, ...]
    columns: Mapping[str, Sequence[str]]
    lines: tuple[int, ...]

    def column(self, name: str, what: str) -> Sequence[str]:
        """A column by its name; `InputError` names those that there are."""
        if name not in self.columns:
            raise InputError(
                f"{self.source}: expected a column {name!r} with {what}; got the columns {', '.join(self.columns)}."
            )
        return self.columns[name]

    def place(self, node: int) -> str:
        """Where a node stands, for errors."""
        line = self.lines[node]
        return f"{self.source}: line {line}" if line else f"{self.source}: node {self.names[node]!r}"


def read_node_table(path: PathLike) -> NodeTable:
    """Reads a table with a header and a row per node; `.csv` or `.tsv`, also with `.gz` or `.xz`.

    The column `id`, `node` or `name` has the names of the nodes, else the first one.
    """
    try:
        return _table(read_whole(path), ending_of(path), str(path))
    except ParseError as error:
        raise ParseError(f"{path}: {error}") from None


def _table(content: bytes, ending: str, source: str) -> NodeTable:
    rows = read_rows(content, ending)
    if len(rows) < 2:
        raise ParseError(f"line 1: expected a header and a row per node, got {len(rows)} rows.")
    header, *nodes = rows
    twice = next((name for name in header.cells if header.cells.count(name) > 1), None)
    if twice is not None or not all(header.cells):
        why = "a column without a name" if twice is None or not twice else f"{twice!r} twice"
        raise ParseError(f"line {header.line}: expected a header with a name for every column, got {why}.")
    for row in nodes:
        if len(row.cells) != len(header.cells):
            raise ParseError(
                f"line {row.line}: expected {len(header.cells)} cells as in the header, got {len(row.cells)}."
            )
    lower = [name.lower() for name in header.cells]
    place = next((lower.index(name) for name in NAMES if name in lower), 0)
    names: dict[str, int] = {}
    for row in nodes:
        name = row.cells[place]
        if not name or name in names:
            why = f"{name!r} also in line {names[name]}" if name else "an empty cell"
            raise ParseError(
                f"line {row.line}: expected a name of its own in column {header.cells[place]!r}, got {why}."
            )
        names[name] = row.line
    columns = {
        name: [row.cells[column] for row in nodes] for column, name in enumerate(header.cells) if column != place
    }
    return NodeTable(source, tuple(names), columns, tuple(names.values()))
