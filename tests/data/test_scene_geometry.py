"""SceneGeometry: what it does not depend on; statistics per node type, in predictions as in training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.data.scaling import FARTHEST, Scaling
from neuraltrees.data.scene_geometry import EDGE_COLUMNS, NODE_COLUMNS, SceneGeometry
from neuraltrees.datasets import DataSpec, SyntheticScenes, load_task
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, TrainingSpec, fit


def scene(objects: int = 5, seed: int = 0) -> Data:
    stream = torch.Generator().manual_seed(seed)
    place = torch.randn(objects + 1, 3, generator=stream)
    size = torch.rand(objects + 1, 3, generator=stream) + 0.1
    place[0], size[0] = 0.0, 5.0
    upper = torch.triu_indices(objects + 1, objects + 1, 1)
    upper = upper[:, (upper[0] == 0) | (torch.rand(upper.shape[1], generator=stream) < 0.5)]
    kinds = (torch.arange(objects + 1) > 0).long()
    edges = torch.cat([upper, upper.flip(0)], 1)
    return Data(x=torch.cat([place, size], 1), edge_index=edges, node_type=kinds, y=torch.zeros_like(kinds))


def moved(data: Data, by: Tensor) -> Data:
    shifted = data.clone()
    shifted.x[:, :3] += by
    return shifted


def test_moving_the_scene_changes_nothing() -> None:
    data = scene()
    before, after = SceneGeometry()(data), SceneGeometry()(moved(data, torch.tensor([3.0, -20.0, 7.0])))
    assert before.x.shape == (6, NODE_COLUMNS) and before.edge_attr.shape == (data.num_edges, EDGE_COLUMNS)
    torch.testing.assert_close(after.x, before.x, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(after.edge_attr, before.edge_attr, atol=1e-4, rtol=1e-4)
    assert data.x.shape == (6, 6), "the graph itself stays as it is"


def test_turning_the_scene_by_a_right_angle_keeps_what_has_no_axis() -> None:
    data = scene()
    turned = data.clone()
    turned.x = data.x[:, [1, 0, 2, 4, 3, 5]]
    before, after = SceneGeometry()(data), SceneGeometry()(turned)
    torch.testing.assert_close(after.edge_attr, before.edge_attr)
    without_axes = [2, 5, 8, 11, *range(12, 18), 20, *range(21, 25)]
    torch.testing.assert_close(after.x[:, without_axes], before.x[:, without_axes])


def test_any_order_of_nodes_gives_the_same_features() -> None:
    data = scene()
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    place = order.argsort()
    other = Data(x=data.x[order], node_type=data.node_type[order], edge_index=place[data.edge_index])
    torch.testing.assert_close(SceneGeometry()(other).x, SceneGeometry()(data).x[order])
    torch.testing.assert_close(SceneGeometry()(other).edge_attr, SceneGeometry()(data).edge_attr)


def test_both_directions_of_an_edge() -> None:
    data = scene()
    forth, back = SceneGeometry()(data).edge_attr.chunk(2)  # the scene lists one direction, then the other
    torch.testing.assert_close(forth[:, :4], back[:, :4])
    torch.testing.assert_close(forth[:, 4:], -back[:, 4:])


def test_some_columns_by_hand() -> None:
    room, lamp = [0.0, 0.0, 1.5, 4.0, 3.0, 3.0], [1.0, 1.0, 2.5, 0.2, 0.2, 0.5]
    edges = torch.tensor([[0, 1], [1, 0]])
    found = SceneGeometry()(Data(x=torch.tensor([room, lamp]), node_type=torch.tensor([0, 1]), edge_index=edges))
    row = found.x[1].tolist()
    assert row[:6] == pytest.approx([1, 1, 1, 1 / 4, 1 / 3, 1 / 3])
    assert row[14:18] == pytest.approx([2.25, 0.25, 0.4, 0.9]), "over the floor, under the ceiling, to the walls"
    assert found.edge_attr[0, 3:5].tolist() == pytest.approx([2**0.5, 1.0])
    assert found.x[0, :6].tolist() == [0.0] * 6


def test_what_it_refuses() -> None:
    data = scene()
    with pytest.raises(nt.InputError, match=r"Expected x as floats of shape \(n, 6\).*of shape \(6, 5\)"):
        SceneGeometry()(Data(x=data.x[:, :5], node_type=data.node_type, edge_index=data.edge_index))
    with pytest.raises(nt.InputError, match="Expected a scene with one room, the only node of type 0; got 2"):
        SceneGeometry()(Data(x=data.x, node_type=torch.tensor([0, 0, 1, 1, 1, 1]), edge_index=data.edge_index))
    with pytest.raises(nt.InputError, match="got no node_type"):
        SceneGeometry()(Data(x=data.x, edge_index=data.edge_index))


def test_every_type_is_scaled_apart() -> None:
    graphs = [scene(seed=seed) for seed in range(30)]
    scaling = Scaling.fit(graphs, geometry=True, types=2)
    scaled = [scaling.apply(graph) for graph in graphs]
    plain = [SceneGeometry()(graph) for graph in graphs]
    kinds = torch.cat([graph.node_type for graph in graphs])
    given, found = (torch.cat([graph.x for graph in each]).double() for each in (plain, scaled))
    for kind in (0, 1):
        mine, wanted = found[kinds == kind], given[kinds == kind]
        std = wanted.std(0)
        varies = std > 1e-5
        wanted = (wanted - wanted.mean(0)) / torch.where(varies, std, 1)
        torch.testing.assert_close(mine[:, varies], wanted.clamp(-FARTHEST, FARTHEST)[:, varies], atol=1e-4, rtol=1e-4)
        assert mine[:, ~varies].abs().max() < 1e-4, "a constant column says nothing"
    pairs = torch.cat(
        [graph.node_type[graph.edge_index[0]] * 2 + graph.node_type[graph.edge_index[1]] for graph in graphs]
    )
    edges = torch.cat([graph.edge_attr for graph in scaled]).double()
    for pair in (1, 2, 3):
        torch.testing.assert_close(edges[pairs == pair].mean(0), torch.zeros(6).double(), atol=1e-4, rtol=0)
        torch.testing.assert_close(edges[pairs == pair].std(0), torch.ones(6).double(), atol=1e-4, rtol=0)


@pytest.fixture(scope="module")
def task() -> Task:
    scenes = SyntheticScenes(12, seed=0)
    return Task(list(scenes), scenes.labels).scaled(geometry=True)


def test_a_task_has_encoders_for_both_types(task: Task) -> None:
    assert task.features == {"room": NODE_COLUMNS, "object": NODE_COLUMNS} and task.edge_features == EDGE_COLUMNS
    with pytest.raises(nt.InputError, match="Expected a task that is not scaled yet"):
        task.scaled()


def test_a_bundle_takes_boxes(task: Task, tmp_path: Path) -> None:
    network = NetworkSpec(model="gnn", hidden=8, layers=2, head="crf", crf_states=3)
    training = TrainingSpec(epochs=2, batches=1, every_class=False, average=0.9)
    fitted = fit(task, network, training, [Run(0, task.split(0)), Run(1, task.split(1))])
    Bundle.of(fitted, run=1).save(tmp_path / "model.safetensors")
    bundle = Bundle.load(tmp_path / "model.safetensors")
    for name in ("mean", "std", "edge_mean", "edge_std"):
        assert torch.equal(getattr(bundle.scaling, name), getattr(task.scaling, name))
    boxes = list(SyntheticScenes(12, seed=0))
    answers = torch.cat(Predictor(bundle).predict(boxes))
    with torch.no_grad():
        member = fitted.network.eval()
        expected = torch.cat(
            [member(graph.x, member.plan(graph), edge_attr=graph.edge_attr)[:, 1].softmax(-1) for graph in task.graphs]
        )
    torch.testing.assert_close(answers, expected)
    far = [moved(graph, torch.tensor([5.0, 5.0, 0.0])) for graph in boxes]
    torch.testing.assert_close(torch.cat(Predictor(bundle).predict(far)), answers, atol=1e-4, rtol=1e-3)


def test_the_option_of_the_command_line() -> None:
    found = load_task(DataSpec(dataset="synthetic", scenes=10, geometry=True, standardise=True, log_sizes=True))
    assert found.scaling.geometry and found.edge_features == EDGE_COLUMNS
