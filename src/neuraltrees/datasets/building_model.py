"""The Markov network of `SyntheticBuildings`: rooms and their objects, and which rooms lie beside each other."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real

import numpy as np
import torch
from torch import Tensor

from neuraltrees.datasets.scene_labels import OBJECT, ROOM, SceneLabels
from neuraltrees.datasets.scene_model import MAX_COUPLING, SceneModel
from neuraltrees.datasets.stanford import ROOM_LABELS
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.inference import Forest

BETWEEN_ROOMS = 2  # the table of two rooms, after those of a room with an object and of two objects

# Rooms that lie beside each other; each pair is listed once.
_BESIDE = """
kitchen: dining_room utility_room living_room; bedroom: bathroom closet home_office
corridor: staircase lobby bedroom; dining_room: living_room lobby; living_room: playroom home_office
garage: utility_room storage_room gym; gym: bathroom storage_room; closet: storage_room playroom; lobby: staircase
"""
_FAMILIAR, _STRANGE = 0.9, -0.3


@dataclass(frozen=True, eq=False)
class BuildingModel(SceneModel):
    r"""A `SceneModel` of every room, and labels of neighbouring rooms that depend on each other:

    .. math:: p(r, o) \propto \prod_k p_k(r_k, o_k) \exp\Bigl(c' \sum_{k \sim l} B(r_k, r_l)\Bigr)

    Shapes: room_affinity :math:`(R, R)`

    Args:
        room_affinity: :math:`B`, symmetric, between -1 and 1.
        room_coupling: :math:`c'`, from 0 (rooms are independent) to 10.

    >>> model = BuildingModel.default()
    >>> kitchen, dining, closet = (ROOM_LABELS.index(name) for name in ("kitchen", "dining_room", "closet"))
    >>> bool(model.room_affinity[kitchen, dining] > model.room_affinity[kitchen, closet])
    True
    """

    room_affinity: Tensor
    room_coupling: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.room_coupling, Real) or not 0 <= self.room_coupling <= MAX_COUPLING:
            raise InputError(f"Expected a room_coupling between 0 and {MAX_COUPLING:g}; got {self.room_coupling!r}.")
        affinity = self.room_affinity
        if not (affinity.equal(affinity.mT) and bool((affinity.abs() <= 1).all())):
            raise InputError(
                "Expected a symmetric room_affinity between -1 and 1; got one that is not. Use (B + B.mT) / 2, clamped."
            )

    @classmethod
    def default(cls, coupling: float = 1.0, room_coupling: float = 1.0) -> BuildingModel:
        """The labels of `SceneModel.default`; its tables are fixed."""
        beside = torch.full((len(ROOM_LABELS), len(ROOM_LABELS)), _STRANGE, dtype=torch.float64)
        for row in _BESIDE.strip().replace("\n", ";").split(";"):
            name, others = row.split(":")
            a = ROOM_LABELS.index(name.strip())
            for other in others.split():
                b = ROOM_LABELS.index(other)
                beside[a, b] = beside[b, a] = _FAMILIAR
        scene = SceneModel.default(coupling)
        given = {field.name: getattr(scene, field.name) for field in fields(SceneModel)}
        return cls(**given, room_affinity=beside, room_coupling=room_coupling)


@dataclass(frozen=True, eq=False)
class BuildingLabels(SceneLabels):
    """The labels of the nodes of many buildings, as the variables of a `Forest`.

    Objects are summed out from the last to the first of a building, then its rooms: no separator of a building whose
    rooms form a partial 2-tree in this order, and the objects of every room too, has more than two objects and a room,
    or two rooms.
    """

    @classmethod
    def of(cls, model: SceneModel, edge_index: Tensor, node_type: Tensor, owner: Tensor) -> BuildingLabels:
        """
        Args:
            model: a `BuildingModel`.
            edge_index: the edges of all buildings, whose nodes follow one another, in each the rooms first.
            node_type: 0 for rooms, 1 for objects.
            owner: the building of every node.

        Shapes: edge_index :math:`(2, m)`, node_type and owner :math:`(n)`
        """
        graph = Graph(edge_index, num_nodes=len(node_type))
        classes = torch.tensor(model.log_object.shape)
        first, second = (node_type[torch.from_numpy(end)] for end in graph._upper_edges())
        forest = Forest.of(
            graph,
            classes[node_type],
            owner=owner,
            relation=torch.where(second == ROOM, BETWEEN_ROOMS, torch.where(first == ROOM, ROOM, OBJECT)),
            order=np.arange(graph.num_nodes)[::-1],
        )
        return cls(model, forest, node_type)

    def potentials(self, log_likelihood: Tensor) -> tuple[Tensor, Tensor]:
        """The potentials of the variables, and the tables of a room with an object, two objects, and two rooms.

        Shapes: :math:`(n, K)` → :math:`(n, K)` and :math:`(3, K, K)`
        """
        assert isinstance(self.model, BuildingModel)
        unary, pairwise = super().potentials(log_likelihood)
        rooms = len(self.model.log_room)
        between = pairwise.new_zeros(1, *pairwise.shape[1:])
        between[0, :rooms, :rooms] = self.model.room_coupling * self.model.room_affinity
        return unary, torch.cat([pairwise, between])
