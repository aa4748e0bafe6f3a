"""Files of graphs: every common form is read with its names, and what is wrong is named by its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import networkx as nx
import pytest

import neuraltrees as nt
from neuraltrees.graph_files import read_node_table

GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="node" attr.name="age" attr.type="int"><default>7</default></key>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="directed">
<node id="n0"><data key="d0">Ada &amp; co</data><data key="d1">36</data></node>
<node id="n1"><data key="d0">Bob</data></node>
<edge source="n0" target="n1"><data key="d2">3</data></edge>
</graph></graphml>
"""


def read(folder: Path, name: str, content: str | bytes) -> nt.NamedGraph:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return nt.read_graph(path)


def edges(named: nt.NamedGraph) -> set[frozenset[str]]:
    source, target = named.graph.edge_index.tolist()
    return {frozenset((named.names[u], named.names[v])) for u, v in zip(source, target, strict=True)}


LISTS = {
    "blanks": ("a.txt", "ada bob\nbob cy\n"),
    "tabs": ("a.edges", "ada\tbob\nbob\tcy\n"),
    "several blanks, comments": ("a.txt", "# friends\n\n  ada   bob\n% more\nbob cy 0.5\n"),
    "commas": ("a.csv", "ada,bob\nbob,cy\n"),
    "semicolons": ("a.csv", "ada;bob\nbob;cy"),
    "commas in .txt": ("a.txt", "ada, bob\nbob, cy\n"),
    "header": ("a.csv", "Source,Target,Weight\nada,bob,1\nbob,cy,2\n"),
    "header elsewhere": ("a.csv", "id,from,to\n1,ada,bob\n2,bob,cy\n"),
    "quoted": ("a.csv", '"ada","bob"\n"bob","cy"\n'),
    "byte order mark": ("a.csv", "\ufeffada,bob\r\nbob,cy\r\n"),
    "both directions, loops": ("a.txt", "ada bob\nbob ada\nbob cy\ncy cy\n"),
    "tsv": ("a.tsv", "source\ttarget\nada\tbob\nbob\tcy\n"),
}


@pytest.mark.parametrize(("name", "content"), LISTS.values(), ids=LISTS)
def test_lists_of_edges(name: str, content: str, tmp_path: Path) -> None:
    named = read(tmp_path, name, content)
    assert named.names == ("ada", "bob", "cy")
    assert edges(named) == {frozenset(("ada", "bob")), frozenset(("bob", "cy"))}


def test_numbers_are_in_order_and_a_header_of_words_is_found(tmp_path: Path) -> None:
    named = read(tmp_path, "a.csv", "person,friend\n10,2\n2,3\n")
    assert named.names == ("2", "3", "10")
    assert edges(named) == {frozenset(("10", "2")), frozenset(("2", "3"))}


