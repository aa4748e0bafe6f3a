"""Known labels as inputs: what is hidden stays hidden, and what is shown is used."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.data.splits import random_node_split
from neuraltrees.nn import GNN, LabelsHead
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit

PAIRS = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])


def network(runs: int | None = None) -> GNN:
    torch.manual_seed(0)
    return GNN({"a": 2, "b": 2}, 8, {"a": 2, "b": 3}, 2, dropout=0.0, head="labels", runs=runs).eval()


def graph() -> Data:
    kinds = torch.tensor([0, 1, 0, 1])
    return Data(x=torch.randn(4, 2), edge_index=PAIRS, node_type=kinds, y=torch.tensor([1, 2, 0, 1]))


def test_labels_change_the_answers_of_their_own_graph_alone() -> None:
    data, model = graph(), network()
    none, one, other = (
        model(data.x, model.plan(data, torch.tensor(known))) for known in ([-1] * 4, [1, -1, -1, -1], [0, -1, -1, -1])
    )
    torch.testing.assert_close(model(data.x, model.plan(data)), none)
    assert not torch.allclose(one[1], other[1]) and not torch.allclose(one[1], none[1])
    torch.testing.assert_close(one[2:], none[2:])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ([2, -1, -1, -1], "Expected known labels from 0 to 1, or -1; got 2 at node 0"),
        ([-1, 3, -1, -1], "Expected known labels from 0 to 2, or -1; got 3 at node 1"),
        ([-2, -1, -1, -1], "got -2 at node 0"),
        ([0, 1], "a label or -1 for each of 4 nodes"),
    ],
)
def test_labels_that_a_node_cannot_have(known: list[int], message: str) -> None:
    for runs in (None, 2):
        with pytest.raises(nt.InputError, match=message):
            network(runs).plan(graph(), torch.tensor(known))


def test_shares_of_hidden_labels_are_checked() -> None:
    for options, message in (({"hidden": 0}, "hidden above 0"), ({"masks": 0}, "masks as an integer of at least 1")):
        with pytest.raises(nt.InputError, match=message):
            LabelsHead(8, 2, **options)


def test_lessons_hide_what_they_ask_for() -> None:
    data, model = graph(), network(runs=2)
    known = torch.stack([data.y, torch.tensor([1, 2, -1, -1])], 1)
    for lesson in model.lessons(data, known, [0, 1]):
        shown, target = lesson.places.known, lesson.places.labels
        assert ((shown >= 0) & (target >= 0)).sum() == 0
        assert torch.equal(torch.maximum(shown, target), known)
        assert (target >= 0).sum(0).tolist() == [2, 1]
        losses = model.loss(data.x, lesson)
        assert torch.equal(losses > 0, target >= 0)
        answers = model(data.x, lesson).log_softmax(-1)
        node, run = (int(each) for each in (target >= 0).nonzero()[0])
        expected = -answers[node, run, target[node, run]] * 2
        torch.testing.assert_close(losses[node, run], expected)


def test_it_learns_to_read_its_neighbours_labels() -> None:
    torch.manual_seed(0)
    graphs = []
    for label in torch.randint(2, (120,)).tolist():
        edges = torch.tensor([[0, 1], [1, 0]])
        kinds = torch.tensor([0, 1])
        graphs.append(Data(x=torch.randn(2, 2), edge_index=edges, node_type=kinds, y=torch.tensor([label, label])))
    task = Task(graphs, {"a": ("no", "yes"), "b": ("no", "yes")}, features={"a": 2, "b": 2})
    split = random_node_split(task.num_nodes, seed=0)
    known = torch.where(split.train, task.y, -1).view(-1, 2).flip(1).flatten()
    can_tell = split.test & (known >= 0)  # the features say nothing, the neighbour's label everything
    training = TrainingSpec(epochs=60, batches=1, lr=0.02, weight_decay=0.0)
    fitted = fit(task, NetworkSpec(model="gnn", hidden=16, layers=2, head="labels"), training, [Run(0, split)])
    right = fitted.answers()[:, 0].argmax(-1) == task.y
    assert float(right[can_tell].float().mean()) > 0.9


def test_features_that_are_not_encoded_are_refused() -> None:
    data = graph()
    model = GNN(2, 8, {"a": 2, "b": 3}, 2, head="labels")
    with pytest.raises(
        nt.InputError, match="Expected states of size 8 before the first round, to add vectors of labels to them; got 2"
    ):
        model(data.x, model.plan(data, torch.zeros(4, dtype=torch.int64)))
