"""Molecules by name: official splits, both directions of every bond, PyG's and OGB's own files, and broken ones."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

import neuraltrees as nt
from neuraltrees.data.packed import PackedGraphs
from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.datasets.molecules import moleculenet, peptides, zinc
from neuraltrees.objectives import MultiLabel, Regression

SETS = {
    "zinc": ("molecules/zinc/zinc12k.npz", (10_000, 1_000, 1_000), 277_864, "mae"),
    "peptides-func": ("molecules/peptides/peptides_func.npz", (10_873, 2_331, 2_331), 2_344_859, "average-precision"),
    "esol": ("molecules/moleculenet/esol.npz", (902, 113, 113), 14_991, "rmse"),
    "freesolv": ("molecules/moleculenet/freesolv.npz", (513, 64, 65), 5_600, "rmse"),
    "bace": ("molecules/moleculenet/bace.npz", (1_210, 151, 152), 51_577, "roc-auc"),
    "tox21": ("molecules/moleculenet/tox21.npz", (6_264, 783, 784), 145_459, "roc-auc"),
    "hiv": ("molecules/moleculenet/hiv.npz", (32_901, 4_113, 4_113), 1_049_163, "roc-auc"),
}


@pytest.mark.parametrize("name", SETS)
def test_official_split_metric_and_bonds_in_both_directions(name: str, data_root: Path) -> None:
    path, counts, nodes, metric = SETS[name]
    task = load_task(DataSpec(dataset=name, data_root=str(data_root)))
    assert (task.split(0).counts, task.num_nodes, task.objective.metric.name) == (counts, nodes, metric)
    assert task.split(0) == task.split(7)
    task.check_split(task.split(0))
    with np.load(data_root / path) as stored:
        first = {key.removeprefix("train_"): stored[key] for key in stored.files if not key.startswith(("val", "test"))}
    end = int(first["edge_ptr"][1])
    pairs = {tuple(pair) for pair in first["edge"][:, :end].T.tolist()}
    graph = task.graphs[0]
    found = [tuple(pair) for pair in graph.edge_index.t().tolist()]
    assert len(found) == 2 * end
    assert set(found) == pairs | {(v, u) for u, v in pairs}
    attr = dict(zip(found, graph.edge_attr.tolist(), strict=True))
    assert all(attr[u, v] == attr[v, u] for u, v in found)
    bonds = first["bond" if name == "zinc" else "edge_attr"][:end].reshape(end, -1)
    assert [attr[u, v] for u, v in first["edge"][:, :end].T.tolist()] == bonds.tolist()
    assert graph.x.tolist() == first["x"][: int(first["node_ptr"][1])].reshape(graph.num_nodes, -1).tolist()
    assert graph.x.dtype == graph.edge_attr.dtype == torch.int64


def test_targets_are_standardised_by_the_training_part(data_root: Path) -> None:
    task = load_task(DataSpec(dataset="esol", data_root=str(data_root)))
    assert isinstance(task.objective, Regression)
    y = task.y[task.split(0).train]
    assert task.objective.mean == pytest.approx((float(y.mean()),), rel=1e-5)
    assert task.objective.std == pytest.approx((float(y.std()),), rel=1e-5)


def test_missing_labels_of_tox21(data_root: Path) -> None:
    task = load_task(DataSpec(dataset="tox21", data_root=str(data_root)))
    assert isinstance(task.objective, MultiLabel)
    assert task.objective.labels[0] == "NR-AR"
    assert 0.1 < float(task.y.isnan().float().mean()) < 0.2


def tiny(count: int = 6, seed: int = 0) -> PackedGraphs:
    """Rings with features of OGB's kind and one target."""
    draw = torch.Generator().manual_seed(seed)
    sizes = torch.randint(3, 7, (count,), generator=draw)
    ptr = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
    ring = [torch.stack([torch.arange(n), (torch.arange(n) + 1) % n]) for n in sizes.tolist()]
    total = int(ptr[-1])
    x = torch.randint(0, 2, (total, 9), generator=draw)
    attr = torch.randint(0, 2, (total, 3), generator=draw)
    return PackedGraphs.of_edges(x, torch.cat(ring, 1), torch.randn(count, 1, generator=draw), ptr, ptr, attr)


def same(first: PackedGraphs, second: PackedGraphs) -> None:
    for one, other in zip(first, second, strict=True):
        assert one.to_dict().keys() == other.to_dict().keys()
        assert all(torch.equal(one[name], other[name]) for name in one.keys())  # noqa: SIM118  Data iterates over pairs


