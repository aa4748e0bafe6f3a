"""The junction-tree algorithm: exact answers about a Markov network."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neuraltrees._core import native
from neuraltrees.checks import check_at_least, check_seed
from neuraltrees.decomposition import TreeDecomposition
from neuraltrees.errors import InputError, ModelTooLargeError
from neuraltrees.inference.answer import Answer, check_possible, spread_joints
from neuraltrees.inference.bayesian import BayesianNetwork, NamedEvidence
from neuraltrees.inference.choice import Method, choose_decomposition
from neuraltrees.inference.core_passes import FLOATS, core_tables, run_core
from neuraltrees.inference.markov import (
    Evidence,
    MarkovNetwork,
    batch_shape,
    check_evidence,
    check_tables,
)
from neuraltrees.inference.memory import TABLES_FOR_GRADIENT, allowed_bytes, check_memory_limit
from neuraltrees.inference.passes import Progress, collect, condition, distribute, maximise, sum_out_residual
from neuraltrees.inference.plan import Plan, make_plan
from neuraltrees.inference.sampling import draw, trace
from neuraltrees.inference.structure import Structure

CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False, repr=False)
class JunctionTree:
    """The steps of exact inference, computed once for a structure and used for any potentials on it.

    Made by `JunctionTree.of`. The time and the memory of an answer grow with `entries`, the total size of the cliques'
    tables.

    >>> model = MarkovNetwork([2, 2], [(0, 1)], [torch.tensor([[0.1, 0.2], [0.3, 0.4]]).log()])
    >>> tree = JunctionTree.of(model)
    >>> answer = tree.run(model.log_potentials)
    >>> [[round(p, 4) for p in each.tolist()] for each in answer.marginals]
    [[0.3, 0.7], [0.4, 0.6]]
    >>> tree.map(model.log_potentials)[0].tolist()
    [1, 1]
    """

    structure: Structure
    evidence: dict[int, int]
    steps: native.JunctionSteps
    memory_limit: int | None

    @classmethod
    def of(
        cls,
        model: MarkovNetwork | BayesianNetwork,
        evidence: Evidence | NamedEvidence | None = None,
        *,
        decomposition: TreeDecomposition | None = None,
        method: Method = "states",
        memory_limit: float | None = None,
        seed: int = 0,
    ) -> JunctionTree:
        """Decomposes the graph without the observed variables, and plans the passes.

        Args:
            model: the network; only its cardinalities and cliques are used, not its tables.
            evidence: the states of observed variables; for a Bayesian network also by name.
            decomposition: a decomposition of the model's graph; by default it is chosen by `method`.
            method: how to choose it: `states` for a small state space, or a method of `decompose`.
            memory_limit: bytes that the cliques' tables may take, counted three times with a gradient; by default half
                of the memory of the machine, or of the GPU that holds the tables.
            seed: breaks ties; the same seed gives the same tree.
        """
        network = as_markov(model)
        structure = network.structure
        given: Any = model.numbered(evidence) if isinstance(model, BayesianNetwork) else evidence
        observed = check_evidence(given, structure.cardinalities)
        if decomposition is None and method == "states":
            steps = native.JunctionSteps.search(*structure.arrays, observed, check_seed(seed))
        else:
            fixed = observed.keys() | structure.single.keys()
            if decomposition is None:
                chosen = _decompose(network, fixed, method, seed)
            else:
                decomposition.validate(model.graph)
                left = [[v for v in bag if v not in fixed] for bag in decomposition.bags]
                chosen = TreeDecomposition(left, decomposition.edges, network.num_variables)
            steps = native.JunctionSteps.of(*structure.arrays, chosen.bag_ptr, chosen.bag_nodes, chosen.edges)
        tree = cls(structure, observed, steps, check_memory_limit(memory_limit))
        tree._check_size(1, 8)
        return tree

    @cached_property
    def decomposition(self) -> TreeDecomposition:
        """The tree of cliques of the unobserved variables."""
        return TreeDecomposition._from_arrays(len(self.cardinalities), *self.steps.bags())

    @property
    def cardinalities(self) -> tuple[int, ...]:
        return self.structure.cardinalities

    @property
    def cliques(self) -> tuple[tuple[int, ...], ...]:
        return self.structure.cliques

    @cached_property
    def plan(self) -> Plan:
        """The steps on tensors, used for gradients, GPUs, large batches, the best assignment and samples."""
        seen = self.evidence.keys() | self.structure.single.keys()
        scopes = tuple(tuple(v for v in clique if v not in seen) for clique in self.cliques)
        return make_plan(self.cardinalities, scopes, self.decomposition)

    @property
    def entries(self) -> int:
        """The total number of entries of the cliques' tables."""
        return round(self.steps.states)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.structure, self.evidence, self.decomposition, self.memory_limit)

    def __repr__(self) -> str:
        return (
            f"JunctionTree(num_variables={len(self.cardinalities)}, observed={len(self.evidence)}, "
            f"num_cliques={len(self.plan.cliques)}, width={self.decomposition.width}, entries={self.entries}, "
            f"memory_limit={self.memory_limit})"
        )

    def run(
        self, log_potentials: Sequence[Tensor], evidence: Evidence | None = None, *, progress: Progress | None = None
    ) -> Answer:
        """The log partition function and the marginals, differentiable in the potentials.

        Args:
            log_potentials: the tables of a `MarkovNetwork` of this structure, with any batch.
            evidence: other states of the variables that were observed when the tree was made.
            progress: called with the number of entries of a table after it is computed, twice per table.

        Raises `ZeroProbabilityError` if the evidence is impossible.
        """
        observed = self._observed(evidence)
        if (given := core_tables(self.structure, log_potentials, self.steps)) is not None:
            self._check_size(given.batch.numel(), given.dtype.itemsize)
            answer = run_core(self.steps, self.structure, given, observed, progress)
            total = answer.log_partition
            if given.batch or not math.isfinite(total):
                check_possible(total, _entry_of(given.batch))
            return Answer(self, observed, total, answer.marginals, partial(answer.joints, len(self.cliques)))
        tables, like, batch = self._prepare(log_potentials, observed)
        reduced, total = collect(self.plan, tables, like, condition, progress)
        check_possible(total, _entry_of(batch))
        probabilities, found = distribute(self.plan, reduced, progress)
        for variable, state in observed.items():
            found[variable] = like.new_zeros(self.cardinalities[variable], len(like))
            found[variable][state] = 1.0
        marginals = [found[v].T.reshape(*batch, count) for v, count in enumerate(self.cardinalities)]
        joints = partial(spread_joints, self.plan, probabilities, like.new_ones(len(like)), len(self.cliques))
        return Answer(self, observed, total.reshape(batch), marginals, joints)

    def log_partition(
        self, log_potentials: Sequence[Tensor], evidence: Evidence | None = None, *, progress: Progress | None = None
    ) -> Tensor:
        """The log partition function without marginals; -inf for impossible evidence."""
        observed = self._observed(evidence)
        if (given := core_tables(self.structure, log_potentials, self.steps)) is not None:
            self._check_size(given.batch.numel(), given.dtype.itemsize)
            return run_core(self.steps, self.structure, given, observed, progress, marginals=False).log_partition
        tables, like, batch = self._prepare(log_potentials, observed)
        return collect(self.plan, tables, like, sum_out_residual, progress)[1].reshape(batch)

    @torch.no_grad()
    def map(
        self, log_potentials: Sequence[Tensor], evidence: Evidence | None = None, *, progress: Progress | None = None
    ) -> tuple[Tensor, Tensor]:
        r"""A most probable assignment and its log score :math:`\max_x \sum_C \theta_C(x_C)`.

        Shapes: → :math:`(*B, n)` and :math:`(*B)`
        """
        observed = self._observed(evidence)
        tables, like, batch = self._prepare(log_potentials, observed)
        reduced, best = collect(self.plan, tables, like, maximise, progress)
        check_possible(best, _entry_of(batch))
        states = trace(self.plan, [each.table for each in reduced], observed, len(self.cardinalities), like)
        return states.reshape(*batch, len(self.cardinalities)), best.reshape(batch)

    @torch.no_grad()
    def sample(
        self,
        log_potentials: Sequence[Tensor],
        count: int = 1,
        evidence: Evidence | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        r"""Independent exact samples, drawn from the roots down.

        Shapes: → :math:`(count, *B, n)`
        """
        check_at_least("count", count, 0)
        observed = self._observed(evidence)
        tables, like, batch = self._prepare(log_potentials, observed)
        reduced, total = collect(self.plan, tables, like, condition)
        check_possible(total, _entry_of(batch))
        conditionals = [each.table for each in reduced]
        states = draw(self.plan, conditionals, observed, len(self.cardinalities), like, count, generator)
        return states.reshape(count, *batch, len(self.cardinalities))

    def _observed(self, evidence: Evidence | None) -> dict[int, int]:
        """The evidence, including the variables that have only one state."""
        observed = self.evidence if evidence is None else check_evidence(evidence, self.cardinalities)
        if observed.keys() != self.evidence.keys():
            raise InputError(
                f"Expected evidence on the {len(self.evidence)} variables that the tree was made for; got evidence on "
                f"{len(observed)} variables, not the same ones. Make a tree for them: JunctionTree.of(model, evidence)."
            )
        return {**self.structure.single, **observed}

    def _check_size(self, batch: int, itemsize: int, device: torch.device = CPU) -> None:
        needed, allowed = self.steps.states * batch * itemsize, allowed_bytes(self.memory_limit, device)
        if needed > allowed:
            raise ModelTooLargeError(needed, allowed, self.decomposition.width)

    def _prepare(
        self, log_potentials: Sequence[Tensor], observed: dict[int, int]
    ) -> tuple[list[Tensor], Tensor, torch.Size]:
        """The potentials without observed variables and with the batch as last axis, and an empty tensor per entry."""
        check_tables(self.cardinalities, self.cliques, log_potentials)
        batch = batch_shape(self.cliques, log_potentials)
        if log_potentials and log_potentials[0].dtype not in FLOATS:
            raise InputError(f"Expected tables of float32 or float64; got {log_potentials[0].dtype}. Use .float().")
        if log_potentials:
            first = log_potentials[0]
            tracked = torch.is_grad_enabled() and any(table.requires_grad for table in log_potentials)
            count = batch.numel() * (TABLES_FOR_GRADIENT if tracked else 1)
            self._check_size(count, first.element_size(), first.device)
        tables = []
        for clique, table in zip(self.cliques, log_potentials, strict=True):
            if observed:
                for axis in range(len(clique) - 1, -1, -1):
                    if clique[axis] in observed:
                        table = table.select(len(batch) + axis, observed[clique[axis]])
            if not batch:
                tables.append(table.unsqueeze(-1))
            else:
                flat = table.reshape(batch.numel(), *table.shape[len(batch) :])
                tables.append(flat.movedim(0, -1).contiguous())
        like = log_potentials[0].new_empty(batch.numel()) if log_potentials else torch.empty(1).double()
        return tables, like, batch


def infer(model: MarkovNetwork | BayesianNetwork, evidence: Evidence | NamedEvidence | None = None) -> Answer:
    """The log partition function and all marginals of a model; use `JunctionTree` for several queries.

    Args:
        model: the network.
        evidence: the state of every observed variable; for a Bayesian network also by name.

    >>> model = MarkovNetwork([2, 2], [(0, 1)], [torch.tensor([[0.1, 0.2], [0.3, 0.4]]).log()])
    >>> [round(p, 4) for p in infer(model, {0: 1}).marginals[1].tolist()]
    [0.4286, 0.5714]
    """
    network = as_markov(model)
    return JunctionTree.of(model, evidence).run(network.log_potentials)


def as_markov(model: MarkovNetwork | BayesianNetwork) -> MarkovNetwork:
    """The Markov network of a model; `InputError` for anything but a Markov or Bayesian network."""
    if isinstance(model, BayesianNetwork):
        return model.to_markov()
    if not isinstance(model, MarkovNetwork):
        raise InputError(
            f"Expected a MarkovNetwork or a BayesianNetwork; got {type(model).__name__}. Read a file with read_uai or "
            f"read_bif."
        )
    return model


def _restore(
    structure: Structure, evidence: dict[int, int], td: TreeDecomposition, memory_limit: int | None
) -> JunctionTree:
    steps = native.JunctionSteps.of(*structure.arrays, td.bag_ptr, td.bag_nodes, td.edges)
    return JunctionTree(structure, evidence, steps, memory_limit)


def _decompose(network: MarkovNetwork, fixed: Set[int], method: Method, seed: int) -> TreeDecomposition:
    """A decomposition of the variables that are not fixed, with their numbers in the network."""
    free = np.array([v for v in range(network.num_variables) if v not in fixed], dtype=np.int32)
    cardinalities = [network.cardinalities[v] for v in free.tolist()]
    chosen = choose_decomposition(network.graph.subgraph(free), cardinalities, method, seed)
    return TreeDecomposition._from_arrays(network.num_variables, chosen.bag_ptr, free[chosen.bag_nodes], chosen.edges)


def _entry_of(batch: torch.Size) -> Callable[[int], str]:
    return lambda entry: f" in entry {entry} of the batch" if batch else ""
