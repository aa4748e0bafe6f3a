"""R runs at once equal R runs one by one, and both equal a plain loop with PyTorch's own parts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import neuraltrees as nt
from neuraltrees.datasets import Split
from neuraltrees.nn.ensemble.dropout import Dropout
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, Trainer, TrainingSpec, fit
from neuraltrees.training.batches import divide
from neuraltrees.training.executors import Executor
from neuraltrees.training.fitting import trained
from tests.training.tasks import QUICK, SMALL, paths, small_runs, small_task

CONVS = pytest.mark.parametrize("conv", ["gcn", "sage", "gat", "gin"])
MODELS = pytest.mark.parametrize("model", ["neural-tree", "gnn", "mlp"])


@CONVS
@MODELS
def test_runs_at_once_equal_runs_one_by_one(conv: str, model: str) -> None:
    task = small_task()
    spec = SMALL.replace(conv=conv, model=model, dropout=0.3)
    runs = small_runs(task, [3, 1, 8])
    together = fit(task, spec, QUICK, runs)
    for number, run in enumerate(runs):
        alone = fit(task, spec, QUICK, [run])
        torch.testing.assert_close(together.loss_curve[:, number], alone.loss_curve[:, 0], atol=1e-5, rtol=0)
        assert together.test[number] == alone.test[0]
        assert together.best_epoch[number] == alone.best_epoch[0]


@CONVS
def test_equals_a_plain_loop(conv: str) -> None:
    """Without dropout, whose tosses differ: stock Adam, cross entropy and step decay on the plain formulation."""
    task = small_task().with_trees()
    spec = SMALL.replace(conv=conv, dropout=0.0)
    training = TrainingSpec(
        every_class=False, epochs=6, batches=1, lr=0.02, weight_decay=1e-2, decay_every=2, decay=0.5
    )
    (run,) = small_runs(task, [5])
    fitted = fit(task, spec, training, [run])

    torch.manual_seed(5)
    model = spec.build(task)
    tree = nt.build_htree(nt.Graph.union([nt.Graph.from_data(graph) for graph in task.graphs]))
    x, split = torch.cat([graph.x for graph in task.graphs]), run.split
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 2, 0.5)
    losses, accuracies = [], []
    for _ in range(6):
        model.train()
        optimiser.zero_grad()
        logits = model(x, tree.edge_index, tree.kappa, task.node_type)
        loss = F.cross_entropy(logits[split.train], task.y[split.train])
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        model.eval()
        guess = model(x, tree.edge_index, tree.kappa, task.node_type).argmax(1)
        accuracies.append((guess == task.y)[split.val].float().mean().item())
    assert fitted.loss_curve[:, 0].tolist() == pytest.approx(losses, abs=2e-4)
    assert fitted.val_curve[:, 0].tolist() == pytest.approx(accuracies)
    assert fitted.val[0] == pytest.approx(max(accuracies))
    assert fitted.best_epoch[0] == 1 + accuracies.index(max(accuracies))


def test_the_same_seed_gives_the_same_result() -> None:
    task = small_task()
    first, second = (fit(task, SMALL, QUICK, small_runs(task, [0, 1])) for _ in range(2))
    assert torch.equal(first.loss_curve, second.loss_curve)
    other = fit(task, SMALL, QUICK, small_runs(task, [2, 1]))
    assert torch.equal(first.loss_curve[:, 1], other.loss_curve[:, 1])
    assert not torch.equal(first.loss_curve[:, 0], other.loss_curve[:, 0])


def test_the_network_has_the_weights_of_the_best_epoch() -> None:
    task = small_task()
    (run,) = small_runs(task, [0])
    trainer = Trainer(task, SMALL, TrainingSpec(every_class=False, epochs=12, batches=2, lr=0.1), [run])
    trainer.train()
    fitted = trainer.result()
    correct = torch.zeros(task.num_nodes, dtype=torch.bool)
    for batch in trainer.batches:
        with torch.no_grad():
            guess = fitted.network(batch.x, batch.plan).argmax(-1).squeeze(1)
        correct[batch.items] = guess == task.y[batch.items]
    assert correct[run.split.val].float().mean().item() == pytest.approx(fitted.val[0].item())
    assert correct[run.split.test].float().mean().item() == pytest.approx(fitted.test[0].item())
    assert fitted.val[0] == fitted.val_curve.max()


def test_a_run_stops_early_and_the_others_go_on() -> None:
    task = small_task(60)
    runs = small_runs(task, [0, 1, 2, 3])
    patient = fit(task, SMALL, TrainingSpec(every_class=False, epochs=40, batches=2, lr=0.01), runs)
    hasty = fit(task, SMALL, TrainingSpec(every_class=False, epochs=40, batches=2, lr=0.01, patience=3), runs)
    ends = [int(curve.isfinite().sum()) for curve in hasty.loss_curve.t()]
    assert ends == [min(int(epoch) + 3, 40) for epoch in hasty.best_epoch]
    assert len(set(ends)) > 1
    for run, end in enumerate(ends):
        torch.testing.assert_close(hasty.loss_curve[:end, run], patient.loss_curve[:end, run])
        assert hasty.val[run] == patient.val_curve[:end, run].max()


@pytest.mark.parametrize("divisions", [1, 3])
def test_training_goes_on_from_a_state_as_if_never_broken(divisions: int) -> None:
    task = small_task()
    runs = small_runs(task, [0, 1])
    training = QUICK.replace(divisions=divisions)
    whole = fit(task, SMALL, training, runs)
    states: list[dict[str, Tensor]] = []
    trainer = Trainer(task, SMALL, training, runs)
    trainer.train(lambda epoch: states.append({name: value.clone() for name, value in trainer.state().items()}))
    assert len(states) == QUICK.epochs
    again = Trainer(task, SMALL, training, runs)
    again.restore(states[1])
    assert again.epochs_done == 2
    again.train()
    result = again.result()
    assert torch.equal(result.loss_curve, whole.loss_curve)
    assert torch.equal(result.test, whole.test)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, result.network.state_dict()[name])


def test_a_state_of_another_training_is_refused() -> None:
    task = small_task()
    runs = small_runs(task, [0])
    other = Trainer(task, SMALL.replace(hidden=4), QUICK, runs)
    other.train()
    with pytest.raises(nt.InputError, match="Expected a state of this training; got another"):
        Trainer(task, SMALL, QUICK, runs).restore(other.state())


def test_it_learns() -> None:
    """Labels depend on a node and a neighbour: a neural tree learns them far beyond guessing, which gets half."""
    task = Task(paths(60), {"first": ("no", "yes"), "other": ("none", "one", "both")})
    fitted = fit(
        task,
        NetworkSpec(conv="sage", hidden=32, layers=4, dropout=0.0),
        TrainingSpec(every_class=False, epochs=60, batches=4, lr=0.01, weight_decay=0.0),
        small_runs(task, [0, 1]),
    )
    assert fitted.test.min() > 0.65
    assert fitted.loss_curve[-1].max() < 0.3 * fitted.loss_curve[0].min()


def test_batches_are_alike_and_hold_every_graph_once() -> None:
    task = small_task(30)
    batches = divide(task, 4)
    assert sorted(number for batch in batches for number in batch) == list(range(30))
    sizes = [sum(task.graphs[i].num_nodes for i in batch) for batch in batches]
    assert max(sizes) - min(sizes) <= 6
    assert len(divide(task, 100)) == 30


def test_every_division_holds_every_graph_once_and_is_another() -> None:
    task = small_task(30)
    found = [divide(task, 4, number) for number in range(3)]
    for batches in found:
        assert sorted(number for batch in batches for number in batch) == list(range(30))
        assert {len(batch) for batch in batches} <= {7, 8}
        sizes = [sum(task.graphs[i].num_nodes for i in batch) for batch in batches]
        assert max(sizes) - min(sizes) <= 10
    assert found[0] == divide(task, 4) != found[1] != found[2] != found[0]


def test_divisions_take_turns() -> None:
    task = small_task()
    trainer = Trainer(task, SMALL, QUICK.replace(divisions=2), small_runs(task, [0]))
    seen: list[int] = []
    trainer._step = lambda step: seen.append(step.name[1])  # type: ignore[method-assign]
    for epoch in range(3):
        trainer.run_epoch(epoch)
    assert seen == [0] * 3 + [1] * 3 + [0] * 3


def test_merging_equal_states_can_be_turned_off() -> None:
    task = small_task()
    runs = small_runs(task, [0])
    spec = SMALL.replace(dropout=0.0)
    merged, plain = fit(task, spec, QUICK, runs), fit(task, spec.replace(merge=False), QUICK, runs)
    torch.testing.assert_close(merged.loss_curve, plain.loss_curve, atol=1e-5, rtol=0)


def test_no_run_and_foreign_splits_are_refused() -> None:
    task = small_task()
    with pytest.raises(nt.InputError, match="Expected a list of at least one Run; got"):
        fit(task, SMALL, QUICK, [])
    (run,) = small_runs(task, [0])
    empty = Split(run.split.train, run.split.val, torch.zeros_like(run.split.test))
    with pytest.raises(nt.InputError, match="Expected at least one test node; got none"):
        fit(task, SMALL, QUICK, [Run(0, empty)])
    twice = Split(run.split.train, run.split.val, run.split.train)
    with pytest.raises(nt.InputError, match="Expected disjoint training, validation and test nodes"):
        fit(task, SMALL, QUICK, [Run(0, twice)])
    short = Split(*(mask[:-1] for mask in (run.split.train, run.split.val, run.split.test)))
    with pytest.raises(nt.InputError, match="Expected a training mask of"):
        fit(task, SMALL, QUICK, [Run(0, short)])


def test_a_state_is_a_copy_and_a_result_leaves_the_training_alone() -> None:
    task = small_task()
    runs = small_runs(task, [0, 1])
    whole = fit(task, SMALL, QUICK, runs)
    trainer = Trainer(task, SMALL, QUICK, runs)
    trainer.run_epoch(0)
    state, early = trainer.state(), trainer.result()
    weights = {name: value.clone() for name, value in early.network.state_dict().items()}
    trainer.run_epoch(1)
    assert int(state["epoch"]) == 1
    assert all(torch.equal(value, weights[name]) for name, value in early.network.state_dict().items())
    trainer.train()
    assert torch.equal(trainer.result().loss_curve, whole.loss_curve)


def test_a_diverged_epoch_is_never_the_best() -> None:
    """NaNs have a largest entry too, which may happen to be right."""
    task = small_task(60)
    fitted = trained(
        task, SMALL, TrainingSpec(every_class=False, epochs=4, batches=2, lr=1e18), small_runs(task, [0, 1, 2])
    )
    assert all(value.isfinite().all() for value in fitted.network.state_dict().values())
    never = fitted.best_epoch == 0
    assert never.any() and fitted.val[never].isnan().all() and fitted.test[never].isnan().all()


def test_a_training_that_has_stopped_early_is_over() -> None:
    task = small_task(60)
    runs = small_runs(task, [0, 1])
    hasty = TrainingSpec(every_class=False, epochs=40, batches=2, lr=0.01, patience=2)
    trainer = Trainer(task, SMALL, hasty, runs)
    trainer.train()
    done = trainer.epochs_done
    assert done < 40
    again = Trainer(task, SMALL, hasty, runs)
    again.restore(trainer.state())
    again.train()
    assert again.epochs_done == done


def test_an_evaluation_finds_what_the_last_epoch_found() -> None:
    task = small_task()
    runs = small_runs(task, [0, 4])
    trainer = Trainer(task, SMALL.replace(layers=4, residual=True), QUICK, runs)
    trainer.run_epoch(0)
    trainer.observed.fill_(torch.nan)
    trainer.evaluate()
    report = trainer.report()
    for number, run in enumerate(runs):
        assert float(trainer.observed[run.split.val, number].mean()) == pytest.approx(float(report.val[number]))


def test_a_network_of_many_layers_has_enough_masks() -> None:
    task = small_task()
    spec = SMALL.replace(layers=70, hidden=2, conv="gcn")
    assert fit(task, spec, QUICK.replace(epochs=1), small_runs(task, [0])).loss_curve.isfinite().all()


@pytest.mark.parametrize("device", ["abacus", "meta", "cuda:99", None])
def test_devices_that_are_not_there(device: Any) -> None:
    task = small_task()
    with pytest.raises(nt.InputError, match=r"Expected .*device"):
        fit(task, SMALL, QUICK, small_runs(task, [0]), device=device)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "a"])
def test_seeds_that_are_none(seed: Any) -> None:
    with pytest.raises(nt.InputError, match="seed"):
        Run(seed, small_runs(small_task(), [0])[0].split)


def test_a_result_leaves_every_tensor_that_captured_work_reads_where_it_is() -> None:
    """A captured step would go on reading freed memory otherwise."""
    task = small_task()
    trainer = Trainer(task, SMALL, QUICK, small_runs(task, [0, 1]))
    trainer.run_epoch(0)
    masks = trainer.dropout_masks
    before = [masks._keys.data_ptr(), masks.step.data_ptr()]
    trainer.result()
    trainer.run_epoch(1)
    assert [masks._keys.data_ptr(), masks.step.data_ptr()] == before
    assert all(module.masks is masks for module in trainer.network.modules() if isinstance(module, Dropout))


def test_an_evaluation_before_the_first_epoch_drops_nothing() -> None:
    task = small_task()
    trainer = Trainer(task, SMALL.replace(dropout=0.9), QUICK, small_runs(task, [0]))
    trainer.evaluate()
    observed = trainer.observed.clone()
    trainer.dropout_masks.go_to(5)
    trainer.evaluate()
    assert torch.equal(trainer.observed, observed)
    assert not trainer.network.training


def test_training_and_building_leave_torchs_generator_alone() -> None:
    task = small_task()
    torch.manual_seed(3)
    before = torch.get_rng_state()
    fitted = fit(task, SMALL, QUICK, small_runs(task, [0]))
    bundle = Bundle.of(fitted)
    Predictor(bundle).predict(task.graphs)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("optimiser", ["adam", "adamw"])
def test_a_run_without_an_item_in_a_batch_stays_as_it_is(optimiser: str) -> None:
    """Neither weight decay nor momentum moves it; the other run goes on."""
    task = small_task(4)
    (other,) = small_runs(task, [1])
    first = torch.zeros(task.num_nodes, dtype=torch.bool)
    first[: task.graphs[0].num_nodes - 1] = True  # labels in the first graph alone
    val, test = torch.zeros_like(first), torch.zeros_like(first)
    val[-1], test[-2] = True, True
    training = TrainingSpec(every_class=False, epochs=3, batches=4, lr=0.1, weight_decay=0.5, optimiser=optimiser)
    trainer = Trainer(task, SMALL, training, [Run(0, Split(first, val, test)), other])
    with_items = [int(trainer.train_mask[batch.items, 0].sum()) > 0 for batch in trainer.batches]
    assert sorted(with_items) == [False, False, False, True]
    trainer.run_epoch(0)
    weights = {name: value.detach().clone() for name, value in trainer.network.named_parameters()}
    moments = {name: value.clone() for name, value in trainer.optimiser.state().items() if "exp" in name}
    idle = with_items.index(False)
    trainer.network.train()
    trainer._step(next(step for step in trainer.source.steps(0) if step.name == ("step", 0, idle, 0)))
    for name, value in trainer.network.named_parameters():
        assert torch.equal(value[0], weights[name][0]), name
    assert any(not torch.equal(value[1], weights[name][1]) for name, value in trainer.network.named_parameters())
    for name, value in trainer.optimiser.state().items():
        if "exp" in name:
            assert torch.equal(value[0], moments[name][0]), name


def test_gradients_are_clipped_run_by_run() -> None:
    """A run alone and beside a run of large gradients moves alike."""
    task = small_task()
    training = QUICK.replace(clip=0.05)
    runs = small_runs(task, [0, 1])
    together, alone = fit(task, SMALL, training, runs), fit(task, SMALL, training, runs[:1])
    torch.testing.assert_close(together.loss_curve[:, :1], alone.loss_curve, atol=1e-5, rtol=0)
    assert not torch.allclose(alone.loss_curve, fit(task, SMALL, QUICK, runs[:1]).loss_curve)


class Recording(Executor):
    """Remembers the names of the work."""

    def __init__(self) -> None:
        self.names: list[object] = []

    def __call__(self, name: Any, work: Any) -> None:
        self.names.append(name)
        work()


def test_all_work_goes_through_the_executor() -> None:
    task = small_task()
    executor = Recording()
    trainer = Trainer(task, SMALL, QUICK, small_runs(task, [0]), executor=executor)
    trainer.train()
    assert torch.equal(trainer.result().loss_curve, fit(task, SMALL, QUICK, small_runs(task, [0])).loss_curve)
    assert {name if isinstance(name, str) else name[0] for name in executor.names} == {"step", "evaluate", "finish"}
    assert len(executor.names) == QUICK.epochs * (QUICK.batches + 2)


@pytest.mark.parametrize("divisions", [1, 3])
def test_a_training_that_is_extended_equals_one_that_was_never_broken(divisions: int) -> None:
    task = small_task()
    runs, training = small_runs(task, [0, 1]), QUICK.replace(divisions=divisions, decay_every=3, warmup=2)
    short = Trainer(task, SMALL, training.replace(epochs=3), runs)
    short.train()
    longer = Trainer(task, SMALL, training.replace(epochs=7), runs)
    longer.restore(short.state())
    longer.train()
    whole = fit(task, SMALL, training.replace(epochs=7), runs)
    found = longer.result()
    assert torch.equal(found.loss_curve, whole.loss_curve) and len(found.loss_curve) == 7
    assert torch.equal(found.test_curve, whole.test_curve) and torch.equal(found.best_epoch, whole.best_epoch)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, found.network.state_dict()[name])


def test_a_training_can_end_earlier_but_not_before_what_is_done() -> None:
    task = small_task()
    runs = small_runs(task, [0])
    trainer = Trainer(task, SMALL, QUICK.replace(epochs=6), runs)
    for epoch in range(3):
        trainer.run_epoch(epoch)
    ended = Trainer(task, SMALL, QUICK.replace(epochs=3), runs)
    ended.restore(trainer.state())
    assert ended.finished
    assert torch.equal(ended.result().loss_curve, fit(task, SMALL, QUICK.replace(epochs=3), runs).loss_curve)
    with pytest.raises(nt.InputError, match="Expected at least the 3 epochs that are done already; got epochs = 2"):
        Trainer(task, SMALL, QUICK.replace(epochs=2), runs).restore(trainer.state())


def test_an_extended_cosine_goes_on_with_the_rates_of_the_longer_one() -> None:
    task = small_task()
    runs, training = small_runs(task, [0]), QUICK.replace(cosine=True)
    short = Trainer(task, SMALL, training.replace(epochs=2), runs)
    short.train()
    longer = Trainer(task, SMALL, training.replace(epochs=4), runs)
    longer.restore(short.state())
    rates: list[float] = []
    longer.train(lambda epoch: rates.append(float(longer.optimiser.lr)))
    assert rates == pytest.approx([training.replace(epochs=4).rate(done) for done in (2, 3)])
