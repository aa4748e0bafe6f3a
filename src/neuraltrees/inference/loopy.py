"""Loopy belief propagation: approximate marginals by messages along the edges, exact on trees."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.inference.markov import MarkovNetwork


def loopy_marginals(model: MarkovNetwork, iterations: int = 100, damping: float = 0.5) -> list[Tensor]:
    r"""Marginals of every variable after `iterations` rounds of

    :math:`m_{u→v}(x_v) ∝ \sum_{x_u} ψ_{uv}(x_u, x_v)\, ψ_u(x_u) \prod_{w ≠ v} m_{w→u}(x_u)`, all messages at once.

    Args:
        model: a model with potentials on variables and on pairs of variables, none of them zero.
        iterations: number of rounds; on a tree without damping, its diameter suffices.
        damping: weight of the old log-message in a round.

    Shapes: a list of :math:`(*, k_v)`

    >>> chain = MarkovNetwork([2, 2], [(0, 1)], [torch.tensor([[0.1, 0.2], [0.3, 0.4]]).log()])
    >>> [[round(p, 4) for p in each.tolist()] for each in loopy_marginals(chain, 3, damping=0)]
    [[0.3, 0.7], [0.4, 0.6]]
    """
    if not model.cliques:
        return [torch.full((states,), 1 / states, dtype=torch.float64) for states in model.cardinalities]
    if any(len(clique) > 2 for clique in model.cliques):
        raise InputError("Expected potentials on variables and pairs; got a larger clique. Use infer, which is exact.")
    if not all(table.isfinite().all() for table in model.log_potentials):
        raise InputError("Expected potentials above zero; got a zero. Use infer, which is exact.")
    if iterations < 1 or not 0 <= damping < 1:
        raise InputError(f"Expected iterations from 1 and a damping below 1; got {iterations} and {damping}.")
    single, source, target, pair = _padded(model)
    count = len(source)
    reverse = torch.arange(count, device=source.device).roll(count // 2)  # both directions of every edge, in two halves
    messages = single.new_zeros(single.shape[0], count, single.shape[2])
    for _ in range(iterations):
        beliefs = single.index_add(1, target, messages)
        sent = beliefs[:, source] - messages[:, reverse]
        new = torch.logsumexp(sent.unsqueeze(-1) + pair, -2).log_softmax(-1)
        messages = damping * messages + (1 - damping) * new
    shares = single.index_add(1, target, messages).softmax(-1)
    shares = shares.view(*model.batch_shape, *shares.shape[1:])
    return [shares[..., v, :states] for v, states in enumerate(model.cardinalities)]


def _padded(model: MarkovNetwork) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Potentials of variables, the ends of directed edges, and their potentials, padded to equal numbers of states.

    Shapes: :math:`(B, n, k)`, :math:`(2E)` twice, and :math:`(B, 2E, k, k)`
    """
    like, most = model.log_potentials[0], max(model.cardinalities)
    batch = model.batch_shape.numel()
    single = like.new_zeros(batch, model.num_variables, most)
    for v, states in enumerate(model.cardinalities):
        single[:, v, states:] = -torch.inf
    edges: dict[tuple[int, int], Tensor] = {}
    for clique, table in zip(model.cliques, model.log_potentials, strict=True):
        flat = table.reshape(batch, *table.shape[len(model.batch_shape) :])
        if len(clique) == 1:
            single[:, clique[0], : flat.shape[1]] += flat
        elif len(clique) == 2:
            key, flat = (clique, flat) if clique[0] < clique[1] else (clique[::-1], flat.mT)
            whole = like.new_zeros(batch, most, most)
            whole[:, : flat.shape[1], : flat.shape[2]] = flat
            edges[key] = edges[key] + whole if key in edges else whole
    ends = torch.tensor(list(edges), dtype=torch.int64, device=like.device).view(-1, 2)
    forth = torch.stack(list(edges.values()), 1) if edges else like.new_zeros(batch, 0, most, most)
    source, target = torch.cat([ends, ends.flip(1)]).unbind(1)
    return single, source, target, torch.cat([forth, forth.mT], 1)
