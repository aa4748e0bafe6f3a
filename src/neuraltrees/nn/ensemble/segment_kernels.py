"""The Triton kernel of sums over the entries of every row; see `Incidence`."""

from __future__ import annotations

from neuraltrees.nn.triton_language import jit, tl


@jit
def sum_rows(values, order, first, count, out, channels, ORDERED: tl.constexpr, BLOCK: tl.constexpr):
    """One program sums the entries of one row for one block of channels, always in the same order."""
    row = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    begin = tl.load(first + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(tl.load(count + row)):
        at = tl.load(order + begin + step) if ORDERED else begin + step
        total += tl.load(values + at * channels + channel, mask=inside, other=0.0)
    tl.store(out + row.to(tl.int64) * channels + channel, total, mask=inside)
