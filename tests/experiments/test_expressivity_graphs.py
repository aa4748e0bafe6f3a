"""The comparison of pairs of graphs: its statistic, its check for false positives, and the experiment itself."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import f as fisher

import neuraltrees as nt
from neuraltrees.data.trees import TreeSettings
from neuraltrees.datasets.expressivity import GraphPair
from neuraltrees.experiments import expressivity_graphs, told_apart
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.page import Table
from neuraltrees.experiments.told_apart import ANSWERS, COPIES, THRESHOLD, Rival, compare, renumbered, statistic
from tests.nn.schedule.bag_graphs import featured

HEXAGON, TRIANGLES = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
PRISM, K33 = nx.circular_ladder_graph(3), nx.complete_bipartite_graph(3, 3)


def pair_of(first: nx.Graph, second: nx.Graph) -> GraphPair:
    return GraphPair("own", featured(first, edge_features=False), featured(second, edge_features=False))


def verdicts(pair: GraphPair, rivals: list[Rival], seed: int = 0) -> list[bool]:
    found = compare(pair, [(rival, rival.build(8, 3, 0)) for rival in rivals], seed)
    assert all(each.reliable for each in found)
    return [each.told_apart for each in found]


def test_the_threshold_is_that_of_hotellings_test() -> None:
    share = fisher.ppf(0.95, ANSWERS, COPIES - ANSWERS)
    assert (COPIES - 1) * ANSWERS / (COPIES - ANSWERS) * share == pytest.approx(THRESHOLD, abs=0.02)


def test_the_statistic_is_hotellings() -> None:
    draw = np.random.default_rng(0)
    values = draw.normal(size=(32, 16)) @ draw.normal(size=(16, 16)) + 0.3
    mean, covariance = values.mean(0), np.cov(values.T)
    expected = 32 * mean @ np.linalg.inv(covariance) @ mean
    assert statistic(torch.from_numpy(values)) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(nt.InputError, match="Expected more differences than answers; got 8 of 16 answers"):
        statistic(torch.zeros(8, 16))


def test_differences_by_rounding_are_none() -> None:
    noise = 1e-13 * torch.randn(32, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert statistic(noise) < 1
    assert statistic(noise + 1e-8) > THRESHOLD


def test_copies_are_isomorphic_and_other_ones() -> None:
    graph = featured(nx.petersen_graph(), edge_features=False)
    draw = torch.Generator().manual_seed(0)
    copies = [renumbered(graph, draw) for _ in range(3)]
    for copy in copies:
        assert nx.is_isomorphic(nx.Graph(copy.edge_index.t().tolist()), nx.petersen_graph())
    edges = [frozenset(map(tuple, copy.edge_index.t().tolist())) for copy in copies]
    assert len(set(edges)) == 3


def test_trees_and_codes_tell_apart_what_a_gnn_does_not() -> None:
    rivals = [Rival("graph"), Rival("tree"), Rival("graph+tree"), Rival("graph", walks=6)]
    assert verdicts(pair_of(HEXAGON, TRIANGLES), rivals) == [False, True, True, True]
    coded = [Rival("graph+tree"), Rival("graph+tree", codes=True), Rival("tree", codes=True)]
    assert verdicts(pair_of(PRISM, K33), coded) == [False, True, True]


def test_isomorphic_graphs_are_not_told_apart() -> None:
    for graph in (HEXAGON, PRISM, nx.petersen_graph(), nx.frucht_graph()):
        order = list(reversed(range(len(graph))))
        other = nx.relabel_nodes(graph, dict(enumerate(order)))
        same = nx.Graph(sorted(tuple(sorted(edge)) for edge in other.edges))
        pair = pair_of(graph, nx.convert_node_labels_to_integers(same, ordering="sorted"))
        assert not any(verdicts(pair, list(expressivity_graphs.RIVALS.values())))


def test_answers_on_min_fill_trees_differ_between_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Min-fill cuts rings into triangles as the numbers say: copies of a graph differ by more than rounding."""
    settings = TreeSettings(None, 0, "elimination", "min_fill", "bag")
    monkeypatch.setattr(told_apart, "TREES", settings)
    rival = Rival("tree", walks=6)
    ladder = nx.Graph([*nx.ladder_graph(6).edges, (0, 12), (3, 13)])
    found = [compare(pair_of(ladder, ladder), [(rival, rival.build(8, 3, 0))], seed)[0] for seed in range(3)]
    assert min(each.same for each in found) > 1, "on canonical trees it is below 1e-4"
    monkeypatch.undo()
    (found_canonical,) = compare(pair_of(ladder, ladder), [(rival, rival.build(8, 3, 0))], 0)
    assert found_canonical.same < 1e-4


def test_a_biased_comparison_of_copies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the last copies were of another graph, the check would say so."""
    plain = told_apart.renumbered
    given = iter(range(10**6))

    def other(graph: object, draw: torch.Generator) -> object:
        number = next(given)
        return plain(featured(TRIANGLES if number >= 2 * COPIES else HEXAGON, edge_features=False), draw)

    monkeypatch.setattr(told_apart, "renumbered", other)
    (found,) = compare(pair_of(HEXAGON, TRIANGLES), [(Rival("tree"), Rival("tree").build(8, 3, 0))], 0)
    assert not found.reliable and not found.told_apart


def test_the_experiment_goes_on_where_it_was(data_root: Path, tmp_path: Path) -> None:
    path, told = tmp_path / "expressivity-graphs.json", list[str]()
    scale = Scale(quick=True, only="simple regular", data_root=str(data_root))
    results = expressivity_graphs.measure(scale, path, told.append)
    assert len(told) == 1 and told[0].startswith("simple regular, 2 pairs: GNN 0, GNN, random walks 2")
    assert expressivity_graphs.measure(scale, path, lambda line: pytest.fail(line)) == results
    (record,) = results.records
    assert record["told_apart"]["graph and tree, codes"] == [0, 1] and not any(record["unreliable"].values())
    text, table = expressivity_graphs.EXPERIMENT.show(results, tmp_path)
    assert isinstance(text, str) and "reliable paired comparison" in text and isinstance(table, Table)
    assert table.header[1:3] == ["simple regular (2)", "BREC (2)"]


def test_cells_are_those_of_the_benchmarks() -> None:
    found = {(cell.name["dataset"], cell.name["network"]): cell.config for cell in expressivity_graphs.cells(Scale())}
    assert {name: config.runs for (name, _), config in found.items()} == {"exp": 10, "csl": 5}
    assert all(config.walks == 0 and not config.bag_codes for (name, _), config in found.items() if name == "exp")
    assert found["csl", "graph and tree, random walks"].walks == 20


@pytest.mark.parametrize("workers", [2])
def test_several_processes_give_the_same(data_root: Path, workers: int) -> None:
    pairs = expressivity_graphs.pairs_of("basic", str(data_root))[:2]
    assert expressivity_graphs.judged(pairs, workers) == expressivity_graphs.judged(pairs, 1)
