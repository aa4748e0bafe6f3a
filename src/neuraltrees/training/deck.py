"""All graphs of a task as columns on a device, from which batches of any graphs are made without a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.graph_checks import type_of
from neuraltrees.data.task import Task
from neuraltrees.data.trees import TreeSettings, graph_union
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.nn.network import Network
from neuraltrees.nn.parallel import Group
from neuraltrees.nn.ragged import Column, Cut, Ragged
from neuraltrees.nn.schedule.bags import view_columns
from neuraltrees.training.batches import GraphBatch, Known, edge_columns, feature_columns, make_batches
from neuraltrees.training.columns import open_columns, write_columns


class Deck:
    """The graphs of a task as columns, for a network whose plans can be cut from columns.

    Args:
        task: the graphs; trees are built for all of them at once, if the network needs them.
        network: the network to plan for.
        folder: where the columns are stored; existing ones are read from there. None to keep them in memory only.
        on_device: whether the columns are on the network's device; else batches are made in main memory.
    """

    def __init__(self, task: Task, network: Network, folder: PathLike | None = None, on_device: bool = True) -> None:
        check_cuttable(network)
        like = next(network.parameters())
        self.network, self.device = network, like.device
        self.by_node, self.num_items = task.objective.level == "node", task.num_items
        y = task.targets.to(self.device)
        self.y = torch.cat([y, y[:1]])  # the last row is for padding, which has weight zero
        sizes = torch.tensor([graph.num_nodes for graph in task.graphs])
        self.graph_of_item = torch.arange(len(sizes)).repeat_interleave(sizes) if self.by_node else None
        self.blank = len(sizes)
        ragged = make_columns(task, network, like.dtype) if folder is None else _kept(folder, task, network, like.dtype)
        # The last graph, without rows, fills incomplete batches.
        if network.schedule.views:
            ragged = ragged.with_columns(view_columns(ragged, network.schedule.views))
        ends = {space: torch.cat([each, each[-1:]]) for space, each in ragged.ptr.items()}
        self.ragged = replace(ragged, ptr=ends)
        if on_device:
            self.ragged = self.ragged.to(self.device)

    def graphs_with(self, items: Tensor) -> Tensor:
        """The graphs that hold some items. Shapes: items :math:`(items)`, a mask"""
        if self.graph_of_item is None:
            return items.nonzero().flatten()
        graphs: Tensor = torch.unique(self.graph_of_item[items])
        return graphs

    def weight_of_graphs(self, weight: Tensor) -> Tensor:
        """The total weight of the items of every graph, and zero for the empty graph; on the device.

        Shapes: weight :math:`(items + 1, R)`, zero in its last row → :math:`(graphs + 1, R)`
        """
        if self.graph_of_item is None:
            return weight
        empty = weight.new_zeros(self.blank + 1, weight.shape[1])
        return empty.index_add(0, self.graph_of_item.to(weight.device), weight[:-1])

    def batch(self, graphs: Tensor, room: Mapping[str, int] | None = None) -> GraphBatch:
        """The batch of some graphs; with `room` all batches have the same shapes: see `Ragged.cut`.

        Shapes: graphs :math:`(B)`
        """
        cut = self.ragged.cut(graphs.to(self.ragged.device), room)
        return self.batch_of(cut.to(self.device), graphs.to(self.device))

    def batch_of(self, cut: Cut, graphs: Tensor) -> GraphBatch:
        """The batch made of a cut of the columns for some graphs. Shapes: graphs :math:`(B)`"""
        items = graphs
        if self.by_node:
            items = torch.where(cut.graph["nodes"] < len(graphs), cut["item"], self.num_items)
        plan = self.network.cut_plan(cut)
        x = cut["x"] if plan.rows is None else cut["x"][plan.rows]
        return GraphBatch(items, x, cut.columns.get("edge_attr"), self.y[items], plan)


def check_cuttable(network: Network) -> None:
    """Raises `InputError` unless the network's plans can be cut from columns."""
    if not network.schedule.cuttable or network.reads_labels:
        raise InputError(
            "Expected a network whose graphs can be shuffled in every epoch; got "
            f"{type(network.schedule).__name__} with {type(network.head).__name__}. Use schedule='bags', or "
            "shuffle=False with several divisions."
        )


def planned_batches(
    task: Task,
    network: Network,
    divided: Sequence[Sequence[int]],
    known: Known | None = None,
    learn: bool = False,
    group: Group | None = None,
) -> list[GraphBatch]:
    """`make_batches`, through columns if the network's plans can be cut from them."""
    if not network.schedule.cuttable or network.reads_labels or group is not None:
        return make_batches(task, network, divided, known, learn, group)
    deck = Deck(task, network)
    return [deck.batch(torch.tensor(list(graphs))) for graphs in divided]


def make_columns(task: Task, network: Network, dtype: torch.dtype) -> Ragged:
    """The columns of all graphs of a task, with trees if the network needs them."""
    trees = TreeSettings.of(task) if network.needs_tree else None
    ragged = network.schedule.columns(graph_union(task.graphs, trees))
    return ragged.with_columns(_features(task.graphs, task.types, network, dtype))


def column_subject(task: Task, network: Network, dtype: torch.dtype) -> str:
    """What columns belong to: the same text for all networks that can read them."""
    return f"{task.fingerprint()} {network.schedule.column_kind}, edges {network.reads_edges}, {dtype}"


def _kept(folder: PathLike, task: Task, network: Network, dtype: torch.dtype) -> Ragged:
    """The columns of a folder; they are made and written if there are none."""
    subject = column_subject(task, network, dtype)
    found = open_columns(folder, subject)
    if found is None:
        write_columns(folder, make_columns(task, network, dtype), subject)
        found = open_columns(folder, subject)
    assert found is not None
    return found


def _features(graphs: Sequence[Data], types: Sequence[str], network: Network, dtype: torch.dtype) -> dict[str, Column]:
    like = torch.zeros((), dtype=dtype)
    x = feature_columns(graphs, like)
    if not isinstance(x, Tensor):
        raise InputError("Expected dense features, to make batches of graphs; got sparse ones. Use x.to_dense().")
    columns = {"x": Column(x, "nodes"), "item": Column(torch.arange(len(x)), "nodes")}
    if network.reads_edges:
        columns["edge_attr"] = Column(edge_columns(graphs, like), "edges")
    if len(types) > 1:
        columns["node_type"] = Column(torch.cat([type_of(each, types) for each in graphs]), "nodes")
    return columns
