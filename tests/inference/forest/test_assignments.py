"""Samples and best labellings of many graphs at once, against listing every assignment."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import neuraltrees as nt
from neuraltrees.inference import Forest
from tests.inference.forest.forests import Drawn, draw_forest, forests
from tests.oracle.joint import Joint


def inverted(joint: Joint, order: list[int], uniform: list[float]) -> list[int]:
    """One variable after another, the first state at which the cumulated probability exceeds its number."""
    scores = np.exp(joint.scores - joint.best)
    for v in order:
        others = tuple(u for u in range(scores.ndim) if u != v)
        cumulated = np.cumsum(scores.sum(others))
        state = int((cumulated <= uniform[v] * cumulated[-1]).sum())
        keep = np.zeros(scores.shape[v])
        keep[state] = 1
        scores = scores * np.expand_dims(keep, others)
    return [int(axis) for axis in np.unravel_index(scores.argmax(), scores.shape)]


@given(drawn=forests(scale=300.0), seed=st.integers(0, 2**32 - 1), data=st.data())
@settings(deadline=None, max_examples=150)
def test_samples_invert_the_conditionals_in_reverse_order(drawn: Drawn, seed: int, data: st.DataObject) -> None:
    assume(drawn.possible)
    order = data.draw(st.permutations(range(len(drawn.cardinalities))), label="order")
    uniform = torch.from_numpy(np.random.default_rng(seed).random(len(order)))
    found = drawn.forest(order=order).sample(*drawn.potentials, uniform).tolist()
    first = 0
    for joint in drawn.joints():
        inside = range(first, first + len(joint.cardinalities))
        if inside:
            numbers = uniform[first : inside.stop].tolist()
            expected = inverted(joint, [v - first for v in reversed(order) if v in inside], numbers)
            assert found[first : inside.stop] == expected
        first = inside.stop


@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_samples_follow_the_joint_distribution(scale: float) -> None:
    """χ² over all assignments of a loop of four variables, beside another graph; a state of it is impossible."""
    loop, path = nt.Graph([[0, 1, 2, 3], [1, 2, 3, 0]]), nt.Graph([[0, 1], [1, 2]])
    drawn = draw_forest([path, loop], [2, 3, 2, 2, 3, 2, 2], seed=11, scale=scale)
    drawn.unary[4, 1] = -torch.inf
    uniform = torch.rand(20_000, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    samples = drawn.forest().sample(*drawn.potentials, uniform)
    for joint, part in zip(drawn.joints(), (samples[:, :3], samples[:, 3:]), strict=True):
        expected = len(samples) * joint.probabilities
        places = np.ravel_multi_index(part.T.numpy(), expected.shape)
        counts = np.bincount(places, minlength=expected.size).reshape(expected.shape)
        assert counts[expected == 0].sum() == 0
        often = expected >= 5
        wanted = np.append(expected[often], expected[~often].sum())
        grouped = np.append(counts[often], counts[~often].sum())
        assert chisquare(grouped[wanted > 0], wanted[wanted > 0]).pvalue > 1e-3


@given(drawn=forests())
@settings(deadline=None, max_examples=150)
def test_map_is_the_best_of_all(drawn: Drawn) -> None:
    assume(drawn.possible)
    states, score = drawn.forest().map(*drawn.potentials)
    assert score.tolist() == pytest.approx([joint.best for joint in drawn.joints()], rel=1e-12, abs=1e-12)
    first = 0
    for joint, model in zip(drawn.joints(), drawn.models(), strict=True):
        part = states[first : first + model.num_variables]
        assert model.log_score(part).item() == pytest.approx(joint.best, rel=1e-12, abs=1e-12)
        first += model.num_variables


def test_no_state_of_probability_zero_is_drawn() -> None:
    forest = Forest.of(nt.Graph([[], []], num_nodes=2), 4)
    unary = torch.tensor([[0.0, -torch.inf, 0.0, -torch.inf], [-torch.inf, 0.0, -torch.inf, -torch.inf]])
    for number in (0.0, 0.5, 1 - 2**-24, 1.0):
        first, second = forest.sample(unary, torch.zeros(0, 4, 4), torch.full((2,), number)).tolist()
        assert first == (0 if number < 0.5 else 2) and second == 1


def test_no_samples() -> None:
    forest = Forest.of(nt.Graph([[0], [1]]), 2)
    assert forest.sample(torch.zeros(2, 2), torch.zeros(1, 2, 2), torch.zeros(0, 2)).shape == (0, 2)
