"""Rounds on nodes, edges and bags give what loops over them give."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.nn import BagRounds, GraphHead
from neuraltrees.nn.schedule.bags import BagOptions
from tests.nn.schedule.bag_graphs import (
    CANONICAL,
    EDGE_FEATURES,
    FEATURES,
    PAPER,
    SHAPES,
    batch_of,
    featured,
    with_tree,
)
from tests.oracle.bags import Oracle, bags_of

PLAIN = {
    "start": "sum",
    "features": True,
    "rings": True,
    "edge_states": False,
    "gated": False,
    "aggr": "sum",
    "skip": True,
    "codes": False,
}
MIXES: dict[str, dict[str, Any]] = {
    "graph": {"parts": "graph"},
    "graph, edge states": {"parts": "graph", "edge_states": True},
    "tree": {"parts": "tree"},
    "tree without rings": {"parts": "tree", "rings": False},
    "tree from zero, as in the paper": {"parts": "tree", "start": "zero", "features": False, "rings": False},
    "tree, edge states": {"parts": "tree", "edge_states": True, "start": "mean"},
    "graph and tree": {"parts": "graph+tree", "start": "mean"},
    "graph and tree, edge states": {"parts": "graph+tree", "edge_states": True, "features": False},
    "sweep alone": {"parts": "sweep"},
    "gated sweep": {"parts": "graph+tree+sweep", "gated": True},
    "all, edge states": {"parts": "graph+tree+sweep", "edge_states": True},
    "means": {"parts": "graph+tree+sweep", "aggr": "mean"},
    "means on the graph": {"parts": "graph", "aggr": "mean"},
    "one layer per update": {"parts": "graph+tree+sweep", "update_layers": 1},
    "one layer per update, edge states": {"parts": "graph+tree", "update_layers": 1, "edge_states": True},
    "linear layers before messages": {"parts": "graph+tree+sweep", "update_layers": 0, "skip": False},
    "linear layers before messages, graph": {"parts": "graph", "update_layers": 0, "aggr": "mean"},
    "linear layers before messages, tree": {"parts": "tree", "update_layers": 0, "edge_states": True},
    "without skip": {"parts": "graph,tree", "skip": False},
    "layers that differ": {"parts": "graph,tree,graph+sweep", "start": "zero"},
}
CODED: dict[str, Any] = {"parts": "graph+tree", "codes": True}
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def network_of(
    options: dict[str, Any], runs: int | None = None, edges: bool = True, hidden: int = 5, **more: Any
) -> nt.NeuralTree:
    """A network in float64 whose norms are no longer at their start."""
    torch.manual_seed(3)
    bags = BagOptions(options["parts"]).needs_tree
    network = nt.NeuralTree(
        FEATURES,
        hidden,
        2,
        3,
        dropout=0.0,
        runs=runs,
        head=GraphHead.pooling("sum", bags=bags),
        schedule=BagRounds.having(**options),
        **{"edge_channels": EDGE_FEATURES if edges else None} | more,
    ).double()
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if "norm" in name:
                value.add_(torch.rand_like(value) * 0.3)
            if "log_distance" in name:
                value.copy_(torch.randn_like(value))
    return network


def check(
    options: dict[str, Any], settings: dict[str, str], runs: int | None, edges: bool, training: bool, **more: Any
) -> None:
    batch = batch_of(settings=settings, edge_features=edges)
    network = network_of(options, runs, edges, **more).train(training)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    plan = network.plan(batch)
    answers = network(batch.x, plan, edge_attr=batch.edge_attr)
    after, layers = network.state_dict(), BagOptions(options["parts"]).layers(3)
    for run in [None] if runs is None else range(runs):
        oracle = Oracle(before, run, batch, layers, PLAIN | options, training, more.get("layer_norm", False))
        h, b = oracle.rounds(list(batch.x), None if batch.edge_attr is None else list(batch.edge_attr))
        first = [int(batch.batch[bag.members[0]]) if bag.members else -1 for bag in oracle.bags]
        of_bag = graphs_of_bags(oracle, batch.batch, first)
        expected = oracle.summed(h, b, batch.batch.tolist(), of_bag)
        found = answers if run is None else answers[:, run]
        torch.testing.assert_close(found, expected, **CLOSE)
        for name, value in oracle.state.items():
            torch.testing.assert_close(after[name] if run is None else after[name][run], value, **CLOSE, msg=name)


def graphs_of_bags(oracle: Oracle, graph: Tensor, first: list[int]) -> list[int]:
    """The graph of every bag; bags of bags have that of a neighbour."""
    while -1 in first:
        first = [
            of if of >= 0 else max((first[other] for other in bag.beside), default=-1)
            for of, bag in zip(first, oracle.bags, strict=True)
        ]
    return first


@pytest.mark.parametrize("training", [False, True], ids=["eval", "training"])
@pytest.mark.parametrize("edges", [True, False], ids=["edge features", "no edge features"])
@pytest.mark.parametrize("mix", MIXES)
def test_a_network_gives_what_loops_give_on_canonical_trees(mix: str, edges: bool, training: bool) -> None:
    check(MIXES[mix], CANONICAL, None, edges, training)


@pytest.mark.parametrize("mix", MIXES)
def test_a_network_gives_what_loops_give_on_the_trees_of_the_paper(mix: str) -> None:
    check(MIXES[mix], PAPER, None, True, True)


@pytest.mark.parametrize("runs", [None, 2])
@pytest.mark.parametrize("mix", MIXES)
def test_categories_of_edges_are_rows_of_a_table(mix: str, runs: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers and gradients are those of a network that is given a state per edge."""
    batch = batch_of()
    kinds = torch.randint(0, 2, (batch.num_edges, 2), generator=torch.Generator().manual_seed(1))
    found = []
    for rows in (True, False):
        monkeypatch.setattr(BagRounds, "takes_rows", rows)
        network = network_of(MIXES[mix], runs, edge_channels=nt.Categories((3, 2)))
        answers = network(batch.x, network.plan(batch), edge_attr=kinds)
        answers.square().sum().backward()
        found.append((answers, {name: each.grad for name, each in network.named_parameters()}))
    torch.testing.assert_close(found[0][0], found[1][0], **CLOSE)
    for name, grad in found[0][1].items():
        torch.testing.assert_close(grad, found[1][1][name], **CLOSE, msg=name)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "training"])
