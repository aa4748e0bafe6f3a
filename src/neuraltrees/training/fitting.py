"""A training from its first epoch to its last, with progress, and reports of runs that diverged."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from itertools import compress

import torch

from neuraltrees.data.task import Task
from neuraltrees.errors import DivergedError, DivergenceWarning
from neuraltrees.files import make_folder
from neuraltrees.training.arguments import check_on_epoch
from neuraltrees.training.batches import graphs_to_train_on
from neuraltrees.training.checkpoint import Checkpoint
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.progress import show_progress, wanted_console
from neuraltrees.training.runs import Epoch, Fitted, Run
from neuraltrees.training.trainer import OnEpoch, Trainer
from neuraltrees.training.training_spec import TrainingSpec

EVERY = 60.0  # seconds between the checkpoints of `trained`
LARGE, MOST = 2**16, 2**18  # numbers in the states of a batch, of a large run and of runs that are trained at once


def fit(
    task: Task,
    network: NetworkSpec,
    training: TrainingSpec,
    runs: Sequence[Run],
    device: torch.device | str = "cpu",
    on_epoch: OnEpoch | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Fitted:
    """Trains every run to the end; see `Trainer` for training in steps.

    A run that diverges gives a `DivergenceWarning`; if no run has an epoch with a finite validation metric, `fit`
    raises `DivergedError`.

    Args:
        task, network, training, runs, device, threads: see `Trainer`.
        on_epoch: called with an `Epoch` after every epoch, on a GPU after every tenth.
        progress: whether to show the progress, on standard error; by default in a terminal and in a notebook.

    >>> from torch_geometric.data import Data
    >>> x = torch.randn(20, 2)
    >>> pairs = torch.arange(20).view(10, 2).t()
    >>> task = Task([Data(x=x, y=(x[:, 0] > 0).long(), edge_index=pairs)], {"node": ("left", "right")})
    >>> runs = [Run(seed, task.split(seed)) for seed in (0, 1)]
    >>> fitted = fit(task, NetworkSpec(hidden=8, layers=2), TrainingSpec(epochs=3), runs)
    >>> fitted.test.shape, fitted.loss_curve.shape
    (torch.Size([2]), torch.Size([3, 2]))
    """
    console = wanted_console(progress)
    check_on_epoch(on_epoch)
    trainer = Trainer(task, network, training, runs, device, threads=threads)
    with show_progress(trainer, console) as show:

        def tell(epoch: Epoch) -> None:
            show(epoch)
            if on_epoch is not None:
                on_epoch(epoch)

        trainer.train(tell)
    fitted = trainer.result()
    report_divergence(
        fitted,
        lambda message: warnings.warn(message, DivergenceWarning, stacklevel=4),
        "Lower lr, or set clip, in TrainingSpec.",
    )
    return fitted


def trained(
    task: Task,
    network: NetworkSpec,
    training: TrainingSpec,
    runs: Sequence[Run],
    device: torch.device | str = "cpu",
    on_epoch: OnEpoch | None = None,
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """The same for a search or an experiment, where a diverged run is a valid result: NaN.

    Args:
        task, network, training, runs, device, on_epoch: see `fit`.
        checkpoint: where the state of an unfinished training is kept. If there is one, the training goes on from it;
            it is removed at the end.
    """
    parts = in_turns(task, network, training, runs, device)
    files = [checkpoint if checkpoint is None or len(parts) == 1 else checkpoint.numbered(n) for n in range(len(parts))]
    found = [
        _together(Trainer(task, network, training, part, device, company=runs), on_epoch, file, len(parts) == 1)
        for part, file in zip(parts, files, strict=True)
    ]
    for file in files:
        if file is not None:
            file.remove()
    return Fitted.join(found)


def in_turns(
    task: Task, network: NetworkSpec, training: TrainingSpec, runs: Sequence[Run], device: torch.device | str
) -> list[Sequence[Run]]:
    """The runs in groups that are trained one after another: on a CPU, if the states of all runs do not fit in a cache.

    Runs of other splits take part in batches that are shuffled, and so are not separated; neither are those of a
    network that computes views alone, which has few states.
    """
    if network.views and not network.needs_tree:
        return [runs]
    taught = graphs_to_train_on(task, torch.stack([run.split.train for run in runs], 1).any(1))
    sizes = [graph.num_nodes for graph in task.graphs]
    nodes = sum(sizes) if taught is None else sum(compress(sizes, taught))
    per_run = nodes // training.batches * network.hidden
    apart = torch.device(device).type == "cpu" and per_run >= LARGE
    if not apart or (training.shuffle and not all(run.split.equals(runs[0].split) for run in runs)):
        return [runs]
    size = max(1, MOST // per_run)
    return [runs[first : first + size] for first in range(0, len(runs), size)]


def _together(trainer: Trainer, on_epoch: OnEpoch | None, checkpoint: Checkpoint | None, alone: bool) -> Fitted:
    """Trains runs at once, from a checkpoint if there is one; unless they are alone, leaves a checkpoint of the end."""
    if checkpoint is None:
        trainer.train(on_epoch)
        return trainer.result()
    if checkpoint.path.exists():
        trainer.restore(checkpoint.load())
    last = time.monotonic()

    def save() -> None:
        make_folder(checkpoint.path.parent)  # another process removes it when it is empty
        checkpoint.save(trainer.state())

    def keep(epoch: Epoch) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            save()
            last = time.monotonic()
        if on_epoch is not None:
            on_epoch(epoch)

    trainer.train(keep)
    if not alone:
        save()
    return trainer.result()


def report_divergence(fitted: Fitted, tell: Callable[[str], None], remedy: str, kept: str = "") -> None:
    """Reports every run that diverged; raises `DivergedError` if no run has an epoch to keep.

    Args:
        fitted: the result of a training.
        tell: called with one message per diverged run.
        remedy: what to do, the end of every message.
        kept: what is kept nevertheless, for the error.
    """
    never = (fitted.best_epoch == 0).tolist()
    if all(never):
        count = f"all {len(never)} diverged" if len(never) > 1 else "the only one diverged"
        raise DivergedError(
            f"Expected at least one run with a finite validation metric; {count}, so there is nothing to keep. "
            f"{f'{kept} ' if kept else ''}{remedy}"
        )
    for run, epoch in enumerate(fitted.diverged_in.tolist()):
        if never[run]:
            tell(f"Run {run} diverged at once and is left out. {remedy}")
        elif epoch:
            tell(f"Run {run} diverged in epoch {epoch}; its epoch {int(fitted.best_epoch[run])} is kept. {remedy}")
