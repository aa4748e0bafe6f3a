"""Exact inference by tree decompositions: `JunctionTree` for one structure, `Forest` for many graphs at once, `CRF` for
labels of nodes of which some are known."""

from neuraltrees.inference.answer import Answer
from neuraltrees.inference.bayesian import BayesianNetwork
from neuraltrees.inference.bif import read_bif
from neuraltrees.inference.crf import CRF, CRFAnswer
from neuraltrees.inference.forest import Forest, ForestAnswer
from neuraltrees.inference.junction_tree import JunctionTree, infer
from neuraltrees.inference.loopy import loopy_marginals
from neuraltrees.inference.markov import MarkovNetwork
from neuraltrees.inference.random_model import random_markov_network
from neuraltrees.inference.uai import read_evidence, read_uai

__all__ = [
    "CRF",
    "Answer",
    "BayesianNetwork",
    "CRFAnswer",
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
