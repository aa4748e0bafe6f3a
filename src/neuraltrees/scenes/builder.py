"""A scene from the nodes and edges of a file, which may be malformed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraltrees.scenes.report import Findings
from neuraltrees.scenes.scene import ADJACENT, IN, Float64, NodeId, Scene


class SceneBuilder:
    """Collects the nodes and edges of a file; counts those that are left out and values that are unknown."""

    def __init__(self) -> None:
        self.findings = Findings()
        self._number: dict[NodeId, int] = {}
        self._kinds: dict[str, int] = {}
        self._relations: dict[str, int] = {}
        self._node_type: list[int] = []
        self._names: list[str | None] = []
        self._labels: list[int] = []
        self._positions: list[Sequence[float]] = []
        self._sizes: list[Sequence[float]] = []
        self._centres: list[Sequence[float]] = []
        self._embeddings: dict[int, npt.NDArray[np.float32]] = {}
        self._attributes: list[Mapping[str, Any]] = []
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
        number = len(self._node_type)
        if self._number.setdefault(node_id, number) != number:
            self.findings.drop("duplicate ids", node_id)
            return
        self._node_type.append(self._kinds.setdefault(node_type, len(self._kinds)))
        self._names.append(name)
        self._labels.append(label)
        self._positions.append(position)
        self._sizes.append(size)
        self._centres.append(centre)
        self._attributes.append(attributes)
        if embedding is not None:
            self._embeddings[number] = embedding

    def has_node(self, node_id: NodeId) -> bool:
        return node_id in self._number

    def has_any(self) -> bool:
        return bool(self._number)

    def add_edge(self, source: NodeId, target: NodeId, relation: str) -> None:
        """Adds an edge unless an end is missing or the edge has been added before."""
        if source not in self._number or target not in self._number:
            self.findings.drop("dangling edges", f"{source} - {target}")
            return
        a, b = self._number[source], self._number[target]
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
        def rows(values: list[Sequence[float]]) -> Float64:
            return np.array(values, dtype=np.float64).reshape(-1, 3)

        edges = np.array(list(self._edges), dtype=np.int64).reshape(-1, 3)
        return Scene(
            tuple(self._number),
            tuple(self._kinds),
            np.array(self._node_type, dtype=np.int64),
            tuple(self._names),
            np.array(self._labels, dtype=np.int64),
            rows(self._positions),
            rows(self._sizes),
            rows(self._centres),
            self._embeddings,
            tuple(self._attributes),
            edges[:, :2],
            tuple(self._relations),
            edges[:, 2],
            metadata or {},
            self.findings.report(format, version),
        )
