"""Reliability diagrams: accuracy against confidence."""

from __future__ import annotations

from collections.abc import Mapping

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
        bins, total = len(each.counts), max(1, sum(each.counts))
        middle = [100 * (bin + 0.5) / bins for bin in range(bins)]
        place.bar(
            middle, [100 * count / total for count in each.counts], 100 / bins, color=GREY, alpha=0.25, linewidth=0
        )
        place.plot([0, 100], [0, 100], "--", color=GREY, linewidth=1)
        used = [bin for bin, count in enumerate(each.counts) if count]
        place.plot(
            [100 * each.confidence[bin] for bin in used], [100 * each.accuracy[bin] for bin in used], "o-", color=BLUE
        )
        place.set(
            xlim=(0, 100),
            ylim=(0, 100),
            xlabel="confidence in %",
            title=f"{name}\ncalibration error {100 * each.error:.1f} %",
        )
    axes[0].set_ylabel("right labels in %\n(grey: share of the nodes)")
    save_figure(figure, path)
