"""Parts of a graph or tree, computed by several processes that exchange the states they share."""

from neuraltrees.nn.parallel.forest import cost_of_state, forest_parts
from neuraltrees.nn.parallel.group import Group
from neuraltrees.nn.parallel.halo import Array, Halo
from neuraltrees.nn.parallel.rounds import Part, RoundPart, first_round, later_round, leaf_sums, own_edge_rows, own_rows

__all__ = [
    "Array",
    "Group",
    "Halo",
    "Part",
    "RoundPart",
    "cost_of_state",
    "first_round",
    "forest_parts",
    "later_round",
    "leaf_sums",
    "own_edge_rows",
    "own_rows",
]
