"""Means, spreads and paired tests, as the tables show them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from scipy.stats import ttest_rel


def percent(values: Sequence[float]) -> float:
    """The mean, in per cent."""
    return 100 * statistics.fmean(values)


def mean_std(values: Sequence[float]) -> str:
    """In per cent.

    >>> mean_std([0.5, 0.6])
    '55.0 ± 7.1'
    """
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{percent(values):.1f}{spread}"


def paired(first: Sequence[float], second: Sequence[float]) -> str:
    """The mean difference in points, and the p-value of a paired t-test over the runs.

    >>> paired([0.5, 0.6, 0.7], [0.4, 0.5, 0.61])
    '+9.7 (p = 0.0012)'
    """
    difference = f"{percent(first) - percent(second):+.1f}"
    if len(first) < 2 or len({a - b for a, b in zip(first, second, strict=True)}) == 1:
        return difference
    chance = float(ttest_rel(first, second).pvalue)
    return f"{difference} (p {'< 1e-4' if chance < 1e-4 else f'= {chance:.2g}'})"
