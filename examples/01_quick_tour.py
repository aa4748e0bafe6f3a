"""A quick tour: a graph, its tree decomposition, its H-tree, a neural tree on it, and a short training.

Run it with

    python examples/01_quick_tour.py

The training is on generated scenes, for which the accuracy of the best possible method is known. A picture of the first
graph and its H-tree is written to the folder --out.
"""

import argparse
from pathlib import Path

import torch

import neuraltrees as nt
from neuraltrees.datasets import SyntheticScenes, random_graph_split
from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit


def main() -> None:
    parser = argparse.ArgumentParser(description="A quick tour of neuraltrees.")
    parser.add_argument("--out", type=Path, default=Path("01_quick_tour"), help="folder for the picture")
    parser.add_argument("--seed", type=int, default=0, help="seed of the scenes, the split and the weights")
    parser.add_argument("--epochs", type=int, default=40, help="passes over the training scenes")
    arguments = parser.parse_args()

    # A graph and its tree decomposition
    graph = nt.Graph([[0, 0, 1, 2, 2, 3], [1, 2, 3, 3, 4, 4]])
    decomposition = nt.decompose(graph)
    print(f"A square and a triangle that share an edge: {graph}")
    print(f"Its tree decomposition has the bags {decomposition.bags}, so its width is {decomposition.width}.")

    # The H-tree: roots are the bags, leaves are graph nodes
    tree = nt.build_htree(graph, decomposition)
    print(f"Its H-tree: {tree}")
    node = 2
    print(f"The leaves of graph node {node} are the tree nodes {(tree.kappa == node).nonzero().flatten().tolist()}.")

    arguments.out.mkdir(parents=True, exist_ok=True)
    picture = arguments.out / "htree.svg"
    nt.draw(graph, decomposition, tree, path=picture)
    print(f"All three are drawn in {picture}.")

    # A neural tree: from node features to one score per class and graph node
    torch.manual_seed(arguments.seed)
    model = nt.NeuralTree(in_channels=6, hidden_channels=16, out_channels=3, num_layers=4)
    scores = model(torch.randn(graph.num_nodes, 6), tree.edge_index, tree.kappa)
    print(f"An untrained neural tree gives {scores.shape[1]} scores to each of {scores.shape[0]} graph nodes.")

    # Generated scenes: predict the labels of a room and its objects from their positions and sizes
    scenes = SyntheticScenes(300, coupling=3.0, seed=arguments.seed)
    task = Task(list(scenes), scenes.labels).scaled(logarithm=(3, 4, 5))  # the sizes of bounding boxes
    split = random_graph_split([scene.num_nodes for scene in task.graphs], seed=arguments.seed)
    print(f"\nNow {len(scenes)} generated scenes of {task.num_nodes:,} nodes; {split} counts nodes of whole scenes.")

    network = NetworkSpec(model="neural-tree", conv="sage", hidden=64, layers=4)
    training = TrainingSpec(epochs=arguments.epochs, lr=0.01, batches=8, every_class=False)
    print(f"Training a neural tree for {training.epochs} epochs ...")
    fitted = fit(task, network, training, [Run(arguments.seed, split)])
    print(f"It took {fitted.seconds:.0f} s; the best validation accuracy was in epoch {int(fitted.best_epoch[0])}.")

    # Compare the accuracy with that of always predicting the most common label, and with the optimum
    most_common = torch.stack([task.y[split.train & (task.node_type == kind)].mode().values for kind in (0, 1)])
    guessed = (most_common[task.node_type] == task.y)[split.test].float().mean()
    print("\nAccuracy on the test scenes")
    print(f"  the most common label  {100 * guessed:5.1f} %")
    print(f"  this neural tree       {100 * fitted.test[0]:5.1f} %")
    print(f"  the best possible      {100 * scenes.optimum(split.test):5.1f} %   (exact inference in the true model)")
    print("More scenes and more epochs bring the neural tree closer to it: try --epochs 200.")


if __name__ == "__main__":
    main()
