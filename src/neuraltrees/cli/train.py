"""neuraltrees train: train runs of a network on a dataset and save them in a folder."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from neuraltrees.cli.molecules import describe_molecules
from neuraltrees.cli.options import AsJson, Threads, with_options
from neuraltrees.cli.scenes import describe_scenes
from neuraltrees.cli.terminal import errors, interrupts, notes, silent, working
from neuraltrees.cli.training_result import as_json, result_of, show_result
from neuraltrees.datasets import DataSpec
from neuraltrees.errors import DivergedError, InputError, LostProcessError, MissingExtraError
from neuraltrees.extras import require
from neuraltrees.files import locked_folder, write_whole
from neuraltrees.training.config import TrainConfig, load_config
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.training_spec import TrainingSpec

if TYPE_CHECKING:
    from neuraltrees.training.launch import Launched
    from neuraltrees.training.problem import Problem
    from neuraltrees.training.runs import Ensemble, Epoch, Fitted
    from neuraltrees.training.trainer import Trainer


@with_options(TrainConfig, {"Data and runs": DataSpec, "Network": NetworkSpec, "Training": TrainingSpec})
def train(
    config: Annotated[
        Path | None, typer.Option(help="YAML file with values of the options below.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results; by default neuraltrees-runs/DATASET-MODEL-CONV.", show_default=False),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the training in the folder --out; with more --epochs, extend it.")
    ] = False,
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between checkpoints.")] = 20.0,
    tensorboard: Annotated[
        bool,
        typer.Option("--tensorboard", help="Also write learning curves for TensorBoard, to the subfolder tensorboard."),
    ] = False,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="Also print precision, recall and F1 of every class for the best run.")
    ] = False,
    threads: Threads = 1,
    json: AsJson = False,
    **values: Any,
) -> None:
    """Train one or several runs of a network at once, and keep the best epoch of each.

    Options that are not given have the paper's values for the dataset and the network. The output folder has the
    configuration, the checkpoint, the results with learning curves, and the best network, model.safetensors, for
    `neuraltrees predict`. With --ensemble N, every run trains N networks, and the model is the best ensemble of N.

    Example: neuraltrees train --dataset synthetic --conv sage --runs 3

    Several processes: torchrun --nproc-per-node 4 -m neuraltrees train --dataset pubmed --partition tree

    Molecules: neuraltrees train --dataset my.csv --smiles SMILES --target logS --split scaffold

    Scenes: neuraltrees train --dataset scenes:maps --target room
    """
    settings = load_config(config, values)
    folder = out or Path("neuraltrees-runs") / folder_name(settings.dataset, *settings.network.words)
    files = RunFolder(folder)
    resume = resume or (_restarted() and files.config.exists())
    if resume:
        files.check_resumable()
        settings = load_config(config or files.config, values)
    with working("loading"):
        import torch

        from neuraltrees.training.launch import launched

        torch.set_num_threads(threads)
    with launched(settings.device) as processes, files.kept_by(processes), advice(files):
        if not resume and processes.main:
            files.check_new()
        with working("loading"):
            from neuraltrees.scenes.format import SceneFormat
            from neuraltrees.training.problem import load_problem

            problem = load_problem(settings)
        if settings.smiles is not None:
            describe_molecules(settings, problem)
        if isinstance(problem.task.inputs, SceneFormat):
            describe_scenes(problem)
        with working("preparing batches, and H-trees where the network needs them"):
            trainer, save = _prepare(settings, problem, files, resume, threads, processes)
        _train(trainer, save, checkpoint_every, folder if tensorboard and processes.main else None)
        save()
        fitted = trainer.result()
        reports = fitted.report()
        ensembles = fitted.ensembles(settings.ensemble) if settings.ensemble > 1 else []
        if not processes.main:
            return
        result = result_of(settings, fitted, reports, ensembles)
        _keep_result(files, fitted, result)
        _report_divergence(files, fitted)
        _keep_model(files, fitted, ensembles)
    if json:
        print(as_json(result | {"folder": str(folder)}))
    else:
        show_result(settings, fitted, reports, ensembles, folder, per_class)


def _restarted() -> bool:
    """Whether torchrun has restarted this process after a failure."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


