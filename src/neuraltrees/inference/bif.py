"""Bayesian networks in the interchange format (.bif)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, read_whole
from neuraltrees.inference.bayesian import ROUNDING, BayesianNetwork
from neuraltrees.inference.bif_tokens import Tokens, shown

MOST_AXES = 64  # the largest number of dimensions of a tensor


@dataclass
class Draft:
    """What has been read so far."""

    number: dict[str, int] = field(default_factory=dict)
    states: list[dict[str, int]] = field(default_factory=list)
    parents: dict[int, list[int]] = field(default_factory=dict)
    tables: dict[int, Tensor] = field(default_factory=dict)


def read_bif(path: PathLike) -> BayesianNetwork:
    """Reads a Bayesian network from a `.bif` file, plain, `.gz` or `.xz`, in float64.

    A `table` with parents lists the states of the variable slowest and those of its last parent fastest. Commas between
    names and numbers, and the bar before the parents, may be left out, as older programs do.
    """
    try:
        return _network(Tokens(read_whole(path).decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise ParseError(f"{path}: expected text in UTF-8, got an invalid byte at offset {error.start}.") from None
    except InputError as error:
        raise ParseError(f"{path}: {error}") from None


def _network(tokens: Tokens) -> BayesianNetwork:
    draft = Draft()
    blocks: dict[str, Callable[[Tokens, Draft], None]] = {"variable": _variable, "probability": _probability}
    tokens.expect("network")
    while tokens.next("'{'") != "{":
        pass
    while tokens.expect("}", "property") != "}":
        tokens.skip_statement()
    while not tokens.done():
        blocks[tokens.expect(*blocks)](tokens, draft)
    for name, v in draft.number.items():
        if v not in draft.tables:
            raise tokens.error(f"expected a probability block for {shown(name)}, got the end of the file")
    order = range(len(draft.states))
    return BayesianNetwork(
        draft.number, draft.states, (draft.parents[v] for v in order), (draft.tables[v] for v in order)
    )


def _variable(tokens: Tokens, draft: Draft) -> None:
    name = tokens.name("the name of a variable")
    if name in draft.number:
        raise tokens.error(f"expected each variable once, got {shown(name)} twice")
    tokens.expect("{")
    states: dict[str, int] = {}
    while (line := tokens.expect("type", "property", "}")) != "}":
        if line == "property":
            tokens.skip_statement()
            continue
        if states:
            raise tokens.error(f"expected one type for {shown(name)}, got a second")
        for mark in ("discrete", "["):
            tokens.expect(mark)
        count = tokens.name("the number of states")
        tokens.expect("]")
        tokens.expect("{")
        listed = tokens.names("a state", "}")
        states = {state: number for number, state in enumerate(listed)}
        if count != str(len(listed)) or len(states) != len(listed):
            raise tokens.error(f"expected {shown(count)} distinct states for {shown(name)}, got {len(states)}")
        tokens.expect(";")
    if not states:
        raise tokens.error(f"expected a line 'type discrete [ … ] {{ … }};' for {shown(name)}, got none")
    draft.number[name] = len(draft.number)
    draft.states.append(states)


def _probability(tokens: Tokens, draft: Draft) -> None:
    tokens.expect("(")
    family: list[int] = []
    while not family or tokens.peek() != ")":
        if family:
            tokens.skip("|" if len(family) == 1 else ",")
        name = tokens.name("the name of a variable")
        if name not in draft.number or draft.number[name] in family:
            raise tokens.error(f"expected a variable declared above, once, got {shown(name)}")
        family.append(draft.number[name])
    tokens.expect(")")
    if len(family) > MOST_AXES:
        raise tokens.error(f"expected at most {MOST_AXES - 1} parents, got {len(family) - 1}")
    own, *parents = family
    if own in draft.tables:
        raise tokens.error("expected one probability block per variable, got a second")
    tokens.expect("{")
    draft.parents[own] = parents
    draft.tables[own] = _table(tokens, draft, own, parents)


def _table(tokens: Tokens, draft: Draft, own: int, parents: list[int]) -> Tensor:
    """Rows by the states of the parents, a default for the rest, or everything in one line."""
    sizes = [len(draft.states[parent]) for parent in parents]
    states = len(draft.states[own])
    rows: dict[tuple[int, ...], list[float]] = {}
    default: list[float] | None = None
    while (mark := tokens.expect("table", "(", "default", "property", "}")) != "}":
        if mark == "table":
            if rows:
                raise tokens.error("expected one table per block, got a second")
            whole = torch.tensor(tokens.numbers(math.prod(sizes) * states), dtype=torch.float64)
            by_row = whole.reshape(states, -1).T.tolist()
            rows = dict(zip(_combinations(sizes), by_row, strict=True))
        elif mark == "default":
            if default is not None:
                raise tokens.error("expected one default per block, got a second")
            default = tokens.numbers(states)
        elif mark == "property":
            tokens.skip_statement()
        else:
            names = tokens.names("a state", ")")
            if len(names) != len(parents):
                raise tokens.error(f"expected a state for each of {len(parents)} parents, got {len(names)}")
            for name, parent in zip(names, parents, strict=True):
                if name not in draft.states[parent]:
                    raise tokens.error(f"expected a state of the parent, got {shown(name)}")
            key = tuple(draft.states[parent][name] for name, parent in zip(names, parents, strict=True))
            if key in rows:
                raise tokens.error(f"expected each row once, got ({', '.join(map(shown, names))}) twice")
            rows[key] = tokens.numbers(states)
    if default is None and len(rows) != math.prod(sizes):
        raise tokens.error(f"expected {math.prod(sizes)} rows of probabilities, got {len(rows)}")
    if len(rows) < math.prod(sizes) and math.prod(sizes) > 2**24:
        raise tokens.error(f"expected at most {2**24} rows in a table with a default, got {math.prod(sizes)}")
    table = torch.tensor([rows.get(key, default) for key in _combinations(sizes)], dtype=torch.float64)
    if bool(((table.sum(-1) - 1).abs() > ROUNDING).any()):
        raise tokens.error("expected rows of probabilities that sum to 1 in the block that ends here")
    return table.reshape(*sizes, states)


def _combinations(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """All combinations of states of the parents; the last parent changes fastest."""
    return product(*map(range, sizes))
