"""Schedules: which states are updated when, along which edges."""

from neuraltrees.nn.schedule.graph import GraphRounds as GraphRounds
from neuraltrees.nn.schedule.none import HiddenLayer as HiddenLayer
from neuraltrees.nn.schedule.none import NoRounds as NoRounds
from neuraltrees.nn.schedule.rounds import Rounds as Rounds
from neuraltrees.nn.schedule.schedule import Body as Body
from neuraltrees.nn.schedule.schedule import Schedule as Schedule
from neuraltrees.nn.schedule.tree import TreeRounds as TreeRounds
