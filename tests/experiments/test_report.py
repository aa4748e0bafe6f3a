"""The report is one valid page that needs nothing else, shows every number, and is written whole or not at all."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib
import pytest
import torch

import neuraltrees as nt
from neuraltrees.experiments import report as report_module
from neuraltrees.experiments.demo_head import ExactHead, Named
from neuraltrees.experiments.report import Confusion, DemoReport, Trained, write_report
from neuraltrees.objectives import Calibration

ORDER = ("neural tree", "GNN")
VOID = {"meta", "link"}


class Page(HTMLParser):
    """The elements of a page, and the text that a reader sees; fails where a tag is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, f"<{tag}/> closes itself only in SVG"
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def values(self, name: str) -> list[str]:
        return [value for _, attrs in self.elements if (value := attrs.get(name)) is not None]


def trained(network: str, conv: str, *test: float, **changes: Any) -> Trained:
    made = Trained(network, conv, test, (0.5,) * len(test), (2.0, 1.5, 1.25), (0.2, 0.4, 0.45), seconds=12.34)
    return replace(made, **changes)


def confusion(counts: torch.Tensor) -> Confusion:
    return Confusion("objects", counts, ["table", "rug", "bowl"])


def a_report(**changes: Any) -> DemoReport:
    graph = nt.Graph([[0, 0, 1, 2], [1, 2, 3, 3]])
    decomposition = nt.decompose(graph)
    made = DemoReport(
        title="Scenes & trees",
        facts={"scenes": "300", "command": "neuraltrees demo"},
        graph=graph,
        names=["kitchen", "table", "sink", "bowl"],
        decomposition=decomposition,
        htree=nt.build_htree(graph, decomposition),
        trained=[
            trained("neural tree", "gcn", 0.80, 0.82, 0.84),
            trained("GNN", "gcn", 0.70, 0.72, 0.74, seconds=5.67),
            trained("neural tree", "gat", 0.81),
        ],
        optimum=0.853,
        features_only=0.561,
        confusions=[
            Confusion("objects", torch.tensor([[3, 1, 0], [0, 0, 0], [2, 1, 5]]), ["table", "rug", "bowl"]),
            Confusion("rooms", torch.tensor([[2, 1], [0, 4]]), ["kitchen", "attic"]),
        ],
        rounds=4,
        diameters=(2, 5),
        links={"the paper": "https://arxiv.org/abs/2105.07264", "your own graphs": "../docs/your_own_graphs.md"},
        exact=ExactHead(
            test=(0.83, 0.85),
            val=(0.8, 0.82),
            seconds=3.21,
            calibration=Calibration((0, 4, 6), (float("nan"), 0.5, 0.9), (float("nan"), 0.6, 0.8)),
            example=(
                Named("kitchen", "attic", 0.55, "kitchen", 1.0, confirmed=True),
                Named("bowl", "rug", 0.4, "bowl", 0.7, confirmed=False),
                Named("sink", "sink", 0.9, "sink", 0.95, confirmed=False),
            ),
            guesses=torch.zeros(4, dtype=torch.int64),
        ),
    )
    return replace(made, **changes)


def written(report: DemoReport, folder: Path) -> str:
    write_report(report, folder / "report.html")
    return (folder / "report.html").read_text("utf-8")


def test_the_page_is_well_formed_and_its_references_resolve(tmp_path: Path) -> None:
    html = written(a_report(), tmp_path)
    page = Page(html)
    ids = page.values("id")
    assert len(ids) == len(set(ids)) > 50
    pointed = re.findall(r"url\(#([^)]*)\)", html) + [link[1:] for link in page.values("href") if link[0] == "#"]
    assert {*pointed, *page.values("aria-labelledby")} <= set(ids)
    assert any(link.startswith("bars-") for link in pointed)  # the hatch
    assert [tag for tag, _ in page.elements if tag in ("h1", "h2")] == ["h1", *["h2"] * 7]
    figures = [attrs for tag, attrs in page.elements if tag == "svg"]
    assert len(figures) == 8  # bars, reliability, scene, H-tree, two convolutions, two confusions
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in figures)


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    html = written(a_report(), tmp_path)
    page = Page(html)
    assert "@import" not in html and "<script" not in html and page.values("src") == []
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    named = ["#scene-title", "#head-title"]
    assert links == [*named, "https://arxiv.org/abs/2105.07264", "../docs/your_own_graphs.md"]  # to be clicked
    loaded = [attrs["href"] for tag, attrs in page.elements if tag != "a" and attrs.get("href")]
    assert all(link.startswith(("#", "data:")) for link in loaded)
    assert html.count("http") == 1
    assert len(html) < 200_000


