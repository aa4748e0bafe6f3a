"""Message-passing weights that bring the sum of the root values to every leaf (the paper's aggregation lemma)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

import torch
from torch import Tensor, nn

from neuraltrees.checks import check_at_least
from neuraltrees.errors import InputError
from neuraltrees.htree import HTree
from neuraltrees.nn import ConvOptions, GINConv, Messages
from neuraltrees.nn.schedule.rounds import RELATIONS

ROOT_ROOT, TO_CHILD = 0, 2  # edge types
# Channels of the states: s_t, s_{t-1}, the sum so far, whether the node is below the roots; GATE + k is the gate g_k.
NOW, BEFORE, SUM, BELOW, GATE = range(5)
ONE = BEFORE  # this channel holds the constant 1 after the first round

Weights: TypeAlias = Mapping[tuple[int, int], float]


class RootSum(nn.Module):
    r"""GIN rounds with fixed weights, after which every node of a tree holds the sum of the tree's root values.

    The lemma allows separate weights for every tree node. Here all nodes share their weights, which do not depend on
    the tree: one network serves all trees up to its sizes. Among the roots it computes, for t = 0, 1, 2, …, the sum of
    the values at distance t,

    :math:`s_0 = h,\quad s_1 = A h,\quad s_2 = A s_1 - D s_0,\quad s_{t+1} = A s_t - (D - I) s_{t-1},`

    with the adjacency matrix A and the degree matrix D of the tree of roots. A root at distance t from a neighbour is
    at distance t + 1 or t - 1 from the node itself. Those at t - 1 are counted by all neighbours but one, hence the
    term that is subtracted. Any two roots have one distance, so :math:`\sum_t s_t` is the sum over all roots. At the
    same time every other node copies the sum of its parent.

    The products with D are sums of gated values: :math:`d\,s = \sum_k \mathrm{ReLU}(s - g_k)`, where the gate
    :math:`g_k` is 1 if :math:`d < k` and else 0. This is exact because :math:`0 ≤ s ≤ 1`, the lemma's assumption. A
    degree is a sum of ones over the neighbours, which requires GIN: the mean of ones (GraphSAGE) is one, and GCN
    divides by square roots of degrees.

    Args:
        root_diameter: largest supported diameter of the tree of roots, in edges.
        root_degree: largest supported number of root neighbours of a root.
        depth: deepest supported level.
        scale: root values are at least 0 and sum to at most this, in every tree.

    Shapes: h :math:`(N)` or :math:`(N, B)` → the same. Values of nodes that are not roots are ignored. In a forest,
    each tree has its own sum.

    >>> from neuraltrees.graph import Graph
    >>> from neuraltrees.htree import build_htree
    >>> tree = build_htree(Graph([[0, 1, 2], [1, 2, 3]]))
    >>> tree.num_roots, tree.num_nodes
    (3, 9)
    >>> h = torch.tensor([0.5, 0.25, 0.125, 0, 0, 0, 0, 0, 0], dtype=torch.float64)
    >>> network = RootSum.for_tree(tree)
    >>> network
    RootSum(rounds=4, width=9, root_diameter=2, root_degree=2, depth=1, scale=1.0)
    >>> network(h, tree).unique().tolist()
    [0.875]
    """

    def __init__(self, root_diameter: int, root_degree: int, depth: int, scale: float = 1.0) -> None:
        super().__init__()
        self.root_diameter = check_at_least("root_diameter", root_diameter, 0)
        self.root_degree = check_at_least("root_degree", root_degree, 0)
        self.depth = check_at_least("depth", depth, 0)
        if not 0 < scale < float("inf"):
            raise InputError(f"Expected a finite scale above 0; got {scale}.")
        self.scale = float(scale)
        self.width = GATE + 1 + 2 * root_degree
        rounds = max(2, root_diameter + 1) + depth
        with torch.random.fork_rng(devices=[]):  # the random initial weights are overwritten
            self.convs = nn.ModuleList(
                GINConv(1 if i == 0 else self.width, self.width, ConvOptions(relations=RELATIONS))
                for i in range(rounds)
            ).double()
        self._set_weights()
        self.requires_grad_(False)

    @classmethod
    def for_tree(cls, htree: HTree, scale: float = 1.0) -> RootSum:
        """The smallest network that supports a tree."""
        return cls(*tree_sizes(htree), scale)

    @property
    def num_parameters(self) -> int:
        """Number of nonzero weights and biases."""
        return sum(int(parameter.count_nonzero()) for parameter in self.parameters())

    def _set_weights(self) -> None:
        first, second, *later = cast(list[GINConv], list(self.convs))
        degrees = range(1, self.root_degree + 1)
        # The first round keeps the values and adds a channel of ones.
        _fill(first, own={(0, NOW): 1.0}, bias={ONE: 1.0}, out={(NOW, NOW): 1.0, (ONE, ONE): 1.0})
        # The second sums the neighbours' values and counts ones: e_k = ReLU(k - d), g_k = e_k - e_{k-1}.
        near, own, from_parent, at_root, gate = range(5)
        _fill(
            second,
            own={(NOW, own): 1.0, (NOW, at_root): 1.0},
            messages={
                ROOT_ROOT: {(NOW, near): 1.0} | {(ONE, gate + k): -1.0 for k in degrees},
                TO_CHILD: {(ONE, from_parent): 1.0, (ONE, at_root): -self.scale},
            },
            bias={gate + k: float(k) for k in degrees},
            out={(near, NOW): 1.0, (own, BEFORE): 1.0, (at_root, SUM): 1.0, (near, SUM): 1.0, (from_parent, BELOW): 1.0}
            | {(gate + k, GATE + k): 1.0 for k in degrees}
            | {(gate + k - 1, GATE + k): -1.0 for k in degrees if k > 1},
        )
        for t, conv in enumerate(later, start=1):
            self._fill_later(conv, first_gate=1 if t == 1 else 2)

    def _fill_later(self, conv: GINConv, first_gate: int) -> None:
        """s_{t+1} = A s_t - Σ_k ReLU(s_{t-1} - g_k); roots add it to their sum, other nodes copy the parent's sum."""
        near, now, at_root, from_parent, below = range(5)
        degrees, product = range(1, self.root_degree + 1), below + self.root_degree
        _fill(
            conv,
            own={(NOW, now): 1.0, (SUM, at_root): 1.0, (BELOW, at_root): -self.scale, (BELOW, below): 1.0}
            | {(GATE + k, below + k): 1.0 for k in degrees}
            | {(GATE + k, product + k): -self.scale for k in degrees}
            | {(BEFORE, product + k): 1.0 for k in degrees},
            messages={ROOT_ROOT: {(NOW, near): 1.0}, TO_CHILD: {(SUM, from_parent): 1.0}},
            out={(near, NOW): 1.0, (now, BEFORE): 1.0, (below, BELOW): 1.0}
            | {(channel, SUM): 1.0 for channel in (near, at_root, from_parent)}
            | {(below + k, GATE + k): 1.0 for k in degrees}
            | {(product + k, place): -1.0 for k in degrees if k >= first_gate for place in (NOW, SUM)},
        )

    def forward(self, h: Tensor, htree: HTree) -> Tensor:
        self._check(h, htree)
        messages = Messages.of_edges(htree.edge_index, len(h), htree.edge_type, torch.float64)
        root = (htree.parent < 0).view(-1, *[1] * (h.dim() - 1))
        state = torch.where(root, h.double(), 0).unsqueeze(-1)
        for conv in cast(list[GINConv], list(self.convs)):
            state = conv(state, conv.bind(messages)).relu()
        return state[..., SUM].to(h.dtype)

    def _check(self, h: Tensor, htree: HTree) -> None:
        if h.dim() < 1 or len(h) != htree.num_nodes:
            raise InputError(f"Expected a value for each of {htree.num_nodes} tree nodes; got shape {tuple(h.shape)}.")
        sizes = {"root_diameter": self.root_diameter, "root_degree": self.root_degree, "depth": self.depth}
        for (name, most), size in zip(sizes.items(), tree_sizes(htree), strict=True):
            if size > most:
                raise InputError(
                    f"Expected a tree with a {name} of at most {most}; got {size}. Take RootSum.for_tree(htree)."
                )
        values = h.detach()[htree.parent < 0].double()
        sums = values.new_zeros(htree.num_components, *h.shape[1:])
        sums.index_add_(0, htree.component[htree.parent < 0], values)
        if h.numel() and not (float(values.min()) >= 0 and float(sums.max()) <= self.scale * (1 + 1e-9)):
            raise InputError(
                f"Expected root values of at least 0 that sum to at most {self.scale} in every tree; got values from "
                f"{float(values.min())} and sums to {float(sums.max())}. Shift them, or set a larger scale."
            )

    def __repr__(self) -> str:
        return (
            f"RootSum(rounds={len(self.convs)}, width={self.width}, root_diameter={self.root_diameter}, "
            f"root_degree={self.root_degree}, depth={self.depth}, scale={self.scale})"
        )


