"""Norms of R runs: torch's own, run by run; in batch norm, states that stand for several nodes count as often."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from neuraltrees.data import ToHTree
from neuraltrees.graph import Graph
from neuraltrees.nn import NeuralTree
from neuraltrees.nn.ensemble.norm import RunBatchNorm, RunLayerNorm


@pytest.mark.parametrize("copies", [None, torch.tensor([1.0, 3.0, 2.0, 1.0, 5.0])])
def test_equals_batch_norm(copies: torch.Tensor | None) -> None:
    torch.manual_seed(0)
    runs, channels = 3, 4
    ours = RunBatchNorm(channels, runs).double()
    theirs = [nn.BatchNorm1d(channels).double() for _ in range(runs)]
    for run, each in enumerate(theirs):
        nn.init.normal_(each.weight)
        nn.init.normal_(each.bias)
        with torch.no_grad():
            ours.weight[run], ours.bias[run] = each.weight, each.bias
    repeats = torch.ones(5, dtype=torch.int64) if copies is None else copies.long()
    given = None if copies is None else copies.double()
    for _ in range(3):  # so that running statistics have something to run over
        h = torch.randn(5, runs, channels, dtype=torch.float64)
        out = ours(h, given)
        for run, each in enumerate(theirs):
            expected = each(h[:, run].repeat_interleave(repeats, 0))
            torch.testing.assert_close(out[:, run].repeat_interleave(repeats, 0), expected)
    for run, each in enumerate(theirs):
        torch.testing.assert_close(ours.running_mean[run], each.running_mean)
        torch.testing.assert_close(ours.running_var[run], each.running_var)
    h = torch.randn(5, runs, channels, dtype=torch.float64)
    out = ours.eval()(h, given)
    for run, each in enumerate(theirs):
        torch.testing.assert_close(out[:, run], each.eval()(h[:, run]))


def test_gradients_equal_batch_norm() -> None:
    ours, theirs = RunBatchNorm(3).double(), nn.BatchNorm1d(3).double()
    h = torch.randn(6, 3, dtype=torch.float64)
    weight = torch.randn(6, 3, dtype=torch.float64)
    grads = []
    for norm in (ours, theirs):
        mine = h.clone().requires_grad_()
        (norm(mine) * weight).sum().backward()
        grads.append(mine.grad)
    torch.testing.assert_close(*grads)


def test_a_single_state_has_no_variance() -> None:
    norm = RunBatchNorm(2)
    assert norm(torch.ones(1, 2)).abs().max() == 0
    assert norm.running_var.isfinite().all()


def test_layer_norm_is_torchs_run_by_run() -> None:
    norm = RunLayerNorm(5, runs=3)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    h = torch.randn(7, 3, 5)
    for run in range(3):
        own = nn.LayerNorm(5)
        with torch.no_grad():
            own.weight.copy_(norm.weight[run])
            own.bias.copy_(norm.bias[run])
        torch.testing.assert_close(norm(h)[:, run], own(h[:, run]))


@pytest.mark.parametrize("conv", ["sage", "gin"])
def test_with_layer_norm_merged_states_are_the_same(conv: str) -> None:
    data = ToHTree()(Data(x=torch.randn(6, 4), edge_index=Graph([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]]).edge_index))
    options = {"num_layers": 3, "conv": conv, "residual": True, "layer_norm": True}
    merged, plain = (NeuralTree(4, 8, 3, merge=merge, **options).eval() for merge in (True, False))  # type: ignore[arg-type]
    plain.load_state_dict(merged.state_dict())
    torch.testing.assert_close(merged(data.x, merged.plan(data)), plain(data.x, plain.plan(data)))
