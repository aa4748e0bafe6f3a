"""The compiled core of the CRF against the same layer on tensors, which its own tests compare with listing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees.errors import InputError, ZeroProbabilityError
from neuraltrees.inference import CRF
from neuraltrees.inference.crf import Solver, Structure, core, solver
from neuraltrees.inference.crf import crf as crf_module
from neuraltrees.inference.crf.core import plan_core, readable, run_core
from neuraltrees.inference.crf.tables import FactorTables

DOUBLE = torch.float64


@contextmanager
def on_tensors() -> Iterator[None]:
    """The layer without the core."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "readable", lambda *given: False)
        yield


@contextmanager
def by_the_core_alone() -> Iterator[None]:
    """The layer, which must not use tensors."""

    def refuse(*given: object) -> None:
        raise AssertionError("tensors were used")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver._Ready, "of", refuse)
        yield


def graphs(count: int, seed: int) -> list[nt.Graph]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        size = int(rng.integers(1, 12))
        found.append(nt.Graph.from_networkx(nx.gnp_random_graph(size, 2.5 / size, seed=int(rng.integers(2**31)))))
    return found


def case(seed: int, dtype: torch.dtype = DOUBLE) -> tuple[CRF, Tensor, Tensor, Tensor]:
    """A layer for 20 graphs, its potentials for a batch of 3, and known labels of half of the nodes."""
    given, stream = graphs(20, seed), torch.Generator().manual_seed(seed)
    nodes = sum(graph.num_nodes for graph in given)
    counts = torch.randint(1, 9, (nodes,), generator=stream)
    crf = CRF(given, counts)
    unary = 2 * torch.randn(3, nodes, 8, generator=stream, dtype=dtype)
    pairwise = torch.randn(3, crf.graph.num_edges, 8, 8, generator=stream, dtype=dtype)
    label = (torch.rand(3, nodes, generator=stream) * counts).long()
    known = torch.where(torch.rand(3, nodes, generator=stream) < 0.5, label, -1)
    return crf, unary, pairwise, known


