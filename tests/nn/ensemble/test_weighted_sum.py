"""Sums with weights that differ by run and head, message by message and fused: the same numbers and gradients."""

from __future__ import annotations

import pytest
import torch

from neuraltrees.nn import ConvOptions, GATConv, Messages
from neuraltrees.nn.ensemble.backend import SCATTER, SparseBackend
from neuraltrees.nn.ensemble.weighted_sum import FusedSum, ScatterSum, SumEntries

CPU = torch.device("cpu")


def some_messages(seed: int, every_one: bool) -> SumEntries:
    """20 messages among 6 states and 5 sums, of which one gets none."""
    draw = torch.Generator().manual_seed(seed)
    row, col = torch.randint(4, (20,), generator=draw), torch.randint(6, (20,), generator=draw)
    used = torch.rand(20, generator=draw) < (2 if every_one else 0.6)
    return SumEntries(row, col, used, (5, 6))


@pytest.mark.parametrize("every_one", [True, False])
@pytest.mark.parametrize("groups", [(3,), (2, 3)])
@pytest.mark.parametrize("seed", range(5))
def test_fused_sums_give_what_scattering_gives(seed: int, groups: tuple[int, ...], every_one: bool) -> None:
    messages = some_messages(seed, every_one)
    draw = torch.Generator().manual_seed(seed)
    h = torch.randn(6, *groups, 4, dtype=torch.float64, generator=draw, requires_grad=True)
    weight = torch.randn(20, *groups, dtype=torch.float64, generator=draw, requires_grad=True)
    found, gradients = [], []
    for work in (ScatterSum(messages), FusedSum(messages, CPU)):
        out = work(h, weight)
        found.append(out.detach())
        gradients.append(torch.autograd.grad((out * out.detach().cos()).sum(), (h, weight)))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-12)
    for mine, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
    assert found[0][4].abs().max() == 0 < found[0][:4].abs().max()


def test_gradients_against_finite_differences() -> None:
    fused = FusedSum(some_messages(0, every_one=False), CPU)
    h = torch.randn(6, 2, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(20, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(fused, (h, weight))


@pytest.mark.parametrize("runs", [None, 3])
@pytest.mark.parametrize("relations", [1, 3])
@pytest.mark.parametrize("in_channels", [2, 40])
def test_attention_is_the_same_whichever_way_it_is_computed(runs: int | None, relations: int, in_channels: int) -> None:
    torch.manual_seed(0)
    conv = GATConv(in_channels, 4, ConvOptions(runs, relations, heads=2)).double()
    edges = torch.tensor([[0, 1, 2, 3, 1, 4], [1, 0, 1, 1, 2, 0]])
    relation = torch.tensor([0, 0, 1, 2, 2, 1]) % relations
    messages = Messages.of_edges(edges, 5, relation, torch.float64)
    h = torch.randn(5, *(() if runs is None else (runs,)), in_channels, dtype=torch.float64)
    plain = conv(h, conv.bind(messages, SCATTER))
    bound = conv.bind(messages, SparseBackend(torch.float64))
    assert bound.few == (in_channels > 5)  # a state is longer than there are states
    torch.testing.assert_close(conv(h, bound), plain, rtol=0, atol=1e-12)
