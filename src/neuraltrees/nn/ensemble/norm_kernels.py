"""The Triton kernels of batch norm followed by a ReLU, dropout and a residual; see `fused_norm`.

A program computes a block of the channels of one run. Rows are divided into shares, which are summed separately and
then together, always in the same order: results are deterministic.

Shapes: h, out, grad and residual :math:`(N, C)` with the channels of all runs side by side, size of them per run;
weight :math:`(N)`; entries :math:`(N, size)`; keys :math:`(R)`; parts :math:`(3, shares, C)`, or 2 in the backward pass
"""

from __future__ import annotations

from neuraltrees.nn.triton_language import jit, tl


@jit
def own_channels(channels, size, CHANNELS: tl.constexpr):
    """The run of this program, its channels within the run and among all, and whether they exist."""
    blocks = (size + CHANNELS - 1) // CHANNELS
    run = tl.program_id(0) // blocks
    within = (tl.program_id(0) % blocks) * CHANNELS + tl.arange(0, CHANNELS)
    return run, within, run * size + within, within < size


@jit
def kept(entries, keys, run, row, within, mask, size, low, factor):
    """What dropout multiplies the entries of some rows by; see `DropoutMasks.mask`."""
    entry = tl.load(entries + row[:, None] * size + within[None, :], mask=mask, other=0)
    bits = (entry ^ tl.load(keys + run)).to(tl.uint32, bitcast=True)
    bits = (bits ^ (bits >> 15)) * 0x21F0AAAD
    bits = (bits ^ (bits >> 15)) * 0xD35A2D97
    uniform = bits.to(tl.int32, bitcast=True).to(tl.float32) * 2.3283064365386963e-10  # 2**-32
    return tl.ceil(uniform + low) * factor


@jit
def of_shares(parts, which, channel, inside, channels, shares, SHARES: tl.constexpr):
    """One of the numbers of all shares of the rows. Shapes: → :math:`(SHARES, CHANNELS)`"""
    share = tl.arange(0, SHARES)
    at = (which * shares + share)[:, None] * channels + channel[None, :]
    return tl.load(parts + at, mask=(share < shares)[:, None] & inside[None, :], other=0.0)


