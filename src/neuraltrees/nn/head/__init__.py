"""Heads: how states become answers."""

from neuraltrees.nn.head.crf import CRFHead as CRFHead
from neuraltrees.nn.head.crf import PottsPosterior as PottsPosterior
from neuraltrees.nn.head.crf import Strengths as Strengths
from neuraltrees.nn.head.graph import GraphHead as GraphHead
from neuraltrees.nn.head.head import Head as Head
from neuraltrees.nn.head.head import NoHead as NoHead
from neuraltrees.nn.head.head import Places as Places
from neuraltrees.nn.head.node import NodeHead as NodeHead
