"""Plans compute each distinct state once; they equal the plain formulation on every tree node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.datasets import StanfordSceneGraphs
from neuraltrees.nn import GNN, NeuralTree
from neuraltrees.nn.schedule.refinement import unroll
from tests.oracle.strategies import graphs as networkx_graphs

CONVS = ["gcn", "sage", "gat", "gin"]


def graphs(max_nodes: int) -> st.SearchStrategy[nt.Graph]:
    return networkx_graphs(max_nodes).map(nt.Graph.from_networkx)


def with_tree(graph: nt.Graph, **attributes: Tensor) -> nt.HTreeData:
    edges = torch.from_numpy(graph.edge_index) if isinstance(graph.edge_index, np.ndarray) else graph.edge_index
    return nt.ToHTree()(Data(edge_index=edges, num_nodes=graph.num_nodes, **attributes))


def distinct_views(tree: nt.HTree, rounds: int, typed: bool = False) -> list[object]:
    """The t-round view of every tree node, written out as nested tuples: equal views, equal states."""
    views: list[object] = [int(k) for k in tree.kappa]
    around: list[list[tuple[int, int]]] = [[] for _ in range(tree.num_nodes)]
    for (source, target), kind in zip(tree.edge_index.t().tolist(), tree.edge_type.tolist(), strict=True):
        around[target].append((source, kind if typed else 0))
    for _ in range(rounds):
        views = [
            (views[v], tuple(sorted((kind, repr(views[u])) for u, kind in around[v]))) for v in range(tree.num_nodes)
        ]
    return views


def outputs(model: NeuralTree, x: Tensor, data: nt.HTreeData) -> tuple[Tensor, Tensor]:
    """Logits by the plan and by the plain formulation, and the same for the gradient of every parameter."""
    tree = data.htree
    results = []
    for logits in (model(x, model.plan(data)), model(x, tree.edge_index, tree.kappa, edge_type=tree.edge_type)):
        weight = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.Generator().manual_seed(1))
        gradients = torch.autograd.grad((logits * weight).sum(), list(model.parameters()), allow_unused=True)
        flat = [g.flatten() for g in gradients if g is not None]
        results.append(torch.cat([logits.flatten(), *flat]))
    return results[0], results[1]


@pytest.mark.parametrize("conv", CONVS)
@settings(max_examples=60, deadline=None)
@given(
    graph=graphs(max_nodes=9),
    layers=st.integers(1, 4),
    runs=st.sampled_from([None, 2]),
    relations=st.booleans(),
    residual=st.booleans(),
    merge=st.booleans(),
)
def test_a_plan_equals_the_plain_formulation(
    conv: str, graph: nt.Graph, layers: int, runs: int | None, relations: bool, residual: bool, merge: bool
) -> None:
    torch.manual_seed(0)
    data = with_tree(graph)
    options = {"heads": 2, "runs": runs, "relations": relations, "residual": residual, "merge": merge}
    model = NeuralTree(3, 4, 5, layers, conv, 0.0, **options).double()
    if data.htree.num_nodes < 2:
        model.eval()  # batch norm of a single state has no variance
    x = torch.randn(graph.num_nodes, *([] if runs is None else [runs]), 3, dtype=torch.float64)
    planned, plain = outputs(model, x, data)
    torch.testing.assert_close(planned, plain, atol=1e-9, rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(graph=graphs(max_nodes=8), layers=st.integers(1, 3), typed=st.booleans())
def test_no_state_is_computed_twice(graph: nt.Graph, layers: int, typed: bool) -> None:
    tree = nt.build_htree(graph)
    relation = tree.edge_type if typed else None
    everything = unroll(tree.edge_index, tree.kappa, graph.num_nodes, layers, relation=relation, keep_all=True)
    for rounds, count in enumerate(everything.states[:-1], start=1):
        assert count == len({repr(view) for view in distinct_views(tree, rounds, typed)})
    leaves = (tree.kappa >= 0).tolist()
    views = distinct_views(tree, layers, typed)
    assert everything.states[-1] == len({repr(view) for view, leaf in zip(views, leaves, strict=True) if leaf})
    for copies in everything.copies[:-1]:
        assert copies.sum() == tree.num_nodes
    needed = unroll(tree.edge_index, tree.kappa, graph.num_nodes, layers, relation=relation)
    assert all(few <= all_ for few, all_ in zip(needed.states, everything.states, strict=True))


@pytest.mark.parametrize("conv", CONVS)
def test_scene_graphs(conv: str, data_root: Path) -> None:
    """All 482 trees at once, in float64: four rounds and the readout of each type."""
    torch.manual_seed(0)
    scenes = StanfordSceneGraphs(data_root)
    x, kind = scenes.x.double(), scenes.node_type
    data = with_tree(nt.Graph.union([nt.Graph.from_data(scene) for scene in scenes]), node_type=kind)
    tree = data.htree
    model = NeuralTree(6, 8, scenes.classes, 4, conv, heads=2).double().eval()
    plan = model.plan(data)
    with torch.no_grad():
        planned, plain = model(x, plan), model(x, tree.edge_index, tree.kappa, kind)
    torch.testing.assert_close(planned, plain, atol=1e-10, rtol=1e-10)
    assert sum(plan.rounds.states) < 4 * tree.num_nodes


@pytest.mark.parametrize("conv", CONVS)
def test_a_plan_of_a_graph_equals_its_edges(conv: str) -> None:
    torch.manual_seed(0)
    model = GNN(3, 4, 5, 3, conv, heads=2).double().eval()
    one_way, x = torch.tensor([[0, 0, 2, 3], [1, 2, 1, 4]]), torch.randn(6, 3, dtype=torch.float64)
    torch.testing.assert_close(model(x, model.plan(Data(edge_index=one_way, num_nodes=6))), model(x, one_way))


def test_sparse_features_stay_sparse() -> None:
    x = torch.eye(4)
    model = NeuralTree(4, 8, 2, 2, "gcn", readout=False).eval()
    plan = model.plan(with_tree(nt.Graph([[0, 1, 2], [1, 2, 3]])))
    torch.testing.assert_close(model(x.to_sparse(), plan), model(x, plan))


def test_an_empty_graph_has_an_empty_answer() -> None:
    model = NeuralTree(3, 4, 5)
    assert model(torch.ones(0, 3), model.plan(with_tree(nt.Graph([[], []], num_nodes=0)))).shape == (0, 5)
