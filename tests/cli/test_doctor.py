"""neuraltrees doctor: it says what is there, and how to get what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import neuraltrees as nt
from neuraltrees.cli import main
from neuraltrees.cli.doctor import _extras, _missing, _packages
from neuraltrees.datasets.citation import raw_files
from neuraltrees.datasets.inventory import PLACES
from neuraltrees.datasets.registry import dataset_names
from neuraltrees.datasets.stanford import FILE


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(["doctor", *arguments])
    return int(end.value.code or 0), capsys.readouterr().out


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "molecules/zinc").mkdir(parents=True)
    (tmp_path / "molecules/zinc/zinc12k.npz").touch()
    code, output = doctor(capsys, "--json", "--data-root", str(tmp_path))
    found = json.loads(output)
    assert (code, found["problems"]) == (0, [])
    assert found["neuraltrees"] == nt.__version__
    assert found["core"]["built"] and Path(found["core"]["file"]).exists()
    assert found["packages"]["torch"] and found["packages"]["numpy"]
    assert found["devices"][0]["name"] == "cpu" and found["devices"][0]["cores"] >= 1
    assert found["data_root"] == str(tmp_path)
    assert [name for name, there in found["datasets"].items() if there] == ["zinc"]
    assert {"molecules", "plots", "report"} <= set(found["extras"])


def test_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = doctor(capsys, "--data-root", str(tmp_path))
    assert code == 0
    assert nt.__version__ in output
    assert output.splitlines()[-1] == "Everything that the library needs is installed."


def run_without(module: str) -> subprocess.CompletedProcess[str]:
    """The command in an interpreter in which a module cannot be found."""
    script = f"""
import sys
class Hidden:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
import importlib.util
usual = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {module!r} else usual(name, package)
sys.meta_path.insert(0, Hidden())
from neuraltrees.cli import main
from neuraltrees.cli.doctor import _extras, _missing, _packages
from neuraltrees.datasets.citation import raw_files
main(["doctor"])
"""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=200)


def test_a_missing_extra_comes_with_the_command_that_adds_it() -> None:
    ran = run_without("rdkit")
    assert ran.returncode == 0, ran.stderr
    assert "missing rdkit. Run: pip install 'neuraltrees[molecules]'" in ran.stdout


def test_what_is_installed_is_not_missing() -> None:
    for extra in _extras():
        for package in _packages(extra):
            try:
                version(package)
            except PackageNotFoundError:
                continue
            assert package not in _missing(extra)


def test_files_that_pyg_has_downloaded_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ZINC/raw").mkdir(parents=True)  # from which the loader reads, too
    _, output = doctor(capsys, "--json", "--data-root", str(tmp_path))
    assert [name for name, there in json.loads(output)["datasets"].items() if there] == ["zinc"]


def test_a_missing_core_is_a_problem() -> None:
    ran = run_without("neuraltrees._core._native")
    assert ran.returncode == 1
    assert "The compiled core cannot be loaded" in ran.stdout


def test_the_places_are_those_where_the_loaders_look(tmp_path: Path) -> None:
    """The error of a loader that finds nothing lists where it looked; the first place is the one that doctor names."""
    for name, places in PLACES.items():
        if name in ("stanford3dsg", "cora", "citeseer", "pubmed", "brec", "sr25", "tu:NAME"):
            continue
        with pytest.raises(nt.InputError) as error:
            nt.load_task(nt.datasets.DataSpec(dataset=name, data_root=str(tmp_path)))
        assert all(place in str(error.value) for place in places), (name, str(error.value))
    assert PLACES["stanford3dsg"] == (FILE.path,)
    for name in nt.CitationNetwork.names:
        assert {str(Path(file.path).parent) for file in raw_files(name)} == set(PLACES[name.lower()])
    assert set(dataset_names()) - set(PLACES) <= {"synthetic", "buildings", "mine", "scenes:FOLDER"}
