"""Benchmarks exact inference: against pyAgrum and pgmpy, a batch against one by one, and memory; one thread each.

.venv/bin/python benchmarks/inference.py                         # against pyAgrum, then batches and memory
.venv/bin/python benchmarks/inference.py --only held-out         # pyAgrum on generated networks alone; no data needed
.venv/bin/python benchmarks/inference.py --only batch forest memory
.venv/bin/python benchmarks/inference.py --only pgmpy --pgmpy-python VENV/bin/python    # an environment that has pgmpy
.venv/bin/python benchmarks/inference.py --only gpu    # on a machine that has one

Times are from a parsed model to the marginals of all variables as arrays. For us that is choosing a decomposition,
planning and both passes; for the rivals creating the engine, setting the evidence, inference and all posteriors. Every
model runs in a separate process; the shortest time counts. Against pyAgrum both run in turns, its best engine counts,
and a second time is that of other states of the observed variables with engine or tree at hand (agrum_rival.py).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from rich.table import Table

import neuraltrees as nt
from neuraltrees.inference import (
    BayesianNetwork,
    JunctionTree,
    MarkovNetwork,
    random_markov_network,
    read_bif,
    read_evidence,
    read_uai,
)

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.bars import Row, console, report
from benchmarks.held_out import NETWORKS
from benchmarks.inference_batches import batch, forest, gpu
from benchmarks.turns import high_water, shortest

torch.set_num_threads(1)
LIMIT = {"pyagrum": 300, "pgmpy": 60}  # seconds


def model_paths(data: Path) -> list[Path]:
    return sorted((data / "pgm" / "bif").glob("*.bif.gz")) + sorted((data / "pgm" / "uai").glob("*.uai"))


def read(path: Path) -> tuple[MarkovNetwork | BayesianNetwork, dict[int, int]]:
    if path.suffix == ".uai":
        return read_uai(path), read_evidence(f"{path}.evid")
    return read_bif(path), {}


def measure_ours(path: Path) -> dict[str, float]:
    model, evidence = read(path)
    network = model.to_markov() if isinstance(model, BayesianNetwork) else model

    def whole() -> list[np.ndarray]:
        tree = JunctionTree.of(network, evidence)
        return [each.numpy() for each in tree.run(network.log_potentials).marginals]

    tree = JunctionTree.of(network, evidence)
    return {
        "seconds": shortest(whole),
        "plan": shortest(lambda: JunctionTree.of(network, evidence)),
        "entries": tree.entries,
    }


def measure_memory(path: Path) -> dict[str, float]:
    """Growth of the peak memory during one run, relative to the tables, after a smaller model as warm-up."""
    small = random_markov_network(nt.Graph([[0], [1]]), 2)
    JunctionTree.of(small).run(small.log_potentials)
    model, evidence = read(path)
    network = model.to_markov() if isinstance(model, BayesianNetwork) else model
    tree = JunctionTree.of(network, evidence)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak to the current resident memory
    before = high_water() * 2**30
    tree.run(network.log_potentials)
    return {"ratio": (high_water() * 2**30 - before) / (8 * tree.entries), "bytes": 8 * tree.entries}


MEASURES = {"ours": measure_ours, "memory": measure_memory}


def in_process(measure: str, path: Path, limit: float | None = None) -> dict[str, float] | str:
    """The result of a measurement in a fresh process, or a word on why it failed."""
    command = [sys.executable, __file__, "--measure", measure, str(path)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"> {limit:.0f} s"
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["killed"])[-1]
        return "out of memory" if "bad_alloc" in last or ran.returncode < 0 else last[:40]
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def measure_pgmpy(path: Path, python: Path, limit: float) -> float | str:
    """The time of pgmpy in seconds; it gets the model without the observed variables."""
    model, evidence = read(path)
    network = model.to_markov() if isinstance(model, BayesianNetwork) else model
    stored: dict[str, np.ndarray] = {"cardinalities": np.array(network.cardinalities)}
    count = 0
    for clique, table in zip(network.cliques, network.log_potentials, strict=True):
        seen = table.exp().numpy()[tuple(evidence.get(v, slice(None)) for v in clique)]
        scope = [v for v in clique if v not in evidence]
        if scope:
            stored[f"scope{count}"], stored[f"table{count}"] = np.array(scope), seen
            count += 1
    free = [v for v in range(network.num_variables) if v not in evidence]
    number = {v: i for i, v in enumerate(free)}
    stored["cardinalities"] = stored["cardinalities"][free]
    stored["bayesian"] = np.array(isinstance(model, BayesianNetwork))
    for k in range(count):
        stored[f"scope{k}"] = np.array([number[v] for v in stored[f"scope{k}"]])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.npz"
        np.savez(file, **stored)
        script = Path(__file__).with_name("pgmpy_rival.py")
        imports = 10  # seconds in addition to the limit, for imports and for returning the marginals
        try:
            ran = subprocess.run(
                [python, "-W", "ignore", script, file, str(limit)],
                capture_output=True,
                text=True,
                timeout=limit + imports,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"> {limit:.0f} s"
        if ran.returncode:
            return (ran.stderr.strip().splitlines() or ["killed"])[-1][:40]
        taken = float(ran.stdout.split()[-1])
        ours = JunctionTree.of(network, evidence).run(network.log_potentials).marginals
        with np.load(f"{file}.out.npz") as found:
            worst = max(abs(found[str(i)] - ours[v].numpy()).max() for v, i in number.items())
        if not worst < 1e-6:
            return f"wrong by {worst:.1g}"
        return taken if taken <= limit else f"> {limit:.0f} s"


def compared(
    rival: str, measure: Callable[[Path], float | str], data: Path
) -> tuple[dict[str, float], dict[str, float]]:
    """Our seconds for every model, and those of the rival where its answer is right and in time."""
    table = Table(title="seconds from a parsed model to all marginals")
    for column in ("model", "table entries", "neuraltrees", "of it planning", rival):
        table.add_column(column, justify="left" if column == "model" else "right")
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for path in model_paths(data):
        name = path.name.split(".")[0]
        with console.status(f"running {name}"):
            mine, found = in_process("ours", path), measure(path)
        if isinstance(mine, str):
            sys.exit(f"{name}: {mine}")
        ours[name] = mine["seconds"]
        if not isinstance(found, str):
            theirs[name] = found
        shown = found if isinstance(found, str) else f"{found:.4f}"
        table.add_row(name, f"{mine['entries']:,.0f}", f"{mine['seconds']:.4f}", f"{mine['plan']:.4f}", shown)
        console.print(f"{name}: {mine['seconds']:.4f} s, {rival} {shown}", highlight=False)
    console.print(table)
    return ours, theirs


def versus(name: str) -> dict[str, Any]:
    """What `agrum_rival.py` measured before it ended, was killed or ran out of time."""
    command = [sys.executable, str(Path(__file__).with_name("agrum_rival.py")), name]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT["pyagrum"], check=False)
        lines, why = ran.stdout.splitlines(), (ran.stderr.strip().splitlines() or ["killed"])[-1]
    except subprocess.TimeoutExpired as expired:
        lines, why = (expired.stdout or b"").decode().splitlines(), f"> {LIMIT['pyagrum']} s"
    if not lines:
        sys.exit(f"{name}: {why}")
    return {"failed": why if len(lines) == 1 else "", **json.loads(lines[-1])}


def against_pyagrum(kind: str, names: list[str]) -> list[Row]:
    """The times of one kind of networks, and how often pyAgrum's best engine is faster than this library."""
    table = Table(
        title=f"{kind}: milliseconds of CPU time for all marginals, neuraltrees and the best engine of pyAgrum"
    )
    for column in ("network", "table entries", "new", "pyAgrum", "×", "other evidence", "pyAgrum", "×", ""):
        table.add_column(column, justify="left" if column == "network" else "right")
    totals = {question: [0.0, 0.0] for question in ("whole", "again")}
    ratios: dict[str, dict[str, float]] = {"whole": {}, "again": {}}
    for name in names:
        with console.status(f"running {name}"):
            found = versus(name)
        shown = [Path(name).name.split(".")[0], f"{found['entries']:,.0f}"]
        for question in totals:
            times = dict(found[question])
            mine = times.pop("neuraltrees")
            rival = min(times.values(), default=None)
            shown.append(f"{1e3 * mine:.3f}")
            shown += ["–", "–"] if rival is None else [f"{1e3 * rival:.3f}", f"{rival / mine:.1f}"]
            if rival is not None:
                totals[question] = [totals[question][0] + mine, totals[question][1] + rival]
                ratios[question][shown[0]] = rival / mine
        shown.append(str(found["failed"]))
        table.add_row(*shown)
        console.print(" ".join(shown), highlight=False)
    console.print(table)
    rows = []
    for question, words in (("whole", "from a parsed model"), ("again", "other evidence, tree or engine at hand")):
        mine, rival = totals[question]
        worst = min(ratios[question], key=lambda name: ratios[question][name])
        what = f"{kind}, {words}, {len(ratios[question])} that pyAgrum finishes: {mine:.3f} s against {rival:.3f} s"
        rows.append(Row(what, f"{rival / mine:.1f} × faster", "–", True))
        least = ratios[question][worst]
        rows.append(Row(f"the same, the least ratio of one network ({worst})", f"{least:.1f} ×", "≥ 1 ×", least >= 1))
    return rows


