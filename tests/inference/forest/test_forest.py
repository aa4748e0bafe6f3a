"""Many graphs at once against listing every assignment of each, and against a junction tree for each."""

from __future__ import annotations

import copy
import pickle
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

import neuraltrees as nt
from neuraltrees.inference import Forest, JunctionTree
from neuraltrees.inference.forest import arithmetic
from tests.inference.forest.forests import Drawn, draw_forest, forests, random_graphs

PAIR = nt.Graph([[0], [1]])
TABLE = torch.tensor([[[0.1, 0.2], [0.3, 0.4]]], dtype=torch.float64).log()


def close(found: Tensor, expected: object, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def without_log_space(forest: Forest) -> Forest:
    """A forest that fails if it is not sure of its sums."""
    forest.__dict__["_log_chunks"] = None
    return forest


def test_a_table_of_two_variables() -> None:
    forest = Forest.of(PAIR, 2)
    answer = forest.run(torch.zeros(2, 2, dtype=torch.float64), TABLE)
    close(answer.log_partition, [0.0])
    close(answer.marginals, [[0.3, 0.7], [0.4, 0.6]])
    assert repr(forest) == (
        "Forest(num_graphs=1, num_variables=2, num_edges=1, num_tables=1, width=1, num_chunks=1, num_groups=2, "
        "entries=11, chunk_entries=4194304, memory_limit=None)"
    )


def test_known_labels_are_unaries() -> None:
    unary = torch.tensor([[-torch.inf, 0.0], [0.0, 0.0]], dtype=torch.float64)
    answer = Forest.of(PAIR, 2).run(unary, TABLE)
    close(answer.log_partition, [np.log(0.7)])
    close(answer.marginals, [[0, 1], [3 / 7, 4 / 7]])


@given(drawn=forests())
@settings(deadline=None, max_examples=300)
def test_agrees_with_listing_every_assignment(drawn: Drawn) -> None:
    joints, forest = drawn.joints(), drawn.forest()
    log_partition = forest.log_partition(*drawn.potentials)
    close(log_partition, [joint.log_partition for joint in joints])
    if not drawn.possible:
        for ask in (forest.run, forest.map, lambda *given: forest.sample(*given, torch.rand(len(drawn.unary)))):
            with pytest.raises(nt.ZeroProbabilityError, match="Expected evidence of positive probability"):
                ask(*drawn.potentials)
        return
    answer = forest.run(*drawn.potentials)
    assert torch.equal(answer.log_partition, log_partition)
    rows = iter(answer.marginals)
    for joint in joints:
        for v, states in enumerate(joint.cardinalities):
            row = next(rows)
            close(row[:states], joint.marginal(v))
            assert row[states:].tolist() == [0.0] * (len(row) - states)


@given(drawn=forests(zeros=0.2))
@settings(deadline=None, max_examples=150)
def test_large_tables_are_overwritten_where_nobody_needs_them(drawn: Drawn) -> None:
    """As if all tables were large."""
    assume(drawn.possible)
    forest = drawn.forest()
    expected = forest.run(*drawn.potentials)
    with patch.object(arithmetic, "LARGE", 0):
        answer = forest.run(*drawn.potentials)
    close(answer.log_partition, expected.log_partition.numpy(), 1e-12)
    close(answer.marginals, expected.marginals.numpy(), 1e-12)


@given(drawn=forests(zeros=0.2), data=st.data())
@settings(deadline=None, max_examples=100)
def test_any_order_gives_the_same(drawn: Drawn, data: st.DataObject) -> None:
    assume(drawn.possible)
    order = data.draw(st.permutations(range(len(drawn.cardinalities))), label="order")
    answer, expected = drawn.forest(order=order).run(*drawn.potentials), drawn.forest().run(*drawn.potentials)
    close(answer.log_partition, expected.log_partition.numpy())
    close(answer.marginals, expected.marginals.numpy())


@given(drawn=forests(zeros=0.2), entries=st.integers(1, 100))
@settings(deadline=None, max_examples=60)
def test_chunks_and_unions_and_lists_give_the_same(drawn: Drawn, entries: int) -> None:
    assume(drawn.possible)
    expected = drawn.forest().run(*drawn.potentials)
    chunked = drawn.forest(chunk_entries=entries).run(*drawn.potentials)
    close(chunked.log_partition, expected.log_partition.numpy())
    close(chunked.marginals, expected.marginals.numpy())
    union = nt.Graph.union(drawn.graphs)
    forest = Forest.of(union, drawn.cardinalities, owner=torch.tensor(drawn.owner), relation=drawn.relation)
    filled = len(forest.log_partition(*drawn.potentials))  # the last graphs may have no variables
    assert torch.equal(forest.run(*drawn.potentials).marginals, expected.marginals)
    assert torch.equal(forest.log_partition(*drawn.potentials), expected.log_partition[:filled])


@pytest.mark.parametrize(("nodes", "edges", "states"), [(12, 16, 5), (9, 22, 4), (20, 24, 3), (8, 28, 3)])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_agrees_with_a_junction_tree_for_each(nodes: int, edges: int, states: int, scale: float) -> None:
    graphs = random_graphs(12, nodes, edges)
    cardinalities = np.random.default_rng(1).integers(1, states + 1, 12 * nodes).tolist()
    drawn = draw_forest(graphs, cardinalities, scale=scale)
    answer = drawn.forest().run(*drawn.potentials)
    found = [JunctionTree.of(model).run(model.log_potentials) for model in drawn.models()]
    close(answer.log_partition, [each.log_partition.item() for each in found])
    for row, expected in zip(answer.marginals, [each for one in found for each in one.marginals], strict=True):
        close(row[: len(expected)], expected.numpy())


def test_one_by_one_gives_the_same() -> None:
    drawn = draw_forest(random_graphs(20, 6, 7), [4] * 120, seed=3)
    answer = drawn.forest().run(*drawn.potentials)
    for i, graph in enumerate(drawn.graphs):
        nodes, edges = slice(6 * i, 6 * i + 6), slice(7 * i, 7 * i + 7)
        alone = Forest.of(graph, 4).run(drawn.unary[nodes], drawn.pairwise[edges])
        close(answer.log_partition[i], alone.log_partition[0].item(), 1e-12)
        close(answer.marginals[nodes], alone.marginals.numpy(), 1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_batch_of_potentials_is_a_loop_over_them(shared: bool, scale: float) -> None:
    forest = Forest.of(random_graphs(4, 5, 6), [2, 3, 1, 3, 2] * 4)
    rng = torch.Generator().manual_seed(0)
    unary = scale * torch.randn(2, 3, 20, 3, generator=rng, dtype=torch.float64)
    pairwise = scale * torch.randn(*(() if shared else (2, 3)), 24, 3, 3, generator=rng, dtype=torch.float64)
    uniform = torch.rand(7, 2, 3, 20, generator=rng, dtype=torch.float64)
    answer, states = forest.run(unary, pairwise), forest.sample(unary, pairwise, uniform)
    best, score = forest.map(unary, pairwise)
    assert answer.log_partition.shape == score.shape == (2, 3, 4)
    assert answer.marginals.shape == (2, 3, 20, 3) and states.shape == (7, 2, 3, 20) and best.shape == (2, 3, 20)
    for place in np.ndindex(2, 3):
        given = unary[place], pairwise if shared else pairwise[place]
        alone = forest.run(*given)
        close(answer.log_partition[place], alone.log_partition.numpy(), 1e-12)
        close(answer.marginals[place], alone.marginals.numpy(), 1e-12)
        assert torch.equal(states[:, *place], forest.sample(*given, uniform[:, *place]))
        assert torch.equal(best[place], forest.map(*given)[0])


def test_nothing_to_find() -> None:
    forest = Forest.of([], 3)
    answer = forest.run(torch.zeros(0, 1), torch.zeros(0, 1, 1))
    assert answer.log_partition.shape == (0,) and answer.marginals.shape == (0, 1)
    apart = Forest.of([nt.Graph([[], []], num_nodes=2), nt.Graph([[], []], num_nodes=0)], [2, 3])
    answer = apart.run(torch.zeros(2, 3), torch.zeros(0, 3, 3))
    close(answer.log_partition, [np.log(6), 0.0], 1e-6)
    close(answer.marginals, [[1 / 2, 1 / 2, 0], [1 / 3] * 3], 1e-6)
    no_batch = Forest.of(PAIR, 2).run(torch.zeros(0, 2, 2), torch.zeros(1, 2, 2))
    assert no_batch.log_partition.shape == (0, 1) and no_batch.marginals.shape == (0, 2, 2)


def test_variables_of_one_state_join_nothing() -> None:
    """A hundred of them, all adjacent, around a pair; torch has no tensors of 100 axes."""
    graph = nt.Graph.from_networkx(nx.complete_graph(102))
    forest = Forest.of(graph, [1] * 100 + [2, 2], relation=[0] * graph.num_edges)
    assert forest.structure.elimination.width == 1
    table = torch.tensor([[0.5, 1.0], [0.25, 2.0]], dtype=torch.float64).log()
    answer = forest.run(torch.zeros(102, 2, dtype=torch.float64), table[None])
    weights = np.array([[0.5, 1.0], [0.25, 2.0]]) * np.outer([0.5**100, 1.0], [0.5**100, 1.0])
    close(answer.log_partition, [4950 * np.log(0.5) + np.log(weights.sum())])
    close(answer.marginals[100], weights.sum(1) / weights.sum())


def test_moderate_potentials_need_no_logarithms() -> None:
    """Also unaries of any size, and known labels: only tables of pairs can make a sum small."""
    drawn = draw_forest(random_graphs(30, 10, 15), [5] * 300, seed=2, scale=2.0)
    unary = 1e4 * drawn.unary
    unary[::2, 1:] = -torch.inf
    forest = without_log_space(drawn.forest())
    marginals = forest.run(unary, drawn.pairwise).marginals
    close(marginals.sum(-1), np.ones(300))


def test_numbers_of_any_size_keep_their_digits() -> None:
    """Both states of the first variable lose by thousands somewhere; the answer is their difference."""
    unary = torch.tensor([[-8000.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    near = torch.tensor([[[0.0, -1e9], [-1e9, -8001.0]]], dtype=torch.float64)
    for order in ([0, 1], [1, 0]):
        answer = Forest.of(PAIR, 2, order=order).run(unary, near)
        close(answer.log_partition, [-8000 + np.log1p(np.exp(-1))])
        close(answer.marginals[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_a_hub_receives_any_number_of_messages() -> None:
    """2,000 leaves, half of which prefer either state of the hub by e^5 each: e^±5000 is no float."""
    star = nt.Graph.from_networkx(nx.star_graph(2000))
    alike = torch.tensor([[[5.0, 0.0], [0.0, 5.0]]], dtype=torch.float64)
    unary = torch.zeros(2001, 2, dtype=torch.float64)
    unary[1:1001, 1] = unary[1001:, 0] = -torch.inf
    unary[0, 0] = 1.0
    answer = without_log_space(Forest.of(star, 2, relation=[0] * 2000)).run(unary, alike)
    close(answer.log_partition, [5000 + np.log1p(np.e)])
    close(answer.marginals[0, 0], np.e / (1 + np.e))


@given(drawn=forests(variables=5))
@settings(deadline=None, max_examples=100)
def test_the_gradient_of_log_z_is_the_marginals(drawn: Drawn) -> None:
    assume(drawn.possible and drawn.cardinalities)
    unary, pairwise = (torch.nan_to_num(each, neginf=-torch.inf).requires_grad_() for each in drawn.potentials)
    answer = drawn.forest().run(unary, pairwise)
    of_unary, of_pairwise = torch.autograd.grad(answer.log_partition.sum(), (unary, pairwise), allow_unused=True)
    close(of_unary, answer.marginals.detach().numpy())
    expected = np.zeros(pairwise.shape)
    edge = 0
    for joint, model in zip(drawn.joints(), drawn.models(), strict=True):
        for clique in model.cliques[model.num_variables :]:
            table = expected[edge if drawn.relation is None else drawn.relation[edge]]
            marginal = joint.marginal(*clique)
            table[: marginal.shape[0], : marginal.shape[1]] += marginal
            edge += 1
    if edge:
        close(of_pairwise, expected)


@pytest.mark.parametrize("shift", [0.0, 900.0])
def test_marginals_are_differentiable_twice(shift: float) -> None:
    """In linear space, and in log space, which a table that prefers its diagonal by e^900 needs."""
    graphs = [nt.Graph([[0, 1, 2, 2], [1, 2, 0, 3]]), PAIR]
    drawn = draw_forest(graphs, [2, 3, 2, 2, 3, 2], seed=8)
    forest = drawn.forest()
    weight = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    unary = drawn.unary.nan_to_num().requires_grad_()
    pairwise = (drawn.pairwise.nan_to_num() - shift * (1 - torch.eye(3, dtype=torch.float64))).requires_grad_()

    def answers(unary: Tensor, pairwise: Tensor) -> tuple[Tensor, Tensor]:
        answer = forest.run(unary, pairwise)
        return answer.log_partition, (answer.marginals * weight).sum()

    assert torch.autograd.gradcheck(answers, (unary, pairwise))
    assert torch.autograd.gradgradcheck(forest.log_partition, (unary, pairwise))


@pytest.mark.parametrize("corner", [0.0, -torch.inf])
def test_gradients_meet_zeros_without_nan(corner: float) -> None:
    pairwise = torch.zeros(2, 2, 2, dtype=torch.float64)
    pairwise[0] = torch.tensor([[0.0, corner], [corner, corner]])
    unary = torch.zeros(3, 2, dtype=torch.float64)
    unary[2, 0] = -torch.inf
    unary.requires_grad_()
    pairwise.requires_grad_()
    answer = Forest.of(nt.Graph([[0, 1], [1, 2]]), 2).run(unary, pairwise)
    (answer.log_partition.sum() + answer.marginals[0, 0]).backward()
    for each in (unary, pairwise):
        assert each.grad is not None and bool(each.grad.isfinite().all())


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_single_precision_stays_within_its_digits(scale: float) -> None:
    drawn = draw_forest(random_graphs(30, 10, 18), [4] * 300, seed=5, scale=scale)
    forest = drawn.forest()
    exact, rough = forest.run(*drawn.potentials), forest.run(*(each.float() for each in drawn.potentials))
    assert rough.log_partition.dtype == rough.marginals.dtype == torch.float32
    assert ((rough.log_partition - exact.log_partition) / exact.log_partition).abs().max() < 1e-5
    assert (rough.marginals - exact.marginals).abs().max() < 1e-4 * max(1.0, scale)


def test_tables_beyond_those_with_edges_are_not_read() -> None:
    drawn = draw_forest(random_graphs(2, 4, 4), [2] * 8, relation=[0, 1] * 4)
    expected = drawn.forest().run(*drawn.potentials)
    more = torch.cat([drawn.pairwise, torch.full((3, 2, 2), torch.nan, dtype=torch.float64)])
    assert torch.equal(drawn.forest().run(drawn.unary, more).marginals, expected.marginals)


def test_tables_have_the_lower_number_first() -> None:
    forest = Forest.of(nt.Graph([[2, 0], [1, 2]]), [2, 3, 2], order=[2, 1, 0])
    assert forest.edges.tolist() == [[0, 1], [2, 2]]
    pairwise = torch.zeros(2, 3, 3, dtype=torch.float64)
    pairwise[1, :, 1] = torch.tensor([0.0, 1.0, 2.0])
    unary = torch.zeros(3, 3, dtype=torch.float64)
    unary[2, 0] = -torch.inf
    close(forest.run(unary, pairwise).marginals[1], torch.arange(3.0).softmax(0).numpy(), 1e-6)


def test_as_pyg_uses_it() -> None:
    graph = Data(x=torch.randn(3, 2), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    batch = Batch.from_data_list([graph, graph])
    forest = Forest.of(nt.Graph.from_data(batch), 2, owner=batch.batch)
    assert forest.log_partition(batch.x, torch.zeros(4, 2, 2)).shape == (2,)


def test_groups_do_not_grow_with_the_number_of_graphs() -> None:
    graphs = random_graphs(400, 8, 10)
    few, many = (Forest.of(some, 4, chunk_entries=2**30) for some in (graphs[:100], graphs))
    assert len(many.chunks) == 1
    assert len(many.chunks[0].groups) < 1.5 * len(few.chunks[0].groups) < 60


def test_copies_do_the_same() -> None:
    drawn = draw_forest(random_graphs(3, 5, 6), [3] * 15)
    forest = drawn.forest()
    expected = forest.run(*drawn.potentials).marginals
    for other in (copy.deepcopy(forest), pickle.loads(pickle.dumps(forest)), forest.to("cpu")):
        assert torch.equal(other.run(*drawn.potentials).marginals, expected)


def test_the_potentials_are_left_as_they_were() -> None:
    for scale in (1.0, 1000.0):
        drawn = draw_forest(random_graphs(3, 5, 7), [3] * 15, scale=scale)
        before = [each.clone() for each in drawn.potentials]
        forest = drawn.forest()
        forest.run(*drawn.potentials)
        forest.map(*drawn.potentials)
        forest.sample(*drawn.potentials, torch.rand(4, 15))
        assert all(torch.equal(a, b) for a, b in zip(before, drawn.potentials, strict=True))


def test_too_large_a_model_is_refused_before_anything_is_allocated() -> None:
    complete = nt.Graph.from_networkx(nx.complete_graph(60))
    with pytest.raises(nt.ModelTooLargeError) as caught:
        Forest.of([PAIR, complete], 2)
    for words in (f"needs {8 * 2**59:,} bytes", "width 59", "Observe more variables", "raise memory_limit"):
        assert words in str(caught.value)


def test_the_limit_counts_the_batch_the_precision_and_the_gradient() -> None:
    entries = 11  # of a pair: a table of 4, a variable of 2, a message of 2; then a variable of 2 and a sum
    forest = Forest.of([PAIR] * 3, 2, memory_limit=8 * 3 * entries)
    unary, pairwise = torch.zeros(6, 2, dtype=torch.float64), TABLE.expand(3, 2, 2)
    assert forest.entries == 3 * entries
    forest.run(unary, pairwise)
    with pytest.raises(nt.ModelTooLargeError, match=f"needs {2 * 8 * 3 * entries} bytes"):
        forest.run(unary.expand(2, 6, 2), pairwise)
    forest.run(unary.expand(2, 6, 2).float(), pairwise.float())
    with pytest.raises(nt.ModelTooLargeError, match=f"needs {3 * 8 * 3 * entries} bytes"):
        forest.run(unary.clone().requires_grad_(), pairwise)
    # In chunks of a graph each, no more than one is in memory.
    assert len(Forest.of([PAIR] * 3, 2, memory_limit=8 * entries, chunk_entries=1).chunks) == 3
    with pytest.raises(nt.ModelTooLargeError):
        Forest.of([PAIR] * 3, 2, memory_limit=8 * entries)


def test_tables_in_log_space_count_as_well() -> None:
    """A clique of four variables of 9 states: 9^4 entries without a split."""
    drawn = draw_forest([nt.Graph.from_networkx(nx.complete_graph(4))], [9] * 4, scale=2000.0)
    entries = sum(9 ** (d + 1) + 9**d for d in range(4))
    with pytest.raises(nt.ModelTooLargeError, match=f"width 3, needs {8 * entries:,} bytes"):
        drawn.forest(memory_limit=8 * entries - 1).run(*drawn.potentials)
    forest = drawn.forest(memory_limit=8 * entries)
    forest.run(*drawn.potentials)
    with pytest.raises(nt.ModelTooLargeError, match=f"needs {2 * 8 * entries:,} bytes"):
        forest.map(drawn.unary.expand(2, 4, 9), drawn.pairwise)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cardinalities": [2, 2, 2]}, r"Expected cardinalities as 2 integers; got int64 of shape \(3,\)"),
        ({"cardinalities": [2, 0]}, "Expected cardinalities of at least 1; got 0 in place 1"),
        ({"cardinalities": [2.0, 2.0]}, "Expected cardinalities as 2 integers; got float64"),
        ({"owner": [0, 1]}, r"Expected edges inside graphs; edge \(0, 1\) joins variables of different owners"),
        ({"owner": [0, -1]}, "Expected owner of at least 0; got -1 in place 1"),
        ({"relation": [0, 1]}, "Expected relation as 1 integers"),
        ({"order": [0]}, "Expected an order of all 2 variables; got 1 of them"),
        ({"order": [0, 2]}, "Expected nodes between 0 and 1; got 2"),
        ({"order": [0, 0]}, "Expected distinct nodes"),
        ({"chunk_entries": 0}, "Expected chunk_entries as an integer of at least 1; got 0"),
        ({"memory_limit": -1}, r"Expected memory_limit in bytes, from 0 to 2\^63; got -1"),
    ],
)
def test_wrong_structures(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        Forest.of(PAIR, **{"cardinalities": 2, **arguments})


def test_an_owner_beside_a_list() -> None:
    with pytest.raises(nt.InputError, match=r"Expected owner only for a union of graphs; got it with a list"):
        Forest.of([PAIR], 2, owner=[0, 0])


@pytest.mark.parametrize(
    ("unary", "pairwise", "message"),
    [
        (torch.zeros(3, 2), torch.zeros(1, 2, 2), r"Expected log_unary of shape \(\*, 2, 2\).*got \(3, 2\)"),
        (torch.zeros(2, 3), torch.zeros(1, 2, 2), r"Expected log_unary of shape \(\*, 2, 2\).*Pad variables"),
        (torch.zeros(2), torch.zeros(1, 2, 2), r"Expected log_unary of shape"),
        (torch.zeros(2, 2), torch.zeros(0, 2, 2), r"Expected log_pairwise of shape \(1, 2, 2\).*got \(0, 2, 2\)"),
        (torch.zeros(2, 2), torch.zeros(2, 2), r"Expected log_pairwise of shape \(1, 2, 2\)"),
        (torch.zeros(4, 2, 2), torch.zeros(3, 1, 2, 2), r"or with the batch \(4,\) of log_unary before it"),
        (torch.zeros(2, 2).half(), torch.zeros(1, 2, 2).half(), "Expected potentials of float32 or of float64"),
        (torch.zeros(2, 2), torch.zeros(1, 2, 2).double(), "got torch.float64 in log_pairwise"),
        (torch.zeros(2, 2).long(), torch.zeros(1, 2, 2), "got torch.int64 in log_unary"),
        (torch.zeros(2, 2), torch.zeros(1, 2, 2, device="meta"), "Expected potentials on cpu, where the forest is"),
    ],
)
def test_wrong_potentials(unary: Tensor, pairwise: Tensor, message: str) -> None:
    forest = Forest.of(PAIR, 2)
    for ask in (forest.run, forest.log_partition, forest.map):
        with pytest.raises(nt.InputError, match=message):
            ask(unary, pairwise)


@pytest.mark.parametrize("uniform", [torch.zeros(3), torch.zeros(2, 1), torch.zeros(2).long(), torch.zeros(())])
def test_wrong_uniform_numbers(uniform: Tensor) -> None:
    with pytest.raises(
        nt.InputError, match=r"Expected uniform numbers of shape \(\*, 2\) on cpu, one per variable; got"
    ):
        Forest.of(PAIR, 2).sample(torch.zeros(2, 2), torch.zeros(1, 2, 2), uniform)


def test_wrong_numbers_name_their_graph() -> None:
    forest = Forest.of([PAIR] * 3, 2)
    unary, pairwise = torch.zeros(6, 2), torch.zeros(3, 2, 2)
    for wrong in (torch.nan, torch.inf):
        bad = unary.clone()
        bad[3, 0] = wrong
        with pytest.raises(nt.InputError, match=r"Expected log-potentials below \+inf; got nan or \+inf in graph 1\."):
            forest.run(bad, pairwise)
        bad = pairwise.clone()
        bad[2, 1, 0] = wrong
        with pytest.raises(nt.InputError, match=r"got nan or \+inf in graph 2\."):
            forest.run(unary, bad)
    unary[3] = -torch.inf
    with pytest.raises(nt.ZeroProbabilityError, match="in graph 1, whose variable 3 has no possible state"):
        forest.run(unary, pairwise)
    with pytest.raises(nt.ZeroProbabilityError, match="in graph 1 of entry 1 of the batch, whose variable 3"):
        forest.run(torch.stack([torch.zeros(6, 2), unary]), pairwise)
    pairwise[2] = -torch.inf
    with pytest.raises(nt.ZeroProbabilityError, match=r"probability 0 in graph 2\. Check"):
        forest.run(torch.zeros(6, 2), pairwise)


def test_without_a_check_other_graphs_are_right() -> None:
    forest = Forest.of([PAIR] * 3, 2)
    unary, pairwise = torch.zeros(6, 2, dtype=torch.float64), TABLE.repeat(3, 1, 1)
    expected = forest.run(unary, pairwise)
    unary[3] = -torch.inf
    answer = without_log_space(forest).run(unary, pairwise, check=False)
    assert not answer.log_partition[1].isfinite()
    close(answer.log_partition[[0, 2]], expected.log_partition[[0, 2]].numpy())
    close(answer.marginals[[0, 1, 4, 5]], expected.marginals[[0, 1, 4, 5]].numpy())


@pytest.mark.parametrize("tracked", [False, True])
def test_the_passes_never_look_at_a_number(tracked: bool) -> None:
    """On a device without any, where a GPU would have to be waited for."""
    drawn = draw_forest(random_graphs(10, 8, 11), [4, 1, 3, 2] * 20)
    there = drawn.forest(chunk_entries=300).to("meta")
    assert there.device.type == there.edges.device.type == "meta" and len(there.chunks) > 1
    unary, pairwise = (each.to("meta").requires_grad_(tracked) for each in drawn.potentials)
    answer = there.run(unary, pairwise, check=False)
    assert answer.marginals.shape == (80, 4) and answer.log_partition.shape == (10,)
    if tracked:
        (answer.log_partition.sum() + answer.marginals.square().sum()).backward()
        assert unary.grad is not None and unary.grad.shape == unary.shape
    uniform = torch.rand(9, 80, device="meta")
    assert there.sample(unary, pairwise, uniform, check=False).shape == (9, 80)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_answers_are_where_the_potentials_are() -> None:
    drawn = draw_forest(random_graphs(40, 8, 11), [4] * 320, scale=2.0)
    forest = drawn.forest()
    there = forest.to("cuda")
    unary, pairwise = (each.cuda().requires_grad_() for each in drawn.potentials)
    torch.cuda.set_sync_debug_mode("error")
    try:
        answer = there.run(unary, pairwise, check=False)
        answer.log_partition.sum().backward()
        uniform = torch.rand(9, 320, device="cuda")
        states = there.sample(unary, pairwise, uniform, check=False)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    expected = forest.run(*drawn.potentials)
    close(answer.marginals.cpu(), expected.marginals.numpy())
    assert unary.grad is not None
    close(unary.grad.cpu(), expected.marginals.numpy())
    assert torch.equal(states.cpu(), forest.sample(*drawn.potentials, uniform.cpu()))
    assert torch.equal(there.map(unary, pairwise)[0].cpu(), forest.map(*drawn.potentials)[0])
    with pytest.raises(nt.InputError, match=r"Expected potentials on cuda:0.*forest.to\('cpu'\)"):
        there.run(*drawn.potentials)
