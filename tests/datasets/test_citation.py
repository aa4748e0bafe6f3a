"""The citation networks, their sparse features and their splits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.datasets import Planetoid
from torch_geometric.transforms import NormalizeFeatures

import neuraltrees as nt
from neuraltrees.data import attach_htree
from neuraltrees.datasets import CitationNetwork, citation_split
from neuraltrees.datasets.citation import row_normalised

SIZES = {"Cora": (2708, 10556, 1433, 7), "CiteSeer": (3327, 9104, 3703, 6), "PubMed": (19717, 88648, 500, 3)}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(data_root: Path, name: str) -> None:
    network = CitationNetwork(name, data_root)
    (data,) = network
    assert (data.num_nodes, data.num_edges, network.num_features, network.num_classes) == SIZES[name]
    assert data.x.layout == torch.sparse_csr
    assert data.x.shape == (data.num_nodes, network.num_features)
    assert repr(network) == f"CitationNetwork('{name}')"
    total = data.x.sum(1, keepdim=True).to_dense().flatten()
    assert ((total - 1).abs() < 1e-5).sum() == data.num_nodes - (15 if name == "CiteSeer" else 0)


def test_the_same_as_planetoid(data_root: Path, tmp_path: Path) -> None:
    shutil.copytree(data_root / "planetoid" / "Cora" / "raw", tmp_path / "Cora" / "raw")
    theirs = Planetoid(str(tmp_path), "Cora", transform=NormalizeFeatures())[0]
    ours = CitationNetwork("cora", data_root)[0]
    assert torch.allclose(ours.x.to_dense(), theirs.x)
    for name in ("edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours[name], theirs[name])


def test_nothing_is_written_into_the_data_root(data_root: Path, tmp_path: Path) -> None:
    raw = tmp_path / "planetoid" / "Cora" / "raw"
    shutil.copytree(data_root / "planetoid" / "Cora" / "raw", raw)
    CitationNetwork("Cora", tmp_path)
    assert len(list(raw.iterdir())) == 8
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 8


def test_a_changed_raw_file_is_not_unpickled(data_root: Path, tmp_path: Path) -> None:
    raw = tmp_path / "planetoid" / "Cora" / "raw"
    shutil.copytree(data_root / "planetoid" / "Cora" / "raw", raw)
    (raw / "ind.cora.graph").chmod(0o644)
    (raw / "ind.cora.graph").write_text(f"cbuiltins\nopen\n(V{tmp_path / 'trace'}\nVw\ntR.")
    with pytest.raises(nt.InputError, match=r"ind.cora.graph to have the SHA-256 58f13302.*; got "):
        CitationNetwork("Cora", tmp_path)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", ["Citeseer2", "", None])
def test_unknown_networks(name: Any) -> None:
    with pytest.raises(nt.InputError, match="Expected a citation network out of Cora, CiteSeer, PubMed; got"):
        CitationNetwork(name)


def test_row_normalised() -> None:
    x = row_normalised(torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.2, 0.0]]))
    assert x.crow_indices().tolist() == [0, 2, 2, 3]
    assert x.col_indices().tolist() == [0, 2, 1]
    assert x.values().tolist() == [0.25, 0.75, 1.0]


@pytest.mark.filterwarnings("ignore:Sparse")
def test_the_tree_shares_the_sparse_features(data_root: Path, tmp_path: Path) -> None:
    data = CitationNetwork("CiteSeer", data_root)[0]
    tree = attach_htree(data, max_treewidth=2)
    assert tree.x is data.x
    assert tree.htree.num_graph_nodes == 3327
    assert tree.htree.treewidth == 2
    assert tree.clone().x.values().equal(data.x.values())
    torch.save(tree, tmp_path / "tree.pt")
    assert torch.load(tmp_path / "tree.pt", weights_only=True).x.values().equal(data.x.values())


def test_the_splits_of_the_paper(data_root: Path) -> None:
    y = CitationNetwork("Cora", data_root)[0].y
    assert citation_split(y).counts == (140, 500, 1000)
    assert citation_split(y, train_per_class=None).counts == (1208, 500, 1000)
    assert y[citation_split(y, 30, seed=4).train].bincount().tolist() == [30] * 7
