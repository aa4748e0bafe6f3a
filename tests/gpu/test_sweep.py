"""On a GPU: sweeps give what they give on a CPU, by fused kernels and by pointer jumping, replayed or not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neuraltrees.nn import triton_kernels
from neuraltrees.nn.sweep import SweepLayer, SweepPlan, function, fused, jumping, sweep
from tests.nn.sweep.forests import SHAPES, edges_of, random_parents

pytestmark = pytest.mark.gpu
DOUBLE = torch.float64


def molecules(count: int = 60, seed: int = 0) -> SweepPlan:
    """Trees of the size of peptides, in one plan."""
    sizes = torch.randint(1, 300, (count,), generator=torch.Generator().manual_seed(seed)).tolist()
    return SweepPlan.joined([SweepPlan.of_parents(random_parents(size, 4, seed)) for seed, size in enumerate(sizes)])


def padded() -> SweepPlan:
    """Empty ranges, a range of several trees, and single nodes after the last range."""
    parent = torch.tensor([-1, 0, 0, -1, 3, 3, 4, *[-1] * 100])
    return SweepPlan(parent, torch.tensor([0, 0, 3, 7, 7, 7]), None, 2, 4)


def mixed_up() -> SweepPlan:
    """A tree whose nodes are not in the order of the plan."""
    names = torch.randperm(500, generator=torch.Generator().manual_seed(1))
    above = random_parents(500, 5)
    plan = SweepPlan.of_edges(torch.stack([names[1:], names[above[1:]]]), 500)
    assert plan.order is not None
    return plan


PLANS = {
    **{name: SweepPlan.of_parents(above) for name, above in SHAPES.items()},
    "molecules": molecules(),
    "padded": padded(),
    "nodes in another order": mixed_up(),
}


def drawn(shape: tuple[int, ...], dtype: torch.dtype = DOUBLE) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Values, decays, gates and the gradient of the result."""
    stream = torch.Generator().manual_seed(0)
    values, grad = (torch.randn(shape, generator=stream, dtype=DOUBLE).to(dtype) for _ in range(2))
    decay = (torch.rand(shape[1:], generator=stream, dtype=DOUBLE) * 0.98 + 0.01).to(dtype)
    return values, decay, torch.rand(shape, generator=stream, dtype=DOUBLE).to(dtype), grad


def on(device: str, plan: SweepPlan, inputs: tuple[Tensor, ...], gated: bool) -> list[Tensor]:
    """The sweep and all its gradients."""
    values, decay, gate, grad = (each.to(device) for each in inputs)
    used = [each.requires_grad_() for each in ((values, decay, gate) if gated else (values, decay))]
    z = sweep(values, decay, plan.to(device), gate if gated else None)
    return [z.detach(), *torch.autograd.grad(z, used, grad, allow_unused=True, materialize_grads=True)]


def assert_all_close(there: list[Tensor], here: list[Tensor], tolerance: float) -> None:
    """Differences are measured by the largest entry: the gradient of a decay is a sum over all nodes, often near 0."""
    for one, two in zip(there, here, strict=True):
        scale = 1 + (float(two.detach().abs().max()) if two.numel() else 0.0)
        torch.testing.assert_close(one.cpu(), two.cpu(), rtol=tolerance, atol=tolerance * scale)


def test_triton_compiles_the_kernels() -> None:
    assert triton_kernels.available(), "CUDA builds of torch bring Triton; a warning says why it does not work"


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("name", PLANS)
def test_fused_kernels_give_what_a_cpu_gives(name: str, gated: bool) -> None:
    plan = PLANS[name]
    assert function._kernels(torch.zeros(1, device="cuda"), plan) is fused  # type: ignore[comparison-overlap]
    inputs = drawn((plan.num_nodes, 7))
    assert_all_close(on("cuda", plan, inputs, gated), on("cpu", plan, inputs, gated), 1e-10)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 31, 32, 64, 128, 129, 300])
def test_any_number_of_channels(channels: int, gated: bool) -> None:
    """Each has blocks and vector loads of its own."""
    plan = PLANS["molecules"]
    for dtype, tolerance in ((DOUBLE, 1e-10), (torch.float32, 2e-5)):
        inputs = drawn((plan.num_nodes, channels), dtype)
        assert_all_close(on("cuda", plan, inputs, gated), on("cpu", plan, inputs, gated), tolerance)


def test_runs_and_inputs_that_are_not_aligned() -> None:
    plan = PLANS["molecules"]
    values, decay, gate, grad = drawn((plan.num_nodes, 4, 33))
    here = on("cpu", plan, (values, decay, gate, grad), True)
    assert_all_close(on("cuda", plan, (values, decay, gate, grad), True), here, 1e-10)
    room = torch.zeros(values.numel() + 1, dtype=DOUBLE, device="cuda")
    shifted = room[1:].view_as(values).copy_(values)
    z = sweep(shifted, decay.cuda(), plan.to("cuda"), gate.cuda())
    torch.testing.assert_close(z.cpu(), here[0], rtol=1e-10, atol=1e-10)


