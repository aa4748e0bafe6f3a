"""structured-scenes: the head on top of class statistics, with and without a rival of the same splits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neuraltrees.experiments.page import markdown
from neuraltrees.experiments.scene_pool import make_pool
from neuraltrees.experiments.structured_scenes import Protocol, run_statistics
from neuraltrees.experiments.structured_scenes_page import STATISTICS, networks_table, statistics_table
from neuraltrees.tuning.store import Results

TINY = replace(Protocol().quick(), networks=replace(Protocol().quick().networks, held_out=(10, 20), runs=2))
KEY: dict[str, Any] = {"method": STATISTICS, "scenes": 60, "coupling": 1.0}


def test_statistics_and_head_are_measured_on_the_splits_of_the_others() -> None:
    pool = make_pool(60, 1.0, TINY.networks)
    record = run_statistics(TINY, KEY, None, lambda: pool)
    splits = pool.splits(60, TINY.networks)
    assert [run["split"] for run in record["runs"]] == [list(split.counts) for split in splits]
    for run, split in zip(record["runs"], splits, strict=True):
        assert run["posterior"] == float(pool.by_posterior[split.test].double().mean())
        assert 0.2 < run["test"] < run["posterior"]
    again = run_statistics(TINY, KEY, record, lambda: pytest.fail("the rival has the posterior"))
    assert again["runs"] == record["runs"]


def test_a_method_that_has_its_place_in_every_setting() -> None:
    settings = Protocol().settings()
    assert {place[1:] for place in settings if place[0] == STATISTICS} == {
        place[1:] for place in settings if place[0] == "head"
    }


def test_the_table_of_networks_below_the_head() -> None:
    def record(method: str, scenes: int, coupling: float, test: float) -> dict[str, Any]:
        runs = [{"test": test + step, "calibration_error": 0.02} for step in (0.0, 0.01, 0.02)]
        return {"name": {"method": method, "scenes": scenes, "coupling": coupling}, "runs": runs}

    plain = [record("gnn", 60, 1.0, 0.5), record("neural-tree", 60, 1.0, 0.6), record("head", 60, 1.0, 0.7)]
    below = [record("gnn + head", 60, 1.0, 0.65), record("neural-tree + head", 60, 1.0, 0.63)]
    alone = [record("gnn + head", 30, 2.0, 0.5)]
    results = Results("x", [*plain, *below, *alone], {"middle": [30, 1.0]})
    text = markdown([networks_table(results)])
    assert "| 60 | 1 | +15.0" in text and "| +3.0" in text and "| -5.0" in text and "| 2.0, 2.0 |" in text
    assert "| 30 | 2 | – | – | – | 2.0, – |" in text


def test_the_table_names_the_distance_to_the_posterior_and_to_the_head() -> None:
    def record(method: str, test: list[float]) -> dict[str, Any]:
        runs = [{"test": each, "posterior": 0.8, "calibration_error": 0.02} for each in test]
        return {"name": {**KEY, "method": method}, "runs": runs}

    results = Results("x", [record(STATISTICS, [0.79, 0.78, 0.79]), record("head", [0.77, 0.77, 0.775])])
    text = markdown([statistics_table(results)])
    assert "| 60 | 1 | 80.0 | 78.7 ± 0.6 | +1.5" in text and "| -1.3 | 2.0 |" in text