def test_the_processed_files_of_pyg(tmp_path: Path) -> None:
    parts = [tiny(count, seed) for seed, count in enumerate((6, 3, 4))]
    for folder in ("ZINC/subset/processed", "LRGB/peptides-func/processed"):
        (tmp_path / folder).mkdir(parents=True)
        for name, part in zip(("train", "val", "test"), parts, strict=True):
            InMemoryDataset.save(part.graphs(), str(tmp_path / folder / f"{name}.pt"))
    for read in (zinc, peptides):
        packed, part = read(tmp_path)
        same(packed, PackedGraphs.join(parts))
        assert part.tolist() == [0] * 6 + [1] * 3 + [2] * 4


def test_the_raw_files_of_pyg(tmp_path: Path) -> None:
    """ZINC's are pickles of tensors with a list of places, those of Peptides are tuples."""
    part = tiny(5)
    attr = part.edge_attr
    assert attr is not None
    (tmp_path / "ZINC" / "raw").mkdir(parents=True)
    (tmp_path / "peptides-func" / "raw").mkdir(parents=True)
    molecules = []
    for graph in part:
        bonds = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.int32)
        bonds[graph.edge_index[0], graph.edge_index[1]] = 1 + graph.edge_attr[:, 0].int()
        target = {"num_atom": graph.num_nodes, "atom_type": graph.x[:, 0].clone(), "bond_type": bonds}
        molecules.append(target | {"logP_SA_cycle_normalized": graph.y[0].clone()})
    tuples = [(graph.x, graph.edge_attr, graph.edge_index, graph.y) for graph in part]
    for name, places in (("train", "3,0"), ("val", "1"), ("test", "2,4\n")):
        (tmp_path / "ZINC" / "raw" / f"{name}.pickle").write_bytes(pickle.dumps(molecules, protocol=2))
        (tmp_path / "ZINC" / "raw" / f"{name}.index").write_text(places)
        torch.save(tuples, tmp_path / "peptides-func" / "raw" / f"{name}.pt")
    found, parts = zinc(tmp_path)
    assert parts.tolist() == [0, 0, 1, 2, 2]
    graphs = part.graphs()
    for mine, other in zip(found, (graphs[place] for place in (3, 0, 1, 2, 4)), strict=True):
        assert torch.equal(mine.x, other.x[:, :1]) and torch.equal(mine.y, other.y)
        first, second = (
            {(*ends, *bond) for ends, bond in zip(g.edge_index.t().tolist(), attr.tolist(), strict=True)}
            for g, attr in ((mine, mine.edge_attr), (other, 1 + other.edge_attr[:, :1]))
        )
        assert first == second
    same(peptides(tmp_path)[0], PackedGraphs.join([part] * 3))
    torch.save([torch.ones(2)], tmp_path / "peptides-func" / "raw" / "train.pt")
    with pytest.raises(nt.InputError, match="a list of graphs as tuples of four tensors"):
        peptides(tmp_path)
    (tmp_path / "ZINC" / "raw" / "train.pickle").write_bytes(pickle.dumps([Evil()]))
    with pytest.raises(nt.InputError, match=r"a pickle of tensors and nothing else; .*print.* Nothing in it was run"):
        zinc(tmp_path)
    (tmp_path / "ZINC" / "raw" / "train.pickle").write_bytes(pickle.dumps([{"atoms": 1}] * 9, protocol=2))
    with pytest.raises(nt.InputError, match="the list of molecules of ZINC; got: KeyError"):
        zinc(tmp_path)


def test_the_shared_files_and_those_of_pyg_are_alike(data_root: Path, tmp_path: Path) -> None:
    """ZINC as PyG keeps it: sorted edges and bonds without a second dimension."""
    packed, part = zinc(data_root)
    graphs = packed.graphs()
    (tmp_path / "zinc" / "subset" / "processed").mkdir(parents=True)
    for number, name in enumerate(("train", "val", "test")):
        mine = [graphs[place] for place in (part == number).nonzero().flatten()[:50].tolist()]
        as_pyg = [Data(x=g.x, edge_index=g.edge_index, edge_attr=g.edge_attr[:, 0], y=g.y) for g in mine]
        InMemoryDataset.save(as_pyg, str(tmp_path / "zinc" / "subset" / "processed" / f"{name}.pt"))
    task = load_task(DataSpec(dataset="zinc", data_root=str(tmp_path)))
    assert task.split(0).counts == (50, 50, 50)
    assert torch.equal(task.graphs[3].edge_attr, graphs[3].edge_attr)
    assert task.features == load_task(DataSpec(dataset="zinc", data_root=str(data_root))).features


