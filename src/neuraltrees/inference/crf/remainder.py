"""The subgraph of the nodes without known labels, with the known labels folded into its potentials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neuraltrees.decomposition import sample_bounded_treewidth
from neuraltrees.graph import Graph, Int64
from neuraltrees.inference.crf.tables import EdgeTables
from neuraltrees.inference.forest import Forest


@dataclass(frozen=True, eq=False)
class Structure:
    """The graph of a conditional random field, or a union of many, and the numbers of the tables of its edges.

    Args:
        graph: the graph.
        labels: number of labels of every node.
        owner: the graph of every node, if it is a union.
        num_graphs: number of graphs.
        index: the numbers of the tables of every edge; see `EdgeTables`.
        num_tables: number of shared tables.
        weighted: whether tables have weights.
        ends: both ends of every edge, the lower number first.

    Shapes: labels and owner :math:`(n)`, index :math:`(E, J)`, ends :math:`(2, E)`
    """

    graph: Graph
    labels: Int64
    owner: Int64
    num_graphs: int
    index: Tensor
    num_tables: int
    weighted: bool
    ends: Tensor

    @classmethod
    def of(
        cls,
        graph: Graph,
        labels: Int64,
        owner: Int64,
        num_graphs: int,
        index: Int64,
        num_tables: int,
        weighted: bool = False,
    ) -> Structure:
        ends = torch.from_numpy(np.stack(graph._upper_edges()))
        return cls(graph, labels, owner, num_graphs, torch.from_numpy(index), num_tables, weighted, ends)

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    def repeated_ends(self, copies: int) -> Tensor:
        """The ends of the edges of `copies` copies of the graph. Shapes: :math:`(2, copies · E)`"""
        if copies == 1:
            return self.ends
        shift = self.num_nodes * torch.arange(copies, device=self.ends.device)
        return (self.ends.unsqueeze(1) + shift.view(1, -1, 1)).flatten(1)


@dataclass(frozen=True)
class Limits:
    """Limits of inference if the subgraph of the unknown nodes is too wide.

    Args:
        states: number of labels to keep per node, the most probable ones by its own potentials; None for all.
        max_treewidth: treewidth of a sampled subgraph whose edges are kept; None for all edges.
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
class Links:
    """Edges with known labels at one end: their numbers, the node at the other end, and the known node.

    Shapes: :math:`(F)` each
    """

    edge: Tensor
    node: Tensor
    known: Tensor


@dataclass(frozen=True, eq=False)
class Remainder:
    """A plan: the subgraph of the unknown nodes, and how the known labels enter its potentials.

    Nodes are numbered over `copies` of the graph, one copy per mask of known nodes: a single mask for the whole batch
    needs one copy, whatever the size of the batch.

    Shapes: variables (the unknown nodes) :math:`(V)`, fixed (the known ones) :math:`(K)`, inner (the edges between
    unknown nodes) :math:`(E')`, settled (those between known ones) :math:`(E'')`; `ends` and `settled_ends` are theirs
    """

    forest: Forest
    copies: int
    variables: Tensor
    fixed: Tensor
    inner: Tensor
    ends: Tensor
    above: Links
    below: Links
    settled: Tensor
    settled_ends: Tensor
    graph: Tensor
    num_graphs: int
    states: int | None
    trivial: bool
    transposed: bool

    def fold(self, unary: Tensor, tables: EdgeTables, known: Tensor) -> Tensor:
        """The potentials of the unknown nodes, those of their edges to known ones included.

        Shapes: unary :math:`(B, N, D)`, known :math:`(N)` → :math:`(B, V, D)`
        """
        if self.trivial:
            return unary
        found = unary.index_select(1, self.variables)
        for links, given in ((self.above, tables.rows), (self.below, tables.columns)):
            if len(links.edge):
                added = given(links.edge, known.index_select(0, links.known))
                found = found.index_add(1, links.node, added.expand(len(found), -1, -1))
        return found

    def constant(self, unary: Tensor, tables: EdgeTables, known: Tensor) -> Tensor:
        """The score of the known labels, per graph. Shapes: → :math:`(B, G)`"""
        total = unary.new_zeros(len(unary), self.num_graphs)
        if self.trivial:
            return total
        fixed = self.fixed
        place = known.index_select(0, fixed).view(1, -1, 1).expand(len(unary), -1, 1)
        own = unary.index_select(1, fixed).gather(2, place).squeeze(2)
        total = total.index_add(1, self.graph.index_select(0, fixed), own)
        if len(self.settled):
            first, last = (known.index_select(0, end).unsqueeze(0) for end in self.settled_ends)
            pair = tables.entries(self.settled, first, last)
            total = total.index_add(1, self.graph.index_select(0, self.settled_ends[0]), pair.expand(len(unary), -1))
        return total

    def potentials(self, unary: Tensor, tables: EdgeTables) -> tuple[Tensor, Tensor, Tensor | None]:
        """The inputs of the forest: potentials of variables and tables; and the kept labels if `states` is set.

        Shapes: unary :math:`(B, V, D)` → :math:`(B, V, m)`, :math:`(B, T, m, m)` and :math:`(B, V, m)`
        """
        most = self.forest.structure.most_states
        kept = None
        if self.states is not None:
            kept = unary.detach().topk(most, -1).indices
            first, last = (kept.index_select(1, end) for end in self.ends)
            pairs = tables.entries(self.inner, first.unsqueeze(-1), last.unsqueeze(-2))
            unary = unary.gather(2, kept)
        elif tables.index.shape[1] > 1 or tables.weight is not None:
            pairs = tables.whole(self.inner)[..., :most, :most]
        else:
            pairs = (tables.both if self.transposed else tables.tables)[..., :most, :most]
        return unary[..., :most], pairs.squeeze(0) if len(pairs) < len(unary) else pairs, kept