@pytest.mark.parametrize("mix", ["tree", "all, edge states", "gated sweep", "means"])
def test_several_runs_give_what_loops_give(mix: str, training: bool) -> None:
    check(MIXES[mix], CANONICAL, 2, True, training)


@pytest.mark.parametrize("runs", [None, 2])
def test_codes_of_bags_give_what_loops_give(runs: int | None) -> None:
    check(CODED, CANONICAL, runs, True, True)


def test_bags_of_other_trees_have_no_codes() -> None:
    network = network_of(CODED)
    data = featured(SHAPES["molecule"])
    with pytest.raises(nt.InputError, match=r"Expected canonical H-trees of whole graphs.*Use method='canonical'"):
        network.plan(with_tree(data, PAPER))
    with pytest.raises(nt.InputError, match="Expected canonical H-trees of whole graphs"):
        network.plan(nt.ToHTree(1, method="canonical", terminal="bag")(data))


def test_codes_tell_rigid_bags_of_the_same_size_apart() -> None:
    """A prism and K33: both are one bag of six nodes of degree 3."""
    graphs = [nx.circular_ladder_graph(3), nx.complete_bipartite_graph(3, 3)]
    given = [with_tree(featured(graph, edge_features=False)) for graph in graphs]
    for each in given:
        each.x = torch.ones_like(each.x)
    for codes in (False, True):
        network = network_of({"parts": "graph+tree+sweep", "codes": codes}, edges=False).eval()
        first, second = (network(each.x, network.plan(each))[0] for each in given)
        assert (float((first - second).detach().abs().max()) > 1e-3) == codes


def test_canonical_trees_with_leaves_under_cliques_have_codes() -> None:
    """Bags of bags have none, nor have the places in them."""
    data = with_tree(featured(SHAPES["molecule"]), {"method": "canonical", "terminal": "clique"})
    plan = network_of(CODED).plan(data).rounds.bags
    tree = data.htree
    is_root = (tree.parent < 0)[tree.kappa < 0]
    assert plan is not None and plan.code is not None and 0 < int((plan.code != 0).sum()) == int(is_root.sum())


def test_layer_norms_give_what_loops_give() -> None:
    check(MIXES["all, edge states"], CANONICAL, None, True, True, layer_norm=True)


