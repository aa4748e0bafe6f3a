"""Messages on the H-tree of a graph, in rounds: what the neural tree of the paper does."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.htree import HTree
from neuraltrees.movable import moved
from neuraltrees.nn.ensemble.backend import SCATTER, Backend
from neuraltrees.nn.messages import Messages
from neuraltrees.nn.schedule.edge_checks import check_tree_edges
from neuraltrees.nn.schedule.leaves import pooling
from neuraltrees.nn.schedule.refinement import unroll
from neuraltrees.nn.schedule.rounds import RoundPlan, Rounds
from neuraltrees.nn.schedule.tree_edges import TreeEdges, tree_edges


class TreeRounds(Rounds):
    """T rounds on the H-tree: features on leaves and zero on bags at the start, the mean over leaves at the end.

    A plan computes states that are equal for any weights once per round, and those that nobody reads afterwards not at
    all. Dropout is then shared by the tree nodes of such a state. With `merge` false, every tree node has a state of
    its own.

    Edge features of the graph ride on the tree edges between leaves and bags: see `tree_edges`.
    """

    needs_tree = True

    def plan(self, data: Data) -> RoundPlan:
        tree = htree_of(data)
        carried = None if self.body.edge_channels is None else tree_edges(tree, data.edge_index)
        num_nodes, backend = int(data.num_nodes), self.backend
        if self.external:
            messages = Messages.of_edges(tree.edge_index.cpu(), tree.num_nodes, None, self.dtype)
            if carried is not None:
                messages = replace(messages, edge=carried.edge, num_edge_rows=carried.num_edge_rows)
            plan = self._every_node(messages, tree.kappa.cpu(), num_nodes, backend)
        else:
            plan = self._distinct_states(tree, carried, num_nodes)
        return moved(replace(plan, edges=None if carried is None else backend.map(carried.rows)), backend.device)

    def trace(self, edge_index: Tensor, kappa: Tensor | None, edge_type: Tensor | None, num_nodes: int) -> RoundPlan:
        if kappa is None:
            raise InputError("Expected kappa, the graph node of every leaf, beside the edge_index of a tree; got none.")
        if self.body.relations and edge_type is None:
            raise InputError("Expected edge_type, since messages of every type have weights of their own; got none.")
        check_tree_edges(edge_index, kappa, num_nodes)
        relation = edge_type if self.body.relations else None
        messages = Messages.of_edges(edge_index, kappa.shape[0], relation, self.dtype)
        return self._every_node(messages, kappa, num_nodes, SCATTER)

    def _every_node(self, messages: Messages, kappa: Tensor, num_nodes: int, backend: Backend) -> RoundPlan:
        """Every tree node a state in every round."""
        rounds = [conv.bind(messages, backend) for conv in self._convs()]
        if not self.external:  # features are multiplied by the weights before they are copied to the leaves
            rounds[0] = self._convs()[0].bind(messages.from_leaves(kappa, num_nodes), backend)
        none = (None,) * len(rounds)
        return RoundPlan(
            tuple(rounds),
            none,
            backend.map(pooling(kappa, num_nodes, self.dtype)),
            (kappa.shape[0],) * len(rounds),
            none,
            lift=kappa if self.external else None,
        )

    def _distinct_states(self, tree: HTree, carried: TreeEdges | None, num_nodes: int) -> RoundPlan:
        """The distinct states that the rounds need, each computed once."""
        unrolled = unroll(
            tree.edge_index.cpu(),
            tree.kappa.cpu(),
            num_nodes,
            len(self.convs),
            relation=tree.edge_type.cpu() if self.body.relations else None,
            edge=None if carried is None else carried.edge,
            num_edge_rows=0 if carried is None else carried.num_edge_rows,
            merge=self.body.merge,
            keep_all=len(self.norms) > 0 and not self.body.layer_norm,  # their statistics are over all tree nodes
        )
        backend, last = self.backend, self._convs()[-1]
        pools = [unrolled.pool if conv is last and last.pools else None for conv in self._convs()]
        rounds = tuple(
            conv.bind(messages, backend, pool)
            for conv, messages, pool in zip(self._convs(), unrolled.rounds, pools, strict=True)
        )
        own = tuple(
            backend.map(messages.selves() if pool is None else pool @ messages.selves()) if residual else None
            for messages, pool, residual in zip(unrolled.rounds, pools, self.residual, strict=True)
        )
        copies = tuple(each.to(backend.dtype) for each in unrolled.copies)
        return RoundPlan(rounds, copies, None if last.pools else backend.map(unrolled.pool), unrolled.states, own)


def htree_of(data: Data) -> HTree:
    """The H-tree beside a graph; `InputError` where there is none."""
    tree = getattr(data, "htree", None)
    if not isinstance(tree, HTree):
        raise InputError(
            f"Expected a graph with its H-tree; got {type(data).__name__} without one. Apply ToHTree() first."
        )
    return tree
