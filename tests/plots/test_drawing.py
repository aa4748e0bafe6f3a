"""Drawings: rows by level, nothing overlaps, colours agree, and files are written whole or not at all."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import neuraltrees as nt
from neuraltrees.plots.graph_layout import graph_layout
from neuraltrees.plots.layout import Layout
from neuraltrees.plots.tree_layout import decomposition_layout, htree_layout

GOLDEN = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
ROOM = ["kitchen", "dining table", "chair", "office chair", "refrigerator", "oven", "sink", "potted plant", "microwave"]


def graph_of(edges: list[tuple[int, int]], num_nodes: int) -> Any:
    return nt.Graph(torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t(), num_nodes=num_nodes)


def random_graph(seed: int) -> Any:
    """Each node joined to at most two of the first six: many bags that branch."""
    rng = np.random.default_rng(seed)
    edges = [(v, int(u)) for v in range(1, 16) for u in rng.choice(min(v, 6), size=min(v, 2), replace=False)]
    return graph_of([edge for edge in edges if rng.random() < 0.85], 16)


def examples() -> dict[str, Any]:
    grid = [(3 * r + c, 3 * r + c + d) for r in range(3) for c in range(3) for d in (1, 3) if d == 3 or c < 2]
    return {
        "golden": graph_of(GOLDEN, 5),
        "star": graph_of([(0, v) for v in range(1, 9)], 9),
        "path": graph_of([(v, v + 1) for v in range(11)], 12),
        "grid": graph_of([edge for edge in grid if edge[1] < 9], 9),
        "clique": graph_of(list(combinations(range(30), 2)), 30),
        "forest": graph_of([(0, 1), (1, 2), (2, 0), (2, 3), (5, 6), (6, 7), (7, 8), (8, 5)], 10),
        "isolated": graph_of([], 6),
        "kitchen": graph_of([(0, v) for v in range(1, 9)] + [(1, 2), (1, 3), (4, 8), (5, 8), (5, 6)], 9),
        **{f"random {seed}": random_graph(seed) for seed in range(4)},
    }


EXAMPLES = examples()
every_example = pytest.mark.parametrize("name", EXAMPLES)


def drawn(name: str, **options: Any) -> Figure:
    graph = EXAMPLES[name]
    labels = ROOM if name == "kitchen" else None
    return nt.draw(graph, nt.decompose(graph), nt.build_htree(graph), labels=labels, **options)


def boxes(figure: Figure) -> dict[str, PathPatch]:
    return {str(patch.get_gid()): patch for patch in figure.findobj(PathPatch)}


def texts(figure: Figure) -> list[Text]:
    return [text for axes in figure.axes for text in axes.texts]


def num_lines(figure: Figure, gid: str) -> int:
    (lines,) = (found for found in figure.findobj(LineCollection) if found.get_gid() == gid)
    return len(lines.get_segments())


def sizes(count: int) -> np.ndarray:
    """Boxes of many shapes."""
    return np.stack([20 + 13.0 * (np.arange(count) % 4), 20 + 11.0 * (np.arange(count) % 3)], 1)


def overlap(a: Bbox, b: Bbox, slack: float = 0.5) -> bool:
    return min(a.x1, b.x1) - max(a.x0, b.x0) > slack and min(a.y1, b.y1) - max(a.y0, b.y0) > slack


def assert_lines_avoid_boxes(layout: Layout) -> None:
    low, high = layout.center - layout.size / 2, layout.center + layout.size / 2
    for line in layout.lines:
        for start, end in pairwise(line):
            points = start + np.linspace(0, 1, 60)[:, None] * (end - start)
            inside = (points[:, None] > low + 0.01) & (points[:, None] < high - 0.01)
            assert not inside.all(2).any()


def segments_cross(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two segments have an inner point in common."""
    (p, r), (q, s) = (a[0], a[1] - a[0]), (b[0], b[1] - b[0])
    det = r[0] * s[1] - r[1] * s[0]
    if abs(det) < 1e-9:
        return False
    d = q - p
    t, u = (d[0] * s[1] - d[1] * s[0]) / det, (d[0] * r[1] - d[1] * r[0]) / det
    return bool(1e-6 < t < 1 - 1e-6 and 1e-6 < u < 1 - 1e-6)


