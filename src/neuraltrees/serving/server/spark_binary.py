"""The binary form of Spark-DSG, in which Hydra sends its graphs; the package spark-dsg reads and writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neuraltrees.errors import ParseError
from neuraltrees.extras import require
from neuraltrees.scenes.scene import NodeId
from neuraltrees.scenes.spark import HEADER, NEWEST
from neuraltrees.scenes.write import NodeLabel

_COPIED = ("name", "semantic_label", "distance")


class BinaryGraph:
    """A graph of Spark-DSG that came in its binary form.

    Both ends need the same version of Spark-DSG, since a message does not say which it has.

    Args:
        graph: a `spark_dsg.DynamicSceneGraph`.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    @classmethod
    def of(cls, message: bytes) -> BinaryGraph:
        """The graph of a message; bytes that are no graph raise `ParseError`."""
        library: Any = require("spark_dsg", extra="hydra", what="scenes in the binary form of Spark-DSG")
        try:
            return cls(library.DynamicSceneGraph.from_binary(message))
        except (ValueError, RuntimeError, IndexError, MemoryError) as error:
            raise ParseError(
                f"Expected a scene as JSON or in the binary form of Spark-DSG; got {len(message):,} bytes that are "
                f"neither: {error}. Both ends need the same version of Spark-DSG."
            ) from None

    @property
    def num_nodes(self) -> int:
        return int(self._graph.num_nodes())

    def content(self) -> dict[str, Any]:
        """The graph in the form of parsed Spark-DSG JSON, with all that labels depend on."""
        return {
            HEADER: {"version": dict(zip(("major", "minor", "patch"), NEWEST, strict=True))},
            "layer_names": {
                name: {"layer": key.layer, "partition": key.partition}
                for name, key in self._graph.layer_names.items()
                if hasattr(key, "layer")
            },
            "nodes": [_node(each) for each in self._graph.nodes],
            "edges": [{"source": each.source, "target": each.target} for each in self._graph.edges],
        }

    def labelled(self, labels: Mapping[NodeId, NodeLabel]) -> bytes:
        """The graph in binary with these labels; the binary form has no field for the probabilities of objects."""
        for node_id, label in labels.items():
            attributes = self._graph.get_node(node_id).attributes
            for name, value in label.values.items():
                if hasattr(attributes, name):
                    setattr(attributes, name, value)
        message: bytes = self._graph.to_binary(include_mesh=False)
        return message


def _node(node: Any) -> dict[str, Any]:
    given, key = node.attributes, node.layer
    attributes: dict[str, Any] = {"type": type(given).__name__, "position": given.position.tolist()}
    for name in _COPIED:
        if hasattr(given, name):
            attributes[name] = getattr(given, name)
    if hasattr(given, "bounding_box"):
        attributes["bounding_box"] = _box(given.bounding_box)
    feature = getattr(given, "semantic_feature", None)
    if feature is not None and feature.size:
        attributes["semantic_feature"] = feature.reshape(-1).tolist()
    return {"id": node.id.value, "layer": key.layer, "partition": key.partition, "attributes": attributes}


def _box(box: Any) -> dict[str, Any]:
    """A box as an axis-aligned one; a rotated box as the axis-aligned box that encloses it."""
    if not box.is_valid():
        return {"type": "INVALID"}
    size = np.abs(box.world_R_center) @ box.dimensions if box.has_rotation() else box.dimensions
    return {"type": "AABB", "dimensions": size.tolist(), "world_P_center": box.world_P_center.tolist()}
