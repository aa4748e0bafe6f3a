"""Networks on canonical trees answer alike however nodes and edges are numbered; on other trees they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.training import NetworkSpec
from tests.nn.schedule.bag_graphs import CANONICAL, PAPER, SHAPES, featured, permuted, with_tree
from tests.nn.schedule.test_bags import CODED, MIXES, network_of
from tests.oracle.strategies import connected_or_not, shapes, unions

ALL: dict[str, Any] = {"parts": "graph+tree+sweep", "gated": True, "edge_states": True}


def answers(network: Any, graphs: list[Data], settings: dict[str, str]) -> Tensor:
    batch = Batch.from_data_list([with_tree(graph, settings) for graph in graphs])
    with torch.no_grad():
        found: Tensor = network(batch.x, network.plan(batch), edge_attr=batch.edge_attr)
    return found


@pytest.mark.parametrize("mix", ["tree", "graph and tree, edge states", "gated sweep", "codes"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(shapes(), unions(), connected_or_not(14)), st.integers(0, 10**6))
def test_any_graph_has_the_same_answers_in_any_numbering(mix: str, graph: nx.Graph, seed: int) -> None:
    if not graph.number_of_nodes():
        return
    network = network_of(CODED if mix == "codes" else MIXES[mix]).eval()
    data = featured(nx.convert_node_labels_to_integers(graph), seed)
    first, second = answers(network, [data, permuted(data, seed)], CANONICAL)
    torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_states_of_nodes_move_with_them(shape: str) -> None:
    network = network_of(ALL).eval()
    data = featured(SHAPES[shape])
    other = permuted(data, 5)
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(5))
    found = []
    for each in (data, other):
        given = with_tree(each)
        found.append(network.states(given.x, network.plan(given), given.edge_attr)[0])
    torch.testing.assert_close(found[1], found[0][order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["zinc", "hiv"])
def test_molecules_have_the_same_answers_in_any_numbering(data_root: Path, name: str) -> None:
    """In float32, as networks are used."""
    task = load_task(DataSpec(dataset=name, data_root=str(data_root)))
    torch.manual_seed(0)
    spec = NetworkSpec(schedule="bags", parts="graph+tree+sweep", hidden=32, layers=4, edge_states=True, gated=True)
    network = spec.build(task).eval()
    listed = [task.graphs[number] for number in range(0, len(task.graphs), len(task.graphs) // 100)][:100]
    plain = [Data(x=each.x, edge_index=each.edge_index, edge_attr=each.edge_attr, y=each.y) for each in listed]
    other = [permuted(each, seed) for seed, each in enumerate(plain)]
    first, second = (answers(network, graphs, CANONICAL) for graphs in (plain, other))
    assert len(first) == 100 and float(first.std()) > 1e-3, "answers differ between molecules"
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)
    cut = [answers(network, graphs, PAPER) for graphs in (plain, other)]
    changed = ((cut[0] - cut[1]).abs() > 1e-4).any(1)
    assert int(changed.sum()) > 50, "rings are cut in another way, so that this test could fail"


def test_min_fill_trees_depend_on_the_numbering() -> None:
    network = network_of(MIXES["tree"]).eval()
    data = featured(SHAPES["molecule"])
    first, second = answers(network, [data, permuted(data, 1)], PAPER)
    assert float((first - second).abs().max()) > 1e-4


def test_another_graph_has_other_answers() -> None:
    """Two triangles or a hexagon: every node has the same neighbours, the trees differ."""
    network = network_of(MIXES["tree"], edges=False).eval()
    graphs = [nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))]
    given = [featured(graph, edge_features=False) for graph in graphs]
    for each in given:
        each.x = torch.ones_like(each.x)
    first, second = answers(network, given, CANONICAL)
    assert float((first - second).abs().max()) > 1e-3
    plain = network_of(MIXES["graph"], edges=False).eval()
    first, second = answers(plain, given, CANONICAL)
    torch.testing.assert_close(first, second, rtol=1e-12, atol=1e-12)
