"""The undirected graphs of the 482 scene graphs in ``stanford3dsg/Stanford3DSG.pkl``."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
from numpy._core.multiarray import _reconstruct

from .decomposition import graph_of
from .pickles import load

NUMPY_ARRAYS = {
    "numpy.core.multiarray _reconstruct": _reconstruct,
    "numpy ndarray": np.ndarray,
    "numpy dtype": np.dtype,
}


def read_scene_graphs(data_root: Path) -> list[nx.Graph]:
    data, _, _ = load(data_root / "stanford3dsg" / "Stanford3DSG.pkl", NUMPY_ARRAYS)
    pairs = zip(data["x_list"], data["edge_index_list"], strict=True)
    return [graph_of(len(x), edge_index.T.tolist()) for x, edge_index in pairs]
