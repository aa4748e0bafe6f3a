"""Schedules: which states are updated when, along which edges."""

from neuraltrees.nn.schedule.bags import BagOptions, BagRounds
from neuraltrees.nn.schedule.features import FeatureLayers
from neuraltrees.nn.schedule.graph import GraphRounds
from neuraltrees.nn.schedule.none import HiddenLayer, NoRounds
from neuraltrees.nn.schedule.rounds import Rounds
from neuraltrees.nn.schedule.schedule import Body, Schedule
from neuraltrees.nn.schedule.tree import TreeRounds
from neuraltrees.nn.schedule.typed import TypedRounds

__all__ = [
    "BagOptions",
    "BagRounds",
    "Body",
    "FeatureLayers",
    "GraphRounds",
    "HiddenLayer",
    "NoRounds",
    "Rounds",
    "Schedule",
    "TreeRounds",
    "TypedRounds",
]
