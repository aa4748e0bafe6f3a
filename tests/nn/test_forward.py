"""`forward` is the one way through a network: hooks, DDP, compile, export and a loop of one's own work on it."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import neuraltrees as nt
from neuraltrees.nn import BagRounds

KINDS = pytest.mark.parametrize("kind", [nt.NeuralTree, nt.GNN])


def graphs() -> list[nt.HTreeData]:
    torch.manual_seed(0)
    found = []
    for size in (3, 4, 5, 6):
        ring = torch.stack([torch.arange(size), (torch.arange(size) + 1) % size])
        x = torch.randn(size, 6)
        edges = torch.cat([ring, ring.flip(0)], 1)
        found.append(nt.ToHTree()(Data(x=x, edge_index=edges, y=(x[:, 0] > 0).long())))
    return found


def answer(model: torch.nn.Module, data: Data, planned: bool, plan: nt.Plan | None = None) -> Tensor:
    if planned:
        return model(data.x, plan or getattr(model, "module", model).plan(data))
    if isinstance(getattr(model, "module", model), nt.GNN):
        return model(data.x, data.edge_index)
    return model(data.x, data.htree.edge_index, data.htree.kappa)


@KINDS
@pytest.mark.parametrize("planned", [True, False])
def test_a_loop_of_ones_own_over_a_data_loader(kind: type[nt.NeuralTree], planned: bool) -> None:
    model = kind(6, 16, 2, 2, dropout=0.0)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(30):
        for batch in DataLoader(graphs(), batch_size=2):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(answer(model, batch, planned), batch.y)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


@KINDS
@pytest.mark.parametrize("planned", [True, False])
def test_hooks_are_called(kind: type[nt.NeuralTree], planned: bool) -> None:
    model, seen = kind(6, 8, 2, 2), []
    model.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    model.schedule.convs[1].register_forward_hook(lambda module, inputs, output: seen.append("round"))
    model.head.register_forward_pre_hook(lambda module, inputs: seen.append("head"))
    answer(model, graphs()[0], planned)
    assert seen == ["round", "head", (3, 2)]


@pytest.mark.parametrize(
    "options",
    [
        {"conv": "gcn"},
        {"num_layers": 3},
        {"relations": True},
        {"schedule": BagRounds},
        {"schedule": BagRounds.having(parts="graph")},
    ],
    ids=str,
)
def test_a_plan_of_another_network_is_refused(options: dict[str, object]) -> None:
    data, sizes = graphs()[0], {"in_channels": 6, "hidden_channels": 8, "out_channels": 2, "num_layers": 2}
    mine, theirs = nt.NeuralTree(**sizes), nt.NeuralTree(**{**sizes, **options})
    for model, other in ((mine, theirs), (theirs, mine)):
        with pytest.raises(nt.InputError, match="Expected a plan made by this network"):
            model(data.x, other.plan(data))
    same = nt.NeuralTree(**{**sizes, "hidden_channels": 4, "runs": 3})
    assert same(data.x, mine.plan(data)).shape == (3, 3, 2)


DDP = """
import copy, sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import neuraltrees as nt
from tests.nn.test_forward import answer, graphs

dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
for kind in (nt.NeuralTree, nt.GNN):
    for planned in (True, False):
        model = kind(6, 8, 2, 2, dropout=0.0)
        wrapped = DistributedDataParallel(copy.deepcopy(model))
        outs = [answer(each, graphs()[1], planned) for each in (model, wrapped)]
        for out in outs:
            out.square().sum().backward()
        torch.testing.assert_close(*outs)
        for mine, theirs in zip(model.parameters(), wrapped.module.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, theirs.grad)
dist.destroy_process_group()
"""


def test_ddp(tmp_path: Path) -> None:
    """In a process of its own: a process group stays with its process."""
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-c", DDP, str(tmp_path / "meet")]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.filterwarnings("ignore")  # Dynamo makes an object of a class that torch wants none of
@KINDS
def test_compile(kind: type[nt.NeuralTree]) -> None:
    """With the eager backend, which traces as all others do and needs no compiler."""
    model = kind(6, 8, 2, 2, conv="sage").eval()
    compiled = torch.compile(model, backend="eager")
    for data in graphs()[:2]:
        plan = model.plan(data)
        torch.testing.assert_close(answer(compiled, data, True, plan), answer(model, data, True, plan))
        if kind is nt.GNN:
            torch.testing.assert_close(compiled(data.x, data.edge_index), model(data.x, data.edge_index))
        else:
            tree = data.htree
            torch.testing.assert_close(
                compiled(data.x, tree.edge_index, tree.kappa), model(data.x, tree.edge_index, tree.kappa)
            )


@KINDS
@pytest.mark.parametrize("conv", ["gcn", "sage", "gat", "gin"])
def test_weights_and_plans_are_copied_saved_and_moved(kind: type[nt.NeuralTree], conv: str) -> None:
    model, data = kind(6, 8, 2, 2, conv=conv, heads=2).eval(), graphs()[2]
    plan = model.plan(data)
    expected = model(data.x, plan)
    torch.testing.assert_close(copy.deepcopy(model)(data.x, copy.deepcopy(plan)), expected)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    again = kind(6, 8, 2, 2, conv=conv, heads=2).eval()
    again.load_state_dict(torch.load(buffer, weights_only=True))
    torch.testing.assert_close(again(data.x, plan), expected)
    moved = plan.to("meta")
    assert model.to("meta")(data.x.to("meta"), moved).device.type == "meta"


@pytest.mark.parametrize("conv", ["gcn", "sage", "gat", "gin"])
def test_export_of_graph_answers_with_edge_features(conv: str) -> None:
    model = nt.GNN(6, 8, 3, 2, conv=conv, heads=2, edge_channels=2, head="graph").eval()
    data = graphs()[1]
    attr = torch.randn(data.edge_index.shape[1], 2)
    nodes, edges = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=2)
    shapes = {"x": {0: nodes}, "edge_index": {1: edges}, "edge_attr": {0: edges}}
    exported = torch.export.export(
        model, (data.x, data.edge_index), {"edge_attr": attr}, dynamic_shapes=shapes
    ).module()
    other = graphs()[3]
    attr = torch.randn(other.edge_index.shape[1], 2)
    torch.testing.assert_close(
        exported(other.x, other.edge_index, edge_attr=attr), model(other.x, other.edge_index, edge_attr=attr)
    )
