"""The Triton kernels of batch norm followed by a ReLU, dropout and a residual; see `fused_norm`.

Rows are divided into shares, which are summed separately and then together, always in the same order: results are
deterministic.
"""

from __future__ import annotations

from neuraltrees.nn.triton_language import jit, tl


@jit
def kept(entries, keys, row, channel, mask, size, low, factor):
    """What dropout multiplies the entries of some rows by; see `DropoutMasks.mask`."""
    entry = tl.load(entries + row[:, None] * size + (channel % size)[None, :], mask=mask, other=0)
    key = tl.load(keys + channel // size, mask=channel >= 0, other=0)
    bits = (entry ^ key[None, :]).to(tl.uint32, bitcast=True)
    bits = (bits ^ (bits >> 15)) * 0x21F0AAAD
    bits = (bits ^ (bits >> 15)) * 0xD35A2D97
    uniform = bits.to(tl.int32, bitcast=True).to(tl.float32) * 2.3283064365386963e-10  # 2**-32
    return tl.ceil(uniform + low) * factor


@jit
def moments(
    h,
    weight,
    parts,
    rows,
    channels,
    per_share,
    shares,
    WEIGHTED: tl.constexpr,
    RELU: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    """Count, mean and sum of squared differences from it, of every share of the rows."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    share = tl.program_id(1)
    inside = channel < channels
    count = tl.zeros((CHANNELS,), tl.float32)
    mean = tl.zeros((CHANNELS,), tl.float32)
    spread = tl.zeros((CHANNELS,), tl.float32)
    for start in range(share * per_share, tl.minimum((share + 1) * per_share, rows), ROWS):
        row = (start + tl.arange(0, ROWS)).to(tl.int64)  # rows times channels may exceed 32 bits
        there = row < rows
        mask = there[:, None] & inside[None, :]
        x = tl.load(h + row[:, None] * channels + channel[None, :], mask=mask, other=0.0)
        w = tl.load(weight + row, mask=there, other=0.0) if WEIGHTED else tl.where(there, 1.0, 0.0)
        more = tl.sum(w, 0)
        here = tl.sum(x * w[:, None], 0) / tl.maximum(more, 1.0)
        gap = (x - here[None, :]) * w[:, None]
        total = count + more
        step = here - mean
        spread += tl.sum(gap * gap, 0) + step * step * (count * more / tl.maximum(total, 1.0))
        mean += step * (more / tl.maximum(total, 1.0))
        count = total
    at = share * channels + channel
    tl.store(parts + at, count, mask=inside)
    tl.store(parts + shares * channels + at, mean, mask=inside)
    tl.store(parts + 2 * shares * channels + at, spread, mask=inside)


@jit
def apply(
    h, weight, parts, scale, shift, running_mean, running_var, statistics, residual, entries, keys, out,
    rows, channels, shares, momentum, epsilon, size, low, factor_of_kept,
    WEIGHTED: tl.constexpr, RELU: tl.constexpr, DROPS: tl.constexpr, ADDS: tl.constexpr,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """The statistics of all shares together, then the states."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = channel < channels
    count = tl.zeros((CHANNELS,), tl.float32)
    mean = tl.zeros((CHANNELS,), tl.float32)
    spread = tl.zeros((CHANNELS,), tl.float32)
    for share in range(shares):
        at = share * channels + channel
        more = tl.load(parts + at, mask=inside, other=0.0)
        step = tl.load(parts + shares * channels + at, mask=inside, other=0.0) - mean
        total = count + more
        spread += tl.load(parts + 2 * shares * channels + at, mask=inside, other=0.0)
        spread += step * step * (count * more / tl.maximum(total, 1.0))
        mean += step * (more / tl.maximum(total, 1.0))
        count = total
    variance = spread / tl.maximum(count, 1.0)
    inverse = 1.0 / tl.sqrt(variance + epsilon)
    if tl.program_id(1) == 0:
        tl.store(statistics + channel, mean, mask=inside)
        tl.store(statistics + channels + channel, inverse, mask=inside)
        tl.store(statistics + 2 * channels + channel, count, mask=inside)
        rate = tl.where(count > 0.0, momentum, 0.0)
        old = tl.load(running_mean + channel, mask=inside, other=0.0)
        tl.store(running_mean + channel, old + rate * (mean - old), mask=inside)
        old = tl.load(running_var + channel, mask=inside, other=0.0)
        unbiased = spread / tl.maximum(count - 1.0, 1.0)
        tl.store(running_var + channel, old + rate * (unbiased - old), mask=inside)
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    there = row < rows
    mask = there[:, None] & inside[None, :]
    at = row[:, None] * channels + channel[None, :]
    x = tl.load(h + at, mask=mask, other=0.0)
    factor = tl.load(scale + channel, mask=inside, other=0.0) * inverse
    y = (x - mean[None, :]) * factor[None, :] + tl.load(shift + channel, mask=inside, other=0.0)[None, :]
    y = tl.maximum(y, 0.0) if RELU else y
    if WEIGHTED:
        y = y * tl.load(weight + row, mask=there, other=0.0)[:, None]
    if DROPS:
        y = y * kept(entries, keys, row, tl.where(inside, channel, 0), mask, size, low, factor_of_kept)
    if ADDS:
        y = y + tl.load(residual + at, mask=mask, other=0.0)
    tl.store(out + at, y, mask=mask)


@jit
def received(
    grad, h, weight, scale, shift, statistics, entries, keys, row, channel, rows, channels, size, low, factor_of_kept,
    WEIGHTED: tl.constexpr, RELU: tl.constexpr, DROPS: tl.constexpr,
):  # fmt: skip
    """For some rows: the gradient after the backward pass of dropout and ReLU, the normalised states and the weights."""
    inside = channel < channels
    there = row < rows
    mask = there[:, None] & inside[None, :]
    at = row[:, None] * channels + channel[None, :]
    mean = tl.load(statistics + channel, mask=inside, other=0.0)
    inverse = tl.load(statistics + channels + channel, mask=inside, other=0.0)
    normal = (tl.load(h + at, mask=mask, other=0.0) - mean[None, :]) * inverse[None, :]
    gamma = tl.load(scale + channel, mask=inside, other=0.0)
    beta = tl.load(shift + channel, mask=inside, other=0.0)
    w = tl.load(weight + row, mask=there, other=0.0) if WEIGHTED else tl.where(there, 1.0, 0.0)
    g = tl.load(grad + at, mask=mask, other=0.0)
    if DROPS:
        g = g * kept(entries, keys, row, tl.where(inside, channel, 0), mask, size, low, factor_of_kept)
    if RELU:
        g = tl.where(normal * gamma[None, :] + beta[None, :] > 0.0, g, 0.0)
    return g * w[:, None], normal, w


@jit
def sums(
    grad, h, weight, scale, shift, statistics, entries, keys, parts, rows, channels, per_share, shares,
    size, low, factor_of_kept,
    WEIGHTED: tl.constexpr, RELU: tl.constexpr, DROPS: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """The sums of the gradients of every share of the rows, and of their products with the normalised states."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    share = tl.program_id(1)
    plain = tl.zeros((CHANNELS,), tl.float32)
    along = tl.zeros((CHANNELS,), tl.float32)
    for start in range(share * per_share, tl.minimum((share + 1) * per_share, rows), ROWS):
        row = (start + tl.arange(0, ROWS)).to(tl.int64)  # rows times channels may exceed 32 bits
        g, normal, _ = received(
            grad, h, weight, scale, shift, statistics, entries, keys, row, channel, rows, channels, size, low,
            factor_of_kept, WEIGHTED, RELU, DROPS,
        )  # fmt: skip
        plain += tl.sum(g, 0)
        along += tl.sum(g * normal, 0)
    at = share * channels + channel
    tl.store(parts + at, plain, mask=channel < channels)
    tl.store(parts + shares * channels + at, along, mask=channel < channels)


@jit
def gradients(
    grad, h, weight, scale, shift, statistics, entries, keys, parts, out, of_scale, of_shift, rows, channels, shares,
    size, low, factor_of_kept,
    WEIGHTED: tl.constexpr, RELU: tl.constexpr, DROPS: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """The gradient of the states, and of scale and shift."""
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = channel < channels
    plain = tl.zeros((CHANNELS,), tl.float32)
    along = tl.zeros((CHANNELS,), tl.float32)
    for share in range(shares):
        at = share * channels + channel
        plain += tl.load(parts + at, mask=inside, other=0.0)
        along += tl.load(parts + shares * channels + at, mask=inside, other=0.0)
    if tl.program_id(1) == 0:
        tl.store(of_scale + channel, along, mask=inside)
        tl.store(of_shift + channel, plain, mask=inside)
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    g, normal, w = received(
        grad, h, weight, scale, shift, statistics, entries, keys, row, channel, rows, channels, size, low,
        factor_of_kept, WEIGHTED, RELU, DROPS,
    )  # fmt: skip
    count = tl.maximum(tl.load(statistics + 2 * channels + channel, mask=inside, other=1.0), 1.0)
    inverse = tl.load(statistics + channels + channel, mask=inside, other=0.0)
    factor = tl.load(scale + channel, mask=inside, other=0.0) * inverse
    common = (plain[None, :] + normal * along[None, :]) / count[None, :]
    result = factor[None, :] * (g - w[:, None] * common)
    at = row[:, None] * channels + channel[None, :]
    tl.store(out + at, result, mask=(row < rows)[:, None] & inside[None, :])
