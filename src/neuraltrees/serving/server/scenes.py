"""Labels of the nodes of scenes, which come as Spark-DSG in JSON or binary, or as plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.scenes import NodeLabel, Scene
from neuraltrees.scenes.plain import is_plain, scene_of_plain
from neuraltrees.scenes.scene import NodeId
from neuraltrees.scenes.spark import scene_of_spark
from neuraltrees.scenes.spark_columns import (
    Columns,
    SparkMessage,
    message_of_binary,
    message_of_json,
    read_binary_columns,
    read_json_columns,
)
from neuraltrees.serving.server.fast_json import read_json, write_json
from neuraltrees.serving.server.label_texts import labelled_binary, labelled_json, labels_as_json
from neuraltrees.serving.server.limits import Limits, too_large
from neuraltrees.serving.server.service import Reply, Wants
from neuraltrees.serving.server.spark_binary import BinaryGraph

Known: TypeAlias = Mapping[NodeId, str]
Labels: TypeAlias = Mapping[NodeId, NodeLabel]


class Labeller(Protocol):
    """The part of `SceneLabeller` that the service uses."""

    def label(self, scenes: Sequence[Scene], known: Sequence[Known] | None = None) -> Sequence[Labels]: ...


@dataclass(frozen=True, eq=False)
class SceneQuestion:
    """A scene, the labels of its nodes that are known, and its Spark-DSG, read; None for plain JSON."""

    scene: Scene
    known: Known
    source: SparkMessage | dict[str, Any] | BinaryGraph | None


class SceneService:
    """Labels the nodes of scenes.

    A request is a scene: Spark-DSG JSON, the binary form of Spark-DSG (with the package spark-dsg), or plain JSON; or
    {"scene": scene in JSON, "known": {"id of a node": "label", …}}.

    Args:
        labeller: what labels scenes.
        limits: how many nodes a scene may have.
        model: the name of the model.
    """

    what = "scenes"

    def __init__(self, labeller: Labeller, limits: Limits, model: str) -> None:
        self.labeller, self.limits, self.model = labeller, limits, model

    def read(self, body: bytes, wants: Wants) -> SceneQuestion:
        question = self._binary(body) if _is_binary(body) else self._json(body)
        if wants.output == "scene" and question.source is None:
            raise InputError(
                "Expected a scene in the form of Spark-DSG for output=scene; got plain JSON. Leave output out."
            )
        return question

    def _binary(self, body: bytes) -> SceneQuestion:
        question = self._fast(body, read_binary_columns, message_of_binary)
        if question is not None:
            return question
        graph = BinaryGraph.of(body)
        self._check_nodes(graph.num_nodes)
        return SceneQuestion(scene_of_spark(graph.content()), {}, graph)

    def _fast(
        self,
        body: bytes,
        read: Callable[[bytes], Columns | None],
        message_of: Callable[[bytes, Columns], SparkMessage | None],
    ) -> SceneQuestion | None:
        """The question of a well-formed scene in Spark-DSG; None for anything else."""
        columns = read(body)
        if columns is None:
            return None
        self._check_nodes(len(columns["id"]))
        message = message_of(body, columns)
        return None if message is None else SceneQuestion(message.scene, {}, message)

    def _json(self, body: bytes) -> SceneQuestion:
        question = self._fast(body, read_json_columns, message_of_json)
        if question is not None:
            return question
        content, known = read_json(body), dict[str, Any]()
        if type(content) is dict and "scene" in content and "nodes" not in content:
            _check_keys(content)
            content, known = content["scene"], content.get("known") or {}
        nodes = content.get("nodes") if type(content) is dict else None
        self._check_nodes(len(nodes) if type(nodes) is list else 0)
        if is_plain(content):
            scene, source = scene_of_plain(content), None
        else:
            scene, source = scene_of_spark(content), content
        return SceneQuestion(scene, _known(known, scene), source)

    def _check_nodes(self, count: int) -> None:
        if count > self.limits.nodes:
            raise too_large("nodes", self.limits.nodes, f"{count:,}", "a larger --max-nodes")

    def answer(self, questions: Sequence[SceneQuestion]) -> Sequence[Labels]:
        answers: list[Labels] = [{} for _ in questions]
        for given in (False, True):
            which = [i for i, each in enumerate(questions) if bool(each.known) is given]
            if which:
                scenes, known = [questions[i].scene for i in which], [questions[i].known for i in which]
                found = self.labeller.label(scenes, known) if given else self.labeller.label(scenes)
                for i, labels in zip(which, found, strict=True):
                    answers[i] = labels
        return answers

    def write(self, question: SceneQuestion, answer: Labels, wants: Wants) -> Reply:
        if wants.output == "labels" or question.source is None:
            return Reply(labels_as_json(question.scene, answer, wants.top))
        if isinstance(question.source, BinaryGraph):
            return Reply(question.source.labelled(answer), "application/octet-stream")
        if isinstance(question.source, SparkMessage):
            if question.source.binary:
                return Reply(labelled_binary(question.source, answer), "application/octet-stream")
            return Reply(labelled_json(question.source, answer))
        return Reply(_labelled(question.source, answer))


def _is_binary(body: bytes) -> bool:
    """JSON starts with a byte of at most 127, or with a byte order mark; the binary form of Spark-DSG does not."""
    return body[:1] > b"\x7f" and not body.startswith(b"\xef\xbb\xbf")


def _check_keys(content: dict[str, Any]) -> None:
    """Raises `InputError` for a key that would be ignored, such as a mistyped `known`."""
    other = next((key for key in content if key not in ("scene", "known")), None)
    if other is not None:
        raise InputError(f"Expected scene and known in a request; got {other!r:.60}.{did_you_mean(other, ['known'])}")


def _known(given: Any, scene: Scene) -> Known:
    if type(given) is not dict or not all(type(label) is str for label in given.values()):
        raise InputError('Expected known as an object {"id of a node": "label"}; got something else.')
    by_text = {str(each): each for each in scene.ids} if given else {}
    by_text |= {each: each for each in scene.ids if isinstance(each, str)} if given else {}  # "7" before 7
    for name in given:
        if name not in by_text:
            raise InputError(f"Expected ids of nodes of the scene under known; got {name!r:.60}.")
    return {by_text[name]: label for name, label in given.items()}


def _labelled(content: dict[str, Any], labels: Labels) -> bytes:
    """Spark-DSG JSON with these labels and all its other values as they were."""
    left = dict(labels)
    for node in content["nodes"]:
        label = left.pop(node["id"], None) if type(node) is dict and type(node.get("id")) is int else None
        if label is not None:
            if type(node.get("attributes")) is not dict:
                node["attributes"] = {}
            node["attributes"].update(label.values)
    return write_json(content)
