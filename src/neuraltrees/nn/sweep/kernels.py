"""The Triton kernels of a sweep: one program walks the trees of one range for one block of channels.

A program goes through the places of its range from the last to the first and back. It owns all sums of its trees, so
nothing is added atomically and results are the same every time. What a place sends to the place right before it stays
in registers, as does what it gets from there: along a path memory is only streamed, and the rows of the next place are
loaded before those of the present one are used. A barrier after every place lets all threads of the program see what
the others have stored.

Ranges after the last tree are shares of the padding, whose places have no parents.

Shapes: values, rows, sums, out and grad :math:`(N, K)`; factors and their gradients :math:`(N, K)` with PER_NODE, else
:math:`(1, K)` and one row per program; parent and order :math:`(N)`, order only read with ORDERED
"""

from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl

    jit: Any = triton.jit
except ImportError:  # `fused.available` says so; this module is read without Triton by tools alone

    def jit(kernel: Any = None, **options: Any) -> Any:
        return kernel if kernel is not None else jit


@jit
def range_of(tree_ptr, num_nodes, num_trees, PADDING: tl.constexpr):
    """The places of this program: those of a tree, or one of PADDING shares of what comes after the last one."""
    program = tl.program_id(0)
    is_tree = program < num_trees
    last = tl.load(tree_ptr + num_trees)
    share = (num_nodes - last + PADDING - 1) // PADDING
    begin = tl.load(tree_ptr + program, mask=is_tree, other=0)
    end = tl.load(tree_ptr + program + 1, mask=is_tree, other=0)
    begin = tl.where(is_tree, begin, last + (program - num_trees) * share)
    end = tl.where(is_tree, end, tl.minimum(begin + share, num_nodes))
    return begin, end


@jit
def all_if(exists, channel, channels):
    """Which channels of the block to load or store: all that there are, or none."""
    return channel < tl.where(exists, channels, 0)


@jit
def row_of(order, place, exists, ORDERED: tl.constexpr):
    return tl.load(order + place, mask=exists, other=0) if ORDERED else place


@jit
def factor_of(factors, shared, row, channel, mask, channels, PER_NODE: tl.constexpr):
    return tl.load(factors + row * channels + channel, mask=mask, other=0.0) if PER_NODE else shared


