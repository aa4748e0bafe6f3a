"""The interface of a schedule: which states are updated when, along which edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.incidence import Incidence
from neuraltrees.nn.ensemble.rows import Rows
from neuraltrees.nn.ensemble.sparse import SparseMap
from neuraltrees.nn.parallel import Group, Part
from neuraltrees.nn.ragged import Cut, Ragged
from neuraltrees.nn.reset import reset_children
from neuraltrees.nn.schedule.start import BagStart


@dataclass(frozen=True)
class Body:
    """The options that a network passes to its schedule: the sizes of states and the options of rounds.

    Args:
        in_channels: size of the states of graph nodes before the first round.
        hidden_channels: size of the states between rounds, per head for convolutions with several.
        out_channels: size of the states of graph nodes after the last round.
        num_layers: number of rounds T.
        conv: the constructor `(in_channels, out_channels, options)` of the convolution.
        dropout: share of the states dropped in training.
        heads: number of attention heads, for convolutions with attention.
        relations: whether each edge type has its own weights.
        residual: whether each state after a round is added to the state of the same node before it.
        layer_norm: layer normalisation after every round, instead of a batch norm where the convolution asks for one.
        edge_channels: size of edge features; None if there are none.
        runs: number of independent runs; None for a single one without the extra dimension.
        merge: whether states of an H-tree that are equal for any weights are computed once.
        bag_start: the initial state of bags, "zero", or the "mean" or "sum" of their members' features; None for the
            schedule's own default.
    """

    in_channels: int
    hidden_channels: int
    out_channels: int
    num_layers: int
    conv: Callable[..., nn.Module]
    dropout: float = 0.0
    heads: int = 1
    relations: bool = False
    residual: bool = False
    layer_norm: bool = False
    edge_channels: int | None = None
    runs: int | None = None
    merge: bool = True
    bag_start: BagStart | None = None


class Schedule(nn.Module):
    """The rounds of a network, with their weights.

    Your own schedule is a subclass with a constructor `(body)`, `plan` and `forward`; see `Body`. It may read
    everything in the data: the graph, and with `needs_tree` its H-tree `data.htree` with levels, parents and bags.

    - `needs_tree`: whether the data must have an H-tree.
    - `cuttable`: whether it has `columns` and `cut_plan`, so that the graphs can be shuffled in every epoch.
    - `takes_rows`: whether it takes features of edges as `Rows` too.
    - `has_bags`: whether it has `nodes_and_bags`, for heads that also read the states of bags.
    - `width`: size of the states that `forward` returns.
    """

    needs_tree: bool = False
    cuttable: ClassVar[bool] = False
    takes_rows: ClassVar[bool] = False
    has_bags: bool = False
    width: int

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body, self.width = body, body.out_channels

    def plan(self, data: Data) -> Any:
        """All that `forward` needs to know about a graph or a batch of graphs, without features and weights.

        A tensor, or a dataclass, tuple, list or dict of tensors and of objects with a method `to`, so that it can be
        moved to another device.
        """
        raise NotImplementedError

    def part(self, data: Data, group: Group) -> tuple[Any, Part]:
        """The plan of the part of a graph that one of several processes computes, and the rows that it reads and
        answers for.

        All processes plan the same data; each computes a part, and they exchange the states that they share.
        """
        raise InputError(
            f"Expected rounds that can be computed in parts, on trees or graphs with gcn, sage, gat or gin; got "
            f"{type(self).__name__}. Use one process, or divide the graphs among processes instead of cutting them."
        )

    @property
    def plan_kind(self) -> str:
        """What a plan depends on besides the data, in words: a plan is refused by networks of another kind."""
        return f"{type(self).__name__} of {self.body.num_layers} rounds"

    def columns(self, data: Data) -> Ragged:
        """The columns that plans are made from; see `cut_plan`."""
        raise NotImplementedError

    @property
    def column_kind(self) -> str:
        """What `columns` depends on besides the data, in words: networks of another kind refuse stored columns."""
        return f"{type(self).__name__}, trees {self.needs_tree}"

    @property
    def views(self) -> int:
        """How many of its first layers can compute the state of every view once; see `Views`."""
        return 0

    def cut_plan(self, cut: Cut) -> Any:
        """The plan of some of the graphs of `columns`, possibly with padding."""
        raise NotImplementedError

    def feature_rows(self, plan: Any) -> Tensor | None:
        """The nodes whose features `forward` takes with a plan of `cut_plan`; None for all."""
        return None

    def per_view(self, plan: Any) -> tuple[Any, Incidence] | None:
        """The same plan, but for states of views instead of nodes, and the view of every node; None if it has none."""
        return None

    def nodes_and_bags(
        self, x: Tensor | SparseMap, plan: Any, edges: Tensor | Rows | None = None
    ) -> tuple[Tensor, Tensor]:
        """The states of nodes, as `forward` returns them, and those of bags.

        Shapes: → :math:`(n, *, width)` and :math:`(B, *, width)`
        """
        raise NotImplementedError

    def trace(self, edge_index: Tensor, kappa: Tensor | None, edge_type: Tensor | None, num_nodes: int) -> Any:
        """The plan of plain tensors, by operations that `torch.export` supports; not every schedule has it."""
        raise InputError(
            f"Expected a plan for {type(self).__name__}, which reads more than an edge_index; got tensors. "
            f"Call model(x, model.plan(data))."
        )

    def forward(self, x: Tensor | SparseMap, plan: Any, edges: Tensor | None = None) -> Tensor:
        """The states of graph nodes after the last round.

        Args:
            x: their features, dense or sparse.
            plan: what `plan` or `trace` returned.
            edges: features of the edges.

        Shapes: x :math:`(n, *, F)`, edges :math:`(m, *, D)` → :math:`(n, *, width)`
        """
        raise NotImplementedError

    def activation(self, h: Tensor) -> Tensor:
        """The function applied to the states after the last round, before the head."""
        return h.relu()

    @property
    def capturable(self) -> bool:
        """Whether a step may be captured as a CUDA graph."""
        return all(getattr(module, "capturable", True) for module in self.modules() if module is not self)

    def reset_parameters(self) -> None:
        """Resets all parameters to new random values."""
        reset_children(self)
