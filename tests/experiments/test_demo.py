"""What the demo tells its report: each test node once, names told apart, and how it was made."""

from __future__ import annotations

import re

import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.experiments.demo import DemoSize, _confusion, _facts, _numbered


def test_a_confusion_counts_every_test_node_of_one_run_once() -> None:
    kinds = torch.tensor([0, 1, 1, 1])
    graphs = [
        Data(x=torch.eye(4), y=torch.tensor([0, 1, 0, 1]), node_type=kinds, edge_index=torch.tensor([[0, 1], [1, 2]]))
        for _ in range(10)
    ]
    task = nt.Task(graphs, {"room": ("kitchen", "attic"), "object": ("cell_phone", "sink")})
    run = nt.Run(0, nt.random_graph_split(graphs))
    objects = _confusion(task, run, torch.zeros(40, dtype=torch.int64), "object")
    assert (objects.what, list(objects.names)) == ("objects", ["cell phone", "sink"])
    assert objects.counts.tolist() == [[2, 0], [4, 0]]  # two test graphs, all taken for phones
    assert _confusion(task, run, torch.zeros(40, dtype=torch.int64), "room").counts.sum() == 2


def test_equal_names_are_told_apart() -> None:
    assert _numbered(["bottle", "sink", "bottle", "bottle"]) == ["bottle 1", "sink", "bottle 2", "bottle 3"]


def test_the_report_says_how_it_was_made() -> None:
    facts = _facts(DemoSize(scenes=40), 3, 1234, nt.NetworkSpec(layers=4))
    assert facts["command"] == "neuraltrees demo --scenes 40 --coupling 1 --runs 2 --epochs 30 --seed 3"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", facts["date"])
    assert f"neuraltrees {nt.__version__}" in facts["versions"]
    assert "4 rounds, 48 hidden units" in facts["network"] and "learning rate 0.01" in facts["training"]
