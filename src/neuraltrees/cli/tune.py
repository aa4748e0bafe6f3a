"""neuraltrees tune: tune the hyper-parameters of a network on a dataset, by a grid search in two stages."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from neuraltrees.cli.options import AsJson, DataRoot, Executor, RayAddress, chosen_execution
from neuraltrees.cli.terminal import QUIET, notes, output, print_table, working
from neuraltrees.cli.training_result import as_json
from neuraltrees.errors import InputError, MissingExtraError
from neuraltrees.files import locked_folder, write_whole

if TYPE_CHECKING:
    from neuraltrees.objectives import Metric
    from neuraltrees.pools.execution import Execution
    from neuraltrees.training.config import TrainConfig
    from neuraltrees.tuning.grid import Grid
    from neuraltrees.tuning.search import OnTrial
    from neuraltrees.tuning.trials import Trial, Tuned

GRID = "Grid"
SEVERAL = ", separated by commas; by default the paper's."
Numbers = list[str] | None


def tune_command(
    config: Annotated[
        Path | None, typer.Option(help="YAML file with the options that are not tuned.", show_default=False)
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of a dataset, or your own MODULE:FUNCTION.", show_default=False)
    ] = None,
    model: Annotated[str | None, typer.Option(help="neural-tree, gnn or mlp.", show_default=False)] = None,
    conv: Annotated[
        str | None, typer.Option(help="gcn, sage, gat, gin, or your own MODULE:NAME.", show_default=False)
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Independent runs per trial, trained at once.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Run r uses the seed SEED + r for its split, weights and dropout.", show_default=False),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs per trial.", show_default=False)] = None,
    workers: Annotated[int, typer.Option(help="Trials that run at the same time, with one thread each.")] = 1,
    executor: Executor = "processes",
    ray_address: RayAddress = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="Folder for the trials and the results.")] = Path("neuraltrees-tuning"),
    data_root: DataRoot = None,
    layers: Annotated[
        Numbers, typer.Option(help="Numbers of rounds of messages" + SEVERAL, metavar="N,N,…", rich_help_panel=GRID)
    ] = None,
    hidden: Annotated[
        Numbers, typer.Option(help="Sizes of the states" + SEVERAL, metavar="N,N,…", rich_help_panel=GRID)
    ] = None,
    lr: Annotated[Numbers, typer.Option(help="Learning rates" + SEVERAL, metavar="X,X,…", rich_help_panel=GRID)] = None,
    dropout: Annotated[
        Numbers, typer.Option(help="Dropout rates" + SEVERAL, metavar="X,X,…", rich_help_panel=GRID)
    ] = None,
    weight_decay: Annotated[
        Numbers, typer.Option(help="Weight decays" + SEVERAL, metavar="X,X,…", rich_help_panel=GRID)
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Another hyper-parameter to tune in the first stage, such as heads=2,4; repeat for several.",
            metavar="NAME=X,X,…",
            rich_help_panel=GRID,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the tuning in the folder --out: run the missing trials.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Find the hyper-parameters with the best mean validation metric, by the grid search of the paper.

    The first stage tries all combinations of rounds, sizes and learning rates with the lowest dropout and weight decay;
    the second tries all dropout rates and weight decays with the best combination of the first. Finished trials are
    saved in the output folder; rerun the same command with --resume to continue.

    Example: neuraltrees tune --dataset synthetic --conv sage --layers 2,3,4 --hidden 32,64 --workers 4
    """
    axes = {"layers": layers, "hidden": hidden, "lr": lr, "dropout": dropout, "weight_decay": weight_decay}
    given: dict[str, list[Any]] = {
        name: _numbers(name, values, int if name in ("layers", "hidden") else float)
        for name, values in axes.items()
        if values
    }
    given |= dict(_named_values(text) for text in vary or [])
    overrides = {"dataset": dataset, "model": model, "conv": conv, "runs": runs, "seed": seed, "epochs": epochs}
    overrides |= {"device": device, "data_root": None if data_root is None else str(data_root)}
    execution = chosen_execution(executor, workers, ray_address)
    _check_folder(out, resume)
    settings, grid = _settings(out, config, overrides, given, resume)
    with locked_folder(out):
        _check_folder(out, resume)  # another process may have been quicker
        tuned, metric, figure = _tune(settings, grid, out, execution)
    if json:
        print(as_json(_plain(tuned, metric, out)))
    else:
        _show(tuned, metric, settings, out, figure)


def _check_folder(out: Path, resume: bool) -> None:
    """Raises `InputError` for a folder of other results, one with trials, or with --resume one without a tuning."""
    if (out / "checkpoint.safetensors").exists():
        raise InputError(f"Expected a folder without a training; got {out}, which has one. Choose another --out.")
    if resume and not (out / "config.yaml").exists():
        raise InputError(
            f"Expected a folder with a tuning to continue; got {out}, which has none. "
            f"Check --out, or leave out --resume to start a new one."
        )
    if not resume and (out / "tuning.json").exists():
        raise InputError(
            f"Expected a folder without trials; got {out}, which has some. Add --resume to run the missing ones, "
            f"or choose another --out."
        )


def _tune(settings: TrainConfig, grid: Grid, out: Path, execution: Execution) -> tuple[Tuned, Metric, str]:
    """The trials, the metric that compares them, and the path of their figure."""
    with working("loading"):
        from neuraltrees.training.problem import load_problem
        from neuraltrees.tuning.grid import PAPER_STAGES
        from neuraltrees.tuning.tune import has_trials, tune

        problem = load_problem(settings)
    if not has_trials(out):
        _write_config(settings, out / "config.yaml")
    total = sum(grid.stage(names, {}).size for names in grid.stages(PAPER_STAGES))
    metric = problem.task.objective.metric
    with _progress(total, metric) as on_trial:
        tuned = tune(
            problem.task,
            problem.runs,
            settings.network,
            settings.training,
            grid,
            folder=out,
            workers=execution.workers,
            executor=execution.executor,
            ray_address=execution.ray_address,
            device=settings.device,
            on_trial=on_trial,
        )
    _write_config(settings.replace(**tuned.best.point), out / "best.yaml")
    return tuned, metric, _draw(tuned, out / "tuning.svg")