def test_letters_are_nodes_unless_numbers_follow(tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", "a,b\nb,c\n").names == ("a", "b", "c")
    assert read(tmp_path, "a.csv", "a,b\n1,2\n").names == ("1", "2")


def test_a_node_without_edges(tmp_path: Path) -> None:
    named = read(tmp_path, "a.csv", "source,target\nada,bob\ndee,\n")
    assert named.names == ("ada", "bob", "dee")
    assert named.graph.num_edges == 1


def test_what_is_not_used_is_said(tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", "source,target,since\na,b,3\n").ignored == ("since",)
    assert read(tmp_path, "a.txt", "a b 3\n").ignored == ("column 3",)
    assert read(tmp_path, "a.graphml", GRAPHML).ignored == ("weight of edges",)


def test_packed_files_and_pace(tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv.gz", gzip.compress(b"a,b\n")).names == ("a", "b")
    assert read(tmp_path, "a.gr", "p tw 2 1\n1 2\n").names == ("1", "2")


def test_graphml_with_attributes(tmp_path: Path) -> None:
    named = read(tmp_path, "a.graphml", GRAPHML)
    assert named.names == ("Ada & co", "Bob")
    assert {name: list(column) for name, column in named.columns.items()}["age"] == ["36", "7"]
    assert read(tmp_path, "a.graphml", GRAPHML.replace("Bob", "Ada &amp; co")).names == ("n0", "n1")


def test_graphml_of_networkx(tmp_path: Path) -> None:
    club = nx.karate_club_graph()
    nx.write_graphml(club, tmp_path / "club.graphml")
    named = nt.read_graph(tmp_path / "club.graphml")
    assert named.names == tuple(map(str, range(34)))
    assert named.graph == nt.Graph.from_networkx(club)


BOMB = GRAPHML.replace("<graphml ", '<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;">]>\n<graphml ', 1)
BAD = {
    "empty": ("a.csv", "", "a.csv: line 1: expected an edge per line"),
    "one node per line": ("a.txt", "a\nb\n", "line 1: expected two nodes, got 'a'"),
    "no first node": ("a.csv", "a,b\n,c\n", "line 2: expected two nodes"),
    "header alone": ("a.csv", "source,target\n", "line 1: expected an edge per line below the header"),
    "bytes": ("a.csv", b"a,b\n\xff,c\n", "line 2: expected text in UTF-8, got the byte 0xff"),
    "open quote": ("a.csv", 'a,b\nc,"d\n', "line 2: expected cells as in CSV"),
    "ending": ("a.xlsx", "a,b", "ends in .gr, .graphml, .npy, .csv, .*; got a.xlsx. Rename it"),
    "PACE": ("a.gr", "p tw 2 1\n1 3\n", "line 2: expected a node between 1 and 2, got 3"),
    "entities": ("a.graphml", BOMB, "line 2: expected GraphML without a document type or entities"),
    "no XML": ("a.graphml", "hello", "line 1: expected well-formed XML"),
    "cut off": ("a.graphml", GRAPHML[:400], "expected well-formed XML"),
    "another language": ("a.graphml", "<html/>", "line 1: expected <graphml> first, got <html>"),
    "unknown end": (
        "a.graphml",
        GRAPHML.replace('target="n1"', 'target="n9"'),
        "line 9: .* nodes of the file, got 'n9'",
    ),
    "twice": ("a.graphml", GRAPHML.replace('id="n1"', 'id="n0"'), "line 8: expected every node once, got 'n0' twice"),
    "no end": ("a.graphml", GRAPHML.replace(' target="n1"', ""), 'line 9: expected <edge> with target="…"'),
    "two graphs": ("a.graphml", GRAPHML.replace("</graph>", "</graph><graph></graph>"), "line 10: expected one graph"),
    "hyperedge": ("a.graphml", GRAPHML.replace("</graph>", "<hyperedge/></graph>"), "got a <hyperedge>"),
    "nesting": ("a.graphml", "<graphml>" + "<a>" * 200, "at most 100 nested elements"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_named(name: str, content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(nt.InputError, match=message):
        read(tmp_path, name, content)


TABLES = {
    "no rows": ("id,x\n", "line 1: expected a header and a row per node, got 1 rows"),
    "short row": ("id,x\na,1\nb\n", "line 3: expected 2 cells as in the header, got 1"),
    "name twice": ("id,x\na,1\na,2\n", "line 3: expected a name of its own in column 'id', got 'a' also in line 2"),
    "no name": ("id,x\n,1\n", "line 2: expected a name of its own in column 'id', got an empty cell"),
    "column twice": ("id,x,x\na,1,2\n", "line 1: expected a header with a name for every column, got 'x' twice"),
}


@pytest.mark.parametrize(("content", "message"), TABLES.values(), ids=TABLES)
def test_tables_of_nodes_that_are_wrong(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(content)
    with pytest.raises(nt.ParseError, match=message):
        read_node_table(path)


def test_a_table_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("age,name,role\n3,ada,x\n4,bob,\n")
    table = read_node_table(path)
    assert table.names == ("ada", "bob")
    assert {name: list(column) for name, column in table.columns.items()} == {"age": ["3", "4"], "role": ["x", ""]}


@pytest.mark.parametrize("inside", ["\x85", "\u2028", "\x0c", "\x1c"])
def test_only_line_ends_end_lines(inside: str, tmp_path: Path) -> None:
    path = tmp_path / "friends.csv"
    path.write_bytes(f"source,target\r\nan{inside}na,bob\r\nbob,cy\r\n".encode())
    assert nt.read_graph(path).names == (f"an{inside}na", "bob", "cy")
