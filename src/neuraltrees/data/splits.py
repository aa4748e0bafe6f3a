"""Splits into training, validation and test items: the random splits of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.errors import InputError

Sizes: TypeAlias = int | Sequence[int] | Sequence[Data]


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint boolean masks over the nodes of a graph, or over those of all graphs of a dataset one after another.

    Shapes: train, val, test :math:`(n)`
    """

    train: Tensor
    val: Tensor
    test: Tensor

    def __post_init__(self) -> None:
        for name in ("train", "val", "test"):
            object.__setattr__(self, name, _mask(name, getattr(self, name)))
        lengths = [len(mask) for mask in (self.train, self.val, self.test)]
        if len(set(lengths)) > 1:
            raise InputError(f"Expected masks train, val and test of one length; got {lengths}.")

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many nodes train, validate and test."""
        return int(self.train.sum()), int(self.val.sum()), int(self.test.sum())

    def equals(self, other: Split) -> bool:
        """Whether all three masks are the same."""
        pairs = ((self.train, other.train), (self.val, other.val), (self.test, other.test))
        return all(torch.equal(mine, theirs) for mine, theirs in pairs)

    def per_graph(self, num_nodes: Sequence[int]) -> list[Split]:
        """The part of every graph, given how many nodes each has.

        >>> split = random_node_split(10, seed=0)
        >>> sum(part.train.sum() for part in split.per_graph([4, 6])) == split.train.sum()
        tensor(True)
        """
        if sum(num_nodes) != len(self.train):
            raise InputError(f"Expected graphs of {len(self.train)} nodes in all; got {sum(num_nodes)}.")
        masks = (mask.split_with_sizes(list(num_nodes)) for mask in (self.train, self.val, self.test))
        return [Split(*part) for part in zip(*masks, strict=True)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Split):
            return NotImplemented
        return all(torch.equal(getattr(self, name), getattr(other, name)) for name in ("train", "val", "test"))

    def __repr__(self) -> str:
        return "Split(train={}, val={}, test={})".format(*self.counts)


def _mask(name: str, given: Any) -> Tensor:
    """A mask as a tensor of booleans; lists and NumPy arrays become one."""
    try:
        mask = given if isinstance(given, Tensor) else torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"Expected {name} as a mask, a boolean per node; got {type(given).__name__}.") from None
    if mask.dtype != torch.bool or mask.dim() != 1:
        advice = " From node numbers: mask = torch.zeros(n, dtype=torch.bool); mask[numbers] = True."
        advice = "" if mask.dtype == torch.bool or mask.is_floating_point() else advice
        raise InputError(
            f"Expected {name} as a mask, a boolean per node; got {mask.dtype} of shape {tuple(mask.shape)}.{advice}"
        )
    return mask


def random_node_split(
    num_nodes: Sizes, train: float = 0.7, val: float = 0.1, test: float = 0.2, seed: int = 0
) -> Split:
    """Draws nodes at random: the paper's 70 % to train, 10 % to validate and 20 % to test, or any other shares.

    For one seed, the validation and the test nodes stay the same whatever the training share is, and a smaller training
    set is part of a larger one.

    Args:
        num_nodes: how many nodes there are to draw from; or the graphs, or the number of nodes of each.
        train, val, test: shares of all nodes; where they sum to one, every node is drawn.
        seed: the same seed gives the same split.

    >>> random_node_split(2820)
    Split(train=1974, val=282, test=564)
    >>> random_node_split(2820, train=0.1)
    Split(train=282, val=282, test=564)
    """
    return _drawn(sum(_sizes(num_nodes, "nodes")), (train, val, test), seed)


def random_graph_split(
    num_nodes: Sizes, train: float = 0.7, val: float = 0.1, test: float = 0.2, seed: int = 0
) -> Split:
    """Draws whole graphs at random, each with all its nodes; shares and seed as for `random_node_split`.

    Args:
        num_nodes: the graphs, or how many nodes each has; for labels of graphs, how many graphs there are.
        train, val, test: shares of all graphs.
        seed: the same seed gives the same split.

    >>> random_graph_split([3] * 10)
    Split(train=21, val=3, test=6)
    >>> random_graph_split(10)
    Split(train=7, val=1, test=2)
    """
    sizes = _sizes(num_nodes, "graphs")
    if isinstance(num_nodes, int | np.integer):
        return _drawn(sizes[0], (train, val, test), seed)
    graphs = _drawn(len(sizes), (train, val, test), seed)
    repeats = torch.tensor(sizes, dtype=torch.int64)
    return Split(*(mask.repeat_interleave(repeats) for mask in (graphs.train, graphs.val, graphs.test)))


def _sizes(given: Any, what: str) -> list[int]:
    """Numbers of nodes: one number, one per graph, or those of the graphs."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return [check_at_least(f"the number of {what}", int(given), 0)]
    try:
        listed = [each.num_nodes if hasattr(each, "num_nodes") else each for each in given]
    except TypeError:
        listed = [given]
    if isinstance(given, str) or hasattr(given, "num_nodes"):
        listed = [given]
    for each in listed:
        if isinstance(each, bool) or not isinstance(each, int | np.integer) or each < 0:
            raise InputError(
                f"Expected the number of {what}, the graphs, or the number of nodes of each; got {given!r:.80}."
            )
    return [int(each) for each in listed]


