"""Messages on the H-tree of a graph, in rounds: what the neural tree of the paper does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.htree import HTree
from neuraltrees.movable import moved
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.ensemble.sparse import Coefficients
from neuraltrees.nn.messages import Messages
from neuraltrees.nn.parallel import (
    Group,
    Part,
    RoundPart,
    cost_of_state,
    first_round,
    later_round,
    leaf_sums,
    own_edge_rows,
    own_rows,
)
from neuraltrees.nn.schedule.edge_checks import check_tree_edges
from neuraltrees.nn.schedule.leaves import pooling
from neuraltrees.nn.schedule.refinement import Refinement, TreeRows
from neuraltrees.nn.schedule.rounds import RoundPlan, Rounds
from neuraltrees.nn.schedule.schedule import Body
from neuraltrees.nn.schedule.start import BagStart, FirstStates, check_start, every_start
from neuraltrees.nn.schedule.tree_edges import TreeEdges, tree_edges
from neuraltrees.nn.schedule.tree_parts import CutTree


class TreeRounds(Rounds):
    """T rounds on the H-tree: features on leaves at the start, the mean over leaves at the end. Bags start at zero, as
    in the paper, or with the mean or sum of their members' features (`Body.bag_start`).

    With a plan, states that are equal for any weights are computed once per round, and states that no later round reads
    are not computed. The tree nodes of such a state share their dropout. With `merge` false, every tree node has its
    own state.

    Edge features of the graph are carried by the tree edges between leaves and bags: see `tree_edges`.
    """

    needs_tree = True

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.start: BagStart = body.bag_start or "zero"
        check_start(self.start)

    def plan(self, data: Data) -> RoundPlan:
        tree, carried = self._tree_of(data)
        num_nodes, backend = int(data.num_nodes), self.backend
        if self.external:
            messages = Messages.of_edges(tree.edge_index.cpu(), tree.num_nodes, None, self.dtype)
            if carried is not None:
                messages = replace(messages, edge=carried.edge, num_edge_rows=carried.num_edge_rows)
            members = None if self.start == "zero" else tree.members.cpu()
            plan = self._every_node(messages, tree.kappa.cpu(), num_nodes, backend, members)
        else:
            plan = self._distinct_states(tree, carried, num_nodes)
        return moved(replace(plan, edges=None if carried is None else backend.map(carried.rows)), backend.device)

    def trace(
        self,
        edge_index: Tensor,
        kappa: Tensor | None,
        edge_type: Tensor | None,
        num_nodes: int,
        members: Tensor | None = None,
    ) -> RoundPlan:
        if kappa is None:
            raise InputError(
                "Expected kappa, the graph node of every leaf, with the edge_index of a tree; got none. Call "
                "model(data.x, model.plan(data)) with data from ToHTree."
            )
        if self.body.relations and edge_type is None:
            raise InputError("Expected edge_type, since every edge type has its own weights; got none.")
        if self.start != "zero" and members is None:
            raise InputError(
                f"Expected members, the graph nodes in the bag of every tree node, since bags start with the "
                f"{self.start} of their members; got none. Pass members=tree.members."
            )
        check_tree_edges(edge_index, kappa, num_nodes)
        relation = edge_type if self.body.relations else None
        messages = Messages.of_edges(edge_index, kappa.shape[0], relation, self.dtype)
        return self._every_node(messages, kappa, num_nodes, SCATTER, members)

    def _every_node(
        self, messages: Messages, kappa: Tensor, num_nodes: int, backend: Backend, members: Tensor | None
    ) -> RoundPlan:
        """The plan with one state per tree node in every round."""
        rounds, start = [conv.bind(messages, backend) for conv in self._convs()], None
        if self.start != "zero" and members is not None:
            shape = (kappa.shape[0], num_nodes)
            start = backend.map(every_start(members, shape, self.start == "mean", self.dtype))
        elif not self.external:  # features are multiplied by the weights before they are copied to the leaves
            rounds[0] = self._convs()[0].bind(messages.from_leaves(kappa, num_nodes), backend)
        none = (None,) * len(rounds)
        return RoundPlan(
            tuple(rounds),
            none,
            backend.map(pooling(kappa, num_nodes, self.dtype)),
            (kappa.shape[0],) * len(rounds),
            none,
            lift=kappa if self.external and start is None else None,
            start=start,
        )

    def _distinct_states(self, tree: HTree, carried: TreeEdges | None, num_nodes: int) -> RoundPlan:
        """The plan with only the distinct states that the rounds need."""
        refined = self._refined(tree, carried, num_nodes)
        unrolled = refined.unroll(self._keep_all)
        return self._bound(unrolled.rounds, unrolled.copies, unrolled.pool, refined.first.rows)

    def cut(self, data: Data, parts: int) -> CutTree:
        """The rounds on an H-tree that is cut into parts of equal work; `part` is the plan of one of them."""
        return self._cut(*self._tree_of(data), int(data.num_nodes), parts)

    def part(self, data: Data, group: Group) -> tuple[RoundPlan, Part]:
        if self.external:
            return super().part(data, group)
        tree, carried = self._tree_of(data)
        cut, backend = self._cut(tree, carried, int(data.num_nodes), group.size), self.backend
        whole, rank = cut.unrolled, group.rank
        owned = (cut.owner == rank).nonzero()[0]
        first, nodes, start = first_round(whole.rounds[0], cut.states(0), owned, group, cut.start)
        rounds, halos = [first], []
        for number, messages in enumerate(whole.rounds[1:], start=1):
            later, halo = later_round(messages, cut.states(number), cut.states(number - 1), group)
            rounds.append(later)
            halos.append(halo)
        rounds, rows = own_edge_rows(rounds)
        pool, sums, gather = leaf_sums(whole.pool, cut.states(-1), cut.owner, group)
        copies = [each[torch.from_numpy(cut.states(t) == rank)] for t, each in enumerate(whole.copies)]
        numbers = tuple(each.numbers.state for each in rounds if each.numbers is not None)
        edges, used = None, torch.zeros(0, dtype=torch.int64)
        if carried is not None:
            narrow, columns = own_rows(carried.rows, rows)
            edges, used = backend.map(narrow), torch.from_numpy(columns)
        plan = replace(
            self._bound(rounds, copies, pool, start),
            edges=edges,
            part=RoundPart(group, tuple(halos), numbers, (sums, backend.map(gather))),
        )
        here = Part(group, torch.from_numpy(nodes), torch.from_numpy(owned), used, torch.from_numpy(cut.owner))
        return moved(plan, backend.device), here

    def _cut(self, tree: HTree, carried: TreeEdges | None, num_nodes: int, parts: int) -> CutTree:
        refined, cost = self._refined(tree, carried, num_nodes), cost_of_state(self.body.hidden_channels)
        return CutTree.of(tree, refined, self._keep_all, parts, cost, self._convs()[-1].pools)

    def _refined(self, tree: HTree, carried: TreeEdges | None, num_nodes: int) -> Refinement:
        rows = TreeRows.of(
            tree.edge_index.cpu(),
            tree.num_nodes,
            tree.edge_type.cpu() if self.body.relations else None,
            None if carried is None else carried.edge,
            0 if carried is None else carried.num_edge_rows,
        )
        kappa = tree.kappa.cpu().numpy()
        if self.start == "zero":
            first = FirstStates.of_leaves(kappa, num_nodes)
        else:
            first = FirstStates.of_members(tree, num_nodes, self.start == "mean")
        return Refinement.of(rows, kappa, num_nodes, len(self.convs), self.body.merge, first)

    @property
    def plan_kind(self) -> str:
        started = "" if self.start == "zero" else f" from the {self.start} of members"
        return f"{super().plan_kind}{started}"

    @property
    def _keep_all(self) -> bool:
        """Whether states that no round reads are needed: the statistics of batch norms are over all tree nodes."""
        return len(self.norms) > 0 and not self.body.layer_norm

    def _bound(
        self,
        messages: Sequence[Messages],
        copies: Sequence[Tensor],
        pool: Coefficients,
        start: Coefficients | None,
    ) -> RoundPlan:
        backend, last = self.backend, self._convs()[-1]
        pools = [pool if conv is last and last.pools else None for conv in self._convs()]
        rounds = tuple(
            conv.bind(each, backend, pool) for conv, each, pool in zip(self._convs(), messages, pools, strict=True)
        )
        # Residual rounds read the states that this process computes, which precede those received from others.
        before = [len(messages[0].source_degree), *(len(each.own) for each in messages[:-1])]
        selves = [each.selves().narrowed(size) for each, size in zip(messages, before, strict=True)]
        own = tuple(
            backend.map(each if pool is None else pool @ each) if residual else None
            for each, pool, residual in zip(selves, pools, self.residual, strict=True)
        )
        counts = tuple(each.to(backend.dtype) for each in copies)
        states = tuple(len(each) for each in copies)
        first = None if start is None else backend.map(start)
        return RoundPlan(rounds, counts, None if last.pools else backend.map(pool), states, own, start=first)

    def _tree_of(self, data: Data) -> tuple[HTree, TreeEdges | None]:
        tree = htree_of(data)
        return tree, None if self.body.edge_channels is None else tree_edges(tree, data.edge_index)


def htree_of(data: Data) -> HTree:
    """The H-tree of a graph in PyG form; `InputError` if it has none."""
    tree = getattr(data, "htree", None)
    if not isinstance(tree, HTree):
        raise InputError(
            f"Expected a graph with its H-tree; got {type(data).__name__} without one. Apply ToHTree() first."
        )
    return tree
