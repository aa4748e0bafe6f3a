"""structured-stanford: hyper-parameters by validation alone, equal effort for all, a page that says who is ahead."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from neuraltrees.data.splits import random_node_split
from neuraltrees.data.task import Task
from neuraltrees.datasets import SyntheticScenes
from neuraltrees.experiments import structured_stanford
from neuraltrees.experiments.experiment import Scale
from neuraltrees.experiments.extra_trees import cross_fitted_trees, extra_trees
from neuraltrees.experiments.page import markdown
from neuraltrees.experiments.stanford_page import draw, verdict
from neuraltrees.experiments.structured_stanford import (
    EXTRA_TREES,
    METHODS,
    TREES_AND_HEAD,
    Protocol,
    chosen,
    measure,
    measured,
)
from neuraltrees.tuning.store import Results

TINY = replace(Protocol().quick(), splits=2, members=(2,), epochs=(2, 3), hidden=4, trees=5)


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> Task:
    generated = SyntheticScenes(20, seed=0)
    task = Task(list(generated), generated.labels).scaled(geometry=True)
    monkeypatch.setattr(structured_stanford, "load", lambda root: task)
    monkeypatch.setattr(Protocol, "quick", lambda self: TINY)
    return task


def record(method: str, test: list[float], val: float = 0.5, **point: Any) -> dict[str, Any]:
    row = {"log_loss": 1.0, "calibration_error": 0.1, "val": val}
    runs = [{"seed": seed, **row, "test": value, "single_test": value} for seed, value in enumerate(test)]
    return {"name": {"method": method, "share": 0.7, **point}, "runs": runs, "seconds": 1.0}


def test_what_is_missing_is_measured(scenes: Task, tmp_path: Path) -> None:
    path, told = tmp_path / "x.json", list[str]()
    results = measure(Scale(quick=True), path, told.append)
    assert len(told) == 2 * len(METHODS) + len(METHODS) + 1 + len(TINY.priors)
    below = next(each for each in results.find(method=TREES_AND_HEAD) if "prior" not in each["name"])
    assert below["point"] == chosen(results, below["name"]) and len(below["runs"]) == 2
    assert below["runs"] == results.one(**below["point"])["runs"]
    for method in METHODS:
        final = next(each for each in results.find(method=method) if "dropout" not in each["name"])
        assert final["point"] == chosen(results, final["name"])
        assert len(final["runs"]) == 2 and all(len(each["test"]) == 2 for each in final["members"])
        trial = results.one(**final["point"])
        first = [each["test"][0] for each in final["members"]]
        assert first == [each["test"][0] for each in trial["members"]], "the first member is the network of the trial"
    assert measure(Scale(quick=True), path, lambda line: pytest.fail(line)) == results
    text = markdown(draw(results, tmp_path))
    assert "| 70 % |" in text and (tmp_path / "structured-stanford.svg").exists()


def test_where_one_network_answers_it_is_that_of_the_trial(
    scenes: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Protocol, "quick", lambda self: replace(TINY, members=(1,)))
    told = list[str]()
    results = measure(Scale(quick=True, only="mlp + head"), tmp_path / "x.json", told.append)
    trials = [each for each in results.records if "dropout" in each["name"]]
    (final,) = [each for each in results.records if "dropout" not in each["name"]]
    assert len(told) == len(trials) == len(TINY.dropout) * len(TINY.epochs)
    assert final["point"] == chosen(results, final["name"])
    assert final["runs"] == results.one(**final["point"])["runs"]


def test_a_share_takes_over_what_was_chosen_at_another(
    scenes: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = replace(TINY, shares=(0.7, 0.5), states=(5, 3), members=(1, 1), chosen_at=(0.7, 0.7))
    monkeypatch.setattr(Protocol, "quick", lambda self: two)
    results = measure(Scale(quick=True, only="mlp + head, share 0.5"), tmp_path / "x.json", lambda line: None)
    trials = [each["name"] for each in results.records if "dropout" in each["name"]]
    assert len(trials) == len(TINY.dropout) * len(TINY.epochs) and {each["share"] for each in trials} == {0.7}
    (final,) = [each for each in results.records if "dropout" not in each["name"]]
    assert final["name"] == {"method": "mlp + head", "share": 0.5}
    assert final["point"] == {**chosen(results, {"method": "mlp + head", "share": 0.7}), "share": 0.5}
    assert final["runs"][0]["split"] != results.one(**trials[0])["runs"][0]["split"], "trained on its own share"
    assert "with 50 %, as chosen with 70 %" in markdown(draw(results, tmp_path))


def test_a_part_is_measured_alone(scenes: Task, tmp_path: Path) -> None:
    path, told = tmp_path / "x.json", list[str]()
    results = measure(Scale(quick=True, only=TREES_AND_HEAD), path, told.append)
    assert {each["name"]["method"] for each in results.records} == {TREES_AND_HEAD} and len(told) == 1
    text = markdown(draw(results, tmp_path))
    assert "| 70 % | – | – |" in text


def test_settings_that_came_later_do_not_refuse_an_older_file(scenes: Task, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    measure(Scale(quick=True, only=TREES_AND_HEAD), path, lambda line: None)
    content = json.loads(path.read_text())
    for name in structured_stanford.LATER:
        del content["subject"][name]
    path.write_text(json.dumps(content))
    measure(Scale(quick=True, only=TREES_AND_HEAD), path, lambda line: pytest.fail(line))


def test_the_choice_is_by_validation() -> None:
    better = record("gnn", [0.1, 0.1], 0.6, dropout=0.5, epochs=4)
    worse = record("gnn", [0.9, 0.9], 0.5, dropout=0.7, epochs=4)
    results = Results("x", [better, worse])
    assert chosen(results, {"method": "gnn", "share": 0.7}) == better["name"]
    assert chosen(results, {"method": EXTRA_TREES, "share": 0.7}) == {"method": EXTRA_TREES, "share": 0.7}


def test_all_networks_have_the_same_effort() -> None:
    protocol = Protocol()
    shares = [share for share in protocol.shares if protocol.place_of_choice(share) == share]
    trials = [trial for share in protocol.shares for trial in protocol.trials(share)]
    assert {trial["share"] for trial in trials} == set(shares) == set(protocol.chosen_at)
    for method in METHODS:
        for share in shares:
            mine = [each for each in trials if (each["method"], each["share"]) == (method, share)]
            assert len(mine) == len(protocol.dropout) * len(protocol.epochs)
    assert len({protocol.training(each, 100) for each in trials}) == len(protocol.epochs)


def test_verdicts() -> None:
    plain, head = [0.60, 0.61, 0.62], [0.70, 0.72, 0.71]
    ahead = Results("x", [record("gnn", plain), record("gnn + head", head)])
    assert "GNN + head 71.0, GNN 61.0, ahead (+10.0" in verdict(ahead)
    behind = Results("x", [record("gnn", head), record("gnn + head", plain)])
    assert "behind (-10.0" in verdict(behind)
    by_validation = Results("x", [*ahead.records, record("neural-tree + head", [0.9] * 3, val=0.1)])
    assert "GNN + head 71.0" in verdict(by_validation), "the best head is not chosen by its test accuracy"


def test_measures() -> None:
    probabilities = torch.tensor([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    labels = torch.tensor([0, 1, 1])
    found = measured(probabilities, labels, {"val": labels == 0, "test": labels == 1})
    assert found["val"] == 1 and found["test"] == 0.5
    assert found["log_loss"] == pytest.approx(-(torch.tensor([0.6, 0.1]).log().mean().item()))


def test_extra_trees_read_training_labels_alone() -> None:
    generated = SyntheticScenes(40, seed=0)
    task = Task(list(generated), generated.labels).scaled(geometry=True)
    split = random_node_split(task.num_nodes, seed=0)
    found, _ = extra_trees(task, [split], trees=20)
    torch.testing.assert_close(found.sum(-1), torch.ones(task.num_nodes, 1))
    changed = [graph.clone() for graph in task.graphs]
    for graph, part in zip(changed, split.per_graph([graph.num_nodes for graph in changed]), strict=True):
        graph.y = torch.where(part.train, graph.y, 0)
    again, _ = extra_trees(task.replace(graphs=changed), [split], trees=20)
    assert torch.equal(found, again)
    right = found[:, 0].argmax(-1) == task.y
    assert right[split.test].float().mean() > 0.2


def test_trees_below_the_head_answer_for_no_node_that_they_were_trained_on() -> None:
    generated = SyntheticScenes(40, seed=0)
    task = Task(list(generated), generated.labels).scaled(geometry=True)
    shuffled = [graph.clone() for graph in task.graphs]
    stream = torch.Generator().manual_seed(0)
    for graph in shuffled:  # labels that cannot be learned, only remembered
        labels = torch.tensor(list(task.classes.values()))[graph.node_type]
        graph.y = (torch.rand(len(labels), generator=stream) * labels).long()
    task = task.replace(graphs=shuffled)
    split = random_node_split(task.num_nodes, seed=0)
    found = cross_fitted_trees(task, split, trees=20, folds=3, seed=0)
    remembered, _ = extra_trees(task, [split], trees=20)
    right = {
        name: float((each.argmax(-1) == task.y)[split.train].float().mean())
        for name, each in (("cross-fitted", found), ("remembered", remembered[:, 0]))
    }
    assert right["remembered"] == 1 and right["cross-fitted"] < 0.2
