"""Losses against PyTorch's own, missing labels, weights, and errors that say what to do."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.objectives import Classification, MultiLabel, Objective, Regression, find_objective

N, RUNS = 12, 2
draw = torch.Generator().manual_seed(0)


def mean_loss(objective: Objective, answers: Tensor, y: Tensor) -> Tensor:
    """What a trainer makes of it: the weighted mean over the items that have a label."""
    weight = objective.weight(y)
    losses = objective.loss(answers, y) * (weight > 0).unsqueeze(1)
    return losses.sum(0) / weight.sum()


@pytest.mark.parametrize("weights", [None, (1.0, 0.0, 2.5)])
def test_cross_entropy_is_torchs(weights: tuple[float, ...] | None) -> None:
    answers, y = torch.randn(N, RUNS, 3, generator=draw), torch.randint(-1, 3, (N,), generator=draw)
    objective = Classification(("a", "b", "c"), class_weights=weights)
    given = None if weights is None else torch.tensor(weights)
    for run, loss in enumerate(mean_loss(objective, answers, y)):
        torch.testing.assert_close(loss, F.cross_entropy(answers[:, run], y, given, ignore_index=-1))


def test_class_weights_go_to_their_type_in_any_order() -> None:
    weights = {"object": (1, 2, 3), "room": (4, 5)}
    objective = Classification({"room": ("x", "y"), "object": ("a", "b", "c")}, class_weights=weights)
    assert objective.weight(torch.tensor([0, 1, 3, 4, 5])).tolist() == [4, 5, 1, 2, 3]
    again = find_objective(objective.name, objective.as_dict())
    assert torch.equal(again.class_weights, objective.class_weights)


def test_a_class_without_weight_still_counts_in_the_metric() -> None:
    objective = Classification(("a", "b"), class_weights=(0.0, 1.0))
    y = torch.tensor([0, 1, -1])
    assert objective.weight(y).tolist() == [0, 1, 0]
    assert objective.labelled(y).tolist() == [True, True, False]


@pytest.mark.parametrize(
    "objective",
    [
        Classification(("a", "b"), loss=lambda answers, y: F.cross_entropy(answers[:, 0], y)),
        Regression(("a", "b"), loss=torch.nn.MSELoss()),
        MultiLabel(("a", "b"), loss=lambda answers, y: answers.sum(-1)),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_loss_that_reduces_is_refused(objective: Objective) -> None:
    y = torch.zeros(N, dtype=torch.int64) if isinstance(objective, Classification) else torch.zeros(N, 2)
    with pytest.raises(nt.InputError, match=r"a loss for every item and run, of shape .*; got shape"):
        objective.loss(torch.randn(N, RUNS, 2), y)


def test_class_weights_of_two_node_types() -> None:
    objective = Classification({"room": ("x", "y"), "object": ("a",)}, class_weights={"room": (1, 2), "object": (3,)})
    assert objective.weight(torch.tensor([0, 1, 2, -1])).tolist() == [1, 2, 3, 0]


def test_binary_cross_entropy_is_torchs_over_the_known_labels() -> None:
    answers, y = torch.randn(N, RUNS, 3, generator=draw), torch.randint(0, 2, (N, 3), generator=draw).float()
    y[0], y[1, 1] = torch.nan, torch.nan
    known = ~y.isnan()
    for run, loss in enumerate(mean_loss(MultiLabel(("a", "b", "c")), answers, y)):
        torch.testing.assert_close(loss, F.binary_cross_entropy_with_logits(answers[:, run][known], y[known]))


@pytest.mark.parametrize(("metric", "torchs"), [("mae", F.l1_loss), ("rmse", F.mse_loss)])
def test_errors_are_torchs_over_the_known_targets(metric: str, torchs: object) -> None:
    answers, y = torch.randn(N, RUNS, 2, generator=draw), torch.randn(N, 2, generator=draw)
    y[0], y[1, 1] = torch.nan, torch.nan
    known = ~y.isnan()
    for run, loss in enumerate(mean_loss(Regression(("a", "b"), metric=metric), answers, y)):
        torch.testing.assert_close(loss, torchs(answers[:, run][known], y[known]))  # type: ignore[operator]


def test_missing_labels_have_no_gradient() -> None:
    answers = torch.randn(N, RUNS, 2, requires_grad=True)
    y = torch.full((N, 2), torch.nan)
    y[3, 0] = 1.0
    mean_loss(MultiLabel(("a", "b")), answers, y).sum().backward()
    assert answers.grad is not None
    assert answers.grad.nonzero().tolist() == [[3, 0, 0], [3, 1, 0]]


def test_losses_of_ones_own() -> None:
    answers, y = torch.randn(N, RUNS, 2), torch.randint(0, 2, (N,))

    def focal(logits: Tensor, labels: Tensor) -> Tensor:
        share = logits.softmax(-1).gather(-1, labels.view(-1, 1, 1).expand(-1, logits.shape[1], 1)).squeeze(-1)
        return -((1 - share) ** 2) * share.log()

    assert torch.equal(Classification(("a", "b"), loss=focal).loss(answers, y), focal(answers, y))
    huber = Regression(("a",), loss=lambda found, truth: F.huber_loss(found, truth.expand_as(found), reduction="none"))
    targets = torch.randn(N, 1)
    expected = F.huber_loss(answers[:, :, :1], targets[:, None].expand(-1, RUNS, 1), reduction="none").squeeze(-1)
    torch.testing.assert_close(huber.loss(answers[:, :, :1], targets), expected)


@pytest.mark.parametrize(
    "objective",
    [
        Classification({"room": ("x", "y"), "object": ("a",)}, metric="macro-f1"),
        Classification(("a", "b"), level="graph"),
        MultiLabel(("a", "b"), level="node", metric="average-precision"),
        Regression(("logS",), metric="rmse"),
    ],
)
def test_files_know_them(objective: Objective) -> None:
    again = find_objective(objective.name, objective.as_dict())
    assert (repr(again), again.as_dict()) == (repr(objective), objective.as_dict())


def test_predictions_in_words() -> None:
    room, thing = Classification({"room": ("x", "y"), "object": ("a", "b", "c")}).describe(
        torch.tensor([[0.2, 0.8, 0.0], [0.5, 0.1, 0.4]]), [0, 1], top=2
    )
    assert (room.type, room.label, room.top) == ("room", "y", (("y", pytest.approx(0.8)), ("x", pytest.approx(0.2))))
    assert thing.as_dict() == {
        "type": "object",
        "label": "a",
        "probability": 0.5,
        "top": [{"label": "a", "probability": 0.5}, {"label": "c", "probability": 0.4}],
    }
    assert thing.row() == {"type": "object", "label": "a", "probability": "50.0 %", "then": "c 40 %"}
    (several,) = MultiLabel(("a", "b")).describe(torch.tensor([[0.9, 0.25]]), [])
    assert several.labels == ("a",) and several.as_dict()["probabilities"] == {"a": 0.9, "b": 0.25}
    (value,) = Regression(("logS",)).describe(torch.tensor([[-2.5]]), [])
    assert (value.value, value.row()) == (-2.5, {"type": "graph", "logS": "-2.5"})


KINDS = torch.zeros(3, dtype=torch.int64)
BAD_LABELS = {
    "one label for a graph of nodes": (
        Classification(("a", "b")),
        torch.tensor([1]),
        r"integers of shape \(3,\); got torch.int64 of shape \(1,\). For labels of graphs: Classification",
    ),
    "numbers as classes": (Classification(("a", "b")), torch.zeros(3), "For numbers: Regression"),
    "a label too many": (Classification(("a", "b")), torch.tensor([0, 1, 2]), "between 0 and 1, or -1 .* at node 2"),
    "labels of nodes for a graph": (Classification(("a", "b"), level="graph"), KINDS, r"shape \(1,\); got"),
    "a graph label too large": (Classification(("a", "b"), level="graph"), torch.tensor(2), "between 0 and 1"),
    "no labels": (Classification(("a", "b")), None, "got none"),
    "two of three": (MultiLabel(("a", "b", "c")), torch.zeros(1, 2), "Expected labels y as 3 numbers for a graph"),
    "neither yes nor no": (MultiLabel(("a",)), torch.tensor([0.5]), "Expected labels y of 0, 1, or NaN or -1"),
    "nodes without targets": (
        Regression(("a",), level="node"),
        torch.zeros(2),
        r"as 1 number for 3 nodes, of shape \(3, 1\); got",
    ),
    "infinite": (Regression(("a",)), torch.tensor([torch.inf]), "Expected finite targets y"),
}


@pytest.mark.parametrize(("objective", "y", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_labels(objective: Objective, y: Tensor | None, message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        objective.check(Data(y=y, num_nodes=3), KINDS)


def test_bad_objectives() -> None:
    for labels in ("text", 3, {"node": "text"}):
        with pytest.raises(nt.InputError, match="Expected labels as a mapping of node types to names"):
            Classification(labels)  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match="Expected every node label once; got 'a' twice"):
        Classification(("a", "b", "a"))
    with pytest.raises(nt.InputError, match="Expected level out of node, graph; got 'edge'"):
        Classification(("a",), level="edge")  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match="Expected metric out of accuracy, macro-f1 or a Metric; got 'auc'"):
        Classification(("a",), metric="auc")
    with pytest.raises(nt.InputError, match="Expected class_weights as 2 numbers of at least 0"):
        Classification(("a", "b"), class_weights=(1, -1))
    with pytest.raises(nt.InputError, match="Expected class_weights of room, object; got those of room"):
        Classification({"room": ("a",), "object": ("b",)}, class_weights=(1,))
    with pytest.raises(nt.InputError, match="Expected class_weights as 1 numbers of at least 0, one per node label"):
        Classification(("a",), class_weights=3)  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match="Expected loss as a function of answers and labels; got 'mse'"):
        Regression(("a",), loss="mse")  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match="Expected the labels of graphs; got those of 2 node types"):
        Classification({"room": ("a",), "object": ("b",)}, level="graph")
    with pytest.raises(nt.InputError, match="Expected every target name once"):
        Regression(("a", "a"))
    with pytest.raises(nt.InputError, match="Expected a list of at least one label name"):
        MultiLabel("toxic")
    with pytest.raises(nt.InputError, match="Import the module that calls register_objective"):
        find_objective("mine", {})


@pytest.mark.parametrize(
    "objective",
    [
        Classification(("a", "b", "c")),
        MultiLabel(("a", "b", "c")),
        Regression(("a", "b", "c")),
        Regression(("a", "b", "c"), mean=(1.0, -2.0, 0.5), std=(3.0, 0.1, 1.0)),
    ],
)
def test_answers_are_the_inverse_of_predictions(objective: Objective) -> None:
    predicted = objective.predict(torch.randn(N, RUNS, 3, generator=draw, dtype=torch.float64))
    torch.testing.assert_close(objective.predict(objective.answers(predicted)), predicted)


def test_certain_probabilities_still_rank() -> None:
    objective = MultiLabel(("a",))
    answers = objective.answers(torch.tensor([0.0, 1e-12, 0.5, 1.0], dtype=torch.float64))
    assert bool(answers.isfinite().all()) and answers.tolist() == sorted(answers.tolist())


def test_an_objective_without_an_inverse() -> None:
    class Own(Classification):
        answers = Objective.answers

    with pytest.raises(nt.InputError, match="Expected an objective with a method `answers`, the inverse of `predict`"):
        Own(("a", "b")).answers(torch.zeros(1, 2))
