"""Small random models for property tests."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st

from neuraltrees.inference import MarkovNetwork
from tests.oracle.joint import Joint


def joint_of(model: MarkovNetwork, evidence: dict[int, int] | None = None) -> Joint:
    return Joint(
        model.cardinalities, model.cliques, [table.detach().numpy() for table in model.log_potentials], evidence
    )


def random_tables(
    cardinalities: list[int], cliques: list[tuple[int, ...]], seed: int, scale: float, zeros: float
) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    tables = []
    for clique in cliques:
        shape = tuple(cardinalities[v] for v in clique)
        table = np.asarray(scale * rng.standard_normal(shape))
        tables.append(torch.from_numpy(np.where(rng.random(shape) < zeros, -np.inf, table)))
    return tables


@st.composite
def models(draw: st.DrawFn, max_variables: int = 6, zeros: float = 0.5) -> tuple[MarkovNetwork, dict[int, int]]:
    """Any cliques of up to four variables of one to three states, repeated ones among them, and any evidence.

    Some variables are in no clique, the graph may fall apart, entries may be zero, and their logarithms may differ by
    thousands.
    """
    cardinalities = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_variables))
    variables = list(range(len(cardinalities)))
    cliques = draw(st.lists(st.lists(st.sampled_from(variables), unique=True, max_size=4).map(tuple), max_size=7))
    scale = draw(st.sampled_from([0.0, 1.0, 5.0, 2000.0]))
    share = draw(st.sampled_from([0.0, zeros / 5, zeros]))
    seed = draw(st.integers(0, 2**32 - 1))
    observed = draw(st.lists(st.sampled_from(variables), unique=True, max_size=3))
    evidence = {v: draw(st.integers(0, cardinalities[v] - 1)) for v in observed}
    tables = random_tables(cardinalities, cliques, seed, scale, share)
    return MarkovNetwork(cardinalities, cliques, tables), evidence
