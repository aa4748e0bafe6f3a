"""Folders of scenes: which scenes are found, of which house, and how they are split."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.errors import InputError, NeuralTreesWarning, ParseError
from neuraltrees.scenes import LabelSpace, SceneFormat, read_folder
from neuraltrees.scenes.folders import house_split
from tests.scenes.houses import write_houses


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    write_houses(tmp_path / "maps")
    return tmp_path / "maps"


def test_the_house_is_the_name_up_to_the_first_underscore(maps: Path) -> None:
    found = read_folder(maps)
    assert [(each.name, each.house, each.part) for each in found[:3]] == [
        ("house0_0.json", "house0", None),
        ("house0_1.json", "house0", None),
        ("house1_0.json", "house1", None),
    ]
    assert len(found) == 12


def test_the_house_is_the_folder_where_there_is_one(maps: Path) -> None:
    (maps / "villa" / "later").mkdir(parents=True)
    shutil.move(maps / "house0_0.json", maps / "villa" / "a.json")
    shutil.move(maps / "house1_0.json", maps / "villa" / "later" / "b.json")
    houses = {each.name: each.house for each in read_folder(maps)}
    assert houses["villa/a.json"] == houses["villa/later/b.json"] == "villa"


def test_a_split_by_houses_keeps_them_together(maps: Path) -> None:
    scenes = read_folder(maps)
    seen = set()
    for seed in range(5):
        split = house_split(scenes, 0.7, False, seed)
        parts = [
            {scenes[i].house for i in mask.nonzero().flatten().tolist()}
            for mask in (split.train, split.val, split.test)
        ]
        assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])
        assert [len(part) for part in parts] == [4, 1, 1]
        seen.add(tuple(sorted(parts[2])))
    assert len(seen) > 1


def test_a_house_in_two_parts_is_refused_unless_asked_for(maps: Path) -> None:
    for part, names in {"train": "01234", "val": "5"}.items():
        (maps / part).mkdir()
        for name in names:
            shutil.move(maps / f"house{name}_0.json", maps / part)
    (maps / "test").mkdir()
    for path in maps.glob("house*_1.json"):
        shutil.move(path, maps / "test")
    scenes = read_folder(maps)
    with pytest.raises(InputError, match=r"got house house0 in test and in train. If that is meant: --shared-houses"):
        house_split(scenes, 0.7, False, 0)
    split = house_split(scenes, 0.7, True, 0)
    assert [int(mask.sum()) for mask in (split.train, split.val, split.test)] == [5, 1, 6]
    with pytest.raises(InputError, match="in test and in train"):
        load_task(DataSpec(dataset=f"scenes:{maps}")).split(0)


def test_few_houses(tmp_path: Path) -> None:
    write_houses(tmp_path, houses=2, maps=2)
    scenes = read_folder(tmp_path)
    with pytest.raises(InputError, match=r"at least 3 houses.*got 2: house0, house1.*--shared-houses"):
        house_split(scenes, 0.7, False, 0)
    split = house_split(scenes, 0.7, True, 0)
    assert [int(mask.sum()) for mask in (split.train, split.val, split.test)] == [2, 1, 1]


def test_houses_of_a_table(maps: Path, tmp_path: Path) -> None:
    table = tmp_path / "houses.csv"
    rows = [f"house{i}_{j}.json,{'ab'[j]}{i // 2},{('train', 'val', 'test')[i // 2]}" for i in range(6) for j in (0, 1)]
    table.write_text("\n".join(["scene,house,split", *rows]))
    found = read_folder(maps, table)
    assert {each.house for each in found} == {"a0", "a1", "a2", "b0", "b1", "b2"}
    assert found[0].part == "train"
    table.write_text("scene,house\nhouse0_0.json,villa\n")
    with pytest.raises(InputError, match=r"has none for house0_1.json"):
        read_folder(maps, table)
    for text, message in {
        "scene,place\nx,y\n": "row 2: expected the columns scene and house",
        "scene,house,split\nx,y,dev\n": "expected a split out of train, val, test; got 'dev'",
        "scene,house\nx,y\nx,z\n": "row 3: expected every scene once",
        "scene,house\n": "got no rows",
    }.items():
        table.write_text(text)
        with pytest.raises(ParseError, match=message):
            read_folder(maps, table)


def test_other_formats(tmp_path: Path) -> None:
    hov = tmp_path / "flat_0"
    for kind in ("rooms", "objects"):
        (hov / kind).mkdir(parents=True)
    (hov / "rooms" / "0.json").write_text(json.dumps({"room_id": "0", "name": "kitchen"}))
    (hov / "objects" / "0.json").write_text(json.dumps({"object_id": "0", "room_id": "0", "name": "oven"}))
    (tmp_path / "3dssg").mkdir()
    scans = [{"scan": f"scan{i}", "objects": [{"id": "1", "label": "chair"}]} for i in range(2)]
    (tmp_path / "3dssg" / "objects.json").write_text(json.dumps({"scans": scans}))
    relations = [{"scan": "scan0", "relationships": []}]
    (tmp_path / "3dssg" / "relationships.json").write_text(json.dumps({"scans": relations}))
    (tmp_path / "office").mkdir()
    thing = {"object_1": {"id": 1, "object_tag": "desk", "bbox_extent": [1, 1, 1], "bbox_center": [0, 0, 0]}}
    (tmp_path / "office" / "obj_json_a.json").write_text(json.dumps(thing))
    (tmp_path / "office" / "edge_json_a.json").write_text("{}")
    (tmp_path / ".hidden.json").write_text("no scene")
    found = read_folder(tmp_path)
    assert [(each.name, each.house) for each in found] == [
        ("3dssg/objects.json:scan0", "3dssg"),
        ("3dssg/objects.json:scan1", "3dssg"),
        ("flat_0", "flat"),
        ("office/obj_json_a.json", "office"),
    ]
    form = SceneFormat.of_scenes([each.scene for each in found])
    assert form.labels["object"] == LabelSpace(["chair", "desk", "oven"])
    assert form.labels["room"] == LabelSpace(["kitchen"])


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected a folder of scenes"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="got none"):
        read_folder(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ParseError, match=r"broken\.json"):
        read_folder(tmp_path)


def test_scenes_partly_in_parts(maps: Path) -> None:
    (maps / "train").mkdir()
    shutil.move(maps / "house0_0.json", maps / "train")
    with pytest.raises(InputError, match=r"house0_1\.json is in none"):
        read_folder(maps)


def test_tasks_of_folders(maps: Path, tmp_path: Path) -> None:
    task = load_task(DataSpec(dataset=f"scenes:{maps}"))
    assert len(task.graphs) == 12 and list(task.labels) == ["object", "room"]
    assert [len(names) for names in task.labels.values()] == [36, 16]
    rooms = load_task(DataSpec(dataset=f"scenes:{maps}", target="room"))
    assert rooms.labels["object"] == ("object",) and len(rooms.labels["room"]) == 16
    assert (rooms.y[rooms.node_type == 0] == -1).all() and (rooms.y[rooms.node_type == 1] >= 0).all()
    LabelSpace(["kitchen", "bath"], synonyms={"bathroom": "bath"}).write(tmp_path / "rooms.csv")
    few = load_task(DataSpec(dataset=f"scenes:{maps}", target="room", label_spaces=f"room={tmp_path / 'rooms.csv'}"))
    assert few.labels["room"] == ("kitchen", "bath", "unknown")
    assert set(few.y[few.node_type == 1].tolist()) == {0, 1, 2}
    split = task.split(3)
    assert int(split.train.sum() + split.val.sum() + split.test.sum()) == task.num_nodes
    for wrong, message in {
        "target": "Expected target out of object, room, all; got 'x'",
        "label_spaces": "Expected label_spaces as TYPE=FILE",
    }.items():
        with pytest.raises(InputError, match=message):
            load_task(DataSpec(dataset=f"scenes:{maps}", **{wrong: "x"}))
    with pytest.raises(InputError, match="Expected no max_treewidth for scenes"):
        load_task(DataSpec(dataset=f"scenes:{maps}", max_treewidth=3))


def test_what_is_dropped_is_said(maps: Path) -> None:
    path = maps / "house0_0.json"
    content = json.loads(path.read_text())
    content["edges"].append({"source": content["nodes"][0]["id"], "target": 5})
    path.write_text(json.dumps(content))
    with pytest.warns(NeuralTreesWarning, match="dropped 1 dangling edges in 1 of 12 scenes"):
        load_task(DataSpec(dataset=f"scenes:{maps}"))


def test_other_geometry_is_another_task(maps: Path) -> None:
    spec = DataSpec(dataset=f"scenes:{maps}")
    before = load_task(spec).fingerprint()
    assert load_task(spec).fingerprint() == before
    path = maps / "house0_0.json"
    content = json.loads(path.read_text())
    attributes = content["nodes"][0]["attributes"]
    for position in (attributes["position"], attributes["bounding_box"]["world_P_center"]):
        position[0] += 1.0
    path.write_text(json.dumps(content))
    assert load_task(spec).fingerprint() != before


def test_built_in_scenes(data_root: Path) -> None:
    task = load_task(DataSpec(dataset="scenes:stanford3dsg", data_root=str(data_root)))
    assert (len(task.graphs), task.num_nodes) == (482, 2820)
    assert task.split(0).counts == (1974, 282, 564)
    buildings = load_task(DataSpec(dataset="scenes:buildings", scenes=10, target="room"))
    assert len(buildings.graphs) == 10
