"""The CRF layer against listing every labelling, a junction tree, and its own answers in another order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

import neuraltrees as nt
from neuraltrees.errors import InputError, ModelTooLargeError, ZeroProbabilityError
from neuraltrees.inference import CRF
from tests.oracle.crf import Listed, list_labellings

DOUBLE = torch.float64


@dataclass(frozen=True)
class Drawn:
    """A random field: graph, numbers of labels, potentials and known labels of two batch entries."""

    counts: list[int]
    edges: list[tuple[int, int]]
    unary: Tensor
    pairwise: Tensor
    relation: list[int] | None
    known: Tensor | None

    @property
    def graph(self) -> nt.Graph:
        return nt.Graph(np.array(self.edges, np.int64).reshape(-1, 2).T, num_nodes=len(self.counts))

    def crf(self, **options: object) -> CRF:
        return CRF(self.graph, self.counts, relation=self.relation, **options)  # type: ignore[arg-type]

    def listed(self, entry: int, nothing_known: bool = False) -> Listed:
        def table(edge: int) -> Tensor:
            if self.pairwise.dim() == 2:
                return self.pairwise
            return self.pairwise[edge if self.relation is None else self.relation[edge]]

        labels = [-1] * len(self.counts)
        if self.known is not None and not nothing_known:
            labels = (self.known if self.known.dim() == 1 else self.known[entry]).tolist()
        return list_labellings(self.counts, self.edges, self.unary[entry], table, labels)


@st.composite
def fields(draw: st.DrawFn) -> Drawn:
    nodes = draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(1, 3), min_size=nodes, max_size=nodes))
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    edges = sorted(draw(st.sets(st.sampled_from(pairs)))) if pairs else []
    width = max(counts)
    stream = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["one", "relation", "edge"]))
    relation = (
        draw(st.lists(st.integers(0, 1), min_size=len(edges), max_size=len(edges))) if kind == "relation" else None
    )
    tables = {"one": (), "relation": (1 + max(relation or [0]),), "edge": (len(edges),)}[kind]
    unary = 2 * torch.randn(2, nodes, width, generator=stream, dtype=DOUBLE)
    if draw(st.booleans()):  # forbidden labels; the first of each node stays possible
        unary = torch.where(torch.rand(unary.shape, generator=stream) < 0.2, -torch.inf, unary)
        unary[..., 0] = unary[..., 0].nan_to_num(neginf=0.0)
    pairwise = torch.randn(*tables, width, width, generator=stream, dtype=DOUBLE)
    known = None
    mode = draw(st.sampled_from(["none", "same", "own", "all"]))
    if mode != "none":
        share = 1.0 if mode == "all" else 0.5
        limit = torch.tensor(counts)
        drawn = (torch.rand(2, nodes, generator=stream) * limit).long()
        drawn = torch.where((unary == -torch.inf).gather(2, drawn.unsqueeze(2)).squeeze(2), 0, drawn)
        known = torch.where(torch.rand(2, nodes, generator=stream) < share, drawn, -1)
        known = known[0] if mode == "same" else known
        if mode == "same":  # what is possible in one entry must be in both
            unary = unary[:1].expand(2, -1, -1) + 0.1
    return Drawn(counts, edges, unary, pairwise, relation, known)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)


@given(drawn=fields())
@settings(deadline=None, max_examples=200)
def test_marginals_log_partition_entropy_and_map_agree_with_listing(drawn: Drawn) -> None:
    crf = drawn.crf()
    answer = crf(drawn.unary, drawn.pairwise, drawn.known)
    entropy = crf.entropy(drawn.unary, drawn.pairwise, drawn.known)
    best = crf.map(drawn.unary, drawn.pairwise, drawn.known)
    for entry in range(2):
        listed = drawn.listed(entry)
        close(answer.marginals[entry], listed.marginals)
        close(answer.log_partition[entry, 0], listed.log_partition)
        close(entropy[entry, 0], listed.entropy)
        score = listed.scores[(listed.labellings == best[entry]).all(1)]
        close(score, listed.scores.max().view(1))
    close(answer.log_partition, crf.log_partition(drawn.unary, drawn.pairwise, drawn.known))


@given(drawn=fields())
@settings(deadline=None, max_examples=100)
def test_gradients_agree_with_listing(drawn: Drawn) -> None:
    inputs = [drawn.unary.clone().requires_grad_(), drawn.pairwise.clone().requires_grad_()]
    mine = Drawn(drawn.counts, drawn.edges, inputs[0], inputs[1], drawn.relation, drawn.known)
    crf = mine.crf()
    answer, weight = crf(*inputs, mine.known), torch.linspace(-1, 1, mine.unary.shape[2], dtype=DOUBLE)
    total = (answer.marginals * weight).square().sum() + answer.log_partition.sum()
    total = total + crf.entropy(*inputs, mine.known).sum()
    expected = torch.zeros((), dtype=DOUBLE)
    for entry in range(2):
        listed = mine.listed(entry)
        expected = expected + (listed.marginals * weight).square().sum() + listed.log_partition + listed.entropy
    for mine_too, theirs in zip(_gradients(total, inputs), _gradients(expected, inputs), strict=True):
        close(mine_too, theirs)


def _gradients(value: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    found = torch.autograd.grad(value, inputs, allow_unused=True, materialize_grads=True)
    return tuple(each.nan_to_num() for each in found)


@given(drawn=fields())
@settings(deadline=None, max_examples=50)
def test_likelihood_and_conditionals_agree_with_listing(drawn: Drawn) -> None:
    crf = drawn.crf()
    known = torch.full((len(drawn.counts),), -1) if drawn.known is None else drawn.known
    likelihood = crf.log_likelihood(drawn.unary, drawn.pairwise, known)
    conditionals = crf.conditionals(drawn.unary, drawn.pairwise, known)
    for entry in range(2):
        given_all, free = drawn.listed(entry), drawn.listed(entry, nothing_known=True)
        close(likelihood[entry, 0], given_all.log_partition - free.log_partition)
        labels = (known if known.dim() == 1 else known[entry]).tolist()
        for node, count in enumerate(drawn.counts):
            logits = drawn.unary[entry, node].clone()
            for number, (first, last) in enumerate(drawn.edges):
                table = _table(drawn, number)
                if first == node and labels[last] >= 0:
                    logits = logits + table[:, labels[last]]
                if last == node and labels[first] >= 0:
                    logits = logits + table[labels[first]]
            close(conditionals[entry, node, :count], logits[:count].log_softmax(0))
            assert (conditionals[entry, node, count:] == -torch.inf).all()


def _table(drawn: Drawn, number: int) -> Tensor:
    if drawn.pairwise.dim() == 2:
        return drawn.pairwise
    return drawn.pairwise[number if drawn.relation is None else drawn.relation[number]]


@given(drawn=fields(), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=50)
def test_any_order_of_nodes_gives_the_same_answers(drawn: Drawn, seed: int) -> None:
    size = len(drawn.counts)
    order = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    place = order.argsort()
    moved: dict[tuple[int, int], Tensor] = {}
    for number, (first, last) in enumerate(drawn.edges):
        a, b = int(place[first]), int(place[last])
        table = _table(drawn, number)
        moved[min(a, b), max(a, b)] = table if a < b else table.mT
    edges = sorted(moved)
    width = drawn.unary.shape[2]
    tables = torch.stack([moved[edge] for edge in edges]) if edges else torch.zeros(0, width, width, dtype=DOUBLE)
    graph = nt.Graph(np.array(edges, np.int64).reshape(-1, 2).T, num_nodes=size)
    other = CRF(graph, [drawn.counts[int(node)] for node in order])
    known = None if drawn.known is None else drawn.known[..., order]
    answer = drawn.crf()(drawn.unary, drawn.pairwise, drawn.known)
    again = other(drawn.unary[:, order], tables, known)
    close(again.marginals, answer.marginals[:, order])
    close(again.log_partition, answer.log_partition)


def random_graphs(count: int, seed: int) -> list[nt.Graph]:
    made = [nx.gnm_random_graph(3 + number % 5, 2 + number % 4, seed=seed + number) for number in range(count)]
    return [nt.Graph.from_networkx(each) for each in made]


def random_problem(count: int, labels: int, seed: int) -> tuple[list[nt.Graph], Tensor, Tensor, Tensor]:
    """Graphs, potentials of nodes, a table for all edges, and known labels of some nodes, in float32."""
    graphs = random_graphs(count, seed)
    size, stream = sum(graph.num_nodes for graph in graphs), torch.Generator().manual_seed(seed)
    unary, table = torch.randn(size, labels, generator=stream), torch.randn(labels, labels, generator=stream)
    return graphs, unary, table, torch.where(torch.rand(size, generator=stream) < 0.3, 1, -1)


def test_a_batch_equals_one_graph_after_another() -> None:
    graphs = random_graphs(12, seed=0)
    sizes = [graph.num_nodes for graph in graphs]
    stream = torch.Generator().manual_seed(1)
    unary = torch.randn(sum(sizes), 4, generator=stream, dtype=DOUBLE)
    table = torch.randn(4, 4, generator=stream, dtype=DOUBLE)
    known = torch.where(torch.rand(sum(sizes), generator=stream) < 0.4, 2, -1)
    together = CRF(graphs)(unary, table, known)
    parts = zip(graphs, unary.split(sizes), known.split(sizes), strict=True)
    alone = [CRF(graph)(own, table, labels) for graph, own, labels in parts]
    close(together.marginals, torch.cat([each.marginals for each in alone]))
    close(together.log_partition, torch.cat([each.log_partition for each in alone]))
    data = [Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes) for graph in graphs]
    close(CRF(Batch.from_data_list(data))(unary, table, known).marginals, together.marginals)


def test_agrees_with_a_junction_tree() -> None:
    graph = nt.Graph.from_networkx(nx.grid_2d_graph(3, 5))
    stream = torch.Generator().manual_seed(2)
    unary = torch.randn(15, 3, generator=stream, dtype=DOUBLE)
    table = torch.randn(3, 3, generator=stream, dtype=DOUBLE)
    crf = CRF(graph)
    cliques = [(node,) for node in range(15)] + [tuple(edge) for edge in crf.edges.T.tolist()]
    potentials = [*unary, *[table] * graph.num_edges]
    answer = nt.infer(nt.MarkovNetwork([3] * 15, cliques, potentials))
    found = crf(unary, table)
    close(found.marginals, torch.stack(list(answer.marginals)))
    close(found.log_partition[0], answer.log_partition)


def test_samples_follow_the_distribution() -> None:
    graph = nt.Graph([[0, 1, 2, 0], [1, 2, 0, 3]])
    stream = torch.Generator().manual_seed(3)
    unary, table = torch.randn(4, 2, generator=stream, dtype=DOUBLE), torch.randn(2, 2, generator=stream, dtype=DOUBLE)
    known = torch.tensor([-1, 1, -1, -1])
    crf = CRF(graph)
    count = 4000
    found = crf.sample(unary, table, known, count, generator=torch.Generator().manual_seed(4))
    assert found.shape == (count, 4)
    assert (found[:, 1] == 1).all()
    edges = [tuple(edge) for edge in crf.edges.T.tolist()]
    listed = list_labellings([2] * 4, edges, unary, lambda edge: table, known.tolist())
    seen = torch.stack([(found == row).all(1).sum() for row in listed.labellings])
    expected = count * listed.probability
    assert int(seen.sum()) == count
    # χ² of 7 degrees of freedom exceeds 24.3 in one of a thousand cases.
    assert float(((seen - expected) ** 2 / expected).sum()) < 24.3
    again = crf.sample(unary, table, known, 5, generator=torch.Generator().manual_seed(4))
    assert (again == found[:5]).all()


def test_all_labels_kept_is_exact_and_few_are_close() -> None:
    graph = nt.Graph.from_networkx(nx.cycle_graph(6))
    stream = torch.Generator().manual_seed(5)
    unary = 8 * torch.randn(6, 5, generator=stream, dtype=DOUBLE)
    table = 0.3 * torch.randn(5, 5, generator=stream, dtype=DOUBLE)
    exact = CRF(graph)(unary, table)
    close(CRF(graph, states=5)(unary, table).marginals, exact.marginals)
    close(CRF(graph, states=7)(unary, table).log_partition, exact.log_partition)
    errors = [
        float((CRF(graph, states=states)(unary, table).marginals - exact.marginals).abs().max())
        for states in (1, 2, 3, 4)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[3] < 1e-4
    assert (CRF(graph, states=1).map(unary, table) == unary.argmax(1)).all()


def test_sampled_subgraphs() -> None:
    graph = nt.Graph.from_networkx(nx.grid_2d_graph(4, 4))
    stream = torch.Generator().manual_seed(6)
    unary = torch.randn(16, 3, generator=stream, dtype=DOUBLE)
    table = 0.5 * torch.eye(3, dtype=DOUBLE)
    exact = CRF(graph)(unary, table)
    close(CRF(graph, max_treewidth=16)(unary, table).marginals, exact.marginals)

    def error(**options: int) -> float:
        return float((CRF(graph, **options)(unary, table).marginals - exact.marginals).abs().mean())  # type: ignore[arg-type]

    assert error(max_treewidth=3) < error(max_treewidth=1)
    assert error(max_treewidth=1, samples=8) < error(max_treewidth=1)
    averaged = CRF(graph, max_treewidth=1, samples=3, seed=7)(unary, table)
    ones = [CRF(graph, max_treewidth=1, seed=seed)(unary, table).marginals for seed in (7, 8, 9)]
    close(averaged.marginals, torch.stack(ones).mean(0))
    with pytest.raises(InputError, match="one sampled subgraph"):
        CRF(graph, max_treewidth=1, samples=3).map(unary, table)


def test_known_nodes_are_not_decomposed() -> None:
    wide = nt.Graph.from_networkx(nx.complete_graph(30))
    unary, table = torch.zeros(30, 10), torch.eye(10)
    known = torch.full((30,), 3)
    known[[4, 9]] = -1
    answer = CRF(wide)(unary, table, known)
    assert answer.marginals[4].argmax() == 3
    with pytest.raises(ModelTooLargeError, match=r"states=8.*max_treewidth=2.*memory_limit"):
        CRF(wide)(unary, table)


def test_plans_are_made_once_for_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    crf = CRF(nt.Graph([[0, 1], [1, 2]]))
    unary, table = torch.zeros(3, 2), torch.eye(2)
    made: list[int] = []
    from neuraltrees.inference.crf import solver

    for name in ("make_remainders", "plan_core"):
        original = getattr(solver, name)
        monkeypatch.setattr(solver, name, partial(_counted, made, original))
    for label in (0, 1, 0):
        crf(unary, table, torch.tensor([label, -1, -1]))
    assert len(made) == 1  # of the core, which suffices without gradients
    for label in (0, 1, 0):
        crf(unary.requires_grad_(), table, torch.tensor([label, -1, -1]))
    assert len(made) == 2
    crf(unary, table, torch.tensor([-1, 0, -1]))
    assert len(made) == 4


def _counted(made: list[int], work: Callable[..., object], *given: object) -> object:
    made.append(1)
    return work(*given)


def test_float32_agrees_with_float64() -> None:
    graphs = random_graphs(20, seed=50)
    stream = torch.Generator().manual_seed(8)
    unary = 5 * torch.randn(sum(graph.num_nodes for graph in graphs), 4, generator=stream, dtype=DOUBLE)
    table = 2 * torch.randn(4, 4, generator=stream, dtype=DOUBLE)
    exact, single = CRF(graphs)(unary, table), CRF(graphs)(unary.float(), table.float())
    torch.testing.assert_close(single.marginals.double(), exact.marginals, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(single.log_partition.double(), exact.log_partition, rtol=1e-5, atol=1e-5)


def test_a_graph_without_nodes_or_edges() -> None:
    assert CRF(nt.Graph([[], []], num_nodes=0))(torch.zeros(0, 2), torch.zeros(2, 2)).marginals.shape == (0, 2)
    alone = CRF(nt.Graph([[], []], num_nodes=2))(torch.tensor([[0.0, 0.0], [0.0, -torch.inf]]), torch.zeros(2, 2))
    assert alone.marginals.tolist() == [[0.5, 0.5], [1.0, 0.0]]


CHAIN = nt.Graph([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CRF("graph"), "Expected a Graph, a list of them"),  # type: ignore[arg-type]
        (lambda: CRF(CHAIN, [2, 2]), "Expected labels as 3 integers"),
        (lambda: CRF(CHAIN, relation=[0]), "Expected relation as 2 integers"),
        (lambda: CRF(CHAIN, states=0), "states"),
        (lambda: CRF(CHAIN, samples=3), "Expected a max_treewidth for 3 sampled subgraphs"),
        (lambda: CRF(CHAIN, 4)(torch.zeros(3, 2), torch.zeros(2, 2)), "Expected potentials of the 4 labels"),
        (lambda: CRF(CHAIN)(torch.zeros(4, 2), torch.zeros(2, 2)), r"Expected unary of shape \(\*, 3, labels\)"),
        (lambda: CRF(CHAIN)(torch.zeros(3, 2), torch.zeros(3, 2, 2)), r"for 2 edges.*got \(3, 2, 2\)"),
        (lambda: CRF(CHAIN)(torch.zeros(3, 2), torch.zeros(2, 2), torch.tensor([2, -1, -1])), "got 2 at node 0"),
        (lambda: CRF(CHAIN)(torch.zeros(3, 2), torch.zeros(2, 2), torch.zeros(3)), "known as integers"),
        (lambda: CRF(CHAIN)(torch.zeros(3, 2), torch.zeros(2, 2), torch.zeros(2, 3).long()), "known of shape"),
        (lambda: CRF(CHAIN)(torch.full((3, 2), torch.nan), torch.zeros(2, 2)), r"unary; got nan at \(0, 0\)"),
        (lambda: CRF(CHAIN)(torch.zeros(3, 2), torch.full((2, 2), torch.inf)), "pairwise; got inf"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("known", [None, torch.tensor([1, -1, -1])])
@pytest.mark.parametrize("states", [None, 1, 2])
def test_entries_beyond_the_labels_of_a_node_are_not_read(states: int | None, known: Tensor | None) -> None:
    crf, draws = CRF(CHAIN, [2, 3, 1], states=states), torch.Generator().manual_seed(0)
    unary = torch.randn(3, 3, generator=draws, dtype=DOUBLE)
    table = torch.randn(3, 3, generator=draws, dtype=DOUBLE)
    beyond = torch.arange(3) >= torch.tensor([2, 3, 1]).unsqueeze(1)
    others = [unary.masked_fill(beyond, value) for value in (-torch.inf, 0.0, 50.0)]
    expected, *found = (crf(each, table, known) for each in others)
    for each in found:
        torch.testing.assert_close(each.marginals, expected.marginals)
        torch.testing.assert_close(each.log_partition, expected.log_partition)
        assert not each.marginals[beyond].any()
    for answer in (crf.map, crf.entropy):
        torch.testing.assert_close(answer(others[2], table, known), answer(others[0], table, known))
    if known is not None:
        torch.testing.assert_close(crf.conditionals(others[2], table, known), crf.conditionals(others[0], table, known))


def test_impossible_labels() -> None:
    crf, zero = CRF(CHAIN), torch.zeros(3, 2)
    nothing = zero.clone()
    nothing[1] = -torch.inf
    with pytest.raises(ZeroProbabilityError, match="node 1"):
        crf(nothing, torch.zeros(2, 2))
    never = torch.full((2, 2), -torch.inf)
    with pytest.raises(ZeroProbabilityError):
        crf(zero, never)
    different = torch.tensor([[-torch.inf, 0.0], [0.0, -torch.inf]])
    with pytest.raises(ZeroProbabilityError):
        crf(zero, different, torch.tensor([0, -1, 1]))
    with pytest.raises(ZeroProbabilityError, match="graph 0 exclude each other"):
        crf(zero, different, torch.tensor([0, 0, -1]))


def test_calls_without_checks_give_the_same_and_notice_other_known_labels() -> None:
    graphs, unary, table, known = random_problem(5, 3, seed=2)
    labels = [3] * (len(unary) - 1) + [2]
    crf = nt.CRF(graphs, labels)
    for _ in range(2):
        expected = nt.CRF(graphs, labels)(unary, table, known)
        for mine, theirs in zip(crf(unary, table, known, check=False), expected, strict=True):
            torch.testing.assert_close(mine, theirs)
        known[:3] = torch.where(known[:3] < 0, 0, -1)  # in place: other nodes are known now
