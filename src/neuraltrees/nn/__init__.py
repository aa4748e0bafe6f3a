"""Stage 4: convolutions, the neural tree, the GNN baseline."""

from neuraltrees.nn.convolution import Convolution as Convolution
from neuraltrees.nn.gat import GAT as GAT
from neuraltrees.nn.gcn import GCN as GCN
from neuraltrees.nn.gin import GIN as GIN
from neuraltrees.nn.links import Links as Links
from neuraltrees.nn.models import GNN as GNN
from neuraltrees.nn.models import NeuralTree as NeuralTree
from neuraltrees.nn.readout import Readout as Readout
from neuraltrees.nn.sage import SAGE as SAGE
