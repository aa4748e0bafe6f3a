"""Which data to train on: the options that all datasets share, and those of the built-in ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuraltrees.options import Spec, option


@dataclass(frozen=True)
class DataSpec(Spec):
    """What to train on, how often and where."""

    dataset: str = option(
        "synthetic",
        "synthetic, stanford3dsg, cora, citeseer, pubmed, a registered name, or MODULE:FUNCTION of one's own.",
    )
    runs: int = option(1, "Independent runs, trained at once.", ge=1)
    seed: int = option(0, "Run r has the seed SEED + r, for its split, weights and dropout.", ge=0)
    device: str = option("cpu", "cpu or cuda.")
    data_root: str | None = option(None, "The folder of the datasets.")
    standardise: bool = option(False, "Scale every feature to mean 0 and standard deviation 1.")
    log_sizes: bool = option(False, "Scene graphs: sizes of bounding boxes by their logarithm.")
    train_share: float = option(0.7, "Share of the nodes or graphs (synthetic: of the scenes) to train on.", gt=0, lt=1)
    scenes: int = option(500, "synthetic: number of scenes.", ge=10)
    coupling: float = option(
        1.0, "synthetic: label coupling, how much labels of neighbours depend on each other.", ge=0, le=10
    )
    edges: Literal["symmetric", "stored"] = option(
        "symmetric", "stanford3dsg, GNN: both directions of every edge, or as stored in the file."
    )
    max_treewidth: int | None = option(None, "Bound k of the treewidth of sampled subgraphs.", ge=1)
    train_per_class: int | None = option(
        None, "Citation networks: training nodes per class; by default all that remain.", ge=1
    )
