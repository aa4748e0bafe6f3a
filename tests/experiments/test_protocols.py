"""The experiments on tiny protocols: paired, resumable, and counted against the dataset's own posterior."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
import torch

from neuraltrees.datasets import SyntheticScenes
from neuraltrees.errors import InputError
from neuraltrees.experiments import posterior_gap
from neuraltrees.experiments.gap_page import gap_page
from neuraltrees.experiments.gap_protocols import Protocol
from neuraltrees.experiments.statistics import mean_std
from neuraltrees.graph import Graph

TINY = Protocol((20, 30), (0.0, 1.0), (20, 1.0), (10, 15), 2, 8, ((1, 0.01), (2, 0.01)), 8)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    (folder / "results").mkdir()
    (folder / "images").mkdir()
    first = folder / "results" / "posterior-gap-sage-full.json"
    posterior_gap.measure(TINY, "gcn", first, "cpu", {}, lambda line: None)
    (folder / "results" / "posterior-gap-sage-coupling.json").write_bytes(first.read_bytes())
    return folder


def test_every_setting_is_measured_for_both_networks(results: Path) -> None:
    content = json.loads((results / "results" / "posterior-gap-sage-full.json").read_text())
    found = {(point["scenes"], point["coupling"], point["model"]) for point in content["points"]}
    assert found == {(*setting, model) for setting in TINY.settings() for model in ("gnn", "neural-tree")}
    assert set(TINY.settings()) == {(20, 1.0), (30, 1.0), (20, 0.0)}
    for tuning in content["tuning"].values():
        assert tuning["best"]["val"] == max(point["val"] for point in tuning["tried"])


def test_the_posterior_is_that_of_the_test_nodes(results: Path) -> None:
    content = json.loads((results / "results" / "posterior-gap-sage-full.json").read_text())
    point = next(p for p in content["points"] if (p["scenes"], p["coupling"]) == (30, 1.0))
    scenes = SyntheticScenes(30 + 10 + 15, 1.0)
    sizes = torch.tensor([scene.num_nodes for scene in scenes])
    for run, masks in enumerate(posterior_gap.draw_scenes(len(sizes), 30, TINY)):
        train, val, test = masks
        assert (train.sum(), val.sum(), test.sum()) == (30, 10, 15)
        assert not (train & val).any() and not (train & test).any() and not (val & test).any()
        assert point["posterior"][run] == pytest.approx(scenes.optimum(test.repeat_interleave(sizes)))


def test_what_is_done_is_not_done_again(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = results / "results" / "posterior-gap-sage-full.json"
    before = path.read_bytes()
    monkeypatch.setattr(posterior_gap, "fit", lambda *arguments: pytest.fail("trained again"))
    posterior_gap.measure(TINY, "gcn", path, "cpu", {}, lambda line: None)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="to hold this protocol; got another"):
        posterior_gap.measure(TINY, "sage", path, "cpu", {}, lambda line: None)


def test_what_the_page_says_of_the_posterior(results: Path, tmp_path: Path) -> None:
    content = json.loads((results / "results" / "posterior-gap-sage-full.json").read_text())
    lines = gap_page(content, content, [content | {"note": "Four exploring runs."}], tmp_path)
    for point in content["points"]:
        assert any(mean_std(point["test"]) in line for line in lines)
    small, large = lines[: (many := lines.index("### Very many scenes"))], lines[many:]
    assert sum(line.startswith("| 20 | ") for line in small) == 1, "among the numbers of scenes"
    rows = [line.split(" | ") for line in large if line.startswith(("| 20 | ", "| 30 | "))]
    assert len(rows) == len(content["points"])
    gaps = [float(row[10]) for row in rows]
    assert gaps == sorted(gaps), "the farthest from the posterior first"
    assert "Four exploring runs." in "\n".join(lines)
    assert (tmp_path / "posterior-gap.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize("together", [1, 7])
def test_scenes_may_be_joined_before_training(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = replace(TINY, most_batches=45 // together)
    monkeypatch.setattr(posterior_gap, "MANY", 10)
    pool = posterior_gap.make_pool((20, 1.0), protocol, {})
    assert len(pool.task.graphs) == -(-45 // (45 // protocol.most_batches))
    scenes = SyntheticScenes(45, 1.0)
    assert torch.equal(pool.task.y, torch.cat([scene.y for scene in scenes]))
    assert torch.equal(pool.task.node_type, torch.cat([scene.node_type for scene in scenes]))
    edges = nx.disjoint_union_all(Graph.from_data(scene).to_networkx() for scene in scenes).edges
    joined = nx.disjoint_union_all(Graph.from_data(graph).to_networkx() for graph in pool.task.graphs).edges
    assert set(map(frozenset, joined)) == set(map(frozenset, edges))
