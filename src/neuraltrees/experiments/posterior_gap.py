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
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor

from neuraltrees.datasets import Split, SyntheticScenes
from neuraltrees.experiments.own_features import from_own_features
from neuraltrees.files import write_whole
from neuraltrees.training.engine import Run, fit
from neuraltrees.training.problem import SIZES
from neuraltrees.training.spec import ConvName, ModelName, NetworkSpec, TrainingSpec
from neuraltrees.training.task import Task

MODELS: tuple[ModelName, ...] = ("gnn", "neural-tree")


@dataclass(frozen=True)
class Protocol:
    """What is measured and how.

    Args:
        sizes: numbers of training scenes, at the middle coupling.
        couplings: at the middle number of scenes.
        middle: the size and the coupling that stay where the other one grows.
        held_out: scenes to validate and to test.
        runs: paired runs, each with a split of its own.
        steps: gradient steps of a run.
        grid: rounds and learning rates that both networks are tuned over.
        hidden: size of the states.
        relations: separate weights of the neural tree for root-root, upward and downward messages.
        dropout: share of the states dropped in training.
        most_batches: steps an epoch, at most; there are at least 4, and about 32 training scenes in a batch.
    """

    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10000)
    couplings: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0)
    middle: tuple[int, float] = (3000, 1.0)
    held_out: tuple[int, int] = (500, 1000)
    runs: int = 10
    steps: int = 6000
    grid: tuple[tuple[int, float], ...] = tuple((layers, lr) for layers in (2, 3, 4, 6) for lr in (0.002, 0.005))
    hidden: int = 128
    relations: bool = False
    most_batches: int = 64
    dropout: float = 0.1

    def network(self, model: ModelName, conv: ConvName, layers: int) -> NetworkSpec:
        return NetworkSpec(
            model=model, conv=conv, hidden=self.hidden, layers=layers, dropout=self.dropout, relations=self.relations
        )

    def settings(self) -> list[tuple[int, float]]:
        """All pairs of size and coupling, the middle one first."""
        size, coupling = self.middle
        listed = [self.middle, *((n, coupling) for n in self.sizes), *((size, c) for c in self.couplings)]
        return list(dict.fromkeys(listed))


LARGE = Protocol(
    (100_000,), (1.0,), (100_000, 1.0), (500, 1000), 3, 12288, ((8, 0.003),), relations=True, most_batches=256
)
LARGE_WIDE = replace(LARGE, hidden=256)
# One run each, of as many steps as a CPU can do; so many scenes leave little to overfit to.
LARGE_CPU = replace(LARGE, runs=1, steps=6144, most_batches=512)
LARGE_CPU_PLAIN = replace(LARGE_CPU, steps=5120, dropout=0.0)
# Small enough for a CPU: what grows with the coupling shows before the networks are at their best.
COUPLING = Protocol((1000,), (0.0, 1.0, 3.0), (1000, 1.0), (300, 600), 10, 1200, ((6, 0.005),), 32)
QUICK = Protocol((100, 300), (0.0, 1.0), (300, 1.0), (100, 200), 3, 600, ((4, 0.005),), 64)
PROTOCOLS = {
    "full": Protocol(),
    "coupling": COUPLING,
    "quick": QUICK,
    "large": LARGE,
    "large-wide": LARGE_WIDE,
    "large-cpu": LARGE_CPU,
    "large-cpu-plain": LARGE_CPU_PLAIN,
}


