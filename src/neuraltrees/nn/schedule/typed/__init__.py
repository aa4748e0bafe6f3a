"""Rounds on the typed H-tree of a scene: gates per relation, and geometry in initial states and in messages."""

from neuraltrees.nn.schedule.typed.schedule import TypedRounds
from neuraltrees.nn.schedule.typed.structure import TypedStructure

__all__ = ["TypedRounds", "TypedStructure"]
