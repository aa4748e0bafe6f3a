"""Files of the UAI inference competitions: reads models and evidence, formats answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.inference.bayesian import ROUNDING, check_acyclic
from neuraltrees.inference.markov import MarkovNetwork

T = TypeVar("T")


class Words:
    """The words of a text, taken one by one; an error gives the line of the last one."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._words = text.split()
        self._next = 0

    @property
    def left(self) -> int:
        return len(self._words) - self._next

    def word(self, what: str) -> str:
        if not self.left:
            raise self.error(f"expected {what}, got the end of the file")
        self._next += 1
        return _shown(self._words[self._next - 1])

    def integer(self, what: str, low: int, high: int) -> int:
        word = self.word(what)
        if not (word.isdecimal() and word.isascii() and len(word) <= 19):
            raise self.error(f"expected {what}, got '{word}'")
        if not low <= int(word) <= high:
            raise self.error(f"expected {what} between {low} and {high}, got {word}")
        return int(word)

    def announced(self, what: str, words_each: int = 1) -> int:
        """A number of items that follow; an error if the rest of the file is too short for them."""
        number = self.integer(what, 0, 2**62)
        if number * words_each > self.left:
            raise self.error(
                f"expected {what} to be {number} as announced, got the end of the file after {self.left} words"
            )
        return number

    def numbers(self, count: int, what: str) -> Tensor:
        """`count` finite numbers of at least 0."""
        start = self._next
        try:
            values = torch.tensor([float(word) for word in self._words[start : start + count]], dtype=torch.float64)
        except ValueError:
            values = None
        good = values is not None and bool((torch.isfinite(values) & (values >= 0)).all())
        if values is None or not good or any(b"_" in word for word in self._words[start : start + count]):
            for word in self._words[start : start + count]:
                self._next += 1
                if not _is_number(word):
                    raise self.error(f"expected {what} as a finite number of at least 0, got '{_shown(word)}'")
        self._next = start + count
        return torch.zeros(0) if values is None else values

    def finish(self) -> None:
        if self.left:
            raise self.error(f"expected the end of the file, got '{self.word('')}'")

    def error(self, why: str) -> ParseError:
        return ParseError(f"line {self._line()}: {why}.")

    def _line(self) -> int:
        seen = 0
        lines = self._text.split(b"\n")
        for number, line in enumerate(lines, 1):
            seen += len(line.split())
            if seen >= max(1, self._next):
                return number
        return len(lines)


def read_uai(path: PathLike) -> MarkovNetwork:
    """Reads a `.uai` model, plain, `.gz` or `.xz`, in float64.

    Tables are in the order of their scopes, the last variable fastest. A BAYES model becomes the Markov network of its
    families.
    """
    return _of_file(path, _model)


def read_evidence(path: PathLike) -> dict[int, int]:
    """Reads a UAI `.evid` file: `COUNT VARIABLE STATE …`, or the same after the number of samples, which must be 1."""
    return _of_file(path, _evidence)


def _of_file(path: PathLike, read: Callable[[Words], T]) -> T:
    try:
        return read(Words(read_whole(path)))
    except InputError as error:
        raise ParseError(f"{path}: {error}") from None


def _model(words: Words) -> MarkovNetwork:
    kind = words.word("MARKOV or BAYES")
    if kind not in ("MARKOV", "BAYES"):
        raise words.error(f"expected MARKOV or BAYES, got '{kind}'")
    variables = words.announced("the number of variables")
    cardinalities = [words.integer("the number of states of a variable", 1, 2**31 - 1) for _ in range(variables)]
    tables = words.announced("the number of tables", words_each=2)
    scopes: list[tuple[int, ...]] = []
    children: dict[int, int] = {}
    for k in range(tables):
        scope: list[int] = []
        for _ in range(words.announced("the number of variables of a table")):
            scope.append(words.integer("a variable", 0, variables - 1))
            if scope[-1] in scope[:-1]:
                raise words.error(f"expected distinct variables in a table, got {scope[-1]} twice")
        scopes.append(tuple(scope))
        if kind == "BAYES":
            if not scope or scope[-1] in children:
                raise words.error("expected one table per variable, with that variable last in its scope, got another")
            children[scope[-1]] = k
    if kind == "BAYES" and len(children) != variables:
        raise words.error(f"expected a table for each of the {variables} variables of a BAYES model, got {tables}")
    potentials = [_table(words, [cardinalities[v] for v in scope], kind == "BAYES") for scope in scopes]
    words.finish()
    if kind == "BAYES":
        check_acyclic([scopes[children[v]][:-1] for v in range(variables)], [f"variable {v}" for v in range(variables)])
    return MarkovNetwork(cardinalities, scopes, potentials)


def _table(words: Words, shape: list[int], conditional: bool) -> Tensor:
    size = math.prod(shape)
    entries = words.integer("the number of entries of a table", 0, 2**62)
    if entries != size:
        raise words.error(f"expected a table of {size} entries for its scope, got {entries}")
    if entries > words.left:
        raise words.error(f"expected a table of {entries} entries, got the end of the file after {words.left} words")
    table = words.numbers(entries, "an entry of a table").reshape(shape)
    if conditional and bool(((table.sum(-1) - 1).abs() > ROUNDING).any()):
        raise words.error("expected rows of probabilities that sum to 1 in the table that ends here")
    return table.log()


def _evidence(words: Words) -> dict[int, int]:
    total = words.left
    count = words.integer("the number of observed variables", 0, 2**62)
    if total != 1 + 2 * count:
        if count != 1:
            raise words.error(f"expected {2 * count} words, a variable and a state {count} times, got {total - 1}")
        count = words.integer("the number of observed variables", 0, 2**62)
        if total != 2 + 2 * count:
            raise words.error(f"expected {2 * count} words, a variable and a state {count} times, got {total - 2}")
    evidence: dict[int, int] = {}
    for _ in range(count):
        variable = words.integer("a variable", 0, 2**31 - 1)
        if variable in evidence:
            raise words.error(f"expected each variable once, got {variable} twice")
        evidence[variable] = words.integer("a state", 0, 2**31 - 1)
    return evidence


def format_marginals(marginals: Sequence[Tensor]) -> str:
    """The MAR format: the number of variables, then for each its number of states and their probabilities."""
    shown = [f"{len(each)} {' '.join(f'{p:.9g}' for p in each.tolist())}" for each in marginals]
    return "\n".join(["MAR", " ".join([str(len(shown)), *shown]), ""])


def format_log_partition(log_partition: Tensor) -> str:
    """The PR format: the logarithm of the partition function to base 10."""
    return f"PR\n{log_partition.item() / math.log(10):.10g}\n"


def format_assignment(assignment: Tensor) -> str:
    """The MAP format: the number of variables and a state for each."""
    return f"MAP\n{' '.join(map(str, [len(assignment), *assignment.tolist()]))}\n"


def _shown(word: bytes) -> str:
    text = "".join(chr(c) if 32 <= c < 127 else "?" for c in word[:40])
    return text if len(word) <= 40 else text[:20] + "..."


def _is_number(word: bytes) -> bool:
    try:
        return b"_" not in word and 0 <= float(word) < math.inf
    except ValueError:
        return False
