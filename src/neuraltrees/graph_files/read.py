"""Graph file → graph with the names of its nodes; the ending of the file tells its format."""

from __future__ import annotations

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, as_path, read_whole
from neuraltrees.graph import Graph
from neuraltrees.graph_files.edge_array import read_edge_array
from neuraltrees.graph_files.edge_list import read_edge_list
from neuraltrees.graph_files.graphml import read_graphml
from neuraltrees.graph_files.named_graph import NamedGraph, Numbers

LISTS = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".el")
ENDINGS = (".gr", ".graphml", ".npy", *LISTS)
PACKED = (".gz", ".xz")


def ending_of(path: PathLike) -> str:
    """The ending of a file that tells its format: that below `.gz` or `.xz`.

    >>> ending_of("friends.csv.gz")
    '.csv'
    """
    path = as_path(path)
    return (path.with_suffix("").suffix if path.suffix.lower() in PACKED else path.suffix).lower()


def is_graph_file(path: PathLike) -> bool:
    """Whether the ending is that of a graph file."""
    return ending_of(path) in ENDINGS


def read_graph(path: PathLike) -> NamedGraph:
    """Reads a graph with the names of its nodes; `.gz` and `.xz` are unpacked.

    - `.gr`: PACE; nodes are named 1, 2, 3, …
    - `.csv`, `.tsv`: an edge per line, its ends in the first two columns or below a header such as `source,target`.
    - `.txt`, `.edges`, `.edgelist`, `.el`: an edge per line, its ends separated by blanks, tabs or commas.
    - `.npy`: a NumPy array of integers of shape (2, m) or (m, 2), the ends of m edges; nodes are named 0, 1, 2, … The
      file is mapped into memory and may be larger than it.
    - `.graphml`: nodes named by their `label` or `name`, if all have one of their own, else by their id.

    Directions, self-loops and repeated edges are dropped. Lines that start with `#`, `%` or `//` are comments.
    """
    ending = ending_of(path)
    if as_path(path).is_dir():
        raise InputError(f"Expected a graph file; got the folder {path}.")
    if ending not in ENDINGS:
        raise InputError(
            f"Expected a graph file that ends in {', '.join(ENDINGS)}, also with .gz or .xz; got {as_path(path).name}. "
            f"Rename it after its format."
        )
    if ending == ".gr":
        graph = Graph.read_gr(path)
        return NamedGraph(graph, Numbers(graph.num_nodes, first=1))
    if ending == ".npy":
        graph = read_edge_array(path)
        return NamedGraph(graph, Numbers(graph.num_nodes))
    content = read_whole(path)
    try:
        return read_graphml(content) if ending == ".graphml" else read_edge_list(content, ending)
    except InputError as error:
        raise ParseError(f"{path}: {error}") from None
