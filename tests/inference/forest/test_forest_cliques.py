"""Tables of more than two variables, against listing every assignment and against a junction tree."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

import neuraltrees as nt
from neuraltrees.inference import Forest, JunctionTree, MarkovNetwork
from neuraltrees.inference.forest import arithmetic
from tests.inference.forest.forests import Drawn, forests, random_graphs
from tests.oracle.joint import Joint


@dataclass(frozen=True)
class Field:
    """Graphs with tables of pairs, and factors of any order on a union of them."""

    pairs: Drawn
    cliques: list[np.ndarray]
    relation: list[list[int]] | None
    tables: list[Tensor]

    def forest(self, **options: Any) -> Forest:
        return self.pairs.forest(cliques=self.cliques, clique_relation=self.relation, **options)

    @property
    def potentials(self) -> tuple[Tensor, Tensor]:
        return self.pairs.potentials

    @property
    def more(self) -> dict[str, Any]:
        return {"log_cliques": self.tables}

    def models(self) -> list[MarkovNetwork]:
        starts = np.cumsum([0, *(graph.num_nodes for graph in self.pairs.graphs)])
        found = []
        for number, model in enumerate(self.pairs.models()):
            scopes, tables = list(model.cliques), list(model.log_potentials)
            for family, (nodes, table) in enumerate(zip(self.cliques, self.tables, strict=True)):
                for row, clique in enumerate(nodes.tolist()):
                    if starts[number] <= clique[0] < starts[number + 1]:
                        own = table[row if self.relation is None else self.relation[family][row]]
                        scopes.append(tuple(v - int(starts[number]) for v in clique))
                        tables.append(own[tuple(slice(self.pairs.cardinalities[v]) for v in clique)])
            found.append(MarkovNetwork(model.cardinalities, scopes, tables))
        return found

    def joints(self) -> list[Joint]:
        return [
            Joint(model.cardinalities, model.cliques, [table.numpy() for table in model.log_potentials])
            for model in self.models()
        ]


def add_cliques(
    pairs: Drawn, cliques: list[np.ndarray], shared: int | None, seed: int, scale: float = 1.0, zeros: float = 0.0
) -> Field:
    """Normal log-potentials, a table for each clique or `shared` ones; nan where no clique reads."""
    rng, most = np.random.default_rng(seed), max(pairs.cardinalities, default=1)
    relation = None if shared is None else [rng.integers(0, shared, len(nodes)).tolist() for nodes in cliques]
    tables = []
    for family, nodes in enumerate(cliques):
        numbers = range(len(nodes)) if relation is None else relation[family]
        table = scale * rng.standard_normal((max(numbers, default=-1) + 1, *[most] * nodes.shape[1]))
        table[rng.random(table.shape) < zeros] = -np.inf
        read = np.zeros(table.shape, bool)
        for number, clique in zip(numbers, nodes.tolist(), strict=True):
            read[(number, *(slice(pairs.cardinalities[v]) for v in clique))] = True
        table[~read] = np.nan
        tables.append(torch.from_numpy(table))
    return Field(pairs, cliques, relation, tables)


@st.composite
def fields(draw: st.DrawFn, **options: Any) -> Field:
    """Some tuples of two to four variables of a graph in any order, of one or more families, some of them twice."""
    pairs = draw(forests(variables=5, **options))
    starts = np.cumsum([0, *(graph.num_nodes for graph in pairs.graphs)])
    families: list[list[tuple[int, ...]]] = []
    for order in draw(st.lists(st.integers(2, 4), max_size=3)):
        inside = [
            [int(start) + v for v in each]
            for start, graph in zip(starts, pairs.graphs, strict=False)
            for each in itertools.permutations(range(graph.num_nodes), order)
        ]
        families.append(draw(st.lists(st.sampled_from(inside), max_size=4)) if inside else [])
    orders = [len(family[0]) if family else 3 for family in families]
    cliques = [np.array(f, np.int64).reshape(-1, r) for f, r in zip(families, orders, strict=True)]
    shared = draw(st.none() | st.integers(1, 2))
    scale, zeros = draw(st.sampled_from([(1.0, 0.0), (1.0, 0.1), (options.get("scale", 2000.0), 0.0)]))
    return add_cliques(pairs, cliques, shared, draw(st.integers(0, 2**32 - 1)), scale, zeros)


def close(found: Tensor, expected: object, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_a_table_of_three_variables() -> None:
    """An even number of ones is three times as probable as an odd number; no edge says anything."""
    parity = torch.tensor([[[0, 1], [1, 0]], [[1, 0], [0, 1]]])
    table = torch.where(parity == 0, 3.0, 1.0).double().log().unsqueeze(0)
    forest = Forest.of(nt.Graph([[], []], num_nodes=3), 2, cliques=[[[2, 0, 1]]])
    unary = torch.zeros(3, 2, dtype=torch.float64)
    unary[:2, 1] = -torch.inf
    answer = forest.run(unary, torch.zeros(0, 2, 2, dtype=torch.float64), log_cliques=[table])
    close(answer.log_partition, [np.log(4)])
    close(answer.marginals, [[1, 0], [1, 0], [0.75, 0.25]])
    assert forest.map(unary, torch.zeros(0, 2, 2).double(), log_cliques=[table])[0].tolist() == [0, 0, 0]


@given(drawn=fields())
@settings(deadline=None, max_examples=300)
def test_agrees_with_listing_every_assignment(drawn: Field) -> None:
    joints, forest = drawn.joints(), drawn.forest()
    log_partition = forest.log_partition(*drawn.potentials, **drawn.more)
    close(log_partition, [joint.log_partition for joint in joints])
    if any(joint.best == -np.inf for joint in joints):
        for ask in (forest.run, forest.map):
            with pytest.raises(nt.ZeroProbabilityError, match="Expected evidence of positive probability"):
                ask(*drawn.potentials, **drawn.more)
        return
    answer = forest.run(*drawn.potentials, **drawn.more)
    rows = iter(answer.marginals)
    for joint in joints:
        for v, states in enumerate(joint.cardinalities):
            row = next(rows)
            close(row[:states], joint.marginal(v))
            assert row[states:].tolist() == [0.0] * (len(row) - states)
    states, score = forest.map(*drawn.potentials, **drawn.more)
    close(score, [joint.best for joint in joints])
    parts = states.split([len(joint.cardinalities) for joint in joints])
    best = [joint.scores[tuple(part.tolist())] for joint, part in zip(joints, parts, strict=True)]
    np.testing.assert_allclose(best, [joint.best for joint in joints], rtol=1e-9, atol=1e-9)


@given(drawn=fields(zeros=0.2), data=st.data())
@settings(deadline=None, max_examples=100)
def test_any_order_chunks_and_large_tables_give_the_same(drawn: Field, data: st.DataObject) -> None:
    assume(all(joint.best > -np.inf for joint in drawn.joints()))
    order = data.draw(st.permutations(range(len(drawn.pairs.cardinalities))), label="order")
    entries = data.draw(st.integers(1, 100), label="chunk_entries")
    expected = drawn.forest().run(*drawn.potentials, **drawn.more)
    with patch.object(arithmetic, "LARGE", 0):
        overwritten = drawn.forest().run(*drawn.potentials, **drawn.more)
    others = (drawn.forest(order=order), drawn.forest(chunk_entries=entries))
    for answer in (overwritten, *(other.run(*drawn.potentials, **drawn.more) for other in others)):
        close(answer.log_partition, expected.log_partition.numpy())
        close(answer.marginals, expected.marginals.numpy())


@given(drawn=fields(scale=100.0))
@settings(deadline=None, max_examples=100)
def test_the_gradient_of_log_z_is_the_marginals(drawn: Field) -> None:
    joints = drawn.joints()
    assume(drawn.pairs.cardinalities and all(joint.best > -np.inf for joint in joints))
    given_all = [*drawn.potentials, *drawn.tables]
    unary, pairwise, *tables = (torch.nan_to_num(each, neginf=-torch.inf).requires_grad_() for each in given_all)
    total = drawn.forest().log_partition(unary, pairwise, log_cliques=tables).sum()
    found = torch.autograd.grad(total, [unary, *tables], allow_unused=True, materialize_grads=True)
    expected = [np.zeros(each.shape) for each in tables]
    starts = np.cumsum([0, *(len(joint.cardinalities) for joint in joints)])
    for family, nodes in enumerate(drawn.cliques):
        for row, clique in enumerate(nodes.tolist()):
            owner = int(np.searchsorted(starts, clique[0], side="right")) - 1
            marginal = joints[owner].marginal(*(v - int(starts[owner]) for v in clique))
            table = expected[family][row if drawn.relation is None else drawn.relation[family][row]]
            table[tuple(map(slice, marginal.shape))] += marginal
    for each, wanted in zip(found[1:], expected, strict=True):
        close(each, wanted, 1e-7)


@pytest.mark.parametrize("shift", [0.0, 900.0])
def test_differentiable_twice(shift: float) -> None:
    """In linear space, and in log space, which a table that prefers some entries by e^900 needs."""
    cliques = [np.array([[3, 0, 1], [1, 2, 0]]), np.array([[0, 3, 1, 2]])]
    pairs = nt.Graph([[0, 1, 2, 2], [1, 2, 0, 3]])
    rng = torch.Generator().manual_seed(0)
    shapes = ((4, 2), (4, 2, 2), (1, 2, 2, 2), (1, 2, 2, 2, 2))
    inputs = [torch.randn(shape, generator=rng, dtype=torch.float64) for shape in shapes]
    inputs[2] = inputs[2] - shift * (torch.rand(inputs[2].shape, generator=rng) < 0.5)
    inputs = [each.requires_grad_() for each in inputs]
    weight = torch.randn(4, 2, generator=rng, dtype=torch.float64)
    forest = Forest.of(pairs, 2, cliques=cliques, clique_relation=[[0, 0], [0]])

    def answers(unary: Tensor, pairwise: Tensor, *tables: Tensor) -> tuple[Tensor, Tensor]:
        answer = forest.run(unary, pairwise, log_cliques=tables)
        return answer.log_partition, (answer.marginals * weight).sum()

    def total(unary: Tensor, pairwise: Tensor, *tables: Tensor) -> Tensor:
        return forest.log_partition(unary, pairwise, log_cliques=tables)

    assert torch.autograd.gradcheck(answers, inputs)
    assert torch.autograd.gradgradcheck(total, inputs)


def test_agrees_with_a_junction_tree_for_each() -> None:
    graphs, rng = random_graphs(12, 12, 16), np.random.default_rng(0)
    pairs = Drawn(
        graphs,
        rng.integers(1, 5, 144).tolist(),
        [0] * 192,
        torch.from_numpy(rng.standard_normal((144, 4))),
        torch.from_numpy(rng.standard_normal((1, 4, 4))),
    )
    cliques = [
        np.array([12 * number + rng.permutation(12)[:order] for number in range(12) for _ in range(3)])
        for order in (3, 4)
    ]
    field = add_cliques(pairs, cliques, shared=2, seed=1)
    answer = field.forest().run(*field.potentials, **field.more)
    found = [JunctionTree.of(model).run(model.log_potentials) for model in field.models()]
    close(answer.log_partition, [each.log_partition.item() for each in found])
    for row, expected in zip(answer.marginals, [each for one in found for each in one.marginals], strict=True):
        close(row[: len(expected)], expected.numpy())


def test_a_batch_with_own_and_with_common_tables() -> None:
    rng = torch.Generator().manual_seed(1)
    forest = Forest.of([nt.Graph([[0, 1], [1, 2]])] * 2, 3, cliques=[[[0, 1, 2], [5, 3, 4]]])
    unary, pairwise = torch.randn(2, 6, 3, generator=rng), torch.randn(4, 3, 3, generator=rng)
    own = torch.randn(2, 2, 3, 3, 3, generator=rng)
    together = forest.run(unary, pairwise, log_cliques=[own])
    common = forest.run(unary, pairwise, log_cliques=[own[0]])
    for entry in range(2):
        alone = forest.run(unary[entry], pairwise, log_cliques=[own[entry]])
        close(together.marginals[entry], alone.marginals.numpy(), 1e-6)
        alone = forest.run(unary[entry], pairwise, log_cliques=[own[0]])
        close(common.marginals[entry], alone.marginals.numpy(), 1e-6)


def test_samples_follow_the_joint_distribution() -> None:
    unary, pairwise = (torch.zeros(shape, dtype=torch.float64) for shape in ((4, 3), (2, 3, 3)))
    pairs = Drawn([nt.Graph([[0, 1], [1, 2]], num_nodes=4)], [2, 2, 3, 2], None, unary, pairwise)
    field = add_cliques(pairs, [np.array([[3, 0, 2]]), np.array([[2, 1, 0, 3]])], None, seed=2, zeros=0.1)
    uniform = torch.rand(20_000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    samples = field.forest().sample(*field.potentials, uniform, **field.more)
    expected = len(samples) * field.joints()[0].probabilities
    counts = np.bincount(np.ravel_multi_index(samples.T.numpy(), expected.shape), minlength=expected.size)
    counts = counts.reshape(expected.shape)
    assert counts[expected == 0].sum() == 0
    often = expected >= 5
    wanted, seen = (np.append(each[often], each[~often].sum()) for each in (expected, counts))
    assert chisquare(seen[wanted > 0], wanted[wanted > 0]).pvalue > 1e-3


def test_a_table_of_many_variables() -> None:
    """Its answers are sums over the table itself; the axes are in no order."""
    order = torch.randperm(18, generator=torch.Generator().manual_seed(0)).tolist()
    table = torch.randn(1, *[2] * 18, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    forest = Forest.of(nt.Graph([[], []], num_nodes=18), 2, cliques=[[order]])
    unary, pairs = torch.zeros(18, 2, dtype=torch.float64), torch.zeros(0, 2, 2, dtype=torch.float64)
    answer = forest.run(unary, pairs, log_cliques=[table])
    close(answer.log_partition[0], float(table.flatten().logsumexp(0)))
    share = table[0].flatten().softmax(0).view(table.shape[1:])
    for axis, variable in enumerate(order):
        close(answer.marginals[variable], share.movedim(axis, 0).flatten(1).sum(1).numpy())


def test_too_large_a_clique_is_refused_before_anything_is_allocated() -> None:
    with pytest.raises(nt.ModelTooLargeError, match="width 59"):
        Forest.of(nt.Graph([[], []], num_nodes=60), 2, cliques=[[list(range(60))]])


def test_the_limit_counts_the_tables_of_cliques() -> None:
    """A shared table of 3 variables of 8 states, in two orders of its axes, beside those of the steps."""
    cliques = [[[0, 1, 2], [4, 5, 3]]]
    none = nt.Graph([[], []], num_nodes=6)
    tables = {"clique_relation": [[0, 0]]}
    steps = 8 * Forest.of(none, 8, cliques=cliques, **tables).entries
    with pytest.raises(nt.ModelTooLargeError):
        Forest.of(none, 8, cliques=cliques, **tables, memory_limit=steps)
    forest = Forest.of(none, 8, cliques=cliques, **tables, memory_limit=steps + 2 * 8**4)
    unary, table = torch.zeros(6, 8, dtype=torch.float64), torch.zeros(1, 8, 8, 8, dtype=torch.float64)
    pairs = torch.zeros(0, 8, 8, dtype=torch.float64)
    forest.run(unary, pairs, log_cliques=[table])
    with pytest.raises(nt.ModelTooLargeError):
        forest.run(unary.expand(2, 6, 8), pairs, log_cliques=[table])


@pytest.mark.parametrize("tracked", [False, True])
def test_the_passes_never_look_at_a_number(tracked: bool) -> None:
    forest = Forest.of(nt.Graph.from_networkx(nx.cycle_graph(6)), 3, cliques=[[[0, 2, 4], [5, 1, 3]]]).to("meta")
    shapes = ((6, 3), (6, 3, 3), (2, 3, 3, 3))
    unary, pairwise, table = (torch.zeros(shape, device="meta", requires_grad=tracked) for shape in shapes)
    answer = forest.run(unary, pairwise, log_cliques=[table], check=False)
    assert answer.marginals.shape == (6, 3)
    if tracked:
        (answer.log_partition.sum() + answer.marginals.square().sum()).backward()
        assert table.grad is not None and table.grad.shape == table.shape


CHAIN = nt.Graph([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cliques": [[[0, 1, 1]]]}, r"Expected distinct variables in a clique; got \(0, 1, 1\)"),
        ({"cliques": [[[0, 1, 3]]]}, r"Expected variables from 0 to 2 in cliques; got 3 in \(0, 1, 3\)"),
        ({"cliques": [[[-1, 0, 1]]]}, "Expected variables from 0 to 2 in cliques; got -1"),
        ({"cliques": [[[0.0, 1.0, 2.0]]]}, "Expected the cliques of a family as integers of shape"),
        ({"cliques": [[0, 1, 2]]}, r"Expected the cliques of a family as integers of shape \(cliques, variables\)"),
        ({"cliques": [[[0], [1]]]}, "of two variables or more; got int64 of shape"),
        ({"cliques": [[[0, 1, 2]]], "clique_relation": [[0, 1]]}, "Expected clique_relation as 1 integers"),
        ({"cliques": [[[0, 1, 2]]], "clique_relation": []}, "Expected clique_relation for 1 families; got 0"),
        ({"cliques": [[[0, 1, 2]]], "owner": [0, 0, 1]}, "different owners"),
    ],
)
def test_wrong_structures(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        Forest.of(nt.Graph([[0], [1]], num_nodes=3), 2, **arguments)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "Expected log_cliques for 1 families of cliques; got 0"),
        ([torch.zeros(1, 2, 2)], r"Expected log_cliques\[0\] of shape \(1, 2, 2, 2\).*got \(1, 2, 2\)"),
        ([torch.zeros(3, 1, 2, 2, 2)], r"Expected log_cliques\[0\] of shape"),
        ([torch.zeros(1, 2, 2, 2).double()], r"got torch.float64 in log_cliques\[0\]"),
    ],
)
def test_wrong_potentials(tables: list[Tensor], message: str) -> None:
    forest = Forest.of(CHAIN, 2, cliques=[[[0, 1, 2]]])
    for ask in (forest.run, forest.log_partition, forest.map):
        with pytest.raises(nt.InputError, match=message):
            ask(torch.zeros(3, 2), torch.zeros(2, 2, 2), log_cliques=tables)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_answers_are_where_the_potentials_are() -> None:
    forest = Forest.of(nt.Graph.from_networkx(nx.cycle_graph(6)), 3, cliques=[[[0, 2, 4], [5, 1, 3]]])
    stream = torch.Generator().manual_seed(0)
    shapes = ((6, 3), (6, 3, 3), (2, 3, 3, 3))
    unary, pairwise, table = (torch.randn(shape, generator=stream, dtype=torch.float64) for shape in shapes)
    there, moved = forest.to("cuda"), table.cuda().requires_grad_()
    own, pairs = unary.cuda(), pairwise.cuda()
    torch.cuda.set_sync_debug_mode("error")
    try:
        answer = there.run(own, pairs, log_cliques=[moved], check=False)
        answer.log_partition.sum().backward()  # type: ignore[no-untyped-call]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    close(answer.marginals.cpu(), forest.run(unary, pairwise, log_cliques=[table]).marginals.numpy())
    assert moved.grad is not None
    close(moved.grad.sum((1, 2, 3)).cpu(), [1.0, 1.0])
