"""Answers about scenes: Spark-DSG as JSON or binary, and plain JSON, with the labels of their nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from neuraltrees.errors import InputError, ParseError
from neuraltrees.scenes import NodeLabel, Scene
from neuraltrees.scenes.json_files import parse
from neuraltrees.scenes.plain import is_plain, scene_of_plain
from neuraltrees.scenes.scene import NodeId
from neuraltrees.scenes.spark import scene_of_spark
from neuraltrees.scenes.write import set_labels
from neuraltrees.serving.server.limits import Limits, too_large
from neuraltrees.serving.server.service import Reply, Wants
from neuraltrees.serving.server.spark_binary import BinaryGraph

Known: TypeAlias = Mapping[NodeId, str]
Labels: TypeAlias = Mapping[NodeId, NodeLabel]


class Labeller(Protocol):
    """What labels scenes: `SceneLabeller`."""

    def label(self, scenes: Sequence[Scene], known: Sequence[Known] | None = None) -> Sequence[Labels]: ...


@dataclass(frozen=True, eq=False)
class SceneQuestion:
    """A scene, the labels of its nodes that are known, and the form it came in; None for plain JSON."""

    scene: Scene
    known: Known
    source: str | BinaryGraph | None


class SceneService:
    """Answers about scenes.

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
        graph = BinaryGraph.of(body)
        self._check_nodes(graph.num_nodes)
        return SceneQuestion(scene_of_spark(graph.content()), {}, graph)

    def _json(self, body: bytes) -> SceneQuestion:
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise ParseError(f"Expected text in UTF-8; got another byte at place {error.start}.") from None
        content, known = parse(text, "the request"), {}
        if type(content) is dict and "scene" in content and "nodes" not in content:
            content, known, text = content["scene"], content.get("known") or {}, ""
        nodes = content.get("nodes") if type(content) is dict else None
        self._check_nodes(len(nodes) if type(nodes) is list else 0)
        if is_plain(content):
            scene, source = scene_of_plain(content), None
        else:
            scene, source = scene_of_spark(content), text or json.dumps(content)
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
            return Reply(_as_json(question.scene, answer, wants.top))
        if isinstance(question.source, BinaryGraph):
            return Reply(question.source.labelled(answer), "application/octet-stream")
        return Reply(set_labels(question.source, answer).encode())


def _is_binary(body: bytes) -> bool:
    """No JSON starts with a byte above 127 but a byte order mark; the binary form of Spark-DSG does."""
    return body[:1] > b"\x7f" and not body.startswith(b"\xef\xbb\xbf")


def _known(given: Any, scene: Scene) -> Known:
    if type(given) is not dict or not all(type(label) is str for label in given.values()):
        raise InputError('Expected known as an object {"id of a node": "label"}; got something else.')
    by_text = {str(each): each for each in scene.ids} if given else {}
    for name in given:
        if name not in by_text:
            raise InputError(f"Expected ids of nodes of the scene under known; got {name!r:.60}.")
    return {by_text[name]: label for name, label in given.items()}


def _as_json(scene: Scene, labels: Labels, top: int) -> bytes:
    nodes = []
    for node_id, label in labels.items():
        entry: dict[str, Any] = {"id": node_id, "type": scene.types[scene.node_type[scene.number[node_id]]]}
        entry["label"] = label.name
        if label.label is not None:
            entry["number"] = label.label
        if label.probabilities is not None:
            best = sorted(label.probabilities.items(), key=lambda each: -each[1])[:top]
            entry["probability"] = round(float(label.probabilities[label.name]), 6)
            entry["top"] = [{"label": name, "probability": round(float(share), 6)} for name, share in best]
        nodes.append(entry)
    return json.dumps({"nodes": nodes, "report": str(scene.report)}).encode()
