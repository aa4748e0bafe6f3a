"""Our convolutions against PyG's, by hand and by gradients."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, SAGEConv

from neuraltrees.errors import InputError
from neuraltrees.nn import Convolution, ConvOptions, Messages
from neuraltrees.nn import GATConv as GAT
from neuraltrees.nn import GCNConv as GCN
from neuraltrees.nn import GINConv as GIN
from neuraltrees.nn import SAGEConv as SAGE
from neuraltrees.nn.ensemble.backend import SCATTER, Backend, SparseBackend

N, IN, OUT, HEADS, RUNS, EDGE = 20, 5, 4, 3, 3, 2


def gcn(runs: int | None = None, relations: int = 1, edges: int | None = None) -> Convolution:
    return GCN(IN, OUT, ConvOptions(runs, relations, edges))


def sage(runs: int | None = None, relations: int = 1, edges: int | None = None) -> Convolution:
    return SAGE(IN, OUT, ConvOptions(runs, relations, edges))


def gat(runs: int | None = None, relations: int = 1, edges: int | None = None) -> Convolution:
    return GAT(IN, OUT, ConvOptions(runs, relations, edges, heads=HEADS))


def gat_mean(runs: int | None = None, relations: int = 1, edges: int | None = None) -> Convolution:
    return GAT(IN, OUT, ConvOptions(runs, relations, edges, heads=HEADS, last=True))


def gin(runs: int | None = None, relations: int = 1, edges: int | None = None) -> Convolution:
    return GIN(IN, OUT, ConvOptions(runs, relations, edges))


CONVS = pytest.mark.parametrize("make", [gcn, sage, gat, gat_mean, gin])
BACKENDS = pytest.mark.parametrize("backend", [SCATTER, SparseBackend(torch.float64)], ids=["scatter", "sparse"])


def pyg_twin(conv: Convolution) -> nn.Module:
    """PyG's convolution with the same weights."""
    match conv:
        case GCN():
            twin: nn.Module = GCNConv(IN, OUT)
            pairs = {"lin.weight": conv.lins[0].weight.t(), "bias": conv.bias}
        case SAGE():
            twin = SAGEConv(IN, OUT)
            pairs = {
                "lin_l.weight": conv.neighbours[0].weight.t(),
                "lin_l.bias": conv.own.bias,
                "lin_r.weight": conv.own.weight.t(),
            }
        case GAT():
            twin = GATConv(IN, OUT, heads=HEADS, concat=conv.concat)
            pairs = {
                "lin.weight": conv.lins[0].weight.t(),
                "att_src": conv.att_source[0][None],
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
@BACKENDS
def test_equals_pyg(make: Callable[[], Convolution], backend: Backend) -> None:
    conv, index, x = make(), random_edges(), torch.randn(N, IN)
    randomise(conv)
    ours = conv(x, conv.bind(Messages.of_edges(index, N), backend))
    torch.testing.assert_close(ours, pyg_twin(conv)(x, index), atol=1e-10, rtol=0)


@CONVS
@BACKENDS
def test_runs_at_once_equal_runs_one_by_one(make: Callable[..., Convolution], backend: Backend) -> None:
    together = make(RUNS)
    edges = together.bind(Messages.of_edges(random_edges(), N), backend)
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
    conv, x = make(RUNS), torch.randn(N, IN)
    edges = conv.bind(Messages.of_edges(random_edges(), N))
    torch.testing.assert_close(conv(x, edges), conv(x[:, None].expand(-1, RUNS, -1), edges))


@CONVS
@BACKENDS
@pytest.mark.parametrize("runs", [None, 2])
def test_gradients_are_those_of_finite_differences(
    make: Callable[..., Convolution], backend: Backend, runs: int | None
) -> None:
    conv = make(runs)
    randomise(conv)
    edges = conv.bind(Messages.of_edges(torch.tensor([[0, 1, 1, 2, 0], [1, 0, 2, 1, 2]]), 4), backend)
    x = torch.randn(4, IN) if runs is None else torch.randn(4, runs, IN)
    parameters = tuple(conv.parameters())

    def of(x: Tensor, *values: Tensor) -> Tensor:
        named = dict(zip((name for name, _ in conv.named_parameters()), values, strict=True))
        return torch.func.functional_call(conv, named, (x, edges))

    assert torch.autograd.gradcheck(of, (x.requires_grad_(), *parameters))


@CONVS
def test_one_relation_is_as_good_as_several_with_the_same_weights(make: Callable[..., Convolution]) -> None:
    """With equal weights for every relation and for the node itself, relations make no difference."""
    index, x = random_edges(), torch.randn(N, IN)
    plain, several = make(), make(relations=3)
    randomise(plain)
    state = {}
    for name in several.state_dict():
        origin = re.sub(r"\.[123](\.|$)", r".0\1", name)
        if isinstance(plain, GIN):
            origin = re.sub(r"^neighbours\.\d", "lin1", name)
        state[name] = plain.state_dict()[origin]
    several.load_state_dict(state)
    links = Messages.of_edges(index, N, torch.randint(0, 3, (index.shape[1],)))
    for backend in (SCATTER, SparseBackend(torch.float64)):
        result = several(x, several.bind(links, backend))
        torch.testing.assert_close(result, plain(x, plain.bind(links)), atol=1e-12, rtol=0)


@CONVS
def test_relations_have_weights_of_their_own(make: Callable[..., Convolution]) -> None:
    """A message changes with its relation."""
    conv, x = make(relations=3), torch.randn(2, IN)
    randomise(conv)
    results = [
        conv(x, conv.bind(Messages.of_edges(torch.tensor([[0], [1]]), 2, torch.tensor([kind])))) for kind in range(3)
    ]
    assert all(not torch.allclose(results[0][1], other[1]) for other in results[1:])
    assert all(torch.equal(results[0][0], other[0]) for other in results[1:])


def test_gcn_by_hand() -> None:
    """A path 0-1-2 with the identity as weight: degrees with self-loops are 2, 3, 2."""
    conv = GCN(1, 1)
    nn.init.ones_(conv.lins[0].weight)
    path = Messages.of_edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
    states = conv(torch.tensor([[1.0], [0.0], [0.0]]), conv.bind(path))
    torch.testing.assert_close(states.flatten(), torch.tensor([1 / 2, 1 / 6**0.5, 0]))


def test_attention_is_stable_for_large_logits() -> None:
    conv = GAT(1, 1)
    for parameter in (conv.lins[0].weight, conv.att_source[0], conv.att_target):
        nn.init.constant_(parameter, 100.0)
    edges = conv.bind(Messages.of_edges(torch.tensor([[0, 1], [1, 0]]), 2))
    assert conv(torch.tensor([[1.0], [2.0]]), edges).flatten().tolist() == pytest.approx([200.0, 200.0])


@CONVS
def test_reset_draws_anew(make: Callable[..., Convolution]) -> None:
    conv = make()
    before = [value.clone() for value in conv.state_dict().values()]
    conv.reset_parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, conv.state_dict().values(), strict=True))


