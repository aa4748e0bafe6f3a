"""Markov and Bayesian networks as values."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

import neuraltrees as nt
from neuraltrees.inference import BayesianNetwork, MarkovNetwork, random_markov_network
from tests.inference.models import joint_of, models

PAIR = MarkovNetwork([2, 3], [(1, 0), (1,)], [torch.arange(6.0).reshape(3, 2), torch.tensor([0.0, 10.0, 20.0])])


def test_fields_are_tuples() -> None:
    assert (PAIR.cardinalities, PAIR.cliques) == ((2, 3), ((1, 0), (1,)))
    assert isinstance(PAIR.log_potentials, tuple)
    assert PAIR.num_variables == 2
    assert repr(PAIR) == "MarkovNetwork(num_variables=2, num_cliques=2, batch_shape=())"
    with pytest.raises(AttributeError):
        PAIR.cliques = ()  # type: ignore[misc]


def test_graph_joins_the_variables_of_a_clique() -> None:
    model = MarkovNetwork([2] * 5, [(2, 0, 1), (1, 0), (3,), ()], [torch.zeros([2] * k) for k in (3, 2, 1, 0)])
    assert model.graph == nt.Graph([[0, 0, 1], [1, 2, 2]], num_nodes=5)


def test_log_score_adds_the_entries() -> None:
    assert PAIR.log_score([1, 2]).item() == 5.0 + 20.0
    assert PAIR.log_score(torch.tensor([[0, 0], [1, 1]])).tolist() == [0.0, 13.0]


def test_log_score_of_a_batch() -> None:
    model = MarkovNetwork([2], [(0,)], [torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])])
    assert model.batch_shape == (3,)
    assert model.log_score([1]).tolist() == [2.0, 4.0, 6.0]
    assert model.log_score(torch.tensor([[0], [1], [0]])).tolist() == [1.0, 4.0, 5.0]
    assert model.log_score(torch.tensor([[[0]], [[1]]])).tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]


@given(drawn=models())
@settings(deadline=None, max_examples=50)
def test_log_score_agrees_with_the_oracle(drawn: tuple[MarkovNetwork, dict[int, int]]) -> None:
    model, _ = drawn
    everything = torch.tensor(list(product(*map(range, model.cardinalities))))
    expected = torch.from_numpy(joint_of(model).scores).reshape(-1)
    torch.testing.assert_close(model.log_score(everything).double(), expected)


BAD: dict[str, tuple[tuple[Any, Any, Any], str]] = {
    "no states": (([0], [], []), "Expected the cardinality of variable 0 as an integer of at least 1; got 0"),
    "unknown variable": (([2], [(1,)], [torch.zeros(2)]), "Expected variables between 0 and 0; got 1 in clique 0"),
    "twice": (([2], [(0, 0)], [torch.zeros(2, 2)]), r"Expected distinct variables in a clique; clique 0 is \(0, 0\)"),
    "table missing": (([2], [(0,)], []), "Expected one table per clique, 1 in all; got 0"),
    "shape": (([2], [(0,)], [torch.zeros(3)]), r"Expected shape \(2,\) for table 0 of clique \(0,\); got \(3,\)"),
    "batch": (([2], [(0,), ()], [torch.zeros(4, 2), torch.zeros(())]), r"Expected shape \(4,\) for table 1"),
    "integers": (([2], [(0,)], [torch.zeros(2).long()]), "Expected log-potentials as floats; got torch.int64"),
    "types": (
        ([2], [(0,), (0,)], [torch.zeros(2), torch.zeros(2).double()]),
        "Expected all tables as torch.float32 on cpu; got torch.float64 on cpu in table 1",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_models_are_refused(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        MarkovNetwork(*arguments)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ([0], r"Expected an assignment as integers of shape \(\*, 2\); got torch.int64 of shape \(1,\)"),
        ([0.0, 1.0], "got torch.float32"),
        ([0, 3], "Expected a state between 0 and 2 for variable 1; got 3"),
        ([-1, 0], "Expected a state between 0 and 1 for variable 0; got -1"),
    ],
)
def test_bad_assignments_are_refused(assignment: list[int], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        PAIR.log_score(assignment)


def test_random_networks_have_a_table_a_node_and_an_edge() -> None:
    graph = nt.Graph([[0, 1], [1, 2]], num_nodes=4)
    model = random_markov_network(graph, [2, 3, 4, 2], scale=0.5, seed=3, batch=(5,), dtype=torch.float32)
    assert model.cliques == ((0,), (1,), (2,), (3,), (0, 1), (1, 2))
    assert [tuple(table.shape) for table in model.log_potentials[3:]] == [(5, 2), (5, 2, 3), (5, 3, 4)]
    assert model.graph == graph
    again = random_markov_network(graph, [2, 3, 4, 2], scale=0.5, seed=3, batch=(5,), dtype=torch.float32)
    assert all(map(torch.equal, model.log_potentials, again.log_potentials))
    other = random_markov_network(graph, [2, 3, 4, 2], scale=0.5, seed=4, batch=(5,), dtype=torch.float32)
    assert not torch.equal(model.log_potentials[0], other.log_potentials[0])
    spread = torch.cat([table.flatten() for table in random_markov_network(graph, 30, scale=2.0).log_potentials]).std()
    assert spread.item() == pytest.approx(2.0, rel=0.05)


def test_random_networks_want_a_cardinality_a_node() -> None:
    with pytest.raises(nt.InputError, match="Expected a cardinality for each of 2 nodes; got 1"):
        random_markov_network(nt.Graph([[0], [1]]), [2])
    with pytest.raises(nt.InputError, match="Expected a scale of at least 0; got -1"):
        random_markov_network(nt.Graph([[0], [1]]), 2, scale=-1)


def bayesian(parents: list[tuple[int, ...]], tables: list[Tensor] | None = None) -> BayesianNetwork:
    if tables is None:
        tables = [torch.full([2] * (len(each) + 1), 0.5) for each in parents]
    return BayesianNetwork([f"v{i}" for i in range(len(parents))], [("no", "yes")] * len(parents), parents, tables)


def test_families_are_the_cliques_of_the_moral_graph() -> None:
    network = bayesian([(), (), (0, 1), (2,)])
    markov = network.to_markov()
    assert markov.cliques == ((0,), (1,), (0, 1, 2), (2, 3))
    assert markov.log_potentials[1].tolist() == [pytest.approx(math.log(0.5))] * 2
    expected = nx.moral_graph(nx.DiGraph([(0, 2), (1, 2), (2, 3)]))
    assert network.graph == markov.graph == nt.Graph(torch.tensor(list(expected.edges)).T)
    assert repr(network) == "BayesianNetwork(num_variables=4, num_arcs=3)"


def test_bad_bayesian_networks_are_refused() -> None:
    with pytest.raises(nt.InputError, match="without a directed cycle; v0 is on one or below one"):
        bayesian([(1,), (0,)])
    with pytest.raises(nt.InputError, match=r"Expected shape \(2, 2\) for the table of v1; got \(2,\)"):
        bayesian([(), (0,)], [torch.full((2,), 0.5), torch.ones(2)])
    with pytest.raises(nt.InputError, match="Expected probabilities of at least 0 in the table of v0"):
        bayesian([()], [torch.tensor([1.5, -0.5])])
    for row in ([0.9, 0.9], [torch.inf, 0.0]):
        with pytest.raises(nt.InputError, match="Expected rows that sum to 1 in the table of v0; got a sum that is"):
            bayesian([()], [torch.tensor(row)])
    with pytest.raises(
        nt.InputError, match="Expected states, parents and a table for each of 1 variables; got 1, 1 and 0"
    ):
        bayesian([()], [])


@pytest.mark.parametrize("clique", [(0.0, 1), ("0", 1)])
def test_variables_are_integers(clique: tuple[object, ...]) -> None:
    with pytest.raises(nt.InputError, match=r"Expected cliques of integers, the numbers of variables; got \[\("):
        MarkovNetwork([2, 2], [clique], [torch.zeros(2, 2)])
