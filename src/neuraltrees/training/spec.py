"""What to train and how: two small value objects, checked when they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from neuraltrees.errors import InputError

if TYPE_CHECKING:
    from neuraltrees.nn.models import Network

ModelName: TypeAlias = Literal["neural-tree", "gnn"]
Share = Annotated[float, Field(ge=0, lt=1)]


class Spec(BaseModel):
    """A value object; an unknown name or a value out of range raises `InputError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(_in_words(error, type(self))) from None


class NetworkSpec(Spec):
    """A network, but for the sizes that the data gives.

    >>> NetworkSpec(conv="gcn", hidden=64).build(6, {"room": 15, "object": 35}, runs=2).runs
    2
    >>> NetworkSpec(conv="cnn")
    Traceback (most recent call last):
    neuraltrees.errors.InputError: Expected conv: 'gcn', 'sage', 'gat' or 'gin'; got 'cnn'.
    """

    model: ModelName = Field("neural-tree", description="Messages on the H-tree, or on the graph itself.")
    conv: Literal["gcn", "sage", "gat", "gin"] = Field("sage", description="The convolution.")
    hidden: int = Field(128, ge=1, description="Size of the states; of one head for GAT.")
    layers: int = Field(4, ge=1, description="Rounds of messages T.")
    dropout: Share = Field(0.25, description="Share of the states dropped in training.")
    heads: int = Field(6, ge=1, description="Heads of GAT.")
    readout: bool = Field(True, description="A linear layer per node type after the last round.")
    relations: bool = Field(False, description="Separate weights for root-root, upward and downward messages.")
    merge: bool = Field(True, description="Compute equal states of an H-tree once; dropout is then shared by them.")

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
            runs=runs,
        )


class TrainingSpec(Spec):
    """How a network is trained: Adam on the cross entropy, the weights of the best validation accuracy are kept."""

    epochs: int = Field(1000, ge=1, description="Passes over all training nodes.")
    lr: float = Field(0.005, gt=0, description="Learning rate of Adam.")
    weight_decay: float = Field(1e-3, ge=0, description="L2 regularisation.")
    decay_every: int | None = Field(
        None, ge=1, description="Multiply the learning rate by `decay` every so many epochs."
    )
    decay: float = Field(0.5, gt=0, le=1, description="The factor of the step decay.")
    patience: int | None = Field(
        None, ge=1, description="Stop a run after so many epochs without a better validation accuracy."
    )
    batches: int = Field(16, ge=1, description="Steps an epoch: the graphs are divided among so many batches.")


def _in_words(error: ValidationError, spec: type[Spec]) -> str:
    """Every broken rule of a value object in one line."""
    parts = []
    for detail in error.errors():
        name = ".".join(map(str, detail["loc"])) or spec.__name__
        if detail["type"] == "extra_forbidden":
            parts.append(f"Expected one of {', '.join(spec.model_fields)}; got the unknown name {name!r}.")
        else:
            rule = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
            parts.append(f"Expected {name}: {rule}; got {detail['input']!r}.")
    return " ".join(parts)