@jit
def walk_up(
    values,
    factors,
    parent,
    order,
    rows,
    begin,
    end,
    channel,
    inside,
    channels,
    PER_NODE: tl.constexpr,
    ORDERED: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """rows = values plus what comes from the children."""
    for first in range(begin, end, ROWS):
        place = first + tl.arange(0, ROWS)
        at = row_of(order, place, place < end, ORDERED)[:, None] * channels + channel[None, :]
        mask = (place < end)[:, None] & inside[None, :]
        tl.store(rows + at, tl.load(values + at, mask=mask, other=0.0), mask=mask)
    tl.debug_barrier()
    shared = tl.load(factors + channel, mask=inside, other=0.0)
    carry = tl.full((BLOCK,), 0.0, values.dtype.element_ty)
    some = all_if(begin < end, channel, channels)
    row = row_of(order, end - 1, begin < end, ORDERED)
    own = tl.load(rows + row * channels + channel, mask=some, other=0.0)
    above = tl.load(parent + end - 1, mask=begin < end, other=-1)
    factor = factor_of(factors, shared, row, channel, some, channels, PER_NODE)
    for step in range(0, end - begin):
        before = end - 2 - step
        exists = before >= begin
        more = all_if(exists, channel, channels)
        next_row = row_of(order, before, exists, ORDERED)
        next_own = tl.load(rows + next_row * channels + channel, mask=more, other=0.0)
        next_above = tl.load(parent + before, mask=exists, other=-1)
        next_factor = factor_of(factors, shared, next_row, channel, more, channels, PER_NODE)

        own = own + carry
        tl.store(rows + row * channels + channel, own, mask=inside)
        sent = factor * own
        far = (above >= 0) & (above != before)
        jumped = all_if(far, channel, channels)
        upper = rows + row_of(order, above, far, ORDERED) * channels + channel
        tl.store(upper, tl.load(upper, mask=jumped, other=0.0) + sent, mask=jumped)
        carry = tl.where((above >= 0) & (above == before), sent, 0.0)
        tl.debug_barrier()
        row = next_row
        own = next_own
        above = next_above
        factor = next_factor


@jit(do_not_specialize=["num_nodes", "num_trees"])
def passes(
    values,
    factors,
    parent,
    order,
    tree_ptr,
    sums,
    out,
    num_nodes,
    num_trees,
    channels,
    PER_NODE: tl.constexpr,
    ORDERED: tl.constexpr,
    PADDING: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Both passes; `sums` may be `out`."""
    begin, end = range_of(tree_ptr, num_nodes, num_trees, PADDING)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    walk_up(values, factors, parent, order, sums, begin, end, channel, inside, channels, PER_NODE, ORDERED, BLOCK, ROWS)
    shared = tl.load(factors + channel, mask=inside, other=0.0)
    carry = tl.full((BLOCK,), 0.0, values.dtype.element_ty)
    some = all_if(begin < end, channel, channels)
    row = row_of(order, begin, begin < end, ORDERED)
    own = tl.load(sums + row * channels + channel, mask=some, other=0.0)
    above = tl.load(parent + begin, mask=begin < end, other=-1)
    factor = factor_of(factors, shared, row, channel, some, channels, PER_NODE)
    for step in range(0, end - begin):
        place = begin + step
        exists = place + 1 < end
        more = all_if(exists, channel, channels)
        next_row = row_of(order, place + 1, exists, ORDERED)
        next_own = tl.load(sums + next_row * channels + channel, mask=more, other=0.0)
        next_above = tl.load(parent + place + 1, mask=exists, other=-1)
        next_factor = factor_of(factors, shared, next_row, channel, more, channels, PER_NODE)

        far = (above >= 0) & (above != place - 1)
        jumped = all_if(far, channel, channels)
        upper_row = row_of(order, above, far, ORDERED)
        upper = tl.load(out + upper_row * channels + channel, mask=jumped, other=0.0)
        upper = tl.where(far, upper, carry)
        carry = tl.where(above >= 0, own + factor * (upper - factor * own), own)
        tl.store(out + row * channels + channel, carry, mask=inside)
        tl.debug_barrier()
        row = next_row
        own = next_own
        above = next_above
        factor = next_factor


@jit(do_not_specialize=["num_nodes", "num_trees"])
def gradients(
    grad,
    factors,
    parent,
    order,
    tree_ptr,
    sums,
    out,
    grad_values,
    grad_factors,
    num_nodes,
    num_trees,
    channels,
    PER_NODE: tl.constexpr,
    ORDERED: tl.constexpr,
    PADDING: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Both passes over the gradient, in `grad_values`, and the gradients of the factors."""
    begin, end = range_of(tree_ptr, num_nodes, num_trees, PADDING)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    walk_up(
        grad, factors, parent, order, grad_values, begin, end, channel, inside, channels, PER_NODE, ORDERED, BLOCK, ROWS
    )
    shared = tl.load(factors + channel, mask=inside, other=0.0)
    total = tl.full((BLOCK,), 0.0, grad.dtype.element_ty)
    carry_down = total
    carry_out = total
    some = all_if(begin < end, channel, channels)
    row = row_of(order, begin, begin < end, ORDERED)
    at = row * channels + channel
    up = tl.load(grad_values + at, mask=some, other=0.0)
    own = tl.load(sums + at, mask=some, other=0.0)
    own_out = tl.load(out + at, mask=some, other=0.0)
    above = tl.load(parent + begin, mask=begin < end, other=-1)
    factor = factor_of(factors, shared, row, channel, some, channels, PER_NODE)
    for step in range(0, end - begin):
        place = begin + step
        exists = place + 1 < end
        more = all_if(exists, channel, channels)
        next_row = row_of(order, place + 1, exists, ORDERED)
        next_at = next_row * channels + channel
        next_up = tl.load(grad_values + next_at, mask=more, other=0.0)
        next_own = tl.load(sums + next_at, mask=more, other=0.0)
        next_out = tl.load(out + next_at, mask=more, other=0.0)
        next_above = tl.load(parent + place + 1, mask=exists, other=-1)
        next_factor = factor_of(factors, shared, next_row, channel, more, channels, PER_NODE)

        far = (above >= 0) & (above != place - 1)
        jumped = all_if(far, channel, channels)
        upper = row_of(order, above, far, ORDERED) * channels + channel
        upper_down = tl.load(grad_values + upper, mask=jumped, other=0.0)
        upper_out = tl.load(out + upper, mask=jumped, other=0.0)
        beyond_down = tl.where(far, upper_down, carry_down) - factor * up
        beyond_out = tl.where(far, upper_out, carry_out) - factor * own
        of_factor = tl.where(above >= 0, own * beyond_down + up * beyond_out, 0.0)
        carry_down = tl.where(above >= 0, up + factor * beyond_down, up)
        carry_out = own_out
        tl.store(grad_values + row * channels + channel, carry_down, mask=inside)
        if PER_NODE:
            tl.store(grad_factors + row * channels + channel, of_factor, mask=inside)
        else:
            total += of_factor
        tl.debug_barrier()
        row = next_row
        up = next_up
        own = next_own
        own_out = next_out
        above = next_above
        factor = next_factor
    if not PER_NODE:
        tl.store(grad_factors + tl.program_id(0).to(tl.int64) * channels + channel, total, mask=inside)
