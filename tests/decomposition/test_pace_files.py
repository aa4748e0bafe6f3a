"""PACE files: written as the format wants, read leniently, and refused with the line that is wrong."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

import neuraltrees as nt
from neuraltrees._core import native

SUFFIXES = pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@SUFFIXES
def test_td_round_trip(tmp_path: Path, suffix: str) -> None:
    td = nt.TreeDecomposition([(0, 1, 2), (1, 2, 3), (2, 4)], edges=[(1, 0), (1, 2)], num_nodes=5)
    td.write_td(tmp_path / f"graph.td{suffix}")
    assert nt.TreeDecomposition.read_td(tmp_path / f"graph.td{suffix}") == td
    assert nt.TreeDecomposition.read_td(str(tmp_path / f"graph.td{suffix}")) == td


def test_td_text(tmp_path: Path) -> None:
    nt.TreeDecomposition([(0, 1, 2), (), (2, 3)], edges=[(0, 1), (1, 2)]).write_td(tmp_path / "graph.td")
    assert (tmp_path / "graph.td").read_text() == "s td 3 3 4\nb 1 1 2 3\nb 2\nb 3 3 4\n1 2\n2 3\n"


def test_trees_of_a_forest_are_joined(tmp_path: Path) -> None:
    """Nodes 0 to 3 in a path, nodes 4 and 5 alone: three trees become one."""
    graph = nt.Graph([[0, 1, 2], [1, 2, 3]], num_nodes=6)
    forest = nt.decompose(graph)
    assert len(forest.edges) == len(forest.bags) - 3
    forest.write_td(tmp_path / "forest.td")
    tree = nt.TreeDecomposition.read_td(tmp_path / "forest.td")
    assert tree.bags == forest.bags
    assert len(tree.edges) == len(tree.bags) - 1
    tree.validate(graph)
    assert forest.edges.tolist() == tree.edges[: len(forest.edges)].tolist()


def test_td_of_the_empty_graph(tmp_path: Path) -> None:
    nt.decompose(nt.Graph([[], []])).write_td(tmp_path / "empty.td")
    assert (tmp_path / "empty.td").read_text() == "s td 0 0 0\n"
    assert nt.TreeDecomposition.read_td(tmp_path / "empty.td") == nt.TreeDecomposition([])


def test_gr_with_comments_blank_lines_tabs_and_carriage_returns(tmp_path: Path) -> None:
    text = "c a path\r\n\r\np\ttw 4 3\r\nc edges\r\n 1 2\r\n2\t3 \r\n\r\n3 4"
    assert nt.Graph.read_gr(write(tmp_path / "path.gr", text)) == nt.Graph([[0, 1, 2], [1, 2, 3]])


def test_gr_with_loops_and_repeated_edges(tmp_path: Path) -> None:
    path = write(tmp_path / "graph.gr", "p tw 3 4\n1 2\n2 1\n2 2\n1 2\n")
    assert nt.Graph.read_gr(path) == nt.Graph([[0], [1]], num_nodes=3)


def test_td_in_any_order_with_nodes_repeated(tmp_path: Path) -> None:
    path = write(tmp_path / "graph.td", "c\ns td 2 2 3\n1 2\nb 2 3 2 3\nc\nb 1 2 1\n")
    assert nt.TreeDecomposition.read_td(path) == nt.TreeDecomposition([(0, 1), (1, 2)], [(0, 1)])


def test_header_may_promise_larger_bags(tmp_path: Path) -> None:
    assert nt.TreeDecomposition.read_td(write(tmp_path / "graph.td", "s td 1 9 2\nb 1 1 2\n")).width == 1


BAD_GR: dict[str, tuple[str | bytes, int | str, str]] = {
    "empty": ("", "[01]", "expected a header 'p tw NODES EDGES', got the end of the file"),
    "only comments": ("c one\nc two\n", 2, "expected a header 'p tw NODES EDGES', got the end of the file"),
    "no header": ("c\n1 2\n", 2, "expected 'p', got '1'"),
    "a td file": ("s td 1 1 1\nb 1 1\n", 1, "expected 'p', got 's'"),
    "another problem": ("p cep 2 1\n1 2\n", 1, "expected 'tw', got 'cep'"),
    "negative nodes": ("p tw -2 1\n", 1, "expected the number of nodes between 0 and 2147483646, got -2"),
    "negative edges": ("p tw 2 -1\n", 1, "expected the number of edges between 0 and .*, got -1"),
    "too many nodes": ("p tw 99999999999 0\n", 1, "expected the number of nodes .*, got 99999999999; split .*"),
    "short header": ("p tw 2\n1 2\n", 1, "expected the number of edges, got the end of the line"),
    "long header": ("p tw 2 1 7\n1 2\n", 1, "expected the end of the line, got '7'"),
    "words in the header": ("p tw two 1\n1 2\n", 1, "expected the number of nodes, got 'two'"),
    "two headers": ("p tw 2 1\np tw 2 1\n1 2\n", 2, "expected a node, got 'p'"),
    "too few edges": ("p tw 3 2\n1 2\nc\n", 3, "expected 2 edges as the header says, got 1"),
    "too many edges": ("p tw 3 1\nc\n1 2\n2 3\n", 4, "expected 1 edges as the header says, got more"),
    "a word": ("p tw 3 1\n1 b\n", 2, "expected a node, got 'b'"),
    "a fraction": ("p tw 3 1\n1 2.0\n", 2, "expected a node, got '2.0'"),
    "a sign": ("p tw 3 1\n+1 2\n", 2, r"expected a node, got '\+1'"),
    "beyond 64 bits": ("p tw 3 1\n1 99999999999999999999\n", 2, "expected a node, got '99999999999999999999'"),
    "a long word": ("p tw 3 1\n1 " + 50 * "x", 2, r"expected a node, got 'x{20}\.\.\.'"),
    "node 0": ("p tw 3 1\n0 1\n", 2, "expected a node between 1 and 3, got 0"),
    "negative node": ("p tw 3 1\n1 -1\n", 2, "expected a node between 1 and 3, got -1"),
    "node beyond n": ("p tw 3 2\n1 2\n1 4\n", 3, "expected a node between 1 and 3, got 4"),
    "half an edge": ("p tw 3 1\n1\n", 2, "expected a node, got the end of the line"),
    "three ends": ("p tw 3 1\n1 2 3\n", 2, "expected the end of the line, got '3'"),
    "a comment without a blank": ("p tw 3 1\ncomment\n1 2\n", 2, "expected a node, got 'comment'"),
    "a zero byte": ("p tw 3 1\n1 2\0\n", 2, r"expected a node, got '2\?'"),
    "binary": (b"\x89PNG\xff\x00\x1a\n\x00", 1, r"expected 'p', got '\?PNG\?\?\?'"),
    "UTF-16": ("p tw 3 1\n".encode("utf-16"), 1, r"expected 'p', got '\?\?p\?'"),
}

BAD_TD: dict[str, tuple[str | bytes, int | str, str]] = {
    "empty": ("", "[01]", "expected a header 's td BAGS MAXBAG NODES', got the end of the file"),
    "no header": ("b 1 1\n", 1, "expected 's', got 'b'"),
    "a gr file": ("p tw 2 1\n1 2\n", 1, "expected 's', got 'p'"),
    "another solution": ("s tw 1 1 1\n", 1, "expected 'td', got 'tw'"),
    "short header": ("s td 1 1\nb 1 1\n", 1, "expected the number of nodes, got the end of the line"),
    "negative bags": ("s td -1 1 1\n", 1, "expected the number of bags between 0 and .*, got -1"),
    "negative size": ("s td 1 -1 1\n", 1, "expected the size of the largest bag between 0 and .*, got -1"),
    "negative nodes": ("s td 1 1 -1\n", 1, "expected the number of nodes between 0 and .*, got -1"),
    "missing bag": ("s td 2 2 3\nb 1 1 2\n", 2, "expected 2 bags as the header says, got 1"),
    "promised bags": ("s td 1000000000 2 3\nb 1 1 2\n", 2, "expected 1000000000 bags as the header says, got 1"),
    "too many bags": ("s td 1 2 3\nb 1 1 2\nb 1 2 3\n", 3, "expected 1 bags as the header says, got more"),
    "bag 0": ("s td 1 2 3\nb 0 1 2\n", 2, "expected the number of a bag between 1 and 1, got 0"),
    "bag beyond the header": ("s td 1 2 3\nb 2 1 2\n", 2, "expected the number of a bag between 1 and 1, got 2"),
    "bag without a number": ("s td 1 2 3\nb\n", 2, "expected the number of a bag, got the end of the line"),
    "large bag": ("s td 1 1 3\nb 1 1 2\n", 2, "expected bags of at most 1 nodes as the header says, got 2"),
    "node 0": ("s td 1 2 3\nb 1 0 1\n", 2, "expected a node between 1 and 3, got 0"),
    "node beyond n": ("s td 1 2 3\nb 1 1 4\n", 2, "expected a node between 1 and 3, got 4"),
    "a word in a bag": ("s td 1 2 3\nb 1 1 x\n", 2, "expected a node, got 'x'"),
    "edge to bag 0": ("s td 2 2 3\nb 1 1 2\nb 2 2 3\n0 1\n", 4, "expected a bag between 1 and 2, got 0"),
    "edge to no bag": ("s td 2 2 3\nb 1 1 2\nb 2 2 3\n1 3\n", 4, "expected a bag between 1 and 2, got 3"),
    "half an edge": ("s td 2 2 3\nb 1 1 2\nb 2 2 3\n1\n", 4, "expected a bag, got the end of the line"),
    "trailing garbage": ("s td 2 2 3\nb 1 1 2\nb 2 2 3\n1 2 x\n", 4, "expected the end of the line, got 'x'"),
    "two headers": ("s td 1 1 1\nb 1 1\ns td 1 1 1\n", 3, "expected a bag, got 's'"),
    "binary": (b"\xff\xfe\x00", 1, r"expected 's', got '\?\?\?'"),
}


@pytest.mark.parametrize(("text", "line", "phrase"), BAD_GR.values(), ids=BAD_GR)
def test_bad_gr(tmp_path: Path, text: str | bytes, line: int | str, phrase: str) -> None:
    path = write(tmp_path / "graph.gr", text)
    with pytest.raises(nt.ParseError, match=rf"graph\.gr: line {line}: {phrase}\."):
        nt.Graph.read_gr(path)


@pytest.mark.parametrize(("text", "line", "phrase"), BAD_TD.values(), ids=BAD_TD)
def test_bad_td(tmp_path: Path, text: str | bytes, line: int | str, phrase: str) -> None:
    path = write(tmp_path / "graph.td", text)
    with pytest.raises(nt.ParseError, match=rf"graph\.td: line {line}: {phrase}\."):
        nt.TreeDecomposition.read_td(path)


def test_files_have_the_limit_of_graphs(tmp_path: Path) -> None:
    """No graph of that size is made here: the headers promise more than the files hold."""
    limit = native.MAX_GRAPH_NODES
    with pytest.raises(nt.ParseError, match="expected 1 edges as the header says, got 0"):
        nt.Graph.read_gr(write(tmp_path / "graph.gr", f"p tw {limit} 1\n"))
    with pytest.raises(nt.ParseError, match=rf"line 1: expected .* {limit}, got {limit + 1}; split the graph"):
        nt.Graph.read_gr(write(tmp_path / "graph.gr", f"p tw {limit + 1} 1\n"))
    td = nt.TreeDecomposition.read_td(write(tmp_path / "graph.td", f"s td 1 1 {limit}\nb 1 {limit}\n"))
    assert (td.num_nodes, td.bags) == (limit, [(limit - 1,)])
    for header in (f"1 1 {limit + 1}", f"1 {limit + 1} 1", f"{limit + 1} 1 1"):
        with pytest.raises(nt.ParseError, match=rf"line 1: expected .* {limit}, got {limit + 1}; split the graph"):
            nt.TreeDecomposition.read_td(write(tmp_path / "graph.td", f"s td {header}\n"))


def test_bag_given_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "graph.td", "s td 2 2 3\nb 1 1 2\nb 1 2 3\n1 2\n")
    with pytest.raises(nt.ParseError, match=r"graph\.td: line \d: bag 1 is given twice\."):
        nt.TreeDecomposition.read_td(path)


def test_bag_given_twice_names_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "graph.td", "s td 2 2 3\nb 1 1 2\nb 1 2 3\nc\nc\n1 2\n")
    with pytest.raises(nt.ParseError, match="line 3: "):
        nt.TreeDecomposition.read_td(path)


def test_td_with_a_cycle_is_read_but_not_valid(tmp_path: Path) -> None:
    td = nt.TreeDecomposition.read_td(write(tmp_path / "graph.td", "s td 1 2 2\nb 1 1 2\n1 1\n"))
    with pytest.raises(nt.InvalidDecompositionError, match="cycle"):
        td.validate(nt.Graph([[0], [1]]))


READERS = pytest.mark.parametrize(
    ("read", "text"),
    [
        (nt.Graph.read_gr, b"p tw 2 1\n1 2\n"),
        (nt.TreeDecomposition.read_td, b"s td 1 2 2\nb 1 1 2\n"),
    ],
    ids=["gr", "td"],
)


@READERS
@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", lambda text: gzip.compress(text)[:-5]),
        (".gz", lambda text: gzip.compress(text)[:-12] + 12 * b"\0"),
        (".gz", lambda text: text),
        (".xz", lambda text: lzma.compress(text)[:-5]),
        (".xz", lambda text: lzma.compress(text)[:30] + lzma.compress(text)[31:]),
        (".xz", lambda text: text),
        (".xz", lambda _: b""),
    ],
    ids=["truncated gz", "damaged gz", "plain gz", "truncated xz", "damaged xz", "plain xz", "empty xz"],
)
def test_damaged_archives(
    tmp_path: Path, read: Callable[[Path], object], text: bytes, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = write(tmp_path / f"graph{suffix}", pack(text))
    with pytest.raises(nt.InputError, match=rf"Expected .*graph{suffix} to be a complete {suffix} file; got: .*again"):
        read(path)


@READERS
def test_errors_inside_archives_name_their_line(tmp_path: Path, read: Callable[[Path], object], text: bytes) -> None:
    path = write(tmp_path / "graph.gz", gzip.compress(b"c\n" + text + b"x\n"))
    with pytest.raises(nt.ParseError, match=r"graph\.gz: line 4: .*"):
        read(path)


@READERS
@SUFFIXES
def test_missing_file(tmp_path: Path, read: Callable[[Path], object], text: bytes, suffix: str) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / f"nowhere{suffix}")
