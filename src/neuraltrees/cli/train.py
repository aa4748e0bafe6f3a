"""neuraltrees train: a dataset and a network → trained runs, kept in a folder."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from neuraltrees.cli.options import with_options
from neuraltrees.cli.terminal import errors, interrupts, output, working
from neuraltrees.errors import InputError
from neuraltrees.files import make_folder, write_whole
from neuraltrees.training.config import DataSpec, TrainConfig, load_config
from neuraltrees.training.spec import NetworkSpec, TrainingSpec

if TYPE_CHECKING:
    from neuraltrees.training.problem import Problem
    from neuraltrees.training.trainer import Epoch, Fitted, Trainer


@with_options(TrainConfig, {"Data and runs": DataSpec, "Network": NetworkSpec, "Training": TrainingSpec})
def train(
    config: Annotated[Path | None, typer.Option(help="YAML file of the values below.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for what comes out.", show_default=False)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a training in that folder stopped.")] = False,
    checkpoint_every: Annotated[float, typer.Option(help="Seconds between two checkpoints.")] = 20.0,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write curves for TensorBoard as well.")] = False,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads; one is quickest for few runs of small graphs.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    **values: Any,
) -> None:
    """Train R runs of a network at once and keep the best epoch of each.

    Values that are not given are the paper's for this dataset and network. The folder holds the configuration, the
    checkpoint, the result with all curves, and the best network for `neuraltrees predict`.

    Example: neuraltrees train --dataset synthetic --conv sage --runs 3
    """
    stored = out / "config.yaml" if resume and out is not None and config is None else None
    settings = load_config(stored if stored is not None and stored.exists() else config, values)
    folder = out or Path("neuraltrees-runs") / f"{settings.dataset}-{settings.model}-{settings.conv}"
    files = RunFolder(folder)
    if not resume and files.checkpoint.exists():
        raise InputError(
            f"Expected a folder without a training; got {folder}, which has one. "
            f"Add --resume to go on with it, or choose another --out."
        )
    with working("loading"):
        import torch

        from neuraltrees.training.problem import load_problem

        torch.set_num_threads(threads)
        problem = load_problem(settings)
    with working("planning the H-trees" if settings.model == "neural-tree" else "preparing"):
        trainer, save = _prepare(settings, problem, files, resume)
    _train(trainer, save, checkpoint_every, folder if tensorboard else None)
    save()
    fitted = trainer.result()
    result = _result(settings, fitted)
    _finish(files, fitted, result)
    if json:
        print(_json(result | {"folder": str(folder)}))
    else:
        _show(settings, fitted, folder)


class RunFolder:
    """The files of a training."""

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
        errors.print(f"No checkpoint in {files.folder}: starting at the beginning.", highlight=False, soft_wrap=True)
    make_folder(files.folder)
    if not goes_on:
        import yaml

        write_whole(files.config, yaml.safe_dump(config.as_dict(), sort_keys=False).encode())
    return trainer, lambda: checkpoint.save(trainer.state())


def _train(trainer: Trainer, save: Any, checkpoint_every: float, board: Path | None) -> None:
    writer = None
    if board is not None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise InputError(
                f"Expected TensorBoard to be installed for --tensorboard; got: {error}. Run: pip install tensorboard."
            ) from None
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
            progress.update(task, completed=epoch.number, state=_in_words(epoch))
            if writer is not None:
                for name in ("loss", "val", "test"):
                    for run, value in enumerate(getattr(epoch, name).tolist()):
                        writer.add_scalar(f"{name}/run {run}", value, epoch.number)
            if time.monotonic() - last >= checkpoint_every:
                save()
                last = time.monotonic()
            if interrupted():
                save()
                errors.print(f"Epoch {epoch.number} is kept: --resume goes on from there.", highlight=False)
                raise KeyboardInterrupt

        trainer.train(on_epoch)
    if writer is not None:
        writer.close()


def _in_words(epoch: Epoch) -> str:
    loss, val, test = (float(each.nanmean()) for each in (epoch.loss, epoch.val, epoch.test))
    return (
        f"loss {loss:.3f}  val {100 * val:.1f} %  test {100 * test:.1f} %  best val {100 * epoch.best_val.mean():.1f} %"
    )


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
    return {"config": config.as_dict(), "runs": runs, "seconds": round(fitted.seconds, 3), "versions": versions}


def _finish(files: RunFolder, fitted: Fitted, result: dict[str, Any]) -> None:
    from neuraltrees.plots.curves import draw_curves
    from neuraltrees.training.bundle import Bundle

    curves = {name: getattr(fitted, f"{name}_curve").t().tolist() for name in ("loss", "val", "test")}
    write_whole(files.result, _json(result | {"curves": curves}).encode())
    Bundle.of(fitted).save(files.model)
    draw_curves(fitted, files.curves)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(_finite(content), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    """JSON has neither NaN nor infinity: an epoch that a run did not reach is null."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list():
            return [_finite(each) for each in value]
    return value


def _show(config: TrainConfig, fitted: Fitted, folder: Path) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("run", "seed", "best epoch", "validation", "test"):
        table.add_column(column, justify="right", no_wrap=True)
    for run, (epoch, val, test) in enumerate(zip(fitted.best_epoch, fitted.val, fitted.test, strict=True)):
        row = (run, config.seed + run, int(epoch), f"{100 * float(val):.1f} %", f"{100 * float(test):.1f} %")
        table.add_row(*map(str, row))
    title = f"{config.model} + {config.conv} on {config.dataset}: test accuracy {_mean(fitted.test)}"
    output.print(title, style="bold", highlight=False)
    output.print(table)
    line = f"Kept in {folder}: result.json, curves.svg, model.safetensors"
    output.print(line, highlight=False, markup=False, soft_wrap=True)


def _mean(accuracy: Any) -> str:
    spread = f" ± {100 * float(accuracy.std()):.1f}" if len(accuracy) > 1 else ""
    return f"{100 * float(accuracy.mean()):.1f}{spread} %"
