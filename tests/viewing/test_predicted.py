"""Scenes with the labels of a trained network, before and after some are confirmed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuraltrees import SyntheticBuildings
from neuraltrees.cli import main
from neuraltrees.errors import InputError
from neuraltrees.scenes import (
    SceneFormat,
    SceneNode,
    SceneTracker,
    TypedGraphSpec,
    building_label_spaces,
    scene_of_building,
    scene_task,
)
from neuraltrees.serving import SceneLabeller
from neuraltrees.training import Bundle, NetworkSpec, Run, TrainingSpec, fit
from neuraltrees.viewing import SceneFrame, predicted_frames
from tests.scenes.houses import spark

BUILDINGS = SyntheticBuildings(6)
FORM = SceneFormat(building_label_spaces(), ("object", "room"), TypedGraphSpec(object_edges=False))


def bundle(head: str | None) -> Bundle:
    task = scene_task([scene_of_building(each) for each in BUILDINGS], FORM)
    network = NetworkSpec(schedule="typed", hidden=8, layers=1, head=head, crf_states=3)
    return Bundle.of(fit(task, network, TrainingSpec(epochs=2, batches=1, every_class=False), [Run(0, task.split(0))]))


@pytest.fixture(scope="module")
def crf() -> Bundle:
    return bundle("crf")


def test_frames_get_the_labels_of_the_network(crf: Bundle) -> None:
    labeller = SceneLabeller(crf)
    tracker = SceneTracker(scene_of_building(BUILDINGS[0], labelled=False), FORM.spec)
    first = SceneFrame(tracker.scene, "first")
    tracker.update([SceneNode("closet", "room", position=(0, 0, 0))], [("closet", "room_0")])
    later = SceneFrame(tracker.scene, "later")
    found = predicted_frames([first, later], labeller, {"room_1": "kitchen", "closet": "closet"})
    assert [[state.name for state in frame.states] for frame in found] == [["predicted", "2 confirmed"]] * 2
    assert [set(frame.states[1].confirmed) for frame in found] == [{"room_1"}, {"room_1", "closet"}]
    (alone,) = labeller.label([later.scene])
    before, after = (state.labels for state in found[1].states)
    assert {name: label.name for name, label in before.items()} == {name: label.name for name, label in alone.items()}
    assert after["room_1"].name == "kitchen" and after["room_1"].probabilities["kitchen"] == pytest.approx(1.0)  # type: ignore[index]
    changed = [name for name in before if before[name].probabilities != after[name].probabilities]
    assert len(changed) > 2, "what is confirmed says something of other nodes"
    assert predicted_frames([first], labeller)[0].states[0].name == "predicted"


def test_one_confirmed_label_names_the_state(crf: Bundle) -> None:
    frame = SceneFrame(scene_of_building(BUILDINGS[1]))
    (found,) = predicted_frames([frame], SceneLabeller(crf), {"room_0": "gym"})
    assert found.states[1].name == "gym confirmed"


def test_without_a_crf_head_nothing_can_be_confirmed() -> None:
    frame = SceneFrame(scene_of_building(BUILDINGS[0]))
    with pytest.raises(InputError, match="reads none"):
        predicted_frames([frame], SceneLabeller(bundle(None)), {"room_0": "gym"})


def test_on_the_command_line(
    crf: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crf.save("model.safetensors")
    Path("scene.json").write_text(json.dumps(spark(scene_of_building(BUILDINGS[2]), labelled=False)))
    Path("known.json").write_text('{"R(0)": "kitchen"}')

    def view(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            main(["view", "scene.json", *arguments])
        output = capsys.readouterr()
        return int(end.value.code or 0), output.out + output.err

    code, said = view("--model", "model.safetensors", "--known", "known.json")
    assert code == 0, said
    page = json.loads(Path("scene.html").read_text("utf-8").split('id="content">')[1].split("</script>")[0])
    before, after = page["frames"][0]["states"]
    assert (before["name"], after["name"]) == ("predicted", "kitchen confirmed")
    assert len(before["labels"]) == len(after["labels"]) == len(page["frames"][0]["nodes"])
    assert [node for node, _, _, confirmed, _ in after["labels"] if confirmed] == [0]
    assert view("--known", "known.json") == (
        2,
        "Error: Expected --known with --model, whose labels it changes; got no --model.\n",
    )
    Path("known.json").write_text('{"R(99)": "kitchen"}')
    code, said = view("--model", "model.safetensors", "--known", "known.json", "--out", "no.html")
    assert code == 2 and "known.json: expected nodes by id, or by a name that one node has; got 'R(99)'." in said
    assert not Path("no.html").exists()
