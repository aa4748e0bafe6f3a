"""What network to train: a small value object, checked when it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.options import Spec, find_place, option

if TYPE_CHECKING:
    from neuraltrees.data.task import Task
    from neuraltrees.nn.network import Network

ModelName: TypeAlias = Literal["neural-tree", "gnn", "mlp", "none"]
PAPER_MODELS: tuple[ModelName, ...] = ("neural-tree", "gnn")  # those that the paper compares
ConvName: TypeAlias = Literal["gcn", "sage", "gat", "gin"]
HeadName: TypeAlias = Literal["node", "graph", "crf", "labels", "none"]
Pool: TypeAlias = Literal["sum", "mean", "max", "attention"]
ScheduleName: TypeAlias = Literal["bags", "typed"]
Aggr: TypeAlias = Literal["sum", "mean"]
BagStart: TypeAlias = Literal["zero", "mean", "sum"]
Learning: TypeAlias = Literal["pseudo", "marginal", "likelihood"]

# The parts of a network that may be classes of the user, with the names of those that are built in.
OWN_PARTS: dict[str, tuple[str, ...]] = {
    "conv": get_args(ConvName),
    "schedule": get_args(ScheduleName),
    "head": get_args(HeadName),
}


@dataclass(frozen=True)
class NetworkSpec(Spec):
    """A network without the sizes that follow from the data.

    Your own convolution, schedule or head is passed as a class, or by its place such as `mypackage.convs:MyConv`; only
    a class with such a place can be stored in files.

    >>> NetworkSpec(conv="gcn", hidden=64).layers
    4
    >>> NetworkSpec(conv="cnn")
    Traceback (most recent call last):
    neuraltrees.errors.InputError: Expected conv out of gcn, sage, gat, gin or MODULE:NAME; got 'cnn'. Did you mean gcn?
    """

    model: ModelName = option(
        "neural-tree", "Messages on the H-tree, messages on the graph, an MLP per node, or none: features only."
    )
    conv: str = option("sage", f"The convolution: {', '.join(get_args(ConvName))}, or MODULE:NAME of your own.")
    hidden: int = option(128, "Size of the states; for GAT, size per attention head.", ge=1)
    layers: int = option(4, "Number of rounds of messages.", ge=1)
    dropout: float = option(0.25, "Share of the states dropped in training.", ge=0, lt=1)
    heads: int = option(6, "Attention heads of GAT.", ge=1)
    readout: bool = option(True, "A linear layer per node type after the last round.")
    relations: bool = option(False, "Separate weights for root-root, upward and downward messages.")
    residual: bool = option(False, "Residual rounds: add each state before a round to the one after it.")
    layer_norm: bool = option(False, "Layer normalisation after every round.")
    merge: bool = option(True, "Compute equal states of an H-tree once; dropout is then shared by them.")
    bag_start: BagStart | None = option(
        None,
        "Initial state of bags: zero, or the mean or sum of their nodes' features. By default zero, as in the paper; "
        "with --schedule bags the sum.",
    )
    pool: Pool = option("sum", "Labels of graphs: how the states of their nodes are pooled.")
    edge_features: bool = option(True, "Use the features of edges, if the data has any.")
    edge_size: int | None = option(
        None, "Size of the embeddings of categories of edges; by default that of the states.", ge=1
    )
    schedule: str | None = option(
        None,
        "bags: states of nodes and bags together; typed: typed H-trees of scenes; or MODULE:NAME of your own. By "
        "default the model's.",
    )
    head: str | None = option(
        None, "node, graph, crf, labels, none, or MODULE:NAME of your own, instead of the task's."
    )

    parts: str = option(
        "graph+tree", "Bags: what layers read: graph, tree or sweep, joined by +; different layers separated by commas."
    )
    bag_features: bool = option(True, "Bags: add their kind, size and inner edges to the initial state.")
    bag_codes: bool = option(
        False,
        "Bags: add codes of their structure to the initial state, which distinguish all planar graphs. For "
        "canonical trees.",
    )
    bag_readout: bool = option(True, "Bags, labels of graphs: pool the bags as well as the nodes.")
    rings: bool = option(True, "Bags: use the order of nodes on cycles.")
    edge_states: bool = option(False, "Bags: edges have states that layers update.")
    gated: bool = option(False, "Bags: the decays of sweeps depend on the states.")
    aggr: Aggr = option("sum", "Bags: whether nodes read the sum or the mean of messages and of bags.")
    update_layers: int = option(
        2, "Bags: linear layers of every update of states; 0: before the messages instead of after them.", ge=0, le=2
    )
    skip: bool = option(True, "Bags: add the new state of a node to its state before the layer.")
    views: bool = option(
        False,
        "Bags: in training, the first layers, those that read the graph alone, compute nodes with equal surroundings "
        "once; they share their dropout. Faster where graphs consist of few kinds of parts, such as peptides.",
    )
    head_layers: int = option(1, "Labels of graphs: hidden layers of the head.", ge=1)
    head_dropout: float = option(
        0.0, "Labels of graphs: share of the head's hidden states dropped in training.", ge=0, lt=1
    )

    crf_learning: Learning = option(
        "pseudo", "CRF: train by pseudo-likelihood, or by exact inference: marginal or likelihood."
    )
    crf_exact_share: float = option(0.25, "CRF: share of the epochs, the last, that use exact inference.", gt=0, le=1)
    crf_apart: bool = option(False, "CRF: train the network as if there were no CRF, and the tables on top of it.")
    crf_hidden: float = option(0.5, "CRF, marginal: share of the training labels that a lesson hides.", gt=0, le=1)
    crf_triangles: bool = option(False, "CRF: learn tables of triangles of the graph, by the types of their nodes.")
    crf_states: int | None = option(None, "CRF: keep only the N most probable labels per node.", ge=1)
    crf_max_treewidth: int | None = option(None, "CRF: keep a sampled subgraph of this treewidth.", ge=1)
    crf_samples: int = option(1, "CRF: average over N sampled subgraphs.", ge=1)

    def __post_init__(self) -> None:
        for name in OWN_PARTS:
            given = getattr(self, name)
            if hasattr(given, "forward") and not isinstance(given, type):
                raise InputError(f"Expected {name} as a class; got an instance of {type(given).__name__}.")
            if callable(given) and _has_place(given):
                object.__setattr__(self, name, f"{given.__module__}:{given.__qualname__}")
        super().__post_init__()
        for name, known in OWN_PARTS.items():
            given = getattr(self, name)
            if isinstance(given, str) and ":" not in given and given not in known:
                choices = f"out of {', '.join(known)} or MODULE:NAME" if known else "as MODULE:NAME"
                raise InputError(f"Expected {name} {choices}; got {given!r}.{did_you_mean(given, known)}")

    def _is_free(self, name: str, value: Any) -> bool:
        return name in OWN_PARTS and callable(value)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the network's name: its model, its convolution or parts if it has messages, and a CRF head."""
        if self.schedule == "bags":
            words: tuple[str, ...] = (self.model, f"bags ({self.parts})")
        elif self.schedule == "typed":
            words = (self.model, "typed", str(self.conv))
        else:
            words = (self.model,) if self.model in ("mlp", "none") else (self.model, str(self.conv))
        return (*words, "crf") if self.head == "crf" else words

    @property
    def name(self) -> str:
        """The name of the network, such as `neural-tree + sage`."""
        return " + ".join(self.words)

    @property
    def places(self) -> tuple[str, ...]:
        """The places of the user's own parts."""
        given = ((getattr(self, name), known) for name, known in OWN_PARTS.items())
        return tuple(each for each, known in given if isinstance(each, str) and each not in known)

    @property
    def needs_tree(self) -> bool:
        """Whether the network passes messages on H-trees."""
        if self.schedule is None:
            return self.model == "neural-tree"
        if self.schedule == "bags":
            return bool(self._bag_options().needs_tree)
        if self.schedule == "typed":
            return True
        return bool(getattr(find_place(self.schedule), "needs_tree", True))

    @property
    def first_bags(self) -> BagStart | None:
        """The initial state of bags, with the default of the schedule; None for networks on graphs or typed H-trees.

        >>> NetworkSpec().first_bags, NetworkSpec(schedule="bags").first_bags
        ('zero', 'sum')
        """
        if self.schedule == "bags":
            return self.bag_start or "sum"
        return (self.bag_start or "zero") if self.schedule != "typed" and self.model == "neural-tree" else None

    def as_dict(self) -> dict[str, Any]:
        """All values by name; `InputError` for a part without a place."""
        for name in OWN_PARTS:
            if callable(getattr(self, name)):
                raise InputError(
                    f"Expected {name} as a class or function of a module, so that a file can name it; got "
                    f"{getattr(self, name)!r}. Define it in a module."
                )
        return super().as_dict()

    def build(self, task: Task, runs: int | None = None) -> Network:
        """The network for the features and answers of a task."""
        return self.build_for(task.features, task.edge_features, task.objective, runs, task.inputs)

    def _bag_options(self) -> Any:
        from neuraltrees.nn.schedule.bags.options import BagOptions

        return BagOptions(
            self.parts,
            self.bag_start or "sum",
            self.bag_features,
            self.rings,
            self.edge_states,
            self.gated,
            self.aggr,
            self.update_layers,
            self.skip,
            self.bag_codes,
            self.views,
        )

    def _crf(self) -> Any:
        from neuraltrees.nn import CRFHead

        return partial(
            CRFHead,
            learning=self.crf_learning,
            apart=self.crf_apart,
            exact_share=self.crf_exact_share,
            hidden=self.crf_hidden,
            triangles=self.crf_triangles,
            states=self.crf_states,
            max_treewidth=self.crf_max_treewidth,
            samples=self.crf_samples,
        )

    def _typed_rounds(self, inputs: Any) -> Any:
        from neuraltrees.nn import TypedRounds

        count = getattr(inputs, "num_relations", None)
        if count is None:
            raise InputError(
                "Expected scenes for the schedule typed, such as --dataset scenes:FOLDER; got graphs. Use another "
                "schedule."
            )
        return TypedRounds.of(len(inputs.types), count, inputs.geometry)

    def build_for(
        self, features: Any, edge_features: Any, objective: Any, runs: int | None = None, inputs: Any = None
    ) -> Network:
        """The same, given the parts of a task."""
        from neuraltrees.nn import (
            GNN,
            MLP,
            BagRounds,
            GraphHead,
            NeuralTree,
            NoRounds,
        )  # importing torch takes a second, and a configuration does not need it

        out = objective.out_channels
        if not isinstance(out, int) and len(out) == 1:
            (out,) = out.values()
        head: Any = self.head if self.head is None or self.head in get_args(HeadName) else find_place(self.head)
        if head == "crf":
            head = self._crf()
        if head is None and objective.level == "graph":
            bags = self.schedule == "bags" and self.needs_tree and self.bag_readout
            head = GraphHead.pooling(self.pool, bags, self.head_layers, self.head_dropout)
        conv: Any = self.conv if self.conv in get_args(ConvName) else find_place(self.conv)
        kinds: dict[str, type[Network]] = {"neural-tree": NeuralTree, "gnn": GNN, "mlp": MLP, "none": MLP}
        schedule: Any = None
        if self.schedule == "bags":
            schedule = partial(BagRounds, options=self._bag_options())
        elif self.schedule == "typed":
            schedule = self._typed_rounds(inputs)
        elif self.schedule is not None:
            schedule = find_place(self.schedule)
        if self.model == "none" and schedule is None:
            schedule = NoRounds
        messages = self.model not in ("mlp", "none")
        network = kinds[self.model](
            features,
            self.hidden,
            out,
            self.layers,
            conv,
            self.dropout,
            readout=self.readout,
            heads=self.heads,
            relations=self.relations and self.model == "neural-tree",
            residual=self.residual,
            layer_norm=self.layer_norm,
            runs=runs,
            edge_channels=edge_features if self.edge_features and (messages or self.head == "crf") else None,
            head=head,
            schedule=schedule,
            merge=self.merge,
            bag_start=self.bag_start if self.schedule is not None or self.model == "neural-tree" else None,
            edge_size=self.edge_size,
        )
        if network.head.level != objective.level:
            raise InputError(
                f"Expected a head that answers per {objective.level}, since the task has labels of "
                f"{objective.level}s; got {type(network.head).__name__}, which answers per {network.head.level}."
            )
        return network


def _has_place(given: Callable[..., Any]) -> bool:
    """Whether a class or function can be imported by its module and its name; one defined in a notebook cannot."""
    module, name = getattr(given, "__module__", None), getattr(given, "__qualname__", "<")
    if module in (None, "__main__") or "<" in name:
        return False
    try:
        return find_place(f"{module}:{name}") is given
    except InputError:
        return False
