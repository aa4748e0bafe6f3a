"""Run with TRITON_INTERPRET=1: the Triton kernel of sums, interpreted on a CPU, gives what `index_add` gives."""

from __future__ import annotations

import torch

from neuraltrees.nn.ensemble.incidence import Segments, segment_sum


def main() -> None:
    stream = torch.Generator().manual_seed(0)
    for entries, rows, shape in ((7, 4, (5,)), (300, 50, (2, 20)), (0, 3, (2,)), (60, 100, (300,))):
        for in_order in (False, True):
            index = torch.randint(0, rows, (entries,), generator=stream)
            index = index.sort().values if in_order else index
            values = torch.randn(entries, *shape, generator=stream)
            expected = torch.zeros(rows, *shape).index_add(0, index, values)
            segments = Segments.of(index, rows)
            assert (segments.order is None) >= in_order
            torch.testing.assert_close(segment_sum(values, segments, rows), expected, atol=1e-5, rtol=1e-5)
    print("sums")


if __name__ == "__main__":
    main()
