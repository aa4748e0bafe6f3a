"""Label spaces: by name, from files and metadata, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.errors import InputError, ParseError
from neuraltrees.scenes import LabelSpace, Scene, SceneNode, parse_scene
from tests.scenes.spark_files import O, flat

SPACE = LabelSpace(["chair", "tv_monitor"], {3: "chair", 22: "tv_monitor", 4: "chair"}, {"seat": "chair"})


def test_names_synonyms_and_the_unknown() -> None:
    assert SPACE.names == ("chair", "tv_monitor", "unknown") and SPACE.unknown == 2 and len(SPACE) == 3
    assert [SPACE.index(name) for name in ("Chair", "TV monitor", "seat", "dragon")] == [0, 1, 0, 2]
    assert "tv-monitor" in SPACE and "dragon" not in SPACE
    assert (SPACE.number("seat"), SPACE.number("unknown"), SPACE.name_of_number(99)) == (3, None, "unknown")
    assert LabelSpace(["Unknown", "chair"]).names == ("Unknown", "chair")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "A_"],), "got 'A_' twice"),
        (("chair",), "names of labels as a list of words"),
        ((["a", 3],), "names of labels as words; got 3"),
        ((["a"], {-1: "a"}), "numbers of labels from 0; got -1"),
        ((["a"], {1: "b"}), "number 1 to stand for one of the labels; got 'b'"),
        ((["a"], {}, {"c": "b"}), "synonym 'c' to stand for one of the labels"),
        ((["a", "b"], {}, {"b": "a"}), "no labels themselves; got 'b'"),
        ((["a"], [1]), "as dictionaries"),
    ],
)
def test_mistakes(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LabelSpace(*arguments)


@pytest.mark.parametrize(
    ("name", "content", "numbers"),
    [
        ("a.json", '["wall", "chair"]', {}),
        ("a.json", '{"0": "wall", "3": "chair"}', {0: "wall", 3: "chair"}),
        ("a.json", '{"wall": 0, "chair": 3}', {0: "wall", 3: "chair"}),
        ("a.json", '[[0, "wall"], [3, "chair"], [9, "Wall"]]', {0: "wall", 3: "chair", 9: "wall"}),
        ("a.yaml", "label_names:\n- {label: 0, name: wall}\n- {label: 3, name: chair}\n", {0: "wall", 3: "chair"}),
        ("a.yml", "{0: wall, 3: chair}", {0: "wall", 3: "chair"}),
        ("a.csv", "wall\nchair\n", {}),
        ("a.csv", "id,name\n0,wall\n3,chair\n", {0: "wall", 3: "chair"}),
    ],
)
def test_forms_of_files(tmp_path: Path, name: str, content: str, numbers: dict[int, str]) -> None:
    (tmp_path / name).write_text(content)
    space = LabelSpace.read(tmp_path / name)
    assert space.names == ("wall", "chair", "unknown") and dict(space.numbers) == numbers


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "Expecting property name"),
        ("a.json", "3", "list or dictionary of labels; got int"),
        ("a.json", "[]", "at least one label"),
        ("a.json", "[[1, 2, 3]]", "labels as names"),
        ("a.json", '[[1, "a"], [1, "b"]]', "got 1 twice"),
        ("a.json", '[["x", "a"]]', "number of a label; got 'x'"),
        ("a.json", '[[1, ["a"]]]', "a name for label 1"),
        ("a.json", '{"names": ["a"], "numbers": [1]}', "numbers as a dictionary; got list"),
        ("a.json", '{"names": ["a"], "numbers": {"1": "b"}}', "number 1 to stand for"),
        ("a.yaml", "a: [", "expected YAML"),
        ("a.csv", "a,b\n1,2\n", "column name, or one name per line"),
        ("a.csv", "name,id\nwall\n", "row 2: expected 2 cells"),
        ("a.csv", "name,id\nwall,x\n", "row 2: expected the number of a label"),
    ],
)
def test_mistakes_in_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ParseError, match=message):
        LabelSpace.read(tmp_path / name)


def test_other_endings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"as \.json, \.yaml, \.yml, \.csv; got"):
        LabelSpace.read(tmp_path / "labels.txt")


WORD = st.text("abcdefgÄβ ,'\"", min_size=1, max_size=6).filter(lambda word: word.strip() == word and word)


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(WORD, min_size=1, max_size=6, unique_by=lambda word: " ".join(word.casefold().split())),
    data=st.data(),
)
def test_files_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], data: Any
) -> None:
    labels = words[: max(1, len(words) // 2)]
    numbers = data.draw(st.dictionaries(st.integers(0, 99), st.sampled_from(labels)))
    space = LabelSpace(labels, numbers, dict.fromkeys(words[len(labels) :], labels[0]))
    folder = tmp_path_factory.mktemp("labels")
    for ending in ("json", "yaml", "csv", "json.gz"):
        space.write(folder / f"space.{ending}")
        assert LabelSpace.read(folder / f"space.{ending}") == space


def test_metadata_of_a_scene() -> None:
    content = flat((1, 1, 3))
    content["metadata"] = {"labelspaces": {"_l2p0": [[5, "table"], [11, "bed"]]}}
    scene = parse_scene(json.dumps(content))
    space = LabelSpace.of_scene(scene, "object")
    assert space.names == ("table", "bed", "unknown")
    # The table, the cup whose number is not listed, the bed, and the lamp without a number.
    assert space.labels_of(scene, [O, O + 1, O + 2, O + 3]).tolist() == [0, 2, 1, -1]
    with pytest.raises(InputError, match="Expected a label space for room in the scene's metadata"):
        LabelSpace.of_scene(scene, "room")


def test_names_of_nodes_are_labels_where_there_are_no_numbers() -> None:
    scene = Scene.of([SceneNode(0, "object", "Seat"), SceneNode(1, "object", "dragon"), SceneNode(2, "object")])
    assert LabelSpace(["chair"], {}, {"seat": "chair"}).labels_of(scene).tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "name,label\nkitchen,7\nbath,7\n",
            r"row 3: expected distinct numbers of labels; got 7 for 'bath', as ",
        ),
        (
            "name,synonyms\nkitchen,cook;room\nbath,room\n",
            r"row 3: expected synonyms of one label; got 'room' for",
        ),
    ],
)
def test_a_number_or_synonym_of_two_labels_in_a_table(tmp_path: Path, table: str, message: str) -> None:
    path = tmp_path / "rooms.csv"
    path.write_text(table)
    with pytest.raises(ParseError, match=message):
        LabelSpace.read(path)
