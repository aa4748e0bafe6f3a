"""The neural tree, and the same network on the graph itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.conv.convolution import RELATIONS, Convolution
from neuraltrees.nn.conv.external import Foreign
from neuraltrees.nn.conv.gat import GAT
from neuraltrees.nn.conv.gcn import GCN
from neuraltrees.nn.conv.gin import GIN
from neuraltrees.nn.conv.sage import SAGE
from neuraltrees.nn.ensemble.dropout import Coins, Dropout
from neuraltrees.nn.ensemble.norm import RunBatchNorm
from neuraltrees.nn.ensemble.sparse import MakeMap, Map, ScatterMap, SparseMap
from neuraltrees.nn.head.node import Readout
from neuraltrees.nn.schedule.leaves import lift_to_leaves, pooling
from neuraltrees.nn.schedule.messages import Links
from neuraltrees.nn.schedule.refinement import unroll

ConvName: TypeAlias = Literal["gcn", "sage", "gat", "gin"]
CONVS: dict[str, type[Convolution]] = {"gcn": GCN, "sage": SAGE, "gat": GAT, "gin": GIN}


@dataclass(frozen=True)
class Plan:
    """The rounds of a network on one graph or H-tree, made once and used in every step.

    Args:
        rounds: what each convolution was bound to.
        copies: how many nodes each state between two rounds stands for; None where every state is one node.
        pool: from the states after the last round to graph nodes; None where the last round did it.
        states: how many states are computed in every round.
        num_nodes: number of graph nodes.
        lift: kappa, where features have to be copied to the leaves first, for convolutions that are not ours.
        own: from the states before each round to the same after it, for residual rounds; None where they are the same.
    """

    rounds: tuple[Any, ...]
    copies: tuple[Tensor | None, ...]
    pool: Map | None
    states: tuple[int, ...]
    num_nodes: int | None = None
    lift: Tensor | None = None
    own: tuple[Map | None, ...] = ()

    def __repr__(self) -> str:
        return f"Plan(states={self.states})"


class Network(nn.Module):
    """T rounds of AGG with activation and dropout between them, then a readout per node type or none.

    Args:
        in_channels: number of features of a graph node.
        hidden_channels: size of the states between rounds; of one head for GAT.
        out_channels: number of classes, or the number for each node type.
        num_layers: number of rounds T; by default 4 for `NeuralTree` and 3 for `GNN`, as tuned in the paper.
        conv: "gcn", "sage", "gat" or "gin", or a PyG convolution class.
        dropout: share of the states dropped in training.
        readout: a linear layer per node type after the last round; if false, the last round maps to the classes itself.
        heads: heads of GAT, concatenated in all rounds but the last, which averages them.
        relations: separate weights for messages of every edge type: root-root, child → parent, parent → child.
        residual: adds its own state before a round to each state after it, wherever both have the same size. Networks
            of many rounds train much better so.
        runs: train this many independent networks at once; states then have the shape (N, R, F).
    """

    default_layers: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int | Mapping[str, int],
        num_layers: int | None = None,
        conv: ConvName | Callable[[int, int], nn.Module] = "sage",
        dropout: float = 0.25,
        *,
        readout: bool = True,
        heads: int = 6,
        relations: bool = False,
        residual: bool = False,
        runs: int | None = None,
    ) -> None:
        super().__init__()
        num_layers = self.default_layers if num_layers is None else num_layers
        if num_layers < 1:
            raise InputError(f"Expected num_layers of at least 1; got {num_layers}.")
        sizes_given = {"in_channels": in_channels, "hidden_channels": hidden_channels, "heads": heads}
        for name, size in sizes_given.items():
            if not isinstance(size, int) or size < 1:
                raise InputError(f"Expected {name} of at least 1; got {size!r}.")
        if not 0 <= dropout < 1:
            raise InputError(f"Expected a dropout of at least 0 and below 1; got {dropout!r}.")
        if not readout and isinstance(out_channels, Mapping):
            raise InputError(
                "Expected a number of classes without a readout; got one for each node type. Set readout=True."
            )
        if isinstance(conv, str) and conv not in CONVS:
            raise InputError(f"Expected conv out of {', '.join(CONVS)} or a PyG convolution class; got {conv!r}.")
        if not isinstance(conv, str) and (runs is not None or relations):
            raise InputError(
                "Expected a convolution by name for several runs at once or for relations; got a PyG class. "
                "Leave runs and relations out."
            )
        last = hidden_channels if isinstance(out_channels, Mapping) or readout else out_channels
        repeat = heads if conv == "gat" else 1
        sizes = [in_channels] + [hidden_channels * repeat] * (num_layers - 1)
        outs = [hidden_channels] * (num_layers - 1) + [last]
        self.activation = F.elu if conv == "gat" else F.relu
        self.runs, self.relations = runs, relations
        kinds = RELATIONS if relations else 1
        self.convs = nn.ModuleList()
        for i, (size, out) in enumerate(zip(sizes, outs, strict=True)):
            if not isinstance(conv, str):
                self.convs.append(Foreign(conv, size, out))
            elif conv == "gat":
                concat = i < num_layers - 1
                self.convs.append(GAT(size, out, runs, kinds, heads=heads, concat=concat, dropout=dropout))
            else:
                self.convs.append(CONVS[conv](size, out, runs, kinds))
        widths = [hidden_channels * repeat] * (num_layers - 1) + [last]
        self.residual = [residual and i > 0 and sizes[i] == widths[i] for i in range(num_layers)]
        norms = num_layers - 1 if conv == "gin" else 0
        self.norms = nn.ModuleList(RunBatchNorm(hidden_channels, runs) for _ in range(norms))
        self.drops = nn.ModuleList(Dropout(dropout) for _ in range(num_layers if readout else num_layers - 1))
        self.readout = Readout(hidden_channels, out_channels, runs) if readout else None

    def reset_parameters(self) -> None:
        """Draws all parameters anew."""
        for module in [*self.convs, *self.norms, *([self.readout] if self.readout else [])]:
            cast(Convolution, module).reset_parameters()

    def set_coins(self, coins: Coins | None) -> None:
        """Lets every run draw its dropout from a seed of its own; None for torch's generator."""
        drops = [module for module in self.modules() if isinstance(module, Dropout)]
        if coins is not None:
            coins.set_places(len(drops))
        for place, module in enumerate(drops):
            module.coins, module.place = coins, place

    def run(self, x: Tensor | SparseMap, plan: Plan, node_type: Tensor | None = None) -> Tensor:
        """Logits of every graph node, on a graph or tree that was planned before.

        Sparse features may be given as `SparseMap.of_features(x)`, made once: torch's own sparse tensors are sorted
        anew for the gradient of every step.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, node_type :math:`(n)` → :math:`(n, C)` or :math:`(n, R, C)`
        """
        if plan.num_nodes is not None and plan.num_nodes != x.shape[0]:
            raise InputError(f"Expected features of the {plan.num_nodes} planned nodes; got {x.shape[0]} rows.")
        start = x if plan.lift is None else lift_to_leaves(cast(Tensor, x), plan.lift)
        h: Tensor = self.convs[0](start, plan.rounds[0])
        for i, bound in enumerate(plan.rounds[1:]):
            before = self.activation(self.norms[i](h, plan.copies[i]) if self.norms else h)
            h = self.convs[i + 1](self.drops[i](before), bound)
            if self.residual[i + 1]:
                own = plan.own[i + 1]
                h = h + (before if own is None else own(before))
        h = h if plan.pool is None else plan.pool(h)
        return h if self.readout is None else self.readout(self.drops[-1](self.activation(h)), node_type)

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype

    def _sparse_map(self) -> MakeMap:
        like = next(self.parameters())
        return partial(SparseMap, dtype=like.dtype, device=like.device)

    def _on_edges(self, edge_index: Tensor, num_nodes: int, relation: Tensor | None, make: MakeMap) -> Plan:
        links = Links.of_edges(edge_index, num_nodes, self._relation(relation), self._dtype)
        rounds = tuple(cast(Convolution, conv).bind(links, make) for conv in self.convs)
        return Plan(rounds, (None,) * len(rounds), None, (num_nodes,) * len(rounds), own=tuple(None for _ in rounds))

    def _relation(self, edge_type: Tensor | None) -> Tensor | None:
        if self.relations and edge_type is None:
            raise InputError("Expected edge_type, since messages of every type have weights of their own; got none.")
        return edge_type if self.relations else None


