"""Exact inference in a scene, by eliminating its objects one after another for each room label."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.datasets.scene_model import SceneModel


@dataclass(frozen=True, eq=False)
class Elimination:
    r"""The factors of S scenes of m objects after objects m-1 … 2 are summed out, for each of R room labels.

    The objects of a scene form a 2-tree: its edge 0 is (1, 0), and every later object i is joined to both ends (a, b)
    of an earlier edge, its host, by the edges 2i-3 = (i, a) and 2i-2 = (i, b). Summing out i is a matrix product:

    .. math:: M_i[a, b] = \sum_o w_i[o] F_{ia}[o, a] F_{ib}[o, b], \qquad F_{ab} \leftarrow F_{ab} \cdot M_i

    Shapes: host :math:`(S, m-2)`, weight :math:`(S, m, R, K)`, factor :math:`(2m-3, S, R, K, K)`,
    message :math:`(m-2, S, R, K, K)`, log_room :math:`(S, R)`
    """

    host: Tensor
    weight: Tensor
    factor: Tensor
    message: Tensor
    log_room: Tensor

    @property
    def log_partition(self) -> Tensor:
        """Logarithm of the sum over all labellings. Shapes: :math:`(S)`"""
        return self._log_rooms().logsumexp(1)

    def marginals(self) -> tuple[Tensor, Tensor]:
        """Probability of every label of the room, and of each object. Shapes: :math:`(S, R)`, :math:`(S, m, K)`

        Backward pass from the first edge outwards: object i gets the belief of its host, divided by its own message.
        """
        room = self._log_rooms().softmax(1)
        start = self._start()
        belief = torch.empty_like(self.factor)
        belief[0] = start * (room / start.sum((-2, -1)))[..., None, None]
        marginal = self.weight.new_empty(self.weight[:, :, 0].shape)
        marginal[:, 0], marginal[:, 1] = belief[0].sum((1, 2)), belief[0].sum((1, 3))
        scenes = torch.arange(len(room))
        for i in range(2, self.weight.size(1)):
            first, second = self.factor[2 * i - 3], self.factor[2 * i - 2]
            outside = belief[self.host[:, i - 2], scenes].div_(self.message[i - 2])
            weight = self.weight[:, i, :, :, None]
            torch.matmul(second, outside.mT, out=belief[2 * i - 3]).mul_(first).mul_(weight)
            torch.matmul(first, outside, out=belief[2 * i - 2]).mul_(second).mul_(weight)
            marginal[:, i] = belief[2 * i - 3].sum((1, 3))
        return room, marginal

    def sample(self, uniform: Tensor) -> Tensor:
        """Labels of the room and of each object, sampled jointly, from one uniform number per node.

        Shapes: :math:`(S, 1 + m)` → :math:`(S, 1 + m)`
        """
        room = _sample_index(self._log_rooms().softmax(1), uniform[:, 0])
        scenes, ends = torch.arange(len(room)), edge_ends(self.host)
        start = self._start()[scenes, room]
        labels = [_sample_index(start.sum(1), uniform[:, 1])]
        labels.append(_sample_index(start[scenes, :, labels[0]], uniform[:, 2]))
        for i in range(2, self.weight.size(1)):
            known = torch.stack(labels, 1)
            a, b = known.gather(1, ends[scenes, self.host[:, i - 2]]).unbind(1)
            first = self.factor[2 * i - 3, scenes, room, :, a]
            second = self.factor[2 * i - 2, scenes, room, :, b]
            labels.append(_sample_index(self.weight[scenes, i, room] * first * second, uniform[:, i + 1]))
        return torch.stack([room, *labels], 1)

    def _start(self) -> Tensor:
        return self.factor[0] * self.weight[:, 1, :, :, None] * self.weight[:, 0, :, None, :]

    def _log_rooms(self) -> Tensor:
        return self.log_room + self._start().sum((-2, -1)).log()


def eliminate(model: SceneModel, host: Tensor, kept: Tensor, room: Tensor, objects: Tensor) -> Elimination:
    r"""Sums out the objects of scenes with the same number of objects, in reverse order; see `Elimination`.

    Weights and messages are scaled to a largest entry of one, and the ratios within a message only depend on the
    affinities, so that nothing underflows, however strong the evidence.

    Shapes: host :math:`(S, m-2)`, kept :math:`(S, 2m-3)`, room :math:`(S, R)`, objects :math:`(S, m, K)`

    Args:
        model: tables of R room and K object labels.
        host: the edge to which each object from the third on is joined.
        kept: which edges of the 2-tree have a potential.
        room, objects: log-likelihood of the evidence given each label; -inf rules a label out.

    >>> no_evidence = torch.zeros(1, 15, dtype=torch.float64), torch.zeros(1, 3, 35, dtype=torch.float64)
    >>> free = eliminate(SceneModel.default(), torch.tensor([[0]]), torch.zeros(1, 3, dtype=torch.bool), *no_evidence)
    >>> bool(free.log_partition.abs() < 1e-12)
    True
    """
    count = objects.size(1)
    weight = model.log_object + objects.unsqueeze(2)
    peak = weight.amax(-1, keepdim=True)
    weight = (weight - peak).exp()
    log_room = model.log_room + room + peak.sum((1, 3))
    pair = (model.coupling * model.affinity).exp()
    rooms = (-1, -1, len(model.log_room), -1, -1)
    factor = torch.where(kept.T[:, :, None, None, None], pair, 1.0).expand(rooms).contiguous()
    message = factor.new_empty(count - 2, *factor.shape[1:])
    scenes = torch.arange(len(host))
    for i in reversed(range(2, count)):
        weighted = weight[:, i, :, :, None] * factor[2 * i - 2]
        total = torch.matmul(factor[2 * i - 3].mT, weighted, out=message[i - 2])
        scale = total.amax((-2, -1))
        total /= scale[..., None, None]
        factor[host[:, i - 2], scenes] *= total
        weight[:, i] /= scale[..., None]
        log_room += scale.log()
    return Elimination(host, weight, factor, message, log_room)


def edge_ends(host: Tensor) -> Tensor:
    """The two objects that every edge of the 2-trees joins, the later one first.

    Shapes: host :math:`(S, m-2)` → :math:`(S, 2m-3, 2)`

    >>> edge_ends(torch.tensor([[0, 1]])).tolist()
    [[[1, 0], [2, 1], [2, 0], [3, 2], [3, 1]]]
    """
    scenes = torch.arange(len(host))
    ends = torch.tensor([[[1, 0]]]).repeat(len(host), 1, 1)
    for i, edge in enumerate(host.unbind(1), start=2):
        old = ends[scenes, edge]
        ends = torch.cat([ends, torch.stack([torch.full_like(old, i), old], 2)], 1)
    return ends


def find_hosts(adjacent: Tensor) -> tuple[Tensor, Tensor]:
    """Completes partial 2-trees: each object gets as host an edge that contains all of its earlier neighbours.

    The objects must be in order: removed from the last to the first, none has more than two neighbours left, counting
    those that became neighbours when a common one was removed.

    Shapes: adjacent :math:`(S, m, m)` → host :math:`(S, m-2)`, kept :math:`(S, 2m-3)`

    >>> square = torch.zeros(1, 4, 4, dtype=torch.bool)
    >>> square[0, [0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]] = True
    >>> find_hosts(square)
    (tensor([[0, 2]]), tensor([[ True,  True, False,  True,  True]]))
    """
    count = adjacent.size(1)
    filled = adjacent.clone()
    for i in reversed(range(2, count)):
        earlier = filled[:, i] & (torch.arange(count) < i)
        filled |= earlier[:, :, None] & earlier[:, None, :]
    host = torch.zeros(len(adjacent), 0, dtype=torch.long)
    for i in range(2, count):
        neighbours = filled[:, i, :, None].expand(-1, -1, 2).gather(1, edge_ends(host)).sum(2)
        host = torch.cat([host, neighbours.argmax(1, keepdim=True)], 1)
    scenes = torch.arange(len(adjacent))[:, None]
    return host, adjacent[scenes, *edge_ends(host).unbind(2)]


def _sample_index(weight: Tensor, uniform: Tensor) -> Tensor:
    total = weight.cumsum(1)
    return (total <= uniform[:, None] * total[:, -1:]).sum(1).clamp(max=weight.size(1) - 1)
