"""Which pairs of graphs networks distinguish, by the reliable paired comparison of BREC (Wang and Zhang 2024).

Every graph is given in 32 random numberings. A network tells two graphs apart if Hotelling's test finds that the
difference of its 16 answers is not zero, and does not find the same of two lists of copies of one graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.encodings import return_probabilities
from neuraltrees.data.trees import TreeSettings, graph_union
from neuraltrees.datasets.expressivity import GraphPair
from neuraltrees.errors import InputError
from neuraltrees.nn.network import Network
from neuraltrees.objectives import Regression
from neuraltrees.training.network_spec import NetworkSpec

COPIES, ANSWERS = 32, 16
THRESHOLD = 72.34  # threshold of the statistic of 32 differences of 16 answers, at 5 %
# Added to the covariance, so that differences by rounding, of some 1e-13 in float64, count as none; BREC adds 1e-7 in
# float32.
ROUNDING = 1e-20
TREES = TreeSettings(None, 0, "elimination", "canonical", "bag")


@dataclass(frozen=True)
class Rival:
    """A network of the comparison.

    Args:
        parts: what its layers read; see `BagOptions`.
        walks: number of return probabilities of random walks that are features of nodes.
        codes: whether it reads codes of bags.
    """

    parts: str
    walks: int = 0
    codes: bool = False

    def build(self, hidden: int, layers: int, seed: int) -> Network:
        """The network with random weights, in float64."""
        spec = NetworkSpec(
            schedule="bags",
            parts=self.parts,
            hidden=hidden,
            layers=layers,
            dropout=0.0,
            layer_norm=True,
            bag_codes=self.codes,
        )
        answers = Regression([f"answer {number}" for number in range(ANSWERS)], level="graph")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return spec.build_for(1 + self.walks, None, answers).double().eval()


@dataclass(frozen=True)
class Verdict:
    """The verdict of a network on a pair.

    Args:
        pair: the statistic of the two graphs.
        same: the statistic of copies of the first graph.
    """

    pair: float
    same: float

    @property
    def reliable(self) -> bool:
        """Whether the network does not distinguish copies of one graph."""
        return self.same < THRESHOLD

    @property
    def told_apart(self) -> bool:
        return self.pair > THRESHOLD and self.reliable


@torch.no_grad()
def compare(pair: GraphPair, networks: Sequence[tuple[Rival, Network]], seed: int) -> list[Verdict]:
    """The verdict of every network, all on the same copies.

    Args:
        pair: two graphs.
        networks: the networks, all with the same number of rounds.
        seed: seed of the numberings.
    """
    draw = torch.Generator().manual_seed(seed)
    graphs = [renumbered(each, draw) for each in (pair.first, pair.second, pair.first) for _ in range(COPIES)]
    joined = graph_union(graphs, TREES)
    reads_most = max(networks, key=lambda each: (each[0].codes, each[1].needs_tree))[1]
    plan = reads_most.plan(joined)  # the others read less of it
    ones = torch.ones(int(joined.num_nodes), 1, dtype=torch.float64)
    found = []
    walked: dict[int, Tensor] = {0: ones}
    for rival, network in networks:
        if rival.walks not in walked:
            walks = return_probabilities(graphs, rival.walks, torch.float64)
            walked[rival.walks] = torch.cat([ones, walks], 1)
        first, second, again = network(walked[rival.walks], plan).split(COPIES)
        found.append(Verdict(statistic(first - second), statistic(first - again)))
    return found


def renumbered(graph: Data, draw: torch.Generator) -> Data:
    """The graph without features, its nodes and edges in a random order."""
    order, edges = (torch.randperm(n, generator=draw) for n in (int(graph.num_nodes), graph.edge_index.shape[1]))
    return Data(edge_index=order[graph.edge_index][:, edges], num_nodes=graph.num_nodes)


def statistic(differences: Tensor) -> float:
    r"""Hotelling's :math:`T^2 = q\, \bar d^⊤ (S + ε I)^{-1} \bar d` of q differences.

    Shapes: :math:`(q, d)`

    >>> statistic(torch.zeros(32, 16, dtype=torch.float64))
    0.0
    """
    count, size = differences.shape
    if count <= size:
        raise InputError(f"Expected more differences than answers; got {count} of {size} answers.")
    mean = differences.mean(0)
    covariance = (differences - mean).mT @ (differences - mean) / (count - 1)
    noise = ROUNDING * torch.eye(size, dtype=differences.dtype)
    return float(count * mean @ torch.linalg.solve(covariance + noise, mean))
