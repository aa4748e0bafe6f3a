"""The cliques of a conditional random field and their tables, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.graph import Int64
from neuraltrees.inference.crf.structure import Factors
from neuraltrees.inference.crf.tables import FactorTables
from neuraltrees.inference.forest.factors import check_cliques, integers

Kind: TypeAlias = Literal["one", "relation", "each"]  # one table for all, one per relation, or one for each
CliqueNodes: TypeAlias = Sequence[Sequence[int]] | npt.ArrayLike | Tensor
CliqueTables: TypeAlias = Tensor | Mapping[int, Tensor]


@dataclass(frozen=True, eq=False)
class Cliques:
    """Cliques of one size: their nodes, and the relation of each, if they have relations.

    Shapes: nodes :math:`(F, r)`, relation :math:`(F)`
    """

    nodes: Int64
    relation: Int64 | None

    @property
    def size(self) -> int:
        return int(self.nodes.shape[1])

    def kind(self, table: Any) -> Kind:
        """How tables are shared."""
        one = isinstance(table, Tensor) and table.dim() == self.size
        return "one" if one else "each" if self.relation is None else "relation"

    def index(self, kind: Kind) -> Int64:
        """The number of the table of every clique. Shapes: → :math:`(F)`"""
        if kind == "relation" and self.relation is not None:
            return self.relation
        number = np.arange(len(self.nodes))
        return np.zeros_like(number) if kind == "one" else number

    def factors(self, kind: Kind) -> Factors:
        index = self.index(kind)
        return Factors(torch.from_numpy(self.nodes), torch.from_numpy(index[:, None].copy()), int(index.max()) + 1)

    def tables(self, given: Any, like: Tensor, index: Tensor) -> FactorTables:
        """The tables of the cliques, checked. Shapes: like :math:`(*B, n, C)`"""
        batch, width = like.shape[:-2], like.shape[-1]
        one = (width,) * self.size
        count = int(self.index("each" if self.relation is None else "relation").max()) + 1
        good = isinstance(given, Tensor) and given.shape[max(0, given.dim() - self.size) :] == one
        good = good and (given.dim() == self.size or given.shape[-1 - self.size] == count)
        if not good or given.shape[: max(0, given.dim() - self.size - 1)] not in ((), batch):
            came = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
            shape = ", ".join(map(str, one))
            what = "" if self.relation is None else "relations of "
            raise InputError(
                f"Expected tables of shape ({shape}), or ({count}, {shape}) for {count} {what}cliques of {self.size} "
                f"nodes, also with the batch {tuple(batch)} of unary before it; got {came}."
            )
        if given.dtype != like.dtype:
            raise InputError(f"Expected tables of {like.dtype}, as unary; got {given.dtype} for cliques.")
        shared = given.unsqueeze(0) if given.dim() == self.size else given
        return FactorTables(shared.reshape(-1, *shared.shape[-1 - self.size :]), index)


def sort_cliques(cliques: Any, relation: Any, owner: Int64) -> tuple[Cliques, ...]:
    """The cliques by size, in the given order within it; `InputError` for anything that is none."""
    listed = _listed(cliques)
    numbers = None if relation is None else integers("clique_relation", relation, len(listed), 0)
    found = []
    sizes = np.array([len(clique) for clique in listed], np.int64)
    for size in np.unique(sizes).tolist():
        inside = np.flatnonzero(sizes == size)
        if size < 3:
            raise InputError(
                f"Expected cliques of three nodes or more; got {listed[inside[0]]}. A table of two nodes belongs to an "
                f"edge (pairwise), one of a single node to unary."
            )
        nodes = np.array([listed[place] for place in inside], np.int64)
        check_cliques(nodes, owner, "nodes")
        found.append(Cliques(nodes, None if numbers is None else numbers[inside]))
    return tuple(found)


def match_tables(cliques: Sequence[Cliques], given: Any) -> list[Any]:
    """The tables of every size of cliques, out of one tensor or a dict."""
    sizes = [each.size for each in cliques]
    if given is None:
        if sizes:
            raise InputError(f"Expected tables for the cliques of {sizes[0]} nodes; got none. Pass cliques=….")
        return []
    if not sizes:
        raise InputError("Expected no tables of cliques, since the CRF has none; got some. Name them: CRF(cliques=…).")
    if isinstance(given, Mapping):
        if sorted(given) != sizes:
            came = ", ".join(map(str, given)) or "none"
            raise InputError(f"Expected tables of cliques of the sizes {', '.join(map(str, sizes))}; got {came}.")
        return [given[size] for size in sizes]
    if len(sizes) > 1:
        raise InputError(
            f"Expected tables of the sizes {', '.join(map(str, sizes))}, as a dict of size and tensor; got "
            f"{type(given).__name__}."
        )
    return [given]


def _listed(cliques: Any) -> list[tuple[int, ...]]:
    if cliques is None:
        return []
    rows = cliques.tolist() if isinstance(cliques, Tensor | np.ndarray) else cliques
    try:
        if not isinstance(rows, Iterable):
            raise TypeError
        found = [tuple(row.tolist()) if isinstance(row, Tensor | np.ndarray) else tuple(row) for row in rows]
    except TypeError:
        found = [()]
    wrong = next((clique for clique in found if not clique or not all(map(_whole, clique))), None)
    if wrong is not None:
        raise InputError(
            f"Expected cliques as tuples of nodes, [(0, 1, 2), …], or integers of shape (cliques, nodes); got "
            f"{wrong or type(cliques).__name__}."
        )
    return [tuple(map(int, clique)) for clique in found]


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
