"""Sweeps: sums over whole trees, weighted by tree distance, in linear time."""

from neuraltrees.nn.sweep.function import sweep
from neuraltrees.nn.sweep.layer import SweepLayer
from neuraltrees.nn.sweep.plan import SweepPlan

__all__ = ["SweepLayer", "SweepPlan", "sweep"]
