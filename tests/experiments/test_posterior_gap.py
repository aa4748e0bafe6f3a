"""The gap to the posterior on tiny protocols: paired, resumable, and counted against the dataset's own posterior."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
import torch

from neuraltrees.datasets import SyntheticScenes
from neuraltrees.errors import InputError
from neuraltrees.experiments import posterior_gap, scene_pool
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.gap_page import draw, gap_section
from neuraltrees.experiments.gap_protocols import PROTOCOLS, Protocol
from neuraltrees.experiments.page import Heading, Table, markdown
from neuraltrees.experiments.statistics import mean_std
from neuraltrees.graph import Graph
from neuraltrees.tuning import record as record_module
from neuraltrees.tuning.grid import Grid
from neuraltrees.tuning.search import finished_search
from neuraltrees.tuning.store import Results

TINY = Protocol(
    sizes=(20, 30),
    couplings=(0.0, 1.0),
    middle=(20, 1.0),
    held_out=(10, 15),
    runs=2,
    steps=8,
    grid=Grid(layers=(1, 2), lr=(0.01,)),
    hidden=8,
    conv="gcn",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("gap") / "tiny.json"
    posterior_gap.measure("tiny", TINY, Scale(), target, lambda line: None)
    return target


@pytest.fixture(scope="module")
def results(path: Path) -> Results:
    return Results.read(path)


def test_every_setting_is_measured_for_both_networks(results: Results) -> None:
    assert set(TINY.settings()) == {(20, 1.0), (30, 1.0), (20, 0.0)}
    for model in ("gnn", "neural-tree"):
        tuned = finished_search(results, TINY.grid, (), name={"model": model})
        assert [len(trial.val) for trial in tuned.trials] == [2, 2]
        for scenes, coupling in TINY.settings():
            record = results.one(model=model, scenes=scenes, coupling=coupling)
            assert record["settings"] == dict(tuned.best.point)
            assert [run["seed"] for run in record["runs"]] == [0, 1]
    assert len(results.records) == 2 * (2 + 3)


def test_the_posterior_is_that_of_the_test_nodes(results: Results) -> None:
    record = results.one(model="gnn", scenes=30, coupling=1.0)
    scenes = SyntheticScenes(30 + 10 + 15, 1.0)
    sizes = torch.tensor([scene.num_nodes for scene in scenes])
    for run, masks in zip(record["runs"], scene_pool.split_scenes(len(sizes), 30, TINY), strict=True):
        train, val, test = masks
        assert (train.sum(), val.sum(), test.sum()) == (30, 10, 15)
        assert not (train & val).any() and not (train & test).any() and not (val & test).any()
        assert run["posterior"] == pytest.approx(scenes.optimum(test.repeat_interleave(sizes)))


def test_what_is_finished_is_not_trained_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()
    monkeypatch.setattr(record_module, "trained", lambda *arguments: pytest.fail("trained again"))
    monkeypatch.setattr(posterior_gap, "make_pool", lambda *arguments: pytest.fail("scenes are not needed"))
    posterior_gap.measure("tiny", TINY, Scale(), path, lambda line: None)
    with pytest.raises(InputError, match=r'another conv \("gcn" there, "sage" here\)'):
        posterior_gap.measure("tiny", replace(TINY, conv="sage"), Scale(), path, lambda line: None)
    with pytest.raises(InputError, match=r"another runs \(2 there, 5 here\), steps \(8 there, 9 here\)"):
        posterior_gap.measure("tiny", TINY, Scale(runs=5, epochs=9), path, lambda line: None)
    assert path.read_bytes() == before


def test_a_break_loses_one_training(
    path: Path, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads(path.read_text())
    del content["records"][3:]
    (tmp_path / "tiny.json").write_text(json.dumps(content))
    again = posterior_gap.measure("tiny", TINY, Scale(), tmp_path / "tiny.json", lambda line: None)
    shorter = [
        [{key: value for key, value in record.items() if key != "seconds"} for record in each.records]
        for each in (again, results)
    ]
    assert shorter[0] == shorter[1]


def test_the_page_of_a_protocol(results: Results, tmp_path: Path) -> None:
    page = markdown(draw("tiny", results, tmp_path))
    for record in results.find(model="gnn"):
        if "scenes" in record["name"]:
            assert mean_std([run["test"] for run in record["runs"]]) in page
    assert "| scenes | posterior |" in page and "| coupling | posterior |" in page
    assert "![Accuracy against training scenes and coupling](tiny.svg)" in page
    assert {path.name for path in tmp_path.iterdir()} == {"tiny.svg", "tiny.png"}
    single = Results("single", [results.one(model="gnn", scenes=20, coupling=1.0)], results.subject)
    assert "![" not in markdown(draw("single", single, tmp_path)), "one setting makes no figure"


def test_what_the_summary_says_of_the_posterior(results: Results, tmp_path: Path) -> None:
    large = replace(results, note="Four exploring runs.")
    blocks = gap_section(results, results, [large], tmp_path)
    page = markdown(blocks)
    assert "Four exploring runs." in page
    assert page.count("neuraltrees reproduce tiny --out docs/results") == 3
    last = blocks[-1]
    assert isinstance(last, Table) and Heading("Very many scenes", 3) in blocks
    assert len(last.rows) == 2 * 3
    gaps = [float(row[10]) for row in last.rows]
    assert gaps == sorted(gaps), "the farthest from the posterior first"
    assert (tmp_path / "posterior-gap.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize("together", [1, 7])
def test_scenes_may_be_joined_before_training(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = replace(TINY, most_batches=45 // together)
    monkeypatch.setattr(scene_pool, "MANY", 10)
    pool = scene_pool.make_pool(20, 1.0, protocol)
    assert len(pool.task.graphs) == -(-45 // (45 // protocol.most_batches))
    scenes = SyntheticScenes(45, 1.0)
    assert torch.equal(pool.task.y, torch.cat([scene.y for scene in scenes]))
    assert torch.equal(pool.task.node_type, torch.cat([scene.node_type for scene in scenes]))
    edges = nx.disjoint_union_all(Graph.from_data(scene).to_networkx() for scene in scenes).edges
    joined = nx.disjoint_union_all(Graph.from_data(graph).to_networkx() for graph in pool.task.graphs).edges
    assert set(map(frozenset, joined)) == set(map(frozenset, edges))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_results_in_the_repository_are_those_of_the_protocols(name: str) -> None:
    protocol, _ = PROTOCOLS[name]
    results = Results.read(Path(__file__).parents[2] / "docs" / "results" / f"{name}.json")
    assert results.subject == json.loads(json.dumps(protocol.subject()))
    for model in protocol.models:
        best = (
            finished_search(results, protocol.grid, (), name={"model": model}).best.point
            if (protocol.grid.size > 1)
            else protocol.grid.points()[0]
        )
        for scenes, coupling in protocol.settings():
            assert results.one(model=model, scenes=scenes, coupling=coupling)["settings"] == dict(best)
    assert protocol.quick().settings() == [(300, 1.0), (100, 1.0), (300, 0.0)]
