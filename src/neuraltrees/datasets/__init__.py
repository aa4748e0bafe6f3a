"""Public datasets, and the splits of the paper."""

from neuraltrees.data.splits import Split as Split
from neuraltrees.data.splits import citation_split as citation_split
from neuraltrees.data.splits import random_graph_split as random_graph_split
from neuraltrees.data.splits import random_node_split as random_node_split
from neuraltrees.datasets.citation import CitationNetwork as CitationNetwork
from neuraltrees.datasets.root import find_data_root as find_data_root
from neuraltrees.datasets.stanford import StanfordSceneGraphs as StanfordSceneGraphs
from neuraltrees.datasets.synthetic import SyntheticScenes as SyntheticScenes
