"""Calibration against a plain loop, and its figure."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

import neuraltrees as nt
from neuraltrees.objectives import Calibration


def test_agrees_with_a_loop() -> None:
    stream = torch.Generator().manual_seed(0)
    probabilities = (3 * torch.randn(500, 4, generator=stream)).softmax(1)
    y = torch.multinomial(probabilities, 1, generator=stream).squeeze(1)
    y[:20] = -1
    found = Calibration.of(probabilities, y, bins=10)
    total, error = 0, 0.0
    for number in range(10):
        low, high = number / 10, (number + 1) / 10
        inside = [
            (float(row.max()), int(row.argmax()) == int(label))
            for row, label in zip(probabilities, y, strict=True)
            if label >= 0 and low < float(row.max()) <= high
        ]
        assert found.counts[number] == len(inside)
        if inside:
            sure, right = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            assert found.confidence[number] == pytest.approx(sure)
            assert found.accuracy[number] == pytest.approx(right)
            total, error = total + len(inside), error + len(inside) * abs(sure - right)
    assert found.error == pytest.approx(error / total)
    assert found.error < 0.08  # labels were drawn from these very probabilities


def test_overconfidence_is_seen() -> None:
    sure = torch.tensor([[0.99, 0.01]]).expand(100, 2)
    assert Calibration.of(sure, torch.arange(100) % 2).error == pytest.approx(0.49, abs=1e-6)


def test_nothing_labelled_has_no_error() -> None:
    assert math.isnan(Calibration.of(torch.ones(3, 1), torch.full((3,), -1)).error)


def test_bad_input() -> None:
    with pytest.raises(nt.InputError, match="a label per item"):
        Calibration.of(torch.ones(3, 2), torch.zeros(4).long())


def test_the_figure_says_its_error(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra plots")
    from neuraltrees.plots.calibration import draw_reliability

    found = Calibration((0, 4, 6), (math.nan, 0.5, 0.9), (math.nan, 0.6, 0.8))
    draw_reliability({"head": found}, tmp_path / "reliability.svg")
    assert "calibration error 10.0 %" in (tmp_path / "reliability.svg").read_text()
    with pytest.raises(nt.InputError, match="at least one calibration"):
        draw_reliability({}, tmp_path / "none.svg")