@jit
def moments(
    h, weight, parts, rows, channels, size, per_share, shares,
    WEIGHTED: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Count, mean and sum of squared differences from it, of every share of the rows."""
    _, _, channel, inside = own_channels(channels, size, CHANNELS)
    share = tl.program_id(1)
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
    rows, channels, size, shares, momentum, epsilon, low, factor_of_kept,
    WEIGHTED: tl.constexpr, RELU: tl.constexpr, DROPS: tl.constexpr, ADDS: tl.constexpr,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr, SHARES: tl.constexpr,
):  # fmt: skip
    """The statistics of all shares together, then the states."""
    run, within, channel, inside = own_channels(channels, size, CHANNELS)
    more = of_shares(parts, 0, channel, inside, channels, shares, SHARES)
    means = of_shares(parts, 1, channel, inside, channels, shares, SHARES)
    count = tl.sum(more, 0)
    mean = tl.sum(more * means, 0) / tl.maximum(count, 1.0)
    gap = means - mean[None, :]
    spread = tl.sum(of_shares(parts, 2, channel, inside, channels, shares, SHARES) + more * gap * gap, 0)
    inverse = 1.0 / tl.sqrt(spread / tl.maximum(count, 1.0) + epsilon)
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
        y = y * kept(entries, keys, run, row, within, mask, size, low, factor_of_kept)
    if ADDS:
        y = y + tl.load(residual + at, mask=mask, other=0.0)
    tl.store(out + at, y, mask=mask)


@jit
def normalised(h, statistics, at, channel, inside, mask, channels):
    """The states of some rows before scale and shift."""
    mean = tl.load(statistics + channel, mask=inside, other=0.0)
    inverse = tl.load(statistics + channels + channel, mask=inside, other=0.0)
    return (tl.load(h + at, mask=mask, other=0.0) - mean[None, :]) * inverse[None, :]


@jit
def before_relu(g, normal, scale, shift, w, channel, inside, RELU: tl.constexpr):
    """The gradient after the backward pass of the ReLU; zero for padding."""
    if RELU:
        gamma = tl.load(scale + channel, mask=inside, other=0.0)
        beta = tl.load(shift + channel, mask=inside, other=0.0)
        g = tl.where(normal * gamma[None, :] + beta[None, :] > 0.0, g, 0.0)
    return g * w[:, None]


@jit
def sums(
    grad, h, weight, scale, shift, statistics, entries, keys, passed, parts,
    rows, channels, size, per_share, shares, low, factor_of_kept,
    WEIGHTED: tl.constexpr, RELU: tl.constexpr, DROPS: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """The sums of the gradients of every share of the rows, and of their products with the normalised states.

    With DROPS, gradients after the backward pass of dropout and ReLU are stored in `passed`.
    """
    run, within, channel, inside = own_channels(channels, size, CHANNELS)
    share = tl.program_id(1)
    plain = tl.zeros((CHANNELS,), tl.float32)
    along = tl.zeros((CHANNELS,), tl.float32)
    for start in range(share * per_share, tl.minimum((share + 1) * per_share, rows), ROWS):
        row = (start + tl.arange(0, ROWS)).to(tl.int64)  # rows times channels may exceed 32 bits
        there = row < rows
        mask = there[:, None] & inside[None, :]
        at = row[:, None] * channels + channel[None, :]
        normal = normalised(h, statistics, at, channel, inside, mask, channels)
        w = tl.load(weight + row, mask=there, other=0.0) if WEIGHTED else tl.where(there, 1.0, 0.0)
        g = tl.load(grad + at, mask=mask, other=0.0)
        if DROPS:
            g = g * kept(entries, keys, run, row, within, mask, size, low, factor_of_kept)
        g = before_relu(g, normal, scale, shift, w, channel, inside, RELU)
        if DROPS:
            tl.store(passed + at, g, mask=mask)
        plain += tl.sum(g, 0)
        along += tl.sum(g * normal, 0)
    at = share * channels + channel
    tl.store(parts + at, plain, mask=inside)
    tl.store(parts + shares * channels + at, along, mask=inside)


@jit
def gradients(
    grad, h, weight, scale, shift, statistics, parts, out, of_scale, of_shift, rows, channels, size, shares,
    WEIGHTED: tl.constexpr, RELU: tl.constexpr, DROPS: tl.constexpr,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr, SHARES: tl.constexpr,
):  # fmt: skip
    """The gradient of the states, and of scale and shift. With DROPS, `out` holds what `sums` stored."""
    _, _, channel, inside = own_channels(channels, size, CHANNELS)
    plain = tl.sum(of_shares(parts, 0, channel, inside, channels, shares, SHARES), 0)
    along = tl.sum(of_shares(parts, 1, channel, inside, channels, shares, SHARES), 0)
    if tl.program_id(1) == 0:
        tl.store(of_scale + channel, along, mask=inside)
        tl.store(of_shift + channel, plain, mask=inside)
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    there = row < rows
    mask = there[:, None] & inside[None, :]
    at = row[:, None] * channels + channel[None, :]
    normal = normalised(h, statistics, at, channel, inside, mask, channels)
    w = tl.load(weight + row, mask=there, other=0.0) if WEIGHTED else tl.where(there, 1.0, 0.0)
    if DROPS:
        g = tl.load(out + at, mask=mask, other=0.0)
    else:
        g = before_relu(tl.load(grad + at, mask=mask, other=0.0), normal, scale, shift, w, channel, inside, RELU)
    count = tl.maximum(tl.load(statistics + 2 * channels + channel, mask=inside, other=1.0), 1.0)
    inverse = tl.load(statistics + channels + channel, mask=inside, other=0.0)
    factor = tl.load(scale + channel, mask=inside, other=0.0) * inverse
    common = (plain[None, :] + normal * along[None, :]) / count[None, :]
    tl.store(out + at, factor[None, :] * (g - w[:, None] * common), mask=mask)
