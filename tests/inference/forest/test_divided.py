"""A forest that several processes share: the answers and gradients of one process, and messages at cuts only."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees.errors import InputError, ZeroProbabilityError
from neuraltrees.inference.forest import DividedForest, Forest
from neuraltrees.nn.parallel import Group
from tests.inference.forest.forests import Drawn, draw_forest
from tests.processes import MOST, Processes, processes


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with processes(tmp_path_factory.mktemp("processes")) as started:
        yield started


def drawn(name: str, scale: float = 1.0, zeros: tuple[float, float] = (0.0, 0.0)) -> Drawn:
    """Graphs of a kind, with variables of 1 to 4 states."""
    match name:
        case "cycles":
            graphs = [nx.gnm_random_graph(26, 34, seed=3), nx.empty_graph(3), nx.path_graph(3)]
        case "many":
            graphs = [nx.gnm_random_graph(7, 10, seed=seed) for seed in range(12)]
        case "path":
            graphs = [nx.path_graph(40)]
        case "star":
            graphs = [nx.star_graph(15)]
        case "grid":
            graphs = [nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 12))]
        case "two":
            graphs = [nx.path_graph(2)]
    found = [nt.Graph.from_networkx(graph) for graph in graphs]
    states = np.random.default_rng(5).integers(1, 5, sum(graph.num_nodes for graph in found))
    return draw_forest(found, states.tolist(), seed=1, scale=scale, zeros=zeros)


def answered(forest: Forest, given: Drawn, group: Group | None) -> tuple[Tensor, ...]:
    """Log Z, marginals, log Z again without marginals, and the gradients of a function of both."""
    unary, pairwise = (each.nan_to_num(7.0, neginf=-torch.inf).requires_grad_() for each in given.potentials)
    answer = forest.run(unary, pairwise)
    weight = torch.randn(answer.marginals.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    # Every process is responsible for some variables and graphs, as in training.
    rank, size = (0, 1) if group is None else (group.rank, group.size)
    own, graphs = (torch.arange(count) % size == rank for count in (len(weight), len(answer.log_partition)))
    loss = (answer.marginals * weight * own.unsqueeze(1)).sum()
    loss = loss + (answer.log_partition * graphs * torch.arange(1, 1 + len(graphs))).sum()
    loss.backward()
    alone = forest.log_partition(unary.detach(), pairwise.detach())
    assert unary.grad is not None and pairwise.grad is not None
    gradients = [each if group is None else group.total_(each) for each in (unary.grad, pairwise.grad)]
    return answer.log_partition.detach(), answer.marginals.detach(), alone, *gradients


def in_parts(group: Group, given: Drawn, options: dict[str, Any]) -> tuple[Tensor, ...]:
    return answered(DividedForest.divide(given.forest(**options), group), given, group)


@pytest.mark.parametrize("options", [{}, {"chunk_entries": 200}], ids=["one chunk", "several chunks"])
@pytest.mark.parametrize(
    ("name", "scale", "zeros"),
    [
        *((name, 1.0, (0.0, 0.0)) for name in ("cycles", "many", "path", "star", "grid", "two")),
        ("grid", 300.0, (0.0, 0.0)),  # sums that lose precision in linear space
        ("cycles", 1.0, (0.1, 0.1)),
    ],
)
def test_processes_answer_as_one_does(
    name: str, scale: float, zeros: tuple[float, float], options: dict[str, Any], together: Processes
) -> None:
    given = drawn(name, scale, zeros)
    expected = answered(given.forest(**options), given, None)
    for size in range(1, MOST + 1):
        for found in together.run(size, in_parts, given, options):
            for one, other in zip(found, expected, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)


def sent_and_cut(group: Group, given: Drawn) -> tuple[dict[str, int], int, int, int]:
    """Bytes by purpose of one run; and by hand, entries of the separators at cuts below and above this process."""
    forest = DividedForest.divide(given.forest(), group)
    forest.run(*(each.nan_to_num(7.0) for each in given.potentials))
    steps, part = forest.structure.elimination, forest.part[forest.structure.elimination.order]
    states = forest.structure.states[steps.order]
    given_away = taken = 0
    for step, parent in enumerate(steps.parent.tolist()):
        if parent >= 0 and part[step] != part[parent]:
            entries = prod(states[steps.members[steps.ptr[step] : steps.ptr[step + 1]]].tolist())
            given_away += entries * int(part[step] == group.rank)
            taken += entries * int(part[parent] == group.rank)
    return dict(group.sent), given_away, taken, forest.entries


def test_only_messages_at_cuts_are_sent_and_the_work_is_divided(together: Processes) -> None:
    given = drawn("grid")
    whole = given.forest().entries
    answers = given.unary.numel() + len(given.graphs)  # the sum over all processes: every process gets all answers
    for size in (2, 4):
        found = together.run(size, sent_and_cut, given)
        assert sum(cut for _, cut, _, _ in found) > 0
        for sent, up, down, entries in found:
            assert sent["messages"] == 8 * (up + down)
            assert sent["answers"] == 8 * answers
            assert entries <= 0.75 * whole
        assert sum(entries for *_, entries in found) == whole


def refused(group: Group, given: Drawn) -> list[str]:
    forest = DividedForest.divide(given.forest(), group)
    unary, pairwise = (each.nan_to_num(7.0) for each in given.potentials)
    found = []
    for ask in (lambda: forest.map(unary, pairwise), lambda: forest.sample(unary, pairwise, unary[..., 0])):
        with pytest.raises(InputError) as error:
            ask()
        found.append(str(error.value))
    with pytest.raises(ZeroProbabilityError) as impossible:
        forest.run(unary.index_fill(0, torch.tensor([3]), -torch.inf), pairwise)
    return [*found, str(impossible.value)]


def test_what_cannot_be_answered_is_said_by_all_processes(together: Processes) -> None:
    for found in together.run(3, refused, drawn("path")):
        assert found[0] == "Expected marginals or log Z of a forest in parts; got map. Use one process."
        assert found[1] == "Expected marginals or log Z of a forest in parts; got sample. Use one process."
        assert "whose variable 3 has no possible state" in found[2]


def test_nothing_to_infer(together: Processes) -> None:
    for found in together.run(2, empty):
        assert [tuple(each.shape) for each in found] == [(0,), (0, 1)]


def empty(group: Group) -> list[Tensor]:
    forest = DividedForest.divide(Forest.of([], 1), group)
    return [*forest.run(torch.zeros(0, 1), torch.zeros(0, 1, 1))]


def with_cliques(group: Group | None, given: Drawn) -> tuple[Tensor, ...]:
    """Log Z and marginals with a table on every three neighbours of a path, and the gradient of these tables."""
    triples = np.stack([np.arange(38) + shift for shift in (0, 1, 2)], 1)
    forest = Forest.of(given.graphs, given.cardinalities, cliques=[triples])
    forest = forest if group is None else DividedForest.divide(forest, group)
    stream, most = torch.Generator().manual_seed(3), max(given.cardinalities)
    tables = torch.randn(38, most, most, most, generator=stream, dtype=torch.float64, requires_grad=True)
    answer = forest.run(*(each.nan_to_num(7.0) for each in given.potentials), log_cliques=[tables])
    share = 1.0 if group is None else 1 / group.size
    (share * answer.marginals[:, 0].sum() + share * answer.log_partition.sum()).backward()
    assert tables.grad is not None
    return *(each.detach() for each in answer), tables.grad if group is None else group.total_(tables.grad)


def test_tables_on_three_variables_are_divided_too(together: Processes) -> None:
    given = drawn("path")
    expected = with_cliques(None, given)
    for found in together.run(3, with_cliques, given):
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
