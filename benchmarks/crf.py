"""Exact structured answers against rivals, one thread, in turns, the shortest of several times.

    python benchmarks/crf.py                  # scene graphs need NEURALTREES_DATA; chains pytorch-crf and torch-struct
    python benchmarks/crf.py --device cuda    # marginals of the scene graphs, forward and backward, on a GPU

The scene graphs: exact marginals of all 482 with 30 % of the labels unknown, the 8 most probable labels per node,
against a loop over the graphs through `JunctionTree`. Chains: minus log-likelihood and its gradient of 256 chains of
100 nodes with 20 labels.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise as neighbours
from typing import NamedTuple

import torch
from torch import Tensor

import neuraltrees as nt
from neuraltrees.data.splits import random_node_split


def shortest(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The shortest time of every work, in turns."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            found[name] = min(found[name], time.perf_counter() - start)
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
    models = [_reduced(*each, table, states) for each in _parts(graphs, unary, known)]
    trees = [nt.JunctionTree.of(model) for model in models if model is not None]
    listed = [model for model in models if model is not None]
    found = [tree.run(model.log_potentials) for tree, model in zip(trees, listed, strict=True)]
    mine = torch.stack([answer.marginals[known < 0].max(1).values.sum().double()])
    theirs = sum(float(row.max()) for each in found for row in each.marginals)
    assert abs(float(mine) - theirs) < 1e-2 * theirs, (float(mine), theirs)
    ready = shortest(
        {
            "forest": lambda: crf(unary, table, known),
            "loop": lambda: [tree.run(model.log_potentials) for tree, model in zip(trees, listed, strict=True)],
        },
        5,
    )
    planned = shortest(
        {
            "forest": lambda: nt.CRF(graphs, counts, states=states)(unary, table, known),
            "loop": lambda: [nt.JunctionTree.of(model).run(model.log_potentials) for model in listed],
        },
        3,
    )
    for what, times in (("plans at hand", ready), ("planning both", planned)):
        print(f"482 scene graphs, 30 % unknown, 8 labels kept, {what}: {times['loop'] / times['forest']:.1f} x faster")


def _parts(graphs: list[nt.Graph], unary: Tensor, known: Tensor) -> list[tuple[nt.Graph, Tensor, Tensor]]:
    sizes = [graph.num_nodes for graph in graphs]
    return list(zip(graphs, unary.split(sizes), known.split(sizes), strict=True))


def _reduced(graph: nt.Graph, unary: Tensor, known: Tensor, table: Tensor, states: int) -> nt.MarkovNetwork | None:
    """The network of the unknown nodes, with the labels that are kept."""
    free = (known < 0).nonzero().flatten().tolist()
    if not free:
        return None
    own = unary.clone()
    edges = nt.CRF(graph).edges.T.tolist()
    for first, last in edges:
        if known[first] >= 0:
            own[last] = own[last] + table[known[first]]
        if known[last] >= 0:
            own[first] = own[first] + table[:, known[last]]
    kept = {node: own[node].topk(min(states, int((own[node] > -torch.inf).sum()))).indices for node in free}
    place = {node: number for number, node in enumerate(free)}
    cliques: list[tuple[int, ...]] = [(place[node],) for node in free]
    tables = [own[node][kept[node]] for node in free]
    for first, last in edges:
        if first in place and last in place:
            cliques.append((place[first], place[last]))
            tables.append(table[kept[first]][:, kept[last]])
    return nt.MarkovNetwork([len(kept[node]) for node in free], cliques, tables)


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
