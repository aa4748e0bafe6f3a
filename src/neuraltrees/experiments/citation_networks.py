"""GCN, APPNP and MLP on citation networks, with sparse features: what `structured-citations` starts from."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.data.splits import Split
from neuraltrees.graph import Graph

ROUNDS = 10  # rounds of APPNP
EVERY = 2  # epochs between two validations


@dataclass(frozen=True)
class Recipe:
    """Hyper-parameters of a network of two layers.

    Args:
        restart: the share of its own answer that a node keeps in every round of APPNP; None for a GCN, 1 for an MLP,
            which reads no neighbours.
        hidden, dropout, lr, weight_decay: as usual; APPNP's second layer has no weight decay.
    """

    restart: float | None
    hidden: int = 64
    dropout: float = 0.5
    lr: float = 0.02
    weight_decay: float = 5e-4

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse matrix with its transpose, whose values are those of the matrix in another order."""

    matrix: Tensor
    transposed: Tensor
    order: Tensor

    @classmethod
    def of(cls, row: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int]) -> Sparse:
        first = torch.argsort(row * shape[1] + column)
        row, column, value = row[first], column[first], value[first]
        order = torch.argsort(column * shape[0] + row)
        return cls(_rows(row, column, value, shape), _rows(column[order], row[order], value[order], shape[::-1]), order)

    def dropped(self, share: float) -> Sparse:
        """The matrix with a random share of its values set to zero, and the others raised."""
        value = nn.functional.dropout(self.matrix.values(), share)
        return Sparse(_like(self.matrix, value), _like(self.transposed, value[self.order]), self.order)

    def __matmul__(self, dense: Tensor) -> Tensor:
        given = (self.matrix, self.transposed, dense)
        found: Tensor = _Product.apply(*given)  # type: ignore[no-untyped-call]  # torch has no types here
        return found


class Citations:
    """A citation network on a device: features, labels, and the normalised adjacency matrix of a GCN, with loops."""

    def __init__(self, data: Data, device: str = "cpu") -> None:
        self.graph = Graph.from_data(data)
        self.num_nodes = self.graph.num_nodes
        self.y = data.y.to(device)
        self.edge_index = torch.as_tensor(self.graph.edge_index).long().to(device)
        x = data.x.to_sparse_coo().coalesce().to(device)
        row, column = x.indices()
        self.x = Sparse.of(row, column, x.values(), (x.shape[0], x.shape[1]))
        loops = torch.arange(self.num_nodes, device=device)
        source, target = torch.cat([self.edge_index, loops.expand(2, -1)], 1)
        scale = torch.bincount(source, minlength=self.num_nodes).float().rsqrt()
        self.adjacency = Sparse.of(source, target, scale[source] * scale[target], (self.num_nodes, self.num_nodes))

    @property
    def num_features(self) -> int:
        return int(self.x.matrix.shape[1])

    @property
    def num_classes(self) -> int:
        return int(self.y.max()) + 1


class CitationNet(nn.Module):
    r"""GCN, :math:`A \,\mathrm{relu}(A X W_1) W_2`, MLP, :math:`\mathrm{relu}(X W_1) W_2`, or APPNP, its PageRank.

    Shapes: → :math:`(n, C)`
    """

    def __init__(self, citations: Citations, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = recipe
        self.first = nn.Parameter(nn.init.xavier_uniform_(torch.empty(citations.num_features, recipe.hidden)))
        self.second = nn.Parameter(nn.init.xavier_uniform_(torch.empty(recipe.hidden, citations.num_classes)))
        self.bias = nn.ParameterList([torch.zeros(recipe.hidden), torch.zeros(citations.num_classes)])

    def forward(self, citations: Citations) -> Tensor:
        recipe, adjacency = self.recipe, citations.adjacency
        x = citations.x.dropped(recipe.dropout) if self.training else citations.x
        h = x @ self.first
        h = h if recipe.restart is not None else adjacency @ h
        h = (h + self.bias[0]).relu()
        h = nn.functional.dropout(h, recipe.dropout, self.training) @ self.second
        if recipe.restart is None:
            return torch.add(adjacency @ h, self.bias[1])
        return propagate(adjacency, torch.add(h, self.bias[1]), recipe.restart)


def propagate(adjacency: Sparse, h: Tensor, restart: float) -> Tensor:
    """Personalised PageRank of the answers of single nodes, as in APPNP."""
    z = h
    for _ in range(0 if restart == 1 else ROUNDS):
        z = (1 - restart) * (adjacency @ z) + restart * h
    return z


def train(
    citations: Citations, split: Split, recipe: Recipe, seed: int, epochs: int, patience: int
) -> tuple[Tensor, int]:
    """Log-probabilities of all nodes at the epoch of the best validation accuracy, and that epoch; loss breaks ties.

    Shapes: → :math:`(n, C)`
    """
    device, y = citations.y.device, citations.y
    torch.manual_seed(seed)
    net = CitationNet(citations, recipe).to(device)
    second = [net.second, net.bias[1]]
    groups = [
        {"params": [net.first, net.bias[0]], "weight_decay": recipe.weight_decay},
        {"params": second, "weight_decay": recipe.weight_decay if recipe.restart is None else 0.0},
    ]
    optimiser = torch.optim.Adam(groups, lr=recipe.lr)
    fit, val = (mask.nonzero().flatten().to(device) for mask in (split.train, split.val))
    best, kept, at = (-1.0, 0.0), torch.empty(0), 0
    for epoch in range(epochs):
        net.train()
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(net(citations)[fit], y[fit])
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
        optimiser.step()
        if epoch % EVERY:
            continue
        net.eval()
        with torch.no_grad():
            found = net(citations).log_softmax(1)
            right = float((found[val].argmax(1) == y[val]).float().mean())
            reached = (right, -float(nn.functional.nll_loss(found[val], y[val])))
        if reached > best:
            best, kept, at = reached, found, epoch
        elif epoch - at >= patience:
            break
    return kept, at


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; the gradient uses the given transpose."""

    @staticmethod
    def forward(context: Any, matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
        context.transposed = transposed
        return matrix @ dense

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        return None, None, context.transposed @ gradients[0].contiguous()


def _rows(row: Tensor, column: Tensor, value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A matrix in compressed rows; entries are in order."""
    start = torch.bincount(row, minlength=shape[0]).cumsum(0)
    start = torch.cat([start.new_zeros(1), start])
    with warnings.catch_warnings():  # "CSR support is in beta state", once per process
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(start, column, value, shape, check_invariants=False)


def _like(matrix: Tensor, value: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), value, matrix.shape, check_invariants=False
    )
