"""Exported programs against the networks they come from: answers in every run, and times.

.venv/bin/python benchmarks/export.py
.venv/bin/python benchmarks/export.py --only gat --formats onnx --runs 20
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import neuraltrees as nt
from neuraltrees.serving.export import FORMATS, Format, Program, export

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.serving.export.models import CONVS, KINDS, Kind, random_graph, trained

MOST = 1e-5
SIZES = (30, 300, 3000)
THREADS = (1, 2, 4)
console = Console(width=150)


def runner(format: Format, path: Path, program: Program, threads: int) -> Callable[..., Tensor]:
    """What computes the program of a file with so many threads."""
    if format == "onnx":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])

        def run(*tensors: Tensor) -> Tensor:
            given = {name: each.numpy() for name, each in zip(program.inputs, tensors, strict=True)}
            return torch.from_numpy(session.run(None, given)[0])

        return run
    torch.set_num_threads(threads)
    if format == "torch":
        loaded: Callable[..., Tensor] = torch.export.load(path).module()
        return loaded
    from torch._inductor import aoti_load_package

    compiled: Callable[..., Tensor] = aoti_load_package(str(path))
    return compiled


def compare(conv: str, kind: Kind, format: Format, runs: int, folder: Path, table: Table) -> bool:
    bundle = trained(conv, kind)
    predictor = nt.Predictor(bundle)
    path = folder / f"{conv}-{kind.name}-{format}{'.onnx' if format == 'onnx' else '.pt2'}"
    start = time.perf_counter()
    program = export(bundle, path, format)
    made = time.perf_counter() - start
    worst, ratio = 0.0, []
    for size in SIZES:
        graph = random_graph(size, bundle, seed=size)
        (expected,) = predictor.predict([graph])
        tensors = program.tensors(graph)
        for threads in THREADS:
            run = runner(format, path, program, threads)
            start = time.perf_counter()
            for _ in range(runs):
                answers = run(*tensors)
                worst = max(worst, float((answers - expected).abs().max()))
            ours = time.perf_counter() - start
            torch.set_num_threads(threads)
            start = time.perf_counter()
            with torch.no_grad():
                for _ in range(runs):
                    program.module(*tensors)
            ratio.append((time.perf_counter() - start) / ours)
    good = worst <= MOST
    times = " ".join(f"{each:.1f}" for each in ratio)
    table.add_row(conv, kind.name, format, f"{made:.0f} s", f"{worst:.1e}", "yes" if good else "NO", times)
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=CONVS, choices=CONVS, help="convolutions")
    parser.add_argument("--kinds", nargs="+", default=[kind.name for kind in KINDS], help="networks and heads")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    table = Table(title=f"Largest difference in {options.runs} runs each of {SIZES} nodes on {THREADS} threads")
    for name in ("convolution", "network", "format", "export", "difference", f"≤ {MOST}", "× faster than eager"):
        table.add_column(name)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for conv in options.only:
            for kind in KINDS:
                for format in options.formats if kind.name in options.kinds else ():
                    good &= compare(conv, kind, format, options.runs, Path(folder), table)
    console.print(table)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
