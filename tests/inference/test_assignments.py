"""Best assignments against listing all; samples against their marginals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from scipy.stats import chisquare

import neuraltrees as nt
from neuraltrees.inference import JunctionTree, MarkovNetwork, random_markov_network
from tests.inference.models import joint_of, models


@given(drawn=models())
@settings(deadline=None, max_examples=200)
def test_map_is_the_best_of_all(drawn: tuple[MarkovNetwork, dict[int, int]]) -> None:
    model, evidence = drawn
    joint = joint_of(model, evidence)
    assume(joint.best > -np.inf)
    assignment, score = JunctionTree.of(model, evidence).map(model.log_potentials)
    assert score.item() == pytest.approx(joint.best, rel=1e-12, abs=1e-12)
    assert model.log_score(assignment).item() == pytest.approx(joint.best, rel=1e-12, abs=1e-12)
    assert all(assignment[v] == state for v, state in evidence.items())


@given(drawn=models())
@settings(deadline=None, max_examples=60)
def test_samples_are_possible(drawn: tuple[MarkovNetwork, dict[int, int]]) -> None:
    model, evidence = drawn
    assume(joint_of(model, evidence).best > -np.inf)
    samples = JunctionTree.of(model, evidence).sample(model.log_potentials, 7)
    assert samples.shape == (7, model.num_variables)
    assert bool((model.log_score(samples) > -torch.inf).all())
    assert all((samples[:, v] == state).all() for v, state in evidence.items())


@pytest.mark.parametrize("evidence", [{}, {2: 1}])
def test_samples_follow_the_joint_distribution(evidence: dict[int, int]) -> None:
    """χ² over all assignments of a loop of four variables and a pair apart, one state of which is impossible."""
    graph = nt.Graph([[0, 1, 2, 3, 4], [1, 2, 3, 0, 5]])
    model = random_markov_network(graph, [2, 3, 2, 2, 2, 2], seed=11)
    model.log_potentials[0][1] -= 1.0
    model.log_potentials[5][0] = -torch.inf
    count = 20_000
    generator = torch.Generator().manual_seed(0)
    samples = JunctionTree.of(model, evidence).sample(model.log_potentials, count, generator=generator)
    expected = count * joint_of(model, evidence).probabilities
    places = np.ravel_multi_index(samples.T.numpy(), expected.shape)
    counts = np.bincount(places, minlength=expected.size).reshape(expected.shape)
    assert counts[expected == 0].sum() == 0
    often = expected >= 5
    grouped = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], expected[~often].sum())
    keep = wanted > 0
    assert chisquare(grouped[keep], wanted[keep]).pvalue > 1e-3


def test_samples_of_a_batch_follow_the_marginals() -> None:
    model = random_markov_network(nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), 3, scale=1.5, batch=(2, 3), seed=4)
    tree = JunctionTree.of(model)
    samples = tree.sample(model.log_potentials, 5000, generator=torch.Generator().manual_seed(1))
    assert samples.shape == (5000, 2, 3, 4)
    for v, marginal in enumerate(tree.run(model.log_potentials).marginals):
        counts = torch.nn.functional.one_hot(samples[..., v], 3).sum(0).double()
        for place in np.ndindex(2, 3):
            assert chisquare(counts[place], 5000 * marginal[place]).pvalue > 1e-4


def test_the_same_generator_gives_the_same_samples() -> None:
    model = random_markov_network(nt.Graph([[0, 1], [1, 2]]), 4)
    tree = JunctionTree.of(model)
    one, two = (tree.sample(model.log_potentials, 9, generator=torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(one, two)


def test_no_samples() -> None:
    model = random_markov_network(nt.Graph([[0], [1]]), 2)
    assert JunctionTree.of(model).sample(model.log_potentials, 0).shape == (0, 2)
    with pytest.raises(nt.InputError, match="Expected count as an integer of at least 0; got -1"):
        JunctionTree.of(model).sample(model.log_potentials, -1)


def test_single_precision_samples_and_assignments() -> None:
    model = random_markov_network(nt.Graph([[0, 1], [1, 2]]), 2, dtype=torch.float32)
    tree = JunctionTree.of(model)
    assert tree.sample(model.log_potentials, 3).dtype == torch.int64
    assignment, score = tree.map(model.log_potentials)
    assert model.log_score(assignment).item() == pytest.approx(score.item(), rel=1e-6)


@pytest.mark.parametrize("cardinality", [1, 2])
def test_a_batch_that_leaves_nothing_to_find(cardinality: int) -> None:
    model = random_markov_network(nt.Graph([[0, 1], [1, 2]]), cardinality, batch=(2, 3))
    tree = JunctionTree.of(model, {} if cardinality == 1 else {0: 0, 1: 1, 2: 0})
    assignment, score = tree.map(model.log_potentials)
    assert assignment.shape == (2, 3, 3)
    assert assignment[1, 2].tolist() == ([0, 0, 0] if cardinality == 1 else [0, 1, 0])
    torch.testing.assert_close(score, model.log_score(assignment))
    assert tree.sample(model.log_potentials, 4).tolist() == [assignment.tolist()] * 4
