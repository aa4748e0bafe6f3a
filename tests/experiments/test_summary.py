"""The page on all results is made from the JSON files of the experiments, and is what the repository has."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from neuraltrees.errors import InputError
from neuraltrees.experiments import summary
from neuraltrees.experiments.registry import EXPERIMENTS
from tests.experiments.test_claims import table1

DOCS = Path(__file__).parents[2] / "docs"


def test_a_page_from_one_experiment(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    results = table1(0.6, 0.5, 0.4, 0.4)
    content = {"experiment": "table1", "subject": {}, "note": "In a hurry.", "records": results.records}
    (tmp_path / "results" / "table1.json").write_text(json.dumps(content))
    assert summary.write_summary(tmp_path) == ["table1"]
    page = (tmp_path / "results.md").read_text()
    assert "| 1 | The neural tree beats its GNN for every convolution | **confirmed** |" in page
    assert "| 7 | Sampling time is flat in k while construction grows | not judged | compute-time was not run |" in page
    assert "4 runs per cell, at most 5 epochs, on abacus, 12 minutes of training. In a hurry." in page
    assert "    neuraltrees reproduce table1 --out docs/results\n" in page
    assert "| GCN | 40.9 / 50.6 | 50.0 ± 1.4 | 40.0 ± 1.4 |" in page
    assert "Not run: training-data, iterations" in page
    assert "](images/table1.svg)" in page
    assert (tmp_path / "images" / "table1.svg").read_text().lstrip().startswith("<?xml")


def test_without_results_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected a folder that holds results/; got"):
        summary.write_summary(tmp_path)
    (tmp_path / "results").mkdir()
    with pytest.raises(InputError, match=r"Expected results of an experiment in .*; got none"):
        summary.write_summary(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_the_page_of_the_repository_is_made_from_its_results(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "results", tmp_path / "results")
    there = [name for name in EXPERIMENTS if (DOCS / "results" / f"{name}.json").exists()]
    assert summary.write_summary(tmp_path) == there
    page = (tmp_path / "results.md").read_text()
    missing = [name for name in EXPERIMENTS if name not in there]
    assert f"Not run: {', '.join(missing)}." in page if missing else "Not run" not in page
    assert page == (DOCS / "results.md").read_text()
    figures = re.findall(r"\]\((images/[^)]*)\)", page)
    assert len(figures) == len(set(figures)) > 10
    assert all((tmp_path / figure).exists() and (DOCS / figure).exists() for figure in figures)
    for name in re.findall(r"neuraltrees reproduce ([a-z0-9-]+)", page):
        assert name in EXPERIMENTS or name == "--summary"
