"""Batches cut out of columns, with padding and without, give what the graphs give alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.nn import GraphHead
from neuraltrees.objectives import Regression
from neuraltrees.training import NetworkSpec, Task
from neuraltrees.training.batches import GraphBatch
from neuraltrees.training.deck import Deck
from tests.nn.schedule.bag_graphs import CANONICAL, PAPER, SHAPES, featured, with_tree
from tests.nn.schedule.test_bags import CLOSE, CODED, MIXES, network_of

MIXED = ["graph", "tree", "all, edge states", "gated sweep", "layers that differ"]


def task_of(settings: dict[str, str] = CANONICAL, more: list[Data] | None = None) -> Task:
    graphs = [featured(shape, seed) for seed, shape in enumerate(SHAPES.values())]
    return Task([*graphs, *(more or [])], Regression(["y"], level="graph"), **settings)  # type: ignore[arg-type]


def learned(network: nt.NeuralTree, batch: GraphBatch, rows: int) -> tuple[Tensor, dict[str, Tensor]]:
    """Answers and the gradients of a loss of the first rows; the weights and statistics stay as they were."""
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network.zero_grad()
    answers = network(batch.x, batch.plan, edge_attr=batch.edges)
    (answers[:rows].square().sum() + answers[:rows].sum()).backward()
    grads = {name: each.grad.clone() for name, each in network.named_parameters() if each.grad is not None}
    after = {f"{name} after": value.clone() for name, value in network.state_dict().items() if "running" in name}
    network.load_state_dict(before)
    return answers[:rows].detach(), grads | after


def roomy(deck: Deck, graphs: Tensor, more: int) -> dict[str, int]:
    return {space: int(each[graphs].sum()) + more for space, each in deck.ragged.sizes().items()}


@pytest.mark.parametrize("training", [False, True], ids=["eval", "training"])
@pytest.mark.parametrize("settings", [CANONICAL, PAPER], ids=["canonical", "min-fill"])
@pytest.mark.parametrize("mix", MIXED)
@pytest.mark.parametrize("runs", [None, 2])
def test_padding_changes_neither_answers_nor_gradients(
    mix: str, settings: dict[str, str], training: bool, runs: int | None
) -> None:
    network = network_of(MIXES[mix], runs).train(training)
    deck = Deck(task_of(settings), network)
    graphs = torch.tensor([4, 0, 9, 2, 7, 8])
    plain, expected = learned(network, deck.batch(graphs), 6)
    for more in (1, 13):
        blanks = torch.cat([graphs, torch.full((more - 1,), deck.blank)])
        batch = deck.batch(blanks, roomy(deck, graphs, more))
        assert batch.x.shape[0] == sum(SHAPES[list(SHAPES)[i]].number_of_nodes() for i in graphs) + more
        assert batch.items.tolist() == blanks.tolist() and len(batch.y) == len(blanks)
        answers, found = learned(network, batch, 6)
        torch.testing.assert_close(answers, plain, **CLOSE)
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, **CLOSE, msg=name)


def test_padding_has_no_codes() -> None:
    network = network_of(CODED).train()
    deck = Deck(task_of(), network)
    graphs = torch.tensor([8, 0, 3, 2])
    plain, expected = learned(network, deck.batch(graphs), 4)
    answers, found = learned(network, deck.batch(graphs, roomy(deck, graphs, 7)), 4)
    torch.testing.assert_close(answers, plain, **CLOSE)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, **CLOSE, msg=name)


@pytest.mark.parametrize("settings", [CANONICAL, PAPER], ids=["canonical", "min-fill"])
def test_a_cut_batch_gives_what_its_graphs_give(settings: dict[str, str]) -> None:
    network = network_of(MIXES["all, edge states"]).eval()
    task = task_of(settings)
    batch = Deck(task, network).batch(torch.tensor([8, 1, 0]))
    answers = network(batch.x, batch.plan, edge_attr=batch.edges)
    for row, number in zip(answers, (8, 1, 0), strict=True):
        alone = with_tree(task.graphs[number], settings)
        torch.testing.assert_close(network(alone.x, network.plan(alone), edge_attr=alone.edge_attr)[0], row, **CLOSE)


@pytest.mark.parametrize("pool", ["sum", "mean", "max", "attention"])
def test_padding_is_pooled_nowhere(pool: Any) -> None:
    spec = NetworkSpec(schedule="bags", hidden=4, layers=1, dropout=0.0, pool=pool)
    torch.manual_seed(0)
    task = task_of()
    network = spec.build(task).double().train()
    assert isinstance(network.head, GraphHead)
    with torch.no_grad():  # scores far from those of padding
        for score in network.head.scores:
            score.weight.mul_(1e3)
            score.bias.fill_(900.0)
    deck = Deck(task, network)
    graphs = torch.tensor([0, 4, 2])
    plain, expected = learned(network, deck.batch(graphs), 3)
    padded = torch.cat([graphs, torch.full((2,), deck.blank)])
    answers, found = learned(network, deck.batch(padded, roomy(deck, graphs, 5)), 3)
    torch.testing.assert_close(answers, plain, **CLOSE)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, **CLOSE, msg=name)


@pytest.mark.parametrize("more", [None, 4], ids=["plain", "padded"])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_a_batch_without_edges_leaves_the_statistics_of_edges_alone(more: int | None, layer_norm: bool) -> None:
    network = network_of(MIXES["all, edge states"], layer_norm=layer_norm).train()
    deck = Deck(task_of(), network)
    names = list(SHAPES)
    graphs = torch.tensor([names.index("one node"), names.index("isolated nodes")])
    before = {name: value.clone() for name, value in network.state_dict().items()}
    answers, found = learned(network, deck.batch(graphs, more and roomy(deck, graphs, more)), 2)
    assert bool(answers.isfinite().all())
    for name, value in found.items():
        assert bool(value.isfinite().all()), name
        if ".edges." in name and name.endswith(" after"):
            torch.testing.assert_close(value, before[name.removesuffix(" after")])


def test_batches_of_blanks_alone_are_finite() -> None:
    network = network_of(MIXES["all, edge states"], runs=2).train()
    deck = Deck(task_of(), network)
    batch = deck.batch(torch.full((3,), deck.blank), dict.fromkeys(deck.ragged.ptr, 8))
    answers, found = learned(network, batch, 3)
    assert bool(answers.isfinite().all()) and all(bool(each.isfinite().all()) for each in found.values())
