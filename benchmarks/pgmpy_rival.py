"""Times pgmpy on one model, in a separate process that can be stopped; only needs pgmpy and NumPy.

python benchmarks/pgmpy_rival.py MODEL.npz SECONDS    # bayesian (bool), cardinalities, scope and table of every factor

Computes the marginal of every variable by variable elimination, which is faster here: pgmpy's junction tree takes
hundreds of times as long to calibrate. Prints the seconds from the model to all marginals, and writes the marginals to
MODEL.npz.out.npz. Gives up when the projected total time is more than twice the given seconds.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

PATIENCE = 8  # seconds before the total time is projected


def bayesian(cardinalities: list[int], scopes: list[list[str]], tables: list[np.ndarray]) -> Any:
    """The last variable of a scope is the child of the others."""
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(str(v) for v in range(len(cardinalities)))
    model.add_edges_from((parent, scope[-1]) for scope in scopes for parent in scope[:-1])
    for scope, table in zip(scopes, tables, strict=True):
        counts = [cardinalities[int(v)] for v in scope]
        columns = np.moveaxis(table, -1, 0).reshape(counts[-1], -1)
        parents = {"evidence": scope[:-1], "evidence_card": counts[:-1]} if len(scope) > 1 else {}
        model.add_cpds(TabularCPD(scope[-1], counts[-1], columns, **parents))
    return model


def markov(cardinalities: list[int], scopes: list[list[str]], tables: list[np.ndarray]) -> Any:
    model = DiscreteMarkovNetwork()
    model.add_nodes_from(str(v) for v in range(len(cardinalities)))
    model.add_edges_from((a, b) for scope in scopes for i, a in enumerate(scope) for b in scope[:i])
    for scope, table in zip(scopes, tables, strict=True):
        model.add_factors(DiscreteFactor(scope, [cardinalities[int(v)] for v in scope], table))
    return model


def main() -> None:
    stored = np.load(sys.argv[1])
    cardinalities = stored["cardinalities"].tolist()
    count = len([name for name in stored if name.startswith("scope")])
    scopes = [[str(v) for v in stored[f"scope{k}"]] for k in range(count)]
    tables = [stored[f"table{k}"] for k in range(count)]
    model = (bayesian if stored["bayesian"] else markov)(cardinalities, scopes, tables)
    start = time.perf_counter()
    engine = VariableElimination(model)
    found = {}
    for v in range(len(cardinalities)):
        values = engine.query([str(v)], show_progress=False).values
        found[str(v)] = values / values.sum()  # for Markov networks pgmpy does not normalise
        passed = time.perf_counter() - start
        if passed > PATIENCE and passed * len(cardinalities) / (v + 1) > 2 * float(sys.argv[2]):
            sys.exit(f"> {sys.argv[2]} s, projected")
    print(time.perf_counter() - start, flush=True)
    np.savez(f"{sys.argv[1]}.out.npz", **found)


if __name__ == "__main__":
    main()
