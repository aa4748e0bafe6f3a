"""Exact structured answers against rivals, one thread, in turns, the shortest of several processor times.

    python benchmarks/crf.py                  # scene graphs need NEURALTREES_DATA; chains pytorch-crf and torch-struct
    python benchmarks/crf.py --device cuda    # marginals of the scene graphs, forward and backward, on a GPU

The scene graphs: exact marginals of all 482 with 30 % of the labels unknown, the 8 most probable labels per node, from
the potentials of all nodes and the known labels; against a loop over the graphs that folds the known labels into the
potentials of the others, keeps labels and runs a `JunctionTree`. Chains: minus log-likelihood and its gradient of 256
chains of 100 nodes with 20 labels.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise as neighbours
from typing import NamedTuple

import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees.data.splits import random_node_split


def shortest(works: Mapping[str, Callable[[], object]], turns: int, calls: int = 3) -> dict[str, float]:
    """The shortest time of every work, in turns of some calls each: the first call finds the rival in the caches.

    Processor time, since beside other programs a long work is interrupted in every call and a short one in few.
    """
    found = dict.fromkeys(works, float("inf"))
    for _ in range(turns):
        for name, work in works.items():
            for _ in range(calls):
                start = time.process_time()
                work()
                found[name] = min(found[name], time.process_time() - start)
    return found


class Scenes(NamedTuple):
    """The scene graphs, numbers of labels, random potentials, and known labels."""

    graphs: list[nt.Graph]
    counts: Tensor
    unary: Tensor
    table: Tensor
    known: Tensor

    @classmethod
    def load(cls, labels: int = 35) -> Scenes:
        data = nt.StanfordSceneGraphs()
        known = torch.where(random_node_split(len(data.y), 0.7, seed=0).train, data.y, -1)
        stream = torch.Generator().manual_seed(0)
        counts = torch.tensor([15, 35])[data.node_type]
        unary = torch.randn(len(known), labels, generator=stream)
        unary[torch.arange(labels) >= counts.unsqueeze(1)] = -torch.inf
        table = torch.randn(labels, labels, generator=stream) / 2
        return cls([nt.Graph.from_data(graph) for graph in data], counts, unary, table, known)


def on_gpu(states: int = 8, repeats: int = 50) -> None:
    """Milliseconds of marginals and all gradients, by calls and as a replayed CUDA graph, in float32."""
    graphs, counts, unary, table, known = Scenes.load()
    here = nt.CRF(graphs, counts, states=states)(unary.double(), table.double(), known).marginals
    crf = nt.CRF(graphs, counts, states=states).to("cuda")
    given = [each.cuda().requires_grad_() for each in (unary, table)]
    weight = torch.rand(unary.shape, device="cuda")
    mask = known.cuda()
    found: list[Tensor] = []

    def step(check: bool) -> None:
        for each in given:
            each.grad = None
        answer = crf(*given, mask, check=check)
        (weight * answer.marginals).sum().backward()
        found[:] = [answer.marginals.detach()]

    def timed(work: Callable[[], object]) -> float:
        times = []
        for _ in range(repeats):
            torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return 1e3 * sorted(times)[repeats // 2]

    step(True)
    print(f"largest difference from float64 on a CPU: {float((found[0].cpu() - here).abs().max()):.1e}")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step(False)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(False)
    graph.replay()
    print(f"replayed, likewise: {float((found[0].cpu() - here).abs().max()):.1e}")
    name = torch.cuda.get_device_name()
    for what, work in (
        ("with checks", lambda: step(True)),
        ("without checks", lambda: step(False)),
        ("replayed", graph.replay),
    ):
        print(f"482 scene graphs, forward and backward, {what}: {timed(work):.2f} ms on {name}")


def scenes(states: int = 8) -> None:
    graphs, counts, unary, table, known = Scenes.load()
    crf = nt.CRF(graphs, counts, states=states)
    answer = crf(unary, table, known)
    loop = Loop.of(graphs, known, states)
    apart = (answer.marginals - loop(unary, table, known)).abs().max()
    assert float(apart) < 1e-5, float(apart)
    networks = [tree.structure.shapes for _, tree in loop.parts]
    tables = [[torch.randn(shape) for shape in shapes] for shapes in networks]
    works: dict[str, dict[str, Callable[[], object]]] = {
        "plans at hand": {
            "crf": lambda: crf(unary, table, known),
            "loop": lambda: loop(unary, table, known),
        },
        "plans made": {
            "crf": lambda: nt.CRF(graphs, counts, states=states)(unary, table, known),
            "loop": lambda: Loop.of(graphs, known, states)(unary, table, known),
        },
        "plans at hand, a loop that is given the tables of the unknown nodes": {
            "crf": lambda: crf(unary, table, known),
            "loop": lambda: [tree.run(each) for (_, tree), each in zip(loop.parts, tables, strict=True)],
        },
    }
    for what, pair in works.items():
        times = shortest(pair, 7)
        print(f"482 scene graphs, 30 % unknown, 8 labels kept, {what}: {times['loop'] / times['crf']:.1f} x faster")


class Rest(NamedTuple):
    """The unknown nodes of a graph, and what the loop needs to fold the known ones into their potentials.

    Args:
        nodes: the unknown nodes, among those of all graphs.
        target, number, source: of every edge from a known node: the place of its unknown one among `nodes`, 0, or 1 for
            the transposed table, and the known node.
        ends: the places of both ends of every edge between unknown nodes.
    """

    nodes: Tensor
    target: Tensor
    number: Tensor
    source: Tensor
    ends: Tensor


class Loop(NamedTuple):
    """The same answer by a `JunctionTree` per graph."""

    parts: list[tuple[Rest, nt.JunctionTree]]
    states: int

    @classmethod
    def of(cls, graphs: Sequence[nt.Graph], known: Tensor, states: int) -> Loop:
        parts, start = [], 0
        for graph in graphs:
            ends = torch.as_tensor(graph.edge_index)
            ends = ends[:, ends[0] < ends[1]] + start
            mask = known[ends] >= 0
            nodes = start + (known[start : start + graph.num_nodes] < 0).nonzero().flatten()
            start += graph.num_nodes
            if not len(nodes):
                continue
            one = mask[0] != mask[1]
            number = mask[1, one].long()  # the known node is the second one
            source, target = (torch.where(number.bool(), *ends[order][:, one]) for order in ([1, 0], [0, 1]))
            place = torch.searchsorted(nodes, target)
            inner = torch.searchsorted(nodes, ends[:, ~mask.any(0)])
            cliques = [(i,) for i in range(len(nodes))] + [tuple(pair) for pair in inner.t().tolist()]
            tables = [torch.zeros([states] * len(clique)) for clique in cliques]
            tree = nt.JunctionTree.of(nt.MarkovNetwork([states] * len(nodes), cliques, tables))
            parts.append((Rest(nodes, place, number, source, inner), tree))
        return cls(parts, states)

    def __call__(self, unary: Tensor, table: Tensor, known: Tensor) -> Tensor:
        both = torch.stack([table, table.t()])
        out = torch.nn.functional.one_hot(known.clamp(min=0), unary.shape[1]).to(unary.dtype)
        for rest, tree in self.parts:
            own = unary[rest.nodes].index_add_(0, rest.target, both[rest.number, known[rest.source]])
            single, kept = own.topk(self.states)
            first, last = kept[rest.ends[0]], kept[rest.ends[1]]
            pairs = table[first.unsqueeze(2), last.unsqueeze(1)]
            found = tree.run([*single.unbind(), *pairs.unbind()]).marginals
            out[rest.nodes] = torch.zeros_like(own).scatter_(1, kept, torch.stack(list(found)))
        return out


def chains(count: int = 256, length: int = 100, labels: int = 20) -> None:
    stream = torch.Generator().manual_seed(0)
    unary = torch.randn(count, length, labels, generator=stream, requires_grad=True)
    table = torch.randn(labels, labels, generator=stream, requires_grad=True)
    y = torch.randint(labels, (count, length), generator=stream)
    ends = list(zip(*neighbours(range(length)), strict=True))
    crf = nt.CRF([nt.Graph(ends, num_nodes=length)] * count)

    def ours() -> Tensor:
        loss = -crf.log_likelihood(unary.flatten(0, 1), table, y.flatten()).sum()
        loss.backward()
        return loss.detach()

    works: dict[str, Callable[[], Tensor]] = {"neuraltrees": ours}
    if importlib.util.find_spec("torchcrf"):
        from torchcrf import CRF

        rival = CRF(labels, batch_first=True)
        with torch.no_grad():
            rival.transitions.copy_(table)
            rival.start_transitions.zero_()
            rival.end_transitions.zero_()

        def theirs() -> Tensor:
            loss = -rival(unary, y, reduction="sum")
            loss.backward()
            return loss.detach()

        works["pytorch-crf"] = theirs
    if importlib.util.find_spec("torch_struct"):
        from torch_struct import LinearChainCRF

        def struct() -> Tensor:
            potentials = table.T.expand(count, length - 1, labels, labels) + unary[:, 1:].unsqueeze(3)
            first = torch.zeros_like(potentials)
            first[:, 0] = unary[:, 0].unsqueeze(1)
            chain = LinearChainCRF(potentials + first)
            score = unary.gather(2, y.unsqueeze(2)).sum() + table[y[:, :-1], y[:, 1:]].sum()
            loss = chain.partition.sum() - score
            loss.backward()
            return loss.detach()

        works["torch-struct"] = struct
    values = {name: float(work()) for name, work in works.items()}
    times = shortest(works, 5)
    for name, value in values.items():
        assert abs(value - values["neuraltrees"]) < 1e-3 * abs(value), values
        if name != "neuraltrees":
            ratio = times[name] / times["neuraltrees"]
            print(f"{count} chains of {length}, {labels} labels, against {name}: {ratio:.1f} x faster")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    torch.set_num_threads(1)
    if parser.parse_args().device == "cuda":
        on_gpu()
        sys.exit()
    chains()
    if os.environ.get("NEURALTREES_DATA"):
        scenes()
    else:
        print("scene graphs: not measured, since NEURALTREES_DATA is not set")
