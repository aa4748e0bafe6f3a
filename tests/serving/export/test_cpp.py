"""The example in C++: compiled against the installed core and torch's own library, it answers as Python does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import neuraltrees as nt
from neuraltrees.serving.export import export
from tests.serving.export.models import KINDS, sparse_graph, trained

ROOT = Path(__file__).resolve().parents[3]
TOOLS = Path(sys.executable).parent


def call(*command: object) -> str:
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=900)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout


def test_the_example_answers_as_python_does(tmp_path: Path) -> None:
    cmake = shutil.which("cmake", path=str(TOOLS)) or shutil.which("cmake")
    if cmake is None or shutil.which("g++") is None:
        pytest.skip("the example needs cmake and g++")
    installed, core, built = (tmp_path / name for name in ("installed", "core", "predict"))
    # Without optimisation, which takes most of the time of a build.
    unoptimised = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    call(cmake, "-S", ROOT / "cpp", "-B", core, f"-DCMAKE_INSTALL_PREFIX={installed}", *unoptimised)
    call(cmake, "--build", core, "--target", "install", "--parallel", 2)
    found = f"{installed};{torch.utils.cmake_prefix_path}"
    call(cmake, "-S", ROOT / "examples" / "cpp", "-B", built, f"-DCMAKE_PREFIX_PATH={found}", *unoptimised)
    call(cmake, "--build", built)

    bundle = trained("sage", KINDS[0])
    export(bundle, tmp_path / "model.pt2", "aoti")
    predictor = nt.Predictor(bundle)
    for size in (3, 60):
        graph = sparse_graph(size, seed=size)
        nodes = zip(graph.node_type.tolist(), graph.x.tolist(), strict=True)
        lines = [f"{size} 5 {graph.edge_index.shape[1]}"]
        lines += [" ".join([str(kind), *map(repr, x)]) for kind, x in nodes]
        lines += [f"{a} {b}" for a, b in graph.edge_index.t().tolist()]
        (tmp_path / "graph.txt").write_text("\n".join(lines))
        said = call(built / "predict", tmp_path / "model.pt2", tmp_path / "graph.txt")
        answers = np.array([list(map(float, line.split())) for line in said.splitlines()])
        np.testing.assert_allclose(answers, predictor.predict([graph])[0].numpy(), atol=1e-5)
    command = [built / "predict", tmp_path / "model.pt2", tmp_path / "none"]
    wrong = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert wrong.returncode == 1 and wrong.stderr.startswith("Expected nodes, features and edges in the first line")
