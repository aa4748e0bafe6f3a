"""Dropout masks from counters: fair, independent, the same whatever runs beside."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from neuraltrees.nn import ConvOptions, GATConv, Messages
from neuraltrees.nn.ensemble.dropout import Dropout, DropoutMasks


class TestDropoutMasks:
    def test_shares_and_independence(self) -> None:
        masks = DropoutMasks(torch.tensor([0, 1, 2, 3]))
        kept = (masks.mask((500, 64), place=0, dropped=0.3) > 0).float()
        count = 500 * 64
        spread = math.sqrt(0.3 * 0.7 / count)
        assert ((kept.mean((0, 2)) - 0.7).abs() < 5 * spread).all()
        flat = kept.transpose(0, 1).flatten(1)
        correlation = torch.corrcoef(flat) - torch.eye(4)
        assert correlation.abs().max() < 5 / math.sqrt(count)
        assert ((kept.mean(2) - 0.7).abs() < 6 * math.sqrt(0.21 / 64)).all(), "rows"
        assert ((kept.mean(0) - 0.7).abs() < 6 * math.sqrt(0.21 / 500)).all(), "columns"

    def test_steps_places_and_neighbours_are_independent(self) -> None:
        masks = DropoutMasks(torch.tensor([7]), places=2)
        first = (masks.mask((400, 50), 0, 0.5) > 0).float().flatten()
        masks.go_to(1)
        second = (masks.mask((400, 50), 0, 0.5) > 0).float().flatten()
        other = (masks.mask((400, 50), 1, 0.5) > 0).float().flatten()
        for a, b in ((first, second), (second, other), (first[:-1], first[1:]), (first[:-50], first[50:])):
            assert torch.corrcoef(torch.stack([a, b]))[0, 1].abs() < 5 / math.sqrt(len(a))

    def test_no_run_has_the_masks_of_another_at_another_step(self) -> None:
        masks = DropoutMasks(torch.arange(8))
        seen = []
        for step in range(8):
            masks.go_to(step)
            seen += [tuple(run.flatten().tolist()) for run in masks.mask((20, 10), 0, 0.5).unbind(1)]
        assert len(set(seen)) == 64

    def test_a_run_sees_its_own_masks_whatever_is_beside_it(self) -> None:
        alone, together = DropoutMasks(torch.tensor([5]), 3), DropoutMasks(torch.tensor([9, 5]), 3)
        assert torch.equal(alone.mask((6, 4), 2, 0.5)[:, 0], together.mask((6, 4), 2, 0.5)[:, 1])

    def test_scales_what_stays(self) -> None:
        drop = Dropout(0.25)
        drop.masks = DropoutMasks(torch.tensor([1, 2]))
        h = torch.ones(200, 2, 30, requires_grad=True)
        out = drop(h)
        assert out.unique().tolist() == [0.0, pytest.approx(4 / 3)]
        out.sum().backward()
        torch.testing.assert_close(h.grad, out.detach())
        assert drop.eval()(h) is h


def test_attention_drops_messages_and_selves_by_different_masks() -> None:
    conv = GATConv(3, 4, ConvOptions(runs=1, heads=2, dropout=0.5))
    conv.dropout.masks = DropoutMasks(torch.tensor([3]))
    ring = torch.arange(40)
    messages = Messages.of_edges(torch.stack([ring, (ring + 1) % 40]), 40)
    kept: list[Tensor] = []
    conv.dropout.register_forward_hook(lambda module, inputs, output: kept.append(output > 0))
    conv(torch.randn(40, 1, 3), conv.bind(messages))
    sent, selves = torch.cat(kept).flatten().view(2, -1)
    assert 0.2 < (sent == selves).float().mean() < 0.8


def test_rows_of_a_part_have_the_masks_of_the_whole() -> None:
    masks = DropoutMasks(torch.tensor([3, 8]), places=2)
    numbers = torch.tensor([7, 0, 4])
    assert torch.equal(masks.mask((3, 6), 1, 0.5, numbers), masks.mask((9, 6), 1, 0.5)[numbers])


def test_streams_have_masks_of_their_own() -> None:
    seeds = torch.arange(3)
    plain, same, other = (DropoutMasks(seeds, stream=stream).mask((50, 20), 0, 0.5) for stream in (0, 0, 1))
    assert torch.equal(plain, same)
    assert 0.4 < float((plain == other).float().mean()) < 0.6


def test_batches_of_many_sizes_share_one_table() -> None:
    """Shuffled batches differ in their numbers of rows; a table for each would fill the memory."""
    masks, alone = (DropoutMasks(torch.arange(2), 2) for _ in range(2))
    whole = alone.mask((400, 3), 1, 0.5)
    for rows in (1, 100, 37, 400, 0, 250):
        assert torch.equal(masks.mask((rows, 3), 1, 0.5), whole[:rows])
    assert len(masks._entries) + len(masks._tables) == 1
