"""Rounds on the graph, on the bags of its H-tree, or on both side by side."""

from neuraltrees.nn.schedule.bags.options import BagOptions
from neuraltrees.nn.schedule.bags.schedule import BagRounds
from neuraltrees.nn.schedule.bags.views import view_columns

__all__ = ["BagOptions", "BagRounds", "view_columns"]
