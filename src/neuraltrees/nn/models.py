"""The neural tree, and the same network on the graph itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Literal, TypeAlias, cast

import torch.nn.functional as F
from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.convolution import Convolution, Edges
from neuraltrees.nn.foreign import Foreign
from neuraltrees.nn.gat import GAT
from neuraltrees.nn.gcn import GCN
from neuraltrees.nn.gin import GIN
from neuraltrees.nn.leaves import lift_to_leaves, pool_leaves
from neuraltrees.nn.readout import Readout
from neuraltrees.nn.sage import SAGE

ConvName: TypeAlias = Literal["gcn", "sage", "gat", "gin"]
CONVS: dict[str, type[Convolution]] = {"gcn": GCN, "sage": SAGE, "gat": GAT, "gin": GIN}


class Rounds(nn.Module):
    """T rounds of AGG with activation and dropout between them, then a readout per node type or none.

    Args:
        in_channels: number of features of a graph node.
        hidden_channels: size of the states between rounds; of one head for GAT.
        out_channels: number of classes, or the number for each node type.
        num_layers: number of rounds T; by default 4 for `NeuralTree` and 3 for `GNN`, as tuned in the paper.
        conv: "gcn", "sage", "gat" or "gin", or a PyG convolution class.
        dropout: share of the states dropped in training.
        readout: a linear layer per node type after the last round; if false, the last round maps to the classes itself.
        heads: heads of GAT, concatenated in all rounds but the last, which averages them.
        runs: train this many independent networks at once; states then have the shape (N, R, F).
    """

    default_layers: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int | Mapping[str, int],
        num_layers: int | None = None,
        conv: ConvName | Callable[[int, int], nn.Module] = "sage",
        dropout: float = 0.25,
        *,
        readout: bool = True,
        heads: int = 6,
        runs: int | None = None,
    ) -> None:
        super().__init__()
        num_layers = self.default_layers if num_layers is None else num_layers
        if num_layers < 1:
            raise InputError(f"Expected num_layers of at least 1; got {num_layers}.")
        if not readout and isinstance(out_channels, Mapping):
            raise InputError("Expected a number of classes without a readout; got one for each node type.")
        if isinstance(conv, str) and conv not in CONVS:
            raise InputError(f"Expected conv out of {', '.join(CONVS)} or a PyG convolution class; got {conv!r}.")
        if not isinstance(conv, str) and runs is not None:
            raise InputError(
                "Expected a convolution by name for several runs at once; got a PyG class. Leave runs out."
            )
        last = hidden_channels if isinstance(out_channels, Mapping) or readout else out_channels
        repeat = heads if conv == "gat" else 1
        sizes = [in_channels] + [hidden_channels * repeat] * (num_layers - 1)
        outs = [hidden_channels] * (num_layers - 1) + [last]
        self.activation = F.elu if conv == "gat" else F.relu
        self.dropout, self.runs = dropout, runs
        self.convs = nn.ModuleList()
        for i, (size, out) in enumerate(zip(sizes, outs, strict=True)):
            if not isinstance(conv, str):
                self.convs.append(Foreign(conv, size, out))
            elif conv == "gat":
                self.convs.append(GAT(size, out, runs, heads, concat=i < num_layers - 1, dropout=dropout))
            else:
                self.convs.append(CONVS[conv](size, out, runs))
        # Features of a run are features of the norm: every run has its own statistics.
        normed = hidden_channels * (runs or 1)
        norms = num_layers - 1 if conv == "gin" else 0
        self.norms = nn.ModuleList(nn.BatchNorm1d(normed) for _ in range(norms))
        self.readout = Readout(hidden_channels, out_channels, runs) if readout else None

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        for module in [*self.convs, *self.norms, *([self.readout] if self.readout else [])]:
            cast(Convolution, module).reset_parameters()

    def transform(self, x: Tensor) -> Tensor:
        """The linear step of the first round."""
        return cast(Convolution, self.convs[0]).transform(x)

    def aggregate(self, z: Tensor, edges: Edges) -> Tensor:
        """All rounds, from the states after the first linear step to those after the last round."""
        h = cast(Convolution, self.convs[0]).propagate(z, edges)
        for i, conv in enumerate(list(self.convs)[1:]):
            if self.norms:
                h = self.norms[i](h.flatten(1)).view_as(h)
            h = conv(self._activate(h), edges)
        return h

    def read(self, h: Tensor, node_type: Tensor | None) -> Tensor:
        """Logits from the states of graph nodes."""
        return h if self.readout is None else self.readout(self._activate(h), node_type)

    def _activate(self, h: Tensor) -> Tensor:
        return F.dropout(self.activation(h), self.dropout, self.training)


class NeuralTree(Rounds):
    """Message passing on the H-tree of a graph.

    States start at the features on leaves and at zero on bags; after T rounds the mean over the leaves of a graph node
    is its state.

    >>> import torch, neuraltrees as nt
    >>> tree = nt.build_htree(nt.Graph([[0, 1, 2], [1, 2, 0]]))
    >>> model = NeuralTree(in_channels=6, hidden_channels=8, out_channels=4, num_layers=2)
    >>> model(torch.randn(3, 6), tree.edge_index, tree.kappa).shape
    torch.Size([3, 4])
    """

    default_layers = 4

    def forward(self, x: Tensor, edge_index: Tensor, kappa: Tensor, node_type: Tensor | None = None) -> Tensor:
        """Logits of every graph node.

        Args:
            x: features of the graph nodes, dense or sparse; they are never copied per leaf.
            edge_index: both directions of the H-tree's edges.
            kappa: graph node of every leaf, -1 for bags.
            node_type: type of every graph node, if there is a readout for each.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, edge_index :math:`(2, E)`, kappa :math:`(N)`,
        node_type :math:`(n)` → :math:`(n, C)` or :math:`(n, R, C)`
        """
        z = lift_to_leaves(self.transform(x), kappa)
        h = self.aggregate(z, Edges(edge_index, kappa.shape[0]))
        return self.read(pool_leaves(h, kappa, x.shape[0]), node_type)


class GNN(Rounds):
    """The baseline: the same network with messages on the graph itself.

    >>> import torch
    >>> model = GNN(in_channels=6, hidden_channels=8, out_channels=4, num_layers=2, conv="gcn")
    >>> model(torch.randn(3, 6), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([3, 4])
    """

    default_layers = 3

    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor | None = None) -> Tensor:
        """Logits of every node.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, edge_index :math:`(2, E)`, node_type :math:`(n)`
        → :math:`(n, C)` or :math:`(n, R, C)`
        """
        h = self.aggregate(self.transform(x), Edges(edge_index, x.shape[0]))
        return self.read(h, node_type)
