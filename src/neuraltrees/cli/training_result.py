"""The results of `neuraltrees train`, as JSON and as tables."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from neuraltrees.cli.terminal import output

if TYPE_CHECKING:
    from neuraltrees.objectives import Confusion, Metric
    from neuraltrees.training.config import TrainConfig
    from neuraltrees.training.runs import Ensemble, Fitted, RunReport


def result_of(
    config: TrainConfig, fitted: Fitted, reports: list[RunReport], ensembles: Sequence[Ensemble]
) -> dict[str, Any]:
    """All results except the curves, as plain values; the reports are those of the test items."""
    import torch

    import neuraltrees

    columns = (fitted.val, fitted.test, fitted.best_epoch, fitted.diverged_in)
    runs = [
        {"seed": run.seed, "val": val, "test": test, "best_epoch": epoch, "diverged_in": diverged or None}
        for run, val, test, epoch, diverged in zip(fitted.runs, *(each.tolist() for each in columns), strict=True)
    ]
    return {
        "config": config.as_dict(),
        "metric": fitted.task.objective.metric.name,
        "runs": [run | {"report": report.as_dict()} for run, report in zip(runs, reports, strict=True)],
        **({"ensembles": [asdict(each) for each in ensembles]} if ensembles else {}),
        "seconds": round(fitted.seconds, 3),
        "versions": {"neuraltrees": neuraltrees.__version__, "torch": torch.__version__},
    }


def as_json(content: dict[str, Any]) -> str:
    return json.dumps(_finite(content), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    """The value with NaN and infinity replaced by None, since JSON has neither."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
    return value


def show_result(
    config: TrainConfig,
    fitted: Fitted,
    reports: list[RunReport],
    ensembles: Sequence[Ensemble],
    folder: Path,
    per_class: bool,
) -> None:
    """Prints a row per run, then a row per ensemble, and with `per_class` a row per class of the best run."""
    import torch

    objective = fitted.task.objective
    metric = objective.metric
    others = [name for name in objective.metrics if name != metric.name]
    table = Table(box=None, pad_edge=False)
    for column in ("run", "seed", "best epoch", "validation", "test", *(f"test {name}" for name in others)):
        table.add_column(column, justify="right", no_wrap=True)
    for number, (run, report) in enumerate(zip(fitted.runs, reports, strict=True)):
        shown = [metric.show(float(each[number])) for each in (fitted.val, fitted.test)]
        shown += [objective.metrics[name].show(report.metrics[name]) for name in others]
        table.add_row(str(number), str(run.seed), str(int(fitted.best_epoch[number])), *shown)
    for each in ensembles:
        name = f"{each.runs[0]}–{each.runs[-1]}" if each.runs else "–"
        table.add_row(f"{name} together", *["", ""], *[metric.show(value) for value in (each.val, each.test)])
    test = torch.tensor([each.test for each in ensembles]) if ensembles else fitted.test
    of = f", ensembles of {config.ensemble}" if ensembles else ""
    title = f"{config.network.name} on {config.dataset}{of}: test {metric.name} {_mean(test, metric)}"
    output.print(title, style="bold", highlight=False, soft_wrap=True)
    output.print(table)
    if per_class:
        _show_classes(reports[fitted.best_run], fitted.best_run)
    kept = [name for name in ("result.json", "curves.svg", "model.safetensors") if (folder / name).exists()]
    output.print(f"Saved in {folder}: {', '.join(kept)}", highlight=False, markup=False, soft_wrap=True)


def _show_classes(report: RunReport, run: int) -> None:
    """Prints precision, recall and F1 of every class, and the class that it is most often confused with."""
    if not report.confusions:
        output.print("There are no classes to report: labels are not classes.", highlight=False)
        return
    several = len(report.confusions) > 1
    table = Table(box=None, pad_edge=False)
    for column in (["type"] if several else []) + ["class"]:
        table.add_column(column, no_wrap=True)
    for column in ("precision", "recall", "F1", "items"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("taken for", no_wrap=True)
    for confusion in report.confusions:
        for row in _rows(confusion):
            table.add_row(*([confusion.type] if several else []), *row)
    output.print()
    output.print(f"Classes of the test items, run {run}", style="bold", highlight=False)
    output.print(table)


def _rows(confusion: Confusion) -> list[list[str]]:
    rows = []
    for place, label in enumerate(confusion.labels):
        scores = (confusion.precision, confusion.recall, confusion.f1)
        shown = [f"{100 * float(each[place]):.1f} %" if each[place].isfinite() else "–" for each in scores]
        wrong = confusion.counts[place].clone()
        wrong[place] = 0
        other = int(wrong.argmax())
        taken = f"{confusion.labels[other]} ({int(wrong[other])})" if int(wrong[other]) else "–"
        rows.append([label, *shown, str(int(confusion.support[place])), taken])
    return rows


def _mean(values: Any, metric: Metric) -> str:
    known = values[values.isfinite()]
    if len(known) < 2:
        return metric.show(float(known.mean()))
    return metric.show_spread(float(known.mean()), float(known.std()))
