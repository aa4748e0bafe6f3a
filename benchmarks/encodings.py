"""Random-walk encodings of Peptides-func by the core, against products of sparse matrices and PyG's transform.

    python benchmarks/encodings.py --graphs 2000

All on one thread, in turns, in processor time; the shortest of several turns counts. A ratio is the rival's time over
ours. The sparse products are those of scipy, with as many graphs at once as stay in the caches. At the end the whole
task is loaded, with encodings and all checks.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE

from neuraltrees.data.encodings import return_probabilities
from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.datasets.molecules import peptides

ENTRIES = 2**19  # of the dense matrix of some graphs
TURNS = 3


def by_scipy(graphs: list[Data], steps: int) -> Tensor:
    """Graphs of similar size at once: P times a matrix with a column per node of the largest graph, `steps` times."""
    found: list[Tensor] = [torch.zeros(0)] * len(graphs)
    by_size = sorted(range(len(graphs)), key=lambda number: int(graphs[number].num_nodes))
    start = 0
    while start < len(by_size):
        end, nodes = start + 1, graphs[by_size[start]].num_nodes
        while end < len(by_size) and (nodes + (size := graphs[by_size[end]].num_nodes)) * size <= ENTRIES:
            end, nodes = end + 1, nodes + size
        numbers = by_size[start:end]
        for number, rows in zip(numbers, _at_once([graphs[each] for each in numbers], steps), strict=True):
            found[number] = rows
        start = end
    return torch.cat(found)


def _at_once(graphs: list[Data], steps: int) -> tuple[Tensor, ...]:
    sizes = torch.tensor([graph.num_nodes for graph in graphs])
    total, first = int(sizes.sum()), sizes.cumsum(0) - sizes
    source, target = torch.cat([graph.edge_index + shift for graph, shift in zip(graphs, first, strict=True)], 1)
    share = 1.0 / torch.bincount(source, minlength=total).clamp(min=1).float()
    walk = csr_array((share[source].numpy(), (source.numpy(), target.numpy())), (total, total))
    rows = np.arange(total)
    column = rows - first.repeat_interleave(sizes).numpy()
    reached = np.zeros((total, int(sizes.max())), np.float32)
    reached[rows, column] = 1
    found = torch.zeros(total, steps)
    for step in range(steps):
        reached = walk @ reached
        found[:, step] = torch.from_numpy(reached[rows, column])
    return found.split(sizes.tolist())


def by_pyg(graphs: list[Data], steps: int) -> Tensor:
    transform = AddRandomWalkPE(steps, attr_name="walks")
    bare = (Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes) for graph in graphs)
    return torch.cat([transform(graph).walks for graph in bare])


def shortest(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest processor time of every work, in turns."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(TURNS):
        for name, work in works.items():
            start = time.process_time()
            work()
            found[name] = min(found[name], time.process_time() - start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root")
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=32)
    given = parser.parse_args()
    torch.set_num_threads(1)
    graphs, steps = peptides(given.data_root)[0].graphs()[: given.graphs], given.steps
    ways = {"core": return_probabilities, "scipy": by_scipy, "PyG": by_pyg}
    results = {name: way(graphs, steps) for name, way in ways.items()}
    exact = return_probabilities(graphs, steps, torch.float64)
    times = shortest({name: lambda way=way: way(graphs, steps) for name, way in ways.items()})  # type: ignore[misc]
    print(f"{len(graphs):,} graphs, {len(exact):,} nodes, {steps} steps")
    for name, seconds in times.items():
        error = (results[name] - exact).abs().max()
        print(f"{name}: {seconds:.2f} s, {seconds / times['core']:.1f} x, error {error:.0e}")
    start = time.process_time()
    task = load_task(DataSpec(dataset="peptides-func", data_root=given.data_root, walks=steps))
    print(f"loading {task}, encoded: {time.process_time() - start:.2f} s")


if __name__ == "__main__":
    main()
