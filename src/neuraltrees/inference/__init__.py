"""Exact inference on the same decompositions: `JunctionTree` for one structure, `Forest` for many graphs
at once, `CRF` for labels of their nodes of which some are known."""

from neuraltrees.inference.answer import Answer as Answer
from neuraltrees.inference.bayesian import BayesianNetwork as BayesianNetwork
from neuraltrees.inference.bif import read_bif as read_bif
from neuraltrees.inference.crf import CRF as CRF
from neuraltrees.inference.crf import CRFAnswer as CRFAnswer
from neuraltrees.inference.forest import Forest as Forest
from neuraltrees.inference.forest import ForestAnswer as ForestAnswer
from neuraltrees.inference.junction_tree import JunctionTree as JunctionTree
from neuraltrees.inference.junction_tree import infer as infer
from neuraltrees.inference.loopy import loopy_marginals as loopy_marginals
from neuraltrees.inference.markov import MarkovNetwork as MarkovNetwork
from neuraltrees.inference.random_model import random_markov_network as random_markov_network
from neuraltrees.inference.uai import read_evidence as read_evidence
from neuraltrees.inference.uai import read_uai as read_uai