class NeuralTree(Network):
    """Message passing on the H-tree of a graph.

    States start at the features on leaves and at zero on bags; after T rounds the mean over the leaves of a graph node
    is its state.

    >>> import neuraltrees as nt
    >>> tree = nt.build_htree(nt.Graph([[0, 1, 2], [1, 2, 0]]))
    >>> model = NeuralTree(in_channels=6, hidden_channels=8, out_channels=4, num_layers=2)
    >>> model(torch.randn(3, 6), tree.edge_index, tree.kappa).shape
    torch.Size([3, 4])

    Training makes a plan of the tree once, which is exact and much quicker:

    >>> plan = model.plan(tree.edge_index, tree.kappa)
    >>> model.run(torch.randn(3, 6), plan).shape
    torch.Size([3, 4])
    """

    default_layers = 4

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        kappa: Tensor,
        node_type: Tensor | None = None,
        edge_type: Tensor | None = None,
    ) -> Tensor:
        """Logits of every graph node.

        Args:
            x: features of the graph nodes, dense or sparse; they are never copied per leaf.
            edge_index: both directions of the H-tree's edges.
            kappa: graph node of every leaf, -1 for bags.
            node_type: type of every graph node, if there is a readout for each.
            edge_type: type of every tree edge, with `relations`.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, edge_index :math:`(2, E)`, kappa :math:`(N)`,
        node_type :math:`(n)`, edge_type :math:`(E)` → :math:`(n, C)` or :math:`(n, R, C)`
        """
        return self.run(x, self._plain(edge_index, kappa, edge_type, x.shape[0]), node_type)

    def _plain(self, edge_index: Tensor, kappa: Tensor, edge_type: Tensor | None, num_nodes: int) -> Plan:
        """Every tree node a state in every round, without any preparation."""
        plan = self._on_edges(edge_index, kappa.shape[0], edge_type, ScatterMap)
        pool = ScatterMap(pooling(kappa, num_nodes, self._dtype))
        if isinstance(self.convs[0], Foreign):
            return replace(plan, pool=pool, lift=kappa)
        links = Links.of_edges(edge_index, kappa.shape[0], self._relation(edge_type), self._dtype)
        first = cast(Convolution, self.convs[0]).bind(links.from_leaves(kappa, num_nodes), ScatterMap)
        return replace(plan, rounds=(first, *plan.rounds[1:]), pool=pool)

    def plan(self, edge_index: Tensor, kappa: Tensor, edge_type: Tensor | None = None, merge: bool = True) -> Plan:
        """Everything about a tree that does not depend on features or weights: its distinct states and their maps.

        Args:
            edge_index, kappa, edge_type: as for `forward`.
            merge: compute states that are equal for any weights once a round. Dropout then falls on all of them alike;
                without merging each tree node has its own.
        """
        num_nodes = int(kappa.max()) + 1 if kappa.numel() else 0
        if isinstance(self.convs[0], Foreign):
            return self._plain(edge_index, kappa, edge_type, num_nodes)
        relation = self._relation(edge_type)
        unrolled = unroll(
            edge_index.cpu(),
            kappa.cpu(),
            num_nodes,
            len(self.convs),
            relation=None if relation is None else relation.cpu(),
            merge=merge,
            keep_all=len(self.norms) > 0,  # their statistics are over all tree nodes
        )
        make, last = self._sparse_map(), cast(Convolution, self.convs[-1])
        pools = [unrolled.pool if conv is last and last.pools else None for conv in self.convs]
        rounds = [
            cast(Convolution, conv).bind(links, make, pool)
            for conv, links, pool in zip(self.convs, unrolled.rounds, pools, strict=True)
        ]
        own = tuple(
            make(links.selves() if pool is None else pool @ links.selves()) if residual else None
            for links, pool, residual in zip(unrolled.rounds, pools, self.residual, strict=True)
        )
        copies = tuple(each.to(next(self.parameters())) for each in unrolled.copies)
        pool = None if last.pools else make(unrolled.pool)
        return Plan(tuple(rounds), copies, pool, unrolled.states, num_nodes, own=own)


class GNN(Network):
    """The baseline: the same network with messages on the graph itself, along its edges as they are given.

    >>> model = GNN(in_channels=6, hidden_channels=8, out_channels=4, num_layers=2, conv="gcn")
    >>> model(torch.randn(3, 6), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([3, 4])
    """

    default_layers = 3

    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor | None = None) -> Tensor:
        """Logits of every node.

        Shapes: x :math:`(n, F)` or :math:`(n, R, F)`, edge_index :math:`(2, E)`, node_type :math:`(n)`
        → :math:`(n, C)` or :math:`(n, R, C)`
        """
        return self.run(x, self._on_edges(edge_index, x.shape[0], None, ScatterMap), node_type)

    def plan(self, edge_index: Tensor, num_nodes: int) -> Plan:
        """Everything about a graph that does not depend on features or weights."""
        return replace(self._on_edges(edge_index.cpu(), num_nodes, None, self._sparse_map()), num_nodes=num_nodes)
