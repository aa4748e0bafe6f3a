"""The neural tree from the definition: initial states of bags as given, PyG's own convolutions, the explicit tree."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

import neuraltrees as nt


def first_states(tree: nt.HTree, x: Tensor, start: str) -> Tensor:
    """The initial state of every tree node, one after another: a leaf's features; of a bag zero, or the mean or sum of
    its members' features.

    Shapes: x (n, F) → (N, F)
    """
    rows = []
    for node, graph_node in enumerate(tree.kappa.tolist()):
        if graph_node >= 0:
            rows.append(x[graph_node])
            continue
        members = torch.stack([x[member] for member in tree.bag(node)])
        rows.append({"zero": 0 * x[0], "mean": members.mean(0), "sum": members.sum(0)}[start])
    return torch.stack(rows)


def answers(model: nt.NeuralTree, tree: nt.HTree, x: Tensor, start: str) -> Tensor:
    """What a neural tree of one run in evaluation mode answers, without edge features and relations."""
    h, schedule = first_states(tree, x, start), model.schedule
    last = len(schedule.convs) - 1
    for number, ours in enumerate(schedule.convs):
        before = h
        h = twin(ours).double()(h, tree.edge_index)
        if schedule.residual[number]:
            h = h + before
        if number < last:
            h = schedule.norms[number](h) if schedule.norms else h
            h = nn.functional.elu(h) if type(ours).__name__ == "GATConv" else h.relu()
    mean = torch.stack([h[tree.kappa == v].mean(0) for v in range(len(x))])
    elu = type(schedule.convs[0]).__name__ == "GATConv"
    found: Tensor = model.head.layers[0](nn.functional.elu(mean) if elu else mean.relu())
    return found


def twin(ours: Any) -> nn.Module:
    """PyG's convolution with the same weights."""
    match type(ours).__name__:
        case "GCNConv":
            made: nn.Module = pyg.GCNConv(ours.in_channels, ours.out_channels)
            weights = {"lin.weight": ours.lins[0].weight.t(), "bias": ours.bias}
        case "SAGEConv":
            made = pyg.SAGEConv(ours.in_channels, ours.out_channels)
            weights = {
                "lin_l.weight": ours.neighbours[0].weight.t(),
                "lin_l.bias": ours.own.bias,
                "lin_r.weight": ours.own.weight.t(),
            }
        case "GATConv":
            made = pyg.GATConv(ours.in_channels, ours.out_channels, ours.heads, ours.concat)
            weights = {
                "att_src": ours.att_source[0].unsqueeze(0),
                "att_dst": ours.att_target.unsqueeze(0),
                "bias": ours.bias,
                "lin.weight": ours.lins[0].weight.t(),
            }
        case "GINConv":
            layers = [nn.Linear(each.in_channels, each.out_channels) for each in (ours.lin1, ours.lin2)]
            made = pyg.GINConv(nn.Sequential(layers[0], nn.ReLU(), layers[1]), train_eps=True)
            weights = {"eps": ours.eps.view_as(made.eps)}
            for place, each in ((0, ours.lin1), (2, ours.lin2)):
                weights |= {f"nn.{place}.weight": each.weight.t(), f"nn.{place}.bias": each.bias}
        case "ExternalConv":
            return ours.conv
    made.load_state_dict(weights)
    return made