def make_remainders(structure: Structure, known: Tensor, limits: Limits) -> tuple[Remainder, ...]:
    """The plans for a mask of known nodes, one per sampled subgraph.

    Shapes: known :math:`(copies, n)`
    """
    mask = known.cpu().numpy()
    copies, size = mask.shape
    source, target = structure.graph._upper_edges()
    shift = np.arange(copies)[:, None]
    free = ~mask.reshape(-1)
    variables = np.flatnonzero(free)
    position = np.full(copies * size, -1, np.int64)
    position[variables] = np.arange(len(variables))
    first, last = ((shift * size + end).reshape(-1) for end in (source, target))
    numbers = np.arange(copies * len(source))
    owner = (shift * structure.num_graphs + structure.owner).reshape(-1)
    inner = numbers[free[first] & free[last]]
    above = numbers[~free[first] & free[last]]
    below = numbers[free[first] & ~free[last]]
    settled = numbers[~free[first] & ~free[last]]
    tensor = torch.from_numpy
    common = {
        "copies": copies,
        "variables": tensor(variables),
        "fixed": tensor(np.flatnonzero(~free)),
        "above": Links(tensor(above), tensor(position[last[above]]), tensor(first[above])),
        "below": Links(tensor(below), tensor(position[first[below]]), tensor(last[below])),
        "settled": tensor(settled),
        "settled_ends": tensor(np.stack([first[settled], last[settled]])),
        "graph": tensor(owner),
        "num_graphs": copies * structure.num_graphs,
        "states": limits.states,
        "trivial": bool(free.all()) and copies == 1,
        "transposed": bool((structure.index >= structure.num_tables).any()),
    }
    ends = np.stack([position[first[inner]], position[last[inner]]])
    whole = Graph(ends, num_nodes=len(variables))
    labels = np.tile(structure.labels, copies)[variables]
    cardinalities = labels if limits.states is None else np.minimum(labels, limits.states)
    own_tables = limits.states is not None or structure.weighted or structure.index.shape[1] > 1
    index = _tables_of(structure, copies)
    found = []
    for sample in range(limits.samples):
        graph = whole
        if limits.max_treewidth is not None and len(variables):
            graph = sample_bounded_treewidth(whole, limits.max_treewidth, limits.seed + sample).subgraph
        kept = _edges_of(graph, ends, len(variables))
        options = {} if limits.chunk_entries is None else {"chunk_entries": limits.chunk_entries}
        forest = Forest.of(
            graph,
            cardinalities,
            owner=owner[variables],
            relation=None if own_tables else index[inner[kept]],
            memory_limit=limits.memory_limit,
            **options,
        )
        found.append(Remainder(forest=forest, inner=tensor(inner[kept]), ends=tensor(ends[:, kept]), **common))
        if graph.num_edges == whole.num_edges:  # the sample has all edges, so it is exact
            break
    return tuple(found)


def _tables_of(structure: Structure, copies: int) -> Int64:
    """The number of the table of every edge of all copies, for one table per edge; copies have different tables."""
    number, count = structure.index[:, 0].cpu().numpy(), structure.num_tables
    transposed = number >= count
    place = np.arange(copies)[:, None] * count + (number - count * transposed)
    found: Int64 = (place + copies * count * transposed).reshape(-1)
    return found


def _edges_of(graph: Graph, ends: Int64, nodes: int) -> Int64:
    """The numbers, among all edges, of the edges of a subgraph, in its order."""
    source, target = graph._upper_edges()
    code = ends[0] * nodes + ends[1]
    order = np.argsort(code)
    found: Int64 = order[np.searchsorted(code[order], source * nodes + target)]
    return found
