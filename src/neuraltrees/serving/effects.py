"""How much a prediction depends on every bag of a graph: its change when the bag is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.trees import TreeSettings, graph_union
from neuraltrees.decomposition import BagKind
from neuraltrees.errors import InputError
from neuraltrees.nn.schedule.bags import BagRounds
from neuraltrees.nn.schedule.bags.structure import BagPlan
from neuraltrees.serving.predictor import Predictor
from neuraltrees.training.batches import edge_columns, feature_columns

COPIES = 64  # copies of the graph that are predicted at once


@dataclass(frozen=True, eq=False)
class BagEffects:
    """The effect of every bag of a graph on its prediction.

    Args:
        bags: the graph nodes of every bag.
        kinds: the kind of every bag.
        effects: the prediction with all bags minus the prediction without the bag, per label or target.
        prediction: the prediction with all bags.

    Shapes: effects :math:`(B, C)`, prediction :math:`(C)`
    """

    bags: Sequence[tuple[int, ...]]
    kinds: Sequence[BagKind]
    effects: Tensor
    prediction: Tensor

    def of_nodes(self, num_nodes: int) -> Tensor:
        """The effect of every bag, divided equally among its nodes and summed per node. Shapes: → :math:`(n, C)`"""
        total = self.effects.new_zeros(num_nodes, self.effects.shape[1])
        for bag, effect in zip(self.bags, self.effects, strict=True):
            total[list(bag)] += effect / len(bag)
        return total


@torch.no_grad()
def bag_effects(predictor: Predictor, graph: Data) -> BagEffects:
    """Leaves out one bag of the decomposition after another; returns how the prediction for the graph changes.

    A bag that is left out has a state of zero in all layers and sends nothing. Effects need not sum to the prediction.

    Args:
        predictor: a network with `schedule="bags"` that predicts per graph.
        graph: a graph with features as in training.
    """
    network, bundle = predictor.network, predictor.bundle
    schedule = network.schedule
    if not isinstance(schedule, BagRounds) or not network.needs_tree or bundle.objective.level != "graph":
        raise InputError(
            "Expected a network with states of bags that predicts per graph; got "
            f"{type(schedule).__name__} per {bundle.objective.level}. Train with schedule='bags' on labels of graphs."
        )
    (scaled,) = predictor.prepared([graph])
    alone: BagPlan = schedule.plan(graph_union([scaled], TreeSettings.of(bundle)))
    assert alone.bags is not None
    count = len(alone.bags.kind)
    answers = torch.cat([
        _answers(predictor, scaled, list(range(first, min(first + COPIES, count + 1))), count)
        for first in range(0, count + 1, COPIES)
    ])  # fmt: skip
    predicted = bundle.objective.predict(answers).mean(1).cpu()
    members: list[list[int]] = [[] for _ in range(count)]
    for node, bag in zip(alone.bags.member_node.index.tolist(), alone.bags.member_bag.index.tolist(), strict=True):
        members[bag].append(node)
    kinds = [BagKind(kind) for kind in alone.bags.kind.tolist()]
    return BagEffects([*map(tuple, members)], kinds, predicted[-1] - predicted[:-1], predicted[-1])


def _answers(predictor: Predictor, graph: Data, left_out: Sequence[int], count: int) -> Tensor:
    """The answers for copies of a graph, each without one of its bags; the number `count` leaves out none."""
    network = predictor.network
    like = next(network.parameters())
    copies = [graph] * len(left_out)
    plan: Any = network.plan(graph_union(copies, TreeSettings.of(predictor.bundle)))
    weight = torch.ones(len(left_out), count + 1, dtype=like.dtype)
    weight[range(len(left_out)), left_out] = 0
    plan = replace(plan, rounds=replace(plan.rounds, bag_weight=weight[:, :count].flatten().to(like.device)))
    edges = edge_columns(copies, like) if network.reads_edges else None
    answers: Tensor = network(feature_columns(copies, like), plan, edge_attr=edges)
    return answers
