"""Your own graphs: from PyG data or NetworkX to a trained network and its predictions.

Run it with

    python examples/04_your_own_graphs.py

The graphs are networks of thermometers; a broken one can only be recognised by its difference from its neighbours. The
guide docs/your_own_graphs.md explains every step. The network, a graph and its labels are written to the folder --out.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import from_networkx

import neuraltrees as nt
from neuraltrees.datasets import random_graph_split
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, TrainingSpec, fit


def sensor_network(number: int, size: int = 12) -> Data:
    """Sensors that measure about the same temperature, except for 30 % broken ones; features: temperature, battery."""
    torch.manual_seed(number)
    y = (torch.rand(size) < 0.3).long()
    temperature = 40 * torch.rand(1) + torch.randn(size) + 8 * y
    edges = torch.tensor([*nx.random_labeled_tree(size, seed=number).edges, (0, size - 1)]).t()
    return Data(x=torch.stack([temperature, torch.rand(size)], 1), y=y, edge_index=torch.cat([edges, edges.flip(0)], 1))


def own_loop(graphs: list[Data], test: list[Data], epochs: int, seed: int) -> float:
    """The same with PyG's `DataLoader` and your own training loop: the network is a plain `torch.nn.Module`."""
    torch.manual_seed(seed)
    loader = DataLoader([nt.ToHTree()(graph) for graph in graphs], batch_size=16, shuffle=True)
    model = nt.NeuralTree(in_channels=2, hidden_channels=32, out_channels=2, num_layers=4, conv="sage")
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in loader:
            tree = batch.htree  # the H-trees of the whole batch
            loss = torch.nn.functional.cross_entropy(model(batch.x, tree.edge_index, tree.kappa), batch.y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    (batch,) = DataLoader([nt.ToHTree()(graph) for graph in test], batch_size=len(test))
    guess = model.eval()(batch.x, batch.htree.edge_index, batch.htree.kappa).argmax(1)
    return float((guess == batch.y).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="Your own graphs, from features to predictions.")
    parser.add_argument("--out", type=Path, default=Path("04_your_own_graphs"), help="folder for network and labels")
    parser.add_argument("--seed", type=int, default=0, help="seed of the split and the weights")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training graphs")
    arguments = parser.parse_args()

    # A list of Data → a checked task with scaled features → a split by whole graphs → training
    graphs = [sensor_network(number) for number in range(150)]
    task = Task(graphs, {"sensor": ["working", "broken"]}).scaled()
    split = random_graph_split([graph.num_nodes for graph in graphs], seed=arguments.seed)
    print(f"{len(graphs)} networks of {task.num_nodes:,} sensors in all, split by whole networks: {split}")
    network, runs = NetworkSpec(model="neural-tree", hidden=32, layers=4), [Run(arguments.seed, split)]
    fitted = fit(task, network, TrainingSpec(epochs=arguments.epochs, lr=0.01, batches=7), runs)

    parts = list(zip(task.graphs, split.per_graph([graph.num_nodes for graph in graphs]), strict=True))
    train, test = ([graph for graph, part in parts if getattr(part, name).all()] for name in ("train", "test"))
    own = own_loop(train, test, arguments.epochs, arguments.seed)
    print(f"Test accuracy with fit: {100 * fitted.test[0]:.1f} %; with a loop of your own: {100 * own:.1f} %.")

    # A bundle scales the features of new graphs itself
    arguments.out.mkdir(parents=True, exist_ok=True)
    model, question, answer = (arguments.out / name for name in ("model.safetensors", "house.json", "labels.json"))
    Bundle.of(fitted).save(model)
    predictor = Predictor.load(model)
    print(f"\nSaved in {model} and loaded again. A house, given as a NetworkX graph:")
    house = nx.cycle_graph(["hall", "kitchen", "bath", "attic", "study"])
    degrees = {"hall": 19.5, "kitchen": 20.8, "bath": 21.2, "attic": 29.0, "study": 20.1}
    nx.set_node_attributes(house, {room: [degree, 0.8] for room, degree in degrees.items()}, "x")
    data = from_networkx(house)  # nodes in the order of house.nodes
    for room, guess in zip(house.nodes, predictor.label([data])[0], strict=True):
        print(f"  {room:<8} {guess.label:<8} {100 * guess.probability:5.1f} %")

    # The same as JSON, on the command line
    nodes = [{"name": room, "x": x} for room, x in house.nodes.data("x")]
    question.write_text(json.dumps({"nodes": nodes, "edges": data.edge_index.t().tolist()}, indent=1))
    print(f"The same on the command line: neuraltrees predict {model} {question} --out {answer}", flush=True)
    subprocess.run([sys.executable, "-m", "neuraltrees", "predict", model, question, "--out", answer], check=True)


if __name__ == "__main__":
    main()
