"""`neuraltrees train` on folders of scenes, and `neuraltrees predict` with labels written back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuraltrees.cli import main
from neuraltrees.scenes import read_scene
from tests.scenes.houses import write_houses

SMALL = ["--hidden", "8", "--layers", "2", "--epochs", "2", "--batches", "2"]


def run(arguments: list[Any], capsys: pytest.CaptureFixture[str], fails: bool = False) -> tuple[str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in arguments])
    output = capsys.readouterr()
    assert bool(end.value.code) is fails, output.err
    return output.out, output.err


@pytest.fixture
def trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    write_houses(tmp_path / "maps")
    _, said = run(
        ["train", "--dataset", f"scenes:{tmp_path / 'maps'}", "--head", "crf", "--out", tmp_path / "run", *SMALL],
        capsys,
    )
    assert "Learning SceneFormat(object: 36 labels, room: 16 labels; 5 relations)" in said
    assert "12 scenes of " in said
    return tmp_path


def test_labels_are_written_back(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, source, out = trained / "run" / "model.safetensors", trained / "maps" / "house0_0.json", trained / "out.json"
    shown, _ = run(["predict", model, source, "--out", out, "--json"], capsys)
    before, after = (json.loads(path.read_text()) for path in (source, out))
    printed = {node["id"]: node for node in json.loads(shown)["nodes"]}
    assert len(printed) == read_scene(source).num_nodes
    for old, new in zip(before["nodes"], after["nodes"], strict=True):
        labels = {key: new["attributes"].pop(key) for key in ("name", "semantic_label", "semantic_class_probabilities")}
        node = printed[old["id"]]
        assert (labels["name"], labels["semantic_label"]) == (node["label"], node["number"])
        assert labels["semantic_class_probabilities"][node["label"]] == pytest.approx(node["probability"], abs=1e-6)
        for key in ("name", "semantic_label"):
            del old["attributes"][key]
    assert before == after


def test_known_labels(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, source, known = (
        trained / "run" / "model.safetensors",
        trained / "maps" / "house0_0.json",
        trained / "known.json",
    )
    number = ord("R") << 56
    known.write_text(json.dumps({"R(1)": "kitchen", str(number): "gym"}))
    shown, _ = run(["predict", model, source, "--known", known, "--json"], capsys)
    nodes = {node["id"]: node for node in json.loads(shown)["nodes"]}
    assert (nodes[number]["label"], nodes[number + 1]["label"]) == ("gym", "kitchen")
    assert nodes[number]["probability"] == pytest.approx(1)
    for content, message in {
        '{"R(99)": "gym"}': "expected nodes by id, or by a name that one node has; got 'R(99)'",
        '{"R(0)": "cave"}': "Expected a room label for node",
        '{"R(0)": 3}': "expected the label of node 'R(0)' as in",
        "[": "Expected complete JSON",
        json.dumps({"R(0)": "gym", str(number): "gym"}): "expected one label per node",
    }.items():
        known.write_text(content)
        _, said = run(["predict", model, source, "--known", known], capsys, fails=True)
        assert message in " ".join(said.split())


def test_what_cannot_be_done_is_said(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, source = trained / "run" / "model.safetensors", trained / "maps" / "house0_0.json"
    _, said = run(["predict", model, source, "--smiles", "x"], capsys, fails=True)
    assert "Expected no --nodes, --ignore and --smiles with a scene" in said
    folder = trained / "hov"
    (folder / "rooms").mkdir(parents=True)
    (folder / "rooms" / "0.json").write_text(json.dumps({"room_id": "0", "name": "kitchen"}))
    _, said = run(["predict", model, folder, "--out", trained / "x.json"], capsys, fails=True)
    assert "Expected a Spark-DSG file, to write labels into a copy of it" in said and "HOV-SG" in said
    assert not (trained / "x.json").exists()
    shown, _ = run(["predict", model, folder], capsys)
    assert "kitchen" in shown
    _, said = run(["train", "--dataset", "scenes:nowhere", "--out", trained / "y"], capsys, fails=True)
    assert "Expected a folder of scenes; got nowhere" in said


def test_a_map_of_hydra(trained: Path, data_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = data_root / "dsg" / "spark_dsg" / "apartment_igx_dsg.json", trained / "out.json"
    run(["predict", trained / "run" / "model.safetensors", source, "--out", out], capsys)
    there, here = read_scene(source), read_scene(out)
    assert there.ids == here.ids and (there.positions[~(there.positions != there.positions)]).tolist()
    rooms = [here[here.ids[i]].name for i in here.of_type("room").tolist()]
    assert len(rooms) == 4 and not any(name is None or "(" in name for name in rooms)
