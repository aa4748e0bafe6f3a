"""Pages: tables are valid Markdown whatever is in their cells, figures are found, and nothing is half written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuraltrees.errors import InputError
from neuraltrees.experiments.page import Commands, Figure, Heading, Table, markdown, write_page

BLOCKS = [
    Heading("Title", 1),
    "A paragraph.\n",
    Commands(["run a", "run b"]),
    Table(["x | y", "z"], [["1\n2", "|"], ["only"]]),
    Heading("Part"),
    Figure("What it shows", "figure.svg"),
]


def test_blocks_as_markdown() -> None:
    assert markdown(BLOCKS, "images/") == (
        "# Title\n\nA paragraph.\n\n    run a\n    run b\n\n"
        "| x \\| y | z |\n| --- | --- |\n| 1 2 | \\| |\n| only |  |\n\n"
        "## Part\n\n![What it shows](images/figure.svg)\n"
    )


def test_a_row_longer_than_its_header_is_refused() -> None:
    with pytest.raises(InputError, match="Expected rows of at most 1 cells, as many as the header has; got 2"):
        Table(["a"], [["1"], ["1", "2"]])


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_page(tmp_path / "page.md", BLOCKS)
    old = (tmp_path / "page.md").read_text()
    assert "(figure.svg)" in old

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_page(tmp_path / "page.md", ["new"])
    assert (tmp_path / "page.md").read_text() == old
