"""One sweep forward and backward against one round of PyG's GINEConv on the same batch, in turns.

    python benchmarks/sweeps.py                  # on one CPU thread
    python benchmarks/sweeps.py --device cuda    # eager and replayed as CUDA graphs; also large trees
    python benchmarks/sweeps.py --prepare peptides.npz                    # for a machine without data or compiled core:
    python benchmarks/sweeps.py --device cuda --prepared peptides.npz

The batch: 200 peptides of Peptides-func if NEURALTREES_DATA is set, else generated chains with side chains and rings.
The sweep runs on the tree of the batch's min-fill bags. A round is GINEConv with an MLP of two layers, with states and
edge features of the same width. All gradients are computed: of states, decays, gates, edge features and weights.
Ratios are times of a sweep over the time of a round; the bar is 1.5.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import GINEConv

import neuraltrees as nt
from neuraltrees.nn import triton_kernels
from neuraltrees.nn.sweep import SweepPlan, fused, jumping, sweep

BAR = 1.5
Work = Callable[[], object]


class Molecules(NamedTuple):
    """A batch of graphs in one, with every edge in both directions."""

    name: str
    num_nodes: int
    edge_index: Tensor


def peptides(count: int, seed: int = 0) -> Molecules:
    """Some graphs of the training set."""
    path = Path(os.environ["NEURALTREES_DATA"]) / "molecules" / "peptides" / "peptides_func.npz"
    with np.load(path) as file:
        node_ptr, edge_ptr, edge, split = (file[key] for key in ("node_ptr", "edge_ptr", "edge", "split"))
    edge = edge if edge.shape[0] == 2 else edge.T
    chosen = np.random.default_rng(seed).choice(np.flatnonzero(split == 0), count, replace=False)
    sizes = np.diff(node_ptr)[chosen]
    offset = np.cumsum(sizes) - sizes
    parts = [edge[:, edge_ptr[g] : edge_ptr[g + 1]].astype(np.int64) + at for g, at in zip(chosen, offset, strict=True)]
    ends = torch.from_numpy(np.concatenate(parts, 1))
    return Molecules(f"{count} peptides", int(sizes.sum()), torch.cat([ends, ends.flip(0)], 1))


def generated(count: int, residues: int = 18, seed: int = 0) -> Molecules:
    """Backbones with side chains, of which every third ends in a ring of six."""
    random = np.random.default_rng(seed)
    ends: list[tuple[int, int]] = []
    size = 0
    for _ in range(count):
        backbone = -1
        for residue in range(int(random.integers(residues // 2, 2 * residues))):
            first = size
            ends += [(first, first + 1), (first + 1, first + 2), (first + 2, first + 3)]  # N, CA, C, O
            if backbone >= 0:
                ends.append((backbone, first))
            ring = residue % 3 == 0
            length = 7 if ring else int(random.integers(1, 5))
            ends.append((first + 1, first + 4))
            ends += [(first + 4 + step, first + 5 + step) for step in range(length - 1)]
            if ring:
                ends.append((first + 5, first + 10))
            backbone, size = first + 2, first + 4 + length
    both = torch.tensor(ends).T
    return Molecules(f"{count} generated chains", size, torch.cat([both, both.flip(0)], 1))


def bag_plan(batch: Molecules) -> SweepPlan:
    """The tree of the bags, in the order that is best for a sweep, as a dataset would store them."""
    found = nt.decompose(nt.Graph(batch.edge_index, batch.num_nodes), method="min_fill")
    plan = SweepPlan.of_edges(found.edges.reshape(-1, 2).T, len(found.bag_ptr) - 1)
    return SweepPlan(plan.parent, plan.tree_ptr, None, plan.depth, plan.largest)


def save(path: Path, batch: Molecules, plan: SweepPlan) -> None:
    np.savez(
        path,
        name=batch.name,
        sizes=[batch.num_nodes, plan.depth, plan.largest],
        edge_index=batch.edge_index.numpy(),
        parent=plan.parent.numpy(),
        tree_ptr=plan.tree_ptr.numpy(),
    )


def load(path: Path) -> tuple[Molecules, SweepPlan]:
    with np.load(path) as file:
        num_nodes, depth, largest = (int(size) for size in file["sizes"])
        edge_index, parent, tree_ptr = (torch.from_numpy(file[key]) for key in ("edge_index", "parent", "tree_ptr"))
        return Molecules(str(file["name"]), num_nodes, edge_index), SweepPlan(parent, tree_ptr, None, depth, largest)


def gine_round(batch: Molecules, channels: int, device: torch.device) -> Work:
    mlp = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, channels))
    conv = GINEConv(mlp).to(device)
    edge_index = batch.edge_index.to(device)
    states = torch.randn(batch.num_nodes, channels, device=device, requires_grad=True)
    edges = torch.randn(edge_index.shape[1], channels, device=device, requires_grad=True)
    grad = torch.randn(batch.num_nodes, channels, device=device)
    inputs = [states, edges, *conv.parameters()]

    def work() -> object:
        return torch.autograd.grad(conv(states, edge_index, edges), inputs, grad)

    return work


def sweep_work(plan: SweepPlan, channels: int, device: torch.device, gated: bool) -> Work:
    plan = plan.to(device)
    values = torch.randn(plan.num_nodes, channels, device=device, requires_grad=True)
    decay = torch.linspace(0.3, 0.97, channels, device=device).requires_grad_()
    gate = torch.rand(plan.num_nodes, channels, device=device, requires_grad=True) if gated else None
    grad = torch.randn(plan.num_nodes, channels, device=device)
    inputs = [values, decay] if gate is None else [values, decay, gate]

    def work() -> object:
        return torch.autograd.grad(sweep(values, decay, plan, gate), inputs, grad)

    return work


def level_work(plan: SweepPlan, channels: int, device: torch.device) -> Work:
    """The plain way: the nodes sorted by level, a few torch operations per level, differentiated by torch."""
    depth = [0] * plan.num_nodes
    for place, above in enumerate(plan.parent.tolist()):
        depth[place] = 0 if above < 0 else depth[above] + 1
    levels = torch.tensor(depth)
    sizes = levels.bincount().tolist()
    by_level = levels.argsort(stable=True)
    at = torch.empty_like(by_level)
    at[by_level] = (
        torch.arange(plan.num_nodes) - torch.tensor(sizes).cumsum(0).sub(torch.tensor(sizes))[levels[by_level]]
    )
    above_in_level = [at[plan.parent[own]].to(device) for own in by_level.split(sizes)[1:]]
    values = torch.randn(plan.num_nodes, channels, device=device, requires_grad=True)
    decay = torch.linspace(0.3, 0.97, channels, device=device).requires_grad_()
    grad = torch.randn(plan.num_nodes, channels, device=device)

    def work() -> object:
        sums = list(values.split(sizes))
        for level in range(len(sums) - 1, 0, -1):
            sums[level - 1] = sums[level - 1].index_add(0, above_in_level[level - 1], decay * sums[level])
        out = sums[:1]
        for level in range(1, len(sums)):
            upper = out[level - 1].index_select(0, above_in_level[level - 1])
            out.append(sums[level] + decay * (upper - decay * sums[level]))
        return torch.autograd.grad(torch.cat(out), [values, decay], grad)

    return work


def replayed(work: Work) -> Work:
    """The same work as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    kept = []
    with torch.cuda.graph(graph):
        kept.append(work())

    def replay(kept: list[object] = kept) -> None:
        graph.replay()

    return replay


