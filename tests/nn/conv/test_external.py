"""PyG's convolution classes as rounds: R at once equal R alone, edge features where they are taken, clear errors."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    GraphConv,
    ResGatedGraphConv,
    SplineConv,
    SuperGATConv,
    TAGConv,
)

import neuraltrees as nt
from neuraltrees.nn import ConvOptions, Messages
from neuraltrees.nn.conv.external import ExternalConv
from neuraltrees.training import NetworkSpec, TrainingSpec, fit
from tests.training.tasks import QUICK, small_runs, small_task

EDGES = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 0]])


def gin(in_channels: int, out_channels: int) -> nn.Module:
    """With batch norm inside, whose statistics are buffers."""
    mlp = nn.Sequential(nn.Linear(in_channels, out_channels), nn.BatchNorm1d(out_channels), nn.ReLU())
    return GINConv(mlp)


dropping = partial(GATConv, dropout=0.5)


@pytest.mark.parametrize("make", [GCNConv, GraphConv, TAGConv, gin, partial(GATConv, heads=2)])
def test_runs_at_once_equal_runs_one_by_one(make: object) -> None:
    together = ExternalConv(make, 3, 4, ConvOptions(runs=3))  # type: ignore[arg-type]
    bound = together.bind(Messages.of_edges(EDGES, 5))
    x = torch.randn(5, 3, 3)
    for training in (True, False):
        together.train(training)
        result = together(x, bound)
        assert result.shape == (5, 3, together.width)
        for run in range(3):
            alone = make(3, 4)  # type: ignore[operator]
            weights = {name: getattr(together, stacked)[run] for name, stacked in together._names.items()}
            alone.load_state_dict(weights)
            alone.train(training)
            if not training:
                torch.testing.assert_close(result[:, run], alone(x[:, run], EDGES))
    shared = together(x[:, 0], bound)
    torch.testing.assert_close(shared[:, 0], result[:, 0])


def test_statistics_of_a_run_are_kept() -> None:
    conv = ExternalConv(gin, 3, 4, ConvOptions(runs=2))
    bound = conv.bind(Messages.of_edges(EDGES, 5))
    before = conv.stacked_nn__1__running_mean.clone()
    conv(torch.randn(5, 2, 3), bound)
    assert not torch.equal(conv.stacked_nn__1__running_mean[0], before[0])
    assert not torch.equal(conv.stacked_nn__1__running_mean[0], conv.stacked_nn__1__running_mean[1])


@pytest.mark.parametrize("conv", [GraphConv, gin, dropping, SuperGATConv])
@pytest.mark.parametrize("model", ["neural-tree", "gnn"])
def test_any_class_is_fitted(conv: object, model: str) -> None:
    task = small_task()
    spec = NetworkSpec(model=model, conv=conv, hidden=6, layers=2, dropout=0.2)
    runs = small_runs(task, [3, 1])
    together = fit(task, spec, QUICK, runs)
    assert together.loss_curve[-1].mean() < together.loss_curve[0].mean()
    alone = fit(task, spec, QUICK, runs[1:])
    torch.testing.assert_close(together.loss_curve[:, 1:], alone.loss_curve, atol=1e-4, rtol=1e-4)
    assert torch.equal(together.test[1:], alone.test)


def test_random_numbers_do_not_depend_on_the_callers() -> None:
    task = small_task()
    spec = NetworkSpec(conv=dropping, hidden=6, layers=2)
    curves = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        curves.append(fit(task, spec, QUICK, small_runs(task, [0])).loss_curve)
    assert torch.equal(*curves)


def test_concatenated_heads_make_states_wider() -> None:
    model = nt.GNN(3, 4, 5, 3, conv=partial(GATConv, heads=2))
    assert [conv.width for conv in model.schedule.convs] == [8, 8, 8]
    assert model(torch.randn(5, 3), EDGES).shape == (5, 5)
    with pytest.raises(nt.InputError, match=r"it returns states of size 10. Set readout=True, or let the convolution"):
        nt.GNN(3, 4, 5, 3, conv=partial(GATConv, heads=2), readout=False)


def test_edge_features_reach_those_that_take_them() -> None:
    attr = torch.randn(EDGES.shape[1], 2)
    conv = ExternalConv(ResGatedGraphConv, 3, 4, ConvOptions(runs=2, edge_channels=2))
    bound = conv.bind(Messages.of_edges(EDGES, 5))
    x = torch.randn(5, 2, 3)
    assert not torch.allclose(conv(x, bound, attr), conv(x, bound, attr + 1))


class NotAConv:
    def __init__(self, in_channels: int, out_channels: int) -> None: ...


class Summing(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x.sum(0)


def test_what_is_no_convolution() -> None:
    expected = "Expected conv out of gcn, sage, gat, gin or a PyG convolution class; got"
    with pytest.raises(nt.InputError, match=f"{expected} an instance of GCNConv. Give the class itself"):
        nt.GNN(3, 4, 5, conv=GCNConv(8, 8))
    with pytest.raises(nt.InputError, match=f"{expected} None"):
        nt.GNN(3, 4, 5, conv=None)
    with pytest.raises(nt.InputError, match=r"to make a module; got NotAConv"):
        nt.GNN(3, 4, 5, conv=NotAConv)
    with pytest.raises(nt.InputError, match=r"Expected Summing to return a state per node; got shape \(3,\)"):
        nt.GNN(3, 4, 5, conv=Summing)
    with pytest.raises(nt.InputError, match="GINConv raised TypeError: 'int' object is not callable"):
        nt.GNN(3, 4, 5, conv=GINConv)
    with pytest.raises(nt.InputError, match=r"SplineConv raised TypeError: .*Set other arguments with functools"):
        nt.GNN(3, 4, 5, conv=SplineConv)


def test_what_has_no_place_cannot_be_kept() -> None:
    spec = NetworkSpec(conv=dropping)
    with pytest.raises(
        nt.InputError, match="Expected conv as a class or function of a module, so that a file can name it"
    ):
        spec.as_dict()
    assert NetworkSpec(conv=GraphConv).as_dict()["conv"] == "torch_geometric.nn.conv.graph_conv:GraphConv"
    assert TrainingSpec().as_dict()["epochs"] == 1000


def test_a_data_loader_and_a_loop_of_ones_own() -> None:
    model = nt.NeuralTree(5, 8, 2, 2, conv=GraphConv)
    data = nt.ToHTree()(Data(x=torch.randn(4, 5), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]])))
    model(data.x, model.plan(data)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
