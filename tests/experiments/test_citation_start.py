"""citation-start: the start of bags alone differs, and the page compares it run by run."""

from __future__ import annotations

import shutil
from pathlib import Path

from neuraltrees.experiments import citation_bounds, citation_start, citation_tuning, citations, molecules, table1
from neuraltrees.experiments.cells import DEFAULTS, Cell, settings_of
from neuraltrees.experiments.citation_start import EXPERIMENT
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.page import Table
from neuraltrees.tuning.store import Results, open_store

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def record(start: str, rate: float, val: float, tests: list[float]) -> dict[str, object]:
    runs = [{"seed": seed, "val": val, "test": test} for seed, test in enumerate(tests)]
    name = {"dataset": "cora", "nodes": None, "start": start, "lr": rate}
    return {"name": name, "settings": {"epochs": 5}, "runs": runs, "seconds": 1.0, "parameters": 1}


def test_cells_differ_in_the_start_alone() -> None:
    listed = citation_start.cells(Scale())
    assert len(listed) == 6 * 3 * 2 and len({str(cell) for cell in listed}) == len(listed)
    settings = {str(cell): settings_of(cell.config) for cell in listed}
    for cell in listed:
        if cell.name["start"] == "mean":
            zero = settings[str(Cell({**cell.name, "start": "zero"}, cell.config))]
            assert zero == settings[str(cell)] | {"bag_start": "zero"}
            assert settings[str(cell)]["bag_start"] == "mean" and zero["max_treewidth"] == 4
    assert {str(cell.config.network.first_bags) for cell in listed} == {"zero", "mean", "None"}


def test_the_page_compares_run_by_run_at_the_rate_of_the_best_validation(tmp_path: Path) -> None:
    results = Results(
        "citation-start",
        [
            record("zero", 0.01, 0.5, [0.80, 0.82, 0.81]),
            record("zero", 0.05, 0.4, [0.99, 0.99, 0.99]),
            record("mean", 0.01, 0.4, [0.10, 0.10, 0.10]),
            record("mean", 0.05, 0.6, [0.85, 0.86, 0.87]),
        ],
    )
    table, figure = EXPERIMENT.show(results, tmp_path)
    assert isinstance(table, Table)
    assert list(table.rows) == [["Cora", "all", "81.0 ± 1.0", "86.0 ± 1.0", "+5.0 (p = 0.013)", "", ""]]
    assert (tmp_path / "citation-start.svg").exists() and figure.file == "citation-start.svg"
    with_graph = [*results.records, record("graph", 0.01, 0.7, [0.87, 0.88, 0.89])]
    table = EXPERIMENT.show(Results("citation-start", with_graph), tmp_path)[0]
    assert table.rows[0][5:] == ["88.0 ± 1.0", "-2.0"]


def test_the_paper_starts_at_zero() -> None:
    listed = [*citations.data_cells(Scale(), {}), *citations.treewidth_cells(Scale(), {}), *table1.cells(Scale())]
    listed += citation_bounds.cells(Scale())
    paper = [cell for cell in listed if "bound" not in cell.name]  # the others are the default's
    assert {cell.config.network.first_bags for cell in paper} == {"zero", None}
    assert {cell.config.network.first_bags for cell in listed if cell not in paper} == {"mean"}


def test_results_from_before_the_option_are_found(tmp_path: Path) -> None:
    """None of them is refused for another start of bags."""
    shutil.copytree(RESULTS, tmp_path / "results")
    folder = tmp_path / "results"
    wanted = [(dataset, "gcn") for dataset in citations.NETWORKS] + [(dataset, "gat") for dataset in citations.NETWORKS]
    best = citation_tuning.tune(wanted, folder / "citation-tuning.json", Scale(), lambda line: None)
    for name, listed, least in (
        ("citation-data", citations.data_cells(Scale(), best), 78),
        ("citation-treewidth", citations.treewidth_cells(Scale(), best), 15),
        ("citation-bounds", list(citation_bounds.cells(Scale())), 17),
        ("molecules-zinc", molecules.cells(["zinc"], Scale()), 5),
        ("citation-start", citation_start.cells(Scale()), 4),
    ):
        with open_store(folder / f"{name}.json", name, defaults=DEFAULTS) as store:
            found = [store.get(cell.name, settings_of(cell.config)) for cell in listed]
        assert sum(each is not None for each in found) >= least
