"""Double, half and mixed precision: `model.double()`, `model.bfloat16()` and `torch.autocast`, with any network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import neuraltrees as nt

EDGES = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0, 0, 2], [1, 2, 3, 0, 0, 1, 2, 3, 2, 0]])
KINDS = ("gcn", "sage", "gat", "gin")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "runs": {"runs": 2},
    "edges": {"edge_channels": 2},
    "relations": {"relations": True},
    "crf": {"head": "crf"},
    "graph": {"head": "graph"},
    "bags": {"schedule": nt.BagRounds, "edge_channels": 2},
}


@pytest.fixture(scope="module")
def data() -> Data:
    generator = torch.Generator().manual_seed(0)
    x, edge_attr = torch.randn(4, 6, generator=generator), torch.randn(10, 2, generator=generator)
    return nt.ToHTree(method="canonical", terminal="bag")(Data(x=x, edge_index=EDGES, edge_attr=edge_attr))


def made(conv: str, options: str) -> nn.Module:
    torch.manual_seed(0)
    return nt.NeuralTree(6, 16, 3, num_layers=2, conv=conv, dropout=0.0, **OPTIONS[options])


def answers(model: Any, data: Data, kind: torch.dtype = torch.float32) -> Tensor:
    edges = data.edge_attr.to(kind) if model.reads_edges else None
    found: Tensor = model(data.x.to(kind), model.plan(data), edge_attr=edges)
    return found


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("conv", KINDS)
def test_double_precision_gives_the_same_answers(conv: str, options: str, data: Data) -> None:
    expected, found = answers(made(conv, options), data), answers(made(conv, options).double(), data, torch.float64)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found.float(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("conv", KINDS)
def test_a_step_under_autocast_is_close_to_one_without(conv: str, options: str, data: Data) -> None:
    model, mixed = made(conv, options), made(conv, options)
    expected = answers(model, data)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = answers(mixed, data)
    torch.testing.assert_close(found.float(), expected, rtol=0.1, atol=0.1)
    found.float().square().sum().backward()
    gradients = [each.grad for each in mixed.parameters() if each.grad is not None]
    assert gradients and all(bool(each.isfinite().all()) for each in gradients)
    assert all(each.dtype == torch.float32 for each in mixed.state_dict().values())  # running means, too


@pytest.mark.parametrize("conv", KINDS)
def test_weights_of_16_bits(conv: str, data: Data) -> None:
    found = answers(made(conv, "plain").bfloat16(), data, torch.bfloat16)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), answers(made(conv, "plain"), data), rtol=0.1, atol=0.1)


class TestMistakes:
    """What is passed to a network by mistake is named, with what to call instead."""

    @pytest.mark.parametrize("name", ["NeuralTree", "GNN"])
    def test_the_data_itself(self, name: str, data: Data) -> None:
        make: Callable[..., Any] = getattr(nt, name)
        with pytest.raises(
            nt.InputError, match=r"got HTreeData and NoneType. Call model\(data.x, model.plan\(data\)\)"
        ):
            make(6, 16, 3, num_layers=2)(data)

    def test_features_of_another_precision(self, data: Data) -> None:
        model: Any = made("sage", "plain")
        with pytest.raises(nt.InputError, match=r"weights, torch.float32; got torch.float64. .* x.to\(torch.float32\)"):
            model(data.x.double(), model.plan(data))

    def test_edge_features_in_the_place_of_another_argument(self, data: Data) -> None:
        model: Any = made("gcn", "edges")
        with pytest.raises(nt.InputError, match=r"got kappa as well, .* model\(x, plan, edge_attr=edge_attr\)"):
            model(data.x, model.plan(data), data.edge_attr)

    def test_a_tree_without_kappa(self, data: Data) -> None:
        model: Any = made("gcn", "plain")
        with pytest.raises(nt.InputError, match=r"got none. Call model\(data.x, model.plan\(data\)\) with data from"):
            model(data.x, data.tree_edge_index)