def _plain(tuned: Tuned, metric: Metric, out: Path) -> dict[str, Any]:
    """The result as plain values: the best trial first."""
    ranked = [vars(trial) | {"point": dict(trial.point)} for trial in tuned.ranked()]
    best = dict(tuned.best.point)
    return {"metric": metric.name, "best": best, "trials": ranked, "folder": str(out), "config": str(out / "best.yaml")}


def _numbers(name: str, given: Sequence[str], kind: type[int] | type[float]) -> list[float]:
    try:
        return [kind(part) for text in given for part in text.replace(",", " ").split()]
    except ValueError:
        flag, what = f"--{name.replace('_', '-')}", "whole numbers" if kind is int else "numbers"
        raise InputError(f"Expected {flag} as {what} separated by commas; got {' '.join(given)!r}.") from None


def _named_values(text: str) -> tuple[str, list[Any]]:
    import yaml

    name, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise InputError(f"Expected --vary as NAME=X,X, such as heads=2,4; got {text!r}.")
    try:
        return name.strip().replace("-", "_"), [yaml.safe_load(value) for value in values.split(",")]
    except yaml.YAMLError:
        raise InputError(f"Expected --vary as NAME=X,X with numbers or words; got {text!r}.") from None


def _settings(
    out: Path, config: Path | None, overrides: dict[str, Any], given: dict[str, Any], resume: bool
) -> tuple[TrainConfig, Grid]:
    """The fixed settings and the grid; when resuming, what is not given is read from the folder."""
    from neuraltrees.training.config import load_config
    from neuraltrees.tuning.grid import PAPER_GRID

    grid = PAPER_GRID
    if resume and config is None and (out / "config.yaml").exists():
        config = out / "config.yaml"
    if resume and (out / "tuning.json").exists():
        from neuraltrees.tuning.tune import stored_grid

        grid = stored_grid(out)
    settings = load_config(config, overrides)
    if settings.ensemble > 1:
        raise InputError(
            f"Expected ensemble: 1 for a tuning, which compares single networks; got {settings.ensemble} in {config}. "
            f"Remove it; train the best hyper-parameters with --ensemble {settings.ensemble}."
        )
    return settings, grid.replace(**given)


@contextmanager
def _progress(total: int, metric: Metric) -> Iterator[OnTrial]:
    columns = (
        SpinnerColumn(),
        TextColumn("stage {task.fields[stage]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[best]}"),
    )
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("", total=total, stage=1, best="")
        best: Trial | None = None
        done, last = 0, time.monotonic()

        def on_trial(trial: Trial) -> None:
            nonlocal best, done, last
            sign, done = 1 if metric.higher_is_better else -1, done + 1
            finite = math.isfinite(trial.val_mean)  # that of a training that diverged is not
            if finite and (best is None or sign * trial.val_mean > sign * best.val_mean):
                best = trial
            shown = "" if best is None else f"best {metric.show(best.val_mean)}: {best.point}"
            progress.update(bar, advance=1, stage=trial.stage, best=shown)
            if not notes.is_terminal and time.monotonic() - last >= QUIET:
                last = time.monotonic()
                line = f"stage {trial.stage}  trial {done}/{total}  {shown}"
                notes.print(line, highlight=False, markup=False, soft_wrap=True)

        yield on_trial


def _draw(tuned: Tuned, path: Path) -> str:
    """The path of the figure, or why it was not drawn."""
    try:
        from neuraltrees.plots.tuning import tune_figure
    except MissingExtraError as error:
        return f"not drawn. {error}"
    tune_figure(tuned, path)
    return str(path)


def _write_config(settings: TrainConfig, path: Path) -> None:
    import yaml

    write_whole(path, yaml.safe_dump(settings.as_dict(), sort_keys=False).encode())


def _show(tuned: Tuned, metric: Metric, settings: TrainConfig, out: Path, figure: str) -> None:
    from neuraltrees.tuning.grid import shown

    best = tuned.best
    network = f"{settings.network.name} on {settings.dataset}"
    title = f"{network}: validation {metric.name} {_mean(best, metric)}"
    short = {"layers": "rounds", "weight_decay": "decay"}
    header = ("", "stage", *(short.get(name, name) for name in tuned.grid), "validation", "test", "s")
    top = tuned.ranked()[:10]
    rows = []
    for trial in top:
        row = [str(trial.stage), *(shown(value) for value in trial.point.values())]
        row += [_mean(trial, metric), metric.show(trial.test_mean), f"{trial.seconds:.1f}"]
        rows.append(["✓" if trial.point == best.point else "", *row])
    print_table(title, header, rows, best={place for place, row in enumerate(rows) if row[0]})
    output.print()
    for name, value in {
        "chosen": str(best.point),
        "all trials": out / "tuning.json",
        "figure": figure,
        "to train it": f"neuraltrees train --config {shlex.quote(str(out / 'best.yaml'))}",
    }.items():
        output.print(Text(f"{name:<13}", style="dim") + Text(str(value)), soft_wrap=True)  # do not break paths


def _mean(trial: Trial, metric: Metric) -> str:
    if trial.val_std is None:
        return metric.show(trial.val_mean)
    return metric.show_spread(trial.val_mean, trial.val_std)
