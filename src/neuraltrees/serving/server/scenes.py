"""Labels of the nodes of scenes, which come as Spark-DSG in JSON or binary, or as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.scenes import NodeLabel, Scene
from neuraltrees.scenes.plain import is_plain, scene_of_plain
from neuraltrees.scenes.scene import NodeId
from neuraltrees.scenes.shares import Shares
from neuraltrees.scenes.spark import scene_of_spark
from neuraltrees.serving.server.fast_json import read_json, write_json
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
    """A scene, the labels of its nodes that are known, and its Spark-DSG, parsed; None for plain JSON."""

    scene: Scene
    known: Known
    source: dict[str, Any] | BinaryGraph | None


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
        graph = BinaryGraph.of(body)
        self._check_nodes(graph.num_nodes)
        return SceneQuestion(scene_of_spark(graph.content()), {}, graph)

    def _json(self, body: bytes) -> SceneQuestion:
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
            return Reply(_as_json(question.scene, answer, wants.top))
        if isinstance(question.source, BinaryGraph):
            return Reply(question.source.labelled(answer), "application/octet-stream")
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


def _as_json(scene: Scene, labels: Labels, top: int) -> bytes:
    kinds, number, types = scene.node_type.tolist(), scene.number, scene.types
    nodes = []
    for (node_id, label), best in zip(labels.items(), _most_probable(labels, top), strict=True):
        entry: dict[str, Any] = {"id": node_id, "type": types[kinds[number[node_id]]], "label": label.name}
        if label.label is not None:
            entry["number"] = label.label
        if label.probabilities is not None:
            first = best[0] if best else {}
            known = first.get("label") == label.name
            entry["probability"] = first["probability"] if known else round(label.probabilities[label.name], 6)
            entry["top"] = best
        nodes.append(entry)
    return write_json({"nodes": nodes, "report": str(scene.report)})


def _most_probable(labels: Labels, top: int) -> list[list[dict[str, Any]]]:
    """The most probable labels of every node, the most probable first."""
    found: list[list[dict[str, Any]]] = [[] for _ in labels]
    alike: dict[tuple[str, ...], list[int]] = {}
    shares = [_shares(label) for label in labels.values()]
    known: dict[int, tuple[str, ...]] = {}  # nodes of a type share one mapping of names to places
    for place, each in enumerate(shares):
        names = known.get(id(each.places)) or known.setdefault(id(each.places), tuple(each))
        alike.setdefault(names, []).append(place)
    for names, places in alike.items():
        rows = np.array([shares[place].row for place in places]).reshape(len(places), len(names))
        order = np.argsort(-rows, axis=1, kind="stable")[:, :top]
        best = np.take_along_axis(rows, order, 1).round(6)
        for place, which, values in zip(places, order.tolist(), best.tolist(), strict=True):
            pairs = zip(which, values, strict=True)
            found[place] = [{"label": names[i], "probability": value} for i, value in pairs]
    return found


def _shares(label: NodeLabel) -> Shares:
    given = label.probabilities or {}
    if isinstance(given, Shares):
        return given
    return Shares({name: place for place, name in enumerate(given)}, np.array([*given.values()], dtype=float))
