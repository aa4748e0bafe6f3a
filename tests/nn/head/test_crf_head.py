"""The CRF head: its answers and losses against listing every labelling, and trainings through it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

import neuraltrees as nt
from neuraltrees.errors import InputError
from neuraltrees.nn import CRFHead, NoRounds
from neuraltrees.nn.head.crf.lessons import hide
from tests.oracle.crf import Listed, list_labellings

LABELS = {"room": 2, "object": 3}


def scenes(count: int = 3, edge_features: int | None = None, seed: int = 0) -> Data:
    """A batch of small graphs of two node types."""
    stream = torch.Generator().manual_seed(seed)
    found = []
    for number in range(count):
        size = 3 + number % 2
        kinds = torch.tensor([0, 1, 1, 0][:size])
        edges = torch.tensor([[0, 1], [0, 2], [1, 2], [2, 3]][: size if size == 4 else 3]).t()
        both = torch.cat([edges, edges.flip(0)], 1)
        y = (torch.rand(size, generator=stream) * torch.tensor([2, 3])[kinds]).long()
        data = Data(x=torch.randn(size, 4, generator=stream), edge_index=both, node_type=kinds, y=y)
        if edge_features is not None:
            data.edge_attr = torch.randn(both.shape[1], edge_features, generator=stream)
        found.append(data)
    return Batch.from_data_list(found)


def network(edge_features: int | None = None, runs: int | None = 2, **options: Any) -> nt.Network:
    torch.manual_seed(0)
    made = nt.GNN(
        4, 4, LABELS, 1, schedule=NoRounds, head=partial(CRFHead, **options), runs=runs, dropout=0.0,
        edge_channels=edge_features,
    )  # fmt: skip
    with torch.no_grad():
        for parameter in made.head.pairs.parameters():
            parameter.normal_()
    return made.double().eval()


def listed(made: nt.Network, data: Data, run: int, known: Tensor, graph: int) -> Listed:
    """All labellings of one graph, with tables put together from the head's parameters by hand."""
    head = made.head
    nodes = (data.batch == graph).nonzero().flatten().tolist()
    unary = head.node(data.x.double().unsqueeze(1).expand(-1, 2, -1), nt.nn.Places(data.node_type))[:, run]
    pairs, kinds = head.pairs, data.node_type.tolist()
    numbers = {kind: place for place, kind in enumerate(pairs.kinds)}
    attr = None if data.edge_attr is None else data.edge_attr.double().tanh()
    directed = {(int(a), int(b)): place for place, (a, b) in enumerate(data.edge_index.t().tolist())}
    edges = [(a, b) for a, b in directed if a < b and a in nodes]

    def one_way(first: int, last: int) -> Tensor:
        kind = numbers[tuple(sorted((kinds[first], kinds[last])))]
        table = pairs.table[run, kind]
        for gate in range(pairs.gates):
            assert attr is not None
            table = table + attr[directed[first, last], gate] * pairs.table[run, kind + pairs.num_bases * (1 + gate)]
        return table

    def table(number: int) -> Tensor:
        first, last = edges[number]
        if kinds[first] == kinds[last]:
            return (one_way(first, last) + one_way(last, first).mT) / 2
        return one_way(first, last) if kinds[first] < kinds[last] else one_way(last, first).mT

    place = {node: number for number, node in enumerate(nodes)}
    return list_labellings(
        [list(LABELS.values())[kinds[node]] for node in nodes],
        [(place[a], place[b]) for a, b in edges],
        unary[nodes].detach(),
        table,
        known[nodes].tolist(),
    )


@pytest.mark.parametrize("edge_features", [None, 2])
@pytest.mark.parametrize("states", [None, 3])
def test_answers_are_exact_marginals_given_the_known_labels(edge_features: int | None, states: int | None) -> None:
    data, made = scenes(edge_features=edge_features), network(edge_features, states=states)
    known = torch.full((data.num_nodes, 2), -1)
    known[1, 0], known[4, 1], known[5, 1] = 2, 1, 0
    plan = made.plan(data, known)
    attr = None if edge_features is None else data.edge_attr.double()
    answers = made(data.x.double(), plan, edge_attr=attr)
    for run in range(2):
        for graph in range(3):
            mine = answers[data.batch == graph, run].exp()
            expected = listed(made, data, run, known[:, run], graph).marginals
            torch.testing.assert_close(mine.where(mine > 1e-300, 0.0), expected)


def test_order_of_nodes_and_of_edges_does_not_matter() -> None:
    data, made = scenes(edge_features=2), network(2)
    answers = made(data.x.double(), made.plan(data), edge_attr=data.edge_attr.double())
    order = torch.cat([g.flip(0) for g in torch.arange(data.num_nodes).split(data.batch.bincount().tolist())])
    place = order.argsort()
    shuffle = torch.randperm(data.edge_index.shape[1], generator=torch.Generator().manual_seed(1))
    other = Data(
        x=data.x[order], node_type=data.node_type[order], batch=data.batch[order], num_nodes=data.num_nodes,
        edge_index=place[data.edge_index][:, shuffle], edge_attr=data.edge_attr[shuffle],
    )  # fmt: skip
    other.num_graphs = 3
    again = made(other.x.double(), made.plan(other), edge_attr=other.edge_attr.double())
    torch.testing.assert_close(again, answers[order])


