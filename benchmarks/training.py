"""Benchmarks training against straightforward rivals in the same run; prints each result next to its bar (target).

.venv/bin/python benchmarks/training.py                        # everything
.venv/bin/python benchmarks/training.py --only epoch citation

For a machine with a GPU but without the compiled core, build the H-trees elsewhere:

.venv/bin/python benchmarks/training.py --prepare scenes.pt
PYTHONPATH=src python3 benchmarks/training.py --only gpu --prepared scenes.pt
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from neuraltrees.data import HTreeData
from neuraltrees.data.transform import attach_htrees
from neuraltrees.datasets import CitationNetwork, Split, StanfordSceneGraphs, citation_split, random_node_split
from neuraltrees.training import NetworkSpec, Run, Task, Trainer, TrainingSpec

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.bars import Row, report
from benchmarks.citation_steps import ADAM, TRAINING, citation, numbers
from benchmarks.citation_steps import NETWORK as CITATION_NETWORK
from benchmarks.straightforward import TreeSAGE, TreeTraining, tree_copies
from benchmarks.turns import epochs_of, high_water, interleaved

# As tuned in the paper; 16 batches of whole graphs make one epoch, like 16 batches of 128 labelled nodes.
NETWORK = NetworkSpec(conv="sage", hidden=128, layers=4, dropout=0.25)
RUNS_ON_GPU, EPOCHS_ON_GPU = 100, 30
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}


@dataclass(frozen=True)
class Setting:
    """The data and the GPU that the benchmarks use."""

    data: Path
    prepared: Path | None
    device: str

    @cached_property
    def scenes(self) -> Task:
        """The scene graphs with their H-trees."""
        return Task(self.scene_trees(), StanfordSceneGraphs.labels)

    def scene_trees(self) -> list[HTreeData]:
        if self.prepared is None:
            return attach_htrees(StanfordSceneGraphs(self.data))
        trees: list[HTreeData] = torch.load(self.prepared, weights_only=True)
        return trees


def scene_split(task: Task, seed: int = 0) -> Split:
    return random_node_split(task.num_nodes, 0.7, 0.1, 0.2, seed)


def training_of(task: Task, seeds: Sequence[int], network: NetworkSpec = NETWORK, device: str = "cpu") -> Trainer:
    runs = [Run(seed, scene_split(task, seed)) for seed in seeds]
    return Trainer(task, network, TRAINING, runs, device, threads=torch.get_num_threads())


def rival_network(task: Task) -> TreeSAGE:
    return TreeSAGE(task.num_features, NETWORK.hidden, list(task.classes.values()), NETWORK.layers, NETWORK.dropout)


def rival_training(task: Task, device: str = "cpu") -> TreeTraining:
    split = scene_split(task)
    train, val = (tree_copies(task.graphs, nodes) for nodes in (split.train, split.val))
    return TreeTraining(rival_network(task), train, val, TRAINING.lr, TRAINING.weight_decay, device)


@torch.no_grad()
def difference_of_logits(task: Task) -> float:
    """The largest difference between our logits and the rival's for the same weights, in double precision."""
    graphs = [graph.clone().update({"x": graph.x.double()}) for graph in task.graphs]
    joined, ours = Batch.from_data_list(graphs), NETWORK.build(task).double().eval()
    rival = rival_network(task).double().eval()
    rival.copy_weights(ours)
    logits = ours(joined.x, ours.plan(joined))
    every_node = torch.ones(task.num_nodes, dtype=torch.bool)
    batches = [rival(batch) for batch in DataLoader(tree_copies(graphs, every_node), batch_size=128)]
    differences = [
        (logits[joined.node_type == kind, :classes] - torch.cat([batch[kind] for batch in batches])).abs().max()
        for kind, classes in enumerate(task.classes.values())
    ]
    return float(max(differences))


def check_same_network(task: Task) -> Row:
    worst = difference_of_logits(task)
    if not worst <= 1e-8:
        raise SystemExit(f"Expected equal logits for equal weights; they differ by {worst:.1e}, so no time is taken.")
    return Row("ours and the rival, same weights: largest difference of their logits", f"{worst:.0e}", "≤ 1e-8")


