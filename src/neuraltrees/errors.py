"""The errors that the library raises; a message says what was expected, what was given, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

BYTES_PER_TREE_NODE = 104  # in the arrays of an H-tree


def did_you_mean(given: object, names: Iterable[str]) -> str:
    """The end of an error about a mistyped name: a suggestion, if a known name is close.

    >>> did_you_mean("min_fil", ["min_fill", "exact"])
    ' Did you mean min_fill?'
    >>> did_you_mean("x", ["min_fill", "exact"])
    ''
    """
    if not isinstance(given, str):
        return ""
    by_lower = {name.lower(): name for name in names}
    close = get_close_matches(given.lower(), by_lower, 1)
    return f" Did you mean {by_lower[close[0]]}?" if close else ""


class NeuralTreesError(Exception):
    """Base class of all errors of this library."""


class InputError(NeuralTreesError, ValueError):
    """An argument or a file is invalid; the message says why."""


class ParseError(InputError):
    """A text file does not follow its format; the message gives the line."""


class InvalidDecompositionError(InputError):
    """Not a tree decomposition of the given graph; the message names the property that is violated."""


class InvalidHTreeError(InputError):
    """Not an H-tree of the given graph; the message names the invariant that is violated."""


class NeuralTreesWarning(UserWarning):
    """The result is valid, but computed by another method than requested, or very large; the message says why."""


class TreeTooLargeError(NeuralTreesError, MemoryError):
    """The H-tree would have more nodes than `max_nodes`; raised before its arrays are allocated.

    Args:
        limit: `max_nodes`.
        width: the width of the decomposition.
        nodes: the number of nodes that the tree would have, or a lower bound; at most the limit if its bags are too
            dense to decompose them.
        exact: whether `nodes` is exact. It is if the tree is large because the graph is, not because of its width.
        advice: what to do about the width, in the terms of the caller, such as a command-line option.
    """

    def __init__(
        self, limit: int, width: int, nodes: int | None = None, exact: bool = False, advice: str | None = None
    ) -> None:
        self.limit = limit
        self.width = width
        self.nodes = limit + 1 if nodes is None else nodes
        self.exact = exact
        self.advice = advice
        if exact:
            needs = f"needs {self.nodes:,} nodes ({self.nodes * BYTES_PER_TREE_NODE / 2**30:.1f} GiB)"
            remedy = f"Pass max_nodes={self.nodes} if that fits in memory, or split the graph."
        elif self.nodes > limit:
            needs = f"needs more than {self.nodes - 1:,}"
            remedy = advice or "Bound its treewidth first: sample_bounded_treewidth(graph, k=4); or raise max_nodes."
        else:
            needs = "has bags that are too dense to decompose in a reasonable time"
            remedy = advice or "Bound its treewidth first: sample_bounded_treewidth(graph, k=4)."
        super().__init__(
            f"Expected an H-tree of at most {limit:,} nodes; this graph, decomposed to treewidth {width}, {needs}. "
            f"{remedy}"
        )

    def advising(self, advice: str) -> TreeTooLargeError:
        """The same error with the advice of the caller."""
        return type(self)(self.limit, self.width, self.nodes, self.exact, advice)

    def __reduce__(self) -> tuple[type[TreeTooLargeError], tuple[int, int, int, bool, str | None]]:
        return type(self), (self.limit, self.width, self.nodes, self.exact, self.advice)


class ApproximationError(NeuralTreesError, ValueError):
    """No network within the allowed size reaches the requested accuracy."""


class ModelTooLargeError(NeuralTreesError, MemoryError):
    """The tables of exact inference would take more bytes than `memory_limit`; raised before they are allocated."""

    def __init__(self, needed: float, limit: int, width: int, remedy: str | None = None) -> None:
        self.needed = needed
        self.limit = limit
        self.width = width
        self.remedy = remedy or "Observe more variables, use a smaller batch or float32, or raise memory_limit."
        size = f"{needed:,.0f}" if needed < 1e30 else "more than 10^30"
        super().__init__(
            f"Expected clique tables of at most {limit:,} bytes; this model, decomposed to width {width}, needs "
            f"{size} bytes. {self.remedy}"
        )

    def __reduce__(self) -> tuple[type[ModelTooLargeError], tuple[float, int, int, str]]:
        return type(self), (self.needed, self.limit, self.width, self.remedy)


class ZeroProbabilityError(InputError):
    """The evidence has probability zero, so the posterior is undefined."""


class DivergedError(NeuralTreesError, ArithmeticError):
    """No run of a training had an epoch with a finite validation metric."""


class DivergenceWarning(UserWarning):
    """A run of a training diverged: its loss was no longer finite, or its metric never was."""


class LostProcessError(NeuralTreesError, RuntimeError):
    """Another process of a distributed computation has ended, or cannot be reached."""


class NativeCoreError(NeuralTreesError, ImportError):
    """The compiled core is missing: it was not built."""


class MissingExtraError(NeuralTreesError, ImportError):
    """A required optional dependency is not installed; the message says how to install it."""
