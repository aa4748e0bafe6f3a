"""A graph beside its H-tree, as one PyG data object."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from neuraltrees.checks import check_data
from neuraltrees.data.tree_check import check_fit
from neuraltrees.errors import InputError
from neuraltrees.graph import Graph
from neuraltrees.htree import HTree

Numbering: TypeAlias = Literal["graph nodes", "tree nodes", "components"]

# What the entries of every tree attribute count; a batch shifts them by how many of these the graphs before have.
TREE_ATTRIBUTES: dict[str, Numbering | None] = {
    "tree_level": None,
    "tree_component": "components",
    "tree_edge_index": "tree nodes",
    "tree_edge_type": None,
    "tree_leaf": "tree nodes",
    "tree_kappa": "graph nodes",
    "tree_bag_size": None,
    "tree_bag_members": "graph nodes",
    "tree_kind": None,
}


class HTreeData(Data):  # type: ignore[misc]  # PyG has no types
    r"""A graph with all its attributes, and beside it the H-tree: one `Data` that PyG batches, moves, saves and loads.

    A batch of graphs holds the forest of their trees, because each tensor below can be cut into graphs and joined again
    with a plain shift. Two arrays of `HTree` cannot, so they are kept in another form: a shift would spoil the -1 of
    `parent` and `kappa`, hence leaves and their graph nodes are listed, and parents are read from the edges; and
    `bag_ptr`, which has one entry more than there are nodes, is kept as sizes. The property `htree` puts the arrays
    together again, for one graph as for a batch.

    ================  ============  =====================================================  ==============
    name              shape         meaning                                                shifted by
    ================  ============  =====================================================  ==============
    tree_level        :math:`N`     0 for roots
    tree_component    :math:`N`     which tree of the forest                               components
    tree_edge_index   :math:`2, E`  both directions of every edge                          tree nodes
    tree_edge_type    :math:`E`     0 root-root, 1 child → parent, 2 parent → child
    tree_leaf         :math:`L`     the tree nodes that are leaves                         tree nodes
    tree_kappa        :math:`L`     their graph nodes                                      graph nodes
    tree_bag_size     :math:`N`     how many graph nodes the bag of a tree node holds
    tree_bag_members  :math:`·`     these graph nodes, sorted, bag after bag               graph nodes
    tree_kind         :math:`N`     `BagKind` of the roots of a canonical tree, else 0
    ================  ============  =====================================================  ==============

    `num_nodes` and `num_edges` are the graph's. Transforms that change the graph's nodes or edges belong before
    `ToHTree`: they leave the tree as it is.

    >>> from neuraltrees.htree import build_htree
    >>> graph = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    >>> data = HTreeData.from_data(graph, build_htree(Graph.from_data(graph)))
    >>> data.num_nodes, data.htree
    (3, HTree(num_nodes=6, num_roots=2, num_leaves=4, num_components=1, treewidth=1))
    >>> data.tree_leaf.tolist(), data.tree_kappa.tolist()
    ([2, 3, 4, 5], [1, 2, 0, 1])
    """

    @classmethod
    def from_data(cls, data: Data, htree: HTree) -> HTreeData:
        """A copy of the data, its tensors shared, with an H-tree of its graph or of a subgraph on all its nodes.

        Args:
            data: a homogeneous graph with an edge_index.
            htree: its H-tree; the tree of another graph raises `InputError`.
        """
        cls._check_rules(data)
        out = cls._copy_of(data)
        out.htree = htree
        return out

    @classmethod
    def _from_attributes(cls, data: Data, attributes: dict[str, Tensor]) -> HTreeData:
        """`from_data` for a tree that was built from the data's own graph."""
        out = cls._copy_of(data)
        out._set_tree(attributes)
        return out

    @classmethod
    def _copy_of(cls, data: Data) -> HTreeData:
        copy: HTreeData = cls.from_dict(data.to_dict())
        return copy

    @classmethod
    def _check_rules(cls, data: Any) -> None:
        """Raises `InputError` for data with batching rules that this class does not have."""
        check_data(data)
        for kind in type(data).__mro__:
            if kind not in cls.__mro__ and not vars(kind).keys().isdisjoint(("__inc__", "__cat_dim__")):
                raise InputError(
                    f"Expected data with the batching rules of PyG; got {type(data).__name__}, whose own rules in "
                    f"{kind.__name__} would be lost. Derive a class from HTreeData and {kind.__name__}, and use its "
                    f"from_data."
                )

    def _set_tree(self, attributes: dict[str, Tensor]) -> None:
        device = self.edge_index.device
        for name, value in attributes.items():
            self[name] = value.to(device)

    @property
    def htree(self) -> HTree:
        """The H-tree of the graph; of a batch, the forest that `build_htree` makes of the union of its graphs."""
        # Data from before there were kinds have none.
        missing = [name for name in TREE_ATTRIBUTES if name not in self and name != "tree_kind"]
        if missing:
            raise InputError(f"Expected data with an H-tree; got it without {', '.join(missing)}. Apply ToHTree first.")
        # A batch has the edges graph by graph, a forest type by type.
        order = self.tree_edge_type.argsort(stable=True)
        edge_index, edge_type = self.tree_edge_index[:, order], self.tree_edge_type[order]
        child, above = edge_index[:, edge_type == 1]
        tree = HTree(
            parent=torch.full_like(self.tree_level, -1).index_put((child,), above),
            level=self.tree_level,
            kappa=torch.full_like(self.tree_level, -1).index_put((self.tree_leaf,), self.tree_kappa),
            edge_index=edge_index,
            edge_type=edge_type,
            bag_ptr=torch.cat([self.tree_bag_size.new_zeros(1), self.tree_bag_size.cumsum(0)]),
            bag_nodes=self.tree_bag_members,
            component=self.tree_component,
            kind=self.tree_kind if "tree_kind" in self else torch.zeros_like(self.tree_level),
        )
        if tree.num_graph_nodes != self.num_nodes:
            raise InputError(
                f"Expected an H-tree of this graph of {self.num_nodes} nodes; got one of a graph of "
                f"{tree.num_graph_nodes} nodes. Apply ToHTree after every transform that changes the graph."
            )
        return tree

    @htree.setter
    def htree(self, htree: HTree) -> None:
        check_fit(htree, Graph.from_data(self))
        self._set_tree(tree_attributes(htree))

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key not in TREE_ATTRIBUTES:
            return super().__inc__(key, value, *args, **kwargs)
        match TREE_ATTRIBUTES[key]:
            case "graph nodes":
                return self.num_nodes
            case "tree nodes":
                return self.tree_level.size(0)
            case "components":
                return int(value.max()) + 1 if value.numel() else 0
        return 0

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key not in TREE_ATTRIBUTES:
            return super().__cat_dim__(key, value, *args, **kwargs)
        # Where the dimension is an `int`, PyG takes a tensor of as many entries as the graph has nodes or edges for an
        # attribute of these, and its transforms would cut or reorder it with them. A NumPy integer prevents that.
        return np.int64(-1 if key == "tree_edge_index" else 0)


def tree_attributes(htree: HTree) -> dict[str, Tensor]:
    """The attributes of `HTreeData` that stand for an H-tree.

    >>> from neuraltrees.htree import build_htree
    >>> attributes = tree_attributes(build_htree(Graph([[0], [1]])))
    >>> attributes["tree_bag_size"].tolist(), attributes["tree_bag_members"].tolist()
    ([2, 1, 1], [0, 1, 0, 1])
    """
    htree = htree.long()
    leaf = (htree.kappa >= 0).nonzero().flatten()
    return {
        "tree_level": htree.level,
        "tree_component": htree.component,
        "tree_edge_index": htree.edge_index,
        "tree_edge_type": htree.edge_type,
        "tree_leaf": leaf,
        "tree_kappa": htree.kappa[leaf],
        "tree_bag_size": htree.bag_ptr.diff(),
        "tree_bag_members": htree.bag_nodes,
        "tree_kind": htree.kind,
    }


torch.serialization.add_safe_globals([HTreeData, GlobalStorage, DataTensorAttr, DataEdgeAttr])
