"""Exact inference on the same decompositions: `JunctionTree` for one structure, `Forest` for many graphs at once."""

from neuraltrees.inference.answer import Answer
from neuraltrees.inference.bayesian import BayesianNetwork
from neuraltrees.inference.bif import read_bif
from neuraltrees.inference.forest import Forest, ForestAnswer
from neuraltrees.inference.junction_tree import JunctionTree, infer
from neuraltrees.inference.loopy import loopy_marginals
from neuraltrees.inference.markov import MarkovNetwork
from neuraltrees.inference.random_model import random_markov_network
from neuraltrees.inference.uai import read_evidence, read_uai

__all__ = [
    "Answer",
    "BayesianNetwork",
    "Forest",
    "ForestAnswer",
    "JunctionTree",
    "MarkovNetwork",
    "infer",
    "loopy_marginals",
    "random_markov_network",
    "read_bif",
    "read_evidence",
    "read_uai",
]
