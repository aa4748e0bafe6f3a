"""Convolutions: how one round combines a state with its messages."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, TypeAlias

from torch import nn

from neuraltrees.errors import InputError, did_you_mean
from neuraltrees.nn.conv.convolution import Convolution, ConvOptions
from neuraltrees.nn.conv.external import ExternalConv, MakeConv
from neuraltrees.nn.conv.gat import GATConv
from neuraltrees.nn.conv.gcn import GCNConv
from neuraltrees.nn.conv.gin import GINConv
from neuraltrees.nn.conv.sage import SAGEConv

ConvName: TypeAlias = Literal["gcn", "sage", "gat", "gin"]
CONVS: dict[str, type[Convolution]] = {"gcn": GCNConv, "sage": SAGEConv, "gat": GATConv, "gin": GINConv}


def find_conv(conv: Any) -> MakeConv:
    """The constructor `(in_channels, out_channels, options)` of a convolution given by name or as a class.

    >>> find_conv("gcn").__name__
    'GCNConv'
    """
    expected = f"Expected conv out of {', '.join(CONVS)} or a PyG convolution class"
    if isinstance(conv, str):
        if conv not in CONVS:
            raise InputError(f"{expected}; got {conv!r}.{did_you_mean(conv, CONVS)}")
        return CONVS[conv]
    if isinstance(conv, nn.Module):
        name = type(conv).__name__
        raise InputError(f"{expected}; got an instance of {name}. Give the class itself: conv={name}.")
    if not callable(conv):
        raise InputError(f"{expected}; got {conv!r}.")
    if isinstance(conv, type) and issubclass(conv, Convolution):
        return conv
    return partial(ExternalConv, conv)


__all__ = [
    "ConvOptions",
    "Convolution",
    "ExternalConv",
    "GATConv",
    "GCNConv",
    "GINConv",
    "MakeConv",
    "SAGEConv",
]