def test_the_table_says_every_number(tmp_path: Path) -> None:
    page = Page(written(a_report(), tmp_path))
    assert page.rows == [
        ["convolution", "network", "validation", "test", "points below optimum", "seconds"],
        ["–", "exact head", "81.0", "84.0 (83.0–85.0)", "1.3", "3.2"],
        ["GCN", "GNN", "50.0", "72.0 (70.0–74.0)", "13.3", "5.7"],
        ["neural tree ★", "50.0", "82.0 (80.0–84.0)", "3.3", "12.3"],
        ["GAT", "neural tree", "50.0", "81.0", "4.3", "12.3"],
        ["true label", "taken for", "after"],
        ["kitchen", "attic 55.0 % ✗", "confirmed"],
        ["bowl", "rug 40.0 % ✗", "bowl 70.0 % ✓"],
        ["sink", "sink 90.0 % ✓", "sink 95.0 % ✓"],
    ]
    marked = [attrs.get("class") for tag, attrs in page.elements if tag == "tr"]
    assert marked == [None, "best", None, None, None, None, None, "best", None]


def test_the_figures_say_their_numbers(tmp_path: Path) -> None:
    page = Page(written(a_report(), tmp_path))
    texts = {" ".join(text.split()) for text in page.texts}
    assert {"82.0", "72.0", "81.0", "optimum 85.3", "only 56.1", "head 84.0", "confidence in %"} <= texts
    assert {"GCN", "GAT", "epoch", "training loss", "validation accuracy (%)"} <= texts
    assert {"kitchen", "sink", "tree decomposition (width 2)", "scenes", "300", "neuraltrees demo"} <= texts
    # Rows: bowl 2, 1, 5 of 8 and table 3, 1, 0 of 4; no node is a rug, which was predicted twice.
    assert {"bowl (8)", "table (4)", "62", "25", "75"} <= texts and "rug (0)" not in texts
    assert "2 predictions of classes without a test node" in " ".join(" ".join(page.texts).split())
    assert {"12 objects", "7 rooms"} <= texts
    assert sum(text == "attic" for text in texts_of(page)) == 3  # a column has its name above and below; the example
    assert "% of the true class" in texts  # the scale of the colours


def test_colours_stay_colours_where_ids_are_renamed(tmp_path: Path) -> None:
    page = Page(written(a_report(), tmp_path))
    paints = page.values("fill") + re.findall(r"(?:fill|stroke): ([^;]*)", ";".join(page.values("style")))
    assert all(re.fullmatch(r"#[0-9a-fA-F]{6}|none|url\(#bars-\w+\)", paint) for paint in paints)
    assert "#D55E00".lower() in {paint.lower() for paint in page.values("fill")}  # behind the hatch


@pytest.mark.parametrize(
    ("accuracy", "number", "words"),
    [
        (0.85299, "0.0", "GIN, at the optimum"),
        (0.85301, "0.0", "GIN, at the optimum"),
        (0.8, "5.3", "GIN, 5.3 points below the optimum"),
        (0.86, "−0.7", "GIN, 0.7 points above the optimum"),
    ],
)
def test_the_gap_to_the_optimum_in_words(tmp_path: Path, accuracy: float, number: str, words: str) -> None:
    page = Page(written(a_report(trained=[trained("GNN", "gin", accuracy)]), tmp_path))
    assert page.rows[2][4] == number
    assert words in {" ".join(text.split()) for text in page.texts}


