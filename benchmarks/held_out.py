"""Networks on which nothing was tuned, made from fixed seeds, for the benchmark of exact inference.

Each is a model and its evidence. Evidence is drawn from the model itself, so it is never impossible.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

import neuraltrees as nt
from neuraltrees.inference import BayesianNetwork, JunctionTree, MarkovNetwork, random_markov_network

Network = tuple[MarkovNetwork | BayesianNetwork, dict[int, int]]


def bayesian(cardinalities: list[int], parents: list[list[int]], tables: list[np.ndarray]) -> BayesianNetwork:
    names = [f"v{v}" for v in range(len(parents))]
    states = [[str(s) for s in range(count)] for count in cardinalities]
    return BayesianNetwork(names, states, parents, [torch.from_numpy(table) for table in tables])


def random_tables(rng: np.random.Generator, cardinalities: list[int], parents: list[list[int]]) -> list[np.ndarray]:
    """Rows from a Dirichlet distribution."""
    return [
        rng.dirichlet(np.ones(count), size=tuple(cardinalities[p] for p in above))
        for count, above in zip(cardinalities, parents, strict=True)
    ]


def forward_sample(rng: np.random.Generator, network: BayesianNetwork) -> list[int]:
    """States of all variables; parents have smaller numbers."""
    states: list[int] = []
    for above, table in zip(network.parents, network.tables, strict=True):
        row = table.numpy()[tuple(states[p] for p in above)]
        states.append(int(rng.choice(len(row), p=row / row.sum())))
    return states


def observe(rng: np.random.Generator, network: BayesianNetwork, variables: list[int], count: int) -> Network:
    states = forward_sample(rng, network)
    chosen = rng.permutation(variables)[:count].tolist()
    return network, {v: states[v] for v in chosen}


def grid(side: int, seed: int, coupling: float = 1.0) -> Network:
    """A binary grid with random fields and couplings."""
    place = np.arange(side * side).reshape(side, side)
    pairs = [(place[:, :-1], place[:, 1:]), (place[:-1], place[1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in pairs], 1)
    return random_markov_network(nt.Graph(edges), 2, scale=coupling, seed=seed), {}


def diagnosis(diseases: int, findings: int, most: int, seen: int, seed: int, layers: int = 1) -> Network:
    """Medical diagnosis: layers of binary causes, and findings that are noisy-ors of up to `most` of them.

    A noisy-or of many causes is a chain of ors of two, so that no family has more than three variables.
    """
    rng = np.random.default_rng(seed)
    parents: list[list[int]] = []
    tables: list[np.ndarray] = []

    def add(above: list[int], table: np.ndarray) -> int:
        parents.append(above)
        tables.append(table)
        return len(parents) - 1

    def noisy_or(causes: list[int]) -> int:
        total = add([], np.array([0.99, 0.01]))
        for cause in causes:
            fails = rng.uniform(0.05, 0.6)
            table = np.empty((2, 2, 2))
            table[..., 0] = [[1.0, fails], [0.0, 0.0]]
            table[..., 1] = 1 - table[..., 0]
            total = add([total, cause], table)
        return total

    layer = []
    for prior in rng.uniform(0.01, 0.2, diseases):
        layer.append(add([], np.array([1 - prior, prior])))
    for _ in range(layers - 1):
        size = rng.integers(1, most + 1, size=len(layer))
        layer = [noisy_or(rng.choice(layer, min(int(count), len(layer)), replace=False).tolist()) for count in size]
    ends = []
    for count in rng.integers(1, most + 1, size=findings):
        ends.append(noisy_or(rng.choice(layer, int(count), replace=False).tolist()))
    return observe(rng, bayesian([2] * len(parents), parents, tables), ends, seen)


def pedigree(people: int, loci: int, seed: int) -> Network:
    """Genetic linkage: per person and locus two genes, inherited by a selector that depends on the locus before."""
    rng = np.random.default_rng(seed)
    cardinalities: list[int] = []
    parents: list[list[int]] = []
    tables: list[np.ndarray] = []

    def add(above: list[int], table: np.ndarray) -> int:
        cardinalities.append(table.shape[-1])
        parents.append(above)
        tables.append(table)
        return len(parents) - 1

    founders = people // 3
    mates = [rng.choice(min(p, founders + p // 2), 2, replace=False).tolist() for p in range(founders, people)]
    genes: dict[tuple[int, int], list[int]] = {}
    selectors: dict[tuple[int, int, int], int] = {}
    readings = []
    for locus in range(loci):
        alleles = int(rng.integers(2, 4))
        frequency = rng.dirichlet(np.full(alleles, 3.0))
        for person in range(people):
            pair = []
            for side in range(2):
                if person < founders:
                    pair.append(add([], frequency))
                    continue
                before = selectors.get((person, locus - 1, side))
                crossing = rng.uniform(0.05, 0.3)
                own = np.array([0.5, 0.5])
                if before is not None:
                    own = np.array([[1 - crossing, crossing], [crossing, 1 - crossing]])
                selector = add([] if before is None else [before], own)
                selectors[person, locus, side] = selector
                first, second = genes[mates[person - founders][side], locus]
                table = np.zeros((2, alleles, alleles, alleles))
                for a in range(alleles):
                    table[0, a, :, a] = 1
                    table[1, :, a, a] = 1
                pair.append(add([selector, first, second], table))
            genes[person, locus] = pair
            kinds = np.zeros((alleles, alleles, alleles * (alleles + 1) // 2))
            for a in range(alleles):
                for b in range(alleles):
                    kinds[a, b, max(a, b) * (max(a, b) + 1) // 2 + min(a, b)] = 1
            readings.append(add(pair, 0.98 * kinds + 0.02 / kinds.shape[-1]))
    network = bayesian(cardinalities, parents, tables)
    return observe(rng, network, readings, len(readings) * 2 // 3)


def random_bayesian(count: int, most_parents: int, most_states: int, seen: int, seed: int, near: int = 8) -> Network:
    """Parents are drawn among the `near` variables before."""
    rng = np.random.default_rng(seed)
    cardinalities = rng.integers(2, most_states + 1, size=count).tolist()
    parents = []
    for v in range(count):
        above = min(int(rng.integers(0, most_parents + 1)), v)
        parents.append(rng.choice(np.arange(max(0, v - near), v), above, replace=False).tolist() if above else [])
    network = bayesian(cardinalities, parents, random_tables(rng, cardinalities, parents))
    return observe(rng, network, list(range(count)), seen)


def chain(length: int, states: int, seed: int, hidden: bool = False) -> Network:
    """A Markov chain, or a hidden one of which all emissions are seen."""
    rng = np.random.default_rng(seed)
    parents = [[v - 1] if v else [] for v in range(length)]
    if hidden:
        parents += [[v] for v in range(length)]
    cardinalities = [states] * len(parents)
    network = bayesian(cardinalities, parents, random_tables(rng, cardinalities, parents))
    return observe(rng, network, list(range(length, len(parents))), length if hidden else 0)


def naive_bayes(features: int, seen: int, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    parents = [[], *([0] for _ in range(features))]
    cardinalities = [4, *rng.integers(2, 6, size=features).tolist()]
    network = bayesian(cardinalities, parents, random_tables(rng, cardinalities, parents))
    return observe(rng, network, list(range(1, features + 1)), seen)


def sprinkler() -> Network:
    sprinkle = np.array([[0.5, 0.5], [0.9, 0.1]])
    rain = np.array([[0.8, 0.2], [0.2, 0.8]])
    wet = np.array([[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]])
    return bayesian([2] * 4, [[], [0], [0], [1, 2]], [np.array([0.5, 0.5]), sprinkle, rain, wet]), {3: 1}


def as_markov(network: Network) -> Network:
    model, evidence = network
    return (model.to_markov() if isinstance(model, BayesianNetwork) else model), evidence


def _sampled(network: Network, count: int, seed: int) -> Network:
    """The same Markov network with some variables seen."""
    model, _ = as_markov(network)
    generator = torch.Generator().manual_seed(seed)
    states = JunctionTree.of(model).sample(model.log_potentials, generator=generator)[0].tolist()
    chosen = np.random.default_rng(seed).permutation(len(states))[:count].tolist()
    return model, {v: states[v] for v in chosen}


NETWORKS: dict[str, Callable[[], Network]] = {
    **{
        f"grid_{side}_{seed}": (lambda side=side, seed=seed: grid(side, seed))
        for side in (10, 11, 12, 13, 14)
        for seed in (1, 2)
    },
    "grid_12_strong": lambda: grid(12, 3, coupling=4.0),
    "grid_14_seen": lambda: _sampled(grid(14, 4), 20, 4),
    "diagnosis_60": lambda: diagnosis(60, 60, 4, 40, 11),
    "diagnosis_100": lambda: diagnosis(100, 80, 4, 60, 12),
    "diagnosis_200": lambda: diagnosis(200, 120, 3, 80, 13),
    "diagnosis_300_sparse": lambda: diagnosis(300, 250, 2, 200, 14),
    "diagnosis_layers": lambda: diagnosis(50, 40, 2, 25, 15, layers=2),
    "diagnosis_dense": lambda: diagnosis(40, 40, 6, 30, 16),
    "diagnosis_100_markov": lambda: as_markov(diagnosis(100, 80, 4, 60, 17)),
    "diagnosis_200_markov": lambda: as_markov(diagnosis(200, 120, 3, 80, 18)),
    "diagnosis_few_seen": lambda: diagnosis(80, 60, 4, 5, 19),
    "pedigree_14_2": lambda: pedigree(14, 2, 21),
    "pedigree_20_2": lambda: pedigree(20, 2, 22),
    "pedigree_30_1": lambda: pedigree(30, 1, 23),
    "pedigree_16_2_markov": lambda: as_markov(pedigree(16, 2, 24)),
    "pair": lambda: random_bayesian(2, 1, 3, 0, 31),
    "sprinkler": sprinkler,
    **{
        f"random_{count}": (lambda count=count: random_bayesian(count, 3, 4, count // 4, 32 + count))
        for count in (3, 5, 8, 12, 16, 20)
    },
    **{
        f"random_{count}_markov": (lambda count=count: as_markov(random_bayesian(count, 2, 3, 1, 60 + count)))
        for count in (3, 8, 20)
    },
    "random_60": lambda: random_bayesian(60, 3, 4, 6, 41),
    "random_150": lambda: random_bayesian(150, 2, 5, 20, 42),
    "chain_20": lambda: chain(20, 2, 51),
    "chain_300": lambda: chain(300, 5, 52),
    "hidden_chain_200": lambda: chain(200, 8, 53, hidden=True),
    "hidden_chain_50_wide": lambda: chain(50, 40, 54, hidden=True),
    "naive_bayes_10": lambda: naive_bayes(10, 5, 55),
    "naive_bayes_100": lambda: naive_bayes(100, 60, 56),
}
