"""CSL, EXP, BREC and SR25: counts, folds, and that 1-WL cannot tell the pairs apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.utils import to_networkx

import neuraltrees as nt
from neuraltrees.datasets import DataSpec, brec, load_task, sr25
from neuraltrees.datasets.expressivity import classified


@pytest.mark.parametrize(("name", "counts", "classes"), [("csl", (90, 30, 30), 10), ("exp", (960, 120, 120), 2)])
def test_cross_validation(name: str, counts: tuple[int, int, int], classes: int, data_root: Path) -> None:
    task = load_task(DataSpec(dataset=name, data_root=str(data_root)))
    folds = sum(counts) // counts[2]
    splits = [task.split(seed) for seed in range(folds)]
    assert all(split.counts == counts for split in splits)
    assert torch.stack([split.test for split in splits]).sum(0).unique().tolist() == [1]
    for split in splits:
        assert task.y.flatten()[split.test].bincount().tolist() == [counts[2] // classes] * classes


def test_classes_of_csl_are_skip_lengths(data_root: Path) -> None:
    task = load_task(DataSpec(dataset="csl", data_root=str(data_root)))
    seen = {}
    for graph in task.graphs:
        step = (graph.edge_index[1] - graph.edge_index[0]) % 41
        lengths = set(torch.minimum(step, 41 - step).tolist())
        if lengths >= {1} and len(lengths) == 2:  # numbered along the cycle
            seen[int(graph.y)] = max(lengths)
    names = task.labels["graph"]
    assert seen and all(names[label] == f"skip length {length}" for label, length in seen.items())


def test_csl_as_pyg_saves_it(data_root: Path, tmp_path: Path) -> None:
    mine = classified("csl", data_root)
    # As `GNNBenchmarkDataset` makes them: without features, with a plain integer as label.
    graphs = [Data(edge_index=g.edge_index, y=int(g.y), num_nodes=g.num_nodes) for g in mine]
    (tmp_path / "CSL" / "processed").mkdir(parents=True)
    InMemoryDataset.save(graphs, str(tmp_path / "CSL" / "processed" / "data.pt"))
    other = classified("csl", tmp_path)
    assert all(torch.equal(getattr(mine, name), getattr(other, name)) for name in ("x", "edge_index", "y", "node_ptr"))


def refined(graph: nx.Graph) -> Counter[int]:
    """Colours of 1-WL when they no longer change, named alike in all graphs."""
    colours = dict.fromkeys(graph, 0)
    for _ in range(graph.number_of_nodes()):
        new = {v: hash((colours[v], tuple(sorted(colours[u] for u in graph[v])))) for v in graph}
        if len(set(new.values())) == len(set(colours.values())):
            break
        colours = new
    return Counter(colours.values())


def test_pairs_of_brec_are_those_of_the_benchmark(data_root: Path) -> None:
    pairs = brec(data_root)
    assert Counter(pair.category for pair in pairs) == {
        "basic": 60,
        "simple regular": 50,
        "strongly regular": 50,
        "extension": 100,
        "CFI": 100,
        "4-vertex condition": 20,
        "distance regular": 20,
    }
    for pair in pairs:
        first, second = (to_networkx(graph, to_undirected=True) for graph in (pair.first, pair.second))
        assert first.number_of_nodes() == second.number_of_nodes()
        assert refined(first) == refined(second)
        if pair.category == "basic":  # small enough for an exact test
            assert not nx.is_isomorphic(first, second)


def test_pairs_of_sr25(data_root: Path) -> None:
    pairs = sr25(data_root)
    assert len(pairs) == 105
    for graph in (pairs[0].first, pairs[-1].second):
        assert graph.num_nodes == 25
        assert graph.edge_index[0].bincount().tolist() == [12] * 25


@pytest.mark.parametrize("name", ["brec", "sr25"])
def test_pairs_are_no_task(name: str) -> None:
    with pytest.raises(nt.InputError, match=rf"{name} has pairs of graphs .* neuraltrees.datasets.{name}\(\)"):
        load_task(DataSpec(dataset=name))


def test_broken_files(tmp_path: Path) -> None:
    with pytest.raises(nt.InputError, match="Expected BREC under the data root"):
        brec(tmp_path)
    folder = tmp_path / "brec"
    folder.mkdir()
    with pytest.raises(nt.InputError, match=r"Expected the file .*basic.npy, beside the others of BREC"):
        brec(tmp_path)
    np.save(folder / "basic.npy", np.array(["C~", "not graph6: \x01"]))
    with pytest.raises(nt.InputError, match=r"basic.npy to be an array of graphs in graph6"):
        brec(tmp_path)
    content = (folder / "basic.npy").read_bytes()
    (folder / "basic.npy").write_bytes(content[:-7])
    with pytest.raises(nt.InputError, match=r"basic.npy to be an array of graphs in graph6.*get it again"):
        brec(tmp_path)
