"""Heads: answers per node and per graph, alone and in a batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

import neuraltrees as nt
from neuraltrees.nn import GraphHead, Head, Places
from neuraltrees.nn.ensemble.dropout import DropoutMasks
from neuraltrees.nn.head.graph import pooled
from neuraltrees.objectives import Regression
from neuraltrees.training import NetworkSpec

POOLS = {"sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool}


def graphs() -> list[nt.HTreeData]:
    torch.manual_seed(1)
    triangle, path = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([[0, 1, 2], [1, 2, 3]])
    return [nt.ToHTree()(Data(x=torch.randn(n, 3), edge_index=e, num_nodes=n)) for n, e in ((3, triangle), (4, path))]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("runs", [None, 2])
def test_pooling_is_pygs(pool: str, runs: int | None) -> None:
    h = torch.randn(5, *([] if runs is None else [runs]), 3)
    graph = torch.tensor([0, 0, 2, 2, 2])
    ours = pooled(h, Places(graph=graph, num_graphs=4), pool)  # type: ignore[arg-type]
    theirs = POOLS[pool](h.flatten(1), graph, 4).view_as(ours)
    torch.testing.assert_close(ours, theirs)
    assert ours[1].abs().max() == 0


@pytest.mark.parametrize("kind", [nt.NeuralTree, nt.GNN])
@pytest.mark.parametrize("pool", POOLS)
def test_a_batch_is_as_good_as_its_graphs(kind: type[nt.NeuralTree], pool: str) -> None:
    model = kind(3, 8, 2, 2, head=GraphHead.pooling(pool)).eval()
    batch = Batch.from_data_list(graphs())
    together = model(batch.x, model.plan(batch))
    assert together.shape == (2, 2)
    for row, graph in zip(together, graphs(), strict=True):
        torch.testing.assert_close(model(graph.x, model.plan(graph))[0], row)


def test_tensors_alone_do_as_well() -> None:
    model = nt.NeuralTree(3, 8, 2, 2, head="graph").eval()
    batch = Batch.from_data_list(graphs())
    tree = batch.htree
    by_tensors = model(batch.x, tree.edge_index, tree.kappa, batch=batch.batch)
    torch.testing.assert_close(by_tensors, model(batch.x, model.plan(batch)))


class Doubled(Head):
    """A head of one's own, without weights."""

    def forward(self, h: Tensor, places: Places) -> Tensor:
        return 2 * h[..., : self.out_channels]  # type: ignore[misc]


def test_a_head_of_ones_own() -> None:
    model = nt.GNN(3, 8, 2, 2, head=Doubled)
    assert model(torch.randn(4, 3), torch.tensor([[0], [1]])).shape == (4, 2)


def test_bad_heads() -> None:
    expected = "Expected head out of node, graph, crf, labels, none or a Head class; got"
    for head, came in (("tree", "'tree'"), (Doubled(8, 2), "an instance of Doubled"), (3, "3")):
        with pytest.raises(nt.InputError, match=f"{expected} {came}"):
            nt.GNN(3, 8, 2, head=head)
    with pytest.raises(nt.InputError, match="Expected pool out of sum, mean, max, attention; got 'median'"):
        GraphHead(3, 2, pool="median")  # type: ignore[arg-type]


def attention(h: Tensor, graph: Tensor, count: int, score: Any, run: int) -> Tensor:
    """The mean of the states of every graph by a softmax of their scores, zero without states."""
    rows = []
    for number in range(count):
        mine = h[graph == number, run]
        weight = torch.softmax(mine @ score.weight[run] + score.bias[run], 0)
        rows.append((weight * mine).sum(0))
    return torch.stack(rows)


@pytest.mark.parametrize("hidden", [1, 2])
def test_dropout_of_hidden_states(hidden: int) -> None:
    """In training, answers are those of plain torch with the masks of the runs; in evaluation, nothing is dropped."""
    torch.manual_seed(0)
    head, plain = (GraphHead(3, 2, runs=2, hidden=hidden, dropout=dropout) for dropout in (0.4, 0.0))
    plain.load_state_dict(head.state_dict())
    h, places = torch.randn(6, 2, 3), Places(graph=torch.tensor([0, 0, 1, 2, 2, 3]), num_graphs=4)
    torch.testing.assert_close(head.eval()(h, places), plain(h, places))
    masks = DropoutMasks(torch.tensor([5, 9]), hidden)
    for place, drop in enumerate(head.drops):
        drop.masks, drop.place = masks, place
    found = head.train()(h, places)
    z = pooled(h, places, "sum")
    for place, lin in enumerate([head.lin1, *head.more]):
        z = torch.einsum("nrf,rfo->nro", z, lin.weight) + lin.bias
        z = z.relu() * masks.mask((4, 3), place, 0.4)
    torch.testing.assert_close(found, torch.einsum("nrf,rfo->nro", z, head.lin2.weight) + head.lin2.bias)
    assert not torch.allclose(found, plain(h, places))


