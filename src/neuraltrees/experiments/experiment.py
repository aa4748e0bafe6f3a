"""An experiment: a function that measures, and one that turns the results into figures and a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuraltrees.experiments.cells import ONE_BY_ONE, Cell, Log, run_cells
from neuraltrees.experiments.page import Block
from neuraltrees.plots.style import house_style
from neuraltrees.pools.execution import Execution
from neuraltrees.tuning.store import Name, Results, in_words


@dataclass(frozen=True)
class Scale:
    """Size of an experiment and the device it runs on.

    Args:
        quick: whether to run a small version, which takes minutes on two cores; not the paper's protocol.
        runs, epochs: override the experiment's own numbers.
        device: cpu or cuda.
        data_root: folder of the datasets.
        execution: the engine that runs the trainings, and the number of its workers.
        only: run only the parts whose names contain this word, or these words.
        compile: compile networks by torch.compile, if the experiment supports it.
    """

    quick: bool = False
    runs: int | None = None
    epochs: int | None = None
    device: str = "cpu"
    data_root: str | None = None
    execution: Execution = ONE_BY_ONE
    only: str | None = None
    compile: bool = False

    def wants(self, name: Name) -> bool:
        """Whether something of this name is to be run.

        >>> Scale(only="tree alone").wants({"dataset": "zinc", "network": "tree alone"})
        True
        """
        return self.only is None or re.search(rf"(?<!\w){re.escape(self.only)}(?!\w)", in_words(name)) is not None

    def choose(self, runs: tuple[int, int], epochs: tuple[int, int]) -> dict[str, Any]:
        """The options runs, epochs and data_root; `runs` and `epochs` are pairs (full version, quick version)."""
        return {
            "runs": self.runs or runs[self.quick],
            "epochs": self.epochs or epochs[self.quick],
            "data_root": self.data_root,
        }


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper, or an experiment of our own.

    Args:
        name: argument of `neuraltrees reproduce`, and the name of its files.
        what: one line of description.
        measure: runs what is missing in the JSON file and returns all results in it.
        draw: writes figures into the folder and returns the content of a page.
        large: whether it takes hours; `neuraltrees reproduce all` skips it.
        shrinks: whether the quick version is smaller, so that its numbers are those of a smoke test.
        divides: whether a part of it may be run and drawn; see `Scale.only`.
    """

    name: str
    what: str
    measure: Callable[[Scale, Path, Log], Results]
    draw: Callable[[Results, Path], list[Block]]
    large: bool = False
    shrinks: bool = True
    divides: bool = False

    @classmethod
    def of_cells(
        cls, name: str, what: str, cells: Callable[[Scale], list[Cell]], draw: Callable[[Results, Path], list[Block]]
    ) -> Experiment:
        """An experiment that is a list of trainings."""

        def measure(scale: Scale, path: Path, log: Log) -> Results:
            return run_cells(name, cells(scale), path, scale.device, log, scale.execution)

        return cls(name, what, measure, draw)

    def show(self, results: Results, folder: Path) -> list[Block]:
        """Writes the figures into the folder, in the house style, and returns the content of a page."""
        with house_style():
            return self.draw(results, folder)
