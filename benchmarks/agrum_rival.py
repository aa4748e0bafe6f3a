"""One network, measured in turns: this library, and every engine of pyAgrum that takes the network.

.venv/bin/python benchmarks/agrum_rival.py grid_12_1      # a name of held_out.py, or a .uai or .bif.gz file

Prints a JSON object per line, the last one complete: a rival that is killed leaves what was measured before. Two
questions: *whole*, from a parsed model to the marginals of all variables as arrays, and *again*, the same with the
structure prepared (a JunctionTree, an engine) and other states of the observed variables.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch

from neuraltrees.inference import (
    BayesianNetwork,
    JunctionTree,
    MarkovNetwork,
    infer,
    read_bif,
    read_evidence,
    read_uai,
)

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.held_out import NETWORKS, Network

torch.set_num_threads(1)
MEMORY = 6 * 2**30  # of this process, in bytes of addresses
PATIENCE = 1.0  # seconds for the repetitions of a question
MOST_TURNS = 30
A_TURN = 0.005  # seconds
OURS = "neuraltrees"
Work = Callable[[], list[np.ndarray]]


def load(name: str) -> Network:
    if name in NETWORKS:
        return NETWORKS[name]()
    path = Path(name)
    if path.suffix == ".uai":
        return read_uai(path), read_evidence(f"{path}.evid")
    return read_bif(path), {}


def other_states(network: MarkovNetwork, evidence: dict[int, int]) -> list[dict[int, int]]:
    """Two possible observations of the same variables: of the given ones, or of one or two if none are given."""
    if not evidence:
        generator = torch.Generator().manual_seed(0)
        drawn = JunctionTree.of(network).sample(network.log_potentials, 2, generator=generator).tolist()
        chosen = torch.randperm(network.num_variables, generator=generator)[
            : min(2, network.num_variables - 1)
        ].tolist()
        return [{v: states[v] for v in chosen} for states in drawn]
    tree = JunctionTree.of(network, evidence)
    for v, state in evidence.items():
        for other in range(network.cardinalities[v]):
            changed = {**evidence, v: other}
            if other != state and tree.log_partition(network.log_potentials, changed).isfinite():
                return [evidence, changed]
    return [evidence, evidence]


def ours(model: MarkovNetwork | BayesianNetwork, evidence: dict[int, int]) -> dict[str, Work]:
    network = model.to_markov() if isinstance(model, BayesianNetwork) else model
    two = other_states(network, evidence)
    tree = JunctionTree.of(network, two[0])

    def again() -> list[np.ndarray]:
        two.reverse()
        return [each.numpy() for each in tree.run(network.log_potentials, two[0]).marginals]

    return {"whole": lambda: [each.numpy() for each in infer(model, evidence).marginals], "again": again}


def theirs(model: MarkovNetwork | BayesianNetwork, evidence: dict[int, int]) -> dict[str, dict[str, Work]]:
    from tests.oracle.agrum import bayesian_network, gum, markov_network

    gum.setNumberOfThreads(1)
    if isinstance(model, BayesianNetwork):
        rival, network = bayesian_network(model), model.to_markov()
        engines = [gum.LazyPropagation, gum.ShaferShenoyInference, gum.VariableElimination]
    else:
        rival, network = markov_network(model), model
        engines = [gum.ShaferShenoyMRFInference]
    found: dict[str, dict[str, Work]] = {"whole": {}, "again": {}}
    for engine in engines:
        two = other_states(network, evidence)
        kept = engine(rival)
        kept.setNumberOfThreads(1)

        def whole(engine: Callable[..., object] = engine) -> list[np.ndarray]:
            made = engine(rival)
            made.setNumberOfThreads(1)
            made.setEvidence(evidence)
            made.makeInference()
            return [made.posterior(v).toarray() for v in range(model.num_variables)]

        def again(kept: object = kept, two: list[dict[int, int]] = two) -> list[np.ndarray]:
            two.reverse()
            kept.setEvidence(two[0])
            kept.makeInference()
            return [kept.posterior(v).toarray() for v in range(model.num_variables)]

        found["whole"][engine.__name__] = whole
        found["again"][engine.__name__] = again
    return found


def in_turns(works: dict[str, Work]) -> tuple[dict[str, float], dict[str, list[np.ndarray]]]:
    """The shortest CPU time of each, by turns: a turn repeats a work for some milliseconds.

    CPU time, since all run on one thread and the machine may have other jobs. An engine that takes ten times as long
    as the best one is not repeated, and nothing is once `PATIENCE` is over.
    """
    best: dict[str, float] = {}
    answers: dict[str, list[np.ndarray]] = {}
    start = time.perf_counter()
    gc.collect()
    gc.disable()
    for turn in range(MOST_TURNS):
        for name, work in works.items():
            quickest = min((best[each] for each in best if each != OURS), default=0.0)
            if turn and name != OURS and best[name] > 10 * quickest:
                continue
            begin = time.process_time()
            while True:
                one = time.process_time()
                answers[name] = work()
                taken = time.process_time() - one
                best[name] = min(best.get(name, taken), taken)
                if time.process_time() - begin > A_TURN:
                    break
        if time.perf_counter() - start > PATIENCE:
            break
    gc.enable()
    return best, answers


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    model, evidence = load(sys.argv[1])
    network = model.to_markov() if isinstance(model, BayesianNetwork) else model
    tree = JunctionTree.of(network, evidence)
    report: dict[str, object] = {
        "variables": network.num_variables,
        "observed": len(evidence),
        "entries": tree.entries,
        "width": tree.decomposition.width,
    }
    for question, work in ours(model, evidence).items():
        report[question] = in_turns({OURS: work})[0]
    print(json.dumps(report), flush=True)
    rivals = theirs(model, evidence)
    for question, own in ours(model, evidence).items():
        try:
            best, answers = in_turns({OURS: own, **rivals[question]})
        except MemoryError:
            report["failed"] = "out of memory"
            break
        report[question] = best
        expected = answers[OURS]
        for name, answer in answers.items():
            worst = max((float(abs(a - b).max()) for a, b in zip(expected, answer, strict=True)), default=0.0)
            if not worst < 1e-6 and question == "whole":
                best.pop(name)
                report["failed"] = f"{name} is wrong by {worst:.1g}"
        print(json.dumps(report), flush=True)
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
