"""All figures have one style, whatever the reader's own settings are, and equal figures give equal bytes."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from neuraltrees.errors import InputError
from neuraltrees.plots.style import (
    LOOKS,
    check_ending,
    house_style,
    line,
    panels,
    plain_numbers,
    save_both,
    save_figure,
)


@house_style()
def drawn() -> Figure:
    figure, (left, right) = panels(2)
    line(left, [1, 2], [[0.1, 0.2], [0.3]], "a $label$", LOOKS["GNN"])
    left.legend()
    right.plot([10, 1000], [1, 2])
    right.set_xscale("log")
    plain_numbers(right.xaxis)
    return figure


@pytest.mark.parametrize(("ending", "magic"), [("svg", b"<?xml"), ("PNG", b"\x89PNG"), ("pdf", b"%PDF")])
def test_equal_figures_give_equal_bytes(ending: str, magic: bytes, tmp_path: Path) -> None:
    settings = dict(matplotlib.rcParams)
    save_figure(drawn(), tmp_path / f"a.{ending}")
    assert dict(matplotlib.rcParams) == settings
    with matplotlib.rc_context({"axes.facecolor": "#123456", "font.size": 20, "svg.fonttype": "path"}):
        save_figure(drawn(), str(tmp_path / f"b.{ending}"))
    content = (tmp_path / f"a.{ending}").read_bytes()
    assert content.startswith(magic)
    assert content == (tmp_path / f"b.{ending}").read_bytes()


def test_texts_stay_texts(tmp_path: Path) -> None:
    save_both(drawn(), tmp_path, "figure")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.png", "figure.svg"]
    svg = (tmp_path / "figure.svg").read_text()
    assert ">a $label$</text>" in svg and ">1,000</text>" in svg and "mathdefault" not in svg


@pytest.mark.parametrize("name", ["figure.gif", "figure", "svg"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Expected a path that ends in \.svg, \.png, \.pdf; got .* Change its ending"):
        save_figure(drawn(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert check_ending("a.SVG") == "svg"


def test_a_failure_leaves_the_old_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "figure.svg"
    target.write_text("old")

    def stop(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(OSError, match="No space"):
        save_figure(drawn(), target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
