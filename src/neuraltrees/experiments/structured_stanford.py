"""Exact structured answers on the scene graphs of the paper: networks with and without the CRF head.

All methods see the same geometry (`SceneGeometry`) and the same splits. Every network has the same recipe and the same
few values of dropout and numbers of epochs to choose from; the choice is made by validation accuracy over all splits,
for each method, at two of the training shares; the other shares take it over. Then several networks are trained per
split, with other seeds, and their answers averaged. A CRF on top of extra-trees, which read the features of a node
alone, has a few values of its prior to choose from, in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch

from neuraltrees.data.splits import Split, random_node_split
from neuraltrees.data.task import Task
from neuraltrees.datasets import StanfordSceneGraphs
from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.experiments.extra_trees import cross_fitted_trees, extra_trees
from neuraltrees.experiments.stanford_page import draw
from neuraltrees.experiments.statistics import percent
from neuraltrees.nn import CRFPosterior
from neuraltrees.objectives import Calibration
from neuraltrees.training.fitting import trained
from neuraltrees.training.network_spec import NetworkSpec
from neuraltrees.training.runs import Run
from neuraltrees.training.training_spec import TrainingSpec
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Name, Record, Results, Store, in_words, open_store

NAME = "structured-stanford"
HIDDEN_LAYER = "neuraltrees.nn.schedule:HiddenLayer"
METHODS: dict[str, dict[str, Any]] = {
    "gnn": {"model": "gnn"},
    "gnn, labels as inputs": {"model": "gnn", "head": "labels"},
    "gnn + head": {"model": "gnn", "head": "crf"},
    "neural-tree": {"model": "neural-tree"},
    "neural-tree + head": {"model": "neural-tree", "head": "crf"},
    "mlp + head": {"model": "gnn", "schedule": HIDDEN_LAYER, "head": "crf"},
}
EXTRA_TREES = "extra-trees"
TREES_AND_HEAD = "extra-trees + head"
LATER = ("folds", "priors", "gate_factor", "chosen_at")  # settings that the first records of the file do not name


@dataclass(frozen=True)
class Protocol:
    """The settings of the experiment.

    Args:
        shares: of the nodes that train.
        states: how many labels per node the head keeps in exact inference, for each share: the fewer labels are known,
            the wider is the graph of the others. Few enough for the memory of a CPU.
        chosen_at: the share at which dropout and epochs of the networks are chosen, for each share.
        splits: number of random splits.
        members: networks per split, whose answers are averaged, for each share; one while hyper-parameters are chosen.
        dropout, epochs: values to choose from; an epoch is a gradient step over all scenes at once.
        rounds: of the GNN and the neural tree.
        hidden: size of the states.
        rate: learning rate of Adam.
        prior: precision of the normal prior of all weights: their weight decay times the number of training nodes.
        average: decay of the averaged weights.
        trees: number of extra-trees.
        folds: for extra-trees below the head: of the training nodes, for `cross_fit`.
        priors: for the same: precisions of the prior of tables to choose from.
        gate_factor: for the same: how much larger the precision of tables is that are weighted by features of edges.
    """

    shares: tuple[float, ...] = (0.7, 0.3, 0.5, 0.1)
    states: tuple[int, ...] = (8, 4, 5, 3)
    chosen_at: tuple[float, ...] = (0.7, 0.3, 0.7, 0.3)
    splits: int = 10
    members: tuple[int, ...] = (5, 1, 1, 1)
    dropout: tuple[float, ...] = (0.3, 0.5, 0.7)
    epochs: tuple[int, ...] = (150, 450)
    rounds: tuple[int, int] = (3, 4)
    hidden: int = 64
    rate: float = 0.006
    prior: float = 5.0
    average: float = 0.98
    trees: int = 500
    folds: int = 5
    priors: tuple[float, ...] = (2.0, 5.0)
    gate_factor: float = 4.0

    def quick(self) -> Protocol:
        """A small version that takes less than a minute on two cores."""
        return replace(
            self,
            shares=(0.7,),
            states=(5,),
            chosen_at=(0.7,),
            splits=2,
            members=(1,),
            dropout=(0.5,),
            epochs=(4,),
            hidden=16,
            trees=20,
            folds=2,
            priors=(5.0,),
        )

    def without_networks(self, share: float) -> tuple[list[Name], list[Name]]:
        """Extra-trees with a head with all hyper-parameters, and the methods without a network."""
        trials: list[Name] = [{"method": TREES_AND_HEAD, "share": share, "prior": prior} for prior in self.priors]
        return trials, [{"method": method, "share": share} for method in (EXTRA_TREES, TREES_AND_HEAD)]

    def trials(self, share: float) -> Iterator[Name]:
        """Every network with all hyper-parameters, those that take longest first, if they are chosen at this share."""
        if self.place_of_choice(share) != share:
            return
        for epochs, method, dropout in product(sorted(self.epochs, reverse=True), METHODS, self.dropout):
            yield {"method": method, "share": share, "dropout": dropout, "epochs": epochs}

    def finals(self, share: float) -> Iterator[Name]:
        """Every network."""
        for method in METHODS:
            yield {"method": method, "share": share}

    def place_of_choice(self, share: float) -> float:
        """The share at which the hyper-parameters of the networks are chosen."""
        return dict(zip(self.shares, self.chosen_at, strict=True))[share]

    def kept(self, share: float) -> int:
        """How many labels per node the head keeps."""
        return dict(zip(self.shares, self.states, strict=True))[share]

    def averaged(self, share: float) -> int:
        """How many networks per split answer together."""
        return dict(zip(self.shares, self.members, strict=True))[share]

    def network(self, name: Name) -> NetworkSpec:
        """The network of a trial."""
        values = METHODS[str(name["method"])]
        tree = values["model"] == "neural-tree"
        return NetworkSpec(
            conv="sage",
            hidden=self.hidden,
            layers=self.rounds[tree],
            dropout=float(name["dropout"] or 0),
            residual=True,
            layer_norm=True,
            crf_states=self.kept(float(name["share"] or 0)),
            **values,
        )

    def training(self, name: Name, nodes: int) -> TrainingSpec:
        """How that of a trial is trained, on so many nodes."""
        epochs = int(name["epochs"] or 0)
        return TrainingSpec(
            epochs=epochs,
            lr=self.rate,
            weight_decay=self.prior / nodes,
            batches=1,
            warmup=min(10, epochs // 4),
            cosine=True,
            average=self.average,
            evaluate_every=max(1, epochs // 6),
            every_class=False,
        )


def measure(scale: Scale, path: Path, log: Log) -> Results:
    """Runs what is missing in the JSON file, in `scale.execution.workers` processes, and returns all results in it.

    Of a method with hyper-parameters, a part (`scale.only`) includes the trials that it is chosen from.
    """
    protocol = Protocol().quick() if scale.quick else Protocol()
    epochs = protocol.epochs if scale.epochs is None else (scale.epochs,)
    protocol = replace(protocol, splits=scale.runs or protocol.splits, epochs=epochs)
    later = {name: getattr(protocol, name) for name in LATER}
    with open_store(path, NAME, asdict(protocol), later) as store, _processes(scale.execution.workers) as pool:

        def run(names: Iterable[Name]) -> None:
            work: dict[Future[Record], Name] = {}
            for name in names:
                if store.get(name) is None and _wanted(name, protocol, scale):
                    point = name if is_trial(name) else _point(store.results, name, protocol)
                    members = 1 if point is name else protocol.averaged(float(name["share"] or 0))
                    # A forest has its members already.
                    if store.get(point) is not None and (members == 1 or name["method"] == TREES_AND_HEAD):
                        _keep(store, name, point)
                        continue
                    given = (point, members, protocol, scale.device, scale.data_root)
                    work[pool.submit(run_method, *given)] = name
            for done in as_completed(work):
                record = store.add(work[done], done.result())
                val, test = (percent([run[part] for run in record["runs"]]) for part in ("val", "test"))
                log(f"{in_words(work[done])}: validation {val:.1f} %, test {test:.1f} % in {record['seconds']:.0f} s")

        for share in protocol.shares:  # first what needs minutes on a CPU
            for names in protocol.without_networks(share):
                run(names)
        for share in protocol.shares:
            run(protocol.trials(share))
            run(protocol.finals(share))
    return store.results


def _keep(store: Store, name: Name, point: Name) -> None:
    """Adds the record of a trial as that of its method."""
    found = store.results.one(**point)
    store.add(name, {key: value for key, value in found.items() if key not in ("name", "settings")})


def is_trial(name: Name) -> bool:
    """Whether a name has hyper-parameters beside a method and a share."""
    return len(name) > 2


def chosen(results: Results, name: Name) -> Name:
    """The trial of a method and share that has the best validation accuracy; the name itself where nothing is tuned."""
    trials = [each for each in results.find(**name) if is_trial(each["name"])]
    if not trials:
        return name
    found: Name = max(trials, key=lambda trial: percent([run["val"] for run in trial["runs"]]))["name"]
    return found


def _point(results: Results, name: Name, protocol: Protocol) -> Name:
    """The hyper-parameters of a method at its share, perhaps as they were chosen at another one."""
    share = float(name["share"] or 0)
    if name["method"] not in METHODS:
        return chosen(results, name)
    return {**chosen(results, {**name, "share": protocol.place_of_choice(share)}), "share": share}


def _wanted(name: Name, protocol: Protocol, scale: Scale) -> bool:
    """Whether something is to be run, since it is asked for or chooses hyper-parameters for what is."""
    if not (is_trial(name) and name["method"] in METHODS):
        return scale.wants(name)
    shares = [share for share in protocol.shares if protocol.place_of_choice(share) == name["share"]]
    return any(scale.wants({**name, "share": share}) for share in shares)


def _processes(workers: int) -> Executor:
    if workers == 1:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(workers, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,))


@lru_cache(maxsize=1)
def load(data_root: str | None) -> Task:
    """The scene graphs with their geometry."""
    scenes = StanfordSceneGraphs(data_root)
    return Task(list(scenes), scenes.labels).scaled(geometry=True)


def run_method(name: Name, members: int, protocol: Protocol, device: str, data_root: str | None) -> Record:
    """Trains a method on all splits at one share, so many networks for each, and measures its answers."""
    task, share = load(data_root), float(name["share"] or 0)
    splits = [random_node_split(task.num_nodes, share, seed=seed) for seed in range(protocol.splits)]
    about: dict[str, Any] = {}
    if name["method"] == EXTRA_TREES:
        found, seconds = extra_trees(task, splits, protocol.trees)
    elif name["method"] == TREES_AND_HEAD:
        found, seconds = trees_and_head(task, splits, protocol, name)
        about["point"] = dict(name)
    else:
        runs = [Run(seed + len(splits) * each, split) for seed, split in enumerate(splits) for each in range(members)]
        training = protocol.training(name, splits[0].counts[0])
        fitted = trained(task, protocol.network(name), training, runs, device)
        groups = [range(place, place + members) for place in range(0, len(runs), members)]
        found, seconds = fitted.mean_predictions(groups, batches=1), fitted.seconds
        about["point"] = dict(name)
        about["parameters"] = sum(each.numel() for each in fitted.network.parameters()) // len(runs)
        about["members"] = [
            {"val": fitted.val[list(group)].tolist(), "test": fitted.test[list(group)].tolist()} for group in groups
        ]
    rows: list[dict[str, Any]] = []
    for seed, split in enumerate(splits):
        row = measured(found[:, seed], task.y, {"val": split.val, "test": split.test})
        row["single_test"] = about["members"][seed]["test"][0] if "members" in about else row["test"]
        rows.append({"seed": seed, "split": list(split.counts), **row})
    return {"runs": rows, **about, "seconds": round(seconds, 3), **machine(device)}


def trees_and_head(task: Task, splits: Sequence[Split], protocol: Protocol, name: Name) -> tuple[Tensor, float]:
    """Probabilities by a CRF on top of extra-trees, and the seconds it took. Shapes: → :math:`(n, splits, C)`"""
    start, prior, share = time.perf_counter(), float(name["prior"] or 0), float(name["share"] or 0)
    scenes = Batch.from_data_list(task.graphs)
    found = []
    for seed, split in enumerate(splits):
        given = _forests(task, share, seed, protocol.trees, protocol.folds)
        posterior = CRFPosterior(
            scenes,
            task.classes,
            prior=prior,
            gate_prior=protocol.gate_factor * prior,
            states=protocol.kept(share),
        )
        known = torch.where(split.train, task.y, -1)
        found.append(posterior.fit(given, known)(given, known))
    return torch.stack(found, 1), time.perf_counter() - start


@lru_cache(maxsize=16)  # the trials of a share differ in the prior alone
def _forests(task: Task, share: float, seed: int, trees: int, folds: int) -> Tensor:
    split = random_node_split(task.num_nodes, share, seed=seed)
    return cross_fitted_trees(task, split, trees, folds, seed)


def measured(probabilities: Tensor, labels: Tensor, parts: Mapping[str, Tensor]) -> dict[str, float]:
    """Accuracy of every part, and log-loss and calibration error of the last.

    Shapes: probabilities :math:`(n, C)`, labels :math:`(n)`, parts of masks :math:`(n)`
    """
    found = {part: _accuracy(probabilities[mask], labels[mask]) for part, mask in parts.items()}
    last = list(parts.values())[-1]
    right = probabilities[last].double().gather(1, labels[last].unsqueeze(1)).clamp(min=1e-6)
    found["log_loss"] = float(-right.log().mean())
    found["calibration_error"] = Calibration.of(probabilities[last], labels[last]).error
    return found


def _accuracy(probabilities: Tensor, labels: Tensor) -> float:
    return float((probabilities.argmax(-1) == labels).double().mean())


EXPERIMENT = Experiment(
    NAME,
    "scene graphs of the paper: networks, the CRF head with and without them, and extra-trees",
    measure,
    draw,
    divides=True,
)
