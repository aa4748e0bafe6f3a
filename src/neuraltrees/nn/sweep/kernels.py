"""The Triton kernels of a sweep: one program walks the trees of one range for one block of channels.

A program goes through the places of its range from the last to the first and back. It computes as many places at once
as do not depend on each other, at most ROWS: if places are sorted by depth, whole levels or large parts of them. It
owns all sums of its trees, so no atomic additions are needed: siblings add to their parent in turns, and results are
deterministic. A barrier after every step makes the stored values visible to all threads of the program.

Ranges after the last tree are shares of the padding, whose places have no parents.

Shapes: values, rows, sums, out and grad :math:`(N, K)`; factors and their gradients :math:`(N, K)` with PER_NODE, else
:math:`(1, K)` and one row per program; parent and order :math:`(N)`, order only read with ORDERED
"""

from __future__ import annotations

from neuraltrees.nn.triton_language import jit, tl


@jit
def range_of(tree_ptr, num_nodes, num_trees, PADDING: tl.constexpr):
    """The places of this program: those of a tree, or one of PADDING shares of the places after the last tree."""
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
def entries(order, place, chosen, channel, channels, ORDERED: tl.constexpr):
    """The indices of the entries of some places in an array of rows."""
    row = tl.load(order + place, mask=chosen, other=0) if ORDERED else place
    return row[:, None] * channels + channel[None, :]


@jit
def factors_of(factors, shared, at, mask, PER_NODE: tl.constexpr):
    return tl.load(factors + at, mask=mask, other=0.0) if PER_NODE else shared


@jit
def first_row(factors, channel, channels, ROWS: tl.constexpr):
    """The first row of the factors, repeated: the factors of all edges, unless PER_NODE."""
    at = tl.full((ROWS, 1), 0, tl.int32) + channel[None, :]
    return tl.load(factors + at, mask=at < channels, other=0.0)


@jit
def next_places(parent, start, end, ROWS: tl.constexpr):
    """From `start` on, the longest run of places whose parents come before it: places, parents, and where it ends."""
    place = start + tl.arange(0, ROWS)
    above = tl.load(parent + place, mask=place < end, other=-1)
    stop = tl.min(tl.where(above >= start, place, tl.minimum(start + ROWS, end)), axis=0)
    return place, above, stop


@jit
def walk_up(
    values,
    factors,
    shared,
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
    ROWS: tl.constexpr,
):
    """The pass up: rows = values plus the sums of the children times their factors."""
    for first in range(begin, end, ROWS):
        place = first + tl.arange(0, ROWS)
        at = entries(order, place, place < end, channel, channels, ORDERED)
        mask = (place < end)[:, None] & inside[None, :]
        tl.store(rows + at, tl.load(values + at, mask=mask, other=0.0), mask=mask)
    tl.debug_barrier()
    stop = end
    while stop > begin:
        place = stop - ROWS + tl.arange(0, ROWS)
        above = tl.load(parent + place, mask=place >= begin, other=-1)
        # All places after the last parent among them are independent.
        start = tl.maximum(tl.max(above, axis=0) + 1, tl.maximum(stop - ROWS, begin))
        chosen = place >= start
        at = entries(order, place, chosen, channel, channels, ORDERED)
        mask = chosen[:, None] & inside[None, :]
        own = tl.load(rows + at, mask=mask, other=0.0)
        sent = factors_of(factors, shared, at, mask, PER_NODE) * own

        has_parent = chosen & (above >= 0)
        turn = tl.full((ROWS,), 0, tl.int32)  # number of siblings among the places before it
        for back in tl.static_range(1, ROWS):
            other = tl.load(parent + place - back, mask=place - back >= start, other=-1)
            turn += tl.where(other == above, 1, 0)
        turns = tl.max(tl.where(has_parent, turn + 1, 0), axis=0)
        upper = entries(order, above, has_parent, channel, channels, ORDERED)
        for now in range(0, turns):
            mask = (has_parent & (turn == now))[:, None] & inside[None, :]
            tl.store(rows + upper, tl.load(rows + upper, mask=mask, other=0.0) + sent, mask=mask)
            tl.debug_barrier()
        stop = start


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
    """Both passes; `sums` and `out` may be the same array."""
    begin, end = range_of(tree_ptr, num_nodes, num_trees, PADDING)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    shared = first_row(factors, channel, channels, ROWS)
    walk_up(
        values, factors, shared, parent, order, sums, begin, end, channel, inside, channels, PER_NODE, ORDERED, ROWS
    )
    start = begin
    while start < end:
        place, above, stop = next_places(parent, start, end, ROWS)
        chosen = place < stop
        at = entries(order, place, chosen, channel, channels, ORDERED)
        mask = chosen[:, None] & inside[None, :]
        own = tl.load(sums + at, mask=mask, other=0.0)
        factor = factors_of(factors, shared, at, mask, PER_NODE)
        has_parent = chosen & (above >= 0)
        upper = entries(order, above, has_parent, channel, channels, ORDERED)
        below = has_parent[:, None] & inside[None, :]
        beyond = tl.load(out + upper, mask=below, other=0.0) - factor * own
        tl.store(out + at, tl.where(below, own + factor * beyond, own), mask=mask)
        tl.debug_barrier()
        start = stop


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
    shared = first_row(factors, channel, channels, ROWS)
    walk_up(
        grad,
        factors,
        shared,
        parent,
        order,
        grad_values,
        begin,
        end,
        channel,
        inside,
        channels,
        PER_NODE,
        ORDERED,
        ROWS,
    )
    total = tl.full((ROWS, BLOCK), 0.0, grad.dtype.element_ty)
    start = begin
    while start < end:
        place, above, stop = next_places(parent, start, end, ROWS)
        chosen = place < stop
        at = entries(order, place, chosen, channel, channels, ORDERED)
        mask = chosen[:, None] & inside[None, :]
        up = tl.load(grad_values + at, mask=mask, other=0.0)
        own = tl.load(sums + at, mask=mask, other=0.0)
        factor = factors_of(factors, shared, at, mask, PER_NODE)
        has_parent = chosen & (above >= 0)
        upper = entries(order, above, has_parent, channel, channels, ORDERED)
        below = has_parent[:, None] & inside[None, :]
        beyond_grad = tl.load(grad_values + upper, mask=below, other=0.0) - factor * up
        beyond = tl.load(out + upper, mask=below, other=0.0) - factor * own
        of_factor = tl.where(below, own * beyond_grad + up * beyond, 0.0)
        tl.store(grad_values + at, tl.where(below, up + factor * beyond_grad, up), mask=mask)
        if PER_NODE:
            tl.store(grad_factors + at, of_factor, mask=mask)
        else:
            total += of_factor
        tl.debug_barrier()
        start = stop
    if not PER_NODE:
        at = tl.program_id(0).to(tl.int64) * channels + channel
        tl.store(grad_factors + at, tl.sum(total, axis=0), mask=inside)
