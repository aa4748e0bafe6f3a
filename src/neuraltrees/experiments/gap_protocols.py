"""How the gap to the exact posterior is measured: sizes, couplings, runs and networks of every protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neuraltrees.training.spec import ConvName, ModelName, NetworkSpec


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
        most_batches: steps an epoch, at most; there are at least 4, and about 32 training scenes in a batch.
        tf32: whether products are rounded on a GPU.
    """

    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10000)
    couplings: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0)
    middle: tuple[int, float] = (3000, 1.0)
    held_out: tuple[int, int] = (500, 1000)
    runs: int = 10
    steps: int = 6000
    grid: tuple[tuple[int, float], ...] = tuple((layers, lr) for layers in (2, 3, 4, 6) for lr in (0.002, 0.005))
    hidden: int = 128
    relations: bool = False
    residual: bool = False
    most_batches: int = 64
    dropout: float = 0.1
    tf32: bool = False

    def network(self, model: ModelName, conv: ConvName, layers: int) -> NetworkSpec:
        return NetworkSpec(
            model=model,
            conv=conv,
            hidden=self.hidden,
            layers=layers,
            dropout=self.dropout,
            relations=self.relations,
            residual=self.residual,
        )

    def settings(self) -> list[tuple[int, float]]:
        """All pairs of size and coupling, the middle one first."""
        size, coupling = self.middle
        listed = [self.middle, *((n, coupling) for n in self.sizes), *((size, c) for c in self.couplings)]
        return list(dict.fromkeys(listed))


# One run, of as many steps as a CPU can do in half an hour; so many scenes leave little to overfit to.
LARGE = Protocol(
    sizes=(100_000,),
    couplings=(1.0,),
    middle=(100_000, 1.0),
    runs=1,
    steps=25_600,
    grid=((8, 0.003),),
    relations=True,
    most_batches=3200,
)
# For a convolution that sums, such as GIN: it needs fewer rounds.
LARGE_SUM = replace(LARGE, grid=((5, 0.004),), dropout=0.0)
LARGE_BATCHES = replace(LARGE, steps=6144, most_batches=512)
LARGE_BATCHES_PLAIN = replace(LARGE_BATCHES, steps=5120, dropout=0.0)
# Residual rounds let more of them be trained; so many steps want a GPU, and few batches, each of which is captured.
LARGE_RESIDUAL = replace(LARGE, steps=25_600, grid=((12, 0.003),), residual=True, most_batches=256, tf32=True)
LARGER_RESIDUAL = replace(
    LARGE_RESIDUAL, sizes=(300_000,), middle=(300_000, 1.0), held_out=(1000, 4000), steps=30_720, most_batches=512
)
# Small enough for a CPU: what grows with the coupling shows before the networks are at their best.
COUPLING = Protocol((1000,), (0.0, 1.0, 3.0), (1000, 1.0), (300, 600), 10, 1200, ((6, 0.005),), 32)
QUICK = Protocol((100, 300), (0.0, 1.0), (300, 1.0), (100, 200), 3, 600, ((4, 0.005),), 64)
PROTOCOLS = {
    "full": Protocol(),
    "coupling": COUPLING,
    "quick": QUICK,
    "large": LARGE,
    "large-sum": LARGE_SUM,
    "large-batches": LARGE_BATCHES,
    "large-batches-plain": LARGE_BATCHES_PLAIN,
    "large-residual": LARGE_RESIDUAL,
    "larger-residual": LARGER_RESIDUAL,
}


def batches_for(train_scenes: int, most: int) -> int:
    """Steps an epoch: about 32 training scenes in each, but at least 4 steps and at most so many."""
    return min(most, max(4, train_scenes // 32))
