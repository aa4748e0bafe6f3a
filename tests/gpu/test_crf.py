"""On a GPU: the CRF layer and the CRF head give what they give on a CPU, replayed or not."""

from __future__ import annotations

import pytest
import torch

import neuraltrees as nt
from neuraltrees.training.executors import Executor, Replay
from tests.inference.crf.test_crf import random_problem

pytestmark = pytest.mark.gpu


def test_the_layer_and_its_gradients_equal_those_of_a_cpu() -> None:
    graphs, unary, table, known = random_problem(30, 5, seed=3)
    found = []
    for device in ("cpu", "cuda"):
        given = [each.to(device, copy=True).requires_grad_() for each in (unary, table)]
        crf = nt.CRF(graphs).to(device)
        answer = crf(*given, known.to(device))
        (answer.marginals.square().sum() + answer.log_partition.sum()).backward()
        labels = crf.map(*given, known.to(device))
        found.append([answer.marginals, answer.log_partition, *(each.grad for each in given), labels])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("learning", ["pseudo", "marginal", "likelihood"])
def test_replayed_steps_equal_eager_ones_and_those_of_a_cpu(learning: str) -> None:
    scenes = nt.SyntheticScenes(30)
    task = nt.Task(list(scenes), scenes.labels).scaled((3, 4, 5), squares=True)
    spec = nt.NetworkSpec(model="none", head="crf", dropout=0.0, crf_learning=learning, crf_exact_share=0.5)
    training = nt.TrainingSpec(epochs=12, lr=0.05, batches=2, every_class=False, evaluate_every=3)
    runs = [nt.Run(seed, task.split(seed)) for seed in (0, 1)]
    replayed = nt.Trainer(task, spec, training, runs, "cuda")
    assert isinstance(replayed.executor, Replay)
    replayed.train()
    eager = nt.Trainer(task, spec, training, runs, "cuda", executor=Executor())
    eager.train()
    here = nt.fit(task, spec, training, runs)
    torch.testing.assert_close(replayed.result().loss_curve, eager.result().loss_curve, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(replayed.result().loss_curve, here.loss_curve, atol=5e-3, rtol=5e-3)


def test_a_captured_call_of_the_layer_equals_one_with_checks() -> None:
    graphs, *given = random_problem(20, 4, seed=5)
    unary, table, known = (each.cuda() for each in given)
    unary.requires_grad_()
    table.requires_grad_()
    crf = nt.CRF(graphs, states=3).to("cuda")

    def step(check: bool) -> list[torch.Tensor]:
        unary.grad = table.grad = None
        answer = crf(unary, table, known, check=check)
        (answer.marginals.square().sum() + answer.log_partition.sum()).backward()
        assert unary.grad is not None and table.grad is not None
        return [answer.marginals, answer.log_partition, unary.grad, table.grad]

    expected = [each.detach().clone() for each in step(True)]
    with torch.cuda.stream(torch.cuda.Stream()):
        step(False)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step(False)
    graph.replay()
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
