"""Scaling: what it does to features, and what it refuses."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.data.scaling import Scaling
from tests.training.tasks import small_task


def test_mean_and_standard_deviation() -> None:
    task = small_task()
    scaled = task.scaled()
    x = torch.cat([graph.x for graph in scaled.graphs])
    torch.testing.assert_close(x.mean(0), torch.zeros(5), atol=1e-6, rtol=0)
    torch.testing.assert_close(x.std(0), torch.ones(5))
    with pytest.raises(nt.InputError, match="Expected a task that is not scaled yet"):
        scaled.scaled()
    assert torch.equal(task.graphs[0].x, small_task().graphs[0].x), "the task itself stays as it is"


def test_logarithms_come_first() -> None:
    graph = Data(x=torch.tensor([[1.0, 5.0], [torch.e, 5.0]]))
    assert Scaling((0,)).apply(graph).x.tolist() == [[0.0, 5.0], [pytest.approx(1.0), 5.0]]
    assert Scaling.fit([graph], [0]).apply(graph).x[:, 0].tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_a_constant_column_is_left_alone() -> None:
    graphs = [Data(x=torch.cat([torch.full((1000, 1), 0.1), torch.randn(1000, 1)], 1))]
    scaled = Scaling.fit(graphs).apply(Data(x=torch.tensor([[0.1001, 0.0]]))).x
    assert abs(float(scaled[0, 0])) < 1e-3


def test_what_it_refuses() -> None:
    with pytest.raises(nt.InputError, match=r"Expected positive features in the columns \[0\].*; got \[-1.0\] at"):
        Scaling((0,)).apply(Data(x=torch.tensor([[1.0], [-1.0]])))
    with pytest.raises(nt.InputError, match="Expected dense features to scale; got sparse ones"):
        Scaling((0,)).apply(Data(x=torch.eye(2).to_sparse()))
    with pytest.raises(nt.InputError, match="Expected at least two nodes"):
        Scaling.fit([Data(x=torch.ones(1, 2))])
    sparse = Data(x=torch.eye(2).to_sparse())
    assert Scaling().apply(sparse).x is sparse.x