def slowly(conv: Convolution, x: Tensor, index: Tensor, edges: Tensor) -> Tensor:
    """The definitions of the docstrings, node by node."""
    rows = []
    degree = torch.bincount(index[1], minlength=N)
    for v in range(N):
        senders = [(int(index[0, e]), edges[e]) for e in range(index.shape[1]) if index[1, e] == v]
        match conv:
            case GCN():
                scale = [1 / math.sqrt((degree[u] + 1) * (degree[v] + 1)) for u, _ in senders]
                parts = [(x[u] @ conv.lins[0].weight + e @ conv.lin_edge.weight) for u, e in senders]
                own = x[v] @ conv.lins[0].weight / (degree[v] + 1)
                rows.append(own + sum(s * part for s, part in zip(scale, parts, strict=True)) + conv.bias)
            case SAGE():
                parts = [x[u] @ conv.neighbours[0].weight + e @ conv.lin_edge.weight for u, e in senders]
                mean = sum(parts) / len(parts) if parts else 0
                rows.append(mean + x[v] @ conv.own.weight + conv.own.bias)
            case GIN():
                sent = sum((x[u] + conv.lin_edge(e[None])[0]).relu() for u, e in senders)
                rows.append(conv.lin2(conv.lin1(((1 + conv.eps) * x[v] + sent)[None]).relu())[0])
            case GAT():
                heads = []
                for k in range(HEADS):
                    cut = slice(k * OUT, (k + 1) * OUT)
                    weight, of_edge = conv.lins[0].weight[:, cut], conv.lin_edge.weight[:, cut]
                    everyone = [*senders, (v, torch.zeros(EDGE))]
                    logits = torch.stack(
                        [
                            conv.att_source[0][k] @ (x[u] @ weight)
                            + conv.att_target[k] @ (x[v] @ weight)
                            + conv.att_edge[k] @ (e @ of_edge)
                            for u, e in everyone
                        ]
                    )
                    share = nn.functional.leaky_relu(logits, 0.2).softmax(0)
                    heads.append(
                        sum(s * (x[u] @ weight + e @ of_edge) for s, (u, e) in zip(share, everyone, strict=True))
                    )
                rows.append((torch.cat(heads) if conv.concat else torch.stack(heads).mean(0)) + conv.bias)
    return torch.stack(rows)


