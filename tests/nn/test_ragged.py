"""Graphs cut out of many equal a batch of them that PyG makes."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ragged import Column, Ragged, grouped


def random_graphs(seed: int, count: int) -> list[Data]:
    draw = torch.Generator().manual_seed(seed)
    graphs = []
    for _ in range(count):
        nodes = int(torch.randint(0, 6, (), generator=draw))
        edges = int(torch.randint(0, 9, (), generator=draw)) if nodes else 0
        ends = torch.randint(0, max(1, nodes), (2, edges), generator=draw)
        graphs.append(Data(x=torch.rand(nodes, 3, generator=draw), edge_index=ends, num_nodes=nodes))
    return graphs


def ragged_of(graphs: list[Data]) -> Ragged:
    def ptr(sizes: list[int]) -> Tensor:
        return torch.tensor([0, *sizes]).cumsum(0)

    ends = torch.cat([graph.edge_index for graph in graphs], 1)
    return Ragged(
        {
            "nodes": ptr([graph.num_nodes for graph in graphs]),
            "edges": ptr([graph.edge_index.shape[1] for graph in graphs]),
        },
        {
            "x": Column(torch.cat([graph.x for graph in graphs]), "nodes"),
            "source": Column(ends[0], "edges", "nodes"),
            "target": Column(ends[1], "edges", "nodes"),
        },
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_a_cut_is_a_batch(seed: int, chosen: list[int]) -> None:
    graphs = random_graphs(seed, 7)
    expected = Batch.from_data_list([graphs[number] for number in chosen])
    cut = ragged_of(graphs).cut(torch.tensor(chosen))
    assert torch.equal(cut["x"], expected.x)
    assert torch.equal(torch.stack([cut["source"], cut["target"]]), expected.edge_index)
    assert torch.equal(cut.graph["nodes"], expected.batch)
    assert cut.weight("nodes", torch.float32) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 7), min_size=1, max_size=8), st.integers(1, 20))
def test_padding_comes_after_the_same_rows_and_meets_itself_alone(seed: int, chosen: list[int], more: int) -> None:
    graphs = random_graphs(seed, 7)
    whole = ragged_of(
        [*graphs, Data(x=torch.zeros(0, 3), edge_index=torch.zeros(2, 0, dtype=torch.int64), num_nodes=0)]
    )
    plain = whole.cut(torch.tensor([number for number in chosen if number < 7] or [0]))
    room = {space: rows + more for space, rows in plain.rows.items()}
    cut = whole.cut(torch.tensor(chosen), room)
    nodes, edges = (int((cut.graph[space] < len(chosen)).sum()) for space in ("nodes", "edges"))
    assert (len(cut["x"]), len(cut["source"])) == (room["nodes"], room["edges"])
    if any(number < 7 for number in chosen):
        assert (nodes, edges) == (plain.rows["nodes"], plain.rows["edges"])
        for name, rows in (("x", nodes), ("source", edges), ("target", edges)):
            assert torch.equal(cut[name][:rows], plain[name])
    weight = cut.weight("nodes", torch.float64)
    assert weight is not None and weight.sum() == nodes
    assert weight[-1] == 0
    assert (cut["source"][edges:] == room["nodes"] - 1).all()


def test_the_whole_is_all_graphs_in_order() -> None:
    graphs = random_graphs(3, 7)
    assert torch.equal(ragged_of(graphs).whole()["x"], torch.cat([graph.x for graph in graphs]))


def test_rows_are_grouped_by_graph() -> None:
    values, ptr = grouped({"a": torch.tensor([1, 2, 3, 4])}, torch.tensor([1, 0, 1, 0]), 3)
    assert values["a"].tolist() == [2, 4, 1, 3]
    assert ptr.tolist() == [0, 2, 4, 4]


def test_reading_and_summing_are_the_gradients_of_each_other() -> None:
    index = Incidence(torch.tensor([2, 0, 2, 2]), 4)
    rows = torch.rand(4, 2, 3, dtype=torch.float64, requires_grad=True)
    entries = torch.rand(4, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.equal(index.take(rows), rows[index.index])
    assert torch.equal(index.sum(entries)[2], entries[[0, 2, 3]].sum(0))
    assert torch.autograd.gradcheck(index.take, (rows,))
    assert torch.autograd.gradcheck(index.sum, (entries,))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 6), min_size=1, max_size=6), st.booleans())
def test_segments_list_the_entries_of_every_row(seed: int, chosen: list[int], padded: bool) -> None:
    whole = ragged_of(random_graphs(seed, 7)).with_segments()
    plain = whole.cut(torch.tensor(chosen))
    room = {space: rows + 3 for space, rows in plain.rows.items()} if padded else None
    cut = whole.cut(torch.tensor(chosen), room)
    for name in ("source", "target"):
        to = cut.incidence(name)
        assert to.segments is not None
        entries = range(len(to.index)) if to.segments.order is None else to.segments.order.tolist()
        for row in range(to.rows):
            first, count = int(to.segments.first[row]), int(to.segments.count[row])
            expected = (to.index == row).nonzero().flatten().tolist()
            # Nobody reads what padding sends to padding.
            assert [entries[place] for place in range(first, first + count)] == (
                [] if padded and row >= plain.rows["nodes"] else expected
            )
