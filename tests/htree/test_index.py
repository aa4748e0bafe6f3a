"""H-trees with 32-bit and 64-bit indices are the same trees."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.data.htree_data import HTreeData
from neuraltrees.errors import InputError, InvalidHTreeError


def random_graph(seed: int) -> nt.Graph:
    return nt.Graph(np.random.default_rng(seed).integers(0, 60, (2, 90)), num_nodes=60)


def tensors(tree: nt.HTree) -> dict[str, torch.Tensor]:
    return {field.name: getattr(tree, field.name) for field in fields(tree)}


@pytest.mark.parametrize("method", ["min_fill", "canonical"])
@pytest.mark.parametrize("terminal", ["clique", "bag"])
def test_both_widths_give_the_same_tree(method: str, terminal: str) -> None:
    for seed in range(5):
        graph = random_graph(seed)
        wide = nt.build_htree(graph, method=method, terminal=terminal)
        for dtype in (torch.int32, None):
            narrow = nt.build_htree(graph, method=method, terminal=terminal, dtype=dtype)
            assert all(each.dtype == torch.int32 for each in tensors(narrow).values()), "where 32 bits suffice"
            assert narrow.dtype == torch.int32 and wide.dtype == torch.int64
            assert narrow.long() == wide and wide.long() is wide
            assert torch.equal(narrow.diameters(), wide.diameters())
            narrow.validate(graph)


def test_a_broken_tree_of_32_bits_is_found() -> None:
    graph = random_graph(0)
    tree = nt.build_htree(graph, dtype=torch.int32)
    with pytest.raises(InvalidHTreeError, match="level of node"):
        replace(tree, level=tree.level + 1).validate(graph)
    with pytest.raises(InvalidHTreeError, match=r"Expected parent as int64 of one dimension; got torch\.int32"):
        replace(tree, kappa=tree.kappa.long()).validate(graph)


def test_other_types_are_refused() -> None:
    with pytest.raises(InputError, match=r"Expected dtype as torch\.int64, torch\.int32 or None; got torch\.int16"):
        nt.build_htree(random_graph(0), dtype=torch.int16)


def test_data_have_64_bits_whatever_the_tree_has() -> None:
    graph = random_graph(1)
    data = Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes)
    beside = HTreeData.from_data(data, nt.build_htree(graph, dtype=torch.int32))
    assert beside.htree == nt.build_htree(graph)
