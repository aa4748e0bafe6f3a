"""A training step of a GNN on Peptides-func: equal views computed once, every node computed, and a plain PyG loop.

    python benchmarks/views.py             # one run
    python benchmarks/views.py --runs 4    # four runs at once; the rival trains one, so its time counts four times

All have three layers of linear messages, summed as means with the node's own (`update_layers=0`, `aggr="mean"`), batch
norms, dropout, and a head with three hidden layers on the mean over the nodes; batches are drawn anew. The rival is
what one would write with PyG: a shuffled DataLoader, torch's own layers, and index_add for sums. One CPU thread;
processor times of the fastest of three rounds of some steps, in turns. A ratio is a time over that with views. The
numbers of views are means over the batches of an epoch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import neuraltrees as nt
from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.training import Trainer
from neuraltrees.training.deck import Deck

LAYERS, HEAD, EDGE_SIZE, DROPOUT = 3, 3, 16, 0.2


class PlainLayer(nn.Module):
    """Linear messages, their mean, batch norm, ReLU and dropout."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.lin, self.edge, self.norm = nn.Linear(size, size), nn.Linear(EDGE_SIZE, size), nn.BatchNorm1d(size)

    def forward(self, h: Tensor, e: Tensor, data: Data) -> Tensor:
        source, target = data.edge_index
        sent = self.lin(h)
        total = sent.relu().index_add(0, target, (sent[source] + self.edge(e)).relu())
        degree = torch.bincount(target, minlength=len(h)) + 1
        return nn.functional.dropout(self.norm(total / degree.unsqueeze(1)).relu(), DROPOUT, self.training)


class PlainNetwork(nn.Module):
    """Embeddings, layers, and a head on the mean over the nodes of every graph."""

    def __init__(self, size: int, atoms: Tensor, bonds: Tensor) -> None:
        super().__init__()
        self.first_atom, self.first_bond = atoms.cumsum(0) - atoms, bonds.cumsum(0) - bonds
        self.atoms = nn.EmbeddingBag(int(atoms.sum()), size, mode="sum")
        self.bonds = nn.EmbeddingBag(int(bonds.sum()), EDGE_SIZE, mode="sum")
        self.start = nn.Linear(size, size)
        self.layers = nn.ModuleList(PlainLayer(size) for _ in range(LAYERS))
        hidden = [part for _ in range(HEAD) for part in (nn.Linear(size, size), nn.ReLU())]
        self.head = nn.Sequential(*hidden, nn.Linear(size, 10))

    def forward(self, data: Data) -> Tensor:
        h = self.start(self.atoms(data.x.long() + self.first_atom))
        e = self.bonds(data.edge_attr.long() + self.first_bond)
        for layer in self.layers:
            h = layer(h, e, data)
        h = nn.functional.dropout(h, DROPOUT, self.training)
        total = h.new_zeros(data.num_graphs, h.shape[1]).index_add(0, data.batch, h)
        answers: Tensor = self.head(total / torch.bincount(data.batch).unsqueeze(1))
        return answers


def plain_steps(graphs: list[Data], size: int, per_batch: int) -> Iterator[None]:
    atoms, bonds = (torch.cat([each[name] for each in graphs]).amax(0).long() + 1 for name in ("x", "edge_attr"))
    network = PlainNetwork(size, atoms, bonds).train()
    adam = torch.optim.AdamW(network.parameters(), 1e-3)
    loader = DataLoader(graphs, per_batch, shuffle=True)
    while True:
        for batch in loader:
            adam.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(network(batch), batch.y.view(-1, 10).float()).backward()
            adam.step()
            yield


def our_steps(task: nt.Task, views: bool, size: int, per_batch: int, runs: int) -> Iterator[None]:
    spec = nt.NetworkSpec(schedule="bags", parts="graph", hidden=size, layers=LAYERS, dropout=DROPOUT, aggr="mean")
    spec = spec.replace(update_layers=0, skip=False, edge_size=EDGE_SIZE, pool="mean", head_layers=HEAD, views=views)
    split = task.split(0)
    training = nt.TrainingSpec(batches=-(-int(split.train.sum()) // per_batch), shuffle=True, optimiser="adamw")
    trainer = Trainer(task, spec, training, [nt.Run(seed, split) for seed in range(runs)], threads=1)
    trainer.network.train()
    done = 0
    while True:
        for step in trainer.source.steps(done):
            trainer._step(step)
            yield
        done += 1


def count_views(task: nt.Task, per_batch: int) -> list[int]:
    """The mean number of nodes of a batch, and of their different views of depth 1, 2, …."""
    spec = nt.NetworkSpec(schedule="bags", parts="graph", hidden=1, layers=LAYERS, views=True)
    deck = Deck(task, spec.build(task, 1))
    drawn = task.split(0).train.nonzero().flatten()
    batches = [deck.batch(part).plan.rounds for part in drawn[torch.randperm(len(drawn))].split(per_batch)]
    found = [[plan.source.rows, *(each.target.rows for each in plan.views.layers)] for plan in batches]
    return torch.tensor(found, dtype=torch.float64).mean(0).round().long().tolist()


def timed(steps: Iterator[None], count: int) -> Callable[[], float]:
    """A function that takes some steps and returns their processor time, after two steps that warm up."""
    for _ in range(2):
        next(steps)

    def measure() -> float:
        start = time.process_time()
        for _ in range(count):
            next(steps)
        return time.process_time() - start

    return measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, help="runs that are trained at once")
    parser.add_argument("--hidden", type=int, default=244, help="size of the states")
    parser.add_argument("--graphs", type=int, default=64, help="graphs per batch")
    parser.add_argument("--steps", type=int, default=10, help="steps per round")
    parser.add_argument("--data-root", help="folder of the datasets; by default $NEURALTREES_DATA")
    options = parser.parse_args()
    torch.set_num_threads(1)
    task = load_task(DataSpec(dataset="peptides-func", data_root=options.data_root))
    sizes = options.hidden, options.graphs
    train = [task.graphs[number] for number in task.split(0).train.nonzero().flatten().tolist()]
    ways = {
        "views": timed(our_steps(task, True, *sizes, options.runs), options.steps),
        "every node": timed(our_steps(task, False, *sizes, options.runs), options.steps),
        "plain PyG": timed(plain_steps(train, *sizes), options.steps),
    }
    nodes, *views = count_views(task, options.graphs)
    print(f"{nodes:,} nodes per batch; different views after each layer: {', '.join(f'{each:,}' for each in views)}")
    rounds = [{name: measure() for name, measure in ways.items()} for _ in range(3)]
    shortest = {name: min(each[name] for each in rounds) for name in ways}
    shortest["plain PyG"] *= options.runs
    for name in ("every node", "plain PyG"):
        print(f"{name}: {shortest[name] / shortest['views']:.1f} times as long as with views")


if __name__ == "__main__":
    main()
