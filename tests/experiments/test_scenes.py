"""scenes-buildings and scenes-stanford: what is missing is measured, and the pages say who is ahead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from neuraltrees.data.task import Task
from neuraltrees.datasets import SyntheticScenes
from neuraltrees.experiments import scenes_buildings, scenes_stanford
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.page import markdown
from neuraltrees.scenes import SceneFormat, TypedGraphSpec, building_label_spaces, scene_of_room, scene_task
from neuraltrees.tuning.store import Results


def test_buildings_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = replace(scenes_buildings.Protocol(), sizes=(6, 8), held_out=(2, 3), steps=(2, 2), per_step=10, hidden=8)
    monkeypatch.setattr(scenes_buildings.Protocol, "quick", lambda self: tiny)
    told: list[str] = []
    results = scenes_buildings.measure(Scale(quick=True), tmp_path / "x.json", told.append)
    assert len(results.records) == 4 and told[0].startswith("generating 13 buildings")
    record = results.one(method=scenes_buildings.HEAD, buildings=6)
    (row,) = record["runs"]
    assert 0 <= row["test"] < row["posterior"] < 1
    again = scenes_buildings.measure(Scale(quick=True), tmp_path / "x.json", lambda line: pytest.fail(line))
    assert again == results
    text = markdown(scenes_buildings.draw(results, tmp_path))
    assert "| 6 |" in text and "| 8 |" in text and "With 8 training buildings" in text


def test_held_out_buildings_are_the_same_at_all_sizes() -> None:
    pool = scenes_buildings.make_pool(0, 8, (2, 3))
    assert int(pool.split(4).test.sum()) == len(pool.right)
    assert torch.equal(pool.split(4).test, pool.split(8).test)
    assert len(pool.part(4).graphs) == 9
    assert not (pool.split(8).train & (pool.split(8).test | pool.split(8).val)).any()


def test_typed_and_untyped_see_the_same_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generated = SyntheticScenes(12)

    def load(method: str, data_root: str | None) -> Task:
        if method == scenes_stanford.TYPED:
            spec = TypedGraphSpec(object_edges=False)
            form = SceneFormat(building_label_spaces(), ("object", "room"), spec)
            return scene_task(map(scene_of_room, generated), form)
        return Task(list(generated), generated.labels).scaled(geometry=method == scenes_stanford.UNTYPED)

    monkeypatch.setattr(scenes_stanford, "load", load)
    results = scenes_stanford.measure(Scale(quick=True, epochs=2), tmp_path / "x.json", lambda line: None)
    splits = {tuple(map(tuple, (run["split"] for run in record["runs"]))) for record in results.records}
    assert len(results.records) == 3 and len(splits) == 1
    assert "typed − this" in markdown(scenes_stanford.draw(results, tmp_path))


def stanford(**test: list[float]) -> Results:
    names = {"typed": scenes_stanford.TYPED, "untyped": scenes_stanford.UNTYPED, "plain": scenes_stanford.PLAIN}
    records: list[dict[str, Any]] = [
        {
            "name": {"method": names[key]},
            "runs": [{"seed": i, "val": value, "test": value} for i, value in enumerate(values)],
            "parameters": 1,
            "seconds": 1.0,
        }
        for key, values in test.items()
    ]
    return Results("scenes-stanford", records)


@pytest.mark.parametrize(
    ("untyped", "words"),
    [([0.5, 0.51, 0.49], "is ahead of"), ([0.6, 0.62, 0.61], "is level with"), ([0.7, 0.72, 0.71], "is behind")],
)
def test_the_verdict_is_on_the_better_untyped_network(untyped: list[float], words: str, tmp_path: Path) -> None:
    results = stanford(typed=[0.61, 0.61, 0.62], untyped=untyped, plain=[0.3, 0.3, 0.31])
    text = markdown(scenes_stanford.draw(results, tmp_path))
    assert f"The typed neural tree {words} the better untyped one** (untyped, geometry by hand)" in text
