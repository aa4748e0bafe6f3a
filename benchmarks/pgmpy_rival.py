"""pgmpy on one model, in a process of its own that may be stopped; needs pgmpy and NumPy alone.

python benchmarks/pgmpy_rival.py MODEL.npz      # cardinalities, and scope and table of every factor

Prints the seconds from the model to all marginals, and writes the marginals to MODEL.npz.out.npz.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
from pgmpy.factors.discrete import DiscreteFactor  # noqa: E402
from pgmpy.inference import BeliefPropagation  # noqa: E402
from pgmpy.models import DiscreteMarkovNetwork  # noqa: E402


def marginals(model: DiscreteMarkovNetwork) -> dict[str, np.ndarray]:
    """Calibrates the junction tree once and takes every variable from the smallest clique that has it."""
    engine = BeliefPropagation(model)
    engine.calibrate()
    found: dict[str, np.ndarray] = {}
    cliques = sorted(engine.get_clique_beliefs().items(), key=lambda item: item[1].values.size)
    for clique, belief in cliques:
        for variable in clique:
            if variable not in found:
                others = [other for other in clique if other != variable]
                alone = belief.marginalize(others, inplace=False) if others else belief
                found[variable] = alone.values / alone.values.sum()
    return found


def main() -> None:
    stored = np.load(sys.argv[1])
    cardinalities = stored["cardinalities"]
    count = len([name for name in stored if name.startswith("scope")])
    scopes = [[str(v) for v in stored[f"scope{k}"]] for k in range(count)]
    tables = [stored[f"table{k}"] for k in range(count)]
    model = DiscreteMarkovNetwork()
    model.add_nodes_from(str(v) for v in range(len(cardinalities)))
    model.add_edges_from((a, b) for scope in scopes for i, a in enumerate(scope) for b in scope[:i])
    model.add_factors(
        *(
            DiscreteFactor(scope, [int(cardinalities[int(v)]) for v in scope], table)
            for scope, table in zip(scopes, tables, strict=True)
        )
    )
    start = time.perf_counter()
    found = marginals(model)
    print(time.perf_counter() - start, flush=True)
    np.savez(f"{sys.argv[1]}.out.npz", **found)


if __name__ == "__main__":
    main()
