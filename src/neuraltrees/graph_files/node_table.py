"""Tables of nodes: a row per node with its name, its features and its label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.graph_files.read import ending_of
from neuraltrees.graph_files.rows import read_rows
from neuraltrees.graph_files.table import table_of

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
    names: Sequence[str]
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
        """The line or the name of a node, for errors."""
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
    table = table_of(read_rows(content, ending), source, "node")
    first = next(
        (name for wanted in NAMES for name in table.columns if name.lower() == wanted), next(iter(table.columns))
    )
    names: dict[str, int] = {}
    for name, line in zip(table.columns[first], table.lines, strict=True):
        if not name or name in names:
            why = f"{name!r} also in line {names[name]}" if name else "an empty cell"
            raise ParseError(f"line {line}: expected a name of its own in column {first!r}, got {why}.")
        names[name] = line
    columns = {name: cells for name, cells in table.columns.items() if name != first}
    return NodeTable(source, tuple(names), columns, table.lines)
