"""How the gap to the exact posterior is measured: sizes, couplings, runs and networks of every protocol."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from neuraltrees.training.spec import ConvName, ModelName, NetworkSpec, TrainingSpec
from neuraltrees.tuning.grid import Grid

FULL_GRID = Grid(layers=(2, 3, 4, 6), lr=(0.002, 0.005))


@dataclass(frozen=True)
class Protocol:
    """What is measured and how.

    Args:
        sizes: numbers of training scenes, at the middle coupling.
        couplings: at the middle number of scenes.
        middle: the size and the coupling that stay where the other one grows.
        held_out: scenes to validate and to test.
        runs: paired runs, each with a split of its own.
        steps: gradient steps of a run.
        grid: rounds and learning rates that both networks are tuned over.
        hidden: size of the states.
        relations: separate weights of the neural tree for root-root, upward and downward messages.
        residual: each state before a round is added to the one after it, in both networks.
        dropout: share of the states dropped in training.
        most_batches: steps per epoch, at most; there are at least 4, and about 32 training scenes in a batch.
        tf32: whether products are rounded on a GPU.
        conv: the convolution.
        models: the networks that are measured.
    """

    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10000)
    couplings: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0)
    middle: tuple[int, float] = (3000, 1.0)
    held_out: tuple[int, int] = (500, 1000)
    runs: int = 10
    steps: int = 6000
    grid: Grid = FULL_GRID
    hidden: int = 128
    relations: bool = False
    residual: bool = False
    most_batches: int = 64
    dropout: float = 0.1
    tf32: bool = False
    conv: ConvName = "sage"
    models: tuple[ModelName, ...] = ("gnn", "neural-tree")

    def subject(self) -> dict[str, Any]:
        """Everything that the results depend on; networks are measured independently of each other."""
        found = asdict(replace(self, grid=None)) | {"grid": dict(self.grid)}  # type: ignore[arg-type]
        del found["models"]
        return found

    def network(self, model: ModelName) -> NetworkSpec:
        """A network, but for what is tuned."""
        return NetworkSpec(
            model=model,
            conv=self.conv,
            hidden=self.hidden,
            dropout=self.dropout,
            relations=self.relations,
            residual=self.residual,
        )

    def training(self, scenes: int) -> TrainingSpec:
        """How to train on so many scenes, but for what is tuned: the learning rate is halved four times on the way."""
        batches = batches_for(scenes, self.most_batches)
        epochs = math.ceil(self.steps / batches)
        return TrainingSpec(
            epochs=epochs,
            weight_decay=1e-5,
            batches=batches,
            decay_every=math.ceil(epochs / 5),
            every_class=False,
            tf32=self.tf32,
        )

    def settings(self) -> list[tuple[int, float]]:
        """All pairs of size and coupling, the middle one first."""
        size, coupling = self.middle
        listed = [self.middle, *((n, coupling) for n in self.sizes), *((size, c) for c in self.couplings)]
        return list(dict.fromkeys(listed))

    def quick(self) -> Protocol:
        """A small version, for minutes on two cores."""
        return replace(
            self,
            sizes=(100, 300),
            couplings=(0.0, 1.0),
            middle=(300, 1.0),
            held_out=(100, 200),
            runs=3,
            steps=600,
            grid=Grid(layers=(4,), lr=(0.005,)),
            hidden=64,
            most_batches=64,
        )


def batches_for(scenes: int, most: int) -> int:
    """Steps per epoch: about 32 training scenes in each, but at least 4 steps and at most so many."""
    return min(most, max(4, scenes // 32))


FULL = Protocol()
# Small enough for a CPU: what grows with the coupling shows before the networks are at their best.
COUPLING = Protocol(
    sizes=(1000,),
    couplings=(0.0, 1.0, 3.0),
    middle=(1000, 1.0),
    held_out=(300, 600),
    steps=1200,
    grid=Grid(layers=(6,), lr=(0.005,)),
    hidden=32,
)
# One run, of as many steps as a CPU can do in half an hour; so many scenes leave little to overfit to.
LARGE = Protocol(
    sizes=(100_000,),
    couplings=(1.0,),
    middle=(100_000, 1.0),
    runs=1,
    steps=25_600,
    grid=Grid(layers=(8,), lr=(0.003,)),
    relations=True,
    most_batches=3200,
    models=("neural-tree",),
)
# For a convolution that sums, such as GIN: it needs fewer rounds.
LARGE_SUM = replace(LARGE, grid=Grid(layers=(5,), lr=(0.004,)), dropout=0.0, conv="gin")
LARGE_BATCHES = replace(LARGE, steps=6144, most_batches=512)
LARGE_BATCHES_PLAIN = replace(LARGE_BATCHES, steps=5120, dropout=0.0)
# Residual rounds let more of them be trained; so many steps want a GPU, and few batches, each of which is captured.
LARGE_RESIDUAL = replace(LARGE, grid=Grid(layers=(12,), lr=(0.003,)), residual=True, most_batches=256, tf32=True)
LARGER_RESIDUAL = replace(
    LARGE_RESIDUAL,
    sizes=(300_000,),
    middle=(300_000, 1.0),
    held_out=(1000, 4000),
    steps=30_720,
    most_batches=512,
    models=("neural-tree", "gnn"),
)
# By the name of the experiment, with what it shows.
PROTOCOLS: dict[str, tuple[Protocol, str]] = {
    "posterior-gap-sage-full": (FULL, "against training scenes and coupling"),
    "posterior-gap-sage-coupling": (COUPLING, "against the coupling, small enough for a CPU"),
    "posterior-gap-sage-large": (LARGE, "100,000 scenes"),
    "posterior-gap-sage-large-batches": (LARGE_BATCHES, "100,000 scenes in large batches"),
    "posterior-gap-sage-large-batches-plain": (LARGE_BATCHES_PLAIN, "100,000 scenes in large batches, no dropout"),
    "posterior-gap-gin-large-sum": (LARGE_SUM, "100,000 scenes, GIN"),
    "posterior-gap-sage-large-residual": (LARGE_RESIDUAL, "100,000 scenes, residual rounds; for a GPU"),
    "posterior-gap-sage-larger-residual": (LARGER_RESIDUAL, "300,000 scenes, residual rounds; for a GPU"),
}
