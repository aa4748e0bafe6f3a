"""neuraltrees train: train runs of a network on a dataset and save them in a folder."""

from __future__ import annotations

import json
import math
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from neuraltrees.cli.options import AsJson, Threads, with_options
from neuraltrees.cli.terminal import errors, interrupts, output, print_table, working
from neuraltrees.datasets import DataSpec
from neuraltrees.errors import InputError, MissingExtraError, NeuralTreesError
from neuraltrees.extras import require
from neuraltrees.files import make_folder, write_whole
from neuraltrees.training.config import TrainConfig, load_config
from neuraltrees.training.spec import NetworkSpec, TrainingSpec

if TYPE_CHECKING:
    from neuraltrees.objectives import Metric
    from neuraltrees.training.problem import Problem
    from neuraltrees.training.runs import Epoch, Fitted
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
    resume: Annotated[bool, typer.Option("--resume", help="Continue the training in that folder.")] = False,
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between checkpoints.")] = 20.0,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write curves for TensorBoard.")] = False,
    threads: Threads = 1,
    json: AsJson = False,
    **values: Any,
) -> None:
    """Train several runs of a network at once and keep the best epoch of each.

    Options that are not given have the paper's values for the dataset and the network. The output folder holds the
    configuration, the checkpoint, the results with learning curves, and the best network for `neuraltrees predict`.

    Example: neuraltrees train --dataset synthetic --conv sage --runs 3
    """
    stored = out / "config.yaml" if resume and out is not None and config is None else None
    settings = load_config(stored if stored is not None and stored.exists() else config, values)
    folder = out or Path("neuraltrees-runs") / folder_name(settings.dataset, settings.model, settings.conv)
    files = RunFolder(folder)
    if not resume and files.checkpoint.exists():
        raise InputError(
            f"Expected a folder without a training; got {folder}, which has one. "
            f"Add --resume to continue it, or choose another --out."
        )
    with working("loading"):
        import torch

        from neuraltrees.training.problem import load_problem

        torch.set_num_threads(threads)
        problem = load_problem(settings)
    with working("preparing batches, and H-trees where the network needs them"):
        trainer, save = _prepare(settings, problem, files, resume)
    _train(trainer, save, checkpoint_every, folder if tensorboard else None)
    save()
    fitted = trainer.result()
    result = _result(settings, fitted)
    _keep_result(files, fitted, result)
    _report_divergence(fitted, folder)
    _keep_model(files, fitted)
    if json:
        print(_json(result | {"folder": str(folder)}))
    else:
        _show(settings, fitted, folder)


