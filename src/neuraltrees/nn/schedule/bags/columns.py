"""The columns that plans of `BagRounds` are cut from: nodes, edges and bags of graphs and their incidences."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.htree import HTree
from neuraltrees.nn.ragged import Column, Ragged, grouped
from neuraltrees.nn.schedule.bags.codes import tree_codes
from neuraltrees.nn.schedule.bags.structure import MOST
from neuraltrees.nn.schedule.tree import htree_of
from neuraltrees.nn.sweep import SweepPlan

CYCLE = 3


def columns_of(data: Data, trees: bool, codes: bool = False) -> Ragged:
    """The columns of a batch of graphs.

    Args:
        data: a graph or a batch, with H-trees if `trees`.
        trees: whether to include bags.
        codes: whether to include codes of bags.
    """
    data = data.clone().cpu() if data.edge_index.is_cuda else data
    count = int(getattr(data, "num_graphs", None) or 1)
    batch = data.get("batch")
    graph = torch.zeros(int(data.num_nodes), dtype=torch.int64) if batch is None else batch
    _, nodes = grouped({}, graph, count)
    source, target = data.edge_index
    of_edge = graph[target]
    if not bool((of_edge.diff() >= 0).all()):
        raise InputError("Expected the edges of a batch sorted by graph; got them mixed. Use Batch.from_data_list.")
    _, edges = grouped({}, of_edge, count)
    ragged = Ragged(
        {"nodes": nodes, "edges": edges},
        {
            "source": Column(source - nodes[of_edge], "edges", "nodes"),
            "target": Column(target - nodes[of_edge], "edges", "nodes"),
        },
    )
    if not trees:
        return ragged
    tree = htree_of(data)
    given = tree_codes(Graph.from_data(data), tree) if codes else None
    return _with_bags(ragged, tree, graph, source, target, given)


def _with_bags(
    ragged: Ragged,
    tree: HTree,
    graph: Tensor,
    source: Tensor,
    target: Tensor,
    codes: tuple[Tensor, Tensor] | None,
) -> Ragged:
    nodes, edges, count = ragged.ptr["nodes"], ragged.ptr["edges"], ragged.num_graphs
    kappa, parent = tree.kappa.cpu(), tree.parent.cpu()
    is_bag = kappa < 0
    number = is_bag.long().cumsum(0) - 1
    ends = tree.edge_index.cpu()
    ends = number[ends[:, is_bag[ends[0]] & is_bag[ends[1]]]]
    # Bags are numbered in the order of a sweep: tree by tree, with parents before children.
    forest = SweepPlan.of_edges(ends, int(is_bag.sum()))
    order = torch.arange(forest.num_nodes) if forest.order is None else forest.order
    place = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order)))
    number, ends = place[number.clamp(min=0)], place[ends]
    size, first = tree.bag_ptr.diff().cpu(), tree.bag_nodes.cpu()[tree.bag_ptr[:-1].cpu()]
    of_bag = graph[first[is_bag][order]]
    kinds = _kinds(tree)[is_bag][order]
    assert bool((of_bag.diff() >= 0).all()), "tree nodes stand graph by graph"
    _, bags = grouped({}, of_bag, count)

    leaf = ((kappa >= 0) & (parent >= 0)).nonzero().flatten()
    member_node, member_bag = kappa[leaf], number[parent[leaf]]
    by_bag = member_bag.argsort(stable=True)  # the leaves of a bag keep their order
    leaf, member_node, member_bag = leaf[by_bag], member_node[by_bag], member_bag[by_bag]
    of_member = graph[member_node]
    _, members = grouped({}, of_member, count)

    ends = ends[:, ends[1].argsort(stable=True)]
    of_link = of_bag[ends[1]]
    _, links = grouped({}, of_link, count)

    inside_edge, inside_bag = _edges_inside(member_node, member_bag, source, target, len(graph))
    of_inside = of_bag[inside_bag]
    _, inside = grouped({}, of_inside, count)

    on_ring = kinds[member_bag] == CYCLE
    ring_node, ring_bag = member_node[on_ring], member_bag[on_ring]
    of_ring = graph[ring_node]
    _, rings = grouped({}, of_ring, count)
    follows = _next_in_group(ring_bag)
    around = (kinds[inside_bag] == CYCLE) & (source != target)[inside_edge]
    ring_edge, of_step = inside_edge[around], of_inside[around]
    ring_end = _rows_of(inside_bag[around], target[ring_edge], ring_bag, ring_node, len(graph))
    _, steps = grouped({}, of_step, count)
    coded = {}
    if codes is not None:
        coded = {"code": Column(codes[0][is_bag][order], "bags"), "place": Column(codes[1][leaf], "members")}
    return ragged.with_columns(
        coded
        | {
            "kind": Column(kinds, "bags"),
            "size": Column(size[is_bag][order].clamp(max=MOST), "bags"),
            "above": Column(
                torch.where(forest.parent < 0, torch.arange(len(order)), forest.parent) - bags[of_bag], "bags", "bags"
            ),
            "member_node": Column(member_node - nodes[of_member], "members", "nodes"),
            "member_bag": Column(member_bag - bags[of_member], "members", "bags"),
            "link_source": Column(ends[0] - bags[of_link], "links", "bags"),
            "link_target": Column(ends[1] - bags[of_link], "links", "bags"),
            "inside_edge": Column(inside_edge - edges[of_inside], "inside", "edges"),
            "inside_bag": Column(inside_bag - bags[of_inside], "inside", "bags"),
            "ring_node": Column(ring_node - nodes[of_ring], "rings", "nodes"),
            "ring_bag": Column(ring_bag - bags[of_ring], "rings", "bags"),
            "ring_next": Column(follows - rings[of_ring], "rings", "rings"),
            "ring_before": Column(follows.argsort() - rings[of_ring], "rings", "rings"),
            "ring_edge": Column(ring_edge - edges[of_step], "steps", "edges"),
            "ring_end": Column(ring_end - rings[of_step], "steps", "rings"),
        },
        {"bags": bags, "members": members, "links": links, "inside": inside, "rings": rings, "steps": steps},
        {"depth": forest.depth, "bags": int(bags.diff().max())},
    )


def _kinds(tree: HTree) -> Tensor:
    kind: Tensor | None = getattr(tree, "kind", None)
    return torch.zeros_like(tree.level.cpu()) if kind is None else kind.cpu()


def _next_in_group(group: Tensor) -> Tensor:
    """The next row of the same group, cyclically; the rows of a group are consecutive.

    >>> _next_in_group(torch.tensor([4, 4, 4, 7, 7])).tolist()
    [1, 2, 0, 4, 3]
    """
    _, number, size = torch.unique_consecutive(group, return_inverse=True, return_counts=True)
    first = (size.cumsum(0) - size)[number]
    following: Tensor = first + (torch.arange(len(group)) - first + 1) % size[number]
    return following


def _rows_of(bag: Tensor, node: Tensor, in_bag: Tensor, in_node: Tensor, nodes: int) -> Tensor:
    """The rows that hold these nodes of these bags. Shapes: bag and node :math:`(K)`, in_bag and in_node :math:`(Q)`"""
    codes, order = (in_bag * nodes + in_node).sort()
    return order[torch.searchsorted(codes, bag * nodes + node)]


def _edges_inside(
    member_node: Tensor, member_bag: Tensor, source: Tensor, target: Tensor, nodes: int
) -> tuple[Tensor, Tensor]:
    """For every bag the edges between two of its nodes, bag by bag: the edge and the bag of each."""
    by_node = member_node.argsort(stable=True)
    count = member_node.bincount(minlength=nodes)
    first = count.cumsum(0) - count
    fewer = torch.where(count[source] <= count[target], source, target)  # the end that lies in fewer bags
    edge = torch.arange(len(source)).repeat_interleave(count[fewer])
    start = count[fewer].cumsum(0) - count[fewer]
    place = first[fewer[edge]] + torch.arange(len(edge)) - start[edge]
    bag = member_bag[by_node][place]
    other = (source + target)[edge] - fewer[edge]
    held = torch.isin(bag * nodes + other, member_bag * nodes + member_node)
    edge, bag = edge[held], bag[held]
    order = bag.argsort(stable=True)
    return edge[order], bag[order]
