"""The largest treewidth bound whose H-tree has at most a number of nodes."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from typer.testing import CliRunner

import neuraltrees as nt
from neuraltrees.cli import app
from neuraltrees.datasets import CitationNetwork
from neuraltrees.datasets.spec import DataSpec
from neuraltrees.decomposition.decompose import Method
from neuraltrees.htree.build import Terminal
from tests.oracle import strategies
from tests.oracle.bridge import to_graph


def tree_nodes(graph: nt.Graph, k: int | None, method: Method = "min_fill", terminal: Terminal = "clique") -> int:
    """The size of the tree that the transform builds."""
    rows = torch.as_tensor(graph.edge_index)
    data = Data(edge_index=rows, num_nodes=graph.num_nodes)
    return nt.attach_htree(data, k, method, terminal=terminal).htree.num_nodes


@settings(max_examples=60)
@given(strategies.graphs(14), st.floats(0, 1.2), st.sampled_from([("min_fill", "clique"), ("canonical", "bag")]))
def test_the_next_larger_bound_exceeds_the_number(plain: nx.Graph, share: float, how: tuple[Method, Terminal]) -> None:
    graph = to_graph(plain)
    least, most = tree_nodes(graph, 1, *how), tree_nodes(graph, None, *how)
    limit = max(least, least + round(share * (most - least)))
    k = nt.largest_treewidth_bound(graph, limit, how[0], terminal=how[1])
    assert tree_nodes(graph, k, *how) <= limit
    whole = nt.sample_bounded_treewidth(graph, k, restarts=4).kept == 1
    assert whole or tree_nodes(graph, k + 1, *how) > limit


def test_several_graphs_share_the_number() -> None:
    graphs = [to_graph(nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, size))) for size in (4, 9)]
    one, two, three = (sum(tree_nodes(graph, k) for graph in graphs) for k in (1, 2, 3))
    assert one < two < three
    assert [nt.largest_treewidth_bound(graphs, limit) for limit in (two - 1, two, three - 1)] == [1, 2, 2]


def test_a_number_that_no_tree_has_is_refused() -> None:
    triangle = to_graph(nx.complete_graph(3))
    assert tree_nodes(triangle, 2) < tree_nodes(triangle, 1), "a complete bag has fewer nodes below it than its edges"
    assert nt.largest_treewidth_bound(triangle, tree_nodes(triangle, 2)) == 2
    with pytest.raises(nt.InputError, match=r"^Expected max_tree_nodes of at least 4, .*; got 3\.$"):
        nt.largest_treewidth_bound(triangle, 3)


def test_cora_keeps_nearly_all_edges_in_a_tree_of_the_size_of_the_paper(data_root: Path) -> None:
    graph = nt.Graph.from_data(CitationNetwork("cora", data_root)[0])
    paper = nt.build_htree(*nt.sample_bounded_treewidth(graph, 4, sampler="paper")).num_nodes
    k = nt.largest_treewidth_bound(graph, paper)
    sample = nt.sample_bounded_treewidth(graph, k, restarts=4)
    assert nt.build_htree(*sample).num_nodes <= paper
    assert sample.kept > 0.95


def test_command_and_dataset_use_the_same_bound(tmp_path: Path) -> None:
    mesh = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))
    limit = tree_nodes(to_graph(mesh), 3)
    k = nt.largest_treewidth_bound(to_graph(mesh), limit)
    file = tmp_path / "mesh.csv"
    file.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in mesh.edges))
    ran = CliRunner().invoke(app, ["htree", str(file), "--max-tree-nodes", str(limit), "--json"])
    facts = json.loads(ran.stdout)
    assert facts["treewidth_bound"] == k and facts["htree_nodes"] <= limit, ran.output
    both = CliRunner().invoke(app, ["htree", str(file), "--max-tree-nodes", "9", "--k", "2"])
    assert both.exit_code != 0
    task = nt.load_task(DataSpec(dataset="synthetic", scenes=10, max_tree_nodes=10_000))
    trees = [graph.htree.num_nodes for graph in task.with_trees().graphs]
    assert task.max_treewidth is not None and sum(trees) <= 10_000
