"""Exact structured answers: a conditional random field on top of a network."""

from neuraltrees.nn.head.crf.head import CRFHead as CRFHead