def shortest(works: Mapping[str, Work], repeats: int, device: torch.device) -> dict[str, float]:
    """The shortest time of every work in milliseconds, in turns."""
    found = dict.fromkeys(works, float("inf"))
    for number in range(repeats + 2):
        for name, work in works.items():
            if device.type == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            if device.type == "cuda":
                torch.cuda.synchronize()
            if number >= 2:
                found[name] = min(found[name], 1e3 * (time.perf_counter() - start))
    return found


def report(title: str, times: Mapping[str, float], rival: str) -> None:
    print(f"\n{title}")
    for name, spent in times.items():
        bar = "" if name == rival else f"{spent / times[rival]:8.2f} x"
        print(f"  {name:<34}{spent:10.3f} ms{bar}")


def batches(batch: Molecules, plan: SweepPlan, device: torch.device, channels: int, repeats: int) -> None:
    print(f"{batch.name}: {batch.num_nodes} atoms, {batch.edge_index.shape[1] // 2} bonds; {plan}; {channels} channels")
    works = {
        "GINE round": gine_round(batch, channels, device),
        "sweep": sweep_work(plan, channels, device, gated=False),
        "sweep with gates": sweep_work(plan, channels, device, gated=True),
        "level by level (torch)": level_work(plan, channels, device),
    }
    report(f"forward and backward, bar {BAR} x", shortest(works, repeats, device), "GINE round")
    if device.type == "cuda":
        graphs = {name: replayed(work) for name, work in works.items()}
        report(f"the same, replayed, bar {BAR} x", shortest(graphs, repeats, device), "GINE round")
        kernel_shapes(plan, channels, device, repeats)


