"""H-trees in safetensors files: no pickle, written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import fields

import safetensors
import safetensors.torch
import torch

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, write_whole
from neuraltrees.htree.htree import HTree

_FORMAT = "neuraltrees.htree.1"


def save_htree(tree: HTree, path: PathLike) -> None:
    """Writes an H-tree as a safetensors file."""
    tensors = {field.name: getattr(tree, field.name).contiguous() for field in fields(tree)}
    write_whole(path, safetensors.torch.save(tensors, metadata={"format": _FORMAT}))


def load_htree(path: PathLike) -> HTree:
    """Reads what `save_htree` wrote; the tree of another graph is found by `HTree.validate(graph)`."""
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - the file is no mapping
    except safetensors.SafetensorError as error:
        raise InputError(
            f"Expected {path} to be an H-tree file; got: {error}. Write it again with save_htree."
        ) from error
    names = [field.name for field in fields(HTree)]
    if metadata.get("format") != _FORMAT or set(tensors) != set(names):
        raise InputError(
            f"Expected {path} to hold an H-tree ({_FORMAT}); got format {json.dumps(metadata.get('format'))} "
            f"with {', '.join(sorted(tensors)) or 'nothing'}."
        )
    tree = HTree(**tensors)
    _check_shapes(tree, path)
    return tree


def _check_shapes(tree: HTree, path: PathLike) -> None:
    nodes, edges = len(tree.parent), len(tree.edge_type)
    expected = {
        "parent": (nodes,),
        "level": (nodes,),
        "kappa": (nodes,),
        "component": (nodes,),
        "edge_index": (2, edges),
        "edge_type": (edges,),
        "bag_ptr": (nodes + 1,),
        "bag_nodes": (len(tree.bag_nodes),),
    }
    for name, shape in expected.items():
        tensor = getattr(tree, name)
        if tuple(tensor.shape) != shape or tensor.dtype != torch.int64:
            raise InputError(
                f"Expected {name} in {path} as int64 of shape {shape}; "
                f"got {tensor.dtype} of shape {tuple(tensor.shape)}."
            )
