"""What to train and how: small value objects, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from neuraltrees.options import Spec, option

if TYPE_CHECKING:
    from neuraltrees.nn.models import Network

ModelName: TypeAlias = Literal["neural-tree", "gnn"]
ConvName: TypeAlias = Literal["gcn", "sage", "gat", "gin"]


@dataclass(frozen=True)
class NetworkSpec(Spec):
    """A network, but for the sizes that the data gives.

    >>> NetworkSpec(conv="gcn", hidden=64).build(6, {"room": 15, "object": 35}, runs=2).runs
    2
    >>> NetworkSpec(conv="cnn")
    Traceback (most recent call last):
    neuraltrees.errors.InputError: Expected conv out of gcn, sage, gat, gin; got 'cnn'.
    """

    model: ModelName = option("neural-tree", "Messages on the H-tree, or on the graph itself.")
    conv: ConvName = option("sage", "The convolution.")
    hidden: int = option(128, "Size of the states; of one head for GAT.", ge=1)
    layers: int = option(4, "Rounds of messages T.", ge=1)
    dropout: float = option(0.25, "Share of the states dropped in training.", ge=0, lt=1)
    heads: int = option(6, "Heads of GAT.", ge=1)
    readout: bool = option(True, "A linear layer per node type after the last round.")
    relations: bool = option(False, "Separate weights for root-root, upward and downward messages.")
    residual: bool = option(False, "Add each state before a round to the one after it; for many rounds.")
    merge: bool = option(True, "Compute equal states of an H-tree once; dropout is then shared by them.")

    def build(self, in_channels: int, classes: dict[str, int], runs: int | None = None) -> Network:
        """The network for so many features and classes."""
        from neuraltrees.nn import GNN, NeuralTree  # torch takes a second, and a configuration needs none of it

        several, kind = len(classes) > 1, NeuralTree if self.model == "neural-tree" else GNN
        return kind(
            in_channels,
            self.hidden,
            classes if several else next(iter(classes.values())),
            self.layers,
            self.conv,
            self.dropout,
            readout=self.readout,
            heads=self.heads,
            relations=self.relations and self.model == "neural-tree",
            residual=self.residual,
            runs=runs,
        )


@dataclass(frozen=True)
class TrainingSpec(Spec):
    """How a network is trained: Adam on the cross entropy, the weights of the best validation accuracy are kept."""

    epochs: int = option(1000, "Passes over all training nodes.", ge=1)
    lr: float = option(0.005, "Learning rate of Adam.", gt=0)
    weight_decay: float = option(1e-3, "L2 regularisation.", ge=0)
    decay_every: int | None = option(None, "Multiply the learning rate by `decay` every so many epochs.", ge=1)
    decay: float = option(0.5, "The factor of the step decay.", gt=0, le=1)
    patience: int | None = option(None, "Stop a run after so many epochs without a better validation accuracy.", ge=1)
    every_class: bool = option(True, "Refuse a split that leaves a label without a training node.")
    batches: int = option(16, "Steps an epoch: the graphs are divided among so many batches.", ge=1)
    divisions: int = option(1, "Ways to divide the graphs, one after another; several with batch norm.", ge=1)
    tf32: bool = option(False, "On a GPU, round what is multiplied to 10 bits: quicker for wide networks.")
