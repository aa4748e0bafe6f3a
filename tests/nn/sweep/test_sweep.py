"""Sweeps against the dense kernel and finite differences, in the core and by pointer jumping."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.nn.sweep import SweepPlan, function, jumping, native_passes, sweep
from tests.nn.sweep.forests import SHAPES, edges_of, parents, random_parents
from tests.oracle.sweep import dense_sweep

DOUBLE = torch.float64
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(params=[native_passes, jumping], ids=["core", "jumping"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Both ways to compute a sweep on a CPU."""
    monkeypatch.setattr(function, "_kernels", lambda values, plan: request.param)
    return request.param  # type: ignore[no-any-return]


def drawn(shape: tuple[int, ...], seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Values, decays and gates in float64.

    Shapes: values and gates `shape`, decays the same without its first dimension
    """
    stream = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=stream, dtype=DOUBLE)
    decay = torch.rand(shape[1:], generator=stream, dtype=DOUBLE) * 0.98 + 0.01
    gate = torch.rand(shape, generator=stream, dtype=DOUBLE)
    return values, decay, gate


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_values_and_gradients_are_those_of_the_dense_kernel(name: str, gated: bool, kernels: ModuleType) -> None:
    above = SHAPES[name]
    inputs = drawn((len(above), 2, 3))
    weight = torch.randn(len(above), 2, 3, dtype=DOUBLE)
    found = []
    for way in ("sweep", "dense"):
        values, decay, gate = (each.clone().requires_grad_() for each in inputs)
        if way == "sweep":
            z = sweep(values, decay, SweepPlan.of_parents(above), gate if gated else None)
        else:
            z = dense_sweep(values, decay, above, gate if gated else None)
        used = [values, decay, gate] if gated else [values, decay]
        grads = torch.autograd.grad((z * weight).sum(), used, allow_unused=True, materialize_grads=True)
        found.append([z, *grads])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(here, there, **EXACT)


@settings(max_examples=40)
@given(parents(), st.booleans(), st.integers(0, 5))
def test_any_forest_in_any_order(above: list[int], gated: bool, channels: int) -> None:
    values, decay, gate = drawn((len(above), channels))
    given_gate = gate if gated else None
    here = sweep(values, decay, SweepPlan.of_parents(above), given_gate)
    torch.testing.assert_close(here, dense_sweep(values, decay, above, given_gate), **EXACT)
    if not gated:  # the root does not matter
        other_roots = SweepPlan.of_edges(edges_of(above), len(above))
        torch.testing.assert_close(sweep(values, decay, other_roots), here, **EXACT)


@pytest.mark.parametrize("name", ["nothing", "one node", "star", "caterpillar", "mixed up"])
def test_gradients_are_those_of_finite_differences(name: str, kernels: ModuleType) -> None:
    above = SHAPES[name]
    plan = SweepPlan.of_parents(above)
    values, decay, gate = (each.requires_grad_() for each in drawn((len(above), 3)))
    assert torch.autograd.gradcheck(lambda v, d: sweep(v, d, plan), (values, decay))
    assert torch.autograd.gradcheck(lambda v, d, g: sweep(v, d, plan, g), (values, decay, gate))


def test_a_chain_by_hand() -> None:
    plan = SweepPlan.of_edges([[0, 1, 2], [1, 2, 3]], 4)
    values = torch.tensor([[1.0], [2.0], [0.0], [4.0]])
    z = sweep(values, torch.tensor([0.5]), plan)
    assert z.flatten().tolist() == [1 + 1 + 0.5, 0.5 + 2 + 1, 0.25 + 1 + 2, 0.125 + 0.5 + 4]


@given(parents())
def test_renamed_nodes_have_the_same_sums(above: list[int]) -> None:
    values, decay, _ = drawn((len(above), 4))
    names = torch.randperm(len(above), generator=torch.Generator().manual_seed(len(above)))
    z = sweep(values, decay, SweepPlan.of_edges(edges_of(above), len(above)))
    plan = SweepPlan.of_edges(names[edges_of(above)] if len(above) else edges_of(above), len(above))
    renamed = torch.empty_like(values)
    renamed[names] = values
    torch.testing.assert_close(sweep(renamed, decay, plan)[names], z, **EXACT)


def test_runs_are_independent_and_may_share_decays() -> None:
    above = SHAPES["mixed up"]
    plan = SweepPlan.of_parents(above)
    values, decay, gate = drawn((len(above), 3, 5))
    z = sweep(values, decay, plan, gate)
    for run in range(3):
        alone = sweep(values[:, run], decay[run], plan, gate[:, run])
        torch.testing.assert_close(z[:, run], alone, **EXACT)
    shared = decay[0].clone().requires_grad_()
    sweep(values, shared, plan).square().sum().backward()
    own = decay[0].expand(3, 5).clone().requires_grad_()
    sweep(values, own, plan).square().sum().backward()
    assert shared.grad is not None and own.grad is not None
    torch.testing.assert_close(shared.grad, own.grad.sum(0), **EXACT)


def test_ranges_may_be_empty_or_hold_several_trees_and_padding_stays_as_it_is() -> None:
    above = [-1, 0, -1, 2, 2, -1, -1]
    plan = SweepPlan(torch.tensor(above), torch.tensor([0, 0, 2, 5, 5, 5]), None, 1, 3)
    whole = SweepPlan(torch.tensor(above), torch.tensor([0, 7]), None, 1, 7)
    values, decay, _ = drawn((7, 3))
    expected = dense_sweep(values, decay, above)
    torch.testing.assert_close(sweep(values, decay, plan), expected, **EXACT)
    torch.testing.assert_close(sweep(values, decay, whole), expected, **EXACT)
    assert torch.equal(sweep(values, decay, plan)[5:], values[5:])


@pytest.mark.parametrize(("size", "back"), [(100_000, 1), (1_000_000, 1), (1_000_000, 50_000)])
def test_deep_and_large_trees(size: int, back: int) -> None:
    """A chain has closed forms; any tree has the sum over all nodes where nothing decays."""
    plan = SweepPlan.of_parents(random_parents(size, back))
    values = torch.ones(size, 2, dtype=DOUBLE, requires_grad=True)
    decay = torch.tensor([0.9, 1.0], dtype=DOUBLE, requires_grad=True)
    z = sweep(values, decay, plan)
    torch.testing.assert_close(z[:, 1], torch.full((size,), float(size), dtype=DOUBLE))
    if back == 1:
        steps = torch.arange(size, dtype=DOUBLE)
        either_side = (1 - 0.9 ** (steps + 1)) / 0.1 + (1 - 0.9 ** (size - steps)) / 0.1 - 1
        torch.testing.assert_close(z[:, 0], either_side)
    z.sum().backward()
    assert values.grad is not None and decay.grad is not None
    torch.testing.assert_close(values.grad, z.detach())
    if back == 1:  # the derivative of the sum of 2 (size - d) λ^d
        terms = torch.arange(1, size, dtype=DOUBLE)
        slope = (2 * (size - terms) * terms * 0.9 ** (terms - 1)).sum()
        torch.testing.assert_close(decay.grad[0], slope)


def test_jumping_over_a_deep_tree_gives_what_the_core_gives() -> None:
    plan = SweepPlan.of_parents(random_parents(3_000, 2))
    assert plan.depth > 1_000
    values, decay, gate = drawn((3_000, 4))
    for factors in (decay.unsqueeze(0), (decay * gate) ** 0.01):
        sums, out = native_passes.passes(values, factors, plan)
        also = jumping.passes(values, factors, plan)
        for here, there in zip((sums, out), also, strict=True):
            assert here is not None and there is not None
            torch.testing.assert_close(here, there, rtol=1e-10, atol=1e-10)
        grads = native_passes.gradients(gate, factors, sums, out, plan)
        for here, there in zip(grads, jumping.gradients(gate, factors, sums, out, plan), strict=True):
            assert here is not None and there is not None
            torch.testing.assert_close(here, there, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("gated", [False, True])
def test_the_number_of_threads_changes_nothing(gated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = SweepPlan.joined([SweepPlan.of_parents(random_parents(700, 5, seed)) for seed in range(12)])
    values, decay, gate = drawn((plan.num_nodes, 100))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(native_passes, "_threads", lambda values, threads=threads: threads)
        inputs = [each.float().requires_grad_() for each in (values, decay, gate)]
        z = sweep(*inputs[:2], plan, inputs[2] if gated else None)
        z.square().sum().backward()
        found.append([z, *(each.grad for each in inputs[: 3 if gated else 2])])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert one is not None and two is not None and torch.equal(one, two)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_other_types_are_computed_in_float32(dtype: torch.dtype) -> None:
    above = SHAPES["binary"]
    values, decay, gate = (each.to(dtype) for each in drawn((len(above), 3)))
    z = sweep(values.requires_grad_(), decay, SweepPlan.of_parents(above), gate)
    assert z.dtype == dtype
    exact = dense_sweep(values.double(), decay.double(), above, gate.double())
    torch.testing.assert_close(z.double(), exact, rtol=4 * torch.finfo(dtype).eps, atol=4 * torch.finfo(dtype).eps)
    z.sum().backward()
    assert values.grad is not None and values.grad.dtype == dtype


def test_values_need_not_be_contiguous_and_are_left_alone() -> None:
    plan = SweepPlan.of_parents(SHAPES["chain"])
    values, decay, _ = drawn((4, 10))
    before = values.clone()
    torch.testing.assert_close(sweep(values.T, decay[:4], plan), dense_sweep(before.T, decay[:4], SHAPES["chain"]))
    assert torch.equal(values, before)


def test_there_is_no_second_derivative() -> None:
    plan = SweepPlan.of_parents(SHAPES["chain"])
    values, decay, _ = (each.requires_grad_() for each in drawn((10, 2)))
    (grad,) = torch.autograd.grad(sweep(values, decay, plan).square().sum(), values, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.sum().backward()


def test_it_can_be_exported() -> None:
    plan = SweepPlan.of_parents(SHAPES["mixed up"])
    values, decay, _ = drawn((10, 2))

    class Module(torch.nn.Module):
        def forward(self, values: Tensor, decay: Tensor) -> Tensor:
            return sweep(values, decay, plan)

    exported = torch.export.export(Module(), (values, decay)).module()
    torch.testing.assert_close(exported(values, decay), sweep(values, decay, plan), **EXACT)


@pytest.mark.parametrize(
    ("values", "decay", "gate", "message"),
    [
        ((3, 2), (2,), None, r"the 4 nodes of the plan; got \(3, 2\)"),
        ((4,), (1,), None, r"got \(4,\)"),
        ((4, 2), (3,), None, r"Expected one decay per channel, of shape \(2,\).* got \(3,\)"),
        ((4, 2), (4, 2), None, "Expected one decay per channel"),
        ((4, 5, 2), (5, 1), None, r"of shape \(2,\) or \(5, 2\)"),
        ((4, 2), (2,), (4, 1), r"Expected gates of the shape of the values, \(4, 2\); got \(4, 1\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    values: tuple[int, ...], decay: tuple[int, ...], gate: tuple[int, ...] | None, message: str
) -> None:
    plan = SweepPlan.of_parents([-1, 0, 1, 2])
    with pytest.raises(InputError, match=message):
        sweep(torch.zeros(values), torch.ones(decay), plan, None if gate is None else torch.ones(gate))


def test_integers_and_other_devices_are_refused() -> None:
    plan = SweepPlan.of_parents([-1, 0])
    with pytest.raises(InputError, match=r"Use values.float\(\)"):
        sweep(torch.zeros(2, 1, dtype=torch.int64), torch.ones(1), plan)
    with pytest.raises(InputError, match=r"the plan on meta. Use plan.to\('cpu'\)"):
        sweep(torch.zeros(2, 1), torch.ones(1), plan.to("meta"))
    with pytest.raises(InputError, match="the decay on meta"):
        sweep(torch.zeros(2, 1), torch.ones(1, device="meta"), plan)
