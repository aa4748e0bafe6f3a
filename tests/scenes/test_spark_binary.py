"""Scenes in the binary form of Spark-DSG by the native reader: as the package spark-dsg reads and writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.scenes import NodeLabel
from neuraltrees.scenes.shares import Shares
from neuraltrees.scenes.spark import scene_of_spark
from neuraltrees.scenes.spark_columns import SparkMessage, message_of_binary, read_binary_columns
from neuraltrees.serving.server.label_texts import labelled_binary
from neuraltrees.serving.server.spark_binary import BinaryGraph
from tests.scenes.test_spark_columns import check_same

spark: Any = pytest.importorskip("spark_dsg")
LAYERS = {"O": "OBJECTS", "p": "PLACES", "R": "ROOMS", "B": "BUILDINGS"}
KINDS = {"O": "Object", "p": "Place", "R": "Room", "B": "Semantic", "a": "Agent"}


def fast(message: bytes) -> SparkMessage | None:
    columns = read_binary_columns(message)
    return None if columns is None else message_of_binary(message, columns)


def filled(letter: str, random: np.random.Generator) -> Any:
    """The attributes of a node, with numbers in every field that has a length."""
    found = getattr(spark, f"{KINDS[letter]}NodeAttributes")()
    found.position = random.normal(size=3)
    if letter == "a":
        found.world_R_body = spark.Quaterniond(1, 0, 0, 0) if hasattr(spark, "Quaterniond") else found.world_R_body
        return found
    found.name = random.choice(["", "cup", "Küche"])
    found.semantic_label = int(random.choice([0, 7, 2**32 - 1]))
    if random.random() < 0.7:
        size, centre = random.uniform(0, 2, 3), random.normal(size=3)
        found.bounding_box = spark.BoundingBox(size, centre)
    if random.random() < 0.3:
        found.semantic_feature = random.normal(size=(3, 1)).astype(np.float32)
    if letter == "p":
        found.distance = random.uniform()
        found.pcl_mesh_connections = [1, 2, 3]
        found.mesh_vertex_labels = [1, 2]
        found.deformation_connections = [4]
    if letter == "O":
        found.mesh_connections = [1, 2]
    if letter == "R":
        found.semantic_class_probabilities = {"hall": 0.25, "bath": 0.75}
    return found


def graph_of(seed: int, nodes: int, edges: int) -> Any:
    random = np.random.default_rng(seed)
    graph, ids = spark.DynamicSceneGraph(), []
    for number in random.permutation(nodes).tolist():
        letter = "OOOppRRBa"[random.integers(9)]
        ids.append(spark.NodeSymbol(letter, number).value)
        attributes = filled(letter, random)
        if letter == "a":
            graph.add_node(2, ids[-1], attributes, ord("a"))
        else:
            graph.add_node(LAYERS[letter], ids[-1], attributes)
    for _ in range(edges if nodes > 1 else 0):
        first, second = random.choice(nodes, 2, replace=False)
        graph.insert_edge(ids[first], ids[second])
    return graph


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 20))
def test_reads_and_writes_as_the_package(seed: int, nodes: int, edges: int) -> None:
    message = graph_of(seed, nodes, edges).to_binary(include_mesh=False)
    found, package = fast(message), BinaryGraph.of(message)
    assert found is not None
    check_same(found.scene, scene_of_spark(package.content()))
    random = np.random.default_rng(seed)
    places = {"kitchen": 0, "bath": 1, "Küche": 2}
    labels = {
        each: NodeLabel.trusted(str(name), number, Shares(places, random.dirichlet([1] * 3)))
        for each, name, number in zip(found.scene.ids, random.choice([*places], nodes), [7, None] * nodes, strict=False)
    }
    assert labelled_binary(found, labels) == package.labelled(labels)
    assert labelled_binary(found, {}) == message


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.binary(max_size=3), st.integers(0, 3))
def test_bytes_replaced_anywhere(at: int, new: bytes, cut: int) -> None:
    message = graph_of(3, 8, 9).to_binary(include_mesh=False)
    at %= len(message)
    changed = message[:at] + new + message[at + cut :]
    found = fast(changed)
    if found is not None and found.scene.num_nodes:
        check_same(found.scene, scene_of_spark(BinaryGraph.of(changed).content()))


@pytest.mark.parametrize("size", [(0, 0, 0), (0, 1, 1), (1, 1, 0)])
def test_flat_boxes_are_invalid(size: tuple[float, float, float]) -> None:
    graph = graph_of(3, 8, 9)
    flat = filled("O", np.random.default_rng(0))
    flat.bounding_box = spark.BoundingBox(np.array(size, dtype=float), np.zeros(3))
    graph.add_node("OBJECTS", spark.NodeSymbol("O", 99).value, flat)
    message = graph.to_binary(include_mesh=False)
    found = fast(message)
    assert found is not None
    check_same(found.scene, scene_of_spark(BinaryGraph.of(message).content()))


def test_metadata_are_json() -> None:
    message = graph_of(3, 8, 9).to_binary(include_mesh=False)
    assert message.count(b"{}") > 8
    for text, known in ((b'{"a": [1, -2.5e3, "b", null]}', True), (b"{1}", False), (b'{"a": 1e999}', False)):
        changed = message.replace(b"\xdd\x02\x00\x00\x00{}", b"\xdd" + len(text).to_bytes(4, "little") + text)
        found = fast(changed)
        assert (found is not None) == known
        if found is not None:
            check_same(found.scene, scene_of_spark(BinaryGraph.of(changed).content()))


def test_what_it_does_not_know_is_left_to_the_package() -> None:
    message = graph_of(3, 8, 9).to_binary(include_mesh=False)
    assert all(fast(message[:end]) is None for end in range(len(message)))
    graph = graph_of(3, 8, 9)
    turned = filled("O", np.random.default_rng(0))
    half = np.sqrt(0.5)
    turn = np.array([[half, -half, 0], [half, half, 0], [0, 0, 1]])
    kind = spark.BoundingBoxType.RAABB
    turned.bounding_box = spark.BoundingBox(kind, np.ones(3), np.zeros(3), turn)
    graph.add_node("OBJECTS", spark.NodeSymbol("O", 99).value, turned)
    assert fast(graph.to_binary(include_mesh=False)) is None
