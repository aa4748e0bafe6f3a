"""Checks of arguments that several packages share; each error says what was expected and what was given."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from neuraltrees.errors import InputError


def check_data(data: Any) -> None:
    """Raises `InputError` for anything but a PyG `Data`; the message says how to convert it."""
    from torch_geometric.data import Data

    if isinstance(data, Data):
        return
    kinds = {kind.__name__ for kind in type(data).__mro__}
    remedy = ""
    if "HeteroData" in kinds:
        remedy = " Use data.to_homogeneous(), which joins all node types into one graph with a node_type."
    elif "networkx" in type(data).__module__:
        remedy = " Use torch_geometric.utils.from_networkx."
    raise InputError(f"Expected a graph as torch_geometric.data.Data; got {type(data).__name__}.{remedy}")


def check_time_limit(time_limit: float | None) -> None:
    if time_limit is not None and (not isinstance(time_limit, int | float | np.number) or not time_limit > 0):
        raise InputError(f"Expected a time_limit of more than 0 seconds; got {time_limit!r}.")


def check_restarts(restarts: int) -> int:
    return check_at_least("restarts", restarts, 1, 2**31 - 1)


def check_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"Expected a seed between 0 and 2^64 - 1; got {seed!r}.")
    return int(seed)


def check_at_least(name: str, value: int, least: int, most: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"Expected {name} as an integer of at least {least}; got {value!r}.")
    if value > most:
        raise InputError(f"Expected {name} as an integer of at most {most}; got {value}.")
    return int(value)


def check_dropout(share: float) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise InputError(f"Expected a dropout of at least 0 and below 1; got {share!r}.")
    return float(share)


def count_threads(threads: int | None) -> int:
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return check_at_least("threads", threads, 1, 1024)
