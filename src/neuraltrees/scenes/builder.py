"""A scene from the nodes and edges of a file, which may be malformed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuraltrees.scenes.report import Findings
from neuraltrees.scenes.scene import ADJACENT, IN, Float64, NodeId, Scene

# Type, name, label, position, size, centre of the box and attributes of a node.
_Node: TypeAlias = tuple[int, str | None, int, Sequence[float], Sequence[float], Sequence[float], Mapping[str, Any]]


class SceneBuilder:
    """Collects the nodes and edges of a file; counts those that are left out and values that are unknown."""

    def __init__(self) -> None:
        self.findings = Findings()
        self._number: dict[NodeId, int] = {}
        self._kinds: dict[str, int] = {}
        self._relations: dict[str, int] = {}
        self._nodes: list[_Node] = []
        self._embeddings: dict[int, npt.NDArray[np.float32]] = {}
        self._edges: dict[tuple[int, int, int], None] = {}

    def add_node(
        self,
        node_id: NodeId,
        node_type: str,
        name: str | None,
        label: int,
        position: Sequence[float],
        size: Sequence[float],
        centre: Sequence[float],
        embedding: npt.NDArray[np.float32] | None,
        attributes: Mapping[str, Any],
    ) -> None:
        """Adds a node unless another one has its id; unknown numbers are NaN."""
        number = len(self._nodes)
        if self._number.setdefault(node_id, number) != number:
            self.findings.drop("duplicate ids", node_id)
            return
        kind = self._kinds.setdefault(node_type, len(self._kinds))
        self._nodes.append((kind, name, label, position, size, centre, attributes))
        if embedding is not None:
            self._embeddings[number] = embedding

    def has_any(self) -> bool:
        return bool(self._number)

    def add_edge(self, source: NodeId, target: NodeId, relation: str) -> None:
        """Adds an edge unless an end is missing or the edge has been added before."""
        a, b = self._number.get(source), self._number.get(target)
        if a is None or b is None:
            self.findings.drop("dangling edges", f"{source} - {target}")
            return
        if a == b:
            self.findings.drop("self-loops", source)
            return
        kind = self._relations.setdefault(relation, len(self._relations))
        again = (a, b, kind) in self._edges or (relation in (IN, ADJACENT) and (b, a, kind) in self._edges)
        if again:
            self.findings.drop("duplicate edges", f"{source} - {target}")
        else:
            self._edges[a, b, kind] = None

    def scene(self, format: str, version: str = "", metadata: Mapping[str, Any] | None = None) -> Scene:
        def rows(values: Sequence[Sequence[float]]) -> Float64:
            return np.array(values, dtype=np.float64).reshape(-1, 3)

        columns: Sequence[Any] = tuple(zip(*self._nodes, strict=True)) or ((),) * 7
        node_type, names, labels, positions, sizes, centres, attributes = columns
        edges = np.array(list(self._edges), dtype=np.int64).reshape(-1, 3)
        return Scene(
            tuple(self._number),
            tuple(self._kinds),
            np.array(node_type, dtype=np.int64),
            names,
            np.array(labels, dtype=np.int64),
            rows(positions),
            rows(sizes),
            rows(centres),
            self._embeddings,
            attributes,
            edges[:, :2],
            tuple(self._relations),
            edges[:, 2],
            metadata or {},
            self.findings.report(format, version),
        )
