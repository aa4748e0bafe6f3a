"""Matrix products of the core against those of PyTorch, one thread, in turns: ratios of times, and GFLOP/s.

    python benchmarks/products.py

States of three runs times their weights, as training computes them with the gradients of both; and stacks of tables, as
exact inference does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from neuraltrees._core import native

TURNS, SECONDS = 7, 0.05


def shortest(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest mean time of every work, in turns."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(TURNS):
        for name, work in works.items():
            count, start = 0, time.perf_counter()
            while time.perf_counter() - start < SECONDS:
                work()
                count += 1
            found[name] = min(found[name], (time.perf_counter() - start) / count)
    return found


def by_pytorch(h: Tensor, weight: Tensor, grad: Tensor, out: list[Tensor]) -> None:
    for run in range(weight.shape[0]):
        torch.mm(h[:, run], weight[run], out=out[0][:, run])
        torch.mm(grad[:, run], weight[run].t(), out=out[1][:, run])
        torch.mm(h[:, run].t(), grad[:, run], out=out[2][run])


def by_core(h: Tensor, weight: Tensor, grad: Tensor, out: list[Tensor]) -> None:
    a, w, g = (each.detach().numpy() for each in (h.transpose(0, 1), weight, grad.transpose(0, 1)))
    native.multiply(a, w, out[0].transpose(0, 1).numpy(), 1)
    native.multiply(g, w.transpose(0, 2, 1), out[1].transpose(0, 1).numpy(), 1)
    native.multiply(a.transpose(0, 2, 1), g, out[2].numpy(), 1)


def show(what: str, work: float, core: Callable[[], object], pytorch: Callable[[], object]) -> None:
    """Prints a row; `work` are additions and multiplications."""
    times = shortest({"core": core, "torch": pytorch})
    mine, theirs = (work / 1e9 / times[name] for name in ("core", "torch"))
    print(f"{what}: {mine / theirs:.1f} x faster, {mine:.0f} instead of {theirs:.0f} GFLOP/s")


def main() -> None:
    torch.set_num_threads(1)
    print(f"used on this processor: {native.multiplies_faster()}")
    for rows, inner, outer in ((500, 128, 128), (2000, 128, 128), (5000, 264, 264), (3000, 48, 96), (500, 32, 32)):
        h, weight, grad = torch.randn(rows, 3, inner), torch.randn(3, inner, outer), torch.randn(rows, 3, outer)
        out = [torch.empty(rows, 3, outer), torch.empty(rows, 3, inner), torch.empty(3, inner, outer)]
        works = (partial(each, h, weight, grad, out) for each in (by_core, by_pytorch))
        show(f"3 runs of {rows} x {inner} x {outer}, with both gradients", 18 * rows * inner * outer, *works)
    for count, rows, inner, outer in ((64, 525, 35, 35), (200, 35, 35, 35)):
        a, b, tables = (
            torch.randn(count, rows, inner),
            torch.randn(count, inner, outer),
            torch.empty(count, rows, outer),
        )
        core = partial(native.multiply, a.numpy(), b.numpy(), tables.numpy(), 1)
        stack = partial(torch.bmm, a, b, out=tables)
        show(f"{count} tables of {rows} x {inner} x {outer}", 2 * count * rows * inner * outer, core, stack)


if __name__ == "__main__":
    main()
