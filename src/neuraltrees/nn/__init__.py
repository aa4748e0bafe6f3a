"""Stage 4: convolutions, the neural tree, the GNN baseline."""

from neuraltrees.nn.conv.convolution import Convolution as Convolution
from neuraltrees.nn.conv.gat import GAT as GAT
from neuraltrees.nn.conv.gcn import GCN as GCN
from neuraltrees.nn.conv.gin import GIN as GIN
from neuraltrees.nn.conv.sage import SAGE as SAGE
from neuraltrees.nn.head.node import Readout as Readout
from neuraltrees.nn.models import GNN as GNN
from neuraltrees.nn.models import NeuralTree as NeuralTree
from neuraltrees.nn.schedule.messages import Links as Links
