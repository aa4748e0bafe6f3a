"""A CRF on states computed by several processes: they share exact inference, and each answers for its own nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.inference.crf import Planned
from neuraltrees.inference.forest import DividedForest
from neuraltrees.nn.head.crf.lessons import Field, Lesson
from neuraltrees.nn.head.head import Places
from neuraltrees.nn.parallel import Group, Halo, Part
from neuraltrees.nn.parallel.halo import places_of

T = TypeVar("T", Field, Lesson)


@dataclass(frozen=True, eq=False)
class Parted(Generic[T]):
    """A field or a lesson of whole graphs, for a process that has the states of some of their nodes.

    Args:
        whole: the field or the lesson.
        places: types and graphs of the process's own nodes.
        halo: receives the potentials of all other nodes; None if there are none.
        order: the place of each node of the whole among its own nodes and the received ones.
        own: its own nodes.

    Shapes: order :math:`(n)`, own :math:`(n')`
    """

    whole: T
    places: Places
    halo: Halo | None
    order: Tensor
    own: Tensor

    def gathered(self, unary: Tensor) -> Tensor:
        """The potentials of all nodes, given those of this process. Shapes: :math:`(n', *) → (n, *)`"""
        return (unary if self.halo is None else self.halo.extend(unary)).index_select(0, self.order)


@dataclass(frozen=True, eq=False)
class Gathering:
    """The exchange by which a process gets the potentials of all nodes."""

    group: Group
    places: Places
    halo: Halo | None
    order: Tensor
    own: Tensor

    @classmethod
    def of(cls, data: Data, part: Part) -> Gathering:
        """The exchange for the nodes of a part."""
        group, n = part.group, int(data.num_nodes)
        own, owner = part.owned.cpu(), part.owner.cpu().numpy()
        pairs = np.flatnonzero(np.arange(group.size)[:, None] != owner[None])
        reader, node = pairs // n, pairs % n
        sort = np.lexsort((node, reader, owner[node]))
        reader, node = reader[sort], node[sort]
        halo = Halo.of(group, owner[node], reader, node, places_of(own.numpy(), n), "potentials")
        at_hand = np.concatenate([own.numpy(), node[reader == group.rank]])
        order = torch.from_numpy(places_of(at_hand, n))
        return cls(group, Places.of(data).of_rows(own), halo, order, own)

    def parted(self, whole: T) -> Parted[T]:
        """The field or the lesson with inference divided among the processes."""
        if isinstance(whole, Lesson):
            given = None if whole.given is None else self._divided(whole.given)
            shared = replace(whole, field=self._divided(whole.field), given=given)
        else:
            shared = self._divided(whole)
        return Parted(shared, self.places, self.halo, self.order, self.own)

    def _divided(self, field: Field) -> Field:
        if self.group.size == 1:
            return field
        plans = [replace(plan, forest=DividedForest.divide(plan.forest, self.group)) for plan in field.given.plans]
        return replace(field, given=replace(field.given, planned=Planned.of(plans)))