def pyagrum(data: Path, _: Path | None) -> list[Row]:
    paths = model_paths(data)
    bayesian = [str(path) for path in paths if path.suffix != ".uai"]
    markov = [str(path) for path in paths if path.suffix == ".uai"]
    return against_pyagrum("Bayesian networks", bayesian) + against_pyagrum("Markov networks", markov)


def held_out(_: Path, __: Path | None) -> list[Row]:
    return against_pyagrum("held-out networks", list(NETWORKS))


def pgmpy(data: Path, python: Path | None) -> list[Row]:
    if python is None:
        raise SystemExit("Expected --pgmpy-python, the Python of an environment that has pgmpy; got none.")
    ours, theirs = compared("pgmpy", lambda path: measure_pgmpy(path, python, LIMIT["pgmpy"]), data)
    return [ratio("all models that pgmpy finishes in a minute", ours, theirs, 20.0, "pgmpy")]


def ratio(what: str, ours: dict[str, float], rival: dict[str, float], bar: float | None, name: str) -> Row:
    mine, theirs = sum(ours[each] for each in rival), sum(rival.values())
    times = theirs / mine if mine else float("nan")
    words = f"{what} ({len(rival)}): {mine:.2f} s against {name}'s {theirs:.2f} s"
    return Row(words, f"{times:.1f} × faster", "–" if bar is None else f"≥ {bar:g} ×", bar is None or times >= bar)


