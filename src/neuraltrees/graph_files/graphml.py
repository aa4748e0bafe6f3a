"""GraphML: nodes with their attributes, and edges. A file may define no entities, nor refer to other files."""

from __future__ import annotations

from xml.parsers import expat

from neuraltrees.errors import ParseError
from neuraltrees.graph_files.named_graph import NamedGraph
from neuraltrees.graph_files.rows import decoded

NAMES = ("label", "name")  # attributes that name a node better than its id, if all nodes have one of their own


class _Reader:
    """Handles the elements of a file one by one."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse
        self.has_graph = False
        self.open: list[str] = []
        self.keys: dict[str, str] = {}
        self.defaults: dict[str, str] = {}
        self.values: dict[str, dict[str, str]] = {}  # per node
        self.edges: list[tuple[str, str, int]] = []
        self.edge_data: set[str] = set()
        self.node: str | None = None
        self.key = ""
        self.data = ""

    def refuse(self, *_: object) -> None:
        raise self.error("expected GraphML without a document type or entities, which could fill the memory, got one")

    def error(self, why: str) -> ParseError:
        return ParseError(f"line {self.parser.CurrentLineNumber}: {why}.")

    def needed(self, attributes: dict[str, str], name: str) -> str:
        if not attributes.get(name):
            raise self.error(f'expected <{self.open[-1]}> with {name}="…", got none')
        return attributes[name]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        if not self.open and name != "graphml":
            raise self.error(f"expected <graphml> first, got <{name[:40]}>")
        if name == "graph":
            if self.has_graph:
                raise self.error("expected one graph, got a second or a nested one")
            self.has_graph = True
        if name == "hyperedge":
            raise self.error("expected edges of two ends, got a <hyperedge>")
        self.open.append(name)
        if len(self.open) > 100:
            raise self.error("expected at most 100 nested elements, got more")
        self.data = ""
        if name == "key":
            self.key = self.needed(attributes, "id")
            self.keys[self.key] = attributes.get("attr.name") or self.key
        elif name == "node":
            self.node = self.needed(attributes, "id")
            if self.node in self.values:
                raise self.error(f"expected every node once, got {self.node[:40]!r} twice")
            self.values[self.node] = {}
        elif name == "edge":
            ends = self.needed(attributes, "source"), self.needed(attributes, "target")
            self.edges.append((*ends, self.parser.CurrentLineNumber))
        elif name == "data":
            self.key = self.needed(attributes, "key")

    def text(self, data: str) -> None:
        self.data += data

    def end(self, tag: str) -> None:
        name = self.open.pop()
        if name == "default" and self.open[-1] == "key":
            self.defaults[self.key] = self.data.strip()
        elif name == "data" and self.open[-1] == "node" and self.node is not None:
            self.values[self.node][self.key] = self.data.strip()
        elif name == "data" and self.open[-1] == "edge":
            self.edge_data.add(self.key)
        elif name == "node":
            self.node = None


def read_graphml(content: bytes) -> NamedGraph:
    """The graph of a GraphML file; directions are dropped.

    A node's name is its attribute `label` or `name`, if every node has one of its own, else its id.
    """
    decoded(content)  # other encodings than UTF-8 are not read
    reader = _Reader()
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ParseError(
            f"line {error.lineno}: expected well-formed XML, got: {expat.ErrorString(error.code)}."
        ) from None
    for u, v, line in reader.edges:
        for end in (u, v):
            if end not in reader.values:
                raise ParseError(f"line {line}: expected an edge between nodes of the file, got {end[:40]!r}.")
    used = {key for values in reader.values.values() for key in values}
    columns = {
        reader.keys.get(key, key): [values.get(key, reader.defaults.get(key, "")) for values in reader.values.values()]
        for key in [*reader.keys, *sorted(used - reader.keys.keys())]
        if key in used
    }
    plain = NamedGraph.of_edges([(u, v) for u, v, _ in reader.edges], reader.values)
    place = {node: number for number, node in enumerate(reader.values)}
    order = [place[name] for name in plain.names]
    sorted_columns = {name: [column[i] for i in order] for name, column in columns.items()}
    names = plain.names
    for choice in NAMES:
        given = next((column for name, column in sorted_columns.items() if name.lower() == choice), [])
        if given and all(given) and len(set(given)) == len(given):
            names = tuple(given)
            break
    ignored = tuple(f"{reader.keys.get(key, key)} of edges" for key in sorted(reader.edge_data))
    return NamedGraph(plain.graph, names, sorted_columns, ignored)
