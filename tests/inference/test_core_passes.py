"""The passes of the compiled core against those on tensors."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings

import neuraltrees as nt
from neuraltrees.inference import Answer, BayesianNetwork, JunctionTree, MarkovNetwork, infer, random_markov_network
from neuraltrees.inference.core_passes import SMALL_BATCH, core_tables
from tests.inference.models import joint_of, models


def on_tensors(tree: JunctionTree, tables: list[torch.Tensor]) -> Answer:
    """The same question with a gradient, which the core does not answer."""
    return tree.run([table.clone().requires_grad_() for table in tables])


def same(one: Answer, other: Answer, tolerance: float = 1e-9) -> None:
    pairs = [(one.log_partition, other.log_partition)]
    pairs += zip(one.marginals, other.marginals, strict=True)
    pairs += zip(one.clique_marginals, other.clique_marginals, strict=True)
    for a, b in pairs:
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


@given(drawn=models())
@settings(deadline=None, max_examples=150)
def test_the_core_and_tensors_agree(drawn: tuple[MarkovNetwork, dict[int, int]]) -> None:
    model, evidence = drawn
    assume(joint_of(model, evidence).best > -np.inf and len(model.cliques) > 0)
    tree = JunctionTree.of(model, evidence)
    same(tree.run(model.log_potentials), on_tensors(tree, list(model.log_potentials)))


@pytest.mark.parametrize("scale", [1.0, 300.0, 3000.0])
def test_large_tables_of_any_range(scale: float) -> None:
    """A king's graph has parts of tables and long messages; at larger scales products leave the range of a double."""
    nodes = np.arange(7 * 12).reshape(7, 12)
    pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
    pairs += [(nodes[:-1, :-1], nodes[1:, 1:]), (nodes[:-1, 1:], nodes[1:, :-1])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in pairs], 1)
    model = random_markov_network(nt.Graph(edges), 2, scale=scale, seed=3)
    tree = JunctionTree.of(model)
    assert tree.entries > 10_000
    same(tree.run(model.log_potentials), on_tensors(tree, list(model.log_potentials)), 1e-7)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,), (SMALL_BATCH + 1,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batches_and_precisions(batch: tuple[int, ...], dtype: torch.dtype) -> None:
    graph = nt.Graph([[0, 1, 2, 3, 0], [1, 2, 3, 0, 4]], num_nodes=6)
    model = random_markov_network(graph, [2, 3, 2, 4, 2, 1], seed=2, batch=batch, dtype=dtype)
    tree = JunctionTree.of(model, {1: 2})
    small = core_tables(tree.structure, model.log_potentials, tree.steps)
    assert (small is None) == (batch == (SMALL_BATCH + 1,))
    same(tree.run(model.log_potentials), on_tensors(tree, list(model.log_potentials)), 1e-5)
    torch.testing.assert_close(tree.log_partition(model.log_potentials), tree.run(model.log_potentials).log_partition)


def test_tables_need_not_be_contiguous() -> None:
    model = random_markov_network(nt.Graph([[0, 1], [1, 2]]), 3)
    turned = [table.T.contiguous().T if table.dim() == 2 else table for table in model.log_potentials]
    tree = JunctionTree.of(model)
    same(tree.run(turned), tree.run(model.log_potentials), 0)


def test_a_gradient_is_asked_for_by_the_tables_and_the_mode() -> None:
    model = random_markov_network(nt.Graph([[0], [1]]), 2)
    tables = [table.clone().requires_grad_() for table in model.log_potentials]
    tree = JunctionTree.of(model)
    assert tree.run(tables).log_partition.requires_grad
    with torch.no_grad():
        assert not tree.run(tables).log_partition.requires_grad


@pytest.mark.parametrize("copy", [deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_trees_and_answers_are_copied(copy: object) -> None:
    assert callable(copy)
    model = random_markov_network(nt.Graph([[0, 1, 2], [1, 2, 0]]), 3, seed=1)
    tree = JunctionTree.of(model, {0: 1})
    answer = tree.run(model.log_potentials)
    same(copy(tree).run(model.log_potentials), answer, 0)
    same(copy(answer), answer, 0)
    same(infer(copy(model), {0: 1}), answer, 0)


def test_what_progress_raises_stops_the_work() -> None:
    model = random_markov_network(nt.Graph([[0, 1], [1, 2]]), 2)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        JunctionTree.of(model).run(model.log_potentials, progress=stop)


def test_a_bayesian_network_is_turned_into_a_markov_network_once() -> None:
    network = BayesianNetwork(["rain"], [["no", "yes"]], [()], [torch.tensor([0.8, 0.2], dtype=torch.float64)])
    assert network.to_markov() is network.to_markov()
    np.testing.assert_allclose(infer(network).marginals[0], [0.8, 0.2])