def test_the_networks_are_compared_in_words(tmp_path: Path) -> None:
    pairs = {"gcn": (0.8, 0.7), "sage": (0.6, 0.65), "gat": (0.5, 0.4), "gin": (0.5, 0.5)}
    rows = [
        trained(network, conv, value)
        for conv, pair in pairs.items()
        for network, value in zip(ORDER, pair, strict=True)
    ]
    said = " ".join(texts_of(Page(written(a_report(trained=rows), tmp_path))))
    assert "ahead of the GNN with GCN (10.0) and GAT (10.0), and behind the GNN with GraphSAGE (5.0)" in said
    assert "Why it is ahead" in said and "Why it is behind" in said and "its H-tree one of 5" in said
    said = " ".join(texts_of(Page(written(a_report(), tmp_path))))
    assert "Why it is ahead" in said and "behind" not in said


def texts_of(page: Page) -> list[str]:
    return [" ".join(text.split()) for text in page.texts]


@pytest.mark.parametrize("name", ["<b>", "&amp;", '" onload="x', "$x_1$", "{{ 7 * 7 }}", "url(#a)", "]]>"])
def test_texts_are_shown_as_they_are(tmp_path: Path, name: str) -> None:
    report = a_report(title=name, facts={name: name}, names=[name, "a", "b", "c"])
    matrix = replace(report.confusions[0], names=[name, "x", "y"])
    report = replace(report, confusions=[matrix])
    page = Page(written(report, tmp_path))
    assert "b" not in {tag for tag, _ in page.elements} and page.values("onload") == []
    # Title and heading, fact and value; the graph, a bag and a leaf at least; a row and a column of the confusions.
    assert sum(name == text.strip() for text in page.texts) >= 8
    assert f"{name} (4)" in page.texts


def test_equal_reports_give_equal_bytes_and_the_readers_style_is_kept(tmp_path: Path) -> None:
    first = written(a_report(), tmp_path)
    with matplotlib.rc_context({"axes.facecolor": "#123456", "font.size": 20, "svg.fonttype": "path"}):
        assert written(a_report(), tmp_path) == first
        assert matplotlib.rcParams["axes.facecolor"] == "#123456"


@pytest.mark.parametrize("part", ["accuracy_bars", "confusion_matrix", "inline_svg", "write_whole"])
def test_an_error_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    old = written(a_report(), tmp_path)

    def fails(*_: object) -> None:
        raise RuntimeError(part)

    monkeypatch.setattr(report_module, part, fails)
    with pytest.raises(RuntimeError, match=part):
        write_report(a_report(title="new"), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == old
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trained": []}, "at least one trained network"),
        ({"trained": [trained("GNN", "gcn", math.nan)]}, "from 0 to 1 as the test of the GNN with GCN"),
        ({"trained": [trained("GNN", "gcn", 82.0)]}, "divide percentages by 100"),
        ({"trained": [trained("GNN", "gcn")]}, "at least one"),
        ({"trained": [trained("GNN", "gcn", 0.5, val=(math.inf,))]}, "as the val of"),
        ({"trained": [trained("GNN", "gcn", 0.5, val_curve=(0.1, math.nan))]}, "as the val_curve of"),
        ({"trained": [trained("GNN", "gcn", 0.5, loss_curve=(1.0, math.inf))]}, "lower its learning rate"),
        ({"trained": [trained("GNN", "gcn", 0.5, loss_curve=())]}, "a finite loss for each epoch"),
        ({"trained": [trained("GNN", "gcn", 0.5, seconds=-1.0)]}, "seconds of 0 or more"),
        ({"trained": [trained("GNN", "gcn", 0.5)] * 2}, "every network once"),
        ({"trained": [trained("MLP", "gcn", 0.5)]}, "'MLP' with 'gcn'"),
        ({"trained": [trained("GNN", "cheb", 0.5)]}, "gcn, sage, gat, gin"),
        ({"optimum": math.nan}, "optimum and features_only"),
        ({"features_only": -0.1}, "optimum and features_only"),
        ({"confusions": [confusion(torch.ones(2, 3))]}, r"shape \(3, 3\).*got \(2, 3\)"),
        ({"confusions": [confusion(torch.zeros(3, 3))]}, "not all 0"),
        ({"confusions": [confusion(torch.tensor([[1.0, 0, 0], [0, math.nan, 0], [0, 0, 1]]))]}, "counts of 0 or more"),
        ({"confusions": []}, "at least one confusion matrix"),
        ({"names": ["one"]}, "one label for each of the 4"),
        ({"title": "bell \a"}, "printable"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        write_report(a_report(**changes), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
