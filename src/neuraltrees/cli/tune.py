"""neuraltrees tune: a dataset and a network → its best hyper-parameters, in two grid searches."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from neuraltrees.cli.terminal import errors, output, working
from neuraltrees.errors import InputError
from neuraltrees.files import make_folder, write_whole

if TYPE_CHECKING:
    from neuraltrees.training.config import TrainConfig
    from neuraltrees.tuning.trials import Grid, TrialDone, Tuned
    from neuraltrees.tuning.tune import OnTrial

GRID = "Grid"
SEVERAL = " With commas between, or the option repeated; by default the paper's."
Numbers = list[str] | None


def tune_command(
    config: Annotated[Path | None, typer.Option(help="YAML file of all that is not tuned.", show_default=False)] = None,
    dataset: Annotated[str | None, typer.Option(help="What to train on.", show_default=False)] = None,
    model: Annotated[str | None, typer.Option(help="neural-tree or gnn.", show_default=False)] = None,
    conv: Annotated[str | None, typer.Option(help="gcn, sage, gat or gin.", show_default=False)] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of every trial, trained at once.", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(help="Run r has the seed SEED + r.", show_default=False)] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of every trial.", show_default=False)] = None,
    workers: Annotated[int, typer.Option(help="Processes to train in, of one thread each.")] = 1,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="Folder for the study and what comes out.")] = Path("neuraltrees-tuning"),
    data_root: Annotated[Path | None, typer.Option(help="The folder of the datasets.", show_default=False)] = None,
    layers: Annotated[
        Numbers, typer.Option(help="Rounds of messages." + SEVERAL, metavar="N,N,…", rich_help_panel=GRID)
    ] = None,
    hidden: Annotated[
        Numbers, typer.Option(help="Sizes of the states." + SEVERAL, metavar="N,N,…", rich_help_panel=GRID)
    ] = None,
    lr: Annotated[
        Numbers, typer.Option(help="Learning rates." + SEVERAL, metavar="X,X,…", rich_help_panel=GRID)
    ] = None,
    dropout: Annotated[
        Numbers, typer.Option(help="Shares dropped in training." + SEVERAL, metavar="X,X,…", rich_help_panel=GRID)
    ] = None,
    weight_decay: Annotated[
        Numbers, typer.Option(help="L2 regularisation." + SEVERAL, metavar="X,X,…", rich_help_panel=GRID)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Finish what is missing of the study in the folder.")
    ] = False,
) -> None:
    """Find the hyper-parameters of the highest mean validation accuracy, as the paper does.

    First all rounds, sizes and learning rates are tried with the lowest dropout and regularisation, then all dropouts
    and regularisations with the best of these. The folder keeps every trial that is done, whatever happens.

    Example: neuraltrees tune --dataset synthetic --conv sage --layers 2,3,4 --hidden 32,64 --workers 4
    """
    axes = {"layers": layers, "hidden": hidden, "lr": lr, "dropout": dropout, "weight_decay": weight_decay}
    given = {
        name: _numbers(name, values, int if name in ("layers", "hidden") else float)
        for name, values in axes.items()
        if values
    }
    if not resume and any((out / name).exists() for name in ("study.json", "study.db")):
        raise InputError(
            f"Expected a folder without a study; got {out}, which has one. Add --resume to finish what is missing of "
            f"it, or choose another --out."
        )
    overrides = {"dataset": dataset, "model": model, "conv": conv, "runs": runs, "seed": seed, "epochs": epochs}
    overrides |= {"device": device, "data_root": None if data_root is None else str(data_root)}
    settings, grid = _settings(out, config, overrides, given, resume)
    with working("loading"):
        from neuraltrees.training.problem import load_problem
        from neuraltrees.tuning.tune import tune

        problem = load_problem(settings)
    make_folder(out)
    if not (out / "study.json").exists():
        _write_config(settings, out / "study.yaml")
    total = grid.first().size + len(grid.dropout) * len(grid.weight_decay)
    with _progress(total) as on_trial:
        tuned = tune(
            problem.task,
            problem.runs,
            settings.network,
            settings.training,
            grid,
            folder=out,
            workers=workers,
            device=settings.device,
            on_trial=on_trial,
        )
    _keep(tuned, settings, out)
    _show(tuned, settings, out)


def _numbers(name: str, given: Sequence[str], kind: type[int] | type[float]) -> list[float]:
    try:
        return [kind(part) for text in given for part in text.replace(",", " ").split()]
    except ValueError:
        flag, what = f"--{name.replace('_', '-')}", "whole numbers" if kind is int else "numbers"
        raise InputError(f"Expected {flag} as {what} with commas between; got {' '.join(given)!r}.") from None


def _settings(
    out: Path, config: Path | None, overrides: dict[str, Any], given: dict[str, Any], resume: bool
) -> tuple[TrainConfig, Grid]:
    """What is not tuned and what is; where a study is resumed, all that is not said again is as it was."""
    from neuraltrees.training.config import load_config
    from neuraltrees.tuning.trials import Grid

    if resume and config is None and (out / "study.yaml").exists():
        config = out / "study.yaml"
    if resume and (out / "study.json").exists():
        from neuraltrees.tuning.study import stored_grid

        given = stored_grid(out) | given
    return load_config(config, overrides), Grid(**given)


@contextmanager
def _progress(total: int) -> Iterator[OnTrial]:
    columns = (
        SpinnerColumn(),
        TextColumn("stage {task.fields[stage]} of 2"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[best]}"),
    )
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        bar = progress.add_task("", total=total, stage=1, best="")
        best: TrialDone | None = None

        def on_trial(trial: TrialDone) -> None:
            nonlocal best
            if best is None or trial.val_mean > best.val_mean:
                best = trial
            progress.update(bar, advance=1, stage=trial.stage, best=f"best {_percent(best.val_mean)}: {best.point}")

        yield on_trial


def _keep(tuned: Tuned, settings: TrainConfig, out: Path) -> None:
    from neuraltrees.plots.tuning import tune_figure

    result = {
        "config": {k: v for k, v in asdict(settings).items() if k not in tuned.grid.values()},
        "grid": tuned.grid.values(),
        "chosen": asdict(tuned.best.point),
        "trials": tuned.table(),
    }
    write_whole(out / "tuning.json", (json.dumps(result, indent=1, allow_nan=False) + "\n").encode())
    _write_config(replace(settings, **asdict(tuned.best.point)), out / "best.yaml")
    tune_figure(tuned, out / "tuning.svg")


def _write_config(settings: TrainConfig, path: Path) -> None:
    import yaml

    write_whole(path, yaml.safe_dump(asdict(settings), sort_keys=False).encode())


def _show(tuned: Tuned, settings: TrainConfig, out: Path) -> None:
    best = tuned.best
    title = f"{settings.model} + {settings.conv} on {settings.dataset}: validation accuracy {_mean(best)}"
    table = Table(box=None, pad_edge=False)
    for column in ("", "stage", "rounds", "hidden", "lr", "dropout", "decay", "validation", "test", "s"):
        table.add_column(column, justify="right", no_wrap=True)
    # The point that both stages have is listed once, with the stage that tried it.
    ranked = {trial.point: trial for trial in reversed(tuned.trials)}
    for trial in sorted(ranked.values(), key=lambda t: (t.point != best.point, -t.val_mean))[:10]:
        point = trial.point
        row = [
            trial.stage,
            point.layers,
            point.hidden,
            f"{point.lr:g}",
            f"{point.dropout:g}",
            f"{point.weight_decay:g}",
        ]
        row += [_mean(trial), _percent(trial.test_mean), f"{trial.seconds:.1f}"]
        chosen = point == best.point
        table.add_row("✓" if chosen else "", *map(str, row), style="bold" if chosen else None)
    output.print(title, style="bold", highlight=False)
    output.print(table, highlight=False)
    output.print()
    for name, value in {
        "chosen": str(best.point),
        "all trials": out / "tuning.json",
        "picture": out / "tuning.svg",
        "to train it": f"neuraltrees train --config {shlex.quote(str(out / 'best.yaml'))}",
    }.items():
        output.print(Text(f"{name:<13}", style="dim") + Text(str(value)), soft_wrap=True)  # a path stays in one piece


def _mean(trial: TrialDone) -> str:
    spread = "" if trial.val_std is None else f" ± {100 * trial.val_std:.1f}"
    return f"{100 * trial.val_mean:.1f}{spread} %"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
