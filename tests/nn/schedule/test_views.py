"""Nodes with equal views are computed once, and answers, gradients and statistics stay the same."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

import neuraltrees as nt
from neuraltrees.errors import InputError
from neuraltrees.nn import BagRounds
from neuraltrees.nn.schedule.bags import BagOptions, view_columns
from neuraltrees.nn.schedule.bags.views import numbered_rows
from neuraltrees.objectives import Classification
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit
from neuraltrees.training.deck import Deck
from tests.nn.schedule.bag_graphs import CANONICAL, PAPER

GRAPHS = [
    nx.cycle_graph(6),
    nx.path_graph(5),
    nx.star_graph(4),
    nx.empty_graph(2),
    nx.ladder_graph(4),
    nx.path_graph(5),
]
MIXES: dict[str, dict[str, Any]] = {
    "means of linear messages": {"parts": "graph", "aggr": "mean", "update_layers": 0, "skip": False},
    "sums": {"parts": "graph"},
    "one layer per update, then the tree": {"parts": "graph,graph,graph+tree", "update_layers": 1},
    "means, then sweeps": {"parts": "graph,graph,tree+sweep", "aggr": "mean", "update_layers": 0, "skip": False},
    "bags read from the beginning": {"parts": "tree"},
    "pooled by their maximum": {"parts": "graph", "pool": "max"},
    "pooled by attention": {"parts": "graph", "pool": "attention"},
    "pooled by sums": {"parts": "graph", "pool": "sum"},
    "layer norm": {"parts": "graph", "layer_norm": True},
}
SPLIT = nt.Split(*(torch.isin(torch.arange(6), torch.tensor(part)) for part in ([0, 1, 3, 5], [2], [4])))
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def graphs_of(shapes: list[nx.Graph], edge_features: bool = True) -> list[Data]:
    """Graphs with few different nodes and edges."""
    draw = np.random.default_rng(1)
    found = []
    for number, shape in enumerate(shapes):
        one_way = torch.tensor(list(shape.edges), dtype=torch.int64).reshape(-1, 2).T
        kinds = torch.from_numpy(draw.integers(0, 2, (one_way.shape[1], 1)))
        data = Data(
            x=torch.from_numpy(draw.integers(0, 2, (shape.number_of_nodes(), 2))),
            edge_index=torch.cat([one_way, one_way.flip(0)], 1),
            y=torch.tensor([number % 2]),
        )
        if edge_features:
            data.edge_attr = torch.cat([kinds, kinds])
        found.append(data)
    return found


def task_of(edge_features: bool = True, shapes: list[nx.Graph] = GRAPHS, **trees: str) -> Task:
    objective = Classification(("no", "yes"), level="graph")
    of_edges = nt.Categories((2,)) if edge_features else None
    graphs = graphs_of(shapes, edge_features)
    return Task(graphs, objective, features=nt.Categories((2, 2)), edge_features=of_edges, **trees)


def decks(mix: dict[str, Any], task: Task, runs: int | None = 2) -> list[Deck]:
    """The same network with views and without."""
    found = []
    for views in (True, False):
        torch.manual_seed(0)
        spec = NetworkSpec(schedule="bags", hidden=4, layers=3, dropout=0.0, views=views, **mix)
        found.append(Deck(task, spec.build(task, runs).double()))
    return found


@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
@pytest.mark.parametrize("edge_features", [True, False], ids=["edge features", "no edge features"])
@pytest.mark.parametrize("trees", [CANONICAL, PAPER], ids=["canonical trees", "the paper's trees"])
@pytest.mark.parametrize("mix", MIXES)
def test_answers_gradients_and_statistics_are_those_of_all_nodes(
    mix: str, trees: dict[str, str], edge_features: bool, training: bool
) -> None:
    found = []
    for deck in decks(MIXES[mix], task_of(edge_features, **trees)):
        network = deck.network.train(training)
        batch = deck.batch(torch.tensor([4, 0, 1, 5, 3, 2]))
        answers = network(batch.x, batch.plan, edge_attr=batch.edges)
        (answers * torch.arange(answers.numel()).view_as(answers)).sum().backward()
        found.append([answers.detach(), *(each.grad for each in network.parameters()), *network.state_dict().values()])
    torch.testing.assert_close(*found, **CLOSE)


def test_a_plan_reads_one_node_per_view() -> None:
    deck, plain = decks(MIXES["means of linear messages"], task_of())
    chosen = torch.tensor([1, 5])
    batch = deck.batch(chosen)
    views = batch.plan.rounds.views
    assert batch.x.shape[0] == batch.plan.num_nodes == len(views.node) < 10
    assert [int(each.copies.sum()) for each in views.layers] == [10, 10, 10]
    assert plain.batch(chosen).plan.rounds.views is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_views_are_equal_exactly_where_the_unfolded_trees_are(seed: int, depth: int) -> None:
    """The oracle writes out the tree of all walks from a node, sorted."""
    draw = np.random.default_rng(seed)
    shapes = [nx.gnm_random_graph(int(draw.integers(1, 7)), int(draw.integers(0, 9)), seed=seed + k) for k in range(3)]
    deck = decks({"parts": "graph"}, task_of(shapes=shapes))[1]
    columns = view_columns(deck.ragged, depth)
    batch = Batch.from_data_list(graphs_of(shapes))
    for level in range(depth + 1):
        trees = [_unfolded(batch, node, level) for node in range(batch.num_nodes)]
        number = columns[f"view.{level}"].values.tolist()
        pairs = [(one, other) for one in range(len(trees)) for other in range(one)]
        assert all((trees[one] == trees[other]) == (number[one] == number[other]) for one, other in pairs)


def _unfolded(data: Data, node: int, depth: int) -> tuple[Any, ...]:
    own = tuple(data.x[node].tolist())
    if depth == 0:
        return (own,)
    arriving = (data.edge_index[1] == node).nonzero().flatten().tolist()
    below = [
        (tuple(data.edge_attr[e].tolist()), _unfolded(data, int(data.edge_index[0, e]), depth - 1)) for e in arriving
    ]
    return own, tuple(sorted(below))


def test_rows_of_any_type_are_numbered() -> None:
    floats, large = torch.tensor([[0.5], [-0.5], [0.5]]), torch.tensor([[2**60, -1], [2**60, -1], [3, -1]])
    assert numbered_rows([floats]).tolist() == [1, 0, 1]
    assert numbered_rows([floats, large, large]).tolist() == [2, 0, 1]
    assert numbered_rows([torch.zeros(0, 3)]).tolist() == []


def test_a_training_with_views_equals_one_without() -> None:
    """Without dropout; batch norms, averages and shuffled batches included."""
    task = task_of()
    runs = [Run(seed, SPLIT) for seed in (0, 1)]
    spec = NetworkSpec(schedule="bags", parts="graph", hidden=4, layers=3, dropout=0.0, aggr="mean")
    training = TrainingSpec(epochs=6, batches=3, shuffle=True, every_class=False, average=0.9)
    plain, viewed = (fit(task, spec.replace(views=views), training, runs) for views in (False, True))
    torch.testing.assert_close(viewed.loss_curve, plain.loss_curve, rtol=1e-4, atol=1e-5)
    again = fit(task, spec.replace(views=True), training, runs)
    assert torch.equal(again.loss_curve, viewed.loss_curve)


def test_what_does_not_go_with_views() -> None:
    with pytest.raises(InputError, match="Expected views without edge_states"):
        BagOptions("graph", edge_states=True, views=True)
    with pytest.raises(InputError, match="Expected views without codes of bags"):
        BagOptions("graph+tree", codes=True, views=True)
    task = task_of()
    run = Run(0, SPLIT)
    spec = NetworkSpec(schedule="bags", parts="graph", views=True)
    with pytest.raises(InputError, match="Expected views without compile"):
        fit(task, spec, TrainingSpec(epochs=1, compile=True, shuffle=True), [run])


def test_a_step_is_not_captured() -> None:
    """The numbers of views differ from batch to batch."""
    body = NetworkSpec(schedule="bags", parts="graph,tree", views=True).build(task_of())
    assert not body.capturable and body.schedule.views == 1
    assert NetworkSpec(schedule="bags", parts="tree", views=True).build(task_of()).capturable
    assert isinstance(body.schedule, BagRounds)
