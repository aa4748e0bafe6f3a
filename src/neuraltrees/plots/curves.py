"""Learning curves as a figure."""

from __future__ import annotations

from neuraltrees.files import PathLike
from neuraltrees.plots.style import BLUE, GREY, VERMILION, check_ending, house_style, panels, save_figure
from neuraltrees.training.runs import Fitted


@house_style()
def draw_curves(fitted: Fitted, path: PathLike) -> None:
    """Draws the loss and the metrics per epoch: the mean over the runs, and a band from the lowest to the highest run.

    Args:
        fitted: the result of a training.
        path: file to write: `.svg`, `.png` or `.pdf`.
    """
    check_ending(path)
    figure, (left, right) = panels(2, width=4.5)
    metric = fitted.task.objective.metric
    scale = 100 if metric.percent else 1
    curves = (
        (left, fitted.loss_curve, "training loss", GREY, "-"),
        (right, scale * fitted.val_curve, "validation", BLUE, "-"),
        (right, scale * fitted.test_curve, "test", VERMILION, "--"),
    )
    for axes, curve, name, color, dashes in curves:
        measured = (~curve.isnan()).any(1).nonzero().flatten()
        epochs, curve = (measured + 1).tolist(), curve[measured]
        marker = "o" if len(curve) == 1 else None
        axes.plot(epochs, curve.nanmean(1), dashes, color=color, label=name, marker=marker)
        if curve.shape[1] > 1:
            low, high = curve.nan_to_num(float("inf")).amin(1), curve.nan_to_num(float("-inf")).amax(1)
            axes.fill_between(epochs, low, high, color=color, alpha=0.15, linewidth=0)
        axes.set_xlabel("epoch")
    left.set_ylabel("mean loss per item")
    right.set_ylabel(f"{metric.name} in %" if metric.percent else metric.name)
    right.legend(loc="lower right" if metric.higher_is_better else "upper right")
    save_figure(figure, path)
