"""Edges in a NumPy file, mapped into memory: only the graph itself is held there."""

from __future__ import annotations

import numpy as np

from neuraltrees.errors import InputError, ParseError
from neuraltrees.files import PathLike, as_path
from neuraltrees.graph import Graph


def read_edge_array(path: PathLike) -> Graph:
    """The graph of the edges in a `.npy` file: integers of shape (2, m) or (m, 2).

    An array of shape (2, 2) has the sources in its first row. int32 and int64 are read where they lie, other types are
    converted.
    """
    path = as_path(path)
    if path.suffix.lower() != ".npy":
        raise InputError(f"Expected a .npy file that can be mapped into memory; got {path.name}. Unpack it first.")
    try:
        edges = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ParseError(f"{path}: expected a whole NumPy file of integers, got: {error}.") from None
    if edges.ndim != 2 or 2 not in edges.shape or not np.issubdtype(edges.dtype, np.integer):
        raise ParseError(
            f"{path}: expected integers of shape (2, m) or (m, 2), got {edges.dtype} of shape {edges.shape}. Write the "
            f"ends of all edges: numpy.save(path, edge_index)."
        )
    try:
        return Graph(edges if edges.shape[0] == 2 else edges.T)
    except InputError as error:
        raise ParseError(f"{path}: {error}") from None
