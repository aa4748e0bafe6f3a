"""The scene graphs of the paper: a neural tree compared with a GNN, then predicted labels for one scene.

Run it with

    python examples/02_scene_graphs.py --data-root /path/to/datasets

Without --data-root the data is looked for in NEURALTREES_DATA, then in ~/.cache/neuraltrees, and downloaded if missing.
If it is not available, generated scenes are used. The trained network and a picture are written to the folder --out.
"""

import argparse
from pathlib import Path

from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.datasets import StanfordSceneGraphs, SyntheticScenes, random_node_split
from neuraltrees.serving import Predictor
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, TrainingSpec, fit


def load_scenes(root: Path | None, seed: int) -> tuple[list[Data], list[Data]]:
    """Scenes with symmetric edges, and the same scenes without the edges from a room to its objects."""
    try:
        scenes = StanfordSceneGraphs(root), StanfordSceneGraphs(root, edges="stored")
        print(f"Stanford3DSG: {len(scenes[0])} scene graphs, each of a room and its objects.")
        return list(scenes[0]), list(scenes[1])
    except nt.InputError as error:
        print(f"Stanford3DSG is not available: {error}")
    print("Generated scenes are used instead; their accuracies say nothing about the real ones.")
    both = list(SyntheticScenes(300, coupling=3.0, seed=seed))
    one_way = [scene.clone() for scene in both]
    for scene in one_way:
        scene.edge_index = scene.edge_index[:, scene.edge_index[0] != 0]  # node 0 is the room
    return both, one_way


def main() -> None:
    parser = argparse.ArgumentParser(description="Neural tree against GNN on scene graphs.")
    parser.add_argument("--data-root", type=Path, help="folder that contains stanford3dsg/")
    parser.add_argument("--out", type=Path, default=Path("02_scene_graphs"), help="folder for network and picture")
    parser.add_argument("--seed", type=int, default=0, help="the two runs have the seeds SEED and SEED + 1")
    parser.add_argument("--epochs", type=int, default=30, help="training epochs; 1000 in the paper")
    arguments = parser.parse_args()

    symmetric, stored = load_scenes(arguments.data_root, arguments.seed)
    labels = StanfordSceneGraphs.labels  # the generated scenes have the same
    sizes = (3, 4, 5)  # columns of the sizes of bounding boxes, which are scaled after taking their logarithm
    task, one_way = (Task(graphs, labels).scaled(logarithm=sizes) for graphs in (symmetric, stored))
    seeds = (arguments.seed, arguments.seed + 1)
    runs = [Run(seed, random_node_split(task.num_nodes, seed=seed)) for seed in seeds]
    print(f"Each run has its own split of all nodes: {runs[0].split}.\n")

    # The H-tree of a graph has no directions, so the direction of the stored edges only matters to the GNN
    neural_tree = NetworkSpec(model="neural-tree", conv="sage", hidden=64, layers=4)
    gnn = NetworkSpec(model="gnn", conv="sage", hidden=64, layers=3)
    training = TrainingSpec(epochs=arguments.epochs, lr=0.01, batches=4, every_class=False)  # some labels are rare
    print(f"Test accuracy after {training.epochs} epochs, two runs trained at once")
    print(f"  {'network':<22}{'run 1':>8}{'run 2':>8}{'mean':>8}")
    results = {}
    for name, graphs, network in (
        ("neural tree", task, neural_tree),
        ("GNN, both directions", task, gnn),
        ("GNN, stored edges", one_way, gnn),
    ):
        results[name] = fit(graphs, network, training, runs)
        values = [*results[name].test.tolist(), float(results[name].test.mean())]
        print(f"  {name:<22}" + "".join(f"{100 * value:6.1f} %" for value in values))

    # One file holds everything that predictions need, including the scaling of the features
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "neural_tree.safetensors"
    best = int(results["neural tree"].val.argmax())
    Bundle.of(results["neural tree"], run=best).save(path)
    predictor = Predictor.load(path)
    print(f"\nThe neural tree of run {best + 1} is saved in {path}. The file also says: {predictor.bundle.facts}")

    # A scene of at most ten nodes with many test nodes; its features are passed unscaled
    parts = runs[best].split.per_graph([scene.num_nodes for scene in symmetric])
    small = [number for number, scene in enumerate(symmetric) if scene.num_nodes <= 10]
    number = max(small, key=lambda scene: int(parts[scene].test.sum()))
    scene, names = symmetric[number], []
    print(f"Predicted labels of scene {number}")
    for node, guess in enumerate(predictor.label([scene])[0]):
        names.append(guess.label)
        truth = predictor.bundle.labels[guess.type][int(scene.y[node])] + (
            " (trained on)" if parts[number].train[node] else ""
        )
        print(f"  node {node}: {guess.label:<14}{100 * guess.probability:5.1f} %   truly {truth}")

    picture = arguments.out / "scene.svg"
    graph = nt.Graph.from_data(scene)
    decomposition = nt.decompose(graph)
    nt.draw(graph, decomposition, nt.build_htree(graph, decomposition), labels=names, path=picture)
    print(f"Its graph, decomposition and H-tree are drawn in {picture}.")


if __name__ == "__main__":
    main()
