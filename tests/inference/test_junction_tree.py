"""Exact answers against listing every assignment."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import neuraltrees as nt
from neuraltrees.inference import JunctionTree, MarkovNetwork, infer, random_markov_network
from neuraltrees.inference.choice import METHODS
from neuraltrees.inference.memory import default_memory_limit
from tests.inference.models import joint_of, models, random_tables

CHAIN = MarkovNetwork([2, 2], [(0, 1)], [torch.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=torch.float64).log()])


def close(found: torch.Tensor, expected: object, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_a_table_of_two_variables() -> None:
    answer = infer(CHAIN)
    assert answer.log_partition.item() == pytest.approx(0.0, abs=1e-12)
    close(answer.marginals[0], [0.3, 0.7])
    close(answer.marginals[1], [0.4, 0.6])
    close(answer.clique_marginals[0], [[0.1, 0.2], [0.3, 0.4]])


def test_evidence_conditions() -> None:
    answer = infer(CHAIN, {0: 1})
    assert answer.log_partition.item() == pytest.approx(np.log(0.7))
    assert answer.marginals[0].tolist() == [0.0, 1.0]
    close(answer.marginals[1], [3 / 7, 4 / 7])
    close(answer.clique_marginals[0], [[0, 0], [3 / 7, 4 / 7]])


def test_a_tree_serves_other_states_of_the_observed_variables() -> None:
    tree = JunctionTree.of(CHAIN, {0: 1})
    close(tree.run(CHAIN.log_potentials, {0: 0}).marginals[1], [1 / 3, 2 / 3])
    with pytest.raises(
        nt.InputError, match="that the tree was made for; got evidence on 1 variables, not the same ones"
    ):
        tree.run(CHAIN.log_potentials, {1: 0})


@given(drawn=models())
@settings(deadline=None, max_examples=300)
def test_agrees_with_listing_every_assignment(drawn: tuple[MarkovNetwork, dict[int, int]]) -> None:
    model, evidence = drawn
    joint = joint_of(model, evidence)
    tree = JunctionTree.of(model, evidence)
    log_partition = tree.log_partition(model.log_potentials).item()
    if joint.log_partition == -np.inf:
        assert log_partition == -np.inf
        for ask in (tree.run, tree.map, tree.sample):
            with pytest.raises(nt.ZeroProbabilityError, match="Expected evidence of positive probability"):
                ask(model.log_potentials)
        return
    answer = tree.run(model.log_potentials)
    assert answer.log_partition.item() == log_partition == pytest.approx(joint.log_partition, rel=1e-9, abs=1e-9)
    for v, marginal in enumerate(answer.marginals):
        close(marginal, joint.marginal(v))
    for clique, marginal in zip(model.cliques, answer.clique_marginals, strict=True):
        close(marginal, joint.marginal(*clique))


@given(drawn=models(zeros=0.2), order=st.permutations(range(6)))
@settings(deadline=None, max_examples=60)
def test_any_decomposition_gives_the_same(drawn: tuple[MarkovNetwork, dict[int, int]], order: list[int]) -> None:
    model, evidence = drawn
    assume(joint_of(model, evidence).best > -np.inf)
    given_order = [v for v in order if v < model.num_variables]
    td = nt.TreeDecomposition.from_elimination_order(model.graph, given_order)
    answer = JunctionTree.of(model, evidence, decomposition=td).run(model.log_potentials)
    expected = infer(model, evidence)
    close(answer.log_partition, expected.log_partition.item())
    for one, other in zip(answer.marginals, expected.marginals, strict=True):
        close(one, other.numpy())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same(method: str) -> None:
    model = random_markov_network(nt.Graph([[0, 1, 2, 3, 1], [1, 2, 3, 0, 4]]), [2, 3, 2, 4, 2], seed=1)
    answer = JunctionTree.of(model, method=method).run(model.log_potentials)  # type: ignore[arg-type]
    close(answer.log_partition, joint_of(model).log_partition)


def test_a_bag_inside_another_and_a_forest_joined_to_a_tree() -> None:
    model = random_markov_network(nt.Graph([[0, 1], [1, 2]], num_nodes=4), 2)
    td = nt.TreeDecomposition([{0, 1}, {1}, {1, 2}, {3}], edges=[(0, 1), (1, 2), (2, 3)])
    answer = JunctionTree.of(model, decomposition=td).run(model.log_potentials)
    for v in range(4):
        close(answer.marginals[v], joint_of(model).marginal(v))


def test_a_decomposition_of_another_graph_is_refused() -> None:
    td = nt.TreeDecomposition([{0}, {1}])
    with pytest.raises(nt.InvalidDecompositionError):
        JunctionTree.of(CHAIN, decomposition=td)


def test_large_tables_are_added_up_in_parts() -> None:
    """A clique of 13 variables with all pairs, unaries, and trees hanging from it."""
    clique = list(range(13))
    pairs = [(a, b) for a in clique for b in clique if a < b]
    hanging = [(v, 13 + v) for v in range(13)] + [(13, 26), (13, 27)]
    edges = torch.tensor(pairs + hanging).T
    model = random_markov_network(nt.Graph(edges), 2, scale=0.5, seed=2)
    tree = JunctionTree.of(model)
    assert any(term.part is not None for clique in tree.plan.cliques for term in clique.table.terms)
    answer = tree.run(model.log_potentials)
    # The clique marginals once more, as the gradient of log Z.
    small = tree.run([table.float() for table in model.log_potentials])
    gradient_of = [table.clone().requires_grad_() for table in model.log_potentials]
    gradients = torch.autograd.grad(tree.log_partition(gradient_of), gradient_of)
    for found, expected in zip(answer.clique_marginals, gradients, strict=True):
        close(found, expected.numpy())
    for found, expected in zip(small.marginals, answer.marginals, strict=True):
        close(found.double(), expected.numpy(), 1e-4)
    inside = [k for k, scope in enumerate(model.cliques) if all(v < 13 for v in scope)]
    core = MarkovNetwork([2] * 13, [model.cliques[k] for k in inside], [model.log_potentials[k] for k in inside])
    close(infer(core).log_partition, listed(core))


def listed(model: MarkovNetwork) -> float:
    """The log partition function by scoring every assignment at once."""
    everything = torch.cartesian_prod(*(torch.arange(n) for n in model.cardinalities))
    return torch.logsumexp(model.log_score(everything), 0).item()


def test_numbers_of_any_size_keep_their_digits() -> None:
    """Both states of the first variable lose by thousands somewhere; the answer is their difference."""
    far = torch.tensor([-8000.0, 0.0], dtype=torch.float64)
    near = torch.tensor([[0.0, -1e9], [-1e9, -8001.0]], dtype=torch.float64)
    model = MarkovNetwork([2, 2], [(0,), (0, 1)], [far, near])
    answer = infer(model)
    assert answer.log_partition.item() == pytest.approx(-8000 + np.log1p(np.exp(-1)))
    close(answer.marginals[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_without_variables_or_cliques() -> None:
    assert infer(MarkovNetwork([], [], [])).marginals == []
    answer = infer(MarkovNetwork([2, 1], [], []))
    assert [each.tolist() for each in answer.marginals] == [[0.5, 0.5], [1.0]]
    assert answer.log_partition.item() == pytest.approx(np.log(2))
    everything_seen = infer(CHAIN, {0: 1, 1: 0})
    assert everything_seen.log_partition.item() == pytest.approx(np.log(0.3))
    assert everything_seen.clique_marginals[0].tolist() == [[0, 0], [1, 0]]


def test_many_variables_of_one_state_cost_nothing() -> None:
    """torch has no tensors of 70 axes."""
    table = torch.tensor([0.25, 0.75], dtype=torch.float64).log()
    wide = MarkovNetwork([1] * 60 + [2], [tuple(range(61)), (60,)], [table.reshape([1] * 60 + [2]), table])
    tree = JunctionTree.of(wide)
    assert tree.entries == 2
    answer = tree.run(wide.log_potentials)
    assert answer.marginals[0].tolist() == [1.0]
    close(answer.marginals[60], [0.1, 0.9])
    assert answer.clique_marginals[0].shape == wide.log_potentials[0].shape


def test_reprs_are_short() -> None:
    tree = JunctionTree.of(CHAIN, {0: 1}, memory_limit=100)
    shown = "JunctionTree(num_variables=2, observed=1, num_cliques=1, width=0, entries=2, memory_limit=100)"
    assert repr(tree) == shown
    assert repr(tree.run(CHAIN.log_potentials)) == f"Answer({shown}, batch=())"


def test_batched_equals_looped() -> None:
    graph = nt.Graph([[0, 1, 2, 3, 0, 5], [1, 2, 3, 0, 4, 6]], num_nodes=8)
    model = random_markov_network(graph, [2, 3, 2, 4, 3, 2, 2, 1], scale=2, seed=5, batch=(3, 4))
    tree = JunctionTree.of(model, {1: 2})
    answer = tree.run(model.log_potentials)
    assignment, score = tree.map(model.log_potentials)
    assert answer.log_partition.shape == score.shape == (3, 4)
    assert assignment.shape == (3, 4, 8)
    for place in np.ndindex(3, 4):
        tables = [table[place] for table in model.log_potentials]
        alone = tree.run(tables)
        close(answer.log_partition[place], alone.log_partition.item(), 1e-12)
        for one, other in zip(answer.marginals, alone.marginals, strict=True):
            close(one[place], other.numpy(), 1e-12)
        for one, other in zip(answer.clique_marginals, alone.clique_marginals, strict=True):
            close(one[place], other.numpy(), 1e-12)
        best, value = tree.map(tables)
        assert best.tolist() == assignment[place].tolist()
        close(score[place], value.item(), 1e-12)


def test_a_batch_of_none() -> None:
    model = random_markov_network(nt.Graph([[0], [1]]), 2, batch=0)
    assert infer(model).marginals[0].shape == (0, 2)


@given(drawn=models(max_variables=5))
@settings(deadline=None, max_examples=100)
def test_the_gradient_of_the_log_partition_is_the_clique_marginals(
    drawn: tuple[MarkovNetwork, dict[int, int]],
) -> None:
    model, evidence = drawn
    joint = joint_of(model, evidence)
    assume(joint.best > -np.inf and len(model.cliques) > 0)
    tables = [table.clone().requires_grad_() for table in model.log_potentials]
    answer = JunctionTree.of(model, evidence).run(tables)
    gradients = torch.autograd.grad(answer.log_partition, tables)
    for clique, gradient, marginal in zip(model.cliques, gradients, answer.clique_marginals, strict=True):
        close(gradient, joint.marginal(*clique))
        close(marginal, joint.marginal(*clique))


@pytest.mark.parametrize("evidence", [{}, {1: 1}])
def test_marginals_are_differentiable_twice(evidence: dict[int, int]) -> None:
    model = random_markov_network(nt.Graph([[0, 1, 2], [1, 2, 0]], num_nodes=4), [2, 3, 2, 2], seed=8)
    tree = JunctionTree.of(model, evidence)

    def answers(*tables: torch.Tensor) -> tuple[torch.Tensor, ...]:
        answer = tree.run(tables)
        return (answer.log_partition, *(each for v, each in enumerate(answer.marginals) if v not in evidence))

    tables = [table.clone().requires_grad_() for table in model.log_potentials]
    assert torch.autograd.gradcheck(answers, tables)
    assert torch.autograd.gradgradcheck(lambda *given: tree.log_partition(given), tables)


def test_gradients_meet_zeros_without_nan() -> None:
    table = torch.tensor([[0.0, -torch.inf], [-torch.inf, -torch.inf]], dtype=torch.float64, requires_grad=True)
    other = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    answer = infer(MarkovNetwork([2, 2, 2], [(0, 1), (1, 2)], [table, other]))
    (answer.log_partition + answer.marginals[2][0]).backward()
    assert table.grad is not None and other.grad is not None
    assert table.grad.tolist() == [[1, 0], [0, 0]]
    assert other.grad.tolist() == [[0.75, 0.25], [0, 0]]


def test_single_precision_stays_within_its_digits() -> None:
    """A 6 × 6 grid of three states, strongly coupled."""
    nodes = np.arange(36).reshape(6, 6)
    edges = np.concatenate(
        [np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()]), np.stack([nodes[:-1].ravel(), nodes[1:].ravel()])], 1
    )
    model = random_markov_network(nt.Graph(edges), 3, scale=2, seed=1, batch=5)
    tree = JunctionTree.of(model)
    exact = tree.run(model.log_potentials)
    rough = tree.run([table.float() for table in model.log_potentials])
    assert rough.log_partition.dtype == rough.marginals[0].dtype == torch.float32
    assert ((rough.log_partition - exact.log_partition) / exact.log_partition).abs().max() < 1e-6
    error = max((a - b).abs().max().item() for a, b in zip(rough.marginals, exact.marginals, strict=True))
    assert error < 5e-5


def test_half_precision_is_refused() -> None:
    with pytest.raises(nt.InputError, match=r"Expected tables of float32 or float64; got torch.float16"):
        JunctionTree.of(CHAIN).run([CHAIN.log_potentials[0].half()])


@pytest.mark.gpu
def test_answers_are_where_the_tables_are() -> None:
    model = random_markov_network(nt.Graph([[0, 1, 2, 3, 0], [1, 2, 3, 0, 4]]), 3, batch=10)
    tree = JunctionTree.of(model, {2: 0})
    there = [table.cuda().requires_grad_() for table in model.log_potentials]
    answer = tree.run(there)
    expected = tree.run(model.log_potentials)
    for one, other in zip(answer.marginals, expected.marginals, strict=True):
        assert one.is_cuda
        close(one.cpu(), other.numpy())
    answer.log_partition.sum().backward()
    assert there[0].grad is not None and there[0].grad.is_cuda
    assert tree.map(there)[0].is_cuda
    assert tree.sample(there, 3, generator=torch.Generator("cuda").manual_seed(0)).shape == (3, 10, 5)


def test_too_large_a_model_is_refused_before_anything_is_allocated() -> None:
    clique = [(a, b) for a in range(60) for b in range(a)]
    model = random_markov_network(nt.Graph(torch.tensor(clique).T), 2)
    with pytest.raises(nt.ModelTooLargeError) as caught:
        JunctionTree.of(model)
    assert caught.value.needed == 8 * 2.0**60
    for words in (f"{8 * 2**60:,} bytes", "width 59", "Observe more variables", "raise memory_limit"):
        assert words in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    JunctionTree.of(model, dict.fromkeys(range(50), 0))


def test_the_limit_counts_the_batch_and_the_precision() -> None:
    tree = JunctionTree.of(CHAIN, memory_limit=4 * 8)
    tree.run(CHAIN.log_potentials)
    many = [CHAIN.log_potentials[0].expand(2, 2, 2)]
    with pytest.raises(nt.ModelTooLargeError, match="needs 64 bytes"):
        tree.run(many)
    tree.run([many[0].float()])


def test_the_limit_counts_what_a_gradient_needs() -> None:
    tree = JunctionTree.of(CHAIN, memory_limit=2 * 4 * 8)
    tables = [table.clone().requires_grad_() for table in CHAIN.log_potentials]
    with pytest.raises(nt.ModelTooLargeError, match="needs 96 bytes"):
        tree.run(tables)
    with torch.no_grad():
        tree.run(tables)


def test_the_limit_is_that_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10, 5000))
    assert default_memory_limit(torch.device("cuda")) == 2500
    assert default_memory_limit(torch.device("cpu")) > 2**28


@pytest.mark.parametrize("limit", [-1, float("inf"), float("nan")])
def test_bad_limits_are_refused(limit: float) -> None:
    with pytest.raises(nt.InputError, match="Expected memory_limit in bytes, from 0 to 2"):
        JunctionTree.of(CHAIN, memory_limit=limit)


def test_a_size_beyond_all_numbers_has_no_digits() -> None:
    assert "needs more than 10^30 bytes" in str(nt.ModelTooLargeError(float("inf"), 1, 120))


@pytest.mark.parametrize("evidence", [{0: 0.9}, {"a": 1}, {0: "1"}])
def test_evidence_is_of_integers(evidence: dict[object, object]) -> None:
    with pytest.raises(nt.InputError, match="Expected evidence as a dictionary of integers, variable: state; got"):
        infer(CHAIN, evidence)


def test_bad_evidence_is_named() -> None:
    with pytest.raises(nt.InputError, match="Expected evidence on variables between 0 and 1; got 2"):
        infer(CHAIN, {2: 0})
    with pytest.raises(nt.InputError, match="Expected a state between 0 and 1 for variable 0; got 2"):
        infer(CHAIN, {0: 2})


def test_impossible_entries_of_a_batch_are_named() -> None:
    tables = torch.zeros(3, 2)
    tables[1] = -torch.inf
    with pytest.raises(nt.ZeroProbabilityError, match="in entry 1 of the batch"):
        infer(MarkovNetwork([2], [(0,)], [tables]))
    with pytest.raises(nt.InputError, match=r"Expected log-potentials below \+inf; got nan or \+inf"):
        infer(MarkovNetwork([2], [(0,)], [torch.tensor([0.0, torch.nan])]))


def test_other_tables_than_the_structure_has_are_refused() -> None:
    tree = JunctionTree.of(CHAIN)
    with pytest.raises(nt.InputError, match=r"Expected shape \(2, 2\) for table 0"):
        tree.run([torch.zeros(2, 3)])
    with pytest.raises(nt.InputError, match="Expected one table per clique, 1 in all; got 2"):
        tree.run([torch.zeros(2, 2)] * 2)


def test_progress_adds_up_to_twice_the_entries() -> None:
    model = random_markov_network(nt.Graph([[0, 1, 2], [1, 2, 3]]), 3)
    tree = JunctionTree.of(model)
    seen: list[int] = []
    tree.run(model.log_potentials, progress=seen.append)
    assert sum(seen) == 2 * tree.entries == 2 * 3 * 9


def test_the_potentials_are_left_as_they_were() -> None:
    cardinalities = [2, 2, 3]
    cliques: list[tuple[int, ...]] = [(0, 1, 2), (2,), (0,)]
    tables = random_tables(cardinalities, cliques, 0, 1.0, 0.2)
    before = [table.clone() for table in tables]
    tree = JunctionTree.of(MarkovNetwork(cardinalities, cliques, tables))
    tree.run(tables)
    tree.map(tables)
    tree.sample(tables, 5)
    assert all(map(torch.equal, tables, before))