@pytest.mark.parametrize("mask", ["none", "same", "own", "all"])
@pytest.mark.parametrize("table", ["one", "each", "batch"])
def test_answers_are_those_of_tensors(table: str, mask: str) -> None:
    for seed in range(4):
        crf, unary, pairwise, drawn = case(seed)
        tables = {"one": pairwise[0, 0], "each": pairwise[0], "batch": pairwise}[table]
        known = {"none": None, "same": drawn[0], "own": drawn, "all": drawn.clamp(min=0)}[mask]
        with by_the_core_alone():
            answer, alone = crf(unary, tables, known), crf.log_partition(unary, tables, known)
        with on_tensors():
            expected = crf(unary, tables, known)
        torch.testing.assert_close(answer.marginals, expected.marginals, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(answer.log_partition, expected.log_partition, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(alone, answer.log_partition)


def test_relations_and_forbidden_labels() -> None:
    crf, unary, pairwise, known = case(5)
    relation = np.arange(crf.graph.num_edges) % 3
    related = CRF(crf.graph, crf._labels, relation=relation)
    unary[..., 1:][torch.rand(unary[..., 1:].shape) < 0.2] = -torch.inf
    table = pairwise[0, :3].clone()
    table[0, 1:, 1] = -torch.inf
    known = torch.where((unary == -torch.inf).gather(2, known.clamp(min=0).unsqueeze(2)).squeeze(2), -1, known)
    known = torch.where(known == 1, -1, known)
    with by_the_core_alone():
        answer = related(unary, table, known)
    with on_tensors():
        expected = related(unary, table, known)
    torch.testing.assert_close(answer, expected, rtol=1e-9, atol=1e-12)


def test_single_precision_is_summed_in_double() -> None:
    crf, unary, pairwise, known = case(6, torch.float32)
    with by_the_core_alone():
        answer = crf(unary, pairwise, known)
        exact = crf(unary.double(), pairwise.double(), known)
    assert answer.marginals.dtype == torch.float32
    assert float((answer.marginals - exact.marginals).abs().max()) < 1e-7


@pytest.mark.parametrize("states", [1, 3, 8])
def test_the_most_probable_labels_are_kept(states: int) -> None:
    crf, unary, pairwise, known = case(7)
    fewer = CRF(crf.graph, crf._labels, states=states)
    with by_the_core_alone():
        answer = fewer(unary, pairwise[0], known)
    with on_tensors():
        expected = fewer(unary, pairwise[0], known)
    torch.testing.assert_close(answer, expected, rtol=1e-9, atol=1e-12)
    assert int((answer.marginals > 0).sum(-1).max()) <= states


def test_equal_potentials_keep_the_first_labels() -> None:
    answer = CRF(nt.Graph([[0], [1]]), states=2)(torch.zeros(2, 5), torch.zeros(5, 5))
    assert (answer.marginals > 0).nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("states", [1, 2, 3, 4, 7, 8, 16, 34, 35])
@pytest.mark.parametrize("count", [1, 8, 21])
def test_labels_are_kept_by_potential_and_then_by_number(states: int, count: int) -> None:
    stream = torch.Generator().manual_seed(states + 100 * count)
    unary = torch.randint(-4, 4, (count, 35), generator=stream).double()
    unary[unary == 3] = -torch.inf
    unary[:, 34] = 0
    labels = torch.randint(30, 36, (count,), generator=stream)
    layer = CRF(nt.Graph(torch.zeros(2, 0, dtype=torch.int64), num_nodes=count), labels, states=states)
    with by_the_core_alone():
        found = layer(unary, torch.zeros(35, 35, dtype=DOUBLE)).marginals
    for row, own, size in zip(found, unary, labels.tolist(), strict=True):
        best = own[:size].sort(descending=True, stable=True).indices[:states]
        expected = torch.zeros_like(row).index_copy_(0, best, own[best].softmax(0))
        torch.testing.assert_close(row, expected)


def test_weighted_and_transposed_tables() -> None:
    crf, unary, pairwise, known = case(8)
    plain, stream, edges = crf._solver(8, ("each",)).structure, torch.Generator().manual_seed(0), crf.graph.num_edges
    index = torch.randint(0, 8, (edges, 3), generator=stream)  # from 4 on, tables are transposed
    parts = (plain.graph, plain.labels, plain.owner, plain.num_graphs)
    given = Solver(Structure.of(*parts, index.numpy(), 4, weighted=True))
    weight = torch.randn(3, edges, 3, generator=stream, dtype=DOUBLE)
    tables = FactorTables(pairwise[:, :4], index, weight)
    evidence = given.given(known)
    unary = crf._own_labels(unary, plain.labels)
    with by_the_core_alone():
        answer = given.solve(unary, (tables,), evidence)
    with on_tensors():
        expected = given.solve(unary, (tables,), evidence)
    torch.testing.assert_close(answer, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e2, 1e3, 1e5])
def test_potentials_that_differ_too_much_are_left_to_tensors(scale: float) -> None:
    crf, unary, pairwise, known = case(9)
    answer = crf(scale * unary, scale * pairwise[0], known)
    with on_tensors():
        expected = crf(scale * unary, scale * pairwise[0], known)
    torch.testing.assert_close(answer, expected, rtol=1e-9, atol=1e-12)


def test_large_tables_are_left_to_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    crf, unary, pairwise, known = case(10)
    structure, mask = crf._solver(8, ("each",)).structure, np.zeros((1, crf.num_nodes), bool)
    plan = plan_core(structure, mask, None)
    assert plan is not None and plan.width == nt.decompose(crf.graph).width
    monkeypatch.setattr(core, "MOST_ENTRIES", plan.entries)
    assert plan_core(structure, mask, None) is not None
    monkeypatch.setattr(core, "MOST_ENTRIES", plan.entries - 1)
    assert plan_core(structure, mask, None) is None
    one = CRF(graphs(20, 10), crf._labels)
    torch.testing.assert_close(one(unary, pairwise[0], known), crf(unary, pairwise[0], known), rtol=1e-9, atol=1e-12)


def test_wrong_numbers_are_not_read() -> None:
    """The core is only given what was checked; were it not, it must not read outside the tables."""
    crf, unary, pairwise, _ = case(11)
    structure = crf._solver(8, ("each",)).structure
    known = torch.zeros(crf.num_nodes, dtype=torch.int64)
    plan = plan_core(structure, np.ones((1, crf.num_nodes), bool), None)
    assert plan is not None
    index = structure.index
    for labels, numbers in (
        (known + 8, index),
        (known - 1, index),
        (known, index + 2 * len(index)),
        (known, -1 - index),
    ):
        assert run_core(plan, unary[:1], FactorTables(pairwise[:1], numbers), labels, crf.num_graphs) is None
    assert run_core(plan, unary[:1], FactorTables(pairwise[:1], index), known, crf.num_graphs) is not None
    unary[0, 0, 0] = torch.nan
    assert run_core(plan, unary[:1], FactorTables(pairwise[:1], index), known, crf.num_graphs) is None


def test_gradients_need_tensors() -> None:
    crf, unary, pairwise, known = case(12)
    tables = FactorTables(pairwise, crf._solver(8, ("each",)).structure.index)
    assert (
        readable(unary, tables) and not readable(unary.float(), tables) and not readable(unary.requires_grad_(), tables)
    )
    answer = crf(unary, pairwise, known)
    assert answer.log_partition.requires_grad
    with torch.no_grad(), by_the_core_alone():
        torch.testing.assert_close(crf(unary, pairwise, known), answer, rtol=1e-9, atol=1e-12)


def test_many_nodes_in_a_chain() -> None:
    size, stream = 3000, torch.Generator().manual_seed(0)
    chain = CRF(nt.Graph([range(size - 1), range(1, size)]))
    unary, table = torch.randn(size, 4, generator=stream, dtype=DOUBLE), torch.randn(4, 4, dtype=DOUBLE)
    with by_the_core_alone():
        answer = chain(unary, table)
    forward = unary[0]
    for row in unary[1:]:
        forward = (forward.unsqueeze(1) + table).logsumexp(0) + row
    torch.testing.assert_close(answer.log_partition, forward.logsumexp(0, keepdim=True))
    torch.testing.assert_close(answer.marginals.sum(-1), torch.ones(size, dtype=DOUBLE))


@pytest.mark.parametrize("labels", [1, 2, 4, 5, 8])
def test_cliques_of_equal_nodes_as_tensors_compute_them(labels: int) -> None:
    """All but the last nodes of a clique are leaves of the plan, or read one message."""
    stream = torch.Generator().manual_seed(labels)
    given = [nt.Graph.from_networkx(nx.complete_graph(size)) for size in (1, 2, 3, 4, 5)]
    crf = CRF(given, labels)
    unary = torch.randn(crf.num_nodes, labels, generator=stream, dtype=DOUBLE)
    unary[..., 1:][torch.rand(crf.num_nodes, labels - 1, generator=stream) < 0.2] = -torch.inf
    table = torch.randn(labels, labels, generator=stream, dtype=DOUBLE)
    table[0, 1:] = -torch.inf
    with by_the_core_alone():
        answer = crf(unary, table)
    with on_tensors():
        expected = crf(unary, table)
    torch.testing.assert_close(answer, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("states", [1, 5, 8, 70])
def test_labels_are_kept_among_more_than_64(states: int) -> None:
    stream = torch.Generator().manual_seed(states)
    unary = torch.randint(-9, 9, (20, 150), generator=stream).double()
    layer = CRF(nt.Graph(torch.zeros(2, 0, dtype=torch.int64), num_nodes=20), states=states)
    with by_the_core_alone():
        found = layer(unary, torch.zeros(150, 150, dtype=DOUBLE)).marginals
    for row, own in zip(found, unary, strict=True):
        best = own.sort(descending=True, stable=True).indices[:states]
        torch.testing.assert_close(row, torch.zeros_like(row).index_copy_(0, best, own[best].softmax(0)))


@contextmanager
def without_checks() -> Iterator[None]:
    """The layer, whose values only the core may check."""

    def refuse(*given: object) -> None:
        raise AssertionError("values were checked")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crf_module, "check_numbers", refuse)
        yield


@pytest.mark.parametrize("mask", ["none", "same", "own", "all"])
def test_the_core_checks_the_values_of_further_calls(mask: str) -> None:
    crf, unary, pairwise, drawn = case(13)
    known = {"none": None, "same": drawn[0], "own": drawn, "all": drawn.clamp(min=0)}[mask]
    first = crf(unary, pairwise, known)
    with without_checks():
        again = crf(unary, pairwise, known)
        assert torch.equal(again.marginals, first.marginals) and torch.equal(again.log_partition, first.log_partition)
        other = crf(2 * unary, pairwise[0], known)
    with on_tensors():
        expected = crf(2 * unary, pairwise[0], known)
    torch.testing.assert_close(other, expected, rtol=1e-9, atol=1e-12)


def test_further_calls_find_the_plans_of_any_mask() -> None:
    crf, unary, pairwise, drawn = case(14)
    masks = [None, drawn[0], drawn[1], drawn]
    expected = [crf(unary, pairwise, known) for known in masks]
    with without_checks():
        for known, answer in zip(masks, expected, strict=True):
            torch.testing.assert_close(crf(unary, pairwise, known), answer, rtol=0, atol=0)
    for known, answer in zip(masks, expected, strict=True):
        fresh = CRF(graphs(20, 14), crf._labels)(unary, pairwise, known)
        torch.testing.assert_close(fresh, answer, rtol=0, atol=0)


def test_wrong_values_of_further_calls_are_errors() -> None:
    crf, unary, pairwise, drawn = case(15)
    known, expected = drawn[0].clone(), crf(unary, pairwise, drawn[0])
    node = int(((known >= 0) & (torch.from_numpy(crf._labels) > 1)).nonzero()[0])
    count = int(crf._labels.min())
    narrow = int(np.flatnonzero(crf._labels == count)[0])

    def fails(error: type[Exception], message: str, at: Tensor, index: object, value: float) -> None:
        before = at.clone()
        at[index] = value  # type: ignore[index]
        with pytest.raises(error, match=message):
            crf(unary, pairwise, known)
        at.copy_(before)

    fails(InputError, "in unary; got nan at", unary, (1, 0, 0), torch.nan)
    fails(InputError, "in unary; got inf at", unary, (1, 0, 0), torch.inf)
    fails(InputError, "in pairwise; got nan at", pairwise, (2, 0, 0, 0), torch.nan)
    fails(InputError, "in pairwise; got inf at", pairwise, (2, 0, 0, 0), torch.inf)
    fails(ZeroProbabilityError, f"labels of node {narrow} have -inf", unary, (0, narrow), -torch.inf)
    fails(ZeroProbabilityError, "exclude each other", unary, (0, node, int(known[node])), -torch.inf)
    fails(InputError, f"at node {node}", known, node, 8)
    fails(InputError, f"at node {node}", known, node, -2)
    if count < 8:  # what is given beyond the labels of a node is not read
        unary[:, narrow, count:] = torch.nan
    torch.testing.assert_close(crf(unary, pairwise, known), expected)