def test_losses_are_those_of_listing() -> None:
    data = scenes()
    y = data.y.unsqueeze(1).expand(-1, 2).clone()
    y[0, 0] = y[3, 1] = -1
    y[data.batch == 2, 0] = -1  # nothing to learn here for one of the runs
    for learning in ("pseudo", "marginal", "likelihood"):
        made = network(learning=learning, hidden=1.0, exact_share=1.0)
        (lesson,) = made.lessons(data, y, seeds=(0, 1))
        losses = made.loss(data.x.double(), lesson)
        for run in range(2):
            for graph in range(3):
                mine = data.batch == graph
                labels = y[mine, run]
                nothing = torch.full((data.num_nodes,), -1)
                free = listed(made, data, run, nothing, graph)
                found = losses[mine, run]
                if learning == "likelihood":
                    joint = listed(made, data, run, y[:, run], graph).log_partition - free.log_partition
                    torch.testing.assert_close(found.sum(), -joint if (labels >= 0).any() else 0 * joint)
                elif learning == "marginal":
                    right = free.marginals.gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1)
                    torch.testing.assert_close(found, torch.where(labels >= 0, -right.log(), 0.0))
                else:
                    for node in range(len(labels)):
                        shown = y[:, run].clone()
                        shown[mine.nonzero().flatten()[node]] = -1
                        if labels[node] >= 0 and (labels >= 0).all():
                            given = listed(made, data, run, shown, graph)
                            torch.testing.assert_close(found[node], -given.marginals[node, labels[node]].log())
                    assert (found[labels < 0] == 0).all()


@pytest.mark.parametrize("edge_features", [None, 2])
def test_conditionals_of_labelled_nodes_alone_are_the_same(edge_features: int | None) -> None:
    data = scenes(edge_features=edge_features)
    made = network(edge_features, gates=2 if edge_features else None)
    head = made.head
    known = torch.stack([data.y, data.y.where(torch.arange(len(data.y)) % 3 > 0, torch.tensor(-1))])
    field = head.field(data)
    gradients = []
    for all_nodes in (True, False):
        made.zero_grad()
        x = data.x.double().unsqueeze(1).expand(-1, 2, -1)
        attr = None if data.edge_attr is None else data.edge_attr.double()
        unary, tables = head.potentials(x, field, attr)
        answers = field.solver.neighbours(unary, tables, known, all_nodes=all_nodes)[known >= 0]
        answers.log_softmax(-1)[:, :2].sum().backward()
        gradients.append([answers.detach(), *(each.grad for each in head.parameters())])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_hidden_labels_weigh_as_much_as_all() -> None:
    data, made = scenes(12), network(learning="marginal", hidden=0.4, masks=3)
    first, *lessons = made.lessons(data, data.y.unsqueeze(1).expand(-1, 2).clone(), seeds=(5, 6))
    assert first.places.kind == "pseudo"
    assert len(lessons) == 3
    for lesson in lessons:
        hidden = (lesson.places.labels >= 0).sum(1)
        assert hidden.tolist() == [round(0.4 * data.num_nodes)] * 2
        torch.testing.assert_close(
            (lesson.places.scale * (lesson.places.labels >= 0)).sum(1), torch.full((2,), float(data.num_nodes))
        )
    assert not torch.equal(lessons[0].places.labels, lessons[1].places.labels)


def test_what_is_hidden_depends_on_seed_and_number_alone() -> None:
    known = torch.arange(20).view(2, 10) % 3
    assert torch.equal(hide(known, 0.5, 1, (3, 4)), hide(known, 0.5, 1, (3, 4)))
    assert torch.equal(hide(known, 0.5, 1, (3, 4))[1:], hide(known[1:], 0.5, 1, (4,)))
    assert not torch.equal(hide(known, 0.5, 1, (3, 4)), hide(known, 0.5, 2, (3, 4)))
    assert ((hide(known, 0.01, 0, (3, 4)) < 0).sum(1) == 1).all()


def test_lessons_take_turns() -> None:
    head = CRFHead(4, LABELS, 1, learning="marginal", exact_share=0.5, masks=2)
    assert [head.turn(done, 8, 3) for done in range(8)] == [0, 0, 0, 0, 1, 2, 1, 2]
    assert [CRFHead(4, LABELS, 1).turn(done, 4, 1) for done in range(4)] == [0] * 4


def task() -> nt.Task:
    data = nt.SyntheticScenes(40, coupling=2.0)
    return nt.Task(list(data), data.labels).scaled((3, 4, 5), squares=True)


SPEC = nt.NetworkSpec(model="gnn", schedule=NoRounds, head="crf", dropout=0.0)


