"""Reliability diagrams: accuracy against confidence."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.objectives.calibration import Calibration
from neuraltrees.plots.style import BLUE, GREY, check_ending, house_style, panels, save_figure


@house_style()
def draw_reliability(found: Mapping[str, Calibration], path: PathLike) -> None:
    """Draws a panel per network: the accuracy of the labels given with each confidence, and how many these are.

    Args:
        found: calibrations by name.
        path: file to write: `.svg`, `.png` or `.pdf`.
    """
    check_ending(path)
    if not found:
        raise InputError("Expected at least one calibration; got none.")
    figure, axes = panels(len(found), width=3.0)
    for place, (name, each) in zip(axes, found.items(), strict=True):
        draw_calibration(place, each)
        place.set_title(f"{name}\ncalibration error {100 * each.error:.1f} %")
    axes[0].set_ylabel("right labels in %\n(grey: share of the nodes)")
    save_figure(figure, path)


def draw_calibration(axes: Axes, found: Calibration) -> None:
    """Draws one calibration: a line of accuracies, the diagonal, and bars of how many labels have each confidence."""
    bins, total = len(found.counts), max(1, sum(found.counts))
    middle = [100 * (number + 0.5) / bins for number in range(bins)]
    shares = [100 * count / total for count in found.counts]
    axes.bar(middle, shares, 100 / bins, color=GREY, alpha=0.25, linewidth=0)
    axes.plot([0, 100], [0, 100], "--", color=GREY, linewidth=1)
    used = [number for number, count in enumerate(found.counts) if count]
    confidence, accuracy = ([100 * each[number] for number in used] for each in (found.confidence, found.accuracy))
    axes.plot(confidence, accuracy, "o-", color=BLUE)
    axes.set(xlim=(0, 100), ylim=(0, 100), xlabel="confidence in %")
