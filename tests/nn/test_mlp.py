"""MLP: the baseline of features alone."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.nn.ensemble.sparse import SparseMap

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


@pytest.mark.parametrize("readout", [True, False])
@pytest.mark.parametrize("runs", [None, 3])
def test_it_is_a_stack_of_linear_layers(runs: int | None, readout: bool) -> None:
    model = nt.MLP(4, 8, 2, num_layers=2, runs=runs, readout=readout).eval()
    x = torch.randn(3, 4)
    found = model(x)
    weights = dict(model.named_parameters())
    for run in range(runs or 1):
        first, last = (
            [weights[f"schedule.convs.{layer}.lin.{name}"] for name in ("weight", "bias")] for layer in (0, 1)
        )
        (w1, b1), (w2, b2) = (part if runs is None else [each[run] for each in part] for part in (first, last))
        expected = (x @ w1 + b1).relu() @ w2 + b2
        if readout:
            head = [value if runs is None else value[run] for name, value in weights.items() if name.startswith("head")]
            expected = expected.relu() @ head[0] + head[1]
        torch.testing.assert_close(found if runs is None else found[:, run], expected)


def test_edges_do_not_matter() -> None:
    model = nt.MLP(4, 8, 2).eval()
    x = torch.randn(3, 4)
    plan = model.plan(Data(x=x, edge_index=EDGES))
    assert not model.needs_tree
    for found in (model(x, EDGES), model(x, plan), model(SparseMap.of_features(x.to_sparse()))):
        torch.testing.assert_close(found, model(x))


def test_options_of_the_other_networks() -> None:
    model = nt.MLP({"room": 2, "object": 4}, 8, {"room": 3, "object": 5}, 4, residual=True)
    assert model(torch.randn(3, 4), node_type=torch.tensor([0, 1, 1])).shape == (3, 5)
    assert nt.MLP(4, 8, 2, head="graph")(torch.randn(3, 4), batch=torch.tensor([0, 0, 1])).shape == (2, 2)
    with pytest.raises(nt.InputError, match="Expected a convolution that reads edge features"):
        nt.MLP(4, 8, 2, edge_channels=3)
    with pytest.raises(nt.InputError, match="Expected relations only for networks on H-trees"):
        nt.MLP(4, 8, 2, relations=True)


def test_edge_features_of_a_task_are_left_out() -> None:
    graph = Data(x=torch.eye(10), y=torch.arange(10) % 2, edge_index=EDGES, edge_attr=torch.randn(4, 2))
    task = nt.Task([graph], ("even", "odd"))
    spec = nt.NetworkSpec(model="mlp", hidden=8, layers=2)
    assert spec.name == "mlp" and not spec.needs_tree
    fitted = nt.fit(task, spec, nt.TrainingSpec(epochs=2), [nt.Run(0, task.split(0))])
    predicted = nt.Predictor(nt.Bundle.of(fitted)).predict([graph])[0]
    assert predicted.shape == (10, 2)
    assert repr(fitted).startswith("Fitted(mlp, 1 runs")


def test_it_exports() -> None:
    model = nt.MLP(4, 8, 2).eval()
    exported = torch.export.export(model, (torch.randn(5, 4),), dynamic_shapes={"x": {0: torch.export.Dim("n")}})
    x = torch.randn(7, 4)
    torch.testing.assert_close(exported.module()(x), model(x))
