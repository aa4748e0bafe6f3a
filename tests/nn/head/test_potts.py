"""PottsPosterior: a network's probabilities corrected by neighbours, against listing every labelling."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from neuraltrees import CRF, Graph, InputError, PottsPosterior, Strengths
from neuraltrees.nn.head.crf import potts
from tests.oracle.crf import list_labellings

DOUBLE = torch.float64


def random_case(seed: int, nodes: int, labels: int, edges: int) -> tuple[Graph, Tensor, Tensor]:
    """A random graph, log-probabilities, and labels of which about half are known."""
    stream = np.random.default_rng(seed)
    ends = stream.integers(0, nodes, (2, edges))
    ends = ends[:, ends[0] != ends[1]]
    own = torch.from_numpy(stream.normal(size=(nodes, labels))).log_softmax(1)
    known = np.where(stream.random(nodes) < 0.4, stream.integers(0, labels, nodes), -1)
    return Graph(ends, num_nodes=nodes), own, torch.from_numpy(known)


def listed(graph: Graph, own: Tensor, known: Tensor, strengths: Strengths) -> Tensor:
    """Marginals by all labellings; an edge has the strength of its ends."""
    edges = list(zip(*(end.tolist() for end in graph._upper_edges()), strict=True))
    same = torch.eye(own.shape[1], dtype=own.dtype)

    def table(number: int) -> Tensor:
        first, last = (int(known[end]) for end in edges[number])
        return same * (strengths.edge if first < 0 and last < 0 else strengths.known)

    return list_labellings([own.shape[1]] * len(own), edges, strengths.network * own, table, known.tolist()).marginals


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 9), st.booleans())
def test_marginals_are_those_of_all_labellings(seed: int, nodes: int, labels: int, edges: int, given_any: bool) -> None:
    graph, own, known = random_case(seed, nodes, labels, edges if nodes > 1 else 0)
    known = known if given_any else torch.full_like(known, -1)
    posterior = PottsPosterior(graph, max_treewidth=None)
    posterior.strengths = Strengths(0.7, -0.8, 1.3)
    found = posterior(own, known)
    torch.testing.assert_close(found, listed(graph, own, known, posterior.strengths))
    torch.testing.assert_close(posterior(own, known if given_any else None), found)
    wide = PottsPosterior(graph, max_treewidth=5, samples=3)  # as wide as any graph of six nodes
    wide.strengths = posterior.strengths
    torch.testing.assert_close(wide(own, known), found)


def test_sampled_forests_are_averaged_and_edges_to_known_nodes_are_kept() -> None:
    ring = Graph([[0, 1, 2, 3, 4, 4], [1, 2, 3, 0, 0, 2]])
    own = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=DOUBLE).log_softmax(1)
    known = torch.tensor([-1, -1, -1, -1, 2])
    posterior = PottsPosterior(ring, max_treewidth=1, samples=20, seed=4)
    posterior.strengths = Strengths(1.2, 0.9, 0.6)
    edges = torch.tensor(np.stack(ring._upper_edges()).T)
    # Exactly one edge of the ring of four is left out of a spanning tree.
    without = []
    for left_out in ((0, 1), (1, 2), (2, 3), (0, 3)):
        kept = edges[(edges != torch.tensor(left_out)).any(1)].t()
        without.append(listed(Graph(kept, num_nodes=5), own, known, posterior.strengths))
    found = posterior(own, known)
    shares = torch.linalg.lstsq(torch.stack([each.flatten() for each in without], 1), found.flatten()).solution
    mixed = sum(share * each for share, each in zip(shares, without, strict=True))
    torch.testing.assert_close(found, mixed)
    torch.testing.assert_close(20 * shares, (20 * shares).round(), atol=1e-6, rtol=0)
    assert float(shares.sum()) == pytest.approx(1) and int((shares > 0.01).sum()) > 1


def test_without_strengths_the_answers_are_those_of_the_network() -> None:
    graph, own, known = random_case(3, 40, 4, 100)
    posterior = PottsPosterior(graph)
    posterior.strengths = Strengths()
    free = known < 0
    torch.testing.assert_close(posterior(own, known)[free], own.exp()[free])
    logits = own + torch.randn(40, 1, dtype=DOUBLE)
    torch.testing.assert_close(posterior(logits, known), posterior(own, known))


def test_impossible_labels_stay_impossible() -> None:
    graph, own, known = random_case(5, 12, 3, 20)
    own[:, 1] = -torch.inf
    known = torch.where(known == 1, -1, known)
    posterior = PottsPosterior(graph).fit(own, known, torch.where(known < 0, 0, -1))
    assert posterior(own, known)[:, 1].max() < 1e-12


def planted(seed: int, strengths: Strengths) -> tuple[Graph, Tensor, Tensor, Tensor, Tensor]:
    """A tree whose labels are a sample of the model: graph, log-probabilities, known, held-out and other labels."""
    stream = np.random.default_rng(seed)
    size, labels = 3000, 3
    parent = np.array([stream.integers(max(0, node - 30), node) for node in range(1, size)])
    graph = Graph(np.stack([np.arange(1, size), parent]), num_nodes=size)
    own = torch.from_numpy(1.5 * stream.normal(size=(size, labels))).log_softmax(1)
    same = torch.eye(labels, dtype=DOUBLE)
    crf = CRF(graph)
    generator = torch.Generator().manual_seed(seed)
    y = crf.sample(strengths.network * own, strengths.edge * same, generator=generator)[0]
    part = torch.from_numpy(stream.integers(0, 3, size))
    known, held_out, others = (torch.where(part == number, y, -1) for number in range(3))
    return graph, own, known, held_out, others


def test_fit_finds_the_numbers_that_the_labels_were_drawn_with() -> None:
    true = Strengths(0.6, 1.4, 1.4)
    graph, own, known, held_out, others = planted(0, true)
    posterior = PottsPosterior(graph).fit(own, known, held_out)
    assert posterior.strengths is not None and posterior.gain is not None
    assert posterior.strengths.network == pytest.approx(true.network, abs=0.1)
    assert posterior.strengths.known == pytest.approx(true.known, abs=0.2)
    assert posterior.strengths.edge == pytest.approx(true.edge, abs=0.3)
    assert posterior.gain > 50

    def loss(probabilities: Tensor) -> float:
        return float(torch.nn.functional.nll_loss(probabilities.log()[others >= 0], others[others >= 0]))

    start = PottsPosterior(graph)
    start.strengths = Strengths(1.0, 0.3, 0.3)
    assert loss(posterior(own, known)) < loss(start(own, known)) - 0.05
    assert loss(posterior(own, known)) < loss(own.exp()) - 0.2


def test_careful_leaves_labels_alone_where_neighbours_say_nothing() -> None:
    graph, own, known, held_out, _ = planted(1, Strengths(0.6, 0.0, 0.0))
    bold = PottsPosterior(graph, careful=False).fit(own, known, held_out)
    careful = PottsPosterior(graph).fit(own, known, held_out)
    assert bold.gain == careful.gain and bold.strengths != careful.strengths
    assert careful.strengths == careful.alone == bold.alone
    assert careful.alone is not None and careful.alone.network == pytest.approx(0.6, abs=0.1)
    free = known < 0
    assert torch.equal(careful(own, known).argmax(1)[free], own.argmax(1)[free])
    coupled = planted(1, Strengths(0.6, 1.4, 1.4))[:4]
    sure = PottsPosterior(coupled[0]).fit(*coupled[1:])
    assert sure.strengths is not None and sure.strengths.edge > 1


def test_known_nodes_keep_their_labels_and_all_is_deterministic() -> None:
    graph, own, known = random_case(7, 60, 3, 150)
    held_out = torch.where((known < 0) & (torch.arange(60) % 2 == 0), own.argmax(1), -1)
    first, again = (PottsPosterior(graph, seed=3, careful=False).fit(own, known, held_out) for _ in range(2))
    assert first.strengths == again.strengths and first.gain == again.gain
    found = first(own, known)
    assert torch.equal(found, again(own, known))
    fixed = known >= 0
    assert torch.equal(found[fixed], torch.eye(3, dtype=DOUBLE)[known[fixed]])
    torch.testing.assert_close(found.sum(1), torch.ones(60, dtype=DOUBLE))
    assert not found.requires_grad
    everything = torch.where(fixed, known, 0)
    assert torch.equal(first(own, everything), torch.eye(3, dtype=DOUBLE)[everything])


def test_a_batch_is_its_graphs_one_by_one() -> None:
    cases = [random_case(seed, 8, 3, 7) for seed in (1, 2, 3)]
    graphs = [Data(edge_index=torch.as_tensor(case[0].edge_index), num_nodes=8) for case in cases]
    strengths = Strengths(1.1, 0.5, 0.8)
    together = PottsPosterior(Batch.from_data_list(graphs), max_treewidth=None)
    together.strengths = strengths
    found = together(torch.cat([case[1] for case in cases]), torch.cat([case[2] for case in cases]))
    for (graph, own, known), part in zip(cases, found.view(3, 8, 3), strict=True):
        alone = PottsPosterior(graph, max_treewidth=None)
        alone.strengths = strengths
        torch.testing.assert_close(part, alone(own, known))


def test_bad_input() -> None:
    graph, own, known = random_case(0, 6, 3, 8)
    known = torch.tensor([0, -1, -1, -1, -1, -1])
    held_out = torch.tensor([-1, 1, 2, -1, -1, -1])
    posterior = PottsPosterior(graph)
    with pytest.raises(InputError, match=r"Expected strengths; got none\. Call fit first"):
        posterior(own, known)
    with pytest.raises(InputError, match=r"log_probabilities as floats of shape \(6, labels\); got .* shape \(5, 3\)"):
        posterior.fit(own[:5], known, held_out)
    with pytest.raises(InputError, match=r"log_probabilities as floats .* got list"):
        posterior.fit([[0.0]], known, held_out)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"finite numbers or -inf in log_probabilities; got nan at \(2, 1\)"):
        posterior.fit(
            own.index_put((torch.tensor(2), torch.tensor(1)), torch.tensor(torch.nan, dtype=DOUBLE)), known, held_out
        )
    with pytest.raises(InputError, match="all labels of node 4 have -inf"):
        posterior.fit(own.index_fill(0, torch.tensor(4), -torch.inf), known, held_out)
    with pytest.raises(InputError, match=r"Expected known from 0 to 2, or -1; got 3 at node 0"):
        posterior.fit(own, torch.where(known == 0, 3, known), held_out)
    with pytest.raises(InputError, match=r"Expected y from 0 to 2, or -1; got -2 at node 1"):
        posterior.fit(own, known, torch.where(held_out == 1, -2, held_out))
    with pytest.raises(InputError, match=r"Expected known as integers, .* got torch\.bool"):
        posterior.fit(own, known >= 0, held_out)
    with pytest.raises(InputError, match="at least one held-out label in y, to learn from; got -1 everywhere"):
        posterior.fit(own, known, torch.full_like(known, -1))
    with pytest.raises(InputError, match="held-out labels in y only for nodes without a known label; node 0 has both"):
        posterior.fit(own, known, torch.zeros_like(known))
    with pytest.raises(InputError, match="max_treewidth"):
        PottsPosterior(graph, max_treewidth=0)
    with pytest.raises(InputError, match="samples"):
        PottsPosterior(graph, samples=0)
    with pytest.raises(InputError, match="Expected a Graph, a list of them"):
        PottsPosterior("graph")
    assert posterior.strengths is None, "nothing was learned from bad input"


def test_several_networks_have_a_factor_each() -> None:
    true = Strengths(0.6, 1.4, 1.4)
    graph, own, known, held_out, others = planted(2, true)
    noise = torch.randn(own.shape, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    first, second = (own + noise).log_softmax(1), (own - noise).log_softmax(1)  # together they say as much as `own`
    posterior = PottsPosterior(graph).fit([first, second], known, held_out)
    assert posterior.strengths is not None and posterior.alone is not None
    assert posterior.strengths.network == pytest.approx(0.3, abs=0.1)
    assert posterior.strengths.others == pytest.approx((0.3,), abs=0.1)
    assert posterior.strengths.edge == pytest.approx(true.edge, abs=0.3)
    assert len(posterior.alone.others) == 1 and posterior.alone.edge == 0
    free = others >= 0
    alone = PottsPosterior(graph).fit(first, known, held_out)
    right = [
        float((p[free].argmax(1) == others[free]).double().mean())
        for p in (posterior([first, second], known), alone(first, known))
    ]
    assert right[0] > right[1] + 0.01


def test_the_sum_of_several_networks_is_that_of_their_log_probabilities() -> None:
    graph, own, known = random_case(11, 6, 3, 8)
    other = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), dtype=DOUBLE).log_softmax(1)
    posterior = PottsPosterior(graph, max_treewidth=None)
    posterior.strengths = Strengths(0.7, -0.8, 1.3, (0.4,))
    found = posterior([own, other], known)
    torch.testing.assert_close(found, listed(graph, own + 0.4 / 0.7 * other, known, posterior.strengths))
    one = PottsPosterior(graph, max_treewidth=None)
    one.strengths = Strengths(0.7, -0.8, 1.3)
    torch.testing.assert_close(one([own], known), one(own, known))


def test_careful_leaves_out_networks_that_say_nothing_new() -> None:
    graph, own, known, held_out, _ = planted(4, Strengths(0.6, 1.4, 1.4))
    noise = torch.randn(own.shape, generator=torch.Generator().manual_seed(0), dtype=DOUBLE).log_softmax(1)
    bold = PottsPosterior(graph, careful=False).fit([own, noise], known, held_out).strengths
    careful = PottsPosterior(graph).fit([own, noise], known, held_out)
    one = PottsPosterior(graph).fit(own, known, held_out)
    assert bold is not None and bold.others[0] > 0
    assert careful.strengths is not None and careful.strengths.others == (0.0,)
    assert one.strengths is not None and careful.strengths.numbers[2:] == one.strengths.numbers[1:]
    torch.testing.assert_close(careful([own, noise], known), one(own, known))


def test_wrong_numbers_of_networks_are_refused() -> None:
    graph, own, known = random_case(11, 6, 3, 8)
    posterior = PottsPosterior(graph)
    with pytest.raises(InputError, match="at least one network; got an empty list"):
        posterior.fit([], known, known)
    with pytest.raises(InputError, match="same labels by all networks; got 3 and 2 labels"):
        posterior.fit([own, own[:, :2]], known, known)
    posterior.strengths = Strengths()
    with pytest.raises(InputError, match="as many networks as there are factors, 1; got 2"):
        posterior([own, own], known)


def test_a_step_that_is_too_long_gives_finite_factors() -> None:
    found = potts._numbers(torch.tensor([375.0, -400.0, -353.0, -83.0]))
    assert bool(found.isfinite().all()) and bool((found[:2] > 0).all())
    graph, own, known, held_out, _ = planted(3, Strengths(0.6, 1.4, 1.4))
    for scale in (1e-6, 1e3):  # a network that says nothing, and one that is always sure
        posterior = PottsPosterior(graph, careful=False).fit(scale * own, known, held_out)
        assert bool(posterior(scale * own, known).isfinite().all())