def write_ogb(folder: Path, packed: PackedGraphs, split: list[list[int]]) -> None:
    def write(name: str, rows: Any) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = "".join(",".join("" if np.isnan(c) else f"{c:g}" for c in row) + "\n" for row in rows)
        (folder / name).write_bytes(gzip.compress(text.encode()))

    once = packed.edge_index[:, ::2]
    write("raw/num-node-list.csv.gz", packed.num_nodes.unsqueeze(1).tolist())
    write("raw/num-edge-list.csv.gz", (packed.num_edges // 2).unsqueeze(1).tolist())
    write("raw/node-feat.csv.gz", packed.x.tolist())
    write("raw/edge-feat.csv.gz", packed.edge_attr[::2].tolist() if packed.edge_attr is not None else [])
    write("raw/edge.csv.gz", once.t().tolist())
    write("raw/graph-label.csv.gz", packed.y.tolist())
    for name, places in zip(("train", "valid", "test"), split, strict=True):
        write(f"split/scaffold/{name}.csv.gz", [[place] for place in places])


def test_the_raw_files_of_ogb(tmp_path: Path) -> None:
    packed = tiny()
    labels = torch.tensor([[0.0], [1.0], [torch.nan], [1.0], [0.0], [1.0]])
    packed = PackedGraphs(packed.x, packed.edge_index, labels, packed.node_ptr, packed.edge_ptr, packed.edge_attr)
    write_ogb(tmp_path / "ogbg_molbace", packed, [[0, 3, 2], [1], [4, 5]])
    found, part = moleculenet("bace", tmp_path)
    assert part.tolist() == [0, 1, 0, 0, 2, 2]
    assert torch.equal(found.y.nan_to_num(-1), labels.nan_to_num(-1))
    assert torch.equal(found.x, packed.x) and torch.equal(found.edge_index, packed.edge_index)
    task = load_task(DataSpec(dataset="bace", data_root=str(tmp_path)))
    assert task.split(3).counts == (3, 1, 2)
    (tmp_path / "ogbg_molbace" / "raw" / "edge-feat.csv.gz").unlink()
    with pytest.raises(nt.InputError, match=r"Expected the file .*edge-feat.csv.gz, beside the others"):
        moleculenet("bace", tmp_path)


@pytest.mark.parametrize("name", SETS)
def test_missing_data_says_where_it_was_looked_for_and_what_to_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(nt.InputError) as caught:
        load_task(DataSpec(dataset=name, data_root=str(tmp_path)))
    message = str(caught.value)
    assert str(tmp_path) in message and SETS[name][0] in message
    assert "downloads it" in message and "NEURALTREES_DATA" in message


@pytest.mark.parametrize("share", [0.3, 0.8, 0.99])
def test_a_file_cut_short(share: float, data_root: Path, tmp_path: Path) -> None:
    content = (data_root / SETS["esol"][0]).read_bytes()
    path = tmp_path / SETS["esol"][0]
    path.parent.mkdir(parents=True)
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(nt.InputError, match=r"esol.npz to be an .npz file of plain arrays; got: .* get it again"):
        moleculenet("esol", tmp_path)


def test_arrays_that_do_not_fit(data_root: Path, tmp_path: Path) -> None:
    with np.load(data_root / SETS["esol"][0]) as file:
        arrays = {name: file[name] for name in file.files}
    path = tmp_path / SETS["esol"][0]
    path.parent.mkdir(parents=True)
    np.savez(path, **(arrays | {"x": arrays["x"][:-1]}))
    with pytest.raises(nt.InputError, match=r"esol.npz: Expected 1,129 rising places where the nodes of 1,128 graphs"):
        moleculenet("esol", tmp_path)
    edge = arrays["edge"].copy()
    edge[0, 5] = 77
    np.savez(path, **(arrays | {"edge": edge}))
    with pytest.raises(nt.InputError, match=r"Expected edges of graph 0 between the nodes 0 to 31; got one between 77"):
        moleculenet("esol", tmp_path)
    del arrays["split"]
    np.savez(path, **arrays)
    with pytest.raises(nt.InputError, match="got no split among x, edge"):
        moleculenet("esol", tmp_path)


def test_a_pickle_in_place_of_arrays_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / SETS["esol"][0]
    path.parent.mkdir(parents=True)
    names = ("x", "edge", "edge_attr", "node_ptr", "edge_ptr", "y", "split")
    np.savez(path, **{name: np.array([{"a": 1}], dtype=object) for name in names})
    with pytest.raises(nt.InputError, match="allow_pickle=False"):
        moleculenet("esol", tmp_path)


class Evil:
    def __reduce__(self) -> Any:
        return (print, ("run",))


def test_code_in_a_processed_file_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "ZINC" / "subset" / "processed"
    folder.mkdir(parents=True)
    torch.save((Evil(), {}), folder / "train.pt")
    with pytest.raises(nt.InputError, match=r"cannot be read safely: .* Nothing in it was run"):
        zinc(tmp_path)
    assert capsys.readouterr().out == ""
    torch.save({"weights": torch.ones(2)}, folder / "train.pt")
    with pytest.raises(nt.InputError, match="to hold graphs with x, edge_index and y"):
        zinc(tmp_path)
    content = (folder / "train.pt").read_bytes()
    (folder / "train.pt").write_bytes(content[: len(content) // 2])
    with pytest.raises(nt.InputError, match="cannot be read safely"):
        zinc(tmp_path)
