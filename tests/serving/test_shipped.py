"""The models that come with the package: small, loadable, no worse than their card says, and found by name."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

import neuraltrees as nt
from neuraltrees.cli import app, main
from neuraltrees.data.json_graphs import graphs_of
from neuraltrees.scenes import read_scene, scene_of_building
from neuraltrees.serving import SceneLabeller
from neuraltrees.serving.shipped import FOLDER, SHIPPED, find_model

SPARK = {
    "nodes": [
        {
            "id": 1,
            "layer": 2,
            "attributes": {
                "type": "ObjectNodeAttributes",
                "name": "O(0)",
                "semantic_label": 5,
                "position": [1, 1, 0.4],
                "bounding_box": {"type": "AABB", "world_P_center": [1, 1, 0.4], "dimensions": [1.6, 1, 0.8]},
            },
        },
        {
            "id": 2,
            "layer": 4,
            "attributes": {"type": "RoomNodeAttributes", "name": "R(0)", "semantic_label": 0, "position": [1, 1, 1]},
        },
    ],
    "edges": [{"source": 2, "target": 1}],
}
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


class TestScenes:
    def test_buildings_are_labelled_as_well_as_the_card_says(self) -> None:
        """On buildings that it has not seen; the card says 76 %."""
        buildings = list(nt.SyntheticBuildings(12, seed=77))
        labels = SceneLabeller.load("scenes").label([scene_of_building(each, labelled=False) for each in buildings])
        right = [
            scene_of_building(building)[node].name == label.name
            for building, found in zip(buildings, labels, strict=True)
            for node, label in found.items()
        ]
        assert len(right) == sum(int(each.num_nodes) for each in buildings)
        assert 0.68 < sum(right) / len(right) < 0.88

    def test_a_map_of_a_robot_on_the_command_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path, out = tmp_path / "map.json", tmp_path / "labelled.json"
        path.write_text(json.dumps(SPARK))
        code, output, errors = run(capsys, "predict", "scenes", path, "--out", out, "--json")
        assert (code, errors) == (0, "")
        named = {node["id"]: node["label"] for node in json.loads(output)["nodes"]}
        assert {node["id"]: node["attributes"]["name"] for node in json.loads(out.read_text())["nodes"]} == named

    def test_labels_that_a_person_has_confirmed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path, known = tmp_path / "map.json", tmp_path / "known.json"
        path.write_text(json.dumps(SPARK))
        known.write_text(json.dumps({"R(0)": "bathroom"}))
        code, output, _ = run(capsys, "predict", "scenes", path, "--known", known, "--json")
        assert code == 0
        assert [n["label"] for n in json.loads(output)["nodes"] if n["type"] == "room"] == ["bathroom"]

    def test_it_is_found_by_name_where_scenes_are_viewed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "map.json"
        path.write_text(json.dumps(SPARK))
        code, _, errors = run(capsys, "view", path, "--model", "scenes", "--out", tmp_path / "map.html")
        assert (code, errors) == (0, "")

    @pytest.mark.parametrize("name", ["apartment_dsg", "apartment_igx_dsg"])
    def test_real_maps(self, name: str, data_root: Path) -> None:
        scene = read_scene(data_root / "dsg" / "spark_dsg" / f"{name}.json")
        (labels,) = SceneLabeller.load("scenes").label([scene])
        assert {scene[node].type for node in labels} == {"object", "room"}

    def test_a_model_of_plain_graphs_says_which_one_reads_a_scene(self) -> None:
        with pytest.raises(
            nt.InputError, match=r"nodes.0.x to be given. It looks like a scene graph, .* scenes, or one"
        ):
            graphs_of(SPARK, "map.json", ("node",))


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
