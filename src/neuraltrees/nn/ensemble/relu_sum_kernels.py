"""The Triton kernels of `relu_sum`.

Rows without entries, such as padding, get zero. Edges to such rows are padding as well and do not count.

Shapes: x and of_x :math:`(N, C)`, table :math:`(K, C)`, out and grad :math:`(N', C)`, source, target and kind
:math:`(M)`, parts :math:`(chunks, COUNT, C)`
"""

from __future__ import annotations

from neuraltrees.nn.triton_language import jit, tl


@jit
def forward(
    x, table, kind, source, order, first, count, out, channels,
    TABLE: tl.constexpr, KINDS: tl.constexpr, ORDERED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program sums the edges to one row for one block of channels."""
    row = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    begin = tl.load(first + row)
    total = tl.zeros((BLOCK,), tl.float32)
    shift = tl.zeros((BLOCK,), tl.float32)
    if TABLE and not KINDS:
        shift = tl.load(table + channel, mask=inside, other=0.0)
    for step in range(tl.load(count + row)):
        edge = tl.load(order + begin + step) if ORDERED else begin + step
        value = tl.load(x + tl.load(source + edge) * channels + channel, mask=inside, other=0.0)
        if KINDS:
            shift = tl.load(table + tl.load(kind + edge) * channels + channel, mask=inside, other=0.0)
        total += tl.maximum(value + shift, 0.0)
    tl.store(out + row.to(tl.int64) * channels + channel, total, mask=inside)


@jit
def backward(
    grad, x, table, kind, target, order, first, count, of_x, channels,
    TABLE: tl.constexpr, KINDS: tl.constexpr, ORDERED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program sums the gradients over the edges from one row."""
    row = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    begin = tl.load(first + row)
    at = row.to(tl.int64) * channels + channel
    value = tl.load(x + at, mask=inside, other=0.0)
    total = tl.zeros((BLOCK,), tl.float32)
    shift = tl.zeros((BLOCK,), tl.float32)
    if TABLE and not KINDS:
        shift = tl.load(table + channel, mask=inside, other=0.0)
    for step in range(tl.load(count + row)):
        edge = tl.load(order + begin + step) if ORDERED else begin + step
        come = tl.load(grad + tl.load(target + edge) * channels + channel, mask=inside, other=0.0)
        if KINDS:
            shift = tl.load(table + tl.load(kind + edge) * channels + channel, mask=inside, other=0.0)
        total += tl.where(value + shift > 0.0, come, 0.0)
    tl.store(of_x + at, total, mask=inside)


@jit
def of_table(
    grad, x, table, kind, source, target, count, parts, edges, channels,
    COUNT: tl.constexpr, CHUNK: tl.constexpr, ENTRIES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program sums the gradients of one chunk of the edges by their kinds: a product with zeros and ones."""
    chunk = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    total = tl.zeros((COUNT, BLOCK), tl.float32)
    for start in range(0, CHUNK, ENTRIES):
        edge = chunk * CHUNK + start + tl.arange(0, ENTRIES)
        to = tl.load(target + edge, mask=edge < edges, other=0)
        there = (edge < edges) & (tl.load(count + to, mask=edge < edges, other=0) > 0)
        row = tl.load(kind + edge, mask=there, other=0)
        mask = there[:, None] & inside[None, :]
        fro = tl.load(source + edge, mask=there, other=0)
        value = tl.load(x + fro[:, None] * channels + channel[None, :], mask=mask, other=0.0)
        value += tl.load(table + row[:, None] * channels + channel[None, :], mask=mask, other=0.0)
        come = tl.load(grad + to[:, None] * channels + channel[None, :], mask=mask, other=0.0)
        come = tl.where(value > 0.0, come, 0.0)
        chosen = tl.where((tl.arange(0, COUNT)[:, None] == row[None, :]) & there[None, :], 1.0, 0.0)
        total += tl.dot(chosen, come, input_precision="tf32x3")  # as exact as float32: zeros and ones
    at = (chunk * COUNT + tl.arange(0, COUNT)).to(tl.int64)[:, None] * channels + channel[None, :]
    tl.store(parts + at, total, mask=inside[None, :])