@pytest.mark.parametrize("learning", ["pseudo", "marginal", "likelihood"])
def test_training_beats_the_same_head_without_edges(learning: str) -> None:
    made = task()
    runs = [nt.Run(seed, nt.random_graph_split([g.num_nodes for g in made.graphs], 0.7, seed=seed)) for seed in (0, 1)]
    training = nt.TrainingSpec(epochs=60, lr=0.05, weight_decay=1e-3, batches=1, every_class=False, evaluate_every=20)
    spec = replace(SPEC, crf_learning=learning, crf_hidden=1.0)
    exact = nt.fit(made, spec, training, runs)
    plain = nt.fit(made, nt.NetworkSpec(model="gnn", schedule=NoRounds, dropout=0.0), training, runs)
    assert (exact.test.mean() > plain.test.mean() + 0.02).all()
    assert exact.val_curve.isnan().any(1).tolist() == [(number + 1) % 20 != 0 for number in range(60)]
    answers = exact.answers().exp()
    torch.testing.assert_close(answers.nan_to_num().sum(-1), torch.ones(answers.shape[:2]), rtol=1e-4, atol=1e-4)
    known = exact.known
    assert known is not None
    train = torch.stack([run.split.train for run in runs], 1)
    assert ((known.labels >= 0) == train).all()
    assert (answers[train].max(-1).values > 0.999).all()  # what a run trained on is known to it


def test_resume_equals_an_unbroken_training() -> None:
    made = task()
    runs = [nt.Run(0, made.split(0))]
    training = nt.TrainingSpec(epochs=8, lr=0.02, batches=2, every_class=False, evaluate_every=3)
    spec = nt.NetworkSpec(model="gnn", schedule=NoRounds, head="crf", crf_learning="likelihood", crf_exact_share=0.5)
    whole = nt.Trainer(made, spec, training, runs)
    whole.train()
    first = nt.Trainer(made, spec, training, runs)
    for done in range(5):
        first.run_epoch(done)
    second = nt.Trainer(made, spec, training, runs)
    second.restore(first.state())
    second.train()
    for name, value in whole.state().items():
        if name != "seconds":
            torch.testing.assert_close(second.state()[name], value, rtol=0, atol=0, equal_nan=True)


def test_known_labels_change_predictions(tmp_path: Any) -> None:
    made = task()
    fitted = nt.fit(
        made, SPEC, nt.TrainingSpec(epochs=40, lr=0.05, batches=1, every_class=False), [nt.Run(0, made.split(0))]
    )
    nt.Bundle.of(fitted).save(tmp_path / "model.safetensors")
    predictor = nt.Predictor.load(tmp_path / "model.safetensors")
    scene = nt.SyntheticScenes(3, coupling=2.0, seed=7)[1]
    free = predictor.predict([scene])[0]
    known = torch.full((scene.num_nodes,), -1)
    known[0] = (int(free[0].argmax()) + 1) % 15
    given = predictor.predict([scene], known=[known])[0]
    assert int(given[0].argmax()) == int(known[0])
    assert float((given[1:] - free[1:]).abs().max()) > 1e-3
    torch.testing.assert_close(predictor.predict([scene])[0], free)
    with pytest.raises(InputError, match="1 tensors, one per graph"):
        predictor.predict([scene], known=[])
    with pytest.raises(InputError, match=r"Expected known labels from 0 to 14, or -1; got 20 at node 0"):
        predictor.predict([scene], known=[torch.full_like(known, 20)])


def test_a_head_that_reads_no_labels_refuses_them() -> None:
    data = scenes()
    made = nt.GNN(4, 4, LABELS, 1)
    with pytest.raises(InputError, match="Expected no known labels for NodeHead"):
        made.plan(data, data.y)


def test_objectives_without_classes_of_nodes_are_refused() -> None:
    graphs = [Data(x=torch.randn(3, 4), y=torch.tensor([1]), edge_index=torch.tensor([[0], [1]])) for _ in range(20)]
    of_graphs = nt.Task(graphs, nt.Classification(("a", "b"), level="graph"))
    with pytest.raises(InputError, match="answers per graph"):
        nt.fit(of_graphs, SPEC, nt.TrainingSpec(epochs=1), [nt.Run(0, of_graphs.split(0))])
    numbers = nt.Task(
        [Data(x=torch.randn(30, 4), y=torch.randn(30), edge_index=torch.tensor([[0], [1]]))],
        nt.Regression(level="node"),
    )
    with pytest.raises(InputError, match="Expected classes of nodes"):
        nt.fit(numbers, SPEC, nt.TrainingSpec(epochs=1), [nt.Run(0, numbers.split(0))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning": "guess"}, "Expected learning out of pseudo, marginal, likelihood"),
        ({"hidden": 0}, "Expected hidden above 0"),
        ({"masks": 0}, "masks"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CRFHead(4, 3, **options)


def test_low_rank_tables() -> None:
    head = CRFHead(4, 6, 2, rank=2)
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    tables = head.pairs(head.field(data).pairs).tables
    assert tables.shape == (2, 1, 6, 6)
    assert int(np.linalg.matrix_rank(head.pairs.left[0, 0].detach() @ head.pairs.right[0, 0].detach().mT)) == 2
    torch.testing.assert_close(tables, tables.mT)
