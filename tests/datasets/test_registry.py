"""Datasets by name, entry point and place; errors say what to do."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.datasets import DataSpec, dataset_names, load_task, registry
from neuraltrees.training import load_config
from neuraltrees.training.config import preset

MODULE = """
import torch
from torch_geometric.data import Data

import neuraltrees as nt


def load(options):
    x = torch.arange(20.0).view(-1, 1) + options.seed
    return nt.Task([Data(x=x, y=torch.arange(20) % 2, edge_index=torch.tensor([[0], [1]]))], ("even", "odd"))


def plain():
    return load(nt.datasets.DataSpec())


def graphs():
    return [1, 2]


thing = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of the user's own."""
    (tmp_path / "my_scenes.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_scenes", raising=False)
    return "my_scenes"


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))


def test_the_built_in_ones_use_the_same_door() -> None:
    assert dataset_names()[:5] == ["synthetic", "stanford3dsg", "cora", "citeseer", "pubmed"]
    assert registry.find_dataset("cora").load == "neuraltrees.datasets.loaders:load_citation"
    assert load_task(DataSpec(dataset="synthetic", scenes=10)).num_items > 10


def test_a_function_by_its_place(module: str) -> None:
    task = load_task(DataSpec(dataset=f"{module}:load", seed=5, train_share=0.5, max_treewidth=2))
    assert task.graphs[0].x[0].item() == 5
    assert (task.seed, task.max_treewidth) == (5, 2)
    assert task.split(0).counts == (10, 2, 4)
    assert load_task(DataSpec(dataset=f"{module}:plain")).num_items == 20


def test_standardising_is_for_all() -> None:
    nt.register_dataset(
        "mine",
        lambda: nt.Task(
            [Data(x=torch.arange(4.0).view(-1, 1), y=torch.zeros(4).long(), edge_index=torch.tensor([[0], [1]]))],
            ("a",),
        ),
    )
    task = load_task(DataSpec(dataset="mine", standardise=True))
    assert task.graphs[0].x.mean().abs() < 1e-6
    assert task.scaling.mean is not None


def test_a_registered_name_with_defaults_of_its_own(module: str) -> None:
    nt.register_dataset("mine", f"{module}:load", "numbers", lambda model, conv: {"hidden": 7, "layers": 3})
    assert "mine" in dataset_names()
    assert load_config(overrides={"dataset": "mine"}).hidden == 7
    assert preset("mine", "gnn", "gcn") == {"hidden": 7, "layers": 3}
    assert load_task(DataSpec(dataset="mine")).num_items == 20


def test_an_entry_point(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("packaged", f"{module}:load", registry.GROUP)]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])
    assert "packaged" in dataset_names()
    assert load_task(DataSpec(dataset="packaged")).num_items == 20


BAD = {
    "unknown": ("chora", r"Expected dataset out of synthetic, .*; got 'chora'. Did you mean cora\?"),
    "no such module": ("nowhere:load", "Expected MODULE:NAME of something that can be imported; got 'nowhere:load'"),
    "no such function": ("my_scenes:save", "got 'my_scenes:save'"),
    "not a function": ("my_scenes:thing", "Expected my_scenes:thing to be a function that returns a Task; got 3"),
    "no task": ("my_scenes:graphs", "Expected my_scenes:graphs to return a Task; got list. Wrap your graphs"),
    "nothing": (":", "got ':'"),
}


@pytest.mark.parametrize(("name", "message"), BAD.values(), ids=BAD)
def test_bad_names(name: str, message: str, module: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        load_task(DataSpec(dataset=name))


def test_a_name_with_a_colon_is_a_place() -> None:
    with pytest.raises(nt.InputError, match="Expected the name of a dataset without a colon; got 'a:b'"):
        nt.register_dataset("a:b", "c:d")