def tree_sizes(htree: HTree) -> tuple[int, int, int]:
    """The diameter of the tree of roots in edges, the largest number of root neighbours, and the deepest level."""
    around: dict[int, list[int]] = {root: [] for root in torch.nonzero(htree.parent < 0).flatten().tolist()}
    for source, target in htree.edge_index[:, htree.edge_type == ROOT_ROOT].t().tolist():
        around[source].append(target)
    longest, seen = 0, set[int]()
    for root in around:
        if root not in seen:
            end, reached = _farthest(root, around)
            seen |= reached.keys()
            _, from_end = _farthest(end, around)
            longest = max(longest, *from_end.values())
    degree = max((len(others) for others in around.values()), default=0)
    return longest, degree, int(htree.level.max()) if htree.num_nodes else 0


def _farthest(start: int, around: Mapping[int, list[int]]) -> tuple[int, dict[int, int]]:
    distance, order = {start: 0}, [start]
    for node in order:
        for other in around[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                order.append(other)
    return order[-1], distance


def _fill(
    conv: GINConv,
    own: Weights,
    out: Weights,
    messages: Mapping[int, Weights] | None = None,
    bias: Mapping[int, float] | None = None,
) -> None:
    """Sets all parameters of a round: the given weights, by (input channel, output channel), and zero elsewhere."""
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.zero_()
        for layer, weights in (
            (conv.lin1, own),
            (conv.lin2, out),
            *((conv.neighbours[kind], weights) for kind, weights in (messages or {}).items()),
        ):
            for (source, target), weight in weights.items():
                cast(Tensor, layer.weight)[source, target] = weight
        for channel, value in (bias or {}).items():
            cast(Tensor, conv.lin1.bias)[channel] = value
