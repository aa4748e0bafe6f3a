"""Networks on small graphs, whole and in parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.nn import GNN, BagRounds, NeuralTree, SweepLayer, SweepPlan
from neuraltrees.nn.parallel import Group
from neuraltrees.nn.sweep.parts import CutForest

CLASSES, FEATURES = 3, 5


def data_of(graph: nx.Graph, seed: int = 0, edges: bool = False, method: str = "min_fill") -> nt.HTreeData:
    """A graph with its H-tree, features and labels."""
    draw = torch.Generator().manual_seed(seed)
    index = torch.tensor([*graph.edges], dtype=torch.int64).view(-1, 2).t()
    index = torch.cat([index, index.flip(0)], 1)
    n = graph.number_of_nodes()
    data = Data(
        x=torch.randn(n, FEATURES, generator=draw),
        y=torch.randint(CLASSES, (n,), generator=draw),
        edge_index=index,
        num_nodes=n,
    )
    if edges:
        data.edge_attr = torch.randn(index.shape[1], 2, generator=draw)
    return nt.ToHTree(method=method)(data)


def random_graph(kind: str) -> nx.Graph:
    """A forest, a graph with cycles and single nodes, a star, or very few nodes."""
    match kind:
        case "forest":
            trees = [nx.random_labeled_tree(size, seed=size) for size in (1, 9, 14, 2)]
            return nx.disjoint_union_all(trees)
        case "cycles":
            graph = nx.gnm_random_graph(24, 34, seed=3)
            graph.add_nodes_from(range(24, 27))
            return graph
        case "star":
            return nx.star_graph(12)
        case "two":
            return nx.path_graph(2)
    raise AssertionError(kind)


@dataclass(frozen=True)
class Case:
    """A network on a graph."""

    conv: str
    graph: str = "cycles"
    model: str = "tree"
    layers: int = 3
    dropout: float = 0.0
    runs: int = 2
    edges: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    bags: dict[str, Any] | None = None

    def network(self) -> NeuralTree | GNN:
        torch.manual_seed(1)
        kind = NeuralTree if self.model == "tree" else GNN
        edges = 2 if self.edges else None
        options = self.options if self.bags is None else self.options | {"schedule": BagRounds.having(**self.bags)}
        conv = "sage" if self.bags is not None else self.conv
        network = kind(
            FEATURES, 6, CLASSES, self.layers, conv, self.dropout, heads=2, runs=self.runs, edge_channels=edges,
            **options,
        ).double()  # fmt: skip
        masks = network.set_dropout(torch.arange(self.runs))
        assert masks is not None
        masks.go_to(3)
        return network.train()

    def data(self) -> nt.HTreeData:
        method = "canonical" if self.bags is not None and self.bags.get("codes") else "min_fill"
        data = data_of(random_graph(self.graph), edges=self.edges, method=method)
        data.x = data.x.double()
        return data


def _losses(answers: Tensor, y: Tensor) -> Tensor:
    return -answers.log_softmax(-1).gather(2, y.view(-1, 1, 1).expand(-1, answers.shape[1], 1)).sum()


def _gradients(network: torch.nn.Module) -> Tensor:
    found = [each.grad if each.grad is not None else torch.zeros_like(each) for each in network.parameters()]
    return torch.cat([each.flatten() for each in found])


def _statistics(network: torch.nn.Module) -> Tensor:
    return torch.cat([torch.zeros(0), *(each.flatten() for each in network.buffers())])


def whole(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Loss, answers, gradients and statistics by one process."""
    network, data = case.network(), case.data()
    edges = data.edge_attr.double() if case.edges else None
    answers = network(data.x, network.plan(data), edge_attr=edges)
    loss = _losses(answers, data.y)
    loss.backward()
    return loss.detach(), answers.detach(), _gradients(network), _statistics(network)


def part(group: Group, case: Case) -> dict[str, Any]:
    """The same by one of several processes, and what it sent."""
    network, data = case.network(), case.data()
    plan = network.part_plan(data, group)
    assert plan.part is not None
    edges = data.edge_attr.double()[plan.part.edges] if case.edges else None
    answers = network(data.x[plan.part.nodes], plan, edge_attr=edges)
    loss = _losses(answers, data.y[plan.part.owned])
    loss.backward()
    return {
        "loss": group.total_(loss.detach().clone()),
        "answers": answers.detach(),
        "owned": plan.part.owned,
        "gradients": group.total_(_gradients(network)),
        "statistics": _statistics(network),
        "sent": dict(group.sent),
    }


def random_forest(nodes: int, parts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The parent of every node of some trees, and parts that cut them at every other edge."""
    draw = torch.Generator().manual_seed(nodes)
    back = torch.randint(1, 4, (nodes,), generator=draw)
    parent = torch.where(torch.rand(nodes, generator=draw) < 0.1, -1, (torch.arange(nodes) - back).clamp(min=-1))
    return parent, torch.randint(parts, (nodes,), generator=draw)


def swept(group: Group | None, nodes: int, parts: int, gated: bool) -> tuple[Any, ...]:
    """The rows of a process, or all; their sums by a sweep layer, the gradients of values and of parameters, and the
    bytes that were sent.
    """
    parent, of_node = random_forest(nodes, parts)
    torch.manual_seed(2)
    layer = SweepLayer(3, scales=(1.0, 5.0), gated=gated).double()
    values = torch.randn(nodes, 3, dtype=torch.float64)
    weight = torch.randn(nodes, 3, dtype=torch.float64)
    rows = torch.arange(nodes) if group is None else (of_node == group.rank).nonzero().flatten()
    plan = SweepPlan.of_parents(parent) if group is None else CutForest.of(parent.numpy(), of_node.numpy(), group)
    own = values[rows].requires_grad_()
    sums = layer(own, plan)
    (sums * weight[rows]).sum().backward()
    gradients = _gradients(layer)
    if group is None:
        return rows, sums.detach(), own.grad, gradients, 0
    return rows, sums.detach(), own.grad, group.total_(gradients), group.sent.get("sweep", 0)