def test_canonical_trees_with_leaves_under_cliques_give_what_loops_give() -> None:
    check(MIXES["tree"], {"method": "canonical", "terminal": "clique"}, None, True, True)


def test_the_graphs_have_bags_of_all_kinds_and_a_real_and_a_virtual_edge_on_a_cycle() -> None:
    batch = batch_of()
    bags = bags_of(batch.htree)
    assert {bag.kind for bag in bags} == {1, 2, 3, 4, 5}
    edges = set(map(tuple, batch.edge_index.t().tolist()))
    steps = {(u, v) in edges for bag in bags if bag.kind == 3 for v in bag.members for u in bag.neighbours(v)}
    assert steps == {True, False}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_graph_alone_has_the_answers_it_has_in_a_batch(shape: str) -> None:
    network = network_of(MIXES["all, edge states"]).eval()
    batch = batch_of()
    number = list(SHAPES).index(shape)
    alone = with_tree(featured(SHAPES[shape], number))
    together = network(batch.x, network.plan(batch), edge_attr=batch.edge_attr)[number]
    torch.testing.assert_close(network(alone.x, network.plan(alone), edge_attr=alone.edge_attr)[0], together, **CLOSE)


def test_tree_alone_reads_no_edge_of_the_graph() -> None:
    """Bags that are the same say the same, whatever edges are inside."""
    network = network_of({"parts": "tree", "features": False}, edges=False).eval()
    data = with_tree(featured(SHAPES["Petersen"], edge_features=False))
    other = data.clone()
    other.edge_index = data.edge_index[:, :0]
    torch.testing.assert_close(network(data.x, network.plan(data)), network(data.x, network.plan(other)), **CLOSE)


@pytest.mark.parametrize("mix", ["tree", "all, edge states"])
def test_gradients_are_those_of_finite_differences(mix: str) -> None:
    batch = batch_of(["molecule", "isolated nodes", "theta"])
    network = network_of(MIXES[mix], hidden=3).eval()
    plan = network.plan(batch)
    x, e = (each.clone().requires_grad_() for each in (batch.x, batch.edge_attr))
    assert torch.autograd.gradcheck(lambda x, e: network(x, plan, edge_attr=e).sum(0), (x, e), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("mix", ["graph", "tree", "gated sweep", "all, edge states"])
def test_all_parameters_learn(mix: str) -> None:
    batch = batch_of()
    network = network_of(MIXES[mix], runs=2).train()
    network(batch.x, network.plan(batch), edge_attr=batch.edge_attr).square().sum().backward()
    last = f"schedule.layers.{len(network.schedule.layers) - 1}.edges"  # nobody reads what the last layer says of edges
    for name, parameter in network.named_parameters():
        if not name.startswith(last):
            assert parameter.grad is not None and float(parameter.grad.abs().sum()) > 0, name


def test_options_are_checked() -> None:
    with pytest.raises(nt.InputError, match=r"Expected parts out of graph, tree, sweep, joined by [+]; got 'trees'"):
        BagOptions("graph+trees")
    with pytest.raises(nt.InputError, match="Expected start out of zero, mean, sum; got 'max'"):
        BagOptions(start="max")  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match=r'Expected parts as a text such as "graph[+]tree"; got 3'):
        BagOptions(3)  # type: ignore[arg-type]
    network = network_of(MIXES["tree"])
    data = with_tree(featured(SHAPES["K4"]))
    with pytest.raises(nt.InputError, match="Expected edge_attr, since the network was made with edge_channels"):
        network(data.x, network.plan(data))
    with pytest.raises(nt.InputError, match="H-tree"):
        network.plan(featured(SHAPES["K4"]))


def test_a_plan_without_the_bags_or_codes_that_a_network_reads_is_refused() -> None:
    data = nt.ToHTree(method="canonical", terminal="bag")(
        Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)
    )
    graph, tree, coded = (
        nt.NeuralTree(2, 4, 3, 2, schedule=BagRounds.having(**options))
        for options in ({"parts": "graph"}, {"parts": "graph+tree"}, {"parts": "graph+tree", "codes": True})
    )
    x = torch.randn(3, 2)
    for model, other in ((tree, graph), (coded, graph), (coded, tree)):
        with pytest.raises(nt.InputError, match="Expected a plan with bags"):
            model(x, other.plan(data))
    assert graph(x, coded.plan(data)).shape == tree(x, coded.plan(data)).shape == (3, 3)  # they read less of it
