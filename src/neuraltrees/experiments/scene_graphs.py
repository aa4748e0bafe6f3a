"""Neural tree and GNN on the 482 scene graphs, with the paper's hyper-parameters, on stored and on symmetric edges.

python -m neuraltrees.experiments.scene_graphs --runs 10 --out docs/results       # --device cuda on a GPU

All cells see the same splits, so runs are paired. A cell that is done is kept in the JSON file and not done again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from neuraltrees.datasets import StanfordSceneGraphs, random_node_split
from neuraltrees.datasets.stanford import Edges
from neuraltrees.files import PathLike, write_whole
from neuraltrees.training.config import preset
from neuraltrees.training.engine import Run, fit
from neuraltrees.training.spec import ConvName, ModelName, NetworkSpec, TrainingSpec
from neuraltrees.training.task import Task

# The H-tree of a graph has no directions, so that the edges as stored make a difference to the GNN alone.
CELLS: tuple[tuple[ModelName, Edges], ...] = (("neural-tree", "symmetric"), ("gnn", "stored"), ("gnn", "symmetric"))


def specs(model: ModelName, conv: ConvName, epochs: int) -> tuple[NetworkSpec, TrainingSpec]:
    """The paper's hyper-parameters for one cell."""
    values = preset("stanford3dsg", model, conv) | {"model": model, "conv": conv, "epochs": epochs}
    network, training = (
        {each.name: values[each.name] for each in fields(kind) if each.name in values}
        for kind in (NetworkSpec, TrainingSpec)
    )
    return NetworkSpec(**network), TrainingSpec(**training)


def measure(
    convs: Sequence[ConvName],
    runs: int,
    epochs: int,
    path: Path,
    device: str = "cpu",
    data_root: PathLike | None = None,
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Trains the cells that are missing in the JSON file and returns all of it."""
    about = {"protocol": {"runs": runs, "epochs": epochs, "split": "70/10/20 random nodes"}}
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else about | {"cells": []}
    if results["protocol"] != about["protocol"]:
        raise SystemExit(
            f"Expected {path} to hold {about['protocol']}; got {results['protocol']}. Choose another --out."
        )
    done = {(cell["conv"], cell["model"], cell["edges"]) for cell in results["cells"]}
    tasks = {}
    for edges in ("symmetric", "stored"):
        scenes = StanfordSceneGraphs(data_root, edges)
        tasks[edges] = Task(list(scenes), scenes.labels)
    splits = [Run(seed, random_node_split(tasks["stored"].num_nodes, seed=seed)) for seed in range(runs)]
    for conv in convs:
        for model, edges in CELLS:
            if (conv, model, edges) in done:
                continue
            fitted = fit(tasks[edges], *specs(model, conv, epochs), splits, device)
            cell = {"conv": conv, "model": model, "edges": edges, "seconds": round(fitted.seconds, 2), "device": device}
            cell |= {name: getattr(fitted, name).tolist() for name in ("val", "test", "best_epoch")}
            results["cells"].append(cell)
            write_whole(path, json.dumps(results, indent=1).encode())
            mean, std = 100 * float(fitted.test.mean()), 100 * float(fitted.test.std(correction=0))
            tell(f"{conv}, {model}, {edges} edges: {mean:.1f} ± {std:.1f} % in {fitted.seconds:.0f} s")
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the JSON file")
    parser.add_argument("--convs", nargs="+", default=["sage", "gcn"], choices=["gcn", "sage", "gat", "gin"])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data-root", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "scene-graphs.json"
    convs = cast(list[ConvName], arguments.convs)
    measure(convs, arguments.runs, arguments.epochs, path, arguments.device, arguments.data_root)


if __name__ == "__main__":
    main()
