"""CRFPosterior: any model's probabilities corrected by a CRF with tables, against listing every labelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from neuraltrees import Graph, InputError, cross_fit
from neuraltrees.nn import CRFPosterior
from tests.oracle.crf import list_labellings

DOUBLE = torch.float64
TYPES = {"room": 2, "object": 3}


def random_case(seed: int, nodes: int, edges: int, features: int) -> tuple[Data, Tensor, Tensor]:
    """A random graph of two node types, log-probabilities of up to three labels, and labels of all nodes."""
    stream = np.random.default_rng(seed)
    ends = stream.integers(0, nodes, (2, edges))
    graph = Graph(ends[:, ends[0] != ends[1]], num_nodes=nodes)
    edge_index = torch.from_numpy(np.stack(graph._upper_edges()))
    edge_index = torch.cat([edge_index, edge_index.flip(0)], 1)
    kinds = torch.from_numpy(stream.integers(0, 2, nodes))
    data = Data(edge_index=edge_index, node_type=kinds, num_nodes=nodes)
    if features:
        data.edge_attr = torch.from_numpy(stream.normal(size=(edge_index.shape[1], features)))
    y = torch.from_numpy(stream.integers(0, 2 + kinds.numpy()))
    return data, torch.from_numpy(stream.normal(size=(nodes, 3))).log_softmax(1), y


def listed(posterior: CRFPosterior, data: Data, own: Tensor, known: Tensor) -> Tensor:
    """Marginals by all labellings, with the mathematics of the docstring written out."""
    kinds, tables = data.node_type, posterior.head.pairs.table
    counts = [(2, 3)[kind] for kind in kinds.tolist()]
    weights = posterior._learned()
    unary = torch.zeros_like(own)
    for node, (kind, count) in enumerate(zip(kinds.tolist(), counts, strict=True)):
        share = own[node, :count].softmax(0)
        mixed = (1 - posterior.smoothing) * share + posterior.smoothing * weights.frequency[kind, :count]
        unary[node, :count] = weights.scale[kind] * mixed.log() + weights.bias[kind, :count]
    columns = {tuple(edge): number for number, edge in enumerate(data.edge_index.t().tolist())}
    edges = [edge for edge in columns if edge[0] < edge[1]]

    def table(number: int) -> Tensor:
        u, v = edges[number]
        first, last = int(kinds[u]), int(kinds[v])
        base = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 2}[first, last]
        features = data.get("edge_attr")
        ways = [((u, v), False), ((v, u), True)] if first == last else [((u, v) if first < last else (v, u), False)]
        found = torch.zeros(3, 3, dtype=own.dtype)
        for way, turned in ways:
            whole = tables[base].clone()
            for gate in range(0 if features is None else features.shape[1]):
                whole = whole + features[columns[way], gate].tanh() * tables[3 * (1 + gate) + base]
            found = found + (whole.mT if turned else whole) / len(ways)
        return found.mT if first > last else found

    return list_labellings(counts, edges, unary, table, known.tolist()).marginals


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 9), st.integers(0, 2))
def test_marginals_are_those_of_all_labellings(seed: int, nodes: int, edges: int, features: int) -> None:
    data, own, y = random_case(seed, nodes, edges if nodes > 1 else 0, features)
    posterior = CRFPosterior(data, TYPES, prior=0.3, gate_prior=0.5, smoothing=0.2).fit(own, y)
    known = torch.where(torch.arange(nodes) % 3 == 0, y, -1)
    found = posterior(own, known)
    torch.testing.assert_close(found, listed(posterior, data, own, known))
    torch.testing.assert_close(posterior(own), listed(posterior, data, own, torch.full_like(y, -1)))


def test_fit_finds_the_maximum_of_the_penalised_pseudo_likelihood() -> None:
    data, own, y = random_case(5, 40, 80, 1)
    y[::4] = -1
    posterior = CRFPosterior(data, TYPES, prior=1.0, gate_prior=2.0).fit(own, y)
    probabilities = own.masked_fill(~posterior.possible, -torch.inf).softmax(1)
    weights = posterior._learned()

    def objective(scale: Tensor, bias: Tensor, table: Tensor) -> Tensor:
        unary = posterior._unary(posterior._smoothed(probabilities, weights), scale, bias)
        scores = posterior.field.solver.neighbours(unary.unsqueeze(0), posterior._tables(table), y)[0].log_softmax(1)
        labelled = y >= 0
        prior = (scale - 1).square().sum() + 10 * bias.square().sum()
        prior = prior + table[:3].square().sum() + 2 * table[3:].square().sum()
        return scores[labelled].gather(1, y[labelled].unsqueeze(1)).sum() - prior / 2

    free = [weights.scale, weights.bias, posterior.head.pairs.table.detach()]
    slopes = torch.autograd.functional.jacobian(objective, tuple(free))
    assert max(float(slope.abs().max()) for slope in slopes) < 0.01
    assert float(free[2].abs().max()) > 0.1


def test_labels_that_are_found_side_by_side_are_learned() -> None:
    stream = torch.Generator().manual_seed(0)
    pairs = 200
    first = torch.randint(0, 3, (pairs,), generator=stream)
    y = torch.stack([first, (first + 1) % 3], 1).flatten()  # a neighbour has another label: no Potts model fits
    edge_index = torch.arange(2 * pairs).view(-1, 2).t()
    unsure = torch.zeros(2 * pairs, 3)
    train = torch.rand(2 * pairs, generator=stream) < 0.7
    posterior = CRFPosterior(Data(edge_index=edge_index, num_nodes=2 * pairs), 3).fit(unsure, torch.where(train, y, -1))
    assert bool((posterior.tables[0].diagonal() < posterior.tables[0].mean() - 1).all())
    found = posterior(unsure, torch.where(train, y, -1))
    neighbour = torch.arange(2 * pairs) ^ 1
    alone = ~train & train[neighbour]
    excluded = found[alone].gather(1, y[neighbour[alone]].unsqueeze(1))
    assert int(alone.sum()) > 20 and float(excluded.max()) < 0.1


def test_a_model_that_remembers_its_labels_hides_the_tables_and_cross_fitting_shows_them() -> None:
    ring = torch.arange(120)
    data = Data(edge_index=torch.stack([ring, ring.roll(-1)]), num_nodes=120)
    y = (ring // 6 % 2).long()

    def remember(known: Tensor) -> Tensor:
        share = torch.full((120, 2), 0.5)
        share[known >= 0] = torch.nn.functional.one_hot(known[known >= 0], 2) * 0.98 + 0.01
        return share.log()

    strength = {
        name: float(CRFPosterior(data, 2).fit(given, y).tables[0].diagonal().mean())
        for name, given in (("remembered", remember(y)), ("cross-fitted", cross_fit(remember, y)))
    }
    assert strength["cross-fitted"] > 3 * strength["remembered"] > 0


def test_a_batch_is_answered_as_its_graphs_are() -> None:
    cases = [random_case(seed, 5, 7, 2) for seed in (1, 2)]
    batch = Batch.from_data_list([case[0] for case in cases])
    own, y = (torch.cat([case[part] for case in cases]) for part in (1, 2))
    whole = CRFPosterior(batch, TYPES).fit(own, y)
    known = torch.where(torch.arange(10) % 2 == 0, y, -1)
    found = whole(own, known)
    for number, (data, each, _) in enumerate(cases):
        rows = slice(5 * number, 5 * number + 5)
        single = CRFPosterior(data, TYPES)
        single.head.pairs.to(DOUBLE).table.copy_(whole.head.pairs.table)
        single._weights = whole._weights
        torch.testing.assert_close(single(each, known[rows]), found[rows])
    labels = "labels={'room': 2, 'object': 3}"
    assert repr(whole) == (f"CRFPosterior(num_nodes=10, {labels}, prior=5, gate_prior=20, smoothing=0.1, fitted=True)")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"y": torch.tensor([0, 5, 0])}, "Expected y from 0 to 2, or -1; got 5 at node 1"),
        ({"y": torch.tensor([2, 0, 0])}, "Expected y from 0 to 1, or -1; got 2 at node 0"),
        ({"y": torch.full((3,), -1)}, "Expected at least one label in y"),
        ({"own": torch.zeros(3, 4)}, "Expected log_probabilities of 3 labels; got 4"),
        ({"own": torch.zeros(2, 3)}, r"Expected log_probabilities as floats of shape \(3, labels\)"),
        ({"prior": 0}, "Expected prior above 0; got 0"),
        ({"smoothing": 1}, "Expected smoothing between 0 and 1; got 1"),
        ({"data": Graph([[0], [1]])}, "Expected a torch_geometric Data or Batch; got Graph"),
    ],
)
def test_errors(change: dict[str, Any], told: str) -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), node_type=torch.tensor([0, 1, 1]), num_nodes=3)
    values: dict[str, Any] = {"data": data, "own": torch.zeros(3, 3), "y": torch.tensor([0, 2, -1])} | change
    options = {name: values[name] for name in ("prior", "smoothing") if name in values}
    with pytest.raises(InputError, match=told):
        CRFPosterior(values["data"], TYPES, **options).fit(values["own"], values["y"])


def test_answers_need_a_fit() -> None:
    posterior = CRFPosterior(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), 2)
    with pytest.raises(InputError, match="call fit first"):
        posterior(torch.zeros(2, 2))
