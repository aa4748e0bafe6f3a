"""Sums of messages and batch norms by the core give what torch gives, and gradients too."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble import native_layers
from neuraltrees.nn.ensemble.dropout import Dropout, DropoutMasks
from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.norm import RunBatchNorm, Then
from neuraltrees.nn.ensemble.relu_sum import by_torch, edge_sum, relu_sum
from tests.nn.ensemble import relu_sums
from tests.nn.ensemble.fused_norms import CASES

DTYPES = {torch.float32: 1e-4, torch.float64: 1e-11}
SUMS = {
    **relu_sums.CASES,
    "many channels": relu_sums.Case(900, 50, 40, (3, 300), 7),
    "no edges": relu_sums.Case(0, 3, 2, (4,), 2),
}


def sums_of(
    case: relu_sums.Case, dtype: torch.dtype
) -> tuple[list[Tensor | None], list[Incidence], Tensor | None, Tensor]:
    """States and table, ends of edges, kinds, and a gradient."""
    draw = torch.Generator().manual_seed(case.edges)
    x = torch.randn(case.sources, *case.shape, generator=draw, dtype=dtype)
    table = torch.randn(case.kinds, *case.shape, generator=draw, dtype=dtype) if case.kinds else None
    ends = [
        Incidence(torch.randint(0, rows, (case.edges,), generator=draw), rows) for rows in (case.sources, case.targets)
    ]
    kind = torch.randint(0, case.kinds, (case.edges,), generator=draw) if case.kinds > 1 else None
    return [x, table], ends, kind, torch.randn(case.targets, *case.shape, generator=draw, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SUMS)
def test_sums_over_edges(name: str, dtype: torch.dtype) -> None:
    given, ends, kind, grad = sums_of(SUMS[name], dtype)
    found = []
    for function in (relu_sum, by_torch):
        x, table = (None if each is None else each.clone().requires_grad_() for each in given)
        assert x is not None
        out = function(x, *ends, table, kind)
        out.backward(grad)
        found.append([out.detach(), x.grad, None if table is None else table.grad])
        assert ("ReluSum" in type(out.grad_fn).__name__) == (function is relu_sum)
    torch.testing.assert_close(*found, atol=DTYPES[dtype], rtol=DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SUMS)
def test_plain_sums_over_edges(name: str, dtype: torch.dtype) -> None:
    (given, _), (source, target), _, grad = sums_of(SUMS[name], dtype)
    assert given is not None
    found = []
    for native_way in (True, False):
        x = given.clone().requires_grad_()
        out = edge_sum(x, source, target) if native_way else target.sum(source.take(x))
        assert ("EdgeSum" in type(out.grad_fn).__name__) == native_way
        out.backward(grad)
        found.append([out.detach(), x.grad])
    torch.testing.assert_close(*found, atol=DTYPES[dtype], rtol=DTYPES[dtype])


def test_a_table_that_needs_no_gradient() -> None:
    (x, table), ends, kind, grad = sums_of(SUMS["kinds"], torch.float64)
    assert x is not None
    out = relu_sum(x.requires_grad_(), *ends, table, kind)
    out.backward(grad)
    expected = torch.autograd.grad(by_torch(x, *ends, table, kind), x, grad)[0]
    torch.testing.assert_close(x.grad, expected)


def test_nan_is_passed_on() -> None:
    end = Incidence(torch.tensor([0, 1]), 2)
    x = torch.tensor([[torch.nan], [-1.0]])
    assert relu_sum(x, end, end).isnan().flatten().tolist() == [True, False]
    h = torch.randn(4, 2)
    h[0, 0] = torch.nan
    assert RunBatchNorm(2).padded(h, relu=True).isnan().all(0).tolist() == [True, False]


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    (x, table), ends, kind, _ = sums_of(SUMS["many channels"], torch.float32)
    assert x is not None and table is not None
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(native_layers, "_threads", lambda h, count=threads: count)
        one, two = x.clone().requires_grad_(), table.clone().requires_grad_()
        out = RunBatchNorm(300, 3).padded(relu_sum(one, *ends, two, kind), relu=True)
        out.square().sum().backward()
        found.append((out, one.grad, two.grad))
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("runs", [None, 2])
def test_rows_that_stand_for_several_nodes(runs: int | None, dtype: torch.dtype) -> None:
    """Answers, gradients and statistics are those of as many equal rows."""
    draw = torch.Generator().manual_seed(3)
    copies = torch.randint(1, 6, (90,), generator=draw)
    shape = (90, 70) if runs is None else (90, runs, 70)
    h, grad = (torch.randn(shape, generator=draw, dtype=torch.float64).to(dtype) for _ in range(2))
    found = []
    for merged in (True, False):
        norm, given = RunBatchNorm(70, runs).to(dtype), h.clone().requires_grad_()
        if merged:
            out = norm.padded(given, relu=True, copies=copies.to(dtype))
            assert "NormRelu" in type(out.grad_fn).__name__
            out.backward(grad)
        else:
            out = norm.padded(given.repeat_interleave(copies, 0), relu=True)
            first = copies.cumsum(0) - copies
            out.backward(torch.zeros_like(out).index_copy(0, first, grad))
            out = out[first]
        found.append([out.detach(), given.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var])
    torch.testing.assert_close(*found, atol=DTYPES[dtype], rtol=DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("dropped", [None, 0.0, 0.3])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.padding in (None, 3) and case.rows > 1])
def test_norms(name: str, dropped: float | None, relu: bool, dtype: torch.dtype) -> None:
    """Against the formula, by torch's operations and gradients in float64; dropout with the very same entries."""
    case = CASES[name]
    runs = case.runs or 1 if dropped is not None else case.runs
    shape = (case.rows, case.channels) if runs is None else (case.rows, runs, case.channels)
    draw = torch.Generator().manual_seed(case.rows)
    h, grad, residual = (torch.randn(shape, generator=draw, dtype=torch.float64) for _ in range(3))
    h = h + 1000.0 if name == "far from zero" else h
    exact = [each.clone().requires_grad_() for each in (h, residual)]
    norm = RunBatchNorm(case.channels, runs).to(dtype)
    with torch.no_grad():
        for value in norm.state_dict().values():
            value.add_(torch.rand(value.shape, generator=draw, dtype=torch.float64).to(dtype))
    before = {name: value.double().clone() for name, value in norm.state_dict().items()}
    weights = [before[name].requires_grad_() for name in ("weight", "bias")]
    mean, var = exact[0].mean(0), exact[0].var(0, correction=0)
    expected = (exact[0] - mean) / (var + 1e-5).sqrt() * weights[0] + weights[1]
    expected = expected.relu() if relu else expected
    then = None
    given = [each.to(dtype).requires_grad_() for each in (h, residual)]
    if dropped is not None:
        layer = Dropout(dropped)
        layer.masks, layer.place = DropoutMasks(torch.arange(runs or 1), 3), 1
        layer.masks.go_to(5)
        mask = layer.masks.mask((case.rows, case.channels), 1, dropped).double() if dropped else 1.0
        expected = expected * mask + exact[1]
        then = Then(given[1], layer)
    expected.backward(grad)
    found = norm.padded(given[0], None, relu, then=then)
    assert "NormRelu" in type(found.grad_fn).__name__
    found.backward(grad.to(dtype))
    near = 1e-10 if dtype == torch.float64 else 5e-3 if name == "far from zero" else 1e-4
    pairs = {
        "states": (found, expected),
        "gradient of the states": (given[0].grad, exact[0].grad),
        "gradient of the scale": (norm.weight.grad, weights[0].grad),
        "gradient of the shift": (norm.bias.grad, weights[1].grad),
        "running mean": (norm.running_mean, before["running_mean"].lerp(mean, 0.1)),
        "running variance": (norm.running_var, before["running_var"].lerp(var * case.rows / (case.rows - 1), 0.1)),
    }
    if dropped is not None:
        pairs["gradient of the residual"] = (given[1].grad, exact[1].grad)
    for what, (here, there) in pairs.items():
        assert here is not None and there is not None
        torch.testing.assert_close(
            here.detach().double(), there.detach(), atol=near, rtol=near, msg=lambda m, n=what: f"{n}: {m}"
        )


