"""Random splits: their sizes, what stays for a seed, and what is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import neuraltrees as nt
from neuraltrees.data.splits import check_classes_train
from neuraltrees.datasets import Split, citation_split, random_node_split

Y = torch.arange(60) % 3


def disjoint(split: Split) -> bool:
    return int((split.train.int() + split.val.int() + split.test.int()).max()) == 1


def mask(*nodes: int) -> Tensor:
    return torch.zeros(4, dtype=torch.bool).index_fill(0, torch.tensor(nodes, dtype=torch.int64), True)


def test_the_split_of_the_paper() -> None:
    split = random_node_split(10, seed=1)
    assert split.counts == (7, 1, 2)
    assert repr(split) == "Split(train=7, val=1, test=2)"
    assert (split.train | split.val | split.test).all()
    assert disjoint(split)
    assert split == random_node_split(10, seed=1)
    assert split != random_node_split(10, seed=2)


@settings(deadline=None)
@given(st.integers(20, 300), st.integers(0, 2**64 - 1), st.floats(0.05, 0.7), st.floats(0.05, 0.7))
def test_validation_and_test_stay_while_training_grows(nodes: int, seed: int, one: float, two: float) -> None:
    small, large = (random_node_split(nodes, train=share, seed=seed) for share in sorted([one, two]))
    assert torch.equal(small.val, large.val)
    assert torch.equal(small.test, large.test)
    assert not (small.train & ~large.train).any()
    assert disjoint(small)
    assert disjoint(large)


def test_shares_that_sum_to_one_leave_no_node_out() -> None:
    for nodes in range(6, 40):
        assert sum(random_node_split(nodes, 0.6, 0.2, 0.2).counts) == nodes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_nodes": 4}, "Expected at least one validation node; got none of 4 nodes"),
        ({"num_nodes": 0}, "Expected at least one training node; got none of 0 nodes"),
        ({"num_nodes": 50, "train": 0.001}, "Expected at least one training node"),
        ({"num_nodes": 50, "train": 0.8}, "sum to at most 1; got 0.8 [+] 0.1 [+] 0.2. Lower train_share to 0.7 or"),
        ({"num_nodes": 50, "val": 0.0}, "Expected the share val between 0 and 1; got 0.0"),
        ({"num_nodes": 50, "test": float("nan")}, "Expected the share test between 0 and 1; got nan"),
        ({"num_nodes": 50, "seed": -1}, "Expected a seed between"),
        ({"num_nodes": 2.5}, "Expected the number of nodes, the graphs, or"),
    ],
)
def test_wrong_shares(options: dict[str, float], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        random_node_split(**options)


def test_per_graph() -> None:
    split = Split(mask(0, 2), mask(1), mask(3))
    first, second = split.per_graph([3, 1])
    assert [part.tolist() for part in (first.train, first.val, first.test)] == [
        [True, False, True],
        [False, True, False],
        [False, False, False],
    ]
    assert second.counts == (0, 0, 1)
    with pytest.raises(nt.InputError, match="Expected graphs of 4 nodes in all; got 5"):
        split.per_graph([3, 2])


@pytest.mark.parametrize("seed", range(5))
def test_so_many_of_each_class(seed: int) -> None:
    splits = {m: citation_split(Y, m, num_val=10, num_test=20, seed=seed) for m in (1, 3, None)}
    assert [split.counts for split in splits.values()] == [(3, 10, 20), (9, 10, 20), (30, 10, 20)]
    for m, split in splits.items():
        assert disjoint(split)
        assert torch.equal(split.val, splits[1].val)
        assert torch.equal(split.test, splits[1].test)
        if m is not None:
            assert Y[split.train].bincount().tolist() == [m, m, m]
            assert not (split.train & ~splits[None].train).any()
    assert not (splits[1].train & ~splits[3].train).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": Y}, "Expected more than the 500 validation and 1000 test nodes; the graph has 60 nodes"),
        ({"train_per_class": 15}, "Expected at least 15 training nodes of class 0; [0-9]+ remain beside 10 validation"),
        ({"train_per_class": 0}, "Expected train_per_class as an integer of at least 1"),
        ({"num_val": 0}, "Expected num_val as an integer of at least 1"),
        ({"y": Y.float()}, "Expected labels as integers of shape .*; got torch.float32"),
        ({"y": Y - 1}, "Expected labels of at least 0; got -1"),
        ({"y": Y * 2, "train_per_class": None}, "Expected a training node of every class; got none of 1, 3"),
        ({"y": Y * 2, "train_per_class": 1}, "Expected at least 1 training nodes of class 1; 0 remain"),
    ],
)
def test_wrong_citation_splits(options: dict[str, object], message: str) -> None:
    small = {"y": Y, "num_val": 10, "num_test": 20}
    with pytest.raises(nt.InputError, match=message):
        citation_split(**(options if list(options) == ["y"] and options["y"] is Y else {**small, **options}))


def test_a_class_without_a_training_node() -> None:
    split = Split(mask(0, 1), mask(2), mask(3))
    check_classes_train(split, torch.tensor([0, 1, 1, 0]))
    with pytest.raises(nt.InputError, match="Expected a training node of every class; got none of 0, 2"):
        check_classes_train(split, torch.tensor([1, 1, 0, 2]))
    with pytest.raises(nt.InputError, match="got none of 2"):
        check_classes_train(split, torch.tensor([0, 1, 1, 0]), num_classes=3)
    with pytest.raises(nt.InputError, match="Expected a label for each of 4 nodes; got 3"):
        check_classes_train(split, torch.tensor([0, 1, 1]))
