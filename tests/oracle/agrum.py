"""pyAgrum, made through its own calls from models that were read here: it does not read all of the shared files."""

from __future__ import annotations

import warnings

import numpy as np

from neuraltrees.inference import BayesianNetwork, MarkovNetwork

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its wrapper's types have no module, which Python deprecates
    import pyagrum as gum


def bayesian_network(network: BayesianNetwork) -> gum.BayesNet:
    bn = gum.BayesNet()
    for v in range(network.num_variables):
        bn.add(gum.LabelizedVariable(str(v), "", network.cardinalities[v]))
    for v, parents in enumerate(network.parents):
        for parent in parents:
            bn.addArc(parent, v)
    for v, table in enumerate(network.tables):
        # Its first variable, which is v itself, changes fastest, then the parents as they were added.
        parents = len(network.parents[v])
        bn.cpt(v).fillWith(table.permute(*reversed(range(parents)), parents).flatten().tolist())
    return bn


def markov_network(model: MarkovNetwork) -> gum.MarkovRandomField:
    """Tables on the same variables are multiplied first: it holds one a clique."""
    mrf = gum.MarkovRandomField()
    for v, count in enumerate(model.cardinalities):
        mrf.add(gum.LabelizedVariable(str(v), "", count))
    factors: dict[tuple[int, ...], np.ndarray] = {}
    for clique, table in zip(model.cliques, model.log_potentials, strict=True):
        if clique:
            values = table.exp().numpy().transpose(np.argsort(clique))
            key = tuple(sorted(clique))
            factors[key] = factors[key] * values if key in factors else values
    for key, values in factors.items():
        factor = gum.Tensor()
        for v in reversed(key):
            factor.add(mrf.variable(v))
        factor.fillWith(values.flatten().tolist())
        mrf.addFactor(factor)
    return mrf