@every_example
def test_htree_levels_are_rows(name: str) -> None:
    htree = nt.build_htree(EXAMPLES[name])
    layout = htree_layout(htree, sizes(htree.num_nodes))
    top, bottom = (layout.center[:, 1] + sign * layout.size[:, 1] / 2 for sign in (1, -1))
    level = htree.level.numpy()
    for depth in range(int(level.max()) + 1):
        row = level == depth
        assert np.ptp(top[row]) < 1e-6
        assert (top[level > depth] < bottom[row].min() - 20).all()


@every_example
def test_parent_stands_over_the_middle_of_its_children(name: str) -> None:
    htree = nt.build_htree(EXAMPLES[name])
    x = htree_layout(htree, sizes(htree.num_nodes)).center[:, 0]
    parent = htree.parent.numpy()
    for node in np.unique(parent[parent >= 0]):
        children = x[parent == node]
        assert x[node] == pytest.approx((children.min() + children.max()) / 2)


@every_example
def test_edges_of_trees_run_through_no_box_and_cross_nowhere(name: str) -> None:
    graph = EXAMPLES[name]
    htree, decomposition = nt.build_htree(graph), nt.decompose(graph)
    count = len(decomposition.bags)
    for layout in (htree_layout(htree, sizes(htree.num_nodes)), decomposition_layout(decomposition, sizes(count))):
        assert_lines_avoid_boxes(layout)
        segments = [(i, line[k : k + 2]) for i, line in enumerate(layout.lines) for k in range(len(line) - 1)]
        assert not any(segments_cross(a, b) for (i, a), (j, b) in combinations(segments, 2) if i != j)


def test_edges_pass_by_a_taller_box_of_the_row() -> None:
    graph = graph_of([*combinations(range(8), 2), *combinations(range(7, 15), 2)], 15)
    htree = nt.build_htree(graph)
    size = np.full((htree.num_nodes, 2), 20.0)
    size[1] = 380, 80
    assert_lines_avoid_boxes(htree_layout(htree, size))


def test_roots_that_are_not_neighbours_are_joined_above_the_row() -> None:
    htree = nt.build_htree(EXAMPLES["star"])  # at most two of the seven root-root edges can join neighbours
    layout = htree_layout(htree, np.full((htree.num_nodes, 2), 20.0))
    top = layout.center[0, 1] + 10
    above = [line for line in layout.lines if line[:, 1].max() > top + 1]
    straight = [line for line in layout.lines if np.ptp(line[:, 1]) == 0]
    assert len(above) + len(straight) == 7
    assert len(straight) >= 1
    assert all(line[0, 1] == line[-1, 1] == top for line in above)


@every_example
def test_components_stand_apart(name: str) -> None:
    htree = nt.build_htree(EXAMPLES[name])
    layout = htree_layout(htree, sizes(htree.num_nodes))
    component = htree.component.numpy()
    spans = []
    for c in np.unique(component):
        x, width = layout.center[component == c, 0], layout.size[component == c, 0]
        spans.append(((x - width / 2).min(), (x + width / 2).max()))
    assert all(left[1] < right[0] for left, right in pairwise(sorted(spans)))


def test_distances_on_paper_follow_distances_in_the_graph() -> None:
    center = graph_layout(EXAMPLES["path"], np.full((12, 2), 20.0)).center
    assert (np.diff(center[:, 0]) > 40).all()
    assert np.ptp(center[:, 1]) < 5