def _drawn(count: int, shares: tuple[float, float, float], seed: int) -> Split:
    """A random split of `count` items by these shares."""
    for name, share in zip(("train", "val", "test"), shares, strict=True):
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share < 1:
            raise InputError(f"Expected the share {name} between 0 and 1; got {share!r}.")
    train, val, test = shares
    if sum(shares) > 1 + 1e-9:
        raise InputError(
            f"Expected shares to train, validate and test on that sum to at most 1; got {train} + {val} + {test}. "
            f"Lower train_share to {1 - val - test:.3g} or less, or the other two."
        )
    num_val, num_test = round(val * count), round(test * count)
    rest = count - num_val - num_test
    num_train = rest if sum(shares) > 1 - 1e-9 else min(round(train * count), rest)
    order = _shuffled(count, seed)
    return _split(count, order[num_val + num_test :][:num_train], order[:num_val], order[num_val:][:num_test])


def citation_split(
    y: Tensor, train_per_class: int | None = 20, num_val: int = 500, num_test: int = 1000, seed: int = 0
) -> Split:
    """Draws 500 validation and 1,000 test nodes at random; of the others, some of each class train, or all.

    For one seed, the validation and the test nodes stay the same whatever `train_per_class` is, and a smaller training
    set is part of a larger one.

    Shapes: y :math:`(n)`

    Args:
        y: the class of every node, from 0.
        train_per_class: training nodes of each class; None for all that remain.
        num_val: number of validation nodes.
        num_test: number of test nodes.
        seed: the same seed gives the same split.

    >>> citation_split(torch.arange(30) % 3, train_per_class=4, num_val=5, num_test=10)
    Split(train=12, val=5, test=10)
    """
    num_nodes = _count_labels(y)
    held_out = check_at_least("num_val", num_val, 1) + check_at_least("num_test", num_test, 1)
    if held_out >= num_nodes:
        raise InputError(
            f"Expected more than the {num_val} validation and {num_test} test nodes; the graph has {num_nodes} nodes."
        )
    order = _shuffled(num_nodes, seed)
    rest = order[held_out:]
    if train_per_class is not None:
        check_at_least("train_per_class", train_per_class, 1)
        classes = [rest[y[rest].cpu() == label] for label in range(int(y.max()) + 1)]
        for label, nodes in enumerate(classes):
            if len(nodes) < train_per_class:
                raise InputError(
                    f"Expected at least {train_per_class} training nodes of class {label}; {len(nodes)} remain beside "
                    f"{num_val} validation and {num_test} test nodes. Lower train_per_class, num_val or num_test."
                )
        rest = torch.cat([nodes[:train_per_class] for nodes in classes])
    split = _split(num_nodes, rest, order[:num_val], order[num_val:held_out])
    check_classes_train(split, y)
    return split


def check_classes_train(split: Split, y: Tensor, num_classes: int | None = None) -> None:
    """Raises `InputError` if a class has no training node.

    Shapes: y :math:`(n)`

    Args:
        split: masks over n nodes.
        y: the class of every node, from 0.
        num_classes: by default one more than the largest label.

    >>> nodes = torch.arange(4)
    >>> check_classes_train(Split(nodes < 2, nodes == 2, nodes == 3), torch.tensor([0, 1, 1, 0]))
    """
    if _count_labels(y) != len(split.train):
        raise InputError(f"Expected a label for each of {len(split.train)} nodes; got {len(y)}.")
    count = int(y.max()) + 1 if num_classes is None else num_classes
    empty = (y[split.train].bincount(minlength=count) == 0).nonzero().flatten().tolist()
    if empty:
        raise InputError(
            f"Expected a training node of every class; got none of {', '.join(map(str, empty))}. "
            f"Train on more nodes, or draw with another seed."
        )


def _shuffled(num_nodes: int, seed: int) -> Tensor:
    return torch.randperm(num_nodes, generator=torch.Generator().manual_seed(check_seed(seed)))


def _split(num_nodes: int, *parts: Tensor) -> Split:
    masks = []
    for name, nodes in zip(("training", "validation", "test"), parts, strict=True):
        if not len(nodes):
            raise InputError(f"Expected at least one {name} node; got none of {num_nodes} nodes. Raise its share.")
        mask = torch.zeros(num_nodes, dtype=torch.bool)
        mask[nodes] = True
        masks.append(mask)
    return Split(*masks)


def _count_labels(y: Tensor) -> int:
    if not isinstance(y, Tensor):
        raise InputError(f"Expected labels as a tensor of integers; got {type(y).__name__}. Use torch.as_tensor(y).")
    if y.dim() != 1 or y.is_floating_point() or y.dtype == torch.bool:
        raise InputError(f"Expected labels as integers of shape (n); got {y.dtype} of shape {tuple(y.shape)}.")
    if y.numel() and y.min() < 0:
        raise InputError(f"Expected labels of at least 0; got {int(y.min())}.")
    return len(y)
