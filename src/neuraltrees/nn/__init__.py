"""Networks: convolutions, encoders, schedules, sweeps and heads; the neural tree and its baselines, GNN and MLP."""

from neuraltrees.nn.conv import Convolution, ConvOptions, GATConv, GCNConv, GINConv, SAGEConv
from neuraltrees.nn.encoder import Categories, Encoder
from neuraltrees.nn.head import (
    CRFHead,
    CRFPosterior,
    GraphHead,
    Head,
    LabelsHead,
    NodeHead,
    Places,
    PottsPosterior,
    Strengths,
)
from neuraltrees.nn.messages import Messages
from neuraltrees.nn.models import GNN, MLP, NeuralTree
from neuraltrees.nn.network import Network
from neuraltrees.nn.plan import Plan
from neuraltrees.nn.schedule import (
    BagOptions,
    BagRounds,
    Body,
    FeatureLayers,
    GraphRounds,
    HiddenLayer,
    NoRounds,
    Schedule,
    TreeRounds,
    TypedRounds,
)
from neuraltrees.nn.sweep import SweepLayer, SweepPlan

__all__ = [
    "GNN",
    "MLP",
    "BagOptions",
    "BagRounds",
    "Body",
    "CRFHead",
    "CRFPosterior",
    "Categories",
    "ConvOptions",
    "Convolution",
    "Encoder",
    "FeatureLayers",
    "GATConv",
    "GCNConv",
    "GINConv",
    "GraphHead",
    "GraphRounds",
    "Head",
    "HiddenLayer",
    "LabelsHead",
    "Messages",
    "Network",
    "NeuralTree",
    "NoRounds",
    "NodeHead",
    "Places",
    "Plan",
    "PottsPosterior",
    "SAGEConv",
    "Schedule",
    "Strengths",
    "SweepLayer",
    "SweepPlan",
    "TreeRounds",
    "TypedRounds",
]