def kernel_shapes(plan: SweepPlan, channels: int, device: torch.device, repeats: int) -> None:
    """The sizes of the blocks that a program takes (`fused.ROWS`, `fused.BLOCK`)."""
    chosen, works = (fused.ROWS, fused.BLOCK), {}
    for rows, block in product((4, 8, 16), (64, 128)):
        fused.ROWS, fused.BLOCK = rows, block
        works[f"{rows} places, {block} channels"] = replayed(sweep_work(plan, channels, device, gated=False))
    fused.ROWS, fused.BLOCK = chosen
    ours = f"{chosen[0]} places, {chosen[1]} channels"
    report("blocks of a program, replayed", shortest(works, repeats, device), ours)


def large_trees(device: torch.device, channels: int, repeats: int) -> None:
    """Where pointer jumping overtakes one program per tree (`fused.LARGEST`)."""
    for size in (1 << 10, 1 << 12, 1 << 14, 1 << 17):
        works = {}
        chain, binary = torch.arange(-1, size - 1), torch.div(torch.arange(size) - 1, 2, rounding_mode="floor")
        for kind, parents, depth in (("chain", chain, size - 1), ("binary tree", binary, size.bit_length() - 1)):
            plan = SweepPlan(parents, torch.tensor([0, size]), None, depth, size).to(device)
            values, factors = torch.randn(size, channels, device=device), torch.full((1, channels), 0.9, device=device)
            for way in (fused, jumping):
                name = f"{kind}, {way.__name__.rpartition('.')[2]}"
                works[name] = lambda way=way, values=values, factors=factors, plan=plan: way.passes(
                    values, factors, plan
                )
        report(f"one tree of {size} nodes, both passes", shortest(works, repeats, device), "chain, fused")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--channels", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument(
        "--prepare", type=Path, metavar="FILE", help="write the batch and its plan, and measure nothing"
    )
    parser.add_argument("--prepared", type=Path, metavar="FILE", help="measure on what --prepare wrote")
    given = parser.parse_args()
    if given.prepared:
        batch, plan = load(given.prepared)
    else:
        batch = peptides(given.batch) if os.environ.get("NEURALTREES_DATA") else generated(given.batch)
        plan = bag_plan(batch)
    if given.prepare:
        save(given.prepare, batch, plan)
        return
    device = torch.device(given.device)
    torch.manual_seed(0)
    if device.type == "cpu":
        torch.set_num_threads(1)
    else:
        print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, Triton: {triton_kernels.available()}")
        given.repeats *= 10
    batches(batch, plan, device, given.channels, given.repeats)
    if device.type == "cuda" and triton_kernels.available():
        large_trees(device, given.channels, given.repeats // 5)


if __name__ == "__main__":
    main()
