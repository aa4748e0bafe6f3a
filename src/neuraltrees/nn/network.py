"""What all networks share: an encoder, a schedule of rounds and a head."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.checks import check_data, check_dropout
from neuraltrees.errors import InputError
from neuraltrees.movable import moved
from neuraltrees.nn.conv import ConvName, find_conv
from neuraltrees.nn.conv.external import ExternalConv
from neuraltrees.nn.encoder import Categories, Features, make_encoder
from neuraltrees.nn.ensemble.dropout import Dropout, DropoutMasks
from neuraltrees.nn.ensemble.norm import RunBatchNorm
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.head import Head, NoHead, Places
from neuraltrees.nn.input_checks import check_features, check_types, checked_edges
from neuraltrees.nn.parallel import Group
from neuraltrees.nn.parts import HeadName, check_bag_start, check_sizes, find_head, given_sizes, made, reads_edges
from neuraltrees.nn.plan import Plan
from neuraltrees.nn.ragged import Cut
from neuraltrees.nn.schedule import Body, Schedule
from neuraltrees.nn.schedule.start import BagStart


class Network(nn.Module):
    """An encoder, a schedule of rounds and a head.

    Args:
        in_channels: number of features per node, or `Categories` for integers; where node types have different
            features, a mapping of node types to either.
        hidden_channels: size of the states between rounds; for GAT, the size per attention head.
        out_channels: number of classes or answers, or a mapping of node types to it.
        num_layers: number of rounds T; by default 4 for `NeuralTree` and 3 for `GNN`, as tuned in the paper.
        conv: "gcn", "sage", "gat" or "gin", a PyG convolution class, or a subclass of `Convolution`.
        dropout: share of the states dropped in training.
        readout: whether there is a head after the last round; if false, the last round maps to the classes itself.
        heads: attention heads of GAT, concatenated in all rounds but the last, which averages them.
        relations: whether each edge type has its own weights: root-root, child → parent, parent → child.
        residual: whether each state after a round is added to the state of the same node before it, where both have the
            same size. Networks of many rounds train much better with it.
        layer_norm: whether all states are layer-normalised after every round.
        runs: number R of independent networks that are trained at once; states then have the shape (N, R, F).
        edge_channels: number of features per edge, or `Categories`; None where edges have none.
        edge_size: size of the embeddings of `Categories` of edges, which every round maps to the size of its states; by
            default `hidden_channels`.
        head: "node" (a linear layer per node type), "graph" (pooled states and a small MLP), "crf" (exact marginals of
            labels that depend on their neighbours), "labels" (as "node", with known labels as inputs), "none", or a
            function of `(in_channels, out_channels, runs)` that returns a `Head`; by default "node", or "none" without
            a readout.
        schedule: a subclass of `Schedule`; by default rounds on the H-tree for `NeuralTree`, on the graph for `GNN`.
        merge: whether a plan computes states of an H-tree that are equal for any weights only once per round; they then
            share their dropout.
        bag_start: the initial state of bags: "zero", or the "mean" or "sum" of their nodes' features; by default that
            of the schedule: zero for `TreeRounds`, as in the paper, and the sum for `BagRounds`.
    """

    default_layers: ClassVar[int]
    has_relations: ClassVar[bool] = True
    default_schedule: ClassVar[type[Schedule]]

    def __init__(
        self,
        in_channels: Features,
        hidden_channels: int,
        out_channels: int | Mapping[str, int],
        num_layers: int | None = None,
        conv: ConvName | Callable[..., nn.Module] = "sage",
        dropout: float = 0.25,
        *,
        readout: bool = True,
        heads: int = 6,
        relations: bool = False,
        residual: bool = False,
        layer_norm: bool = False,
        runs: int | None = None,
        edge_channels: int | Categories | None = None,
        head: HeadName | Callable[..., Head] | None = None,
        schedule: Callable[[Body], Schedule] | None = None,
        merge: bool = True,
        bag_start: BagStart | None = None,
        edge_size: int | None = None,
    ) -> None:
        super().__init__()
        num_layers = self.default_layers if num_layers is None else num_layers
        sizes = {"num_layers": num_layers, "hidden_channels": hidden_channels, "heads": heads}
        counts = out_channels.values() if isinstance(out_channels, Mapping) else [out_channels]
        check_sizes(sizes | given_sizes("in_channels", in_channels) | given_sizes("edge_channels", edge_channels))
        for count in [*counts] or [0]:
            check_sizes({"out_channels": count})
        check_sizes({name: size for name, size in {"runs": runs, "edge_size": edge_size}.items() if size is not None})
        if relations and not self.has_relations:
            raise InputError(
                f"Expected relations only for networks on H-trees; got relations=True for {type(self).__name__}. Leave "
                f"it out."
            )
        check_bag_start(bag_start, type(self).__name__, self.has_relations or schedule is not None)
        if isinstance(edge_channels, Mapping):
            raise InputError("Expected edge_channels as a number or Categories; got a mapping.")
        check_dropout(dropout)
        make_head = find_head(head, readout)
        headless = make_head is NoHead
        if headless and isinstance(out_channels, Mapping):
            raise InputError(
                "Expected one number of classes for a network without a readout; got one per node type. Set "
                "readout=True."
            )
        self.runs, self.reads_edges, self.in_channels = runs, edge_channels is not None, in_channels
        self.encoder = make_encoder(in_channels, hidden_channels, runs)
        edge_size = hidden_channels if edge_size is None else edge_size
        self.edge_encoder = None if edge_channels is None else make_encoder(edge_channels, edge_size, runs)
        body = Body(
            in_channels=in_channels if isinstance(in_channels, int) else hidden_channels,
            hidden_channels=hidden_channels,
            out_channels=out_channels if headless and isinstance(out_channels, int) else hidden_channels,
            num_layers=num_layers,
            conv=find_conv(conv),
            dropout=dropout,
            heads=heads,
            relations=relations,
            residual=residual,
            layer_norm=layer_norm,
            edge_channels=edge_size if isinstance(edge_channels, Categories) else edge_channels,
            runs=runs,
            merge=merge,
            bag_start=bag_start,
        )
        self.schedule = made(schedule or type(self).default_schedule, "schedule", Schedule, body)
        if headless and self.schedule.width != out_channels:
            raise InputError(
                f"Expected the last round to return {out_channels} answers, since there is no readout; it returns "
                f"states of size {self.schedule.width}. Set readout=True, or let the convolution average its heads."
            )
        self.drop = None if headless else Dropout(dropout)
        if reads_edges(make_head) and body.edge_channels is not None:
            make_head = partial(make_head, edge_channels=body.edge_channels)
        self.head = made(make_head, "head", Head, self.schedule.width, out_channels, runs)
        if self.head.reads_bags and not self.schedule.has_bags:
            raise InputError(
                f"Expected a schedule with states of bags for a head that pools them, such as BagRounds; got "
                f"{type(self.schedule).__name__}. Set bags=False."
            )

    def answers(self, x: Tensor | SparseMap, plan: Plan, edge_attr: Tensor | None = None) -> Tensor:
        """What `forward` returns, given a plan."""
        if self.head.reads_bags:
            with_bags: Tensor = self.head(*self._nodes_and_bags(x, plan, edge_attr))
            return with_bags
        h, edge_attr = self.states(x, plan, edge_attr)
        answers: Tensor = self.head(h, plan.places, edge_attr) if self.head.reads_edges else self.head(h, plan.places)
        return answers

    def _nodes_and_bags(
        self, x: Tensor | SparseMap, plan: Plan, edge_attr: Tensor | None
    ) -> tuple[Tensor, Any, Tensor]:
        """The inputs of a head that pools bags: states of nodes, their places, and states of bags."""
        x, edge_attr = self._encoded(x, plan, edge_attr)
        h, b = self.schedule.nodes_and_bags(x, plan.rounds, edge_attr)
        places = replace(plan.places, bag_graph=plan.rounds.bag_graph)
        return self._dropped(h), places, self._dropped(b)

    def loss(self, x: Tensor | SparseMap, lesson: Plan, edge_attr: Tensor | None = None) -> Tensor:
        """The loss of every node in a lesson, for a head that reads labels; see `lessons`. Shapes: → :math:`(n, R)`"""
        h, edge_attr = self.states(x, lesson, edge_attr)
        given = (edge_attr,) if self.head.reads_edges else ()
        return self.head.loss(h, lesson.places, *given)

    def states(
        self, x: Tensor | SparseMap, plan: Plan, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """The inputs of the head: states of nodes, and features of edges."""
        x, edge_attr = self._encoded(x, plan, edge_attr)
        h: Tensor = self.schedule(x, plan.rounds, edge_attr)
        return self._dropped(h, None if plan.part is None else plan.part.owned), edge_attr

    def _encoded(self, x: Tensor | SparseMap, plan: Plan, edge_attr: Tensor | None) -> tuple[Tensor | SparseMap, Any]:
        """The features of nodes and of edges, checked and encoded."""
        check_features(self, x, plan)
        if edge_attr is not None:
            edge_attr = checked_edges(self, edge_attr, plan)
        if self.encoder is not None:
            x = self.encoder(x, plan.node_type)
        if self.head.reads_labels and isinstance(x, Tensor):
            x = self.head.begin(x, plan.places)
        if self.edge_encoder is not None and edge_attr is not None:
            rows = None
            if self.schedule.takes_rows and not self.head.reads_edges:
                rows = self.edge_encoder.rows(edge_attr)
            return x, self.edge_encoder(edge_attr) if rows is None else rows
        return x, edge_attr

    def _dropped(self, h: Tensor, numbers: Tensor | None = None) -> Tensor:
        dropped: Tensor = h if self.drop is None else self.drop(self.schedule.activation(h), numbers)
        return dropped

    def _traced_rounds(self, x: Any, edge_index: Any, kappa: Any = None, edge_type: Any = None, **given: Any) -> Any:
        """The plan that the schedule makes of plain tensors."""
        if not isinstance(x, Tensor | SparseMap) or not isinstance(edge_index, Tensor):
            raise InputError(
                f"Expected x and edge_index as tensors, or a plan; got {type(x).__name__} and "
                f"{type(edge_index).__name__}. Call model(data.x, model.plan(data)), or model(data.x, data.edge_index)."
            )
        return self.schedule.trace(edge_index, kappa, edge_type, x.shape[0], **given)

    @cached_property
    def kind(self) -> str:
        """What a plan must have been made for, in words; see `Plan.made_for`."""
        return f"{self.schedule.plan_kind} {'with' if self.reads_edges else 'without'} edge features"

    def plan(self, data: Data, known: Tensor | None = None) -> Plan:
        """Prepares all that the network computes from a graph, or a batch of graphs, without features and weights.

        It is made once for a graph that is used in many steps: `model(data.x, plan)` gives the same answers, much
        faster.

        Args:
            data: a graph or a batch of graphs, with H-trees (`ToHTree`) if the schedule needs them.
            known: known labels of nodes, -1 elsewhere, for a head that reads labels, such as `CRFHead`.

        Shapes: known :math:`(n)`, or :math:`(n, R)` with one column per run
        """
        self._check_data(data)
        if known is not None and not self.head.reads_labels:
            raise InputError(
                f"Expected no known labels for {type(self.head).__name__}, which does not read labels; got some. "
                f'Use head="crf", or leave them out.'
            )
        return self._planned(data, self.head.plan(data, known) if self.head.reads_labels else self.head.plan(data))

    def part_plan(self, data: Data, group: Group, known: Tensor | None = None) -> Plan:
        """The plan of the part of a graph that one of several processes computes.

        `model(data.x[plan.part.nodes], plan)` returns the answers of the nodes `plan.part.owned`.

        Every process makes the plan of its own part from the same data; H-trees are cut where few states are shared.
        All processes then run the forward and the backward pass together. The sum of their gradients is the gradient of
        the sum of their losses.

        Args:
            data: a graph or a batch of graphs, with H-trees (`ToHTree`).
            group: the processes.
            known: see `plan`.
        """
        self._check_data(data)
        rounds, part = self.schedule.part(data, group)
        kinds = data.get("node_type")
        return Plan(
            rounds,
            self.head.part(data, part, known) if self.head.reads_labels else self.head.part(data, part),
            None if self.encoder is None or kinds is None else kinds.cpu()[part.nodes],
            len(part.nodes),
            len(part.edges),
            self.kind,
            part,
        ).to(next(self.parameters()).device)

    def lessons(self, data: Data, known: Tensor, seeds: Sequence[int], part: Plan | None = None) -> list[Plan]:
        """The plans that a head that reads labels is trained with, one after another; see `loss`.

        Args:
            data: a graph or a batch of graphs.
            known: the training labels of every run, -1 elsewhere.
            seeds: the seed of every run.
            part: the `part_plan` of this process, if it computes a part.

        Shapes: known :math:`(n, R)`
        """
        self._check_data(data)
        if part is None or part.part is None:
            first, lessons = self.bare_plan(data), self.head.lessons(data, known, seeds)
        else:
            first, lessons = part, self.head.part_lessons(data, part.part, known, seeds)
        here = next(self.parameters()).device
        return [replace(first, places=moved(lesson, here)) for lesson in lessons]

    def bare_plan(self, data: Data) -> Plan:
        """The plan without that of the head, for `states`."""
        self._check_data(data)
        return self._planned(data, None)

    def _check_data(self, data: Any) -> None:
        check_data(data)
        if not isinstance(data.edge_index, Tensor):
            raise InputError(f"Expected data with an edge_index; got {type(data.edge_index).__name__}.")
        check_types(self, data.get("node_type"))

    def cut_plan(self, cut: Cut) -> Plan:
        """The plan of some of the graphs whose `columns` the schedule made, with a column `node_type` if nodes have
        types.
        """
        node_type = cut.columns.get("node_type")
        places = Places(node_type, cut.graph["nodes"], cut.num_graphs, padded=cut.padded)
        types = None if self.encoder is None else node_type
        rounds = self.schedule.cut_plan(cut)
        if self.head.takes_views and (found := self.schedule.per_view(rounds)) is not None:
            rounds, of_node = found
            places = places.with_views(of_node, next(self.parameters()).dtype)
        rows = self.schedule.feature_rows(rounds)
        if rows is None:
            return Plan(rounds, places, types, cut.rows["nodes"], cut.rows["edges"], self.kind)
        types = None if types is None else types[rows]
        return Plan(rounds, places, types, len(rows), cut.rows["edges"], self.kind, rows=rows)

    def _planned(self, data: Data, places: Any) -> Plan:
        return Plan(
            self.schedule.plan(data),
            places,
            None if self.encoder is None else data.get("node_type"),
            int(data.num_nodes),
            int(data.edge_index.shape[1]),
            self.kind,
        ).to(next(self.parameters()).device)

    @property
    def reads_labels(self) -> bool:
        """Whether the head reads known labels."""
        return self.head.reads_labels

    @property
    def needs_tree(self) -> bool:
        """Whether a plan needs the H-tree of a graph."""
        return self.schedule.needs_tree

    @property
    def capturable(self) -> bool:
        """Whether a step may be captured as a CUDA graph."""
        return self.schedule.capturable and bool(getattr(self.head, "capturable", True))

    def reset_parameters(self) -> None:
        """Resets all parameters to new random values."""
        for module in (self.encoder, self.edge_encoder, self.schedule, self.head):
            if module is not None:
                module.reset_parameters()

    @property
    def has_batch_norm(self) -> bool:
        """Whether statistics of batches change the answers in training."""
        return any(isinstance(module, RunBatchNorm | nn.modules.batchnorm._BatchNorm) for module in self.modules())

    def set_group(self, group: Group | None) -> None:
        """Computes the statistics of batch norms over the rows of all processes of a group; None for this one alone."""
        for module in self.modules():
            if isinstance(module, RunBatchNorm):
                module.group = group

    def set_dropout(self, seeds: Tensor | None, stream: int = 0) -> DropoutMasks | None:
        """Lets every run draw its dropout from its own seed; None for torch's generator.

        Args:
            seeds: the seed of every run.
            stream: see `DropoutMasks`.

        Shapes: seeds :math:`(R)`
        """
        drops = [module for module in self.modules() if isinstance(module, Dropout | ExternalConv)]
        masks = None if seeds is None else DropoutMasks(seeds, max(1, len(drops)), stream)
        for place, module in enumerate(drops):
            module.masks, module.place = masks, place
        return masks
