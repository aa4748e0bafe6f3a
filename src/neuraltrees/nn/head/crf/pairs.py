"""The tables of edges that a CRF head learns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph, Int64
from neuraltrees.inference.crf import FactorTables
from neuraltrees.nn.ensemble.linear import RunLinear


@dataclass(frozen=True, eq=False)
class PairPlan:
    """The tables of the edges of a graph, and the rows of their features.

    Shapes: index :math:`(E, J)`; forth and back (the numbers of both directions in `edge_index`), and alike (whether
    both ends have the same type) :math:`(E)`
    """

    index: Tensor
    forth: Tensor
    back: Tensor
    alike: Tensor


class Pairs(nn.Module):
    r"""Tables :math:`θ_{uv} = T_r + \sum_b \tanh(g_b(e_{uv}))\, T_{rb}` per pair of node types r.

    The gates :math:`g` are the features of the edge, or a linear layer of them.

    Edges are undirected: the table of an edge between nodes of the same type is the mean of the table of one direction
    and the transposed table of the other; between types, rows are the labels of the type with the lower number.

    Args:
        labels: number of labels of every node type.
        runs: number of independent runs.
        relations: number of edge types, by `edge_type` of the graph; each has its own tables.
        edge_channels: number of features per edge; None for tables without gates.
        gates: number of tables that are mixed by a linear layer of the features; None for one per feature.
        rank: rank of the tables; None for full tables.
    """

    def __init__(
        self,
        labels: tuple[int, ...],
        runs: int | None = None,
        relations: int = 1,
        edge_channels: int | None = None,
        gates: int | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__()
        self.kinds = list(combinations_with_replacement(range(len(labels)), 2))
        self.relations = relations
        self.gates = 0 if edge_channels is None else edge_channels if gates is None else gates
        self.runs, self.size, self.rank = runs, max(labels), rank
        lead = () if runs is None else (runs,)
        self.num_bases = len(self.kinds) * relations
        count = self.num_bases * (1 + self.gates)
        if rank is None:
            self.table = nn.Parameter(torch.empty(*lead, count, self.size, self.size))
        else:
            self.left = nn.Parameter(torch.empty(*lead, count, self.size, rank))
            self.right = nn.Parameter(torch.empty(*lead, count, self.size, rank))
        own = edge_channels is not None and gates is not None
        self.gate = RunLinear(edge_channels or 1, self.gates, runs) if own else None
        same = torch.tensor([first == last for first, last in self.kinds]).repeat(relations)
        self.same: Tensor
        self.register_buffer("same", same.view(-1, 1, 1), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Tables start at zero, where nodes are independent; tables with gates start near zero, so that gates learn."""
        if self.gate is not None:
            self.gate.reset_parameters()
        if self.rank is not None:
            nn.init.normal_(self.left, std=0.1)
            nn.init.normal_(self.right, std=0.1)
            return
        nn.init.zeros_(self.table)
        if self.gates:
            with torch.no_grad():
                self.table[..., self.num_bases :, :, :].normal_(std=0.02)

    @property
    def num_tables(self) -> int:
        return self.num_bases * (1 + self.gates)

    @property
    def weighted(self) -> bool:
        return self.gates > 0

    def plan(self, data: Data, graph: Graph, node_type: Int64) -> PairPlan:
        """The tables of the edges of a graph, in the order of `Graph._upper_edges`."""
        source, target = graph._upper_edges()
        first, last = node_type[source], node_type[target]
        types = self.kinds[-1][0] + 1
        number = np.zeros((types, types), np.int64)
        for place, (a, b) in enumerate(self.kinds):
            number[a, b] = number[b, a] = place
        forth, back = _directions(data, graph.num_nodes, source, target)
        base = number[first, last]
        if self.relations > 1:
            base = base + len(self.kinds) * _edge_types(data, forth, self.relations)
        turned = first > last
        # Where types differ, the features are those of the direction from the first type to the other.
        forth, back = np.where(turned, back, forth), np.where(turned, forth, back)
        columns = [base + self.num_tables * turned]
        for gate in range(self.gates):
            table = base + self.num_bases * (1 + gate)
            columns += [table + self.num_tables * turned, table + self.num_tables * ~turned]
        found = (np.stack(columns, 1), forth, back, first == last)
        return PairPlan(*map(torch.from_numpy, found))

    def forward(self, plan: PairPlan, edge_attr: Tensor | None = None) -> FactorTables:
        """The tables of all runs. Shapes: edge_attr :math:`(m, *, D)`"""
        table = self.table if self.rank is None else self.left @ self.right.mT
        table = table.unsqueeze(0) if self.runs is None else table
        bases = table[:, : self.num_bases]
        bases = torch.where(self.same, (bases + bases.mT) / 2, bases)
        if not self.gates:
            return FactorTables(bases, plan.index)
        if edge_attr is None:
            raise InputError("Expected edge_attr, since the CRF head was made with edge_channels; got none.")
        gates = (edge_attr if self.gate is None else self.gate(edge_attr)).tanh()
        gates = gates.unsqueeze(1) if gates.dim() == 2 else gates
        forth, back = (gates.index_select(0, end).transpose(0, 1) for end in (plan.forth, plan.back))
        alike = plan.alike.view(1, -1, 1)
        pair = torch.stack([torch.where(alike, forth / 2, forth), torch.where(alike, back / 2, 0.0)], -1)
        weight = torch.cat([torch.ones_like(pair[..., 0, :1]), pair.flatten(2)], -1)
        return FactorTables(torch.cat([bases, table[:, self.num_bases :]], 1), plan.index, weight)


def _directions(data: Data, size: int, source: Int64, target: Int64) -> tuple[Int64, Int64]:
    """The numbers of both directions of every edge in `edge_index`; twice the same if only one direction is given."""
    given = data.edge_index.cpu().numpy()
    code = given[0] * size + given[1]
    order = np.argsort(code, kind="stable")
    found = []
    for wanted in (source * size + target, target * size + source):
        place = np.minimum(np.searchsorted(code[order], wanted), max(0, len(code) - 1))
        number = order[place] if len(code) else place
        found.append(np.where(code[number] == wanted, number, -1) if len(code) else number)
    forth, back = found
    return np.where(forth < 0, back, forth), np.where(back < 0, forth, back)


def _edge_types(data: Data, number: Int64, relations: int) -> Int64:
    kinds = data.get("edge_type")
    if kinds is None:
        raise InputError(f"Expected edge_type, since there are {relations} relations; got none.")
    found: Int64 = kinds.cpu().numpy()[number]
    wrong = found[(found < 0) | (found >= relations)]
    if len(wrong):
        raise InputError(f"Expected edge_type between 0 and {relations - 1}; got {int(wrong[0])}.")
    return found
