"""The result of exact inference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from neuraltrees.errors import InputError, ZeroProbabilityError
from neuraltrees.inference.plan import Plan
from neuraltrees.inference.tables import spread

if TYPE_CHECKING:
    from neuraltrees.inference.junction_tree import JunctionTree


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The result of `JunctionTree.run`: log Z and the distribution of every variable, one-hot for an observed one.

    `joints` computes the joint distributions of the unobserved variables of the model's cliques, at the first use of
    `clique_marginals`.

    Shapes: log_partition :math:`(*B)`, marginal v :math:`(*B, d_v)`, clique marginal k as table k of the model
    """

    tree: JunctionTree
    evidence: dict[int, int]
    log_partition: Tensor
    marginals: list[Tensor]
    joints: Callable[[], list[Tensor]]

    @property
    def batch(self) -> torch.Size:
        return self.log_partition.shape

    def __repr__(self) -> str:
        return f"Answer({self.tree!r}, batch={tuple(self.batch)})"

    @cached_property
    def clique_marginals(self) -> list[Tensor]:
        """The joint distribution of every clique of the model; zero where it contradicts the evidence."""
        return [
            self._whole(clique, joint.movedim(-1, 0))
            for clique, joint in zip(self.tree.cliques, self.joints(), strict=True)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling, with the joint distributions instead of the function that computes them."""
        joints = self.clique_marginals
        return {**self.__dict__, "joints": list, "clique_marginals": joints}

    def _whole(self, clique: tuple[int, ...], joint: Tensor) -> Tensor:
        """The joint distribution of all variables of a clique, given that of the unobserved ones."""
        cardinalities = self.tree.cardinalities
        joint = joint.reshape((*self.batch, *(cardinalities[v] for v in clique if v not in self.evidence)))
        for axis, variable in enumerate(clique):
            if variable in self.evidence:
                place = len(self.batch) + axis
                after = cardinalities[variable] - 1 - self.evidence[variable]
                padding = [0, 0] * (joint.dim() - place) + [self.evidence[variable], after]
                joint = torch.nn.functional.pad(joint.unsqueeze(place), padding)
        return joint


def spread_joints(plan: Plan, probabilities: Sequence[Tensor], ones: Tensor, count: int) -> list[Tensor]:
    """The joint distribution of every potential, from those of the tree's cliques; ones for a potential of no variable.

    Shapes: probabilities :math:`(R, S, B)`, ones :math:`(B)` → :math:`(d_{c_0}, \\dots, B)`
    """
    found = [ones] * count
    for clique, table in zip(plan.cliques, probabilities, strict=True):
        for k, joint in spread(clique.table, table.view(*clique.table.shape, table.shape[-1]), "potential"):
            found[k] = joint
    return found


def check_possible(total: Tensor, place: Callable[[int], str]) -> None:
    """Raises an error if a partition function is zero or not finite; `place` describes which one, for the message."""
    values = total.detach().flatten()
    if bool(torch.isfinite(values).all()):
        return
    wrong = int((~torch.isfinite(values)).nonzero()[0, 0])
    where = place(wrong)
    if float(values[wrong]) == -torch.inf:
        raise ZeroProbabilityError(
            f"Expected evidence of positive probability; the potentials and the evidence give every assignment the "
            f"probability 0{where}. Check the evidence, or the zeros of the tables."
        )
    raise InputError(f"Expected log-potentials below +inf; got nan or +inf{where}. Check the tables.")
