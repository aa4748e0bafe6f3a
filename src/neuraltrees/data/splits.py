"""Which nodes train, validate and test: the random splits of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.errors import InputError


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint boolean masks over the nodes of a graph, or over those of all graphs of a dataset one after another.

    Shapes: train, val, test :math:`(n)`
    """

    train: Tensor
    val: Tensor
    test: Tensor

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many nodes train, validate and test."""
        return int(self.train.sum()), int(self.val.sum()), int(self.test.sum())

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

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Split(train={}, val={}, test={})".format(*self.counts)


def random_node_split(num_nodes: int, train: float = 0.7, val: float = 0.1, test: float = 0.2, seed: int = 0) -> Split:
    """Draws nodes at random: the paper's 70 % to train, 10 % to validate and 20 % to test, or any other shares.

    For one seed, the validation and the test nodes stay the same whatever the training share is, and a smaller training
    set is part of a larger one.

    Args:
        num_nodes: nodes to draw from, of one graph or of a whole dataset.
        train, val, test: shares of all nodes; where they sum to one, every node is drawn.
        seed: the same seed gives the same split.

    >>> random_node_split(2820)
    Split(train=1974, val=282, test=564)
    >>> random_node_split(2820, train=0.1)
    Split(train=282, val=282, test=564)
    """
    check_at_least("num_nodes", num_nodes, 0)
    shares = {"train": train, "val": val, "test": test}
    for name, share in shares.items():
        if not 0 < share < 1:
            raise InputError(f"Expected the share {name} between 0 and 1; got {share}.")
    if sum(shares.values()) > 1 + 1e-9:
        raise InputError(f"Expected shares that sum to at most 1; got {train} + {val} + {test}.")
    num_val, num_test = round(val * num_nodes), round(test * num_nodes)
    rest = num_nodes - num_val - num_test
    num_train = rest if sum(shares.values()) > 1 - 1e-9 else min(round(train * num_nodes), rest)
    order = _shuffled(num_nodes, seed)
    return _split(num_nodes, order[num_val + num_test :][:num_train], order[:num_val], order[num_val:][:num_test])


def random_graph_split(
    num_nodes: Sequence[int], train: float = 0.7, val: float = 0.1, test: float = 0.2, seed: int = 0
) -> Split:
    """Draws whole graphs at random, each with all its nodes; shares and seed as for `random_node_split`.

    Args:
        num_nodes: how many nodes each graph has.
        train, val, test: shares of all graphs.
        seed: the same seed gives the same split.

    >>> random_graph_split([3] * 10)
    Split(train=21, val=3, test=6)
    """
    graphs = random_node_split(len(num_nodes), train, val, test, seed)
    repeats = torch.tensor(list(num_nodes))
    return Split(*(mask.repeat_interleave(repeats) for mask in (graphs.train, graphs.val, graphs.test)))


def citation_split(
    y: Tensor, train_per_class: int | None = 20, num_val: int = 500, num_test: int = 1000, seed: int = 0
) -> Split:
    """Draws 500 nodes to validate and 1,000 to test at random; of the others, so many of each class train, or all.

    For one seed, the validation and the test nodes stay the same whatever `train_per_class` is, and a smaller training
    set is part of a larger one.

    Shapes: y :math:`(n)`

    Args:
        y: the class of every node, from 0.
        train_per_class: training nodes of each class; None for all that remain.
        num_val: validation nodes.
        num_test: test nodes.
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
    if y.dim() != 1 or y.is_floating_point() or y.dtype == torch.bool:
        raise InputError(f"Expected labels as integers of shape (n); got {y.dtype} of shape {tuple(y.shape)}.")
    if y.numel() and y.min() < 0:
        raise InputError(f"Expected labels of at least 0; got {int(y.min())}.")
    return len(y)
