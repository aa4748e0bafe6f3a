"""The files of the Open Graph Benchmark's molecules: `raw/*.csv.gz` and `split/scaffold/*.csv.gz`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees.data.packed import PackedGraphs, pointers
from neuraltrees.datasets.stored_graphs import AGAIN
from neuraltrees.errors import InputError
from neuraltrees.files import read_whole

PARTS = ("train", "valid", "test")


def read_ogb(folder: Path) -> tuple[PackedGraphs, Tensor]:
    """The graphs of a folder such as `ogbg_molhiv`, and the part of every graph: 0 trains, 1 validates, 2 tests.

    Shapes: the part :math:`(G)`
    """
    raw = folder / "raw"
    nodes, edges = (
        torch.from_numpy(_numbers(raw / f"num-{what}-list.csv.gz")).long().flatten() for what in ("node", "edge")
    )
    y = torch.from_numpy(_numbers(raw / "graph-label.csv.gz", float)).float()
    x, attr = (torch.from_numpy(_numbers(raw / f"{what}-feat.csv.gz")).long() for what in ("node", "edge"))
    edge = torch.from_numpy(_numbers(raw / "edge.csv.gz")).long().t().contiguous()
    try:
        packed = PackedGraphs.of_edges(x, edge.reshape(2, -1), y, pointers(nodes), pointers(edges), attr)
    except InputError as error:
        raise InputError(f"{raw}: {error} {AGAIN}") from None
    part = torch.full((len(packed),), -1)
    for number, name in enumerate(PARTS):
        path = folder / "split" / "scaffold" / f"{name}.csv.gz"
        chosen = torch.from_numpy(_numbers(path)).long().flatten()
        if len(chosen) and not 0 <= int(chosen.min()) <= int(chosen.max()) < len(part):
            raise InputError(f"Expected {path} to number graphs from 0 to {len(part) - 1}; got {int(chosen.max())}.")
        part[chosen] = number
    return packed, part


def _numbers(path: Path, kind: type = int) -> np.ndarray[Any, Any]:
    """A table of numbers; empty cells are NaN."""
    try:
        text = read_whole(path).decode()
        if kind is float:  # labels: an empty cell is missing
            rows = [[float(cell) if cell else float("nan") for cell in line.split(",")] for line in text.splitlines()]
            return np.array(rows)
        return np.loadtxt(text.splitlines(), dtype=np.int64, delimiter=",", ndmin=2)
    except FileNotFoundError:
        raise InputError(f"Expected the file {path}, beside the others of this dataset; it is missing.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"Expected {path} to be a table of numbers; got: {error}. {AGAIN}") from None
