"""What exact inference found."""

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
    """What `JunctionTree.run` found: the distribution of every variable, an observed one's on its state alone.

    `joints` gives the joint distributions of the open variables of the model's cliques; they are summed when they are
    first asked for.

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
        """What is pickled has the distributions instead of the way to them."""
        joints = self.clique_marginals
        return {**self.__dict__, "joints": list, "clique_marginals": joints}

    def _whole(self, clique: tuple[int, ...], joint: Tensor) -> Tensor:
        """The joint distribution of the variables that were not observed as one of them all."""
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
    """The joint distributions of all potentials out of those of the tree's cliques; ones for those without variables.

    Shapes: probabilities :math:`(R, S, B)`, ones :math:`(B)` → :math:`(d_{c_0}, \\dots, B)`
    """
    found = [ones] * count
    for clique, table in zip(plan.cliques, probabilities, strict=True):
        for k, joint in spread(clique.table, table.view(*clique.table.shape, table.shape[-1]), "potential"):
            found[k] = joint
    return found


def check_possible(total: Tensor, place: Callable[[int], str]) -> None:
    """Raises an error if a partition function is zero or no number; `place` says in words which one that is."""
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
