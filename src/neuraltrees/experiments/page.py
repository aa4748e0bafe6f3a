"""Pages of results: paragraphs, tables, figures and commands, written as one Markdown file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, write_whole


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title of the page."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Table:
    """A header and rows of texts. Rows shorter than the header are padded; longer ones raise `InputError`."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        width = len(self.header)
        longest = max(map(len, self.rows), default=0)
        if longest > width:
            raise InputError(f"Expected rows of at most {width} cells, as many as the header has; got {longest}.")
        object.__setattr__(self, "rows", [[*row, *[""] * (width - len(row))] for row in self.rows])


@dataclass(frozen=True)
class Figure:
    """A figure in a file; the caption is its alternative text."""

    caption: str
    file: str


@dataclass(frozen=True)
class Commands:
    """Commands, shown as a code block."""

    lines: Sequence[str]


Block: TypeAlias = str | Heading | Table | Figure | Commands


def markdown(blocks: Iterable[Block], figures: str = "") -> str:
    r"""Converts blocks to Markdown; a string is a paragraph.

    Args:
        blocks: the content, in order.
        figures: the folder of the figures relative to the page, with a slash at the end; "" for the same folder.

    >>> print(markdown(["Two rows.", Table(["a|b", "c"], [["1", "2"], ["3"]])]))
    Two rows.
    <BLANKLINE>
    | a\|b | c |
    | --- | --- |
    | 1 | 2 |
    | 3 |  |
    <BLANKLINE>
    """
    parts = []
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"{'#' * block.level} {block.text}")
            case Table():
                lines = (block.header, ["---"] * len(block.header), *block.rows)
                parts.append("\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines))
            case Figure():
                parts.append(f"![{block.caption}]({figures}{block.file})")
            case Commands():
                parts.append("\n".join(f"    {line}" for line in block.lines))
            case str():
                parts.append(block.strip())
    return "\n\n".join(parts) + "\n"


def write_page(path: PathLike, blocks: Iterable[Block], figures: str = "") -> None:
    """Writes a page atomically; see `markdown`."""
    write_whole(path, markdown(blocks, figures).encode())


def _cell(text: str) -> str:
    """The text of a cell on one line, with | escaped."""
    return " ".join(text.split()).replace("|", "\\|")
