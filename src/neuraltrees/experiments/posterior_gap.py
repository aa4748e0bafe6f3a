"""How far a GNN and a neural tree stay from the exact posterior, as training scenes and coupling grow.

python -m neuraltrees.experiments.posterior_gap --out docs/results                # all of it; --device cuda on a GPU
python -m neuraltrees.experiments.posterior_gap --protocol quick --out gap        # a small one, minutes on two cores

Both networks get the same scenes, the same splits, the same number of steps and the same tuning, which sees validation
accuracies alone. A setting that is done is kept in the JSON file and not done again.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.task import Task
from neuraltrees.datasets import Split, SyntheticScenes
from neuraltrees.datasets.loaders import SIZES
from neuraltrees.errors import InputError
from neuraltrees.experiments.cells import Tell, machine
from neuraltrees.experiments.gap_protocols import PROTOCOLS, Protocol, batches_for
from neuraltrees.experiments.own_features import from_own_features
from neuraltrees.experiments.statistics import percent
from neuraltrees.files import write_whole
from neuraltrees.training.runs import Epoch, Fitted, Run
from neuraltrees.training.spec import ConvName, ModelName, NetworkSpec, TrainingSpec
from neuraltrees.training.trainer import fit

MANY = 20_000
MODELS: tuple[ModelName, ...] = ("gnn", "neural-tree")


@dataclass(frozen=True)
class Pool:
    """The scenes of a setting, and where the exact posterior and a node's own features give the right label.

    Shapes: sizes, the number of nodes of every scene :math:`(S)`, by_posterior and by_features :math:`(n)`
    """

    task: Task
    sizes: Tensor
    by_posterior: Tensor
    by_features: Tensor

    def splits(self, train: int, protocol: Protocol) -> list[Split]:
        """So many scenes to train, drawn anew for every run."""
        return [
            Split(*(mask.repeat_interleave(self.sizes) for mask in masks))
            for masks in draw_scenes(len(self.sizes), train, protocol)
        ]


def draw_scenes(count: int, train: int, protocol: Protocol) -> list[Tensor]:
    """Which scenes train, validate and test in every run. Shapes: a list of :math:`(3, count)`"""
    drawn = []
    for run in range(protocol.runs):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(run))
        masks = torch.zeros(3, count, dtype=torch.bool)
        for mask, part in zip(masks, order.split_with_sizes([train, *protocol.held_out]), strict=True):
            mask[part] = True
        drawn.append(masks)
    return drawn


def prepare(setting: tuple[int, float], protocol: Protocol) -> dict[str, Tensor]:
    """The scenes of a setting, and where the posterior is right: plain tensors, which a file can keep."""
    train, coupling = setting
    dataset = SyntheticScenes(train + sum(protocol.held_out), coupling, seed=0)
    sizes, edges = (dataset.slices[name].diff() for name in ("x", "edge_index"))
    within = dataset.edge_index - (sizes.cumsum(0) - sizes).repeat_interleave(edges)
    # Exact inference is needed for scenes that some run tests alone.
    tested = torch.stack([masks[2] for masks in draw_scenes(len(sizes), train, protocol)]).any(0)
    nodes = tested.repeat_interleave(sizes)
    by_posterior = torch.zeros(len(dataset.y), dtype=torch.bool)
    by_posterior[nodes] = dataset[tested].posterior().argmax(1) == dataset.y[nodes]
    found = {
        "sizes": sizes,
        "edges": edges,
        "x": dataset.x,
        "y": dataset.y.to(torch.uint8),
        "edge_index": within.to(torch.uint8),
        "by_posterior": by_posterior,
        "by_features": from_own_features(dataset).argmax(1) == dataset.y,
    }
    return {_key(setting, name): value.contiguous() for name, value in found.items()}


def make_pool(setting: tuple[int, float], protocol: Protocol, prepared: dict[str, Tensor]) -> Pool:
    """The scenes of a setting as a task, from what was prepared or from nothing."""
    if _key(setting, "x") not in prepared:
        prepared = prepare(setting, protocol)
    names = ("sizes", "edges", "x", "y", "edge_index", "by_posterior", "by_features")
    sizes, edges, x, y, edge_index, *right = (prepared[_key(setting, name)] for name in names)
    # Very many scenes are joined, those of a batch into a graph: the same to train, and much sooner ready.
    together = 1 if len(sizes) < MANY else len(sizes) // protocol.most_batches
    group = torch.arange(len(sizes)) // together
    first = sizes.cumsum(0) - sizes  # of every scene, then of every group
    start = first[::together].repeat_interleave(group.bincount())
    edge_index = edge_index.long() + (first - start).repeat_interleave(edges)
    node_type = torch.ones_like(y, dtype=torch.int64)
    node_type[first] = 0
    nodes, ends = (count.new_zeros(int(group[-1]) + 1).index_add(0, group, count).tolist() for count in (sizes, edges))
    parts = (torch.split(each, nodes) for each in (x, y.long(), node_type))
    links = torch.split(edge_index, ends, 1)
    graphs = [Data(x=a, y=b, node_type=c, edge_index=d) for a, b, c, d in zip(*parts, links, strict=True)]
    return Pool(Task(graphs, SyntheticScenes.labels).scaled(SIZES).with_trees(), sizes, *right)


def _key(setting: tuple[int, float], name: str) -> str:
    return "{}-{:g}/{}".format(*setting, name)


def train(
    pool: Pool,
    network: NetworkSpec,
    lr: float,
    train_scenes: int,
    runs: Sequence[Run],
    protocol: Protocol,
    device: str,
    tell: Tell,
) -> Fitted:
    """One training by the protocol: so many steps, and the learning rate halved four times on the way."""
    batches = batches_for(train_scenes, protocol.most_batches)
    epochs = math.ceil(protocol.steps / batches)
    training = TrainingSpec(
        epochs=epochs,
        lr=lr,
        weight_decay=1e-5,
        batches=batches,
        decay_every=math.ceil(epochs / 5),
        every_class=False,
        tf32=protocol.tf32,
    )

    def on_epoch(epoch: Epoch) -> None:
        if epoch.number % 10 == 0 or epochs < 20:
            tell(f"  {network.model}, epoch {epoch.number} of {epochs}: validation {percent(epoch.val.tolist()):.1f} %")

    return fit(pool.task, network, training, runs, device, on_epoch)


def tuned(
    pool: Pool, protocol: Protocol, model: ModelName, conv: ConvName, device: str, tell: Tell
) -> tuple[dict[str, Any], list[Any]]:
    """The best point of the grid by the mean validation accuracy of two runs at the middle setting, and all points."""
    if len(protocol.grid) == 1:
        return dict(zip(("layers", "lr"), protocol.grid[0], strict=True)), []
    size, _ = protocol.middle
    runs = [Run(100 + i, split) for i, split in enumerate(pool.splits(size, protocol)[:2])]
    points = []
    for layers, lr in protocol.grid:
        spec = protocol.network(model, conv, layers)
        fitted = train(pool, spec, lr, size, runs, protocol, device, tell)
        points.append({"layers": layers, "lr": lr, "val": float(fitted.val.mean())})
    return max(points, key=lambda point: point["val"]), points


def measure(
    protocol: Protocol,
    conv: ConvName,
    path: Path,
    device: str,
    prepared: dict[str, Tensor],
    tell: Tell,
    models: Sequence[ModelName] = MODELS,
) -> dict[str, Any]:
    """Runs what is missing in the JSON file and returns all of it."""
    about = json.loads(json.dumps({"protocol": asdict(protocol), "conv": conv}))
    results: dict[str, Any] = dict(about)
    if path.exists():
        try:
            results = json.loads(path.read_text())
            # What the file does not know is younger than the file, which had what is now the default.
            had = json.loads(json.dumps(asdict(Protocol()))) | results["protocol"], results["conv"]
        except (ValueError, KeyError, TypeError):
            had = None
        if had != (about["protocol"], conv):
            raise InputError(f"Expected {path} to hold this protocol; got another. Choose another --out.")
    results.setdefault("tuning", {})
    points = results.setdefault("points", [])
    done = {(point["scenes"], point["coupling"], point["model"]) for point in points}
    for setting in protocol.settings():
        missing = [model for model in models if (*setting, model) not in done]
        if not missing:
            continue
        pool = make_pool(setting, protocol, prepared)
        for model in missing:
            if model not in results["tuning"]:
                best, tried = tuned(pool, protocol, model, conv, device, tell)
                results["tuning"][model] = {"best": best, "tried": tried}
                tell(f"{model}: {best['layers']} rounds, learning rate {best['lr']:g}")
            best = results["tuning"][model]["best"]
            spec = protocol.network(model, conv, best["layers"])
            runs = [Run(seed, split) for seed, split in enumerate(pool.splits(setting[0], protocol))]
            fitted = train(pool, spec, best["lr"], setting[0], runs, protocol, device, tell)
            tests = [run.split.test for run in runs]
            points.append(
                {
                    "scenes": setting[0],
                    "coupling": setting[1],
                    "model": model,
                    "val": fitted.val.tolist(),
                    "test": fitted.test.tolist(),
                    "best_epoch": fitted.best_epoch.tolist(),
                    "posterior": [float(pool.by_posterior[nodes].double().mean()) for nodes in tests],
                    "own_features": [float(pool.by_features[nodes].double().mean()) for nodes in tests],
                    "seconds": fitted.seconds,
                    **machine(device),
                }
            )
            write_whole(path, json.dumps(results, indent=1).encode())
            point = points[-1]
            gap = 100 * (sum(point["test"]) - sum(point["posterior"])) / len(runs)
            tell(f"{setting[0]} scenes, coupling {setting[1]:g}, {model}: {gap:+.1f} points to the posterior")
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of the JSON file")
    parser.add_argument("--conv", default="sage", choices=["gcn", "sage", "gat", "gin"])
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--protocol", default="full", choices=PROTOCOLS, help="how much to do")
    parser.add_argument("--prepared", type=Path, help="file of scenes and answers; written with --prepare")
    parser.add_argument("--prepare", action="store_true", help="generate the scenes alone, for a machine that trains")
    arguments = parser.parse_args()
    if arguments.prepare and not arguments.prepared:
        parser.error("--prepare needs --prepared FILE to write to")
    if not arguments.prepare and not arguments.out:
        parser.error("--out FOLDER is needed, for the JSON file")
    protocol = PROTOCOLS[arguments.protocol]
    if arguments.prepare:
        everything: dict[str, Tensor] = {}
        for setting in protocol.settings():
            everything |= prepare(setting, protocol)
            print(f"{setting[0]} scenes, coupling {setting[1]:g}", flush=True)
        write_whole(arguments.prepared, to_bytes(everything))
        return
    prepared = load_file(arguments.prepared) if arguments.prepared else {}
    arguments.out.mkdir(parents=True, exist_ok=True)
    name = f"posterior-gap-{arguments.conv}-{arguments.protocol}.json"

    def tell(line: str) -> None:
        print(line, flush=True)

    try:
        measure(protocol, arguments.conv, arguments.out / name, arguments.device, prepared, tell, arguments.models)
    except InputError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
