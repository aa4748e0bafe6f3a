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
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import neuraltrees as nt
from neuraltrees.datasets import StanfordSceneGraphs
from neuraltrees.inference import (
    BayesianNetwork,
    Forest,
    JunctionTree,
    MarkovNetwork,
    random_markov_network,
    read_bif,
    read_evidence,
    read_uai,
)

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.held_out import NETWORKS

torch.set_num_threads(1)
console = Console(width=150)
LIMIT = {"pyagrum": 300, "pgmpy": 60}  # seconds


@dataclass(frozen=True)
class Row:
    what: str
    measured: str
    bar: str
    met: bool


def model_paths(data: Path) -> list[Path]:
    return sorted((data / "pgm" / "bif").glob("*.bif.gz")) + sorted((data / "pgm" / "uai").glob("*.uai"))


def read(path: Path) -> tuple[MarkovNetwork | BayesianNetwork, dict[int, int]]:
    if path.suffix == ".uai":
        return read_uai(path), read_evidence(f"{path}.evid")
    return read_bif(path), {}


def shortest(work: Callable[[], object]) -> float:
    """Once to warm up, then the shortest of up to five runs; a run of more than two seconds is not repeated."""
    times: list[float] = []
    gc.collect()
    while not times or (len(times) < 6 and sum(times) < 2):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
        del result
    return min(times)


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
    before = peak()
    tree.run(network.log_potentials)
    return {"ratio": (peak() - before) / (8 * tree.entries), "bytes": 8 * tree.entries}


