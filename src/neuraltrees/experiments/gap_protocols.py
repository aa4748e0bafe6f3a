"""Protocols of the gap to the exact posterior: training scenes, couplings, runs and networks."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from neuraltrees.training.network_spec import ConvName, ModelName, NetworkSpec
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.tuning.grid import Grid

FULL_GRID = Grid(layers=(2, 3, 4, 6), lr=(0.002, 0.005))


@dataclass(frozen=True)
class Protocol:
    """The settings of one experiment.

    Args:
        sizes: numbers of training scenes, each run at the middle coupling.
        couplings: label couplings, each run with the middle number of scenes.
        middle: number of training scenes and coupling that are fixed while the other one varies.
        held_out: numbers of validation and test scenes.
        runs: number of paired runs, each with its own split.
        steps: gradient steps per run.
        grid: rounds and learning rates over which both networks are tuned.
        hidden: size of the states.
        relations: whether the neural tree has separate weights for root-root, upward and downward messages.
        residual: whether rounds are residual, in both networks.
        dropout: dropout rate.
        most_batches: maximum number of steps per epoch; there are at least 4, of about 32 training scenes each.
        tf32: whether to use TF32 products on a GPU.
        conv: the convolution.
        models: the networks to train.
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
        """Everything that the results depend on; the list of networks does not matter to each of them."""
        plain = replace(self, grid=None)  # type: ignore[arg-type]  # a grid is not a dataclass; it follows
        found = asdict(plain) | {"grid": dict(self.grid)}
        del found["models"]
        return found

    def network(self, model: ModelName) -> NetworkSpec:
        """The network, except for the tuned hyper-parameters."""
        return NetworkSpec(
            model=model,
            conv=self.conv,
            hidden=self.hidden,
            dropout=self.dropout,
            relations=self.relations,
            residual=self.residual,
        )

    def training(self, scenes: int) -> TrainingSpec:
        """The training on so many scenes, except for the tuned learning rate, which is halved four times."""
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
        """All pairs of number of scenes and coupling, the middle one first."""
        size, coupling = self.middle
        listed = [self.middle, *((n, coupling) for n in self.sizes), *((size, c) for c in self.couplings)]
        return list(dict.fromkeys(listed))

    def quick(self) -> Protocol:
        """A small version that takes minutes on two cores."""
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
    """Number of steps per epoch: one per 32 training scenes, but at least 4 and at most `most`."""
    return min(most, max(4, scenes // 32))


FULL = Protocol()
# Small enough for a CPU: the effect of the coupling shows before the networks have converged.
COUPLING = Protocol(
    sizes=(1000,),
    couplings=(0.0, 1.0, 3.0),
    middle=(1000, 1.0),
    held_out=(300, 600),
    steps=1200,
    grid=Grid(layers=(6,), lr=(0.005,)),
    hidden=32,
)
# One run, of as many steps as a CPU does in half an hour; with so many scenes there is little overfitting.
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
# Residual connections make more rounds trainable. So many steps need a GPU, and few batches, because each batch is
# captured as a CUDA graph.
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
# Protocol and one line of description by name of the experiment.
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