class RunFolder:
    """Paths of the files of a training."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.yaml"
        self.checkpoint = folder / "checkpoint.safetensors"
        self.result = folder / "result.json"
        self.model = folder / "model.safetensors"
        self.curves = folder / "curves.svg"


def _prepare(config: TrainConfig, problem: Problem, files: RunFolder, resume: bool) -> tuple[Trainer, Any]:
    from neuraltrees.training.checkpoint import Checkpoint
    from neuraltrees.training.trainer import Trainer

    trainer = Trainer(problem.task, config.network, config.training, problem.runs, config.device)
    identity = config.replace(device="cpu", data_root=None).as_dict() | {"data": problem.task.fingerprint()}
    checkpoint = Checkpoint(files.checkpoint, identity)
    goes_on = resume and files.checkpoint.exists()
    if goes_on:
        trainer.restore(checkpoint.load())
    elif resume:
        errors.print(f"No checkpoint in {files.folder}: starting from scratch.", highlight=False, soft_wrap=True)
    make_folder(files.folder)
    if not goes_on:
        import yaml

        write_whole(files.config, yaml.safe_dump(config.as_dict(), sort_keys=False).encode())
    return trainer, lambda: checkpoint.save(trainer.state())


def _train(trainer: Trainer, save: Any, checkpoint_every: float, board: Path | None) -> None:
    writer = None
    if board is not None:
        require("tensorboard", extra="tensorboard", what="--tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(board / "tensorboard"))
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}"),
    )
    bar = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
    with bar as progress, interrupts() as interrupted:
        task = progress.add_task("", total=trainer.training.epochs, completed=trainer.epochs_done, state="")
        last = time.monotonic()

        def on_epoch(epoch: Epoch) -> None:
            nonlocal last
            progress.update(task, completed=epoch.number, state=_in_words(epoch, trainer.objective.metric))
            if writer is not None:
                for name in ("loss", "val", "test"):
                    for run, value in enumerate(getattr(epoch, name).tolist()):
                        writer.add_scalar(f"{name}/run {run}", value, epoch.number)
            if time.monotonic() - last >= checkpoint_every:
                save()
                last = time.monotonic()
            if interrupted():
                save()
                errors.print(f"Saved at epoch {epoch.number}; continue with --resume.", highlight=False)
                raise KeyboardInterrupt

        trainer.train(on_epoch)
    if writer is not None:
        writer.close()


def _in_words(epoch: Epoch, metric: Metric) -> str:
    val, test, best = (metric.show(float(each.nanmean())) for each in (epoch.val, epoch.test, epoch.best_val))
    return f"loss {float(epoch.loss.nanmean()):.3f}  val {val}  test {test}  best val {best}"


def _result(config: TrainConfig, fitted: Fitted) -> dict[str, Any]:
    import torch

    import neuraltrees

    runs = [
        {"seed": config.seed + run, "val": val, "test": test, "best_epoch": epoch}
        for run, (val, test, epoch) in enumerate(
            zip(fitted.val.tolist(), fitted.test.tolist(), fitted.best_epoch.tolist(), strict=True)
        )
    ]
    versions = {"neuraltrees": neuraltrees.__version__, "torch": torch.__version__}
    metric = fitted.task.objective.metric.name
    return {
        "config": config.as_dict(),
        "metric": metric,
        "runs": runs,
        "seconds": round(fitted.seconds, 3),
        "versions": versions,
    }


def _keep_result(files: RunFolder, fitted: Fitted, result: dict[str, Any]) -> None:
    curves = {name: getattr(fitted, f"{name}_curve").t().tolist() for name in ("loss", "val", "test")}
    write_whole(files.result, _json(result | {"curves": curves}).encode())


def _report_divergence(fitted: Fitted, folder: Path) -> None:
    """Prints a line for every run that never had a finite validation metric; raises an error if all diverged."""
    diverged = (fitted.best_epoch == 0).nonzero().flatten().tolist()
    if len(diverged) == len(fitted.best_epoch):
        raise NeuralTreesError(
            f"Expected at least one run with a finite validation metric; all {len(diverged)} diverged. No model was "
            f"saved; the curves are in {folder / 'result.json'}. Lower --lr, or set --clip."
        )
    for run in diverged:
        errors.print(f"Run {run} diverged and is left out: lower --lr, or set --clip.", highlight=False, soft_wrap=True)


def _keep_model(files: RunFolder, fitted: Fitted) -> None:
    from neuraltrees.training.bundle import Bundle

    Bundle.of(fitted).save(files.model)
    try:
        from neuraltrees.plots.curves import draw_curves
    except MissingExtraError as error:
        errors.print(f"No learning curves were drawn. {error}", highlight=False, soft_wrap=True, markup=False)
    else:
        draw_curves(fitted, files.curves)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(_finite(content), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    """The value with NaN and infinity replaced by None, since JSON has neither."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list():
            return [_finite(each) for each in value]
    return value


def _show(config: TrainConfig, fitted: Fitted, folder: Path) -> None:
    metric = fitted.task.objective.metric
    rows = [
        (str(run), str(config.seed + run), str(int(epoch)), metric.show(float(val)), metric.show(float(test)))
        for run, (epoch, val, test) in enumerate(zip(fitted.best_epoch, fitted.val, fitted.test, strict=True))
    ]
    title = f"{config.model} + {config.conv} on {config.dataset}: test {metric.name} {_mean(fitted.test, metric)}"
    print_table(title, ("run", "seed", "best epoch", "validation", "test"), rows)
    kept = [name for name in ("result.json", "curves.svg", "model.safetensors") if (folder / name).exists()]
    output.print(f"Saved in {folder}: {', '.join(kept)}", highlight=False, markup=False, soft_wrap=True)


def _mean(values: Any, metric: Metric) -> str:
    known = values[values.isfinite()]
    if len(known) < 2:
        return metric.show(float(known.mean()))
    return metric.show_spread(float(known.mean()), float(known.std()))


def folder_name(*parts: str) -> str:
    """A folder name without special characters, such as the colon of `mypackage.scenes:load`.

    >>> folder_name("mypackage.scenes:load", "gnn", "gcn")
    'mypackage.scenes-load-gnn-gcn'
    """
    return re.sub(r"[^\w.]+", "-", "-".join(parts))
