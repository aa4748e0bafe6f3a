"""The rivals of training.py: the same networks, straightforwardly implemented with PyG, and their training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, SAGEConv, global_mean_pool

from neuraltrees.data import HTreeData
from neuraltrees.nn import NeuralTree


def tree_copies(graphs: Sequence[HTreeData], nodes: Tensor) -> list[Data]:
    """For every chosen node a copy of the H-tree of its graph, with a mask of the leaves of this node.

    Args:
        graphs: the graphs with their H-trees.
        nodes: mask of the chosen nodes, over the concatenated nodes of all graphs.

    Shapes: nodes :math:`(n)`
    """
    copies = []
    for graph, chosen in zip(graphs, nodes.split([graph.num_nodes for graph in graphs]), strict=True):
        tree = graph.htree
        is_leaf = tree.kappa >= 0
        x = graph.x.new_zeros(tree.num_nodes, graph.num_features)
        x[is_leaf] = graph.x[tree.kappa[is_leaf]]
        copies += [
            Data(
                x=x,
                edge_index=tree.edge_index,
                leaves=tree.kappa == node,
                kind=graph.node_type[node].view(1),
                y=graph.y[node].view(1),
            )
            for node in chosen.nonzero().flatten().tolist()
        ]
    return copies


class TreeSAGE(nn.Module):
    """Neural tree + GraphSAGE on copies of trees: the rounds, the mean over the leaves of the node, and a readout."""

    def __init__(self, in_channels: int, hidden: int, classes: Sequence[int], layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [in_channels] + [hidden] * layers
        self.convs = nn.ModuleList(SAGEConv(size, hidden) for size in sizes[:-1])
        self.readouts = nn.ModuleList(nn.Linear(hidden, count) for count in classes)
        self.dropout = dropout

    def forward(self, batch: Batch) -> list[Tensor]:
        """The logits of the nodes of every type, in the order of the batch."""
        h = batch.x
        for conv in self.convs[:-1]:
            h = self._thinned(conv(h, batch.edge_index))
        h = self.convs[-1](h, batch.edge_index)
        h = self._thinned(global_mean_pool(h[batch.leaves], batch.batch[batch.leaves], batch.num_graphs))
        return [readout(h[batch.kind == kind]) for kind, readout in enumerate(self.readouts)]

    def _thinned(self, h: Tensor) -> Tensor:
        return F.dropout(h.relu(), self.dropout, self.training)

    def copy_weights(self, network: NeuralTree) -> None:
        """Copies the weights of the library's network, transposed."""
        pairs: list[tuple[nn.Parameter, Tensor]] = []
        for conv, other in zip(self.convs, network.schedule.convs, strict=True):
            pairs += [
                (conv.lin_l.weight, other.neighbours[0].weight.T),
                (conv.lin_l.bias, other.own.bias),
                (conv.lin_r.weight, other.own.weight.T),
            ]
        for readout, other in zip(self.readouts, network.head.layers, strict=True):
            pairs += [(readout.weight, other.weight.T), (readout.bias, other.bias)]
        with torch.no_grad():
            for mine, theirs in pairs:
                mine.copy_(theirs)


class TreeTraining:
    """Trains `TreeSAGE` in batches of 128 labelled nodes from PyG's `DataLoader`."""

    def __init__(
        self,
        network: TreeSAGE,
        train: list[Data],
        val: list[Data],
        lr: float,
        weight_decay: float,
        device: torch.device | str = "cpu",
    ) -> None:
        self.network, self.device = network.to(device), device
        self.train = DataLoader(train, batch_size=128, shuffle=True)
        self.val = DataLoader(val, batch_size=128)
        self.optimiser = torch.optim.Adam(network.parameters(), lr=lr, weight_decay=weight_decay)

    def epoch(self) -> float:
        """All training nodes once, then the accuracy on the validation nodes."""
        self.network.train()
        for batch in self._moved(self.train):
            self.optimiser.zero_grad()
            losses = [
                F.cross_entropy(logits, y, reduction="sum") for logits, y in zip(*self._answers(batch), strict=True)
            ]
            (sum(losses) / batch.num_graphs).backward()
            self.optimiser.step()
        self.network.eval()
        correct = torch.zeros((), device=self.device)
        with torch.no_grad():
            for batch in self._moved(self.val):
                for logits, y in zip(*self._answers(batch), strict=True):
                    correct += (logits.argmax(-1) == y).sum()
        return float(correct) / len(self.val.dataset)

    def _moved(self, loader: DataLoader) -> Iterator[Batch]:
        return (batch.to(self.device) for batch in loader)

    def _answers(self, batch: Batch) -> tuple[list[Tensor], list[Tensor]]:
        logits = self.network(batch)
        return logits, [batch.y[batch.kind == kind] for kind in range(len(logits))]


class GCN(nn.Module):
    """The standard GCN: two `GCNConv` with ReLU and dropout between them."""

    def __init__(self, in_channels: int, hidden: int, out_channels: int, dropout: float, **options: bool) -> None:
        super().__init__()
        self.convs = nn.ModuleList([GCNConv(in_channels, hidden, **options), GCNConv(hidden, out_channels, **options)])
        self.dropout = dropout

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        first, second = self.convs
        return second(F.dropout(first(x, edges).relu(), self.dropout, self.training), edges)


def full_batch_step(
    network: nn.Module, logits: Callable[[], Tensor], y: Tensor, train: Tensor, settings: Mapping[str, float]
) -> Callable[[], None]:
    """A function that does one step of full-batch training: forward, loss on the training nodes, backward, Adam.

    Args:
        network: the network to train.
        logits: returns the logits of all nodes.
        y: labels of all nodes.
        train: indices of the training nodes.
        settings: arguments of Adam.

    Shapes: y :math:`(n)`, train :math:`(m)`
    """
    network.train()
    optimiser = torch.optim.Adam(network.parameters(), **settings)
    labels = y[train]

    def step() -> None:
        optimiser.zero_grad()
        F.cross_entropy(logits()[train], labels).backward()
        optimiser.step()

    return step
