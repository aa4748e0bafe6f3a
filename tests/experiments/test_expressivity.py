"""Learning the marginals of Markov networks: the problems are what they say, and the experiment measures and draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch

from neuraltrees.errors import InputError
from neuraltrees.experiments import expressivity
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.expressivity import Setting
from neuraltrees.experiments.marginal_learning import learn_marginals
from neuraltrees.experiments.marginal_problems import FAMILIES, MarginalProblem, partial_k_tree, total_variation
from neuraltrees.experiments.page import markdown
from neuraltrees.training.batches import divide
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.tuning.store import Results


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_the_treewidth_they_say(family: str) -> None:
    for seed in range(3):
        graph = FAMILIES[family].make(seed)
        assert nx.is_connected(graph) and sorted(graph) == list(range(graph.number_of_nodes()))
        width = MarginalProblem.random(family, seed).treewidth
        bounds = {"tree": (1, 1), "cycle": (2, 2), "grid 3 × 5": (3, 3), "grid 4 × 4": (4, 4), "scene": (3, 4)}
        low, high = bounds.get(family, (1, int(family[8]) if family.startswith("partial") else 0))
        assert low <= width <= high


def test_a_k_tree_that_keeps_all_edges_has_treewidth_k() -> None:
    graph = partial_k_tree(3, seed=0, nodes=10, kept=1.0)
    assert graph.number_of_edges() == 3 * 10 - 6
    assert nx.is_chordal(graph)


def test_marginals_are_those_of_all_assignments() -> None:
    problem = MarginalProblem.random("cycle", seed=1)
    assert problem.coupling.sum(0).abs().max() < 1e-12 > (problem.coupling - problem.coupling.mT).abs().max()
    assert problem.coupling.square().mean() == pytest.approx(1)
    samples = problem.sample(2, seed=3, loopy=True)
    assert samples.x.shape == (14, 2, 5) and samples.loopy is not None
    small = MarginalProblem((problem.graphs[0].subgraph(range(4)),), problem.coupling)
    drawn = small.sample(3, seed=0)
    theta, beta = drawn.x[..., :3].double(), drawn.x[0, :, 3].double()
    states = torch.cartesian_prod(*[torch.arange(3)] * 4)
    score = sum(theta[v][:, states[:, v]] for v in range(4))
    for u, v in ((0, 1), (1, 2), (2, 3)):
        score = score + beta.view(-1, 1) * small.coupling[states[:, u], states[:, v]]
    joint = score.softmax(-1)  # type: ignore[union-attr]
    for v in range(4):
        exact = torch.stack([joint[:, states[:, v] == state].sum(-1) for state in range(3)], -1)
        torch.testing.assert_close(drawn.exact[v].double(), exact, rtol=0, atol=1e-5)


def test_total_variation() -> None:
    assert total_variation(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.5, 0.5]])) == pytest.approx(50)


@pytest.fixture
def few_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer samples to test on, since every epoch does."""
    monkeypatch.setattr(expressivity, "TESTED", 40)


@pytest.mark.parametrize("network", expressivity.NETWORKS)
@pytest.mark.usefixtures("few_tests")
def test_networks_learn(network: str) -> None:
    setting = Setting("families", "cycle", network, hidden=16, samples=100)
    before, after = (expressivity.learn(setting, steps, "cpu")["error"] for steps in (1, 200))
    assert after < 0.7 * before


@pytest.mark.usefixtures("few_tests")
def test_the_experiment_measures_picks_up_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, told = tmp_path / "expressivity.json", list[str]()
    scale = Scale(quick=True, epochs=2)
    results = expressivity.measure(scale, path, told.append)
    assert len(results.records) == len(told) == len(list(expressivity.settings(scale)))
    assert {record["name"]["sweep"] for record in results.records} == {"families", "samples", "parameters", "graphs"}
    monkeypatch.setattr(expressivity, "learn", lambda *arguments: pytest.fail("done again"))
    assert expressivity.measure(scale, path, told.append) == results == Results.read(path)
    with pytest.raises(InputError, match=r"another steps \(2 there, 3 here\)"):
        expressivity.measure(Scale(quick=True, epochs=3), path, told.append)
    page = markdown(expressivity.EXPERIMENT.show(results, tmp_path))
    assert "\n| new potentials | cycle | 2 | 3 |" in page
    assert (tmp_path / "expressivity.svg").exists() and (tmp_path / "expressivity.png").exists()


def test_a_network_that_diverged_is_shown_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"error": float("nan"), "loopy": 1.0, "uniform": 2.0, "parameters": 9, "treewidth": 2, "states": 3}
    monkeypatch.setattr(expressivity, "learn", lambda *arguments: found | {"seconds": 1.0})
    results = expressivity.measure(Scale(quick=True), tmp_path / "expressivity.json", lambda line: None)
    page = markdown(expressivity.EXPERIMENT.show(results, tmp_path))
    assert "| new potentials | cycle | 2 | 3 | nan | nan | nan | 1.0 | 2.0 | +nan |" in page


@pytest.mark.parametrize("samples", [10, 30, 300])
def test_few_samples_are_passed_over_several_times_before_an_evaluation(
    samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step has every training sample once, or 32 of them, and there are at least eight steps per epoch."""
    asked: list[Any] = []
    monkeypatch.setattr("neuraltrees.experiments.marginal_learning.trained", lambda *arguments: asked.append(arguments))
    problem = MarginalProblem.random("cycle", 0, 0, 1)
    train, test = problem.sample(samples, seed=0), problem.sample(20, seed=1)
    learn_marginals(problem, train, problem, test, NetworkSpec(), 100, 0, "cpu")
    ((task, _, training, (run,), _),) = asked
    assert training.batches >= 8 and training.epochs * training.batches >= 100
    of_graph = run.split.train.view(len(task.graphs), -1).any(1).tolist()
    for batch in divide(task, training.batches):
        names = [task.graphs[place].x.sum().item() for place in batch if of_graph[place]]
        assert len(set(names)) == len(names)
        if samples < 32:
            assert len(names) == samples - samples // 10
