"""Learning marginals: the objective, and one training with the library's trainer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.splits import Split
from neuraltrees.data.task import Task
from neuraltrees.experiments.marginal_problems import MarginalProblem, Samples, total_variation
from neuraltrees.objectives import Metric, Objective, Prediction, ValuePrediction, register_objective
from neuraltrees.training.fitting import trained
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Fitted, Run
from neuraltrees.training.training_spec import TrainingSpec

BATCH = 32  # training graphs per step, each with its own potentials
STEPS = 8  # least number of steps per epoch, after which all graphs are evaluated


def observe_total_variation(answers: Tensor, y: Tensor) -> Tensor:
    """Total variation distance, half the sum of absolute differences, between softmax of the answers and y.

    Shapes: answers :math:`(n, R, k)`, y :math:`(n, k)` → :math:`(n, R)`
    """
    return (answers.softmax(-1) - y.unsqueeze(1)).abs().sum(-1) / 2


@register_objective
class Distribution(Objective):
    """Targets that are distributions; the loss is the cross entropy, the metric the total variation distance.

    Args:
        states: number of states per variable.
    """

    name = "distribution"

    def __init__(self, states: int) -> None:
        metric = Metric("total variation", observe_total_variation, higher_is_better=False, percent=True)
        super().__init__("node", metric)
        self.states = states

    @property
    def out_channels(self) -> int | Mapping[str, int]:
        return self.states

    def check(self, graph: Data, node_type: Tensor) -> None:
        assert graph.y.shape == (len(node_type), self.states)

    def weight(self, y: Tensor) -> Tensor:
        return torch.ones(len(y), device=y.device)

    def loss(self, answers: Tensor, y: Tensor) -> Tensor:
        return -(y.unsqueeze(1) * answers.log_softmax(-1)).sum(-1)

    def predict(self, answers: Tensor) -> Tensor:
        return answers.softmax(-1)

    def describe(self, predicted: Tensor, types: Sequence[int], top: int = 1) -> list[Prediction]:
        names = [str(state) for state in range(self.states)]
        return [ValuePrediction("node", tuple(zip(names, row, strict=True))) for row in predicted.tolist()]

    def as_dict(self) -> dict[str, Any]:
        return {"states": self.states}


def learn_marginals(
    problem: MarginalProblem,
    train: Samples,
    other: MarginalProblem,
    test: Samples,
    network: NetworkSpec,
    steps: int,
    seed: int,
    device: str,
) -> Fitted:
    """Trains one network on the potentials of some graphs; every tenth sample is for validation.

    An epoch passes over few samples several times, so that not every step is followed by an evaluation of all.

    Args:
        problem, train: graphs and potentials to train on.
        other, test: graphs and potentials to test on.
        network: the network.
        steps: gradient steps, of 32 graphs each.
        seed: seed of the weights.
        device: cpu or cuda.
    """
    seen, tested = _graphs(problem, train), _graphs(other, test)
    is_val = torch.arange(len(seen)) % 10 == 9
    batches = max(1, int((~is_val).sum()) // BATCH)
    passes = math.ceil(STEPS / batches)
    if passes > 1:
        # The copies of a graph come first, one after another, so that every batch gets one of them.
        seen, is_val = [seen[i] for i in is_val.int().argsort(stable=True).tolist()], is_val.sort(stable=True).values
    again = torch.where(is_val, 1, passes)
    listed = [graph for graph, times in zip(seen, again.tolist(), strict=True) for _ in range(times)]
    is_val = torch.cat([is_val.repeat_interleave(again), torch.zeros(len(tested), dtype=torch.bool)])
    is_test = torch.arange(len(is_val)) >= len(listed)
    task = Task([*listed, *tested], Distribution(problem.states))
    sizes = torch.tensor([graph.num_nodes for graph in task.graphs])
    masks = (mask.repeat_interleave(sizes) for mask in (~is_test & ~is_val, is_val, is_test))
    batches *= passes
    training = TrainingSpec(
        epochs=math.ceil(steps / batches),
        lr=0.005,
        weight_decay=0.0,
        batches=batches,
        every_class=False,
        cosine=True,
        clip=1.0,
    )
    return trained(task, network, training, [Run(seed, Split(*masks))], device)


def baseline_errors(samples: Samples) -> dict[str, float]:
    """The total variation in per cent of loopy belief propagation and of uniform marginals."""
    assert samples.loopy is not None
    uniform = torch.full_like(samples.exact, 1 / samples.exact.shape[-1])
    return {
        "loopy": total_variation(samples.loopy, samples.exact),
        "uniform": total_variation(uniform, samples.exact),
    }


def _graphs(problem: MarginalProblem, samples: Samples) -> list[Data]:
    """One `Data` per graph of the problem and sample of its potentials."""
    found, first = [], 0
    for graph in problem.graphs:
        part = slice(first, first + graph.num_nodes)
        first += graph.num_nodes
        for x, exact in zip(samples.x[part].unbind(1), samples.exact[part].unbind(1), strict=True):
            found.append(Data(x=x, y=exact, edge_index=graph.edge_index))
    return found