def test_results_are_the_same_every_time() -> None:
    plan = PLANS["molecules"]
    inputs = drawn((plan.num_nodes, 128), torch.float32)
    first = on("cuda", plan, inputs, False)
    for _ in range(5):
        for one, two in zip(on("cuda", plan, inputs, False), first, strict=True):
            assert torch.equal(one, two)


def test_values_alone() -> None:
    """Without gradients of decays nothing but the result is stored."""
    plan = PLANS["nodes in another order"]
    values, decay, _, grad = drawn((plan.num_nodes, 40))
    found = []
    for device in ("cpu", "cuda"):
        given = values.to(device).requires_grad_()
        z = sweep(given, decay.to(device), plan.to(device))
        found.append([z.detach().cpu(), *(each.cpu() for each in torch.autograd.grad(z, given, grad.to(device)))])
    assert_all_close(found[1], found[0], 1e-10)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(("size", "back"), [(100_000, 1), (200_000, 3), (1_000_000, 100_000)])
def test_large_and_deep_trees_jump(size: int, back: int, gated: bool) -> None:
    plan = SweepPlan.of_parents(random_parents(size, back))
    assert function._kernels(torch.zeros(1, device="cuda"), plan) is jumping  # type: ignore[comparison-overlap]
    inputs = drawn((size, 3))
    assert_all_close(on("cuda", plan, inputs, gated), on("cpu", plan, inputs, gated), 1e-8)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("way", ["fused", "jumping"])
def test_replayed_work_equals_eager_work(way: str, gated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "jumping":
        monkeypatch.setattr(triton_kernels, "available", lambda: False)
    plan = PLANS["molecules"].to("cuda")
    inputs = [each.cuda() for each in drawn((plan.num_nodes, 64), torch.float32)]
    values, decay, gate, grad = inputs
    used = [each.requires_grad_() for each in ((values, decay, gate) if gated else (values, decay))]

    def step() -> list[Tensor]:
        z = sweep(values, decay, plan, gate if gated else None)
        return [z.detach(), *torch.autograd.grad(z, used, grad)]

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for seed in range(3):
        stream_of = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            values.copy_(torch.randn(values.shape, generator=stream_of))
            decay.copy_(torch.rand(decay.shape, generator=stream_of))
        graph.replay()
        assert_all_close(captured, step(), 2e-5)


def test_batches_are_gathered_and_swept_in_one_captured_graph() -> None:
    """As a trainer does: the plan of a whole dataset stays on the GPU, and a batch is a list of trees."""
    whole = PLANS["molecules"].to("cuda")
    values, decay, _, _ = (each.cuda() for each in drawn((whole.num_nodes, 16)))
    everywhere = sweep(values, decay, whole)
    trees = torch.arange(10, device="cuda")
    largest = 10 * whole.largest

    def step() -> tuple[Tensor, Tensor, Tensor]:
        plan, source = whole.take(trees, num_nodes=largest)
        return sweep(values.index_select(0, source), decay, plan), source, plan.tree_ptr

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z, source, tree_ptr = step()
    for seed in range(4):
        trees.copy_(torch.randperm(whole.num_trees, generator=torch.Generator().manual_seed(seed))[:10])
        graph.replay()
        size = int(tree_ptr[-1])
        torch.testing.assert_close(z[:size], everywhere[source[:size]], rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(z[size:], values[source[size:]])


@pytest.mark.parametrize("gated", [False, True])
def test_the_layer(gated: bool) -> None:
    above = SHAPES["mixed up"]
    plan = SweepPlan.of_edges(edges_of(above), len(above))
    torch.manual_seed(0)
    layer = SweepLayer(24, runs=3, gated=gated).double()
    h = torch.randn(len(above), 3, 24, dtype=DOUBLE)
    here = layer(h, plan)
    grads = torch.autograd.grad(here.square().sum(), list(layer.parameters()))
    layer.cuda()
    there = layer(h.cuda(), plan.to("cuda"))
    torch.testing.assert_close(there.cpu(), here, rtol=1e-10, atol=1e-10)
    assert_all_close(list(torch.autograd.grad(there.square().sum(), list(layer.parameters()))), list(grads), 1e-8)


def test_half_precision_is_computed_in_float32() -> None:
    plan = PLANS["molecules"]
    inputs = drawn((plan.num_nodes, 32), torch.bfloat16)
    found = on("cuda", plan, inputs, True)
    assert {each.dtype for each in found} == {torch.bfloat16}
    assert_all_close(found, on("cpu", plan, inputs, True), 2e-2)