@every_example
def test_no_box_overlaps_another_and_every_text_is_inside_its_box(name: str) -> None:
    figure = drawn(name)
    extents = [patch.get_window_extent() for patch in boxes(figure).values()]
    assert not any(overlap(a, b) for a, b in combinations(extents, 2))
    frame = figure.bbox
    for extent, text in zip(extents, texts(figure), strict=True):
        inside = text.get_window_extent()
        assert extent.x0 <= inside.x0 and inside.x1 <= extent.x1
        assert extent.y0 <= inside.y0 and inside.y1 <= extent.y1
        assert frame.x0 < extent.x0 and extent.x1 < frame.x1 and frame.y0 < extent.y0 and extent.y1 < frame.y1
    titles = [axes.title.get_window_extent() for axes in figure.axes]
    assert not any(overlap(a, b) for a in titles for b in [*extents, *(t for t in titles if t is not a)])
    assert all(frame.x0 < title.x0 and title.x1 < frame.x1 and title.y1 < frame.y1 for title in titles)


@every_example
def test_every_edge_is_drawn_once(name: str) -> None:
    graph = EXAMPLES[name]
    htree, decomposition = nt.build_htree(graph), nt.decompose(graph)
    figure = drawn(name)
    assert num_lines(figure, "graph-node-edges") == graph.num_edges
    assert num_lines(figure, "bag-edges") == len(decomposition.edges)
    assert num_lines(figure, "htree-node-edges") == htree.num_nodes - len(htree.component.unique())


@every_example
def test_leaf_has_the_colour_and_text_of_its_graph_node(name: str) -> None:
    figure = drawn(name)
    patches = boxes(figure)
    text = dict(zip(patches, (t.get_text() for t in texts(figure)), strict=True))
    colors = [to_hex(patches[f"graph-node-{v}"].get_facecolor()) for v in range(EXAMPLES[name].num_nodes)]
    assert len(set(colors)) == len(colors)
    for i, v in enumerate(nt.build_htree(EXAMPLES[name]).kappa.tolist()):
        color = to_hex(patches[f"htree-node-{i}"].get_facecolor())
        if v >= 0:
            assert color == colors[v]
            assert text[f"htree-node-{i}"] == text[f"graph-node-{v}"]
        else:
            assert color not in colors


def test_text_contrasts_with_its_box() -> None:
    def luminance(color: Any) -> float:
        rgb = np.array(to_rgb(color))
        return float(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722))

    figure = nt.draw(graph_of([], 100))
    for patch, text in zip(boxes(figure).values(), texts(figure), strict=True):
        dark, light = sorted([luminance(patch.get_facecolor()), luminance(text.get_color())])
        assert (light + 0.05) / (dark + 0.05) > 4


def test_golden_figure() -> None:
    graph = EXAMPLES["golden"]
    figure = nt.draw(graph, nt.decompose(graph), nt.build_htree(graph), labels=list("12345"))
    assert [axes.get_title() for axes in figure.axes] == ["graph", "tree decomposition (width 2)", "H-tree (18 nodes)"]
    assert sorted(t.get_text() for t in figure.axes[0].texts) == list("12345")
    assert sorted(t.get_text() for t in figure.axes[1].texts) == ["1 2 3", "2 3 4", "3 4 5"]
    bags = ["1 2", "1 2 3", "1 3", "2 3 4", "2 4", "3 4", "3 4 5"]
    assert sorted(t.get_text() for t in figure.axes[2].texts if " " in t.get_text()) == bags
    lefts = [axes.get_position().x0 for axes in figure.axes]
    assert lefts == sorted(lefts) and len({axes.get_position().y0 for axes in figure.axes}) == 1


def test_wide_htree_stands_below() -> None:
    graph, _, tree = (axes.get_position() for axes in drawn("grid").axes)
    assert tree.y1 < graph.y0


def test_long_names_and_bags_are_elided() -> None:
    shown = [text.get_text() for text in texts(drawn("clique"))]
    assert "… +" in shown[30] and shown[30].startswith("0 1 2")
    name = "a cupboard whose name does not end"
    (text,) = texts(nt.draw(graph_of([], 1), labels=[name]))
    assert text.get_text().endswith("…") and len(text.get_text()) < len(name)


