"""Learning curves as a picture."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike, write_whole
from neuraltrees.training.runs import Fitted

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#555555"


def draw_curves(fitted: Fitted, path: PathLike) -> None:
    """Draws loss and accuracies by epoch: the mean over the runs, and from the lowest to the highest of them.

    Args:
        fitted: a training.
        path: `.svg`, `.png` or `.pdf`.
    """
    suffix = Path(path).suffix.removeprefix(".")
    if suffix not in ("svg", "png", "pdf"):
        raise InputError(f"Expected a path that ends in .svg, .png or .pdf; got {path}.")
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    curves = (
        (left, fitted.loss_curve, "training loss", GREY, "-"),
        (right, 100 * fitted.val_curve, "validation", BLUE, "-"),
        (right, 100 * fitted.test_curve, "test", ORANGE, "--"),
    )
    for axes, curve, name, colour, line in curves:
        epochs = range(1, len(curve) + 1)
        marker = "o" if len(curve) == 1 else None
        axes.plot(epochs, curve.nanmean(1), line, color=colour, label=name, marker=marker)
        if curve.shape[1] > 1:
            low, high = curve.nan_to_num(float("inf")).amin(1), curve.nan_to_num(float("-inf")).amax(1)
            axes.fill_between(epochs, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_xlabel("epoch")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    left.set_ylabel("cross entropy")
    right.set_ylabel("accuracy in %")
    right.legend(frameon=False, loc="lower right")
    buffer = BytesIO()
    figure.savefig(buffer, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
    write_whole(path, buffer.getvalue())