def memory(data: Path, _: Path | None) -> list[Row]:
    """Only models whose tables take at least 32 MiB: with smaller ones, the libraries' own memory would dominate."""
    found = []
    for path in model_paths(data):
        model, evidence = read(path)
        if 8 * JunctionTree.of(model, evidence).entries < 2**25:
            continue
        with console.status(f"measuring {path.name}"):
            answer = in_process("memory", path)
        if isinstance(answer, str):
            sys.exit(f"{path.name}: {answer}")
        found.append((answer["ratio"], path.name.split(".")[0], answer["bytes"]))
        console.print(f"{path.name}: {answer['ratio']:.2f} × {answer['bytes'] / 2**20:,.0f} MiB", highlight=False)
    worst, name, _size = max(found)
    what = f"peak memory of a run against the sum of the cliques' tables, the worst of {len(found)} models ({name})"
    return [Row(what, f"{worst:.2f} ×", "≤ 4 ×", worst <= 4)]


BENCHMARKS: dict[str, Callable[[Path, Path | None], list[Row]]] = {
    "pyagrum": pyagrum,
    "held-out": held_out,
    "pgmpy": pgmpy,
    "batch": batch,
    "forest": forest,
    "memory": memory,
    "gpu": gpu,
}
DEFAULT = ["pyagrum", "held-out", "batch", "forest", "memory", *(["gpu"] if torch.cuda.is_available() else [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=DEFAULT, help="which benchmarks to run")
    parser.add_argument("--data-root", type=Path, default=os.environ.get("NEURALTREES_DATA"), help="datasets folder")
    parser.add_argument("--pgmpy-python", type=Path, help="Python interpreter of an environment with pgmpy")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(MEASURES[arguments.measure[0]](Path(arguments.measure[1]))))
        return
    if arguments.data_root is None and {"pyagrum", "pgmpy", "forest", "memory"} & set(arguments.only):
        parser.error("the benchmarks read the shared data: pass --data-root DIR or set NEURALTREES_DATA")
    report(BENCHMARKS, arguments.only, Path(arguments.data_root or "."), arguments.pgmpy_python)


if __name__ == "__main__":
    main()
