"""The entropy of a conditional random field."""

from __future__ import annotations

import torch
from torch import Tensor

from neuraltrees.inference.crf.solver import Solver
from neuraltrees.inference.crf.tables import FactorTables, Tables


def entropy(solver: Solver, unary: Tensor, tables: Tables, known: Tensor | None, differentiable: bool) -> Tensor:
    r"""The entropy of the labelling of every graph, :math:`\log Z - E[\text{score}]`; gradients must be enabled.

    With a table of its own for every edge and clique, the derivative of log Z by it is the joint distribution of its
    nodes.

    Args:
        solver: the engine for a table of its own for every edge and clique.
        unary, tables: the potentials.
        known: known labels, -1 elsewhere.
        differentiable: whether the result is to be differentiated.

    Shapes: unary :math:`(B, n, D)` → :math:`(B, G)`
    """
    structure, given = solver.structure, solver.given(known)
    if len(tables) > 1:
        solver.check_memory(unary, given, tracked=True)
    numbers = [torch.arange(len(factors.nodes), device=unary.device) for factors in structure.factors]
    wholes = [each.whole(number) for each, number in zip(tables, numbers, strict=True)]
    wholes = [each.expand(len(unary), *each.shape[1:]) for each in wholes]
    inputs = [each.clone() if differentiable else each.detach().clone() for each in (unary, *wholes)]
    inputs = [each if each.requires_grad else each.requires_grad_() for each in inputs]
    own = tuple(
        FactorTables(each if len(number) else each.new_zeros(len(each), 1, *each.shape[2:]), number.view(-1, 1))
        for each, number in zip(inputs[1:], numbers, strict=True)
    )
    total = solver.log_partition(inputs[0], own, given)
    found = torch.autograd.grad(
        total.sum(), inputs, create_graph=differentiable, allow_unused=True, materialize_grads=True
    )
    owner = torch.from_numpy(structure.owner).to(unary.device)
    owners = [owner, *(owner.index_select(0, factors.nodes[:, 0].to(unary.device)) for factors in structure.factors)]
    expected = torch.zeros_like(total)
    for of_input, each, graph in zip(found, inputs, owners, strict=True):
        expected = expected.index_add(1, graph, _product(of_input, each).flatten(2).sum(2))
    return total - expected


def _product(left: Tensor, right: Tensor) -> Tensor:
    """The product, zero where an impossible label has probability zero."""
    return left * right.masked_fill(right == -torch.inf, 0.0)