def peak() -> int:
    """Peak resident memory in bytes, on Linux only; resource.getrusage would include that of the parent process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


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


def scene_graph(objects: int, k: int, seed: int = 0) -> nt.Graph:
    """A room adjacent to all its objects, which form a k-tree with four fifths of its edges; its treewidth is k + 1."""
    rng = np.random.default_rng(seed)
    cliques = [list(range(1, k + 2))]
    inner = [(a, b) for a in cliques[0] for b in cliques[0] if a < b]
    for v in range(k + 2, objects + 1):
        base = rng.permutation(cliques[rng.integers(len(cliques))])[:k].tolist()
        inner += [(u, v) for u in base]
        cliques.append([*base, v])
    kept = [edge for edge in inner if rng.random() < 0.8]
    return nt.Graph(np.array(kept + [(0, v) for v in range(1, objects + 1)]).T)


def batch(_: Path, __: Path | None) -> list[Row]:
    rows = []
    for k, dtype in (
        (2, torch.float64),
        (2, torch.float32),
        (1, torch.float64),
        (3, torch.float64),
        (4, torch.float64),
    ):
        graph = scene_graph(29, k)
        model = random_markov_network(graph, 4, batch=1000, dtype=dtype)
        tree = JunctionTree.of(model)
        single = [[table[i] for table in model.log_potentials] for i in range(1000)]
        together = shortest(lambda model=model, tree=tree: tree.run(model.log_potentials))
        apart = shortest(lambda single=single, tree=tree: [tree.run(tables).marginals for tables in single])
        width = nt.decompose(graph, "exact").width
        what = (
            f"1,000 potentials of 4 states on a scene graph of 30 nodes, treewidth {width}, {str(dtype)[6:]}: "
            f"{apart * 1e3:,.0f} ms one by one, {together * 1e3:.1f} ms in a batch"
        )
        rows.append(Row(what, f"{apart / together:.1f} ×", "≥ 1 ×", apart >= together))
    return rows


def forest(data: Path, _: Path | None) -> list[Row]:
    """The scene graphs with three tenths of their nodes unknown, the others taken out: all at once and one by one."""
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    graphs = [nt.Graph.from_data(scene) for scene in StanfordSceneGraphs(data)]
    graphs = [graph.subgraph(np.flatnonzero(rng.random(graph.num_nodes) < 0.3)) for graph in graphs]
    graphs = [graph for graph in graphs if graph.num_nodes]
    nodes, edges = ([getattr(graph, name) for graph in graphs] for name in ("num_nodes", "num_edges"))
    unary = torch.randn(sum(nodes), 8, generator=generator, dtype=torch.float64)
    pairwise = torch.randn(sum(edges), 8, 8, generator=generator, dtype=torch.float64)
    models = []
    for graph, own, pairs in zip(graphs, unary.split(nodes), pairwise.split(edges), strict=True):
        ends = [(u, v) for u, v in graph.edge_index.T.tolist() if u < v]
        cliques = [*((v,) for v in range(graph.num_nodes)), *ends]
        models.append(MarkovNetwork([8] * graph.num_nodes, cliques, [*own, *pairs]))
    plan, trees = Forest.of(graphs, 8), [JunctionTree.of(model) for model in models]

    def apart() -> list[torch.Tensor]:
        found = [tree.run(model.log_potentials) for tree, model in zip(trees, models, strict=True)]
        return [marginal for answer in found for marginal in answer.marginals]

    error = float((plan.run(unary, pairwise).marginals - torch.stack(apart())).abs().max())
    works: dict[str, Callable[[], object]] = {
        "plan": lambda: Forest.of(graphs, 8),
        "run": lambda: plan.run(unary, pairwise),
        "plans": lambda: [JunctionTree.of(model) for model in models],
        "runs": apart,
    }
    ms = {name: 1e3 * min(taken) for name, taken in interleaved(works, 10).items()}
    together, each = ms["plan"] + ms["run"], ms["plans"] + ms["runs"]
    width = plan.structure.elimination.width
    what = (
        f"{len(graphs)} scene graphs, {sum(nodes)} unknown nodes of 8 states, width {width}: "
        f"plan {ms['plan']:.1f} and run {ms['run']:.1f} ms, a JunctionTree for each {ms['plans']:.0f} and "
        f"{ms['runs']:.0f} ms; marginals differ by {error:.0e}"
    )
    return [
        Row(f"{what}. Planning and running on both sides", f"{each / together:.0f} ×", "–", error < 1e-9),
        Row("the same, running alone on both sides", f"{ms['runs'] / ms['run']:.0f} ×", "–", True),
        Row("running with a plan at hand, against planning and running each", f"{each / ms['run']:.0f} ×", "–", True),
    ]


def interleaved(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of several works, by turns, so that what else the machine does meets all of them."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - start)
    return taken


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


def gpu(_: Path, __: Path | None) -> list[Row]:
    """Batches on a GPU against one CPU thread, after checking that results and gradients are equal."""
    if not torch.cuda.is_available():
        raise SystemExit("Expected a CUDA device for the benchmark gpu; got none.")
    rows = []
    for k, dtype in ((2, torch.float64), (2, torch.float32), (4, torch.float64), (4, torch.float32)):
        model = random_markov_network(scene_graph(29, k), 4, batch=1000, dtype=dtype)
        tree = JunctionTree.of(model)
        here = [table.clone().requires_grad_() for table in model.log_potentials]
        there = [table.cuda().requires_grad_() for table in model.log_potentials]
        answers = tree.run(here), tree.run(there)
        for answer in answers:
            answer.log_partition.sum().backward()
        error = max(
            float((a - b.cpu()).detach().abs().max())
            for a, b in zip(*(each.marginals for each in answers), strict=True)
        )
        slope = max(float((a.grad - b.grad.cpu()).abs().max()) for a, b in zip(here, there, strict=True))
        tables = [table.detach() for table in there]

        def run(tree: JunctionTree = tree, tables: list[torch.Tensor] = tables) -> None:
            tree.run(tables)
            torch.cuda.synchronize()

        slow = shortest(lambda model=model, tree=tree: tree.run(model.log_potentials))
        quick = shortest(run)
        what = (
            f"1,000 potentials, treewidth {k + 1}, {str(dtype)[6:]} on {torch.cuda.get_device_name()}: "
            f"{quick * 1e3:.1f} ms, {slow * 1e3:.1f} ms on a CPU thread; "
            f"marginals differ by {error:.0e}, gradients by {slope:.0e}"
        )
        rows.append(Row(what, f"{slow / quick:.1f} ×", "–", error < 1e-4 and slope < 1e-3))
    return rows


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
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, neuraltrees {nt.__version__}"
    table = Table(title=f"{os.cpu_count()} cores ({platform.machine()}), one thread, {versions}")
    for column in ("what", "measured", "bar", ""):
        table.add_column(column)
    failed = False
    for name in arguments.only:
        for row in BENCHMARKS[name](Path(arguments.data_root or "."), arguments.pgmpy_python):
            console.print(f"{row.what}: [bold]{row.measured}[/] (bar {row.bar})", highlight=False, soft_wrap=True)
            table.add_row(row.what, row.measured, row.bar, "" if row.bar == "–" else "met" if row.met else "MISSED")
            failed |= not row.met
    console.print(table)
    sys.exit(failed)


if __name__ == "__main__":
    main()
