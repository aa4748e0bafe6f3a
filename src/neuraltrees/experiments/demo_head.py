"""The exact head in the demo: its training, its calibration, and a scene in which a person confirms one label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.data.task import Task
from neuraltrees.datasets import SyntheticScenes
from neuraltrees.datasets.loaders import SIZES
from neuraltrees.objectives import Calibration
from neuraltrees.serving import Predictor
from neuraltrees.training.bundle import Bundle
from neuraltrees.training.fitting import trained
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.training_spec import TrainingSpec

SPEC = NetworkSpec(model="none", head="crf", dropout=0.0)
STEPS = 160
LOOKED_AT = 30  # number of test scenes from which the example is chosen


@dataclass(frozen=True)
class Named:
    """A node of the example: its true label, and its predicted labels with probabilities, before and after."""

    truth: str
    before: str
    before_share: float
    after: str
    after_share: float
    confirmed: bool

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class ExactHead:
    """The exact head of the demo.

    Args:
        test, val: accuracy of every run.
        seconds: time the training took.
        calibration: calibration of its probabilities on the test nodes of the first run.
        example: the nodes of a scene, before and after one label is confirmed.
        guesses: its labels of all nodes in the first run.
    """

    test: tuple[float, ...]
    val: tuple[float, ...]
    seconds: float
    calibration: Calibration
    example: tuple[Named, ...]
    guesses: Tensor

    @property
    def accuracy(self) -> float:
        return sum(self.test) / len(self.test)

    @property
    def val_accuracy(self) -> float:
        return sum(self.val) / len(self.val)


def train_head(dataset: SyntheticScenes, runs: Sequence[Run]) -> ExactHead:
    """Trains a conditional random field with potentials that are quadratic in the features, by pseudo-likelihood."""
    task = Task(list(dataset), dataset.labels).scaled(SIZES, squares=True)
    nodes = int(runs[0].split.train.sum())
    training = TrainingSpec(
        epochs=STEPS,
        lr=0.1,
        weight_decay=1 / nodes,
        batches=1,
        cosine=True,
        every_class=False,
        evaluate_every=STEPS // 4,
    )
    fitted = trained(task, SPEC, training, runs)
    answers = fitted.answers().softmax(-1)[:, 0]
    test = runs[0].split.test
    return ExactHead(
        tuple(fitted.test.tolist()),
        tuple(fitted.val.tolist()),
        fitted.seconds,
        Calibration.of(answers[test], task.y[test]),
        find_example(Predictor(Bundle.of(fitted, 0)), dataset, runs[0]),
        answers.argmax(-1),
    )


def find_example(predictor: Predictor, dataset: SyntheticScenes, run: Run) -> tuple[Named, ...]:
    """The scene and node, among some test scenes, whose confirmed label corrects most other predictions."""
    owner = torch.repeat_interleave(torch.arange(len(dataset)), dataset.slices["x"].diff())
    tested = sorted(set(owner[run.split.test].tolist()))[:LOOKED_AT]
    free = dict(zip(tested, predictor.predict([dataset[scene] for scene in tested]), strict=True))
    cases = [(scene, node) for scene in tested for node in range(dataset[scene].num_nodes)]
    known = []
    for scene, node in cases:
        labels = torch.full((dataset[scene].num_nodes,), -1)
        labels[node] = dataset[scene].y[node]
        known.append(labels)
    given = predictor.predict([dataset[scene] for scene, _ in cases], known)

    def gain(place: int) -> int:
        scene, node = cases[place]
        y = dataset[scene].y
        right = [(each.argmax(1) == y).long() for each in (given[place], free[scene])]
        more = right[0] - right[1]
        more[node] = 0
        return int(more.sum())

    best = max(range(len(cases)), key=gain)
    scene, node = cases[best]
    names = list(dataset.labels.values())
    rows = []
    for place, (before, after) in enumerate(zip(free[scene], given[best], strict=True)):
        of_type = names[int(dataset[scene].node_type[place])]
        said = [(of_type[int(each.argmax())].replace("_", " "), float(each.max())) for each in (before, after)]
        truth = of_type[int(dataset[scene].y[place])].replace("_", " ")
        rows.append(Named(truth, *said[0], *said[1], place == node))
    return tuple(rows)
