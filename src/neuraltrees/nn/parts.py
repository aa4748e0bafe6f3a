"""Finds and constructs the parts of a network that are passed by name or as classes, with checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from torch import nn

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.nn.encoder import Categories
from neuraltrees.nn.head import CRFHead, GraphHead, Head, LabelsHead, NodeHead, NoHead
from neuraltrees.nn.schedule.start import check_start

T = TypeVar("T")
HeadName: TypeAlias = Literal["node", "graph", "crf", "labels", "none"]
HEADS: dict[str, Callable[..., Head]] = {
    "node": NodeHead,
    "graph": GraphHead,
    "crf": CRFHead,
    "labels": LabelsHead,
    "none": NoHead,
}


def find_head(head: Any, readout: bool) -> Callable[..., Head]:
    if head is None:
        return NodeHead if readout else NoHead
    if isinstance(head, str):
        if head not in HEADS:
            raise InputError(
                f"Expected head out of {', '.join(HEADS)} or a Head class; got {head!r}.{did_you_mean(head, HEADS)}"
            )
        return HEADS[head]
    if isinstance(head, nn.Module) or not callable(head):
        came = f"an instance of {type(head).__name__}" if isinstance(head, nn.Module) else repr(head)
        raise InputError(f"Expected head out of {', '.join(HEADS)} or a Head class; got {came}.")
    found: Callable[..., Head] = head
    return found


def reads_edges(make: Any) -> bool:
    """Whether a head, given as a class or a `partial` of one, reads the features of edges."""
    while isinstance(make, partial):
        make = make.func
    return bool(getattr(make, "reads_edges", False))


def made(make: Any, what: str, kind: type[T], *args: Any) -> T:
    """Constructs a part from a class or a function; `InputError` if that fails or gives something else."""
    if isinstance(make, nn.Module) or not callable(make):
        came = f"an instance of {type(make).__name__}" if isinstance(make, nn.Module) else repr(make)
        raise InputError(f"Expected {what} as a {kind.__name__} class; got {came}.")
    try:
        made = make(*args)
    except TypeError as error:
        name = getattr(make, "__name__", make)
        raise InputError(
            f"Expected {what} as a {kind.__name__} class; {name} could not be constructed: {error}"
        ) from error
    if not isinstance(made, kind):
        raise InputError(f"Expected {what} as a {kind.__name__} class; got one that returns {type(made).__name__}.")
    return made


def given_sizes(name: str, given: Any) -> dict[str, Any]:
    """The numbers of features in an argument, by name."""
    if given is None or isinstance(given, Categories):
        return {}
    if isinstance(given, Mapping):
        return {f"{name}[{kind!r}]": each for kind, each in given.items() if not isinstance(each, Categories)}
    return {name: given}


def check_sizes(sizes: Mapping[str, Any]) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"Expected {name} of at least 1; got {size!r}.")


def check_bag_start(start: Any, network: str, has_bags: bool) -> None:
    """Raises `InputError` for an unknown start of bags, or one for a network without bags."""
    if start is None:
        return
    check_start(start)
    if not has_bags:
        raise InputError(f"Expected bag_start only for networks with bags; got {start!r} for {network}. Leave it out.")
