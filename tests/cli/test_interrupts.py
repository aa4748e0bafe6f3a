"""Ctrl-C during native work: exit code 130, soon, and nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import neuraltrees as nt
from tests.commands import started

DATASET = """
import neuraltrees as nt, numpy as np, torch
from torch_geometric.data import Data

def load(options):
    edges = torch.from_numpy(np.random.default_rng(0).integers(0, 20000, (2, 80000)))
    return nt.Task([Data(x=torch.ones(20000, 1), y=torch.arange(20000) % 2, edge_index=edges)], ("even", "odd"))
"""
# What the command imports is imported before it says that it is ready, so that the signal finds it at work.
SCRIPT = """
import sys, torch, torch_geometric.data
import neuraltrees.training, neuraltrees.htree
from neuraltrees.cli import main
print("ready", flush=True)
main()
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that takes every method many seconds."""
    path = tmp_path_factory.mktemp("large") / "large.gr"
    nt.Graph(np.random.default_rng(0).integers(0, 40_000, (2, 160_000)), num_nodes=40_000).write_gr(path)
    return path


def interrupted(folder: Path, *arguments: object) -> tuple[int, str, float]:
    """Exit code, standard error, and the seconds from the signal to the end."""
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    with started(command, cwd=folder) as process:
        assert process.lines(1) == ["ready"]
        time.sleep(1.5)
        assert process.process.poll() is None, "it ended before the signal"
        sent = time.perf_counter()
        os.kill(process.pid, signal.SIGINT)
        return process.wait(60), process.errors, time.perf_counter() - sent


@pytest.mark.parametrize("method", ["min_fill", "min_degree", "junction_tree", "exact", "best"])
def test_decompose_stops(method: str, large: Path, tmp_path: Path) -> None:
    code, told, seconds = interrupted(tmp_path, "decompose", large, "-m", method, "--out", "out.td")
    assert (code, told) == (130, "Stopped.\n")
    assert seconds < 10
    assert list(tmp_path.iterdir()) == []


def test_htree_stops(large: Path, tmp_path: Path) -> None:
    code, told, seconds = interrupted(tmp_path, "htree", large, "--out", "out.safetensors")
    assert (code, told) == (130, "Stopped.\n")
    assert seconds < 10
    assert list(tmp_path.iterdir()) == []


def test_train_stops_while_it_builds_trees(tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(DATASET)
    code, told, seconds = interrupted(tmp_path, "train", "--dataset", "wide:load", "--out", "run")
    assert (code, told) == (130, "Stopped.\n")
    assert seconds < 10
    assert not (tmp_path / "run").exists()
