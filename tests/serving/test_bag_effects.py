"""The effect of a bag is the difference that it makes; pictures of molecules show it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.serving import bag_effects
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, TrainingSpec, fit
from tests.training.tasks import SMALL, small_runs, small_task

EDGES = torch.tensor([[0, 1, 2, 3, 0, 3, 4], [1, 2, 3, 0, 2, 4, 5]])  # a square with a chord and a tail of two bridges


def graph() -> Data:
    return Data(x=torch.arange(6.0).view(-1, 1), edge_index=torch.cat([EDGES, EDGES.flip(0)], 1), y=torch.ones(1, 2))


@pytest.fixture(scope="module")
def predictor() -> nt.Predictor:
    task = Task([graph() for _ in range(12)], nt.Regression(("a", "b")), method="canonical", terminal="bag")
    network = NetworkSpec(schedule="bags", parts="graph+tree", hidden=8, layers=2)
    training = TrainingSpec(epochs=2, batches=2, shuffle=True)
    return nt.Predictor(Bundle.of(fit(task, network, training, [Run(0, task.split(0))])))


def test_an_effect_is_the_difference_of_two_predictions(predictor: nt.Predictor) -> None:
    found = bag_effects(predictor, graph())
    torch.testing.assert_close(found.prediction, predictor.predict([graph()])[0][0])
    tree = nt.build_htree(nt.Graph.from_data(graph()), method="canonical", terminal="bag")
    bags = sorted(tree.bag(node) for node in range(tree.num_nodes) if tree.kappa[node] < 0)
    assert sorted(tuple(sorted(bag)) for bag in found.bags) == bags
    assert found.effects.shape == (len(bags), 2) and bool((found.effects != 0).any(0).all())
    kinds = {tuple(sorted(bag)): kind for bag, kind in zip(found.bags, found.kinds, strict=True)}
    assert kinds[3, 4] == kinds[4, 5] == nt.BagKind.BRIDGE and kinds[0, 2] == nt.BagKind.PAIR


def test_effects_are_the_same_however_many_copies_are_predicted_at_once(
    predictor: nt.Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = bag_effects(predictor, graph()).effects
    monkeypatch.setattr("neuraltrees.serving.effects.COPIES", 2)
    torch.testing.assert_close(bag_effects(predictor, graph()).effects, expected)


def test_effects_of_nodes_share_those_of_bags(predictor: nt.Predictor) -> None:
    found = bag_effects(predictor, graph())
    torch.testing.assert_close(found.of_nodes(6).sum(0), found.effects.sum(0))


def test_networks_without_bags_are_refused() -> None:
    task = small_task()
    fitted = fit(task, SMALL, TrainingSpec(epochs=1, batches=1, every_class=False), small_runs(task, [0]))
    with pytest.raises(nt.InputError, match="Expected a network with states of bags that predicts per graph; got Tree"):
        bag_effects(nt.Predictor(Bundle.of(fitted)), task.graphs[0])


def test_a_picture_of_molecules(predictor: nt.Predictor, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="drawings of molecules need the extra molecules")
    from neuraltrees.plots.molecule import draw_bag_effects

    found = bag_effects(predictor, graph())
    draw_bag_effects([("C1CC2C1C2C", found)], tmp_path / "bags.svg")
    assert "<svg" in (tmp_path / "bags.svg").read_text()
    with pytest.raises(nt.InputError, match="Expected effects of the 1 atoms of C; got those of another molecule"):
        draw_bag_effects([("C", found)], tmp_path / "bags.svg")
    with pytest.raises(nt.InputError, match="Expected SMILES of a molecule; got 'C1'"):
        draw_bag_effects([("C1", found)], tmp_path / "bags.svg")
    with pytest.raises(nt.InputError, match="Expected at least one molecule to draw; got none"):
        draw_bag_effects([], tmp_path / "bags.svg")
