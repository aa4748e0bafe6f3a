"""Files of graphs: PACE, lists of edges, CSV and GraphML, with the names of the nodes."""

from neuraltrees.graph_files.named_graph import NamedGraph
from neuraltrees.graph_files.node_table import NodeTable, read_node_table
from neuraltrees.graph_files.read import ENDINGS, is_graph_file, read_graph

__all__ = ["ENDINGS", "NamedGraph", "NodeTable", "is_graph_file", "read_graph", "read_node_table"]