class RunFolder:
    """Paths of the files of a training."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.yaml"
        self.checkpoint = folder / "checkpoint.safetensors"
        self.result = folder / "result.json"
        self.model = folder / "model.safetensors"
        self.curves = folder / "curves.svg"

    @contextmanager
    def kept_by(self, processes: Launched) -> Iterator[None]:
        """Locks the folder for the process that writes to it; the other processes print nothing."""
        if processes.main:
            with locked_folder(self.folder):
                yield
            return
        with silent():
            yield

    def check_resumable(self) -> None:
        """Raises `InputError` unless there is a training to continue."""
        if not self.config.exists() or (self.folder / "tuning.json").exists():
            raise InputError(
                f"Expected a folder with a training to continue; got {self.folder}, which has none. "
                f"Check --out, or leave out --resume to start a new one."
            )

    def check_new(self) -> None:
        """Raises `InputError` if there is a training or a tuning already."""
        if self.checkpoint.exists():
            raise InputError(
                f"Expected a folder without a training; got {self.folder}, which has one. "
                f"Add --resume to continue it, or choose another --out."
            )
        if (self.folder / "tuning.json").exists():
            raise InputError(
                f"Expected a folder without a tuning; got {self.folder}, which has one. Choose another --out."
            )


@contextmanager
def advice(files: RunFolder) -> Iterator[None]:
    """Adds to the error about a lost process how to continue the training."""
    try:
        yield
    except LostProcessError as error:
        remedy = "There is no checkpoint yet: start it again."
        if files.checkpoint.exists():
            remedy = (
                f"All epochs up to the last checkpoint in {files.folder} are kept: go on with the same command and "
                f"--resume, with any number of processes."
            )
        raise LostProcessError(f"{error} {remedy}") from error


def _prepare(
    config: TrainConfig, problem: Problem, files: RunFolder, resume: bool, threads: int, processes: Launched
) -> tuple[Trainer, Callable[[], None]]:
    from neuraltrees.training.checkpoint import Checkpoint
    from neuraltrees.training.trainer import Trainer

    specs, executor = (config.network, config.training), processes.executor(config.partition)
    trainer = Trainer(problem.task, *specs, problem.runs, processes.device, executor, threads)
    identity = config.replace(device="cpu", data_root=None).as_dict() | {"data": problem.task.fingerprint()}
    # Trainings in any number of processes are one and the same, up to rounding.
    checkpoint = Checkpoint(files.checkpoint, identity, may_change=("epochs", "partition"))
    if files.checkpoint.exists():
        state = checkpoint.load()
        before = state["curves"].shape[1]
        trainer.restore(state)
        if config.cosine and before != config.epochs:
            notes.print(
                f"The learning rate goes on along the cosine of {config.epochs} epochs; so far it fell along that of "
                f"{before}.",
                highlight=False,
                soft_wrap=True,
            )
    elif resume:
        notes.print(f"No checkpoint in {files.folder}: starting from scratch.", highlight=False, soft_wrap=True)
    processes.group.barrier()  # all have read what process 0 replaces
    if not processes.main:
        return trainer, lambda: None
    write_whole(files.config, yaml.safe_dump(config.as_dict(), sort_keys=False).encode())
    return trainer, lambda: checkpoint.save(trainer.state())


def _train(trainer: Trainer, save: Callable[[], None], checkpoint_every: float, board: Path | None) -> None:
    from neuraltrees.training.progress import show_progress

    with _tensorboard(board) as writer, show_progress(trainer, notes) as show, interrupts() as interrupted:
        last = time.monotonic()

        def on_epoch(epoch: Epoch) -> None:
            nonlocal last
            show(epoch)
            if writer is not None:
                for name in ("loss", "val", "test"):
                    for run, value in enumerate(getattr(epoch, name).tolist()):
                        writer.add_scalar(f"{name}/run {run}", value, epoch.number)
            if time.monotonic() - last >= checkpoint_every:
                save()
                last = time.monotonic()
            if trainer.executor.agreed(interrupted()):
                save()
                notes.print(f"Saved at epoch {epoch.number}; continue with --resume.", highlight=False)
                raise KeyboardInterrupt

        trainer.train(on_epoch)


def _tensorboard(folder: Path | None) -> AbstractContextManager[Any]:
    """The writer of the curves, which an interrupt closes as well; None without a folder."""
    if folder is None:
        return nullcontext()
    require("tensorboard", extra="tensorboard", what="--tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))


def _keep_result(files: RunFolder, fitted: Fitted, result: dict[str, Any]) -> None:
    curves = {name: getattr(fitted, f"{name}_curve").t().tolist() for name in ("loss", "val", "test")}
    write_whole(files.result, as_json(result | {"curves": curves}).encode())


def _report_divergence(files: RunFolder, fitted: Fitted) -> None:
    """Prints a line for every run that diverged; raises an error, and leaves no model, if all did."""
    from neuraltrees.training.fitting import report_divergence

    try:
        report_divergence(
            fitted,
            lambda message: errors.print(message, highlight=False, soft_wrap=True),
            "Lower --lr, or set --clip.",
            f"No model was saved; the curves are in {files.result}.",
        )
    except DivergedError:
        for stale in (files.model, files.curves):  # of an earlier training in this folder
            stale.unlink(missing_ok=True)
        raise


def _keep_model(files: RunFolder, fitted: Fitted, ensembles: Sequence[Ensemble]) -> None:
    from neuraltrees.training.bundle import Bundle
    from neuraltrees.training.runs import best_of

    best = best_of(ensembles, fitted.task.objective.metric)
    Bundle.of(fitted, None if best is None else best.runs).save(files.model)
    try:
        from neuraltrees.plots.curves import draw_curves
    except MissingExtraError as error:
        notes.print(f"No learning curves were drawn. {error}", highlight=False, soft_wrap=True, markup=False)
    else:
        draw_curves(fitted, files.curves)


def folder_name(*parts: str) -> str:
    """A folder name without special characters, such as the colon of `mypackage.scenes:load`.

    >>> folder_name("mypackage.scenes:load", "gnn", "gcn")
    'mypackage.scenes-load-gnn-gcn'
    """
    return re.sub(r"[^\w.]+", "-", "-".join(parts))
