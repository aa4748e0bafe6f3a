"""The labels of a scene as arrays, and as a mapping whose values are made when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from neuraltrees.scenes.scene import NodeId
from neuraltrees.scenes.shares import Shares
from neuraltrees.scenes.write import NodeLabel


@dataclass(frozen=True, eq=False)
class KindLabels:
    """The labels of the nodes of one type.

    Args:
        ids: the nodes.
        names: the names of all labels.
        numbers: the numbers of all labels; None for one without a number.
        rows: the probabilities of all labels, for every node.
        best: the place of the most probable label of every node.

    Shapes: rows :math:`(k, C)`, best :math:`(k)`
    """

    ids: Sequence[NodeId]
    names: tuple[str, ...]
    numbers: tuple[int | None, ...]
    rows: npt.NDArray[np.float64]
    best: npt.NDArray[np.int64]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of every name."""
        return {name: place for place, name in enumerate(self.names)}

    def label(self, i: int) -> NodeLabel:
        """The label of a node, by its place."""
        best = int(self.best[i])
        return NodeLabel.trusted(self.names[best], self.numbers[best], Shares(self.places, self.rows[i]))


class SceneLabels(Mapping[NodeId, NodeLabel]):
    """The label of every node by its id.

    Args:
        kinds: the labels of the nodes of every type.

    >>> rooms = KindLabels(["hall"], ("bath", "kitchen"), (4, None), np.array([[0.25, 0.75]]), np.array([1]))
    >>> SceneLabels([rooms])
    {'hall': NodeLabel(name='kitchen', label=None, probabilities={'bath': 0.25, 'kitchen': 0.75})}
    """

    def __init__(self, kinds: Sequence[KindLabels]) -> None:
        self.kinds = tuple(kinds)

    @cached_property
    def _place(self) -> dict[NodeId, tuple[KindLabels, int]]:
        return {node_id: (kind, i) for kind in self.kinds for i, node_id in enumerate(kind.ids)}

    def __getitem__(self, node_id: NodeId) -> NodeLabel:
        kind, i = self._place[node_id]
        return kind.label(i)

    def __iter__(self) -> Iterator[NodeId]:
        return (node_id for kind in self.kinds for node_id in kind.ids)

    def __len__(self) -> int:
        return sum(len(kind.ids) for kind in self.kinds)

    def __repr__(self) -> str:
        return repr(dict(self))
