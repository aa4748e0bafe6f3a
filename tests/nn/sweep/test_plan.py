"""Plans of sweeps: orders, roots, ranges, joining and gathering, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees.errors import InputError
from neuraltrees.nn.sweep import SweepPlan, jumping, sweep
from tests.nn.sweep.forests import SHAPES, edges_of, parents, random_parents


def check_plan(plan: SweepPlan) -> None:
    """Parents precede children within their range, every node has one place, and the bounds hold."""
    order = list(range(plan.num_nodes)) if plan.order is None else plan.order.tolist()
    assert sorted(order) == list(range(plan.num_nodes))
    starts = plan.tree_ptr.tolist()
    assert starts[0] == 0 and starts[-1] == plan.num_nodes and starts == sorted(starts)
    depth = [0] * plan.num_nodes
    for begin, end in pairwise(starts):
        assert end - begin <= plan.largest
        for place in range(begin, end):
            parent = int(plan.parent[place])
            assert parent == -1 or begin <= parent < place
            depth[place] = 0 if parent < 0 else depth[parent] + 1
    assert max(depth, default=0) == plan.depth


@given(parents())
def test_of_edges_roots_every_tree_at_its_centre(above: list[int]) -> None:
    plan = SweepPlan.of_edges(edges_of(above), len(above))
    check_plan(plan)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(above)))
    graph.add_edges_from(edges_of(above).T.tolist())
    found = {frozenset((node, int(up))) for node, up in enumerate(plan.above) if up >= 0}
    assert found == {frozenset(edge) for edge in graph.edges}
    parts = [graph.subgraph(part) for part in nx.connected_components(graph)]
    assert plan.num_trees == len(parts)
    assert plan.depth == max((nx.radius(part) for part in parts), default=0)
    assert plan.largest == max(map(len, parts), default=0)
    for part in parts:
        root = next(node for node in part if plan.above[node] < 0)
        assert root in nx.center(part)


@given(parents())
def test_of_edges_takes_one_direction_or_both(above: list[int]) -> None:
    edges = edges_of(above)
    one = SweepPlan.of_edges(edges, len(above))
    for given_edges in (edges.flip(0), torch.cat([edges, edges.flip(0)], 1)):
        other = SweepPlan.of_edges(given_edges, len(above))
        assert other.parent.tolist() == one.parent.tolist() and other.above.tolist() == one.above.tolist()


@given(parents())
def test_of_parents_keeps_the_roots(above: list[int]) -> None:
    plan = SweepPlan.of_parents(above)
    check_plan(plan)
    assert plan.above.tolist() == above
    assert plan.num_trees == above.count(-1)


def test_trees_in_breadth_first_order_stay_as_they_are() -> None:
    for name in ("chain", "star", "binary", "caterpillar", "single nodes", "nothing"):
        plan = SweepPlan.of_parents(SHAPES[name])
        assert plan.order is None, name
        assert plan.parent.tolist() == SHAPES[name]
    interleaved = SweepPlan.of_parents([-1, -1, 0, 1])
    assert interleaved.order is not None and interleaved.order.tolist() == [0, 2, 1, 3]


@given(parents())
def test_places_of_a_tree_are_sorted_by_depth(above: list[int]) -> None:
    """A program on a GPU takes whole levels at once."""
    plan = SweepPlan.of_parents(above)
    depth: list[int] = []
    for parent in plan.parent.tolist():
        depth.append(0 if parent < 0 else depth[parent] + 1)
    for begin, end in pairwise(plan.tree_ptr.tolist()):
        assert depth[begin:end] == sorted(depth[begin:end])


def test_an_order_by_hand() -> None:
    plan = SweepPlan.of_parents([4, 4, 0, 0, -1, 2])
    assert plan.order is not None
    assert plan.order.tolist() == [4, 0, 1, 2, 3, 5]
    assert plan.parent.tolist() == [-1, 0, 0, 1, 1, 3]


def test_bounds_that_are_not_known_are_the_number_of_nodes() -> None:
    """So that pointer jumping goes far enough."""
    plan = SweepPlan(torch.tensor([-1, 0, 1, 2]), torch.tensor([0, 4]))
    assert (plan.depth, plan.largest) == (4, 4)
    values, decay = torch.rand(4, 1), torch.tensor([[0.5]])
    exact = sweep(values, decay[0], plan)
    torch.testing.assert_close(jumping.passes(values, decay, plan)[1], exact)


@pytest.mark.parametrize("size", [100_000, 1_000_000])
@pytest.mark.parametrize("back", [1, 4, 1_000])
def test_large_trees(size: int, back: int) -> None:
    above = random_parents(size, back)
    names = torch.randperm(size, generator=torch.Generator().manual_seed(1))
    plan = SweepPlan.of_edges(torch.stack([names[1:], names[above[1:]]]), size)
    assert (plan.num_trees, plan.largest) == (1, size)
    assert bool((plan.parent[1:] < torch.arange(1, size)).all()) and int(plan.parent[0]) == -1
    if back == 1:
        assert plan.depth == size // 2


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 1, 2], [1, 2, 0]], "Expected a forest; got 4 nodes and 3 edges with a cycle"),
        ([[0, 1, 2, 3, 2], [1, 2, 0, 0, 2]], "with a cycle at or near node 0"),
        ([[0], [7]], "Expected node ids between 0 and 3; got 7"),
        ([[0], [-1]], "got -1"),
        ([0, 1, 2], "Expected"),
    ],
)
def test_what_is_no_forest_is_refused(edges: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SweepPlan.of_edges(edges, 4)


def test_self_loops_are_ignored() -> None:
    assert SweepPlan.of_edges([[0, 1, 1], [0, 1, 0]], 2).above.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("parent", "message"),
    [([1, 2, 0, -1], "got a cycle above node 0"), ([0], "got a cycle"), ([-1, 5], "got 5 at node 1"), ([-2], "got -2")],
)
def test_parents_that_end_in_no_root_are_refused(parent: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SweepPlan.of_parents(parent)


@given(st.lists(parents(8), min_size=1, max_size=5))
def test_joined_plans_give_what_each_gives(forests: list[list[int]]) -> None:
    plans = [SweepPlan.of_edges(edges_of(above), len(above)) for above in forests]
    joined = SweepPlan.joined(plans)
    check_plan(joined)
    assert joined.num_trees == sum(plan.num_trees for plan in plans)
    values = [torch.randn(plan.num_nodes, 3, dtype=torch.float64) for plan in plans]
    decay = torch.tensor([0.2, 0.7, 0.99], dtype=torch.float64)
    one_by_one = [sweep(value, decay, plan) for value, plan in zip(values, plans, strict=True)]
    torch.testing.assert_close(sweep(torch.cat(values), decay, joined), torch.cat(one_by_one))


def test_joining_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="Expected plans to join"):
        SweepPlan.joined([])


@settings(max_examples=60)
@given(parents(30), st.lists(st.integers(0, 29), max_size=6), st.none() | st.integers(0, 5))
def test_taken_trees_give_what_they_gave(above: list[int], picked: list[int], padding: int | None) -> None:
    plan = SweepPlan.of_edges(edges_of(above), len(above))
    trees = torch.tensor([each for each in picked if each < plan.num_trees], dtype=torch.int64)
    needed = int((plan.tree_ptr[trees + 1] - plan.tree_ptr[trees]).sum()) if len(trees) else 0
    padding = padding if plan.num_nodes else None
    taken, source = plan.take(trees, None if padding is None else needed + padding)
    assert taken.num_nodes == len(source) == needed + (padding or 0)
    assert taken.num_trees == len(trees)
    values = torch.randn(plan.num_nodes, 2, dtype=torch.float64)
    decay = torch.tensor([0.5, 0.9], dtype=torch.float64)
    there, here = sweep(values, decay, plan), sweep(values[source], decay, taken)
    torch.testing.assert_close(here[:needed], there[source[:needed]])
    torch.testing.assert_close(here[needed:], values[source[needed:]])


def test_a_plan_moves() -> None:
    plan = SweepPlan.of_edges([[0, 1], [1, 2]], 3)
    assert plan.to("cpu") is plan
    moved = plan.to("meta")
    assert moved.order is not None
    assert {each.device.type for each in (moved.parent, moved.tree_ptr, moved.order)} == {"meta"}
    assert (moved.depth, moved.largest) == (1, 3)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((torch.zeros(2), torch.tensor([0, 2])), "Expected parent as an int64 tensor"),
        ((torch.zeros(2, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)), "start with 0"),
        ((torch.full((2,), -1), torch.tensor([0, 2]), torch.tensor([0])), "Expected an order of 2 nodes; got 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: tuple[torch.Tensor, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SweepPlan(*parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([-1, 1], [0, 2], None), "got 1 at place 1"),
        (([1, -1], [0, 2], None), "got 1 at place 0"),
        (([-1, 0], [0, 1, 2], None), "got 0 at place 1"),
        (([-1, 0], [0, 1], None), "Expected no parent after the last tree"),
        (([-1, 0], [0, 3], None), "Expected tree_ptr to grow"),
        (([-1, 0], [0, 2, 1], None), "Expected tree_ptr to grow"),
        (([-1, 0], [1, 2], None), "start with 0"),
        (([-1, 0], [0, 2], [0, 2]), "Expected an order of the nodes 0 to 1; got 2"),
    ],
)
def test_a_sweep_refuses_a_plan_that_leads_astray(
    parts: tuple[list[int], list[int], list[int] | None], message: str
) -> None:
    parent, starts, order = parts
    plan = SweepPlan(torch.tensor(parent), torch.tensor(starts), None if order is None else torch.tensor(order))
    with pytest.raises(InputError, match=message):
        sweep(torch.zeros(2, 1), torch.tensor([0.5]), plan)
