"""Batches that are drawn anew in every epoch, and networks with bags from training to prediction."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees.datasets import Split
from neuraltrees.objectives import Regression
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, Trainer, fit
from neuraltrees.training.deck import Deck
from neuraltrees.training.source import Drawn, Prefetched
from tests.nn.schedule.bag_graphs import CANONICAL, SHAPES, featured, permuted
from tests.training.tasks import QUICK, SMALL, paths, small_runs, small_task, whole_graphs

BAGS = NetworkSpec(schedule="bags", parts="graph+tree+sweep", hidden=8, layers=2, dropout=0.2, edge_states=True)
SHUFFLED = QUICK.replace(shuffle=True)


def molecules(count: int = 23) -> Task:
    shapes = list(SHAPES.values())
    graphs = [featured(shapes[number % len(shapes)], number) for number in range(count)]
    for graph in graphs:
        graph.y = graph.x.sum().view(1, 1).float()
    return Task(graphs, Regression(["size"], level="graph"), **CANONICAL)  # type: ignore[arg-type]


def split_of(count: int, start: int = 0) -> Split:
    """Every seventh item is for validation, the next for testing."""
    turn = (torch.arange(count) + start) % 7
    return Split(turn > 1, turn == 0, turn == 1)


def runs_of(task: Task, seeds: list[int], apart: bool = False) -> list[Run]:
    return [Run(seed, split_of(task.num_items, seed if apart else 0)) for seed in seeds]


def items_of_epochs(
    task: Task, runs: list[Run], batches: int, epochs: int, spec: NetworkSpec = BAGS
) -> list[list[Any]]:
    """The items of every step of some epochs."""
    trainer = Trainer(task, spec, SHUFFLED.replace(batches=batches), runs)
    seen: list[list[Any]] = []
    trainer._step = lambda step: seen[-1].append(step.batch().items.tolist())  # type: ignore[method-assign]
    for epoch in range(epochs):
        seen.append([])
        trainer.run_epoch(epoch)
    return seen


@pytest.mark.parametrize("batches", [1, 4, 5, 100])
def test_every_training_graph_comes_once_per_epoch_in_another_order(batches: int) -> None:
    task = molecules()
    (run,) = runs_of(task, [0])
    train = run.split.train.nonzero().flatten().tolist()
    seen = items_of_epochs(task, [run], batches, 3)
    orders = []
    for steps in seen:
        assert len(steps) == min(batches, len(train))
        real = [[item for item in step if item < task.num_items] for step in steps]
        assert max(map(len, real)) - min(map(len, real)) <= 1
        orders.append([item for step in real for item in step])
        assert Counter(orders[-1]) == Counter(train)
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_every_node_comes_once_per_epoch() -> None:
    task = small_task(20)
    run = Run(0, whole_graphs(task))
    train = run.split.train.nonzero().flatten().tolist()
    for steps in items_of_epochs(task, [run], 3, 2):
        assert Counter(item for step in steps for item in step if item < task.num_items) == Counter(train)


def test_all_that_some_run_trains_on_is_drawn() -> None:
    task = molecules()
    runs = runs_of(task, [0, 3], apart=True)
    either = (runs[0].split.train | runs[1].split.train).nonzero().flatten().tolist()
    (steps,) = items_of_epochs(task, runs, 3, 1)
    assert Counter(item for step in steps for item in step if item < task.num_items) == Counter(either)


@pytest.mark.parametrize("prefetch", [False, True])
def test_all_steps_have_the_same_shapes_on_a_gpu_alone(prefetch: bool) -> None:
    task = molecules()
    trainer = Trainer(task, BAGS, SHUFFLED.replace(epochs=20, prefetch=prefetch), runs_of(task, [0]))
    assert isinstance(trainer.source, Drawn) and not trainer.source.pads
    sizes = [graph.num_nodes for graph in task.graphs]

    for pads in (False, True):
        trainer.source.pads = pads
        if pads and isinstance(trainer.source, Prefetched):
            trainer.source.cut = trainer.source.deck.ragged.cut(trainer.source.chosen, trainer.source.room)
        seen: list[tuple[int, int, Any]] = []
        for step in (step for epoch in range(20) for step in trainer.source.steps(epoch)):
            batch = step.batch()
            nodes = sum(sizes[item] for item in batch.items.tolist() if item < len(sizes))
            seen.append((nodes, len(batch.x), (step.name, batch.x.shape, batch.plan.rounds.bags.kind.shape)))
        wanted, rows, shapes = zip(*seen, strict=True)
        if pads:
            assert len(set(shapes)) == 1 and min(rows) > max(wanted)
        else:
            assert rows == wanted and len(set(rows)) > 1


def test_padding_changes_nothing() -> None:
    task = molecules()
    curves = []
    for pads in (False, True):
        trainer = Trainer(task, BAGS, SHUFFLED.replace(epochs=4), runs_of(task, [0, 1]))
        assert isinstance(trainer.source, Drawn)
        trainer.source.pads = pads
        trainer.train()
        curves.append(trainer.result().loss_curve)
    torch.testing.assert_close(curves[0], curves[1], atol=2e-5, rtol=1e-5)


def same_fit(one: Any, two: Any, mine: int = 0, theirs: int = 0) -> None:
    torch.testing.assert_close(one.loss_curve[:, mine], two.loss_curve[:, theirs], atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(one.val_curve[:, mine], two.val_curve[:, theirs], atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(one.test[mine], two.test[theirs], atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_runs_at_once_equal_runs_one_by_one(level: str) -> None:
    task = molecules() if level == "graph" else small_task()
    runs = runs_of(task, [3, 1, 8]) if level == "graph" else [Run(seed, whole_graphs(task)) for seed in (3, 1, 8)]
    together = fit(task, BAGS, SHUFFLED, runs)
    for number, run in enumerate(runs):
        same_fit(together, fit(task, BAGS, SHUFFLED, [run]), number)


def test_runs_of_other_splits_learn_from_their_own_items() -> None:
    """Without batch norm, graphs that another run trains on change nothing; but there is one step per batch."""
    task = molecules()
    spec = BAGS.replace(layer_norm=True, dropout=0.0)
    runs = runs_of(task, [0, 3], apart=True)
    training = SHUFFLED.replace(batches=1)
    together = fit(task, spec, training, runs)
    for number, run in enumerate(runs):
        same_fit(together, fit(task, spec, training, [run]), number)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_training_goes_on_from_a_state_as_if_never_broken(level: str) -> None:
    task = molecules() if level == "graph" else small_task()
    runs = runs_of(task, [0, 1]) if level == "graph" else [Run(seed, whole_graphs(task)) for seed in (0, 1)]
    states: list[dict[str, Tensor]] = []
    trainer = Trainer(task, BAGS, SHUFFLED, runs)
    trainer.train(lambda epoch: states.append({name: value.clone() for name, value in trainer.state().items()}))
    whole = trainer.result()
    again = Trainer(task, BAGS, SHUFFLED, runs)
    again.restore(states[1])
    assert again.epochs_done == 2
    again.train()
    result = again.result()
    assert torch.equal(result.loss_curve, whole.loss_curve)
    assert torch.equal(result.test, whole.test)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, result.network.state_dict()[name]), name


def test_one_batch_of_all_graphs_is_learned_from_as_without_shuffling() -> None:
    task = molecules()
    everything = torch.ones(task.num_items, dtype=torch.bool)
    split = Split(everything.clone(), split_of(task.num_items).val, split_of(task.num_items).test)
    split.train[(split.val | split.test).nonzero()] = False
    spec = BAGS.replace(dropout=0.0, layer_norm=True)  # the planned batch holds graphs that are only measured, too
    training = QUICK.replace(batches=1)
    planned, drawn = (fit(task, spec, training.replace(shuffle=each), [Run(0, split)]) for each in (False, True))
    same_fit(planned, drawn)


def answers_of(network: Any, task: Task, items: Tensor) -> Tensor:
    batch = Deck(task, network.eval()).batch(items)
    with torch.no_grad():
        found: Tensor = network(batch.x, batch.plan, edge_attr=batch.edges)
    return found


def test_measured_items_have_the_answers_of_the_network() -> None:
    task = molecules()
    (run,) = runs_of(task, [4])
    fitted = fit(task, BAGS, SHUFFLED, [run])
    for mask, measured in ((run.split.test, fitted.test), (run.split.val, fitted.val)):
        items = mask.nonzero().flatten()
        metric = task.objective.metric
        seen = metric.observe(answers_of(fitted.network, task, items), task.targets[items])
        expected = metric.reduce(seen, task.targets[items], torch.ones(len(items), 1))
        torch.testing.assert_close(measured, expected, atol=1e-5, rtol=1e-5)


def test_networks_that_cannot_be_cut_are_refused() -> None:
    task = small_task()
    with pytest.raises(
        nt.InputError, match=r"Expected a network whose graphs can be shuffled in every epoch; got TreeR"
    ):
        Trainer(task, SMALL, SHUFFLED, small_runs(task, [0]))
    with pytest.raises(nt.InputError, match=r"Use schedule='bags', or shuffle=False with several divisions"):
        Trainer(task, SMALL.replace(model="gnn"), SHUFFLED, small_runs(task, [0]))


def test_sparse_features_of_a_single_graph_are_refused() -> None:
    """Those of several are made dense, as without shuffling."""
    (graph,) = paths(1)
    graph.x = graph.x.to_sparse()
    task = Task([graph], {"first": ("no", "yes"), "other": ("none", "one", "both")})
    first = torch.arange(graph.num_nodes)
    with pytest.raises(nt.InputError, match="Expected dense features, to make batches of graphs; got sparse ones"):
        Trainer(task, BAGS, SHUFFLED, [Run(0, Split(first == 0, first == 1, first == 2))])


def test_batches_that_do_not_fit_are_drawn_again() -> None:
    task = molecules()
    (run,) = runs_of(task, [0])
    trainer = Trainer(task, BAGS, SHUFFLED.replace(batches=5), [run])
    source = trainer.source
    assert isinstance(source, Drawn)
    nodes = list(source.room).index("nodes")
    most = [int(source._totals(source._drawn(epoch))[nodes].max()) for epoch in range(40)]
    source.room = {**source.room, "nodes": sorted(most)[5]}
    for epoch in range(10):
        drawn = source._drawn(epoch)
        assert bool((source._totals(drawn)[nodes] < source.room["nodes"]).all())
        assert torch.equal(drawn, source._drawn(epoch)), "the same every time"


@pytest.mark.parametrize("walks", [0, 4])
def test_a_bundle_predicts_what_was_trained(tmp_path: Path, walks: int) -> None:
    task = molecules().encoded(walks=walks) if walks else molecules()
    fitted = fit(task, BAGS, SHUFFLED, runs_of(task, [0, 1]))
    path = tmp_path / "bundle.safetensors"
    Bundle.of(fitted, [0, 1]).save(path)
    bundle = Bundle.load(path)
    assert bundle.network == BAGS and (bundle.method, bundle.terminal) == ("canonical", "bag")
    predictor, plain = Predictor(bundle), molecules().graphs
    answers = answers_of(fitted.network, task, torch.arange(task.num_items))
    expected = task.objective.predict(answers).mean(1)
    torch.testing.assert_close(torch.cat(predictor.predict(plain)), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(predictor.predict(plain[3:4])[0], expected[3:4], atol=1e-5, rtol=1e-5)
    moved = [permuted(graph, seed) for seed, graph in enumerate(plain)]
    torch.testing.assert_close(torch.cat(predictor.predict(moved)), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")  # torch, compiling
def test_a_compiled_network_learns_as_an_eager_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch traces is run as it is: the kernels that it would write take minutes to compile on a CPU."""
    plain, traced = torch.nn.Module.compile, []

    def compile_without_kernels(module: torch.nn.Module, **options: Any) -> None:
        traced.append(options)
        plain(module, backend="aot_eager", fullgraph=True, **options)

    monkeypatch.setattr(torch.nn.Module, "compile", compile_without_kernels)
    task = molecules(12)
    spec = BAGS.replace(hidden=4, layers=2, dropout=0.0)
    training = SHUFFLED.replace(batches=2, epochs=3)
    eager, compiled = (fit(task, spec, training.replace(compile=each), runs_of(task, [0])) for each in (False, True))
    assert traced == [{"dynamic": False}]
    same_fit(eager, compiled)
