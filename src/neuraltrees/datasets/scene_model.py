"""The Markov network of `SyntheticScenes`: which labels occur together, and the bounding boxes of each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import torch
from torch import Tensor

from neuraltrees.datasets.stanford import OBJECT_LABELS, ROOM_LABELS
from neuraltrees.errors import InputError

# The posterior multiplies exp(coupling * affinity) over up to 25 edges: beyond 14 the smallest product could underflow.
MAX_COUPLING = 10.0

# Corners: groups of objects that stand together. Every room has three corners, the most typical one first. All rooms
# have equally many, because rooms with more corners would become more probable as the coupling grows.
_CORNERS = """
wash: sink toilet bottle; cook: oven refrigerator microwave; prepare: sink knife bowl; breakfast: toaster apple orange
dine: chair dining_table wine_glass; serve: bottle cup bowl; desk: chair laptop keyboard; read: book cup cell_phone
lounge: couch tv remote; decorate: plant vase clock; sleep: bed teddy_bear cell_phone; dress: tie handbag suitcase
travel: handbag backpack suitcase; ride: bicycle skateboard sports_ball; train: bench sports_ball bottle
play: teddy_bear sports_ball skateboard
"""
# name: prior weight, length, width and height in metres, corners
_ROOMS = """
bathroom: 14 2.6 2.0 2.5 wash decorate read; bedroom: 16 4.2 3.6 2.6 sleep dress decorate
corridor: 10 5.5 1.6 2.6 travel decorate ride; dining_room: 8 4.8 3.8 2.7 dine serve decorate
home_office: 8 3.6 3.0 2.6 desk read decorate; kitchen: 12 4.2 3.2 2.6 cook prepare breakfast
living_room: 11 5.8 4.6 2.8 lounge read decorate; storage_room: 5 2.4 2.0 2.4 travel ride serve
utility_room: 5 2.6 2.2 2.5 wash cook travel; lobby: 5 6.0 4.5 3.2 decorate lounge travel
playroom: 5 4.4 4.0 2.6 play lounge read; staircase: 4 3.4 1.8 4.2 decorate travel ride
closet: 5 1.9 1.5 2.4 dress ride read; gym: 4 6.2 5.0 3.0 train travel decorate; garage: 4 6.0 5.6 2.7 ride cook travel
"""
_CORNER_WEIGHTS = (5.0, 4.0, 3.0)
_RARE_WEIGHT = 0.15  # weight of every object in every room, added to that of the corners
_FAMILIAR, _STRANGE = 0.8, -0.4  # the affinity of two labels that share a corner, and of two that do not

# name: length, width, height, height of the centroid above the floor, spread around the middle of the room, in metres
_OBJECTS = """
bottle: .08 .08 .26 .95 1.2; toilet: .70 .42 .75 .40 .8; sink: .55 .45 .22 .85 1.0; plant: .45 .45 .80 .60 1.7
vase: .18 .18 .32 .95 1.3; chair: .55 .55 .90 .45 .9; bed: 2.0 1.6 .65 .35 .8; tv: 1.0 .15 .62 1.15 1.6
skateboard: .78 .21 .13 .15 1.6; couch: 2.0 .95 .80 .40 1.1; dining_table: 1.7 1.0 .75 .40 .5
handbag: .34 .16 .28 .60 1.4; keyboard: .44 .15 .04 .76 1.2; book: .24 .17 .05 .90 1.4; clock: .28 .08 .28 1.75 1.7
microwave: .50 .38 .30 1.15 1.5; oven: .62 .60 .85 .50 1.5; cup: .10 .09 .11 .90 1.0; bowl: .20 .20 .09 .90 .9
refrigerator: .75 .72 1.75 .88 1.6; cell_phone: .15 .08 .02 .80 1.2; laptop: .36 .26 .20 .80 1.1
bench: 1.3 .42 .48 .25 1.3; sports_ball: .23 .23 .23 .15 1.4; backpack: .35 .25 .48 .35 1.4; tie: .12 .05 .60 1.30 1.2
suitcase: .55 .30 .70 .35 1.4; wine_glass: .08 .08 .20 .95 .7; toaster: .30 .20 .20 1.0 1.5; apple: .08 .08 .08 .92 .8
knife: .25 .04 .03 .90 .9; teddy_bear: .30 .25 .40 .65 1.0; remote: .18 .05 .03 .60 .8; orange: .09 .09 .09 .92 .8
bicycle: 1.65 .55 1.05 .52 1.6
"""

# Standard deviations: of positions in metres, of sizes in their logarithm.
_ROOM_NOISE = (0.30, 0.30, 0.15, 0.35, 0.35, 0.15)
_HEIGHT_NOISE, _SIZE_NOISE = 0.32, 0.43


@dataclass(frozen=True, eq=False)
class BoxModel:
    r"""Bounding boxes given the label: the centroid and the logarithm of the size are independent Gaussians.

    .. math:: p(x \mid y) = \prod_{k<3} N(x_k; \mu_{yk}, \sigma_{yk})
        \prod_{k \ge 3} \tfrac{1}{x_k} N(\log x_k; \mu_{yk}, \sigma_{yk})

    Shapes: mean and std :math:`(C, 6)`

    >>> box = BoxModel(torch.zeros(1, 6), torch.ones(1, 6))
    >>> box.sample(torch.tensor([0]), torch.zeros(1, 6)).tolist()
    [[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]]
    """

    mean: Tensor
    std: Tensor

    def sample(self, y: Tensor, noise: Tensor) -> Tensor:
        """Features of nodes with the given labels, from standard normal noise.

        Shapes: y :math:`(*)`, noise :math:`(*, 6)` → :math:`(*, 6)`
        """
        x = self.mean[y] + self.std[y] * noise
        return torch.cat([x[..., :3], x[..., 3:].exp()], -1)

    def log_likelihood(self, x: Tensor) -> Tensor:
        """Logarithm of :math:`p(x | y)` for every label, up to a term that is the same for all.

        Shapes: x :math:`(*, 6)` → :math:`(*, C)`
        """
        x = x.to(self.mean.dtype)
        z = (torch.cat([x[..., :3], x[..., 3:].log()], -1).unsqueeze(-2) - self.mean) / self.std
        return -(z.square() / 2 + self.std.log()).sum(-1)


@dataclass(frozen=True, eq=False)
class SceneModel:
    r"""A Markov network of the labels of a room and its objects, and their bounding boxes given the labels.

    .. math:: p(r, o) \propto \pi(r) \prod_i \varphi(o_i \mid r) \exp\Bigl(c \sum_{i \sim j} A(o_i, o_j)\Bigr)

    Shapes: log_room :math:`(R)`, log_object :math:`(R, K)`, affinity :math:`(K, K)`

    Args:
        log_room: :math:`\log \pi` of every room label.
        log_object: :math:`\log \varphi` of every object label in every room.
        affinity: :math:`A`, symmetric, between -1 and 1; neighbours tend to have labels of positive affinity.
        coupling: the label coupling :math:`c`, from 0 (objects are independent given the room) to 10.
        room_box, object_box: the distribution of the features of rooms and of objects.

    >>> model = SceneModel.default()
    >>> kitchen, oven, bed = ROOM_LABELS.index("kitchen"), OBJECT_LABELS.index("oven"), OBJECT_LABELS.index("bed")
    >>> bool(model.log_object[kitchen, oven] > model.log_object[kitchen, bed])
    True
    """

    log_room: Tensor
    log_object: Tensor
    affinity: Tensor
    coupling: float
    room_box: BoxModel
    object_box: BoxModel

    def __post_init__(self) -> None:
        if not isinstance(self.coupling, Real) or not 0 <= self.coupling <= MAX_COUPLING:
            raise InputError(f"Expected a coupling between 0 and {MAX_COUPLING:g}; got {self.coupling!r}.")
        if not (self.affinity.equal(self.affinity.mT) and bool((self.affinity.abs() <= 1).all())):
            raise InputError(
                "Expected a symmetric affinity between -1 and 1; got one that is not. Use (A + A.mT) / 2, clamped."
            )

    def sample(self, y: Tensor, node_type: Tensor, noise: Tensor) -> Tensor:
        """Features of rooms (type 0) and objects (type 1) with these labels, from standard normal noise.

        Shapes: y and node_type :math:`(n)`, noise :math:`(n, 6)` → :math:`(n, 6)`
        """
        x = torch.empty_like(noise)
        for kind, box in enumerate((self.room_box, self.object_box)):
            of_kind = node_type == kind
            x[of_kind] = box.sample(y[of_kind], noise[of_kind])
        return x

    def log_likelihood(self, x: Tensor, node_type: Tensor) -> Tensor:
        """Logarithm of :math:`p(x | y)` for every label of a node's type, up to a term that is the same for all.

        Shapes: x :math:`(n, 6)`, node_type :math:`(n)` → :math:`(n, K)`, where rows of rooms end in zeros
        """
        found = self.log_object.new_zeros(len(x), max(self.log_object.shape))
        for kind, box in enumerate((self.room_box, self.object_box)):
            of_kind = (node_type == kind).nonzero()[:, 0]
            found[of_kind, : len(box.mean)] = box.log_likelihood(x[of_kind])
        return found

    @classmethod
    def default(cls, coupling: float = 1.0) -> SceneModel:
        """The 15 room and 35 object labels of the paper with plausible frequencies and sizes; its tables are fixed."""
        corners = {name: [OBJECT_LABELS.index(label) for label in row] for name, row in _rows(_CORNERS).items()}
        objects = _tensor([_rows(_OBJECTS)[label] for label in OBJECT_LABELS])
        rooms = _tensor([_rows(_ROOMS)[label][:4] for label in ROOM_LABELS])
        found = torch.full((len(ROOM_LABELS), len(OBJECT_LABELS)), _RARE_WEIGHT, dtype=torch.float64)
        for room, label in enumerate(ROOM_LABELS):
            for name, weight in zip(_rows(_ROOMS)[label][4:], _CORNER_WEIGHTS, strict=True):
                found[room, corners[name]] += weight
        affinity = torch.full((len(OBJECT_LABELS), len(OBJECT_LABELS)), _STRANGE, dtype=torch.float64)
        for corner in corners.values():
            affinity[torch.meshgrid(*2 * [torch.tensor(corner)], indexing="ij")] = _FAMILIAR
        heights, sizes = objects[:, 3:4], objects[:, :3]
        noise = _tensor([_HEIGHT_NOISE, *3 * [_SIZE_NOISE]]).expand(len(objects), 4)
        return cls(
            log_room=(rooms[:, 0] / rooms[:, 0].sum()).log(),
            log_object=(found / found.sum(1, keepdim=True)).log(),
            affinity=affinity.fill_diagonal_(0),
            coupling=coupling,
            room_box=BoxModel(
                torch.cat([0 * rooms[:, :2], rooms[:, 3:] / 2, rooms[:, 1:].log()], 1),
                _tensor(_ROOM_NOISE).expand(len(rooms), 6),
            ),
            object_box=BoxModel(
                torch.cat([0 * sizes[:, :2], heights, sizes.log()], 1),
                torch.cat([objects[:, 4:].expand(-1, 2), noise], 1),
            ),
        )


def _rows(table: str) -> dict[str, list[str]]:
    rows = (row.split(":") for row in table.strip().replace("\n", ";").split(";"))
    return {name.strip(): row.split() for name, row in rows}


def _tensor(values: Sequence[float | str] | list[list[str]]) -> Tensor:
    return torch.from_numpy(np.array(values, dtype=np.float64))
