"""A conditional random field on top of a network, with exact inference."""

from neuraltrees.nn.head.crf.head import CRFHead as CRFHead
from neuraltrees.nn.head.crf.posterior import CRFPosterior as CRFPosterior
from neuraltrees.nn.head.crf.potts import PottsPosterior as PottsPosterior
from neuraltrees.nn.head.crf.potts import Strengths as Strengths
