"""Networks: convolutions, encoders, schedules and heads; the neural tree and the GNN baseline."""

from neuraltrees.nn.conv import Convolution, ConvOptions, GATConv, GCNConv, GINConv, SAGEConv
from neuraltrees.nn.encoder import Categories, Encoder
from neuraltrees.nn.head import GraphHead, Head, NodeHead, Places
from neuraltrees.nn.messages import Messages
from neuraltrees.nn.models import GNN, NeuralTree
from neuraltrees.nn.network import Network
from neuraltrees.nn.plan import Plan
from neuraltrees.nn.schedule import Body, GraphRounds, Schedule, TreeRounds

__all__ = [
    "GNN",
    "Body",
    "Categories",
    "ConvOptions",
    "Convolution",
    "Encoder",
    "GATConv",
    "GCNConv",
    "GINConv",
    "GraphHead",
    "GraphRounds",
    "Head",
    "Messages",
    "Network",
    "NeuralTree",
    "NodeHead",
    "Places",
    "Plan",
    "SAGEConv",
    "Schedule",
    "TreeRounds",
]
