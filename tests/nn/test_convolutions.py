"""Our convolutions against PyG's, by hand and by gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from neuraltrees.nn import GAT, GCN, GIN, SAGE, Convolution, Edges

N, IN, OUT, HEADS, RUNS = 20, 5, 4, 3, 3


def gcn(runs: int | None = None) -> Convolution:
    return GCN(IN, OUT, runs)


def sage(runs: int | None = None) -> Convolution:
    return SAGE(IN, OUT, runs)


def gat(runs: int | None = None) -> Convolution:
    return GAT(IN, OUT, runs, heads=HEADS)


def gat_mean(runs: int | None = None) -> Convolution:
    return GAT(IN, OUT, runs, heads=HEADS, concat=False)


def gin(runs: int | None = None) -> Convolution:
    return GIN(IN, OUT, runs)


CONVS = pytest.mark.parametrize("make", [gcn, sage, gat, gat_mean, gin])


def pyg_twin(conv: Convolution) -> nn.Module:
    """PyG's convolution with the same weights."""
    match conv:
        case GCN():
            twin: nn.Module = GCNConv(IN, OUT)
            pairs = {"lin.weight": conv.lin.weight.t(), "bias": conv.bias}
        case SAGE():
            twin = SAGEConv(IN, OUT)
            pairs = {
                "lin_l.weight": conv.lin_l.weight.t(),
                "lin_l.bias": conv.lin_l.bias,
                "lin_r.weight": conv.lin_r.weight.t(),
            }
        case GAT():
            twin = GATConv(IN, OUT, heads=HEADS, concat=conv.concat)
            pairs = {
                "lin.weight": conv.lin.weight.t(),
                "att_src": conv.att_source[None],
                "att_dst": conv.att_target[None],
                "bias": conv.bias,
            }
        case GIN():
            twin = GINConv(nn.Sequential(nn.Linear(IN, OUT), nn.ReLU(), nn.Linear(OUT, OUT)), train_eps=True)
            pairs = {
                "eps": conv.eps[None] if twin.eps.dim() else conv.eps,
                "nn.0.weight": conv.lin1.weight.t(),
                "nn.0.bias": conv.lin1.bias,
                "nn.2.weight": conv.lin2.weight.t(),
                "nn.2.bias": conv.lin2.bias,
            }
    twin.load_state_dict({name: value.detach() for name, value in pairs.items()})
    return twin


@pytest.fixture(autouse=True)
def double_precision() -> object:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def random_edges() -> Tensor:
    """Simple directed edges that leave some nodes without any, as the last node."""
    index = torch.randint(0, N - 1, (2, 60))
    return torch.unique(index[:, index[0] != index[1]], dim=1)


def randomise(conv: nn.Module) -> None:
    for parameter in conv.parameters():
        nn.init.normal_(parameter)


@CONVS
def test_equals_pyg(make: Callable[[], Convolution]) -> None:
    conv, index, x = make(), random_edges(), torch.randn(N, IN)
    randomise(conv)
    torch.testing.assert_close(conv(x, Edges(index, N)), pyg_twin(conv)(x, index), atol=1e-10, rtol=0)


@CONVS
def test_runs_at_once_equal_runs_one_by_one(make: Callable[..., Convolution]) -> None:
    together, edges = make(RUNS), Edges(random_edges(), N)
    randomise(together)
    x = torch.randn(N, RUNS, IN)
    result = together(x, edges)
    for run in range(RUNS):
        alone = make()
        state = {name: value[run] for name, value in together.state_dict().items()}
        if "eps" in state:
            state["eps"] = state["eps"].squeeze()
        alone.load_state_dict(state)
        torch.testing.assert_close(result[:, run], alone(x[:, run], edges), atol=1e-12, rtol=0)


@CONVS
def test_shared_features_are_those_of_every_run(make: Callable[..., Convolution]) -> None:
    conv, edges, x = make(RUNS), Edges(random_edges(), N), torch.randn(N, IN)
    torch.testing.assert_close(conv(x, edges), conv(x[:, None].expand(-1, RUNS, -1), edges))


@CONVS
@pytest.mark.parametrize("runs", [None, 2])
def test_gradients_are_those_of_finite_differences(make: Callable[..., Convolution], runs: int | None) -> None:
    conv = make(runs)
    randomise(conv)
    edges = Edges(torch.tensor([[0, 1, 1, 2, 0], [1, 0, 2, 1, 2]]), 4)
    x = torch.randn(4, IN) if runs is None else torch.randn(4, runs, IN)
    parameters = tuple(conv.parameters())

    def of(x: Tensor, *values: Tensor) -> Tensor:
        named = dict(zip((name for name, _ in conv.named_parameters()), values, strict=True))
        return torch.func.functional_call(conv, named, (x, edges))

    assert torch.autograd.gradcheck(of, (x.requires_grad_(), *parameters))


@CONVS
def test_zero_states_stay_zero_under_the_linear_step(make: Callable[..., Convolution]) -> None:
    conv = make()
    randomise(conv)
    assert conv.transform(torch.zeros(2, IN)).abs().max() == 0


def test_gcn_by_hand() -> None:
    """A path 0-1-2 with the identity as weight: degrees with self-loops are 2, 3, 2."""
    conv = GCN(1, 1)
    nn.init.ones_(conv.lin.weight)
    path = Edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
    states = conv(torch.tensor([[1.0], [0.0], [0.0]]), path)
    torch.testing.assert_close(states.flatten(), torch.tensor([1 / 2, 1 / 6**0.5, 0]))


def test_attention_is_stable_for_large_logits() -> None:
    conv = GAT(1, 1)
    for parameter in (conv.lin.weight, conv.att_source, conv.att_target):
        nn.init.constant_(parameter, 100.0)
    edges = Edges(torch.tensor([[0, 1], [1, 0]]), 2)
    assert conv(torch.tensor([[1.0], [2.0]]), edges).flatten().tolist() == pytest.approx([200.0, 200.0])


@CONVS
def test_reset_draws_anew(make: Callable[..., Convolution]) -> None:
    conv = make()
    before = [value.clone() for value in conv.state_dict().values()]
    conv.reset_parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, conv.state_dict().values(), strict=True))
