"""Means, standard deviations and paired t-tests, formatted for tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import ttest_rel


def percent(values: Sequence[float]) -> float:
    """The mean, in per cent."""
    return 100 * statistics.fmean(values)


def mean_std(values: Sequence[float]) -> str:
    """Mean ± standard deviation, in per cent.

    >>> mean_std([0.5, 0.6])
    '55.0 ± 7.1'
    """
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{percent(values):.1f}{spread}"


def p_value(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The p-value of a paired t-test; None if there is nothing to test."""
    each = [a - b for a, b in zip(first, second, strict=True)]
    same = max(each) - min(each) < 1e-12
    return None if len(first) < 2 or same else float(ttest_rel(first, second).pvalue)


@dataclass(frozen=True)
class Difference:
    """A mean difference in points, and the p-value of a paired t-test over the runs; None if there is no test.

    >>> difference = Difference.of([0.5, 0.6, 0.7], [0.4, 0.5, 0.61])
    >>> str(difference), difference.sign()
    ('+9.7 (p = 0.0012)', 1)
    """

    points: float
    p_value: float | None

    @classmethod
    def of(cls, first: Sequence[float], second: Sequence[float]) -> Difference:
        return cls(percent(first) - percent(second), p_value(first, second))

    def sign(self, level: float = 0.05) -> int:
        """1 or -1 for a difference that is significant at this level, else 0."""
        if self.p_value is None or self.p_value >= level:
            return 0
        return 1 if self.points > 0 else -1

    def __str__(self) -> str:
        if self.p_value is None:
            return f"{self.points:+.1f}"
        return f"{self.points:+.1f} (p {'< 1e-4' if self.p_value < 1e-4 else f'= {self.p_value:.2g}'})"


def paired(first: Sequence[float], second: Sequence[float]) -> str:
    """The mean difference with its p-value, formatted for tables."""
    return str(Difference.of(first, second))
