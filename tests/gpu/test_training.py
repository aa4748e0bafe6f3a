"""On a GPU: what is captured and replayed gives what eager work gives; training, resuming, evaluating, predicting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch_geometric.nn import GATv2Conv

import neuraltrees as nt
from neuraltrees.cli import main
from neuraltrees.nn.ensemble.dropout import DropoutMasks
from neuraltrees.objectives import MultiLabel, Regression
from neuraltrees.training import NetworkSpec, Run, Task, Trainer, TrainingSpec, fit
from neuraltrees.training.executors import Executor, Replay
from tests.training.tasks import QUICK, SMALL, small_runs, small_task
from tests.training.test_tasks_of_all_kinds import labelled

pytestmark = pytest.mark.gpu
CONVS = pytest.mark.parametrize("conv", ["gcn", "sage", "gat", "gin"])
MODELS = pytest.mark.parametrize("model", ["neural-tree", "gnn"])


@CONVS
@MODELS
def test_replayed_steps_equal_eager_ones_and_those_of_a_cpu(conv: str, model: str) -> None:
    task = small_task(30)
    spec, runs = SMALL.replace(conv=conv, model=model, dropout=0.3), small_runs(task, [0, 1, 2])
    training = QUICK.replace(epochs=8)
    replayed = Trainer(task, spec, training, runs, "cuda")
    assert isinstance(replayed.executor, Replay)
    replayed.train()
    names = {name if isinstance(name, str) else name[0] for name in replayed.executor.graphs}
    assert names == {"step", "evaluate", "finish"}, "nothing was captured"
    eager = Trainer(task, spec, training, runs, "cuda", executor=Executor())
    eager.train()
    here = fit(task, spec, training, runs)
    torch.testing.assert_close(replayed.result().loss_curve, eager.result().loss_curve, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(replayed.result().loss_curve, here.loss_curve, atol=5e-3, rtol=5e-3)


def test_training_goes_on_after_a_result_as_if_none_had_been_asked_for() -> None:
    """The dropout masks that captured steps read must stay where they are."""
    task, training = small_task(30), QUICK.replace(epochs=12)
    runs = small_runs(task, [0, 1])
    whole, asked = (Trainer(task, SMALL.replace(dropout=0.5), training, runs, "cuda") for _ in range(2))
    for epoch in range(12):
        whole.run_epoch(epoch)
        asked.run_epoch(epoch)
        asked.result()
        torch.cuda.empty_cache()
    torch.testing.assert_close(asked.result().loss_curve, whole.result().loss_curve, atol=1e-5, rtol=1e-4)


def test_an_evaluation_before_the_first_epoch_is_not_captured_with_dropout() -> None:
    task = small_task(30)
    trainer = Trainer(task, SMALL.replace(dropout=0.9), QUICK, small_runs(task, [0]), "cuda")
    seen = []
    for step in range(4):
        trainer.dropout_masks.go_to(step)
        trainer.evaluate()
        seen.append(trainer.observed.clone())
    assert all(torch.equal(each, seen[0]) for each in seen)


@pytest.mark.parametrize("divisions", [1, 2])
def test_training_goes_on_from_a_state(divisions: int) -> None:
    task, training = small_task(30), QUICK.replace(epochs=8, divisions=divisions)
    runs = small_runs(task, [0, 1])
    whole = Trainer(task, SMALL, training, runs, "cuda")
    whole.train()
    first, again = (Trainer(task, SMALL, training, runs, "cuda") for _ in range(2))
    for epoch in range(4):
        first.run_epoch(epoch)
    again.restore(first.state())
    again.train()
    torch.testing.assert_close(again.result().loss_curve, whole.result().loss_curve, atol=1e-5, rtol=1e-4)


def test_a_state_moves_between_devices() -> None:
    task = small_task(30)
    runs = small_runs(task, [0])
    there = Trainer(task, SMALL, QUICK, runs, "cuda")
    there.run_epoch(0)
    here = Trainer(task, SMALL, QUICK, runs)
    here.restore(there.state())
    here.train()
    assert here.finished


@pytest.mark.parametrize("objective", [Regression(("a", "b")), MultiLabel(("a", "b")), MultiLabel(("a", "b"), "node")])
def test_other_objectives_with_edge_features_and_categories(objective: object) -> None:
    """Metrics that cannot be captured are computed beside the captured work."""
    task = labelled(objective, categories=True)  # type: ignore[arg-type]
    spec = NetworkSpec(conv="gin", hidden=16, layers=2, dropout=0.0)
    training = TrainingSpec(epochs=10, batches=3, lr=0.01, every_class=False, clip=1.0, cosine=True, warmup=2)
    runs = [Run(seed, task.split(seed)) for seed in (0, 1)]
    there, here = fit(task, spec, training, runs, "cuda"), fit(task, spec, training, runs)
    torch.testing.assert_close(there.loss_curve, here.loss_curve, atol=5e-3, rtol=5e-3)
    assert there.test.isfinite().all()


def test_idle_runs_are_captured_as_well() -> None:
    task = small_task(6)
    runs = small_runs(task, [0, 1])
    training = QUICK.replace(epochs=8, batches=6)
    there = Trainer(task, SMALL.replace(dropout=0.0), training, runs, "cuda")
    there.train()
    here = fit(task, SMALL.replace(dropout=0.0), training, runs)
    torch.testing.assert_close(there.result().loss_curve, here.loss_curve, atol=5e-3, rtol=5e-3)


def test_external_convolutions_are_not_captured() -> None:
    task = small_task(30)
    trainer = Trainer(task, SMALL.replace(conv=GATv2Conv), QUICK, small_runs(task, [0, 1]), "cuda")
    assert not isinstance(trainer.executor, Replay)
    trainer.train()
    assert trainer.result().loss_curve.isfinite().all()


@CONVS
@MODELS
def test_plans_move_and_predictors_compute_there(conv: str, model: str) -> None:
    task = small_task(20)
    fitted = fit(task, SMALL.replace(conv=conv, model=model), QUICK, small_runs(task, [0]))
    bundle = nt.Bundle.of(fitted)
    here, there = (nt.Predictor(bundle, device).predict(task.graphs) for device in ("cpu", "cuda"))
    for ours, theirs in zip(here, there, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
    network = bundle.build()
    data = nt.ToHTree()(task.graphs[0])
    plan = network.plan(data)
    moved = network.to("cuda")(data.x.cuda(), plan.to("cuda"))
    torch.testing.assert_close(moved.cpu(), network.cpu()(data.x, plan), atol=1e-4, rtol=1e-4)


def test_the_command_trains_resumes_and_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    words = [
        "train",
        "--dataset",
        "synthetic",
        "--scenes",
        "40",
        "--hidden",
        "16",
        "--device",
        "cuda",
        "--out",
        str(out),
    ]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--epochs", "20", "--runs", "2", "--json"])
    assert ended.value.code == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2
    with pytest.raises(SystemExit) as ended:
        main(["train", "--out", str(out), "--resume", "--json"])
    assert ended.value.code == 0
    scene = {"nodes": [{"x": [0, 0, 1, 4, 3, 2.5], "type": "room"}, {"x": [0, 1, 1, 1, 1, 1], "type": "object"}]}
    (tmp_path / "scene.json").write_text(json.dumps(scene | {"edges": [[0, 1]]}))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(out / "model.safetensors"), str(tmp_path / "scene.json"), "--device", "cuda", "--json"])
    assert ended.value.code == 0
    assert len(json.loads(capsys.readouterr().out)["graphs"][0]["nodes"]) == 2


@pytest.mark.parametrize("dropped", [0.1, 0.25, 0.6])
def test_a_gpu_drops_what_a_cpu_drops(dropped: float) -> None:
    here, there = (DropoutMasks(torch.arange(7, device=device), places=3) for device in ("cpu", "cuda"))
    h = torch.randn(50, 7, 33)
    for each in (here, there):
        each.go_to(5)
    assert torch.equal(there.drop(h.cuda(), 1, dropped).cpu(), here.drop(h, 1, dropped))


def test_a_task_of_one_graph() -> None:
    task = Task([small_task(1).graphs[0]], small_task(1).objective)
    runs = [Run(0, nt.Split(*(torch.arange(3) == part for part in range(3))))]
    fitted = fit(task, SMALL, QUICK, runs, "cuda")
    assert fitted.loss_curve.isfinite().all()