def test_other_tensors_are_left_to_torch() -> None:
    """Half precision, devices without values, and programs that are compiled or exported."""
    h = torch.randn(4, 2)
    assert native_layers.suits(h) and native_layers.suits(h.double(), None)
    assert not native_layers.suits(h.bfloat16())
    assert not native_layers.suits(h, h.double())
    assert not native_layers.suits(h.to("meta"))
    end = Incidence(torch.tensor([0, 3]), 4)
    norms = [RunBatchNorm(2) for _ in range(2)]
    traced = torch.compile(lambda x: norms[0].padded(relu_sum(x, end, end)), backend="eager")
    torch.testing.assert_close(traced(h), norms[1].padded(relu_sum(h, end, end)))


def test_bad_input_of_the_core() -> None:
    ids, x, out = torch.tensor([0, 1]).numpy(), torch.zeros(2, 3).numpy(), torch.zeros(2, 3).numpy()
    native.relu_sum(ids, ids, None, x, None, out, 1)
    with pytest.raises(InputError, match="numbers of rows"):
        native.relu_sum(ids + 1, ids, None, x, None, out, 1)
    with pytest.raises(InputError, match="numbers of rows"):
        native.relu_sum(ids, ids, ids, x, x[:1], out, 1)
    with pytest.raises(InputError, match="per edge"):
        native.relu_sum(ids, ids[:1], None, x, None, out, 1)
    with pytest.raises(InputError, match="same width"):
        native.relu_sum(ids, ids, None, x, x[:, :2].copy(), out, 1)
    row = torch.zeros(3).numpy()
    with pytest.raises(InputError, match="two rows"):
        native.norm_relu(x[:1], 3, None, row, row, row, row, 0.1, True, None, None, 0, 0, None, out[:1], row, row, 1)
    with pytest.raises(InputError, match="number per channel"):
        native.norm_relu(x, 3, None, row[:2], row, row, row, 0.1, True, None, None, 0, 0, None, out, row, row, 1)
    keys, entries = torch.zeros(1, dtype=torch.int32).numpy(), torch.zeros(1, 3, dtype=torch.int32).numpy()
    with pytest.raises(InputError, match="key per run"):
        native.norm_relu(x, 3, None, row, row, row, row, 0.1, True, entries, keys, 0, 0, None, out, row, row, 1)
    rest = (row, row, row, row, 0.1, True, None, None, 0, 0, None, out, row, row, 1)
    with pytest.raises(InputError, match="copies of every row"):
        native.norm_relu(x, 3, row, *rest)
    with pytest.raises(InputError, match="two nodes"):
        native.norm_relu(x, 3, row[:2], *rest)
    with pytest.raises(InputError, match="same width"):
        native.edge_sum(ids, ids, x, x[:, :2].copy(), 1)
    with pytest.raises(InputError, match="numbers of rows"):
        native.edge_sum(ids, ids + 1, x, out, 1)
