"""Heads: how states become answers."""

from neuraltrees.nn.head.crf import CRFHead, CRFPosterior, PottsPosterior, Strengths
from neuraltrees.nn.head.graph import GraphHead
from neuraltrees.nn.head.head import Head, NoHead, Places
from neuraltrees.nn.head.labels import LabelsHead
from neuraltrees.nn.head.node import NodeHead

__all__ = [
    "CRFHead",
    "CRFPosterior",
    "GraphHead",
    "Head",
    "LabelsHead",
    "NoHead",
    "NodeHead",
    "Places",
    "PottsPosterior",
    "Strengths",
]
