"""The models that come with the package: small, loadable, no worse than their card says, and found by name."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
import typer.main

import neuraltrees as nt
from neuraltrees.cli import app, main
from neuraltrees.serving.shipped import FOLDER, SHIPPED, find_model

CARD = (Path(__file__).resolve().parent.parent.parent / "docs" / "cards" / "models.md").read_text()


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def test_the_files_are_those_that_are_named_and_small() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SHIPPED)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2 * 2**20


@pytest.mark.parametrize("name", SHIPPED)
def test_each_has_a_card_with_the_command_that_makes_it(name: str) -> None:
    section = CARD.split(f"## `{name}`")[1].split("\n## ")[0]
    assert f"`{SHIPPED[name].command}`" in section
    assert "Intended use" in section and "Limits" in section and "licence" in section
    _, command, *arguments = shlex.split(SHIPPED[name].command)
    click: Any = typer.main.get_command(app)
    click.commands[command].make_context(command, arguments).close()


def test_a_file_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_model("scenes") == SHIPPED["scenes"].path
    Path("scenes").touch()
    assert find_model("scenes") == Path("scenes")
    assert find_model("folder/model.safetensors") == Path("folder/model.safetensors")  # loading it says what is wrong
    with pytest.raises(nt.InputError, match=r"one of scenes, solubility; got 'scens'. Did you mean scenes\?"):
        find_model("scens")


def test_scenes_are_labelled_as_well_as_the_card_says() -> None:
    """On scenes that it has not seen; the card says 76 %."""
    scenes = nt.SyntheticScenes(60, seed=77)
    predictor = nt.Predictor.load("scenes")
    right = [
        (predicted.argmax(-1) == scene.y).float()
        for scene, predicted in zip(scenes, predictor.predict(list(scenes)), strict=True)
    ]
    everything = torch.ones(int(scenes.y.numel()), dtype=torch.bool)
    assert 0.68 < float(torch.cat(right).mean()) <= scenes.optimum(everything) + 0.02


def test_a_scene_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [{"type": "room", "x": [0, 0, 1.3, 4, 3, 2.6]}, {"type": "object", "x": [0.5, 0.4, 0.4, 0.6, 0.6, 0.9]}]
    path = tmp_path / "scene.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": [[0, 1]]}))
    code, output, errors = run(capsys, "predict", "scenes", path, "--json")
    assert (code, errors) == (0, "")
    assert [node["type"] for node in json.loads(output)["graphs"][0]["nodes"]] == ["room", "object"]


class TestSolubility:
    @pytest.fixture(autouse=True)
    def needs_rdkit(self) -> None:
        pytest.importorskip("rdkit", reason="SMILES need the extra molecules")

    def test_it_orders_what_everybody_knows(self) -> None:
        smiles = ["CCO", "c1ccccc1", "c1ccc2cc3ccccc3cc2c1"]  # ethanol, benzene, anthracene
        found = nt.Predictor.load("solubility").predict(nt.MoleculesFromSmiles(smiles).graphs())
        ethanol, benzene, anthracene = (float(each) for each in found)
        assert ethanol > -1 > benzene > anthracene
        assert anthracene < -4

    def test_a_smiles_itself(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, output, errors = run(capsys, "predict", "solubility", "F/C=C/F", "--json")
        assert (code, errors) == (0, "")
        found = json.loads(output)["molecules"]
        assert [each["smiles"] for each in found] == ["F/C=C/F"]

    def test_one_that_is_longer_than_a_file_name_may_be(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, output, _ = run(capsys, "predict", "solubility", "C" * 400, "--json")
        assert code == 0 and json.loads(output)["skipped"] == []

    def test_what_is_neither_a_file_nor_a_smiles(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, errors = run(capsys, "predict", "solubility", "nonsense(")
        assert code == 2
        assert re.match(r"Error: Expected a file or a SMILES; got 'nonsense\(': there is no such file, and", errors)

    def test_a_list_that_is_missing_is_a_missing_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, errors = run(capsys, "predict", "solubility", "missing.smi")
        assert (code, errors) == (2, "Error: No such file or directory: missing.smi\n")
