"""A Triton that is missing is done without; one that does not work is said once."""

from __future__ import annotations

import importlib.util

import pytest

from neuraltrees.errors import NeuralTreesWarning
from neuraltrees.nn import triton_kernels


def test_a_triton_that_does_not_work_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("Failed to find C compiler")

    triton_kernels.available.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(triton_kernels, "_probe", broken)
    with pytest.warns(NeuralTreesWarning, match="Failed to find C compiler"):
        assert not triton_kernels.available()
    assert not triton_kernels.available()
    triton_kernels.available.cache_clear()


def test_without_triton_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    triton_kernels.available.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not triton_kernels.available()
    triton_kernels.available.cache_clear()
