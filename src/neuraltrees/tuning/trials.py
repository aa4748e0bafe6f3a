"""What tuning tries: a grid of hyper-parameters, its points, and what came out at one of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

from neuraltrees.errors import InputError
from neuraltrees.training.spec import NetworkSpec, TrainingSpec


@dataclass(frozen=True)
class Point:
    """The five hyper-parameters that are tuned."""

    layers: int
    hidden: int
    lr: float
    dropout: float
    weight_decay: float

    def applied(self, network: NetworkSpec, training: TrainingSpec) -> tuple[NetworkSpec, TrainingSpec]:
        """A network and its training with these values.

        >>> network, training = Point(2, 16, 0.01, 0.5, 0.0).applied(NetworkSpec(conv="gin"), TrainingSpec(epochs=9))
        >>> network.conv, network.layers, training.epochs, training.lr
        ('gin', 2, 9, 0.01)
        """
        return (
            replace(network, layers=self.layers, hidden=self.hidden, dropout=self.dropout),
            replace(training, lr=self.lr, weight_decay=self.weight_decay),
        )

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {getattr(self, name):g}" for name in self.__match_args__)


@dataclass(frozen=True)
class Grid:
    """The values to try, kept in ascending order; by default the paper's. What a network allows, a grid allows.

    >>> grid = Grid(layers=(3, 2), hidden=(16,), lr=(0.01,), dropout=(0.5, 0.25))
    >>> grid.layers, grid.first().size, grid.size
    ((2, 3), 2, 16)
    >>> Grid(layers=(0, 1))
    Traceback (most recent call last):
    neuraltrees.errors.InputError: Expected layers to be at least 1; got 0.
    """

    layers: Sequence[int] = (1, 2, 3, 4, 5, 6)
    hidden: Sequence[int] = (16, 32, 64, 128, 256)
    lr: Sequence[float] = (0.0005, 0.001, 0.005, 0.01)
    dropout: Sequence[float] = (0.25, 0.5, 0.75)
    weight_decay: Sequence[float] = (0.0, 1e-4, 1e-3, 1e-2)

    def __post_init__(self) -> None:
        for name, values in self.values().items():
            check: Callable[..., object] = NetworkSpec if name in NetworkSpec.__match_args__ else TrainingSpec
            if not values:
                raise InputError(f"Expected at least one value of {name}; got none.")
            for value in values:
                check(**{name: value})  # raises for a value that cannot be trained with
            if len(set(values)) < len(values):
                raise InputError(f"Expected every value of {name} once; got {', '.join(map(str, values))}.")
            kind = int if name in ("layers", "hidden") else float
            object.__setattr__(self, name, tuple(sorted(map(kind, values))))

    @property
    def size(self) -> int:
        """How many points there are."""
        return len(self.points())

    def points(self) -> list[Point]:
        """All combinations; the last hyper-parameter changes fastest."""
        axes = (self.layers, self.hidden, self.lr, self.dropout, self.weight_decay)
        return [Point(*values) for values in product(*axes)]

    def values(self) -> dict[str, tuple[float, ...]]:
        """The values of every hyper-parameter, by its name."""
        return {name: tuple(getattr(self, name)) for name in self.__match_args__}

    def first(self) -> Grid:
        """The first stage: dropout and regularisation at their lowest."""
        return replace(self, dropout=self.dropout[:1], weight_decay=self.weight_decay[:1])

    def second(self, best: Point) -> Grid:
        """The second stage: rounds, size and learning rate as they were best in the first."""
        return replace(self, layers=(best.layers,), hidden=(best.hidden,), lr=(best.lr,))


PAPER_GRID = Grid()

# Accuracies are ratios in single precision: means that are closer than this are equal, means that differ are not.
TIE = 1e-6


@dataclass(frozen=True)
class TrialDone:
    """What came out at one point of a grid. Trials are equal if all but their seconds are.

    Args:
        stage: 1 or 2.
        point: the hyper-parameters.
        val, test: accuracies of every run at its best validation epoch.
        seconds: how long it took; 0 for the point of stage 2 that stage 1 has tried.
    """

    stage: int
    point: Point
    val: tuple[float, ...]
    test: tuple[float, ...]
    seconds: float = field(compare=False)

    @property
    def val_mean(self) -> float:
        return statistics.fmean(self.val)

    @property
    def val_std(self) -> float | None:
        """The standard deviation among the runs; one run has none."""
        return statistics.stdev(self.val) if len(self.val) > 1 else None

    @property
    def test_mean(self) -> float:
        return statistics.fmean(self.test)


@dataclass(frozen=True)
class Tuned:
    """The outcome of a tuning.

    Args:
        network, training: with the chosen hyper-parameters.
        grid: what was tried.
        trials: all trials, in the order of the grid, the first stage before the second.
        first, best: the chosen trial of either stage; `best` is the one that counts.
    """

    network: NetworkSpec
    training: TrainingSpec
    grid: Grid
    trials: tuple[TrialDone, ...]
    first: TrialDone
    best: TrialDone

    def table(self) -> list[dict[str, Any]]:
        """Every trial as a row of plain values."""
        return [
            {
                "stage": trial.stage,
                **asdict(trial.point),
                "val_mean": trial.val_mean,
                "val_std": trial.val_std,
                "test_mean": trial.test_mean,
                "seconds": trial.seconds,
                "chosen": trial in (self.first, self.best),
            }
            for trial in self.trials
        ]


def select(trials: Sequence[TrialDone], weights: Callable[[Point], int]) -> TrialDone:
    """The trial of the highest mean validation accuracy; of equals that of the smallest network, then the first."""
    top = max(trial.val_mean for trial in trials)
    return min((t for t in trials if top - t.val_mean < TIE), key=lambda t: weights(t.point))
