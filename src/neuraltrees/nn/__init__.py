"""Networks: convolutions, encoders, schedules and heads; the neural tree and the GNN baseline."""

from neuraltrees.nn.conv import Convolution as Convolution
from neuraltrees.nn.conv import ConvOptions as ConvOptions
from neuraltrees.nn.conv import GATConv as GATConv
from neuraltrees.nn.conv import GCNConv as GCNConv
from neuraltrees.nn.conv import GINConv as GINConv
from neuraltrees.nn.conv import SAGEConv as SAGEConv
from neuraltrees.nn.encoder import Categories as Categories
from neuraltrees.nn.encoder import Encoder as Encoder
from neuraltrees.nn.head import CRFHead as CRFHead
from neuraltrees.nn.head import GraphHead as GraphHead
from neuraltrees.nn.head import Head as Head
from neuraltrees.nn.head import NodeHead as NodeHead
from neuraltrees.nn.head import Places as Places
from neuraltrees.nn.head import PottsPosterior as PottsPosterior
from neuraltrees.nn.head import Strengths as Strengths
from neuraltrees.nn.messages import Messages as Messages
from neuraltrees.nn.models import GNN as GNN
from neuraltrees.nn.models import NeuralTree as NeuralTree
from neuraltrees.nn.network import Network as Network
from neuraltrees.nn.plan import Plan as Plan
from neuraltrees.nn.schedule import Body as Body
from neuraltrees.nn.schedule import GraphRounds as GraphRounds
from neuraltrees.nn.schedule import NoRounds as NoRounds
from neuraltrees.nn.schedule import Schedule as Schedule
from neuraltrees.nn.schedule import TreeRounds as TreeRounds
