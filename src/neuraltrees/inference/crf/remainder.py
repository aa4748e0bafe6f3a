"""The subgraph of the nodes without known labels, with the known labels folded into its potentials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from neuraltrees.decomposition import sample_bounded_treewidth
from neuraltrees.graph import Graph, Int64
from neuraltrees.inference.crf.structure import Structure
from neuraltrees.inference.crf.tables import FactorTables, Tables, along
from neuraltrees.inference.forest import Forest
from neuraltrees.inference.forest.arithmetic import corner
from neuraltrees.inference.forest.factors import joined


@dataclass(frozen=True)
class Limits:
    """Limits of inference if the subgraph of the unknown nodes is too wide.

    Args:
        states: number of labels to keep per node, the most probable ones by its own potentials; None for all.
        max_treewidth: treewidth of a sampled subgraph whose edges, and cliques inside it, are kept; None for all.
        samples: number of sampled subgraphs over which answers are averaged.
        seed: seed of the first sample.
        memory_limit: in bytes; see `Forest`.
        chunk_entries: see `Forest`.
    """

    states: int | None = None
    max_treewidth: int | None = None
    samples: int = 1
    seed: int = 0
    memory_limit: float | None = None
    chunk_entries: int | None = None


@dataclass(frozen=True, eq=False)
class Cut:
    """Edges, or cliques of one size, whose labels are known at the same axes: a table of the unknown nodes is left.

    Args:
        family: the number of the factors in the structure; 0 are the edges.
        factor: their numbers, over all copies of the graph.
        axes: the axes of the known nodes.
        known: the known nodes.
        free: the places of the other nodes among the unknown ones.

    Shapes: factor :math:`(F)`, known :math:`(F, k)`, free :math:`(F, r - k)`
    """

    family: int
    factor: Tensor
    axes: tuple[int, ...]
    known: Tensor
    free: Tensor

    def labels(self, known: Tensor) -> list[Tensor]:
        """The labels of the known nodes, by axis. Shapes: known :math:`(N)` → :math:`(F)` each"""
        return [known.index_select(0, node) for node in self.known.unbind(1)]

    def those(self, inside: Int64) -> Cut:
        """Some of them, by their places here."""
        some = torch.from_numpy(inside)
        return replace(self, factor=self.factor[some], known=self.known[some], free=self.free[some])


@dataclass(frozen=True, eq=False)
class Remainder:
    """A plan: the subgraph of the unknown nodes, and how the known labels enter its potentials.

    Nodes are numbered over `copies` of the graph, one copy per mask of known nodes: a single mask for the whole batch
    needs one copy, whatever the size of the batch.

    Args:
        forest: inference on the unknown nodes.
        copies: number of copies of the graph.
        variables: the unknown nodes.
        fixed: the known nodes.
        joint: the factors of several unknown nodes, edges first; `shared` says which have tables of the structure.
        single: the factors of one unknown node.
        settled: the factors of known nodes only.
        graph: the graph of every node.
        num_graphs: number of graphs in all copies.
        states: number of labels that are kept.
        trivial: whether no label is known.
        transposed: whether tables of edges are transposed.

    Shapes: variables :math:`(V)`, fixed :math:`(K)`, graph :math:`(N)`
    """

    forest: Forest
    copies: int
    variables: Tensor
    fixed: Tensor
    joint: tuple[Cut, ...]
    shared: tuple[bool, ...]
    single: tuple[Cut, ...]
    settled: tuple[Cut, ...]
    graph: Tensor
    num_graphs: int
    states: int | None
    trivial: bool
    transposed: bool

    def fold(self, unary: Tensor, tables: Tables, known: Tensor) -> Tensor:
        """The potentials of the unknown nodes, those of factors whose other nodes are known included.

        Shapes: unary :math:`(B, N, D)`, known :math:`(N)` → :math:`(B, V, D)`
        """
        if self.trivial:
            return unary
        found = unary.index_select(1, self.variables)
        for cut in self.single:
            added = tables[cut.family].given(cut.axes, cut.factor, cut.labels(known))
            found = found.index_add(1, cut.free[:, 0], added.expand(len(found), -1, -1))
        return found

    def constant(self, unary: Tensor, tables: Tables, known: Tensor) -> Tensor:
        """The score of the known labels, per graph. Shapes: → :math:`(B, G)`"""
        total = unary.new_zeros(len(unary), self.num_graphs)
        if self.trivial:
            return total
        fixed = self.fixed
        place = known.index_select(0, fixed).view(1, -1, 1).expand(len(unary), -1, 1)
        own = unary.index_select(1, fixed).gather(2, place).squeeze(2)
        total = total.index_add(1, self.graph.index_select(0, fixed), own)
        for cut in self.settled:
            score = tables[cut.family].entries(cut.factor, [each.unsqueeze(0) for each in cut.labels(known)])
            owner = self.graph.index_select(0, cut.known[:, 0])
            total = total.index_add(1, owner, score.expand(len(unary), -1))
        return total

    def potentials(
        self, unary: Tensor, tables: Tables, known: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...], Tensor | None]:
        """The inputs of the forest: potentials of variables and tables; and the kept labels if `states` is set.

        Shapes: unary :math:`(B, V, D)` → :math:`(B, V, m)`, :math:`(B, T, m, …)` each, and :math:`(B, V, m)`
        """
        most = self.forest.structure.most_states
        kept = None if self.states is None else unary.detach().topk(most, -1).indices
        found = []
        for cut, shared in zip(self.joint, self.shared, strict=True):
            each = self._tables(cut, shared, tables[cut.family], known, kept)
            found.append(each.squeeze(0) if len(each) < len(unary) else each)
        unary = unary[..., :most] if kept is None else unary.gather(2, kept)
        return unary, tuple(found), kept

    def _tables(self, cut: Cut, shared: bool, tables: FactorTables, known: Tensor, kept: Tensor | None) -> Tensor:
        if kept is not None:
            left = cut.free.shape[1]
            free = [along(kept.index_select(1, node), i, left) for i, node in enumerate(cut.free.unbind(1))]
            fixed = [label.view(1, -1, *[1] * left) for label in cut.labels(known)]
            labels = [fixed.pop(0) if axis in cut.axes else free.pop(0) for axis in range(tables.order)]
            return tables.entries(cut.factor, labels)
        if cut.axes:
            found = tables.given(cut.axes, cut.factor, cut.labels(known))
        elif not shared:
            found = tables.whole(cut.factor)
        else:
            found = tables.both if self.transposed and cut.family == 0 else tables.tables
        return corner(found, (self.forest.structure.most_states,) * cut.free.shape[1])


def make_remainders(structure: Structure, known: Tensor, limits: Limits) -> tuple[Remainder, ...]:
    """The plans for a mask of known nodes, one per sampled subgraph.

    Shapes: known :math:`(copies, n)`
    """
    mask = known.cpu().numpy()
    copies, free = len(mask), ~mask.reshape(-1)
    variables = np.flatnonzero(free)
    owner = (np.arange(copies)[:, None] * structure.num_graphs + structure.owner).reshape(-1)
    cuts = _cuts(structure, free, copies)
    edges, *cliques = [cut for cut in cuts if cut.free.shape[1] > 1]
    common: dict[str, Any] = {
        "copies": copies,
        "variables": torch.from_numpy(variables),
        "fixed": torch.from_numpy(np.flatnonzero(~free)),
        "single": tuple(cut for cut in cuts if cut.free.shape[1] == 1),
        "settled": tuple(cut for cut in cuts if cut.free.shape[1] == 0),
        "graph": torch.from_numpy(owner),
        "num_graphs": copies * structure.num_graphs,
        "states": limits.states,
        "trivial": bool(free.all()) and copies == 1,
        "transposed": structure.factors[0].transposed,
    }
    labels = np.tile(structure.labels, copies)[variables]
    cardinalities = labels if limits.states is None else np.minimum(labels, limits.states)
    whole = joined(_graph_of(edges, len(variables)), [cut.free.numpy() for cut in cliques])
    options = {} if limits.chunk_entries is None else {"chunk_entries": limits.chunk_entries}
    found = []
    for sample in range(limits.samples):
        support, joint = whole, [edges, *cliques]
        if limits.max_treewidth is not None and len(variables):
            support = sample_bounded_treewidth(whole, limits.max_treewidth, limits.seed + sample).subgraph
            joint = [cut.those(_inside(cut, support)) for cut in joint]
        graph = _graph_of(joint[0], len(variables))
        joint = [joint[0], *(cut for cut in joint[1:] if len(cut.factor))]
        shared = [limits.states is None and not cut.axes and structure.factors[cut.family].shared for cut in joint]
        numbers = [_numbers(structure, cut, copies, one) for cut, one in zip(joint, shared, strict=True)]
        forest = Forest.of(
            graph,
            cardinalities,
            owner=owner[variables],
            relation=numbers[0],
            cliques=[cut.free.numpy() for cut in joint[1:]],
            clique_relation=numbers[1:],
            memory_limit=limits.memory_limit,
            **options,
        )
        found.append(Remainder(forest=forest, joint=tuple(joint), shared=tuple(shared), **common))
        if support.num_edges == whole.num_edges:  # the sample has all edges, so it is exact
            break
    return tuple(found)


def _cuts(structure: Structure, free: npt.NDArray[np.bool_], copies: int) -> list[Cut]:
    """All factors by the axes of their known nodes; the first are the edges between unknown nodes, if any."""
    position = np.cumsum(free) - 1
    found: list[Cut] = []
    for family, factors in enumerate(structure.factors):
        nodes = factors.repeated(copies, structure.num_nodes).cpu().numpy()
        is_free = free[nodes]
        code = is_free @ (1 << np.arange(factors.order))
        every = 2**factors.order - 1
        for each in (every, *(number for number in np.unique(code).tolist() if number != every)):
            factor = np.flatnonzero(code == each)
            inside = np.array([each >> axis & 1 for axis in range(factors.order)], bool)
            if len(factor) or not found:
                parts = (nodes[factor][:, ~inside], position[nodes[factor][:, inside]])
                axes = tuple(np.flatnonzero(~inside).tolist())
                tensors = (torch.from_numpy(np.ascontiguousarray(part.T)).t() for part in parts)
                found.append(Cut(family, torch.from_numpy(factor), axes, *tensors))
    return found


def _graph_of(edges: Cut, nodes: int) -> Graph:
    return Graph(edges.free.numpy().T, num_nodes=nodes)


def _inside(cut: Cut, graph: Graph) -> Int64:
    """The places of the factors all of whose nodes are joined in a graph."""
    source, target = graph._upper_edges()
    nodes, code = np.sort(cut.free.numpy(), 1), np.sort(source * graph.num_nodes + target)
    good = np.ones(len(nodes), bool)
    for first, last in combinations(range(nodes.shape[1]), 2):
        good &= np.isin(nodes[:, first] * graph.num_nodes + nodes[:, last], code)
    return np.flatnonzero(good)


def _numbers(structure: Structure, cut: Cut, copies: int, shared: bool) -> Int64:
    """The number of the table of every factor: one of the structure's, or its own."""
    if not shared:
        return np.arange(len(cut.factor))
    numbers: Int64 = structure.factors[cut.family].tables_of(copies)[cut.factor.numpy()]
    return numbers