@CONVS
@BACKENDS
def test_edge_features_enter_as_documented(make: Callable[..., Convolution], backend: Backend) -> None:
    conv, index, x = make(edges=EDGE), random_edges(), torch.randn(N, IN)
    edges = torch.randn(index.shape[1], EDGE)
    randomise(conv)
    assert conv.reads_edges
    ours = conv(x, conv.bind(Messages.of_edges(index, N), backend), edges)
    torch.testing.assert_close(ours, slowly(conv, x, index, edges), atol=1e-10, rtol=0)


@CONVS
@BACKENDS
def test_edge_features_of_several_runs(make: Callable[..., Convolution], backend: Backend) -> None:
    """Features that all runs share, and those of each run, as an encoder makes them."""
    together, index, x = make(RUNS, edges=EDGE), random_edges(), torch.randn(N, IN)
    randomise(together)
    bound = together.bind(Messages.of_edges(index, N), backend)
    edges = torch.randn(index.shape[1], RUNS, EDGE)
    result = together(x, bound, edges)
    shared = edges[:, :1].expand(-1, RUNS, -1)
    torch.testing.assert_close(together(x, bound, shared), together(x, bound, edges[:, 0]), atol=1e-12, rtol=0)
    for run in range(RUNS):
        alone = make(edges=EDGE)
        state = {name: value[run] for name, value in together.state_dict().items()}
        if "eps" in state:
            state["eps"] = state["eps"].squeeze()
        alone.load_state_dict(state)
        torch.testing.assert_close(result[:, run], alone(x, bound, edges[:, run]), atol=1e-12, rtol=0)


def test_gin_with_edge_features_is_pygs_gine() -> None:
    conv, index, x = gin(edges=EDGE), random_edges(), torch.randn(N, IN)
    edges = torch.randn(index.shape[1], EDGE)
    mlp = nn.Sequential(nn.Linear(IN, OUT), nn.ReLU(), nn.Linear(OUT, OUT))
    twin = GINEConv(mlp, train_eps=True, edge_dim=EDGE)
    weights = {
        "eps": conv.eps[None] if twin.eps.dim() else conv.eps,
        "nn.0.weight": conv.lin1.weight.t(),
        "nn.0.bias": conv.lin1.bias,
        "nn.2.weight": conv.lin2.weight.t(),
        "nn.2.bias": conv.lin2.bias,
        "lin.weight": conv.lin_edge.weight.t(),
        "lin.bias": conv.lin_edge.bias,
    }
    twin.load_state_dict({name: value.detach() for name, value in weights.items()})
    ours = conv(x, conv.bind(Messages.of_edges(index, N)), edges)
    torch.testing.assert_close(ours, twin(x, index, edges), atol=1e-10, rtol=0)


@CONVS
def test_missing_edge_features_are_named(make: Callable[..., Convolution]) -> None:
    conv = make(edges=EDGE)
    with pytest.raises(InputError, match="Expected edge_attr, since the network was made with edge_channels; got none"):
        conv(torch.randn(N, IN), conv.bind(Messages.of_edges(random_edges(), N)))