def share_of_products(work: Callable[[], object]) -> float:
    """The share of the time spent in matrix products."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        work()
    events = profiler.key_averages()
    total = sum(event.self_cpu_time_total for event in events)
    return sum(event.self_cpu_time_total for event in events if event.key in PRODUCTS) / total


def epoch(setting: Setting) -> list[Row]:
    torch.set_num_threads(1)
    task = setting.scenes
    checked = check_same_network(task)
    ours, rival = training_of(task, [0]), rival_training(task)
    works = {"ours": epochs_of(ours), "rival": rival.epoch}
    taken = interleaved(works, 15)
    ratio = taken["rival"] / taken["ours"]
    times = f"{taken['ours'] * 1e3:.1f} ms, against {taken['rival'] * 1e3:.0f} ms"
    states = sum(torch.tensor(batch.plan.rounds.states) for batch in ours.batches).tolist()
    copies, copies_to_validate = (sum(tree.num_nodes for tree in loader.dataset) for loader in (rival.train, rival.val))
    trees = sum(graph.htree.num_nodes for graph in task.graphs)
    shares = [share_of_products(work) for work in works.values()]
    return [
        checked,
        Row(
            f"one epoch of neural tree + GraphSAGE on 482 scene graphs ({times} of one tree copy per node)",
            f"{ratio:.1f} ×",
            "≥ 6 ×",
            ratio >= 6,
        ),
        Row(
            "tree nodes the rival computes in each of 4 rounds, to train and to validate",
            f"{copies:,} + {copies_to_validate:,}",
        ),
        Row(f"states we compute in rounds 1…4, twice per epoch; the trees have {trees:,} nodes", numbers(states)),
        Row(
            "share of the epoch in matrix products, ours and the rival's (profiled)",
            " / ".join(f"{s:.0%}" for s in shares),
        ),
    ]


def runs(setting: Setting) -> list[Row]:
    torch.set_num_threads(2)
    task, seeds = setting.scenes, range(20)
    together = epochs_of(training_of(task, seeds))
    alone = [epochs_of(training_of(task, [seed])) for seed in seeds]
    taken = interleaved({"together": together, "in a row": lambda: [one() for one in alone]}, 5)
    ratio = taken["in a row"] / taken["together"]
    times = f"{taken['together']:.2f} s per epoch, against {taken['in a row']:.2f} s"
    return [Row(f"20 runs at once, two threads ({times} one after another)", f"{ratio:.2f} ×", "≥ 1.3 ×", ratio >= 1.3)]


def synchronised(work: Callable[[], object], repeats: int, warm_up: int, device: str) -> float:
    """Mean time of an operation in milliseconds; on a GPU with synchronisation before and after."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    for _ in range(warm_up):
        work()
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - start) / repeats * 1e3


def gpu(setting: Setting) -> list[Row]:
    device = setting.device
    on_cuda = device.startswith("cuda")
    if on_cuda and not torch.cuda.is_available():
        return [Row(f"{RUNS_ON_GPU} runs at once on a GPU", "skipped: torch finds no CUDA device")]
    task = setting.scenes
    rows = [check_same_network(task)]
    name = torch.cuda.get_device_name(device) if on_cuda else device
    rival = synchronised(rival_training(task, device).epoch, 10, 3, device)
    for conv, model in product(("sage", "gcn", "gin", "gat"), ("neural-tree", "gnn")):
        gc.collect()
        if on_cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(device)
        network = NETWORK.replace(model=model, conv=conv)
        trainer = training_of(task, range(RUNS_ON_GPU), network, device)
        # The engine runs a step three times before it captures it; all 16 steps are captured in the fourth epoch.
        ours = synchronised(epochs_of(trainer), EPOCHS_ON_GPU, 6, device) / RUNS_ON_GPU
        del trainer
        peak = f"; {torch.cuda.max_memory_reserved(device) / 2**30:.1f} GiB" if on_cuda else ""
        what = f"{RUNS_ON_GPU} runs at once on {name}, {model} + {conv}: time per epoch and run"
        if (conv, model) == ("sage", "neural-tree"):
            rows += [
                Row(what + peak, f"{ours:.3f} ms", "≤ 2 ms", ours <= 2),
                Row(f"the same, against one tree copy per node ({rival:.0f} ms per epoch)", f"{rival / ours:,.0f} ×"),
            ]
        else:
            rows.append(Row(what + peak, f"{ours:.3f} ms"))
    return rows


def memory(setting: Setting) -> list[Row]:
    child = [sys.executable, __file__, "--peak-memory", "--data-root", str(setting.data)]
    ran = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True).stdout
    peak, imports = map(float, ran.split())
    what = (
        f"CiteSeer k=4, neural tree + GCN, 20 epochs: peak memory of the process ({imports:.2f} GiB after the imports)"
    )
    return [Row(what, f"{peak:.2f} GiB", "< 2 GiB", peak < 2)]


def peak_memory(data: Path) -> tuple[float, float]:
    """Peak memory in GiB of a whole training, and of the imports only."""
    imports = high_water()
    graph = CitationNetwork("CiteSeer", data)[0]
    task = Task([graph], {"class": [str(label) for label in range(int(graph.y.max()) + 1)]}, max_treewidth=4)
    training = TrainingSpec(epochs=20, **ADAM)
    Trainer(task, CITATION_NETWORK, training, [Run(0, citation_split(graph.y, None))]).train()
    return high_water(), imports


BENCHMARKS: dict[str, Callable[[Setting], list[Row]]] = {
    "epoch": epoch,
    "runs": runs,
    "gpu": gpu,
    "citation": lambda setting: citation(setting.data),
    "memory": memory,
}


def main() -> None:
    beside = Path(__file__).parents[2] / "shared" / "datasets"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), help="which benchmarks to run"
    )
    parser.add_argument(
        "--data-root", type=Path, default=os.environ.get("NEURALTREES_DATA", beside), help="datasets folder"
    )
    parser.add_argument("--device", default="cuda", help="device of the benchmark gpu")
    parser.add_argument(
        "--prepare", type=Path, metavar="FILE", help="write the scene graphs with their H-trees, and exit"
    )
    parser.add_argument("--prepared", type=Path, metavar="FILE", help="read the scene graphs with their H-trees")
    parser.add_argument("--peak-memory", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_memory:
        print(*peak_memory(arguments.data_root))
        return
    setting = Setting(arguments.data_root, arguments.prepared, arguments.device)
    if arguments.prepare:
        torch.save(setting.scene_trees(), arguments.prepare)
        return
    report(BENCHMARKS, arguments.only, setting)


if __name__ == "__main__":
    main()
