"""An experiment: how it is measured, and how its results are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuraltrees.experiments.cells import Cell, Tell, run_cells
from neuraltrees.experiments.page import Block
from neuraltrees.plots.style import house_style
from neuraltrees.tuning.store import Results


@dataclass(frozen=True)
class Scale:
    """How much of an experiment to do, and where.

    Args:
        quick: a small version, for minutes on two cores; not the paper's protocol.
        runs, epochs: instead of the experiment's own.
        device: where to train.
        data_root: the folder of the datasets.
        workers: processes for searches over hyper-parameters.
    """

    quick: bool = False
    runs: int | None = None
    epochs: int | None = None
    device: str = "cpu"
    data_root: str | None = None
    workers: int = 1

    def choose(self, runs: tuple[int, int], epochs: tuple[int, int]) -> dict[str, Any]:
        """The numbers of runs and epochs, each given for the whole and for the quick version."""
        return {
            "runs": self.runs or runs[self.quick],
            "epochs": self.epochs or epochs[self.quick],
            "data_root": self.data_root,
        }


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper, or an experiment of our own.

    Args:
        name: what the command calls it; also the name of its files.
        what: what it shows, in a line.
        measure: fills the JSON file and returns its results; it runs what is missing there.
        draw: writes figures into the folder and returns the content of a page.
        large: whether it takes hours; such experiments run when they are named, and not with all others.
    """

    name: str
    what: str
    measure: Callable[[Scale, Path, Tell], Results]
    draw: Callable[[Results, Path], list[Block]]
    large: bool = False

    @classmethod
    def of_cells(
        cls, name: str, what: str, cells: Callable[[Scale], list[Cell]], draw: Callable[[Results, Path], list[Block]]
    ) -> Experiment:
        """An experiment that is a list of trainings."""

        def measure(scale: Scale, path: Path, tell: Tell) -> Results:
            return run_cells(name, cells(scale), path, scale.device, tell)

        return cls(name, what, measure, draw)

    def show(self, results: Results, folder: Path) -> list[Block]:
        """Writes the figures into the folder, in the style of all figures, and returns the content of a page."""
        with house_style():
            return self.draw(results, folder)