@dataclass(frozen=True)
class Pool:
    """The scenes of a setting, and where the exact posterior and a node's own features give the right label."""

    task: Task
    by_posterior: Tensor
    by_features: Tensor

    def splits(self, train: int, protocol: Protocol) -> list[Split]:
        """So many scenes to train, drawn anew for every run."""
        sizes = torch.tensor([graph.num_nodes for graph in self.task.graphs])
        return [
            Split(*(mask.repeat_interleave(sizes) for mask in masks))
            for masks in draw_scenes(len(sizes), train, protocol)
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


def make_pool(setting: tuple[int, float], protocol: Protocol, answers: dict[str, Tensor]) -> Pool:
    """Generates the scenes of a setting; the answers are computed unless they were before."""
    scenes, coupling = setting
    dataset = SyntheticScenes(scenes + sum(protocol.held_out), coupling, seed=0)
    name = answers_name(setting)
    if name not in answers:
        # Exact inference is needed for scenes that some run tests alone.
        sizes = torch.tensor([scene.num_nodes for scene in dataset])
        tested = torch.stack([scenes[2] for scenes in draw_scenes(len(sizes), setting[0], protocol)]).any(0)
        by_posterior = torch.zeros(len(dataset.y), dtype=torch.bool)
        nodes = tested.repeat_interleave(sizes)
        by_posterior[nodes] = dataset[tested].posterior().argmax(1) == dataset.y[nodes]
        answers[name] = torch.stack([by_posterior, from_own_features(dataset).argmax(1) == dataset.y])
    return Pool(Task(list(dataset), dataset.labels).scaled(SIZES).with_trees(), *answers[name])


def answers_name(setting: tuple[int, float]) -> str:
    return "{}-{:g}".format(*setting)


def train(
    pool: Pool, network: NetworkSpec, lr: float, train_scenes: int, runs: Sequence[Run], protocol: Protocol, device: str
) -> Any:
    """One training by the protocol: so many steps, and the learning rate halved four times on the way."""
    batches = min(protocol.most_batches, max(4, train_scenes // 32))
    epochs = math.ceil(protocol.steps / batches)
    training = TrainingSpec(
        epochs=epochs, lr=lr, weight_decay=1e-5, batches=batches, decay_every=math.ceil(epochs / 5), every_class=False
    )
    return fit(pool.task, network, training, runs, device)


def tuned(
    pool: Pool, protocol: Protocol, model: ModelName, conv: ConvName, device: str
) -> tuple[dict[str, Any], list[Any]]:
    """The best point of the grid by the mean validation accuracy of two runs at the middle setting, and all points."""
    if len(protocol.grid) == 1:
        return dict(zip(("layers", "lr"), protocol.grid[0], strict=True)), []
    size, _ = protocol.middle
    runs = [Run(100 + i, split) for i, split in enumerate(pool.splits(size, protocol)[:2])]
    points = []
    for layers, lr in protocol.grid:
        spec = protocol.network(model, conv, layers)
        fitted = train(pool, spec, lr, size, runs, protocol, device)
        points.append({"layers": layers, "lr": lr, "val": float(fitted.val.mean())})
    return max(points, key=lambda point: point["val"]), points


def measure(
    protocol: Protocol,
    conv: ConvName,
    path: Path,
    device: str,
    answers: dict[str, Tensor],
    tell: Callable[[str], None],
    models: Sequence[ModelName] = MODELS,
) -> dict[str, Any]:
    """Runs what is missing in the JSON file and returns all of it."""
    about = json.loads(json.dumps({"protocol": asdict(protocol), "conv": conv}))
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else dict(about)
    if any(results.get(name) != value for name, value in about.items()):
        raise SystemExit(f"Expected {path} to hold this protocol; got another. Choose another --out.")
    results.setdefault("tuning", {})
    points = results.setdefault("points", [])
    done = {(point["scenes"], point["coupling"], point["model"]) for point in points}
    for setting in protocol.settings():
        missing = [model for model in models if (*setting, model) not in done]
        if not missing:
            continue
        pool = make_pool(setting, protocol, answers)
        for model in missing:
            if model not in results["tuning"]:
                best, tried = tuned(pool, protocol, model, conv, device)
                results["tuning"][model] = {"best": best, "tried": tried}
                tell(f"{model}: {best['layers']} rounds, learning rate {best['lr']:g}")
            best = results["tuning"][model]["best"]
            spec = protocol.network(model, conv, best["layers"])
            runs = [Run(seed, split) for seed, split in enumerate(pool.splits(setting[0], protocol))]
            fitted = train(pool, spec, best["lr"], setting[0], runs, protocol, device)
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
                    "device": device,
                }
            )
            write_whole(path, json.dumps(results, indent=1).encode())
            point = points[-1]
            gap = 100 * (sum(point["test"]) - sum(point["posterior"])) / len(runs)
            tell(f"{setting[0]} scenes, coupling {setting[1]:g}, {model}: {gap:+.1f} points to the posterior")
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the JSON file")
    parser.add_argument("--conv", default="sage", choices=["gcn", "sage", "gat", "gin"])
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--protocol", default="full", choices=PROTOCOLS, help="how much to do")
    parser.add_argument("--answers", type=Path, help="file of the posterior's answers; written with --prepare")
    parser.add_argument("--prepare", action="store_true", help="compute the answers alone, for a machine that trains")
    arguments = parser.parse_args()
    if arguments.prepare and not arguments.answers:
        parser.error("--prepare needs --answers FILE to write to")
    protocol = PROTOCOLS[arguments.protocol]
    answers = load_file(arguments.answers) if arguments.answers and arguments.answers.exists() else {}
    if arguments.prepare:
        for setting in protocol.settings():
            make_pool(setting, protocol, answers)
            print(f"answers for {setting[0]} scenes, coupling {setting[1]:g}", flush=True)
        write_whole(arguments.answers, to_bytes(answers))
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    name = f"posterior-gap-{arguments.conv}-{arguments.protocol}.json"

    def tell(line: str) -> None:
        print(line, flush=True)

    measure(protocol, arguments.conv, arguments.out / name, arguments.device, answers, tell, arguments.models)


if __name__ == "__main__":
    main()
