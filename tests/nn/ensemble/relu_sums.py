"""`relu_sum` by kernels and by torch side by side, for the tests on a CPU and on a GPU.

Run with TRITON_INTERPRET=1: the kernels, interpreted on a CPU, give what torch gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from neuraltrees.nn.ensemble.incidence import Incidence, Segments
from neuraltrees.nn.ensemble.relu_sum import ReluSum, relu_sum


@dataclass(frozen=True)
class Case:
    """Random edges from `sources` to `targets` rows, with so many kinds of edges: 0 for no table, 1 for one row."""

    edges: int
    sources: int
    targets: int
    shape: tuple[int, ...]
    kinds: int
    in_order: bool = False
    padding: int = 0


CASES = {
    "no table": Case(50, 9, 7, (5,), 0),
    "one row": Case(50, 9, 7, (2, 3), 1),
    "kinds": Case(300, 20, 30, (2, 20), 4),
    "many kinds": Case(1100, 40, 30, (70,), 60, in_order=True),
    "padding": Case(200, 20, 30, (2, 5), 3, padding=60),
    "rows without edges": Case(3, 20, 30, (4,), 2),
}


def compare(case: Case, device: torch.device) -> None:
    """States and gradients agree to float32, against float64, and padding has no effect."""
    draw = torch.Generator().manual_seed(case.edges)
    real = case.edges - case.padding
    # The last rows are padding, and so are edges from and to them.
    last = [rows - 1 if case.padding else rows for rows in (case.sources, case.targets)]
    ends = [torch.randint(0, rows, (case.edges,), generator=draw) for rows in last]
    if case.in_order:
        ends[1] = ends[1].sort().values
    for end, rows in zip(ends, last, strict=True):
        end[real:] = rows
    x = torch.randn(case.sources, *case.shape, generator=draw, dtype=torch.float64)
    table = torch.randn(case.kinds, *case.shape, generator=draw, dtype=torch.float64) if case.kinds else None
    kind = torch.randint(0, case.kinds, (case.edges,), generator=draw) if case.kinds > 1 else None
    grad = torch.randn(case.targets, *case.shape, generator=draw, dtype=torch.float64)

    plain = [Incidence(end[:real], rows) for end, rows in zip(ends, (case.sources, case.targets), strict=True)]
    exact = [None if each is None else each.clone().requires_grad_() for each in (x, table)]
    assert exact[0] is not None
    expected = relu_sum(exact[0], *plain, exact[1], None if kind is None else kind[:real])
    expected.backward(grad)

    fast = [
        Incidence(end.to(device), rows, _segments(end, rows, real, device))
        for end, rows in zip(ends, (case.sources, case.targets), strict=True)
    ]
    given = [None if each is None else each.float().to(device).requires_grad_() for each in (x, table)]
    found = ReluSum.apply(*given, None if kind is None else kind.to(device), *fast)  # type: ignore[no-untyped-call]
    found.backward(grad.float().to(device))
    torch.testing.assert_close(found.detach().cpu().double(), expected.detach(), atol=1e-4, rtol=1e-4)
    for mine, other in zip(given, exact, strict=True):
        if mine is not None and other is not None:
            assert mine.grad is not None
            torch.testing.assert_close(mine.grad.cpu().double(), other.grad, atol=1e-4, rtol=1e-4)


def _segments(end: torch.Tensor, rows: int, real: int, device: torch.device) -> Segments:
    """The segments of all edges, with no edges in the row of padding."""
    found = Segments.of(end, rows)
    count = found.count.clone()
    if real < len(end):
        count[-1] = 0
    return Segments(None if found.order is None else found.order.to(device), found.first.to(device), count.to(device))


def main() -> None:
    for name, case in CASES.items():
        compare(case, torch.device("cpu"))
        print(name)


if __name__ == "__main__":
    main()
