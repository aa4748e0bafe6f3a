"""H-trees in safetensors files: no pickle, written atomically."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, read_whole, write_whole
from neuraltrees.htree.htree import HTree

_FORMAT = "neuraltrees.htree.1"
MOST_HEADER = 100_000_000  # bytes, a limit of the format


def save_htree(tree: HTree, path: PathLike, names: Sequence[str] | None = None) -> None:
    """Writes an H-tree to a safetensors file, array by array, without a copy of the tree in memory.

    Args:
        tree: the tree.
        path: the file.
        names: names of the graph nodes, stored as a JSON list under `names` in the metadata of the file.
    """
    if not isinstance(tree, HTree):
        raise InputError(f"Expected an HTree; got {type(tree).__name__}. Make one: build_htree(graph).")
    tensors = {field.name: getattr(tree, field.name) for field in fields(tree)}
    if not tree.kind.any():
        del tensors["kind"]  # as in files of versions without kinds
    about = {} if names is None else {"names": json.dumps(list(names))}
    write_whole(path, chain([_header(tensors, {"format": _FORMAT, **about})], map(_bytes, tensors.values())))


def _header(tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> bytes:
    """The header of a safetensors file: its length in eight bytes, then JSON with the place of every tensor."""
    places: dict[str, Any] = {"__metadata__": dict(about)}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        kind = {torch.int64: "I64", torch.int32: "I32"}[tensor.dtype]
        places[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(places, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise InputError(
            f"Expected names of at most {MOST_HEADER // 10**6} MB in total, the limit of a safetensors header; "
            f"got {len(text) / 10**6:.0f} MB. Leave the names out."
        )
    return len(text).to_bytes(8, "little") + text


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.detach().cpu().contiguous().flatten().numpy().data.cast("B") if tensor.numel() else memoryview(b"")


def load_htree(path: PathLike) -> HTree:
    """Reads a file written by `save_htree`; to check that the tree belongs to a graph, call `HTree.validate(graph)`."""
    content = read_whole(path)
    try:
        tensors = safetensors.torch.load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except (safetensors.SafetensorError, ValueError) as error:
        raise InputError(
            f"Expected {path} to be an H-tree file; got: {error}. Write it again with save_htree."
        ) from error
    stored = header.get("__metadata__", {}).get("format")
    if stored != _FORMAT or set(tensors) | {"kind"} != {field.name for field in fields(HTree)}:
        raise InputError(
            f"Expected {path} to hold an H-tree ({_FORMAT}); got format {json.dumps(stored)} "
            f"with {', '.join(sorted(tensors)) or 'nothing'}."
        )
    tree = HTree(**tensors)
    _check_shapes(tree, path)
    return tree


def _check_shapes(tree: HTree, path: PathLike) -> None:
    nodes, edges, entries = tree.parent.numel(), tree.edge_type.numel(), tree.bag_nodes.numel()
    expected = {
        "parent": (nodes,),
        "level": (nodes,),
        "kappa": (nodes,),
        "component": (nodes,),
        "kind": (nodes,),
        "edge_type": (edges,),
        "edge_index": (2, edges),
        "bag_ptr": (nodes + 1,),
        "bag_nodes": (entries,),
    }
    for name, shape in expected.items():
        tensor = getattr(tree, name)
        if tuple(tensor.shape) != shape or tensor.dtype != tree.dtype:
            raise InputError(
                f"Expected {name} in {path} as {str(tree.dtype)[6:]} of shape {shape}; "
                f"got {tensor.dtype} of shape {tuple(tensor.shape)}."
            )
