"""Many graphs in a few arrays; all checked at once, as one by one; and cross validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.data.folds import fold_split, stored_split
from neuraltrees.data.packed import PackedGraphs
from neuraltrees.data.together import surely_fine
from neuraltrees.objectives import Classification, MultiLabel, Objective, Regression


def packed() -> PackedGraphs:
    """A triangle, a single node and an edge."""
    edge = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 1]])
    attr = torch.tensor([[0], [1], [2], [0]])
    ptr = torch.tensor([0, 3, 4, 6]), torch.tensor([0, 3, 3, 4])
    return PackedGraphs.of_edges(torch.arange(6).view(-1, 1), edge, torch.tensor([[1.0], [2.0], [3.0]]), *ptr, attr)


def test_graphs_are_views_with_both_directions() -> None:
    whole = packed()
    triangle, single, pair = whole.graphs()
    assert triangle.edge_index.tolist() == [[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]
    assert triangle.edge_attr.flatten().tolist() == [0, 0, 1, 1, 2, 2]
    assert (single.num_nodes, single.num_edges, single.edge_attr.shape) == (1, 0, (0, 1))
    assert pair.x.flatten().tolist() == [4, 5]
    assert pair.x.data_ptr() == whole.x[4:].data_ptr()
    assert [float(graph.y) for graph in whole] == [1.0, 2.0, 3.0]
    twice = PackedGraphs.join([whole, whole])
    assert len(twice) == 6
    assert torch.equal(twice.graphs()[3].edge_index, triangle.edge_index)


BROKEN: dict[str, tuple[Callable[[PackedGraphs], dict[str, Tensor]], str]] = {
    "too few nodes": (lambda p: {"x": p.x[:-1]}, "4 rising places where the nodes of 3 graphs start, up to 5"),
    "falling": (lambda p: {"node_ptr": torch.tensor([0, 4, 3, 6])}, "4 rising places where the nodes"),
    "graphs": (lambda p: {"y": p.y[:2]}, "3 rising places where the nodes of 2 graphs"),
    "edges": (lambda p: {"edge_ptr": torch.tensor([0, 6, 6, 7])}, "where the edges of 3 graphs start, up to 8"),
    "ends": (
        lambda p: {"edge_index": p.edge_index.index_fill(1, torch.tensor([7]), 2)},
        "edges of graph 2 between the nodes 0 to 1; got one between 2 and 2",
    ),
    "attr": (lambda p: {"edge_attr": torch.zeros(3, 1)}, "features of 8 edges; got those of 3"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_arrays_that_do_not_fit(change: Callable[[PackedGraphs], dict[str, Tensor]], message: str) -> None:
    whole = packed()
    names = ("x", "edge_index", "y", "node_ptr", "edge_ptr", "edge_attr")
    with pytest.raises(nt.InputError, match=message):
        PackedGraphs(**({name: getattr(whole, name) for name in names} | change(whole)))


def one(**changes: Any) -> Data:
    edges = torch.tensor([[0, 1], [1, 0]])
    plain = {"x": torch.ones(2, 1, dtype=torch.int64), "edge_index": edges, "edge_attr": torch.zeros(2, 1).long()}
    return Data(**(plain | {"y": torch.tensor([[1.0]])} | changes))


OBJECTIVES: dict[str, tuple[Objective, Tensor]] = {
    "numbers": (Regression(("a",)), torch.tensor([[0.5]])),
    "labels": (MultiLabel(("a",)), torch.tensor([[1.0]])),
    "classes": (Classification(("a", "b"), level="graph"), torch.tensor([1])),
}
WRONG: dict[str, dict[str, Any]] = {
    "category": {"x": torch.tensor([[1], [3]])},
    "negative category": {"x": torch.tensor([[1], [-1]])},
    "width": {"x": torch.ones(2, 2, dtype=torch.int64)},
    "nan features": {"x": torch.tensor([[1.0], [torch.nan]])},
    "edge outside": {"edge_index": torch.tensor([[0, 2], [1, 0]])},
    "edge type": {"edge_index": torch.tensor([[0, 1], [1, 0]], dtype=torch.int32)},
    "bond category": {"edge_attr": torch.tensor([[0], [4]])},
    "bond rows": {"edge_attr": torch.zeros(3, 1).long()},
    "label rows": {"y": torch.tensor([[1.0, 2.0]])},
    "no label": {"y": None},
    "text": {"y": "high"},
    "infinite": {"y": torch.tensor([[torch.inf]])},
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_all_at_once_finds_what_one_by_one_finds(name: str) -> None:
    objective, y = OBJECTIVES[name]
    features, edges = nt.Categories((3,)), nt.Categories((2,))
    good = [one(y=y), one(y=y, x=torch.zeros(1, 1).long(), edge_index=torch.zeros(2, 0).long(), edge_attr=None)]
    good[1].edge_attr = torch.zeros(0, 1).long()
    assert surely_fine(good, objective, features, edges)
    nt.Task(good, objective, features=features, edge_features=edges)
    for change in WRONG.values():
        bad = [*good, one(**({"y": y} | change))]
        assert not surely_fine(bad, objective, features, edges)
        with pytest.raises(nt.InputError, match="Graph 2: "):
            nt.Task(bad, objective, features=features, edge_features=edges)


def test_labels_of_a_wrong_class_are_found() -> None:
    bad = [one(y=torch.tensor([2]))]
    assert not surely_fine(bad, Classification(("a", "b"), level="graph"), nt.Categories((3,)), None)
    assert not surely_fine([one(y=torch.tensor([[0.5]]))], MultiLabel(("a",)), nt.Categories((3,)), None)


def test_what_only_a_closer_look_can_tell() -> None:
    """Numbers of nodes that are said apart, objectives and graphs of one's own, and several node types."""

    class Own(Regression):
        pass

    features = nt.Categories((3,))
    assert not surely_fine([one(num_nodes=2)], Regression(("a",)), features, None)
    assert not surely_fine([one()], Own(("a",)), features, None)
    assert not surely_fine([one()], Regression(("a",)), {"a": features, "b": 2}, None)
    assert surely_fine([one(x=torch.ones(2, 3))], Regression(("a",)), 3, None)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (torch.tensor([[3.0, 0.5], [0.0, 0.5]]), "integers between 0 and 2 in column 0; got 3 in row 0"),
        (torch.tensor([[0.0, 0.5], [0.5, 0.5]]), "integers between 0 and 2 in column 0; got 0.5 in row 1"),
        (torch.tensor([[-1.0, 0.5], [0.0, 0.5]]), "integers between 0 and 2 in column 0; got -1 in row 0"),
        (torch.tensor([[0.0, 0.5], [0.0, torch.nan]]), "Expected finite features; got NaN or infinity at node 1"),
        (torch.tensor([[torch.inf, 0.5], [0.0, 0.5]]), "Expected finite features; got NaN or infinity at node 0"),
        (torch.zeros(2, 3), "Expected 2 features per node; got 3"),
    ],
)
def test_numbers_beside_categories(wrong: torch.Tensor, message: str) -> None:
    features, objective = nt.Categories((3,), numbers=1), Regression(("a",))
    good = [one(x=torch.tensor([[2.0, -0.5], [0.0, 1e30]])), one(x=torch.tensor([[0.0, 7.0], [1.0, 0.0]]))]
    assert surely_fine(good, objective, features, None)
    nt.Task(good, objective, features=features)
    bad = [*good, one(x=wrong)]
    assert not surely_fine(bad, objective, features, None)
    with pytest.raises(nt.InputError, match=f"Graph 2: .*{message}"):
        nt.Task(bad, objective, features=features)


def test_every_item_is_tested_once_and_classes_are_spread() -> None:
    y = torch.tensor([0] * 33 + [1] * 14 + [2] * 6)
    splits = [fold_split(y, 10, seed) for seed in range(10)]
    assert torch.stack([split.test for split in splits]).sum(0).tolist() == [1] * 53
    assert torch.stack([split.val for split in splits]).sum(0).tolist() == [1] * 53
    for split in splits:
        assert not (split.train & split.val).any() and not (split.test & (split.train | split.val)).any()
        assert (split.train | split.val | split.test).all()
        for label, count in ((0, 33), (1, 14), (2, 6)):
            assert abs(int((y[split.test] == label).sum()) - count / 10) < 1
    assert fold_split(y, 10, 10) != splits[0]
    assert torch.equal(splits[0].val, splits[1].test)


def test_bad_folds() -> None:
    with pytest.raises(nt.InputError, match=r"Expected folds .*3; got 2"):
        fold_split(torch.zeros(9), 2)
    with pytest.raises(nt.InputError, match="at least 10 items, one per fold; got 4"):
        fold_split(torch.zeros(4))
    assert stored_split(torch.tensor([2, 0, 1, 0]), seed=3).train.tolist() == [False, True, False, True]
