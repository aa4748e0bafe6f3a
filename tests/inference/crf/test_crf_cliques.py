"""Tables on cliques of three or more nodes against listing every labelling, and against a junction tree."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from neuraltrees.errors import InputError, ModelTooLargeError, ZeroProbabilityError
from neuraltrees.inference import CRF
from neuraltrees.movable import moved
from tests.oracle.crf import Listed, list_labellings

DOUBLE = torch.float64


@dataclass(frozen=True)
class Drawn:
    """A random field of two batch entries; `tables` has one tensor per size of cliques."""

    counts: list[int]
    edges: list[tuple[int, int]]
    cliques: list[tuple[int, ...]]
    relation: list[int] | None
    unary: Tensor
    pairwise: Tensor
    tables: Mapping[int, Tensor]
    known: Tensor | None

    @property
    def graph(self) -> nt.Graph:
        return nt.Graph(np.array(self.edges, np.int64).reshape(-1, 2).T, num_nodes=len(self.counts))

    def crf(self, **options: Any) -> CRF:
        return CRF(self.graph, self.counts, cliques=self.cliques, clique_relation=self.relation, **options)

    @property
    def potentials(self) -> tuple[Tensor, Tensor]:
        return self.unary, self.pairwise

    def table(self, number: int, entry: int) -> Tensor:
        """The table of a clique."""
        clique = self.cliques[number]
        table = self.tables[len(clique)]
        if table.dim() == len(clique):
            return table
        if table.dim() == len(clique) + 2:
            table = table[entry]
        if self.relation is not None:
            return table[self.relation[number]]
        return table[[len(each) for each in self.cliques[:number]].count(len(clique))]

    def labels(self, entry: int) -> list[int]:
        if self.known is None:
            return [-1] * len(self.counts)
        return (self.known if self.known.dim() == 1 else self.known[entry]).tolist()

    def listed(self, entry: int, nothing_known: bool = False) -> Listed:
        labels = [-1] * len(self.counts) if nothing_known else self.labels(entry)
        cliques = [(clique, self.table(number, entry)) for number, clique in enumerate(self.cliques)]
        return list_labellings(self.counts, self.edges, self.unary[entry], lambda edge: self.pairwise, labels, cliques)


@st.composite
def fields(draw: st.DrawFn) -> Drawn:
    nodes = draw(st.integers(3, 5))
    counts = draw(st.lists(st.integers(1, 3), min_size=nodes, max_size=nodes))
    edges = sorted(draw(st.sets(st.sampled_from(list(itertools.combinations(range(nodes), 2))), max_size=5)))
    orders = [order for order in (3, 4) if order <= nodes]
    several = [each for order in orders for each in itertools.permutations(range(nodes), order)]
    cliques = draw(st.lists(st.sampled_from(several), min_size=1, max_size=4))
    width, sizes = max(counts), sorted({len(clique) for clique in cliques})
    stream = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["one", "relation", "clique", "batch"]))
    relation = None
    if kind == "relation":
        relation = draw(st.lists(st.integers(0, 1), min_size=len(cliques), max_size=len(cliques)))
    tables = {}
    for size in sizes:
        own = [number for number, clique in enumerate(cliques) if len(clique) == size]
        lead = {
            "one": (),
            "relation": (1 + max((relation[number] for number in own), default=0),) if relation else (),
            "clique": (len(own),),
            "batch": (2, len(own)),
        }[kind]
        tables[size] = torch.randn(*lead, *[width] * size, generator=stream, dtype=DOUBLE)
        if draw(st.booleans()):  # forbidden combinations; those with the label 0 of some node stay possible
            forbidden = torch.rand(tables[size].shape, generator=stream) < 0.3
            for axis in range(size):
                forbidden.select(-1 - axis, 0).fill_(False)
            tables[size] = tables[size].masked_fill(forbidden, -torch.inf)
    unary = 2 * torch.randn(2, nodes, width, generator=stream, dtype=DOUBLE)
    if draw(st.booleans()):  # forbidden labels; the first of each node stays possible
        unary = torch.where(torch.rand(unary.shape, generator=stream) < 0.2, -torch.inf, unary)
        unary[..., 0] = unary[..., 0].nan_to_num(neginf=0.0)
    pairwise = torch.randn(width, width, generator=stream, dtype=DOUBLE)
    known = None
    mode = draw(st.sampled_from(["none", "same", "own", "all"]))
    if mode != "none":
        drawn = (torch.rand(2, nodes, generator=stream) * torch.tensor(counts)).long()
        drawn = torch.where((unary == -torch.inf).gather(2, drawn.unsqueeze(2)).squeeze(2), 0, drawn)
        drawn[:, 0] = 0 if any(bool((table == -torch.inf).any()) for table in tables.values()) else drawn[:, 0]
        known = torch.where(torch.rand(2, nodes, generator=stream) < (1.0 if mode == "all" else 0.5), drawn, -1)
        if mode == "same":  # what is possible in one entry must be in both
            known, unary = known[0], unary[:1].expand(2, -1, -1) + 0.1
    return Drawn(counts, edges, cliques, relation, unary, pairwise, tables, known)


def possible(drawn: Drawn) -> bool:
    return all(bool((drawn.listed(entry).scores > -torch.inf).any()) for entry in range(2))


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)


@given(drawn=fields())
@settings(deadline=None, max_examples=150)
def test_marginals_log_partition_entropy_and_map_agree_with_listing(drawn: Drawn) -> None:
    crf = drawn.crf()
    if not possible(drawn):
        with pytest.raises(ZeroProbabilityError):
            crf(*drawn.potentials, drawn.known, cliques=drawn.tables)
        return
    answer = crf(*drawn.potentials, drawn.known, cliques=drawn.tables)
    entropy = crf.entropy(*drawn.potentials, drawn.known, cliques=drawn.tables)
    best = crf.map(*drawn.potentials, drawn.known, cliques=drawn.tables)
    for entry in range(2):
        listed = drawn.listed(entry)
        close(answer.marginals[entry], listed.marginals)
        close(answer.log_partition[entry, 0], listed.log_partition)
        close(entropy[entry, 0], listed.entropy)
        score = listed.scores[(listed.labellings == best[entry]).all(1)]
        close(score, listed.scores.max().view(1))
    close(answer.log_partition, crf.log_partition(*drawn.potentials, drawn.known, cliques=drawn.tables))
    for options in ({"states": max(drawn.counts)}, {"max_treewidth": 4}):
        again = drawn.crf(**options)(*drawn.potentials, drawn.known, cliques=drawn.tables)
        close(again.marginals, answer.marginals)
        close(again.log_partition, answer.log_partition)


@given(drawn=fields())
@settings(deadline=None, max_examples=75)
def test_gradients_agree_with_listing(drawn: Drawn) -> None:
    if not possible(drawn):
        return
    sizes = sorted(drawn.tables)
    inputs = [each.clone().requires_grad_() for each in (*drawn.potentials, *(drawn.tables[size] for size in sizes))]
    tables = dict(zip(sizes, inputs[2:], strict=True))
    mine = replace(drawn, unary=inputs[0], pairwise=inputs[1], tables=tables)
    crf = mine.crf()
    answer, weight = crf(*inputs[:2], mine.known, cliques=tables), torch.linspace(-1, 1, max(mine.counts), dtype=DOUBLE)
    total = (answer.marginals * weight).square().sum() + answer.log_partition.sum()
    total = total + crf.entropy(*inputs[:2], mine.known, cliques=tables).sum()
    expected = torch.zeros((), dtype=DOUBLE)
    for entry in range(2):
        listed = mine.listed(entry)
        expected = expected + (listed.marginals * weight).square().sum() + listed.log_partition + listed.entropy
    for ours, theirs in zip(_gradients(total, inputs), _gradients(expected, inputs), strict=True):
        close(ours, theirs)


def _gradients(value: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    found = torch.autograd.grad(value, inputs, allow_unused=True, materialize_grads=True)
    return tuple(each.nan_to_num() for each in found)


@given(drawn=fields())
@settings(deadline=None, max_examples=75)
def test_likelihood_and_conditionals_agree_with_listing(drawn: Drawn) -> None:
    if not possible(drawn):
        return
    crf = drawn.crf()
    known = torch.full((len(drawn.counts),), -1) if drawn.known is None else drawn.known
    likelihood = crf.log_likelihood(*drawn.potentials, known, cliques=drawn.tables)
    conditionals = crf.conditionals(*drawn.potentials, known, cliques=drawn.tables)
    for entry in range(2):
        given_all, free = drawn.listed(entry), drawn.listed(entry, nothing_known=True)
        close(likelihood[entry, 0], given_all.log_partition - free.log_partition)
        labels = drawn.labels(entry)
        for node, count in enumerate(drawn.counts):
            logits = drawn.unary[entry, node].clone()
            factors = [(edge, drawn.pairwise) for edge in drawn.edges]
            factors += [(clique, drawn.table(number, entry)) for number, clique in enumerate(drawn.cliques)]  # type: ignore[misc]
            for nodes, table in factors:
                others = [labels[other] for other in nodes if other != node]
                if node in nodes and min(others) >= 0:
                    logits = logits + table[tuple(slice(None) if other == node else labels[other] for other in nodes)]
            if bool((logits[:count] > -torch.inf).any()):
                close(conditionals[entry, node, :count], logits[:count].log_softmax(0))
            assert not (conditionals[entry, node, count:] > -torch.inf).any()


@given(drawn=fields(), states=st.integers(1, 2))
@settings(deadline=None, max_examples=75)
def test_few_states_are_exact_if_the_others_are_forbidden(drawn: Drawn, states: int) -> None:
    """The labels that are kept are the most probable by the node itself and what known labels add to it."""
    known = torch.full((len(drawn.counts),), -1) if drawn.known is None else drawn.known
    crf = drawn.crf()
    if not possible(drawn):
        return
    scores = crf.conditionals(*drawn.potentials, known, cliques=drawn.tables)
    best = scores.topk(min(states, max(drawn.counts)), -1).indices
    kept = torch.zeros_like(drawn.unary, dtype=torch.bool).scatter(-1, best, True)
    kept = kept | (known.unsqueeze(-1) == torch.arange(kept.shape[-1]))
    fewer = replace(drawn, unary=drawn.unary.masked_fill(~kept, -torch.inf))
    if not possible(fewer):
        return
    found = drawn.crf(states=states)(*drawn.potentials, drawn.known, cliques=drawn.tables)
    for entry in range(2):
        listed = fewer.listed(entry)
        close(found.log_partition[entry, 0], listed.log_partition)
        close(found.marginals[entry], listed.marginals)


def clique_field(seed: int = 0) -> tuple[nt.Graph, list[tuple[int, ...]], Tensor, Tensor, dict[int, Tensor]]:
    """A grid of 3 x 4 with cliques of its squares and some of three nodes."""
    graph = nt.Graph.from_networkx(nx.grid_2d_graph(3, 4))
    squares = [(a, a + 1, a + 5, a + 4) for a in (0, 1, 2, 4, 5, 6)]
    cliques = [*squares, (0, 1, 4), (11, 7, 10), (5, 2, 6)]
    stream = torch.Generator().manual_seed(seed)
    unary = torch.randn(12, 3, generator=stream, dtype=DOUBLE)
    pairwise = torch.randn(3, 3, generator=stream, dtype=DOUBLE)
    tables = {size: torch.randn(*[3] * size, generator=stream, dtype=DOUBLE) for size in (3, 4)}
    return graph, cliques, unary, pairwise, tables


def test_agrees_with_a_junction_tree() -> None:
    graph, cliques, unary, pairwise, tables = clique_field()
    crf = CRF(graph, cliques=cliques)
    edges = [tuple(edge) for edge in crf.edges.T.tolist()]
    scopes = [*((node,) for node in range(12)), *edges, *cliques]
    potentials = [*unary, *[pairwise] * len(edges), *(tables[len(clique)] for clique in cliques)]
    model = nt.MarkovNetwork([3] * 12, scopes, potentials)
    known = torch.full((12,), -1)
    known[[1, 6]] = torch.tensor([2, 0])
    for labels, evidence in ((None, {}), (known, {1: 2, 6: 0})):
        answer, found = nt.infer(model, evidence), crf(unary, pairwise, labels, cliques=tables)
        close(found.marginals, torch.stack(list(answer.marginals)))
        close(found.log_partition[0], answer.log_partition)
    assert {size: nodes.tolist() for size, nodes in crf.cliques.items()} == {
        3: [list(clique) for clique in cliques[6:]],
        4: [list(clique) for clique in cliques[:6]],
    }
    assert repr(crf) == "CRF(num_nodes=12, num_edges=17, num_graphs=1, num_cliques=9)"


def test_a_batch_of_graphs_equals_one_after_another() -> None:
    graph, cliques, unary, pairwise, tables = clique_field()
    other = nt.Graph([[0, 1], [1, 2]])
    more = torch.randn(3, 3, generator=torch.Generator().manual_seed(1), dtype=DOUBLE)
    shifted = [tuple(3 + node for node in clique) for clique in cliques]
    together = CRF([other, graph], cliques=[*shifted, (2, 0, 1)])
    known = torch.full((15,), -1)
    known[[0, 5, 9]] = 1
    for labels in (None, known):
        answer = together(torch.cat([more, unary]), pairwise, labels, cliques=tables)
        parts = (None, None) if labels is None else (labels[:3], labels[3:])
        first = CRF(other, cliques=[(2, 0, 1)])(more, pairwise, parts[0], cliques=tables[3])
        second = CRF(graph, cliques=cliques)(unary, pairwise, parts[1], cliques=tables)
        close(answer.marginals, torch.cat([first.marginals, second.marginals]))
        close(answer.log_partition, torch.cat([first.log_partition, second.log_partition]))


def test_samples_follow_the_distribution() -> None:
    stream = torch.Generator().manual_seed(3)
    graph, clique = nt.Graph([[0], [3]], num_nodes=4), (2, 0, 1)
    unary = torch.randn(4, 2, generator=stream, dtype=DOUBLE)
    pairwise, table = (torch.randn(shape, generator=stream, dtype=DOUBLE) for shape in ((2, 2), (2, 2, 2)))
    for known in ([-1] * 4, [-1, 1, -1, -1]):
        found = CRF(graph, cliques=[clique]).sample(
            unary, pairwise, torch.tensor(known), 4000, torch.Generator().manual_seed(4), cliques=table
        )
        listed = list_labellings([2] * 4, [(0, 3)], unary, lambda edge: pairwise, known, [(clique, table)])
        seen = torch.stack([(found == row).all(1).sum() for row in listed.labellings])
        expected = 4000 * listed.probability
        assert int(seen.sum()) == 4000
        # χ² of 15 degrees of freedom exceeds 37.7 in one of a thousand cases.
        assert float(((seen - expected) ** 2 / expected).sum()) < 37.7


def test_sampled_subgraphs_keep_the_cliques_inside() -> None:
    """All of them at the treewidth of the graph, and none that needs a lost edge."""
    graph, cliques, unary, pairwise, tables = clique_field()
    exact = CRF(graph, cliques=cliques)(unary, pairwise, cliques=tables).marginals

    def error(max_treewidth: int, samples: int) -> float:
        crf = CRF(graph, cliques=cliques, max_treewidth=max_treewidth, samples=samples)
        return float((crf(unary, pairwise, cliques=tables).marginals - exact).abs().mean())

    errors = [error(*each) for each in ((1, 1), (2, 8), (3, 8), (11, 1))]
    assert errors[0] > errors[2] > errors[3]
    assert errors[3] < 1e-12
    triangle = CRF(nt.Graph([[0, 1, 2], [1, 2, 0]]), cliques=[(0, 1, 2)], max_treewidth=1)
    zero, table = torch.zeros(3, 2), torch.randn(2, 2, 2)
    assert (triangle(zero, torch.zeros(2, 2), cliques=table).marginals == 0.5).all()


def test_known_nodes_are_not_decomposed() -> None:
    """A clique of eight nodes with 10 labels has 10^8 entries, and is never made where six labels are known."""
    crf = CRF(nt.Graph([[], []], num_nodes=8), 10, cliques=[tuple(range(8))], memory_limit=1e6)
    unary, pairwise = torch.zeros(8, 10), torch.zeros(10, 10)
    with pytest.raises(ModelTooLargeError, match=r"states=8.*max_treewidth=2.*memory_limit"):
        crf(unary, pairwise, cliques=torch.zeros(1).expand(*[10] * 8))
    known = torch.tensor([3, 1, 4, 1, 5, 9, -1, -1])
    answer = crf(unary, pairwise, known, cliques=torch.zeros(1).expand(*[10] * 8))
    torch.testing.assert_close(answer.marginals[6:], torch.full((2, 10), 0.1))


def test_memory_is_known_before_tables_of_all_cliques_are_made() -> None:
    """2,000 cliques share a table of 30^3 entries; with the 20 most probable labels each would get its own."""
    nodes = np.arange(6000).reshape(-1, 3)
    none = nt.Graph([[], []], num_nodes=6000)
    unary, pairwise, table = torch.zeros(6000, 30), torch.zeros(30, 30), torch.zeros(30, 30, 30)
    with pytest.raises(ModelTooLargeError):
        CRF(none, cliques=nodes, states=20, memory_limit=4e7)(unary.expand(8, -1, -1), pairwise, cliques=table)
    answer = CRF(none, cliques=nodes, states=2, memory_limit=4e7)(unary, pairwise, cliques=table)
    assert answer.marginals.shape == (6000, 30)


def test_float32_agrees_with_float64() -> None:
    graph, cliques, unary, pairwise, tables = clique_field(seed=5)
    crf = CRF(graph, cliques=cliques)
    exact = crf(5 * unary, pairwise, cliques=tables)
    single = crf(5 * unary.float(), pairwise.float(), cliques={size: table.float() for size, table in tables.items()})
    torch.testing.assert_close(single.marginals.double(), exact.marginals, rtol=1e-4, atol=1e-5)


def test_entries_beyond_the_labels_of_a_node_are_not_read() -> None:
    graph = nt.Graph([[0], [1]], num_nodes=3)
    stream = torch.Generator().manual_seed(6)
    unary, pairwise = torch.randn(3, 3, generator=stream), torch.randn(3, 3, generator=stream)
    table = torch.randn(3, 3, 3, generator=stream)
    beyond = table.clone()
    beyond[2], beyond[:, :, 1:] = 50.0, -torch.inf  # node 1 has two labels, node 2 one
    for known in (None, torch.tensor([1, -1, -1])):
        for states in (None, 2):
            crf = CRF(graph, [3, 2, 1], cliques=[(1, 0, 2)], states=states)
            expected, found = (crf(unary, pairwise, known, cliques=each) for each in (table, beyond))
            torch.testing.assert_close(found.marginals, expected.marginals)
            torch.testing.assert_close(found.log_partition, expected.log_partition)


def test_no_number_is_looked_at() -> None:
    """On a device without any, where a GPU would have to be waited for."""
    graph, cliques, unary, pairwise, tables = clique_field()
    known = torch.full((12,), -1)
    known[[0, 5]] = 1
    for states in (None, 2):
        case = CRF(graph, cliques=cliques, states=states)._case(unary, pairwise, known, tables)
        there = moved((case.solver.given(known), case.unary, case.tables), torch.device("meta"))
        evidence, own, factors = there
        assert case.solver.marginals(own, factors, evidence, check=False).shape == (1, 12, 3)
        assert case.solver.neighbours(case.unary, case.tables, known).shape == (1, 12, 3)


CHAIN = nt.Graph([[0, 1], [1, 2]], num_nodes=4)
ZERO = (torch.zeros(4, 2), torch.zeros(2, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CRF(CHAIN, cliques=[(0, 1, 1)]), r"Expected distinct nodes in a clique; got \(0, 1, 1\)"),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 4)]), r"Expected nodes from 0 to 3 in cliques; got 4 in \(0, 1, 4\)"),
        (lambda: CRF(CHAIN, cliques=[(0, 1)]), r"Expected cliques of three nodes or more; got \(0, 1\).*pairwise"),
        (lambda: CRF(CHAIN, cliques=[0, 1, 2]), "Expected cliques as tuples of nodes"),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 2.5)]), "Expected cliques as tuples of nodes"),
        (lambda: CRF(CHAIN, cliques=5), "Expected cliques as tuples of nodes"),
        (lambda: CRF([CHAIN, CHAIN], cliques=[(0, 1, 5)]), r"Expected cliques inside graphs; clique \(0, 1, 5\)"),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 2)], clique_relation=[0, 1]), "Expected clique_relation as 1 integers"),
        (lambda: CRF(CHAIN, clique_relation=[0]), "Expected clique_relation as 0 integers"),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO), "Expected tables for the cliques of 3 nodes; got none"),
        (lambda: CRF(CHAIN)(*ZERO, cliques=torch.zeros(2, 2, 2)), "Expected no tables of cliques"),
        (
            lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=torch.zeros(2, 2)),
            r"Expected tables of shape \(2, 2, 2\), or \(1, 2, 2, 2\) for 1 cliques of 3 nodes.*got \(2, 2\)",
        ),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=torch.zeros(2, 2, 2, 2)), r"got \(2, 2, 2, 2\)"),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=torch.zeros(3, 1, 2, 2, 2)), r"batch \(\)"),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=[[0.0]]), "got list"),
        (lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques={4: torch.zeros(*[2] * 4)}), "sizes 3.*got 4"),
        (
            lambda: CRF(CHAIN, cliques=[(0, 1, 2), (0, 1, 2, 3)])(*ZERO, cliques=torch.zeros(2, 2, 2)),
            r"Expected tables of the sizes 3, 4, as a dict",
        ),
        (
            lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=torch.zeros(2, 2, 2).double()),
            "Expected tables of torch.float32",
        ),
        (
            lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=torch.full((2, 2, 2), torch.nan)),
            r"numbers or -inf in cliques of 3 nodes; got nan at \(0, 0, 0\)",
        ),
        (
            lambda: CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=torch.full((2, 2, 2), torch.inf)),
            "cliques of 3 nodes; got inf",
        ),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_cliques_that_exclude_each_other() -> None:
    never = torch.full((2, 2, 2), -torch.inf)
    with pytest.raises(ZeroProbabilityError):
        CRF(CHAIN, cliques=[(0, 1, 2)])(*ZERO, cliques=never)
    only = never.clone()
    only[0, 0, 0] = 0.0
    crf = CRF(CHAIN, cliques=[(0, 1, 2)])
    assert crf(*ZERO, cliques=only).marginals[:, 0].tolist() == [1.0, 1.0, 1.0, 0.5]
    with pytest.raises(ZeroProbabilityError, match="graph 0 exclude each other"):
        crf(*ZERO, torch.tensor([0, 1, 0, -1]), cliques=only)
