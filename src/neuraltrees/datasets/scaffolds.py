"""Splits of molecules: by scaffold, so that test molecules differ from training molecules; or at random."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from neuraltrees.data.splits import Split, random_graph_split
from neuraltrees.datasets.smiles import scaffold_of
from neuraltrees.errors import InputError


def scaffold_parts(smiles: Sequence[str], train: float = 0.8) -> Tensor:
    """The part of every molecule: 0 to train, 1 to validate, 2 to test; molecules of one scaffold are in one part.

    The largest groups train, as in MoleculeNet; those of few molecules are divided between the other two parts. The
    rest of the share is halved. It does not depend on a seed.

    Shapes: → :math:`(molecules)`

    >>> scaffold_parts(["c1ccccc1C", "c1ccccc1CC", "c1ccccc1O", "C1CC1", "C1CCC1"], 0.6).tolist()
    [0, 0, 0, 2, 1]
    """
    groups: dict[str, list[int]] = {}
    for number, each in enumerate(smiles):
        groups.setdefault(scaffold_of(each), []).append(number)
    count, part = len(smiles), torch.full((len(smiles),), 2)
    most = (train * count, (1 + train) / 2 * count)
    used = 0, 0
    for members in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        in_train, in_val = used
        if in_train + len(members) <= most[0] + 1e-9:
            part[members], used = 0, (in_train + len(members), in_val)
        elif in_train + in_val + len(members) <= most[1] + 1e-9:
            part[members], used = 1, (in_train, in_val + len(members))
    counts = part.bincount(minlength=3).tolist()
    if min(counts) == 0:
        scaffold, members = max(groups.items(), key=lambda item: len(item[1]))
        shared = f"the scaffold {scaffold}" if scaffold else "no ring, and so one scaffold"
        raise InputError(
            f"Expected molecules of many scaffolds, to divide them into three parts; got {counts[0]}, {counts[1]} and "
            f"{counts[2]} of {count} molecules to train, validate and test: {len(members)} of them have {shared}. Use "
            f"split=random."
        )
    return part


def molecule_split(count: int, train: float, seed: int) -> Split:
    """A random split of `count` molecules; those that do not train are divided equally.

    >>> molecule_split(100, 0.8, seed=0)
    Split(train=80, val=10, test=10)
    """
    rest = (1 - train) / 2
    return random_graph_split(count, train, rest, rest, seed)
