"""Tables of triangles of the CRF head, against listing every labelling, and what they learn that pairs cannot."""

from __future__ import annotations

from functools import partial
from itertools import combinations, permutations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

import neuraltrees as nt
from neuraltrees.inference import CRF
from neuraltrees.nn import CRFHead, NoRounds
from neuraltrees.nn.head.crf.triangles import Triangles, find_triangles
from tests.oracle.strategies import graphs

LABELS = {"room": 2, "object": 3}


@given(network=graphs(max_nodes=9))
@settings(deadline=None, max_examples=100)
def test_all_triangles_are_found(network: nx.Graph) -> None:
    graph = nt.Graph.from_networkx(network)
    other = graph.to_networkx()
    expected = [
        list(three)
        for three in combinations(range(graph.num_nodes), 3)
        if all(other.has_edge(*pair) for pair in combinations(three, 2))
    ]
    assert find_triangles(graph).tolist() == expected


def scene() -> Data:
    """A clique of four nodes of two types, and one more."""
    edges = torch.tensor([*combinations(range(4), 2), (3, 4)]).t()
    stream = torch.Generator().manual_seed(0)
    return Data(
        x=torch.randn(5, 4, generator=stream), edge_index=torch.cat([edges, edges.flip(0)], 1),
        node_type=torch.tensor([1, 0, 1, 1, 0]), y=torch.tensor([2, 0, 1, 0, 1]),
    )  # fmt: skip


def network(triangles: bool = True, runs: int | None = None) -> nt.Network:
    torch.manual_seed(0)
    head = partial(CRFHead, triangles=triangles)
    made = nt.GNN(4, 4, LABELS, 1, schedule=NoRounds, head=head, runs=runs, dropout=0.0)
    with torch.no_grad():
        for name, parameter in made.head.named_parameters():
            if name.startswith(("pairs", "triangles")):
                parameter.normal_()
    return made.double().eval()


@pytest.mark.parametrize("runs", [None, 2])
def test_answers_are_exact_marginals(runs: int | None) -> None:
    """Each triangle has the mean of its table over the orders of the nodes of the same type."""
    data, made = scene(), network(runs=runs)
    head = made.head
    assert isinstance(head, CRFHead) and head.triangles is not None
    known = torch.tensor([-1, -1, 1, -1, -1])
    answers = made(data.x.double(), made.plan(data, known)).exp()
    unary, tables = head.potentials(made.states(data.x.double(), made.plan(data))[0], head.field(data))
    kinds, numbers = data.node_type.tolist(), {kind: place for place, kind in enumerate(head.triangles.kinds)}
    cliques = [tuple(three) for three in combinations(range(4), 3)]
    for run in range(runs or 1):
        own = []
        parameter = head.triangles.table if runs is None else head.triangles.table[run]
        for clique in cliques:
            table = parameter[numbers[tuple(sorted(kinds[node] for node in clique))]]
            orders = [each for each in permutations(range(3)) if [kinds[clique[i]] for i in each] == sorted(
                kinds[node] for node in clique)]  # fmt: skip
            own.append(torch.stack([table.permute(*torch.tensor(each).argsort().tolist()) for each in orders]).mean(0))
        pairs = tables[0].whole(torch.arange(7))[run]
        crf = CRF(nt.Graph.from_data(data), [(2, 3)[kind] for kind in kinds], cliques=cliques)
        expected = crf(unary[run], pairs, known, cliques=torch.stack(own)).marginals
        torch.testing.assert_close(answers if runs is None else answers[:, run], expected)


def test_order_of_nodes_does_not_matter() -> None:
    data, made = scene(), network()
    order = torch.tensor([3, 1, 4, 0, 2])
    place = order.argsort()
    other = Data(x=data.x[order], edge_index=place[data.edge_index], node_type=data.node_type[order], num_nodes=5)
    torch.testing.assert_close(made(other.x.double(), made.plan(other)), made(data.x.double(), made.plan(data))[order])


def test_without_triangles_in_the_graph() -> None:
    data, with_tables, without = scene(), network(), network(triangles=False)
    data.edge_index = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    without.load_state_dict(with_tables.state_dict(), strict=False)
    answers = (made(data.x.double(), made.plan(data)) for made in (with_tables, without))
    torch.testing.assert_close(*answers)
    assert not any("triangles" in name for name in without.state_dict())


@pytest.mark.parametrize("learning", ["pseudo", "marginal", "likelihood"])
def test_learns_what_pairs_cannot(learning: str) -> None:
    """The labels of a triangle have an even sum: any two of them are independent, and the third follows from both."""
    rows = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]).repeat(10, 1)
    labels = torch.cat([rows, rows.sum(1, keepdim=True) % 2], 1)
    edges = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    data = Batch.from_data_list([Data(x=torch.zeros(3, 1), edge_index=edges, y=y, num_nodes=3) for y in labels])
    found = {}
    for triangles in (True, False):
        torch.manual_seed(0)
        head = CRFHead(1, {"node": 2}, 1, learning=learning, triangles=triangles, exact_share=1.0)  # type: ignore[arg-type]
        lessons = head.lessons(data, data.y.unsqueeze(1), [0])
        optimiser = torch.optim.Adam(head.parameters(), lr=0.3)
        h = data.x.unsqueeze(1)
        for step in range(40):
            optimiser.zero_grad()
            head.loss(h, lessons[step % len(lessons)]).sum().div(len(h)).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        known = data.y.clone()
        known[2::3] = -1
        answers = head(h, head.plan(data, known))[2::3, 0]
        found[triangles] = float((answers.argmax(1) == data.y[2::3]).double().mean())
    assert found[True] == 1.0
    assert found[False] <= 0.75  # a score that is linear in the number of ones is wrong for 0, 1 or 2 of them


def test_off_by_default_and_an_option_of_networks() -> None:
    scenes = nt.SyntheticScenes(2)
    task = nt.Task(list(scenes), scenes.labels)
    for options, expected in (({}, False), ({"crf_triangles": True}, True)):
        head = nt.NetworkSpec(model="none", head="crf", **options).build(task).head
        assert isinstance(head, CRFHead) and isinstance(head.triangles, Triangles) == expected