def test_mathematics_is_not_read_into_labels() -> None:
    figure = nt.draw(graph_of([(0, 1)], 2), labels=["$x$", "a_b%"])
    figure.canvas.draw()  # type: ignore[no-untyped-call]
    assert [text.get_text() for text in texts(figure)] == ["$x$", "a_b%"]
    assert not any(text.get_parse_math() for text in texts(figure))


def test_panels_may_be_left_out() -> None:
    graph = EXAMPLES["golden"]
    assert [axes.get_title() for axes in nt.draw(graph).axes] == ["graph"]
    assert len(nt.draw(graph, nt.decompose(graph)).axes) == 2
    assert [axes.get_title() for axes in nt.draw(graph, htree=nt.build_htree(graph)).axes][1] == "H-tree (18 nodes)"


def test_labels_may_be_empty() -> None:
    graph = graph_of([(0, 1)], 3)
    figure = nt.draw(graph, nt.decompose(graph), nt.build_htree(graph), labels=["", "a", ""])
    assert sorted(text.get_text() for text in figure.axes[0].texts) == ["", "", "a"]


def test_graph_without_nodes(tmp_path: Path) -> None:
    nt.draw(graph_of([], 0), path=tmp_path / "empty.svg")
    assert (tmp_path / "empty.svg").exists()


def test_svg_is_deterministic_and_keeps_text(tmp_path: Path) -> None:
    settings = dict(matplotlib.rcParams)
    drawn("kitchen", path=tmp_path / "a.svg")
    drawn("kitchen", path=str(tmp_path / "b.SVG"))
    svg = (tmp_path / "a.svg").read_bytes()
    assert svg == (tmp_path / "b.SVG").read_bytes()
    assert b">kitchen</text>" in svg and b'id="htree-node-0"' in svg and b"<dc:date>" not in svg
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_formats(tmp_path: Path, ending: str, magic: bytes) -> None:
    drawn("golden", path=tmp_path / f"figure.{ending}")
    assert (tmp_path / f"figure.{ending}").read_bytes().startswith(magic)
    assert [file.name for file in tmp_path.iterdir()] == [f"figure.{ending}"]


@pytest.mark.parametrize("name", ["figure.gif", "figure", "svg"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"ends in \.svg, \.png, \.pdf; got .*Change its ending"):
        drawn("golden", path=tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("owner", ["savefig", "replace"])
def test_existing_file_survives_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    (tmp_path / "figure.svg").write_text("precious")
    monkeypatch.setattr(*((Figure, "savefig") if owner == "savefig" else (Path, "replace")), fail)
    with pytest.raises(OSError, match="disk full"):
        drawn("golden", path=tmp_path / "figure.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["figure.svg"]
    assert (tmp_path / "figure.svg").read_text() == "precious"


def test_wrong_inputs_are_named() -> None:
    golden, star = EXAMPLES["golden"], EXAMPLES["star"]
    with pytest.raises(ValueError, match=r"one label for each of the 5 graph nodes \(got 2\)"):
        nt.draw(golden, labels=["a", "b"])
    with pytest.raises(ValueError, match=r"the tree decomposition of this graph of 5 nodes \(got one over 9"):
        nt.draw(golden, nt.decompose(star))
    with pytest.raises(ValueError, match=r"the H-tree of this graph of 5 nodes \(got one over 9"):
        nt.draw(golden, htree=nt.build_htree(star))


def test_what_is_too_large_is_summed_up(tmp_path: Path) -> None:
    alone = graph_of([], 300)
    figure = nt.draw(alone, htree=nt.build_htree(alone))
    assert [axes.get_title() for axes in figure.axes] == ["graph", "H-tree (600 nodes, 300 of them leaves)"]
    many = graph_of([(0, v) for v in range(1, 401)], 401)
    figure = nt.draw(many, nt.decompose(many), nt.build_htree(many), path=tmp_path / "many.svg")
    decomposition, graph, htree = figure.axes
    assert graph.get_title() == "graph (401 nodes, 400 edges)"
    assert decomposition.get_title() == "tree decomposition (width 1)"
    assert htree.get_title() == "H-tree (1,200 nodes, 800 of them leaves)"
