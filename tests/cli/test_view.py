"""neuraltrees view: which files it writes, and how it fails."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

from neuraltrees.cli import main

SCENE = {
    "nodes": [
        {"id": 1, "layer": 4, "attributes": {"type": "RoomNodeAttributes", "position": [0, 0, 1], "name": "R(1)"}},
        {"id": 2, "layer": 2, "attributes": {"type": "ObjectNodeAttributes", "position": [1, 0, 0], "name": "O(2)"}},
    ],
    "edges": [{"source": 1, "target": 2}],
}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "map.json"
    path.write_text(json.dumps(SCENE))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["view", *map(str, arguments)])
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def content(path: Path) -> dict[str, object]:
    text = path.read_text("utf-8").split('id="content">')[1].split("</script>")[0]
    found: dict[str, object] = json.loads(text)
    return found


def test_the_page_is_named_after_the_scene(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, errors = run(capsys, scene)
    assert (code, errors) == (0, "")
    assert output.splitlines()[0] == "View of map.json" and "map.html" in output
    assert content(Path("map.html"))["title"] == "map"


def test_several_scenes_are_frames(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = scene.with_name("later.json")
    later.write_text(json.dumps(SCENE | {"nodes": [*SCENE["nodes"], {"id": 3, "layer": 4, "attributes": {}}]}))
    code, output, _ = run(capsys, scene, later, "--out", "both.html", "--title", "Both", "--json")
    assert code == 0
    assert json.loads(output)["scenes"] == 2 and json.loads(output)["nodes"] == 3
    frames = content(Path("both.html"))["frames"]
    assert [frame["name"] for frame in frames] == ["map.json", "later.json"]  # type: ignore[attr-defined,index]


def test_labels_layers_and_no_tree(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = scene.with_name("labels.json")
    states = [
        {"name": "a", "labels": {"1": "den"}},
        {"name": "b", "labels": {"1": {"name": "bath", "confirmed": True}}},
    ]
    labels.write_text(json.dumps({"states": states}))
    assert run(capsys, scene, "--labels", labels, "--layers", "room", "--no-tree", "--out", "l.html")[0] == 0
    found = content(Path("l.html"))
    assert found["types"] == ["room"] and found["labels"] == ["den", "bath"]
    (frame,) = found["frames"]  # type: ignore[misc]
    assert frame["tree"] is None and [state["name"] for state in frame["states"]] == ["a", "b"]


def test_numbers_of_labels_have_names_by_a_label_space(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbered = {
        "id": 5,
        "layer": 2,
        "attributes": {"type": "ObjectNodeAttributes", "name": "O(5)", "semantic_label": 3},
    }
    scene.write_text(json.dumps(SCENE | {"nodes": [*SCENE["nodes"], numbered]}))
    Path("objects.csv").write_text("name,label\nchair,3\n")
    assert run(capsys, scene, "--label-spaces", "object=objects.csv")[0] == 0
    found = content(Path("map.html"))
    assert found["labels"] == ["chair"] and found["rows"]["number"] == [-1, -1, 3]  # type: ignore[index]
    code, _, errors = run(capsys, scene, "--label-spaces", "objects.csv", "--out", "no.html")
    assert code == 2 and "Expected --label-spaces as TYPE=FILE" in errors


def test_open(scene: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) is None)
    assert run(capsys, scene, "--open")[0] == 0
    assert opened == [scene.with_name("map.html").as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert "No browser was found" in run(capsys, scene, "--open")[1]


def test_recordings(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is missing: pip install rerun-sdk")
    assert run(capsys, scene, "--format", "rrd")[0] == 0
    assert Path("map.rrd").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "which does not exist"),
        (["map.json", "--format", "png"], "Expected --format out of html, rrd; got 'png'."),
        (["map.json", "--out", "view.png"], "Expected --out with the ending .html or .rrd; got view.png."),
        (["map.json", "--out", "view.html", "--format", "rrd"], "Expected --out with the ending .rrd; got view.html."),
        (["map.json", "--out", "missing/view.html"], "Create the folder first."),
        (["map.json", "--format", "rrd", "--open"], "Expected --open with a page"),
        (["map.json", "--layers", "door"], "Expected --layers out of room, object; got door."),
        (["map.json", "--labels", "unknown.json"], "by a name that one node has; got '9'."),
        (["unknown.json"], "expected the JSON of a scene"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(
    scene: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("unknown.json").write_text('{"9": "den"}')
    code, output, errors = run(capsys, *arguments)
    assert (code, output) == (2, "") and message in errors and errors.count("\n") == 1
    assert {path.suffix for path in Path().iterdir()} == {".json"}
