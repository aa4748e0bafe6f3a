"""How to train: a small value object, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi
from typing import Literal, TypeAlias

from neuraltrees.options import Spec, option

Optimiser: TypeAlias = Literal["adam", "adamw"]
Partition: TypeAlias = Literal["graphs", "tree"]


@dataclass(frozen=True)
class TrainingSpec(Spec):
    """How a network is trained: by Adam on the objective's loss, keeping the weights of the best validation metric."""

    epochs: int = option(1000, "Passes over all training items.", ge=1)
    lr: float = option(0.005, "Learning rate of Adam.", gt=0)
    weight_decay: float = option(1e-3, "L2 regularisation.", ge=0)
    decay_every: int | None = option(None, "Multiply the learning rate by `decay` after every N epochs.", ge=1)
    decay: float = option(0.5, "The factor of the step decay.", gt=0, le=1)
    patience: int | None = option(None, "Stop a run after N epochs without a better validation metric.", ge=1)
    evaluate_every: int = option(1, "Compute validation and test metrics every N epochs, and after the last.", ge=1)
    every_class: bool = option(True, "Refuse a split that leaves a class without a training item.")
    batches: int = option(16, "Number of batches that the graphs are divided into.", ge=1)
    accumulate: int = option(1, "Accumulate the gradients of N batches before each update of the weights.", ge=1)
    divisions: int = option(
        1, "Number of divisions of the graphs into batches, used one after another; several with batch norm.", ge=1
    )
    shuffle: bool = option(False, "Shuffle the graphs of the batches in every epoch; with --schedule bags.")
    prefetch: bool = option(False, "With --shuffle: keep graphs in main memory; a thread prepares the next batches.")
    columns: str | None = option(
        None, "With --shuffle: folder for graphs and trees, written once and then read through memory maps."
    )
    compile: bool = option(False, "Compile the network by torch.compile: takes a minute, then faster steps on a GPU.")
    tf32: bool = option(False, "On a GPU, use TF32 for matrix products: faster for wide networks, 10-bit mantissas.")
    bf16: bool = option(
        False, "On a CPU with instructions for bfloat16, use it for matrix products: faster, 8-bit mantissas."
    )
    partition: Partition = option(
        "graphs", "Several processes (torchrun): divide the graphs among them, or cut every tree into parts (tree)."
    )
    optimiser: Optimiser = option("adam", "Adam with L2 regularisation, or AdamW with decoupled weight decay.")
    warmup: int = option(0, "Number of epochs in which the learning rate rises linearly to its full value.", ge=0)
    cosine: bool = option(False, "Cosine decay of the learning rate to zero.")
    average: float | None = option(None, "Evaluate and keep averaged weights, with this decay per step.", gt=0, lt=1)
    clip: float | None = option(None, "Clip the gradient of each run to this norm.", gt=0)

    def rate(self, done: int) -> float:
        """The learning rate of an epoch, given the number of epochs done.

        >>> [round(TrainingSpec(lr=1.0, epochs=4, warmup=2, cosine=True).rate(done), 2) for done in range(4)]
        [0.5, 1.0, 1.0, 0.5]
        """
        rate = self.lr * (self.decay ** (done // self.decay_every) if self.decay_every else 1)
        if done < self.warmup:
            return rate * (done + 1) / self.warmup
        if not self.cosine:
            return rate
        return rate * (1 + cos(pi * (done - self.warmup) / max(1, self.epochs - self.warmup))) / 2