def test_a_dropout_of_everything_is_refused() -> None:
    with pytest.raises(nt.InputError, match="Expected a dropout of at least 0 and below 1; got 1"):
        GraphHead(3, 2, dropout=1.0)


@pytest.mark.parametrize("hidden", [1, 3])
@pytest.mark.parametrize("bags", [False, True])
@pytest.mark.parametrize("pool", [*POOLS, "attention"])
def test_answers_are_those_of_plain_torch(pool: Any, bags: bool, hidden: int) -> None:
    torch.manual_seed(2)
    head = GraphHead(3, 2, runs=2, pool=pool, bags=bags, hidden=hidden).double()
    h, b = (torch.randn(n, 2, 3, dtype=torch.float64, requires_grad=True) for n in (5, 4))
    graph, bag_graph = torch.tensor([0, 0, 2, 2, 2]), torch.tensor([0, 2, 2, 3])
    found = head(h, Places(graph=graph, num_graphs=4, bag_graph=bag_graph), *([b] if bags else []))
    for run in range(2):
        seen = []
        for source, (states, of) in enumerate([(h, graph), (b, bag_graph)][: 1 + bags]):
            if pool == "attention":
                seen.append(attention(states, of, 4, head.scores[source], run))
            else:
                seen.append(POOLS[pool](states[:, run], of, 4))
        z = torch.cat(seen, 1)
        for lin in (head.lin1, *head.more):
            z = (z @ lin.weight[run] + lin.bias[run]).relu()
        expected = z @ head.lin2.weight[run] + head.lin2.bias[run]
        torch.testing.assert_close(found[:, run], expected)
        mine, theirs = (
            torch.autograd.grad(each.square().sum(), h, retain_graph=True)[0][:, run]
            for each in (found[:, run], expected)
        )
        torch.testing.assert_close(mine, theirs)
    assert len(head.more) == hidden - 1


@pytest.mark.parametrize("pool", [*POOLS, "attention"])
def test_graphs_without_nodes_or_edges_have_answers(pool: Any) -> None:
    """Between others and alone; the answer of no nodes is that of a pooled state of zero."""
    spec = NetworkSpec(schedule="bags", parts="graph+tree+sweep", hidden=6, layers=2, pool=pool, dropout=0.0)
    network = spec.build_for(3, 2, Regression(["y"], level="graph")).eval()
    triangle = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    sizes = {"triangle": (3, triangle), "nothing": (0, triangle[:, :0]), "no edges": (2, triangle[:, :0])}
    listed = [
        nt.ToHTree(method="canonical", terminal="bag")(
            Data(x=torch.randn(n, 3), edge_index=edges, edge_attr=torch.randn(edges.shape[1], 2), num_nodes=n)
        )
        for n, edges in sizes.values()
    ]
    batch = Batch.from_data_list(listed)
    together = network(batch.x, network.plan(batch), edge_attr=batch.edge_attr)
    assert together.shape == (3, 1) and bool(together.isfinite().all())
    for row, graph in zip(together, listed, strict=True):
        alone = network(graph.x, network.plan(graph), edge_attr=graph.edge_attr)
        torch.testing.assert_close(alone[0], row)
    zero = torch.zeros(1, 12)
    head = network.head
    torch.testing.assert_close(together[1], head.lin2(head.lin1(zero).relu())[0])


def test_a_head_of_bags_says_what_it_needs() -> None:
    with pytest.raises(nt.InputError, match="Expected a schedule with states of bags for a head that pools them"):
        nt.GNN(3, 8, 2, head=GraphHead.pooling("sum", bags=True))
    with pytest.raises(nt.InputError, match="Expected states of bags, since the head pools bags; got none"):
        GraphHead(3, 2, bags=True)(torch.zeros(2, 3), Places())
