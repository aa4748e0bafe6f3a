"""The experiments on tiny protocols: paired, resumable, and counted against the dataset's own posterior."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from neuraltrees.datasets import SyntheticScenes
from neuraltrees.experiments import posterior_gap
from neuraltrees.experiments.posterior_gap import Protocol

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
    with pytest.raises(SystemExit, match="to hold this protocol; got another"):
        posterior_gap.measure(TINY, "sage", path, "cpu", {}, lambda line: None)
