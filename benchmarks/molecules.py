"""An epoch of ZINC-12k: tree beside graph by this library, against a plain PyG loop with the same layers.

    python benchmarks/molecules.py --graphs 600          # on one CPU thread
    python benchmarks/molecules.py --device cuda         # all 10,000 training molecules

Both read canonical trees that are built before, draw batches anew in every epoch, and step by AdamW. The rival is what
one would write with PyG: HTreeData in a shuffled DataLoader, torch's own linear layers and batch norms, index_add for
sums; it leaves out cycles in their order and the features of bags, so that it has less to compute. Validation is not
timed. Times are the shortest of several epochs; a ratio is the rival's time over ours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import neuraltrees as nt
from neuraltrees.data.splits import Split
from neuraltrees.datasets import DataSpec, load_task
from neuraltrees.training import Trainer

SIZE, LAYERS, BATCH = 80, 6, 127


class PlainLayer(nn.Module):
    """Bags hear their nodes and neighbouring bags; nodes hear their neighbours and their bags."""

    def __init__(self) -> None:
        super().__init__()
        self.edge, self.of_node, self.of_bag = (nn.Linear(SIZE, SIZE) for _ in range(3))
        self.nodes, self.bags = (
            nn.Sequential(
                nn.Linear(inputs * SIZE, SIZE, bias=False),
                nn.BatchNorm1d(SIZE),
                nn.ReLU(),
                nn.Linear(SIZE, SIZE, bias=False),
                nn.BatchNorm1d(SIZE),
            )
            for inputs in (2, 3)
        )

    def forward(self, h: Tensor, b: Tensor, e: Tensor, data: Data) -> tuple[Tensor, Tensor]:
        source, target = data.edge_index
        node, bag = data.member
        first, second = data.link
        from_nodes = added(self.of_node(h).relu()[node], bag, len(b))
        from_bags = added(self.of_bag(b).relu()[first], second, len(b))
        b = b + self.bags(torch.cat([b, from_nodes, from_bags], 1))
        heard = h + added((h[source] + self.edge(e)).relu(), target, len(h))
        return h + self.nodes(torch.cat([heard, added(b[bag], node, len(h))], 1)), b


class PlainNetwork(nn.Module):
    """The layers between embeddings and a sum over nodes and bags."""

    def __init__(self) -> None:
        super().__init__()
        self.atoms, self.bonds, self.kinds = nn.Embedding(28, SIZE), nn.Embedding(4, SIZE), nn.Embedding(6, SIZE)
        self.layers = nn.ModuleList(PlainLayer() for _ in range(LAYERS))
        self.head = nn.Sequential(nn.Linear(2 * SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, 1))

    def forward(self, data: Data) -> Tensor:
        h, e = self.atoms(data.x.squeeze(1).long()), self.bonds(data.edge_attr.squeeze(1).long())
        b = self.kinds(data.kind)
        for layer in self.layers:
            h, b = layer(h, b, e, data)
        count = data.num_graphs
        pooled = [added(h, data.batch, count), added(b, data.batch[data.first], count)]
        answer: Tensor = self.head(torch.cat(pooled, 1))
        return answer


def added(values: Tensor, index: Tensor, rows: int) -> Tensor:
    return values.new_zeros(rows, values.shape[1]).index_add_(0, index, values)


class BagData(Data):  # type: ignore[misc]  # PyG has no types
    """A molecule with the bags of its tree, which PyG shifts by their numbers when it batches."""

    def __inc__(self, key: str, value: object, *args: object, **kwargs: object) -> object:
        if key == "member":
            return torch.tensor([[self.num_nodes], [len(self.kind)]])
        return {"link": len(self.kind), "first": self.num_nodes}.get(key) or super().__inc__(
            key, value, *args, **kwargs
        )

    def __cat_dim__(self, key: str, value: object, *args: object, **kwargs: object) -> object:
        return {"member": 1, "link": 1, "kind": 0, "first": 0}.get(
            key, super().__cat_dim__(key, value, *args, **kwargs)
        )


def with_bags(data: nt.HTreeData) -> BagData:
    """A molecule for the rival."""
    tree = data.htree
    is_bag = tree.kappa < 0
    number = is_bag.long().cumsum(0) - 1
    leaf = (~is_bag).nonzero().flatten()
    ends = tree.edge_index[:, is_bag[tree.edge_index[0]] & is_bag[tree.edge_index[1]]]
    return BagData(
        x=data.x,
        edge_index=data.edge_index,
        edge_attr=data.edge_attr,
        y=data.y,
        member=torch.stack([tree.kappa[leaf], number[tree.parent[leaf]]]),
        link=number[ends],
        kind=tree.kind[is_bag],
        first=tree.bag_nodes[tree.bag_ptr[:-1]][is_bag],
    )


def plain_epoch(graphs: list[Data], device: str) -> Callable[[], None]:
    trees = [with_bags(each) for each in nt.attach_htrees(graphs, method="canonical", terminal="bag")]
    loader = DataLoader(trees, BATCH, shuffle=True)
    network = PlainNetwork().to(device).train()
    adam = torch.optim.AdamW(network.parameters(), 1e-3, weight_decay=0.0)

    def epoch() -> None:
        for data in loader:
            batch = data.to(device)
            adam.zero_grad()
            (network(batch).squeeze(1) - batch.y.squeeze()).abs().mean().backward()
            adam.step()

    print(f"plain PyG: {sum(each.numel() for each in network.parameters()):,} parameters")
    return epoch


def our_epoch(task: nt.Task, split: Split, device: str, epochs: int) -> Callable[[], None]:
    spec = nt.NetworkSpec(schedule="bags", parts="graph+tree", hidden=SIZE, layers=LAYERS, dropout=0.0)
    training = nt.TrainingSpec(
        epochs=10 * epochs, batches=-(-int(split.train.sum()) // BATCH), shuffle=True, lr=1e-3, weight_decay=0.0
    )
    training = training.replace(tf32=True, evaluate_every=10 * epochs, optimiser="adamw")
    trainer = Trainer(task, spec, training, [nt.Run(0, split)], device=device)
    print(f"neuraltrees: {sum(each.numel() for each in trainer.network.parameters()):,} parameters")
    done = iter(range(10 * epochs))
    return lambda: trainer.run_epoch(next(done))


def shortest(epoch: Callable[[], None], epochs: int, device: str) -> float:
    """Seconds of the shortest of some epochs, after three that warm up."""
    times = []
    for _ in range(epochs + 3):
        start = time.perf_counter()
        epoch()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[3:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--graphs", type=int, default=10_000, help="training molecules")
    parser.add_argument("--epochs", type=int, default=3, help="epochs that are timed")
    parser.add_argument("--data-root", help="folder of the datasets; by default $NEURALTREES_DATA")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    task = load_task(DataSpec(dataset="zinc", data_root=options.data_root, method="canonical", terminal="bag"))
    train = task.split(0).train.nonzero().flatten()[: options.graphs]
    graphs = [task.graphs[number] for number in train.tolist()]
    seconds = {"neuraltrees": 0.0, "plain PyG": 0.0}
    mask = torch.zeros_like(task.split(0).train).index_fill(0, train, True)
    split = Split(mask, task.split(0).val, task.split(0).test)
    seconds["neuraltrees"] = shortest(
        our_epoch(task, split, options.device, options.epochs), options.epochs, options.device
    )
    seconds["plain PyG"] = shortest(plain_epoch(graphs, options.device), options.epochs, options.device)
    if options.device == "cuda":
        for name, each in seconds.items():
            print(f"{name}: {each:.3f} s per epoch of {len(graphs):,} molecules on {torch.cuda.get_device_name()}")
    print(f"plain PyG takes {seconds['plain PyG'] / seconds['neuraltrees']:.1f} times as long")


if __name__ == "__main__":
    main()
