"""Lists of edges: two nodes per line, by number or by name, with or without a header."""

from __future__ import annotations

from neuraltrees.errors import ParseError
from neuraltrees.graph_files.named_graph import NamedGraph
from neuraltrees.graph_files.rows import Row, read_rows

# Names of the two columns in common headers.
ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("src", "tgt"),
    ("u", "v"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("node_a", "node_b"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("start", "end"),
    ("head", "tail"),
    ("a", "b"),
)


def read_edge_list(content: bytes, ending: str) -> NamedGraph:
    """The graph of a list of edges.

    The first two cells of a line are the ends of an edge, or those below a header such as `source,target`; further
    cells, such as weights, are not used. A node without edges has a line of its own, with an empty second cell in CSV.

    >>> read_edge_list(b"source,target,weight\\nada,bob,2\\nbob,cy,5\\ndee,,\\n", ".csv").names
    ('ada', 'bob', 'cy', 'dee')
    """
    rows = read_rows(content, ending)
    if not rows:
        raise ParseError("line 1: expected an edge per line, such as 'ada bob'; got none.")
    header = _header(rows)
    source, target = (0, 1) if header is None else header
    ignored = tuple(
        name for place, name in enumerate(rows[0].cells if header is not None else ()) if place not in (source, target)
    )
    if header is None and len(rows[0].cells) > 2:
        ignored = tuple(f"column {place}" for place in range(3, len(rows[0].cells) + 1))
    edges, alone, nodes = [], False, list[str]()
    for row in rows if header is None else rows[1:]:
        u = row.cells[source] if source < len(row.cells) else ""
        v = row.cells[target] if target < len(row.cells) else ""
        if not u:
            raise ParseError(f"line {row.line}: expected two nodes, got {_shown(row)}.")
        nodes.append(u)
        if v:
            nodes.append(v)
            edges.append((u, v))
        else:
            alone = True
    if not edges and not alone:
        raise ParseError(f"line {rows[0].line}: expected an edge per line below the header, got none.")
    if not edges and header is None:
        raise ParseError(f"line {rows[0].line}: expected two nodes, got {_shown(rows[0])}.")
    return NamedGraph.of_edges(edges, nodes, ignored)


def _header(rows: list[Row]) -> tuple[int, int] | None:
    """The columns of the two ends, if the first row is a header."""
    names = [cell.lower().strip() for cell in rows[0].cells]
    for source, target in ENDS:
        if source in names and target in names and len(names) > 1:
            if (source, target) in (("u", "v"), ("a", "b")) and not _differs(rows):
                continue  # letters may be nodes
            return names.index(source), names.index(target)
    return (0, 1) if len(names) > 1 and _differs(rows) else None


def _differs(rows: list[Row]) -> bool:
    """Whether the first row has words where all others have whole numbers."""

    def numbers(row: Row) -> bool:
        return all(cell.lstrip("-").isdecimal() for cell in row.cells[:2] if cell)

    return len(rows) > 1 and not numbers(rows[0]) and all(map(numbers, rows[1:]))


def _shown(row: Row) -> str:
    text = " ".join(row.cells)
    return repr(text if len(text) <= 40 else text[:39] + "…")
