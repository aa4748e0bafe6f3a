"""Heads: answers per node and per graph, alone and in a batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

import neuraltrees as nt
from neuraltrees.nn import GraphHead, Head, Places
from neuraltrees.nn.head.graph import pooled

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
