"""Approximate marginals: exact where they should be."""

from __future__ import annotations

import networkx as nx
import torch

import neuraltrees as nt
from neuraltrees.inference import CRF
from neuraltrees.inference.crf import FactorTables
from neuraltrees.inference.crf.approximate import loopy_beliefs, mean_field


def case(graph: nt.Graph, strength: float) -> tuple[CRF, torch.Tensor, torch.Tensor, FactorTables]:
    stream = torch.Generator().manual_seed(0)
    unary = torch.randn(1, graph.num_nodes, 3, generator=stream, dtype=torch.float64)
    unary[:, 0, 2] = -torch.inf
    table = strength * torch.randn(3, 3, generator=stream, dtype=torch.float64)
    crf = CRF(graph)
    index = torch.zeros(graph.num_edges, 1, dtype=torch.int64)
    return crf, unary, table, FactorTables(table.view(1, 1, 3, 3), index)


def test_loopy_beliefs_are_exact_on_trees() -> None:
    crf, unary, table, tables = case(nt.Graph.from_networkx(nx.balanced_tree(2, 3)), 2.0)
    found = loopy_beliefs(unary, tables, crf.edges, 200)
    torch.testing.assert_close(found, crf(unary, table).marginals, rtol=1e-6, atol=1e-6)


def test_both_are_exact_without_coupling_and_not_with_it() -> None:
    graph = nt.Graph.from_networkx(nx.cycle_graph(4))
    crf, unary, table, tables = case(graph, 0.0)
    for approximate in (loopy_beliefs, mean_field):
        torch.testing.assert_close(approximate(unary, tables, crf.edges), crf(unary, table).marginals)
    crf, unary, table, tables = case(graph, 2.0)
    exact = crf(unary, table).marginals
    errors = [float((each(unary, tables, crf.edges) - exact).abs().max()) for each in (loopy_beliefs, mean_field)]
    assert 0.01 < errors[0] < errors[1]
