"""How the graphs of a task or of a bundle get their H-trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from neuraltrees.data.htree_data import HTreeData
from neuraltrees.data.transform import attach_htrees
from neuraltrees.decomposition.decompose import Method
from neuraltrees.decomposition.sampling import Sampler
from neuraltrees.errors import TreeTooLargeError
from neuraltrees.htree.build import Terminal


@dataclass(frozen=True)
class TreeSettings:
    """How H-trees are built; see `ToHTree`."""

    max_treewidth: int | None
    seed: int
    sampler: Sampler
    method: Method
    terminal: Terminal

    @classmethod
    def of(cls, given: Any) -> TreeSettings:
        """Those of a task or of a bundle."""
        return cls(*(getattr(given, name) for name in cls.__match_args__))


def with_trees(graphs: Sequence[Data], settings: TreeSettings) -> Sequence[Data]:
    """The graphs with their H-trees: those they came with, or new ones."""
    bare = [number for number, graph in enumerate(graphs) if not isinstance(graph, HTreeData)]
    if not bare:
        return graphs
    try:
        trees = attach_htrees([graphs[number] for number in bare], **vars(settings))
    except TreeTooLargeError as error:
        raise error.advising("Bound the treewidth: Task(graphs, labels, max_treewidth=4).") from None
    built = dict(zip(bare, trees, strict=True))
    return [built.get(number, graph) for number, graph in enumerate(graphs)]
