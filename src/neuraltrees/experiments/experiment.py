"""What an experiment is: how it is measured, and how its results are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from neuraltrees.experiments.cells import Cell, Tell, run_cells

Results: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How much of an experiment to do.

    Args:
        quick: a small version, for minutes on two cores; not the paper's protocol.
        runs, epochs: instead of the experiment's own.
        device: where to train.
        data_root: the folder of the datasets.
    """

    quick: bool = False
    runs: int | None = None
    epochs: int | None = None
    device: str = "cpu"
    data_root: str | None = None

    def choose(self, runs: tuple[int, int], epochs: tuple[int, int]) -> dict[str, Any]:
        """The numbers of runs and epochs, each given for the whole and for the quick version."""
        return {
            "runs": self.runs or runs[self.quick],
            "epochs": self.epochs or epochs[self.quick],
            "data_root": self.data_root,
        }


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper.

    Args:
        name: what the command calls it.
        what: what the paper shows there, in a line.
        measure: fills the JSON file and returns its content; it picks up where it was stopped.
        show: writes figures into the folder and returns the lines of a page in Markdown.
    """

    name: str
    what: str
    measure: Callable[[Scale, Path, Tell], Results]
    show: Callable[[Results, Path], list[str]]

    @classmethod
    def of_cells(
        cls, name: str, what: str, cells: Callable[[Scale], list[Cell]], show: Callable[[Results, Path], list[str]]
    ) -> Experiment:
        """An experiment that is a list of trainings."""

        def measure(scale: Scale, path: Path, tell: Tell) -> Results:
            return run_cells(name, cells(scale), path, scale.device, tell)

        return cls(name, what, measure, show)
