"""Networks in parts, by several processes: the losses, answers and gradients of one process."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.nn import GraphConv

from neuraltrees.errors import InputError
from neuraltrees.nn import NeuralTree, TreeRounds
from neuraltrees.nn.parallel import Group, forest_parts
from tests.nn.parallel.parted import CLASSES, FEATURES, Case, data_of, part, random_forest, swept, whole
from tests.processes import MOST, Processes, processes

CASES = [
    *(Case(conv, graph) for conv in ("gcn", "sage", "gat", "gin") for graph in ("forest", "cycles", "star", "two")),
    *(Case(conv, model="graph") for conv in ("gcn", "sage", "gat", "gin")),
    *(Case(conv, dropout=0.4) for conv in ("gcn", "gat")),
    *(Case(conv, edges=True) for conv in ("gcn", "sage", "gat", "gin")),
    Case("gcn", edges=True, model="graph"),
    Case("sage", layers=1),
    Case("sage", layers=5, options={"residual": True, "layer_norm": True}),
    Case("gat", layers=4, options={"residual": True, "relations": True}),
    Case("gcn", options={"merge": False}, dropout=0.3),
    Case("gin", model="graph", dropout=0.2, options={"residual": True}),
    *(Case(conv, dropout=0.3, options={"bag_start": "mean"}) for conv in ("gcn", "sage", "gat", "gin")),
    *(Case("gcn", graph, options={"bag_start": "sum"}) for graph in ("forest", "star", "two")),
    Case("gin", edges=True, options={"bag_start": "mean", "merge": False}),
    Case("sage", layers=4, edges=True, options={"bag_start": "sum", "residual": True, "relations": True}),
    # Tree beside graph, by layers on nodes and bags, and sweeps.
    Case("bags", dropout=0.3, bags={"parts": "graph+tree"}),
    Case("bags", "forest", bags={"parts": "tree"}, options={"layer_norm": True}),
    Case("bags", "star", bags={"parts": "graph+tree+sweep"}),
    Case("bags", "two", bags={"parts": "graph+tree+sweep", "gated": True}),
    Case("bags", bags={"parts": "graph+tree+sweep", "gated": True, "edge_states": True}, edges=True, dropout=0.2),
    Case("bags", bags={"parts": "sweep", "edge_states": True, "codes": True}),
    Case("bags", "forest", bags={"parts": "sweep", "start": "mean"}, edges=True),
    Case("bags", bags={"parts": "graph"}, edges=True),
]


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with processes(tmp_path_factory.mktemp("processes")) as started:
        yield started


@pytest.mark.parametrize("case", CASES, ids=str)
def test_parts_make_the_whole(case: Case, together: Processes) -> None:
    loss, answers, gradients, statistics = whole(case)
    for size in range(1, MOST + 1):
        found = together.run(size, part, case)
        owned = torch.cat([each["owned"] for each in found])
        assert torch.equal(owned.sort().values, torch.arange(len(answers)))  # every node is answered for once
        torch.testing.assert_close(torch.cat([each["answers"] for each in found]), answers[owned], rtol=0, atol=1e-9)
        for each in found:
            torch.testing.assert_close(each["loss"], loss, rtol=1e-9, atol=0)
            torch.testing.assert_close(each["gradients"], gradients, rtol=1e-7, atol=1e-9)
            torch.testing.assert_close(each["statistics"], statistics, rtol=1e-9, atol=1e-9)


def rows_by_hand(case: Case, size: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """What every process sends in a step without merged states, in rows: at cut edges and of leaf sums, the tree edges
    that are cut at it, and the graph nodes that it shares; counted edge by edge.
    """
    data = case.data()
    schedule, tree = case.network().schedule, data.htree
    assert isinstance(schedule, TreeRounds)
    cut = schedule.cut(data, size)
    edges = tree.edge_index.t().tolist()
    needed = {node for node, graph_node in enumerate(tree.kappa.tolist()) if graph_node >= 0}
    halo, cuts = [0] * size, [0] * size
    for _ in range(case.layers - 1):
        pairs = {(u, cut.part[w]) for u, w in edges if w in needed and cut.part[u] != cut.part[w]}
        for u, reader in pairs:  # a state forth, its gradient back
            halo[cut.part[u]] += 1
            halo[reader] += 1
        needed |= {u for u, w in edges if w in needed}
    for u, w in edges:
        cuts[cut.part[u]] += int(cut.part[u] != cut.part[w])
    sums, shared = [0] * size, [set[int]() for _ in range(size)]
    leaves = {(v, int(cut.part[node])) for node, v in enumerate(tree.kappa.tolist()) if v >= 0}
    for v, holder in leaves:
        if holder != cut.owner[v]:
            for each in (holder, cut.owner[v]):
                sums[each] += 1
                shared[each].add(v)
    return halo, sums, cuts, [len(each) for each in shared]


@pytest.mark.parametrize("graph", ["forest", "cycles", "star"])
def test_bytes_are_those_of_the_formula(graph: str, together: Processes) -> None:
    plain = Case("gcn", graph, layers=4, options={"merge": False})
    merged = Case("gcn", graph, layers=4)
    state = plain.runs * 6 * 8  # numbers of 8 bytes
    for size in range(2, MOST + 1):
        halo, sums, cuts, shared = rows_by_hand(plain, size)
        found = [each["sent"] for each in together.run(size, part, plain)]
        assert [each.get("halo", 0) for each in found] == [state * rows for rows in halo]
        assert [each.get("sums", 0) for each in found] == [state * rows for rows in sums]
        # Merged states are cut elsewhere, since what is computed differs; they never send more than cut edges ask for.
        _, _, cuts, _ = rows_by_hand(merged, size)
        found = [each["sent"] for each in together.run(size, part, merged)]
        for each, at in zip(found, cuts, strict=True):
            assert each.get("halo", 0) <= (plain.layers - 1) * 2 * at * state
        assert sum(shared) or graph == "forest"


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("nodes", [1, 2, 7, 40])
def test_sweeps_over_forests_that_are_cut_anywhere(nodes: int, gated: bool, together: Processes) -> None:
    for size in range(1, MOST + 1):
        _, sums, of_values, gradients, _ = swept(None, nodes, size, gated)
        parent, of_node = random_forest(nodes, size)
        cuts = sum(int(above >= 0 and of_node[above] != of_node[node]) for node, above in enumerate(parent.tolist()))
        for rows, own, of_own, of_all, sent in together.run(size, swept, nodes, size, gated):
            if not gated:  # three numbers per cut and channel up, one down, and their gradients
                assert sent == 2 * (3 + 1) * cuts * 3 * 8
            torch.testing.assert_close(own, sums[rows], rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(of_own, of_values[rows], rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(of_all, gradients, rtol=1e-9, atol=1e-12)


def test_bags_are_cut_at_few_edges() -> None:
    """A path of 400 nodes in 8 parts is cut at two edges per boundary at most."""
    data = data_of(nx.path_graph(400))
    network = Case("gcn", "two").network()
    assert isinstance(network.schedule, TreeRounds)
    cut = network.schedule.cut(data, 8)
    assert cut.cuts.sum() <= 4 * 7  # both ends count
    work = cut.work(2.0, pools=True)
    assert work.max() / work.mean() < 1.1


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_path_is_halved_by_one_cut(nodes: int, parts: int) -> None:
    path = torch.arange(nodes)
    found = torch.from_numpy(forest_parts(torch.stack([path[:-1], path[1:]]), np.ones(nodes), parts))
    sizes = found.bincount(minlength=parts)
    assert sizes.max() - sizes.min() <= 1
    assert int((found.diff() != 0).sum()) == int((sizes > 0).sum()) - 1


def test_a_network_that_cannot_be_cut_says_so() -> None:
    data = data_of(nx.path_graph(4))
    with pytest.raises(InputError, match="Expected a head that can be computed in parts"):
        NeuralTree(FEATURES, 4, CLASSES, head="graph").part_plan(data, Group())
    with pytest.raises(InputError, match="Expected rounds that can be computed in parts"):
        NeuralTree(FEATURES, 4, CLASSES, conv=GraphConv).part_plan(data, Group())
    with pytest.raises(InputError, match="Expected a rank from 0 to 1; got 2"):
        Group(2, 2)
