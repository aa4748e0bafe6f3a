"""One graph in parts: how even they are, what they send, and a step of two processes against one.

    python benchmarks/distributed.py parts --data DATASETS        # imbalance and bytes for 2 to 64 parts
    python benchmarks/distributed.py step --nodes 1000000         # two processes of one thread against one

Work is what parts compute: states and messages of all rounds, those of several parts in each. The step is a full one,
forward and backward, of a GCN of hidden size 64 on the H-tree of a graph like PubMed (two edges per node, each to a
node by its degree; k = 4). Its control are two processes that compute the whole step each, at once and without a word
to each other: what two processes can be quicker on this machine at all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.datasets import CitationNetwork
from neuraltrees.nn import NeuralTree, Plan
from neuraltrees.nn.parallel import Group, cost_of_state

HIDDEN, CLASSES = 64, 3
PARTS = (2, 4, 8, 16, 32, 64)


def like_pubmed(nodes: int) -> Data:
    """A graph in which every node is joined to two earlier ones, chosen by their degree; with its H-tree."""
    edges, draw = 2 * nodes, np.random.default_rng(0)
    # The end of an edge is either end of an earlier edge, or of itself: pointers that are followed to a source.
    ends = np.arange(2 * edges)
    ends[1::2] = (draw.random(edges) * (2 * np.arange(edges) + 1)).astype(np.int64)
    while (open_ends := ends % 2 == 1).any():
        ends[open_ends] = ends[ends[open_ends]]
    source = np.arange(edges) // 2
    graph = nt.Graph(np.stack([source, ends[1::2] // 4]), num_nodes=nodes)
    return nt.ToHTree(max_treewidth=4)(Data(edge_index=torch.as_tensor(graph.edge_index), num_nodes=nodes))


def network(layers: int) -> NeuralTree:
    torch.manual_seed(0)
    return NeuralTree(HIDDEN, HIDDEN, CLASSES, layers, "gcn", dropout=0.0)


def parts(options: argparse.Namespace) -> None:
    """Prints imbalance, cuts and bytes by number of parts."""
    graphs: list[tuple[str, Callable[[], Data]]] = []
    for k in (1, 4):
        graphs.append(
            (f"PubMed, k={k}", lambda k=k: nt.ToHTree(max_treewidth=k)(CitationNetwork("PubMed", options.data)[0]))
        )
    graphs.append((f"{options.nodes:,} nodes, k=4", lambda: like_pubmed(options.nodes)))
    print("graph                   parts  imbalance  more work  cuts of a part  rows sent per round bar of 2 cuts")
    for name, make in graphs:
        data = make()
        schedule, cost = network(options.layers).schedule, cost_of_state(HIDDEN)
        alone = schedule.cut(data, 1).work(cost, True).sum()
        for count in PARTS:
            cut = schedule.cut(data, count)
            work = cut.work(cost, True)
            sent = most_rows_sent(cut)
            row = f"{name:<24} {count:>4}  {work.max() / work.mean():9.3f}  {work.sum() / alone:9.3f}"
            print(f"{row}  {int(cut.cuts.max()):>14}  {sent:>17}  {2 * int(cut.cuts.max()):>14}", flush=True)


def most_rows_sent(cut: object) -> int:
    """States and gradients that a process sends in a round, the most of any process and round."""
    most = 0
    for number, messages in enumerate(cut.unrolled.rounds[1:], start=1):
        owner = cut.states(number - 1)[messages.source.numpy()]
        reader = cut.states(number)[messages.target.numpy()]
        across = owner != reader
        pairs = np.unique(np.stack([owner[across], reader[across], messages.source.numpy()[across]]), axis=1)
        given, got = (np.bincount(each, minlength=cut.parts) for each in pairs[:2])
        most = max(most, int((given + got).max()))
    return most


class Work:
    """A network with the whole plan and the plan of a part, and steps of both."""

    def __init__(self, nodes: int, layers: int, group: Group) -> None:
        data = like_pubmed(nodes)
        self.network, self.group = network(layers), group
        self.x = torch.randn(nodes, HIDDEN, generator=torch.Generator().manual_seed(0))
        self.y = torch.randint(CLASSES, (nodes,), generator=torch.Generator().manual_seed(1))
        self.whole, self.part = self.network.plan(data), self.network.part_plan(data, group)

    def step(self, x: torch.Tensor, y: torch.Tensor, plan: Plan, together: bool) -> float:
        start = time.perf_counter()
        self.network.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.network(x, plan), y, reduction="sum") / len(self.y)
        loss.backward()
        if together:
            gradients = torch.cat([each.grad.flatten() for each in self.network.parameters()])
            self.group.total_(gradients)
        return time.perf_counter() - start

    def alone(self) -> float:
        return self.step(self.x, self.y, self.whole, together=False)

    def together(self) -> float:
        here = self.part.part
        assert here is not None
        self.group.barrier()
        return self.step(self.x[here.nodes], self.y[here.owned], self.part, together=True)


def worker(rank: int, store: str, nodes: int, layers: int, pipe: Connection) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=2)
    work = Work(nodes, layers, Group.here())
    pipe.send(None)
    while (what := pipe.recv()) is not None:
        work.group.sent.clear()
        pipe.send((getattr(work, what)(), dict(work.group.sent)))


def step(options: argparse.Namespace) -> None:
    """Prints the speed-up of two processes, and of the control."""
    context = multiprocessing.get_context("spawn")
    pipes = []
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(2):
            ours, theirs = context.Pipe()
            given = (rank, f"{folder}/store", options.nodes, options.layers, theirs)
            context.Process(target=worker, args=given, daemon=True).start()
            pipes.append(ours)
        for pipe in pipes:
            pipe.recv()

        def run(what: str, ranks: int) -> tuple[float, dict[str, int]]:
            for pipe in pipes[:ranks]:
                pipe.send(what)
            answers = [pipe.recv() for pipe in pipes[:ranks]]
            return max(seconds for seconds, _ in answers), answers[0][1]

        run("together", 2), run("alone", 1)
        rows = []
        for _ in range(options.times):
            one, (two, sent), control = run("alone", 1)[0], run("together", 2), run("alone", 2)[0]
            rows.append((one, one / two, 2 * one / control))
        for pipe in pipes:
            pipe.send(None)
    one, quicker, possible = (median(each) for each in zip(*rows, strict=True))
    ratio = median(pair[1] / pair[2] for pair in rows)
    print(f"{options.nodes:,} nodes, k = 4, GCN, hidden {HIDDEN}, {options.layers} rounds: {one:.2f} s per step in one")
    print(f"two processes: {quicker:.2f} ×; two independent ones: {possible:.2f} ×; ratio {ratio:.2f} (bar ≥ 0.85)")
    print("bytes that process 0 sent in a step: " + ", ".join(f"{name} {size:,}" for name, size in sent.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for name, function in (("parts", parts), ("step", step)):
        command = commands.add_parser(name, help=function.__doc__)
        command.set_defaults(run=function)
        command.add_argument("--nodes", type=int, default=1_000_000)
        command.add_argument("--layers", type=int, default=4 if name == "parts" else 3)
        command.add_argument("--data", type=Path, default=None, help="folder of the datasets")
        command.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
