"""PyG data → data with an H-tree: functions for one graph and for a dataset, and a PyG transform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.data.htree_data import TREE_ATTRIBUTES, HTreeData, tree_attributes
from neuraltrees.decomposition import TreeDecomposition, decompose, sample_bounded_treewidth
from neuraltrees.decomposition.decompose import DEFAULT_SECONDS, Method, check_method
from neuraltrees.decomposition.sampling import Sampler, check_sampler
from neuraltrees.errors import InputError, TreeTooLargeError
from neuraltrees.graph import Graph
from neuraltrees.htree import HTree, build_htree
from neuraltrees.htree.build import Terminal, check_terminal

MAX_NODES = 50_000_000


def attach_htree(
    data: Data,
    max_treewidth: int | None = None,
    method: Method = "min_fill",
    *,
    seed: int = 0,
    restarts: int = 4,
    max_nodes: int = MAX_NODES,
    sampler: Sampler = "elimination",
    terminal: Terminal = "clique",
) -> HTreeData:
    """The data with the H-tree of its graph, or of a subgraph of bounded treewidth; the graph itself stays as it is.

    Args:
        data: a homogeneous graph; directions and self-loops of its edge_index do not matter to the tree.
        max_treewidth: if given, the tree is that of a subgraph of at most this treewidth; see
            `sample_bounded_treewidth`. A graph that fits is kept whole.
        method: how the graph and the bags are decomposed; see `decompose`. A sample comes with its decomposition, which
            is kept unless the method is `canonical`.
        seed: breaks ties in the sample and in the decompositions.
        restarts: see `decompose` and `sample_bounded_treewidth`.
        max_nodes: a larger tree raises `TreeTooLargeError`.
        sampler: see `sample_bounded_treewidth`.
        terminal: which bags have leaves as children; see `build_htree`.

    >>> square = Data(edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), num_nodes=4)
    >>> attach_htree(square).htree.treewidth, attach_htree(square, max_treewidth=1).htree.treewidth
    (2, 1)
    """
    HTreeData._check_rules(data)
    graph, decomposition = Graph.from_data(data), None
    if max_treewidth is not None:
        sample = sample_bounded_treewidth(graph, max_treewidth, seed, restarts=restarts, sampler=sampler)
        graph, decomposition = sample.subgraph, None if method == "canonical" else sample.decomposition
    try:
        tree = build_htree(
            graph, decomposition, method, terminal=terminal, seed=seed, restarts=restarts, max_nodes=max_nodes
        )
    except TreeTooLargeError as error:
        raise error.advising("Bound the treewidth: max_treewidth=4; or raise max_nodes.") from None
    return HTreeData._from_attributes(data, tree_attributes(tree))


def attach_htrees(
    dataset: Iterable[Data],
    max_treewidth: int | None = None,
    method: Method = "min_fill",
    *,
    seed: int = 0,
    restarts: int = 4,
    max_nodes: int = MAX_NODES,
    sampler: Sampler = "elimination",
    terminal: Terminal = "clique",
) -> list[HTreeData]:
    """`attach_htree` for every graph of a dataset, with the forest of all trees built at once.

    Args:
        dataset: the graphs.
        max_treewidth, method, seed, restarts, sampler, terminal: see `attach_htree`.
        max_nodes: a larger forest raises `TreeTooLargeError`.

    >>> edge, triangle = torch.tensor([[0], [1]]), torch.tensor([[0, 1, 2], [1, 2, 0]])
    >>> trees = attach_htrees([Data(edge_index=edge, num_nodes=2), Data(edge_index=triangle, num_nodes=3)])
    >>> [data.tree_kappa.tolist() for data in trees]
    [[0, 1], [0, 1, 2]]
    """
    if isinstance(dataset, Data) or not isinstance(dataset, Iterable):
        raise InputError(f"Expected a list of graphs; got {type(dataset).__name__}. Put a single one in brackets.")
    listed = list(dataset)
    for data in listed:
        HTreeData._check_rules(data)
    graphs = [Graph.from_data(data) for data in listed]
    decompositions: list[TreeDecomposition] | None = None
    if max_treewidth is not None:
        # A sample's ties depend on the numbers of the nodes, so it is drawn graph by graph.
        samples = [
            sample_bounded_treewidth(graph, max_treewidth, seed, restarts=restarts, sampler=sampler) for graph in graphs
        ]
        graphs = [s.subgraph for s in samples]
        decompositions = None if method == "canonical" else [s.decomposition for s in samples]
    elif method in DEFAULT_SECONDS:
        # The time limit is per graph.
        decompositions = [decompose(graph, method, seed=seed, restarts=restarts) for graph in graphs]
    union = Graph.union(graphs)
    joined = None if decompositions is None else _side_by_side(decompositions, union)
    try:
        forest = build_htree(
            union, joined, method, terminal=terminal, seed=seed, restarts=restarts, max_nodes=max_nodes
        )
    except TreeTooLargeError as error:
        raise error.advising("Bound the treewidth: max_treewidth=4; or raise max_nodes.") from None
    parts = _cut(forest, [graph.num_nodes for graph in graphs])
    return [HTreeData._from_attributes(data, part) for data, part in zip(listed, parts, strict=True)]


class ToHTree(BaseTransform):  # type: ignore[misc]  # PyG has no types
    """PyG transform that sets the H-tree beside the graph: `Data` → `HTreeData`; see `attach_htree`.

    Args:
        max_treewidth: if given, the tree is that of a subgraph of at most this treewidth.
        method: how graphs and bags are decomposed.
        seed: breaks ties in the sample and in the decompositions.
        restarts: see `decompose` and `sample_bounded_treewidth`.
        max_nodes: a larger tree raises `TreeTooLargeError`.
        sampler: see `sample_bounded_treewidth`.
        terminal: which bags have leaves as children; see `build_htree`.

    >>> transform = ToHTree(max_treewidth=4)
    >>> transform  # doctest: +NORMALIZE_WHITESPACE
    ToHTree(max_treewidth=4, method='min_fill', seed=0, restarts=4, max_nodes=50000000, sampler='elimination',
            terminal='clique')
    >>> transform(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)).htree
    HTree(num_nodes=3, num_roots=1, num_leaves=2, num_components=1, treewidth=1)
    """

    def __init__(
        self,
        max_treewidth: int | None = None,
        method: Method = "min_fill",
        seed: int = 0,
        restarts: int = 4,
        max_nodes: int = MAX_NODES,
        sampler: Sampler = "elimination",
        terminal: Terminal = "clique",
    ) -> None:
        check_method(method)
        check_sampler(sampler)
        check_terminal(terminal)
        self.max_treewidth = None if max_treewidth is None else check_at_least("max_treewidth", max_treewidth, 1)
        self.method = method
        self.seed = check_seed(seed)
        self.restarts = check_at_least("restarts", restarts, 1)
        self.max_nodes = check_at_least("max_nodes", max_nodes, 1)
        self.sampler = sampler
        self.terminal = terminal

    def forward(self, data: Data) -> HTreeData:
        return attach_htree(data, **vars(self))

    def __repr__(self) -> str:
        # PyG tells its caches of pre-transformed data apart by this text.
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _side_by_side(decompositions: Sequence[TreeDecomposition], union: Graph) -> TreeDecomposition:
    """The decomposition of a union from those of its graphs."""
    nodes = np.cumsum([0] + [td.num_nodes for td in decompositions])
    bags = np.cumsum([0] + [len(td.bags) for td in decompositions])
    entries = np.cumsum([0] + [len(td.bag_nodes) for td in decompositions])
    shifted = list(zip(decompositions, nodes, bags, entries, strict=False))
    canonical = [
        (td.kinds, td.bag_order + np.int32(n))
        for td, n, _, _ in shifted
        if td.kinds is not None and td.bag_order is not None
    ]
    whole = len(canonical) == len(shifted) > 0
    return TreeDecomposition._from_arrays(
        union.num_nodes,
        np.concatenate([np.zeros(1, np.int64), *(td.bag_ptr[1:] + e for td, _, _, e in shifted)]),
        np.concatenate([np.zeros(0, np.int32), *(td.bag_nodes + np.int32(n) for td, n, _, _ in shifted)]),
        np.concatenate([np.zeros((0, 2), np.int32), *(td.edges + np.int32(b) for td, _, b, _ in shifted)]),
        made_for=union,
        kinds=np.concatenate([kinds for kinds, _ in canonical]) if whole else None,
        bag_order=np.concatenate([order for _, order in canonical]) if whole else None,
    )


def _cut(forest: HTree, sizes: Sequence[int]) -> Iterable[dict[str, Tensor]]:
    """The tree attributes of each graph of a union, given how many nodes each has.

    The nodes of a forest stand graph by graph, and its edges too within each type.
    """
    count = len(sizes)
    attributes = tree_attributes(forest)
    members, leaf = attributes["tree_bag_members"], attributes["tree_leaf"]
    graph_ptr = torch.tensor([0, *sizes]).cumsum(0)
    graph_of = torch.bucketize(members[forest.bag_ptr[:-1]], graph_ptr, right=True) - 1
    graph_of_edge, order = graph_of[forest.edge_index[0]].sort(stable=True)
    attributes["tree_edge_index"] = forest.edge_index[:, order]
    attributes["tree_edge_type"] = forest.edge_type[order]
    tree_ptr = _offsets(graph_of.bincount(minlength=count))
    component_of = graph_of[forest.component.diff(prepend=torch.tensor([-1])) > 0]
    shift = {
        "graph nodes": graph_ptr,
        "tree nodes": tree_ptr,
        "components": _offsets(component_of.bincount(minlength=count)),
    }
    graphs_of = dict.fromkeys(TREE_ATTRIBUTES, graph_of) | {
        "tree_edge_index": graph_of_edge,
        "tree_edge_type": graph_of_edge,
        "tree_leaf": graph_of[leaf],
        "tree_kappa": graph_of[leaf],
        "tree_bag_members": graph_of.repeat_interleave(attributes["tree_bag_size"]),
    }
    columns = []
    for name, numbering in TREE_ATTRIBUTES.items():
        value, graphs = attributes[name], graphs_of[name]
        if numbering is not None:
            value = value - shift[numbering][graphs]
        columns.append(value.split_with_sizes(graphs.bincount(minlength=count).tolist(), dim=-1))
    # Each graph has its own copy: a view would keep the whole forest alive, and in every file that it is saved to.
    for values in zip(*columns, strict=True):
        yield {name: value.clone() for name, value in zip(TREE_ATTRIBUTES, values, strict=True)}


def _offsets(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
