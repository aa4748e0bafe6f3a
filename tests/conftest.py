"""What tests of every folder share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# CI tries the same examples in every run, so that a failure comes from a change; runs by hand try others.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# Two threads that share a busy core wait for each other most of the time, and these tensors are small.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# `tests.oracle` is imported from the repository's root, wherever pytest was started.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.append(ROOT)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a GPU say so where there is none."""
    import torch

    if not torch.cuda.is_available():
        skip = pytest.mark.skip(reason="torch finds no CUDA device; run `pytest -m gpu` on a machine with a GPU")
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of the public datasets (stanford3dsg/, planetoid/, treewidth/, ...)."""
    folder = os.environ.get("NEURALTREES_DATA")
    if not folder:
        pytest.skip("NEURALTREES_DATA is not set: export NEURALTREES_DATA=/path/to/datasets to run tests on real data")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"Expected NEURALTREES_DATA to name the folder of the datasets, got {folder!r}.")
    return path
