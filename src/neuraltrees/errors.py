"""The errors that the library raises; a message says what was expected, what was given, and what to do."""

from __future__ import annotations


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


class TreeTooLargeError(NeuralTreesError, MemoryError):
    """The H-tree would have more nodes than `max_nodes`; raised before its arrays are allocated."""

    def __init__(
        self,
        limit: int,
        width: int,
        advice: str = "Bound its treewidth first: sample_bounded_treewidth(graph, k=4); or raise max_nodes.",
    ) -> None:
        self.limit = limit
        self.width = width
        self.advice = advice
        super().__init__(
            f"Expected an H-tree of at most {limit:,} nodes; this graph, decomposed to treewidth {width}, needs more. "
            f"{advice}"
        )

    def advising(self, advice: str) -> TreeTooLargeError:
        """The same error with the advice of the place where the user is."""
        return type(self)(self.limit, self.width, advice)

    def __reduce__(self) -> tuple[type[TreeTooLargeError], tuple[int, int, str]]:
        return type(self), (self.limit, self.width, self.advice)


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
    """The evidence has probability zero, so that the posterior is undefined."""


class DivergedError(NeuralTreesError, ArithmeticError):
    """No run of a training had an epoch with a finite validation metric."""


class DivergenceWarning(UserWarning):
    """A run of a training diverged: its loss was no longer finite, or its metric never was."""


class NativeCoreError(NeuralTreesError, ImportError):
    """The compiled core is missing: it was not built."""


class MissingExtraError(NeuralTreesError, ImportError):
    """A required optional dependency is not installed; the message says how to install it."""
