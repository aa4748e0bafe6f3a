"""Citation networks: GCN and APPNP alone, and corrected by the exact posterior of a Potts model or by its rivals.

All methods have the same information: the graph, the labels of the training nodes, and those of the validation nodes to
choose epochs and options. Hyper-parameters of the networks were tuned on splits of their own, by validation accuracy;
the form of the posterior was chosen on the splits of seeds 0 to 9, so that reported seeds start after them.

A second part gives the posterior a second network beside the first: an MLP, which reads a node's own features. When it
is left out by the careful posterior was decided after a run on the splits of the first part, so that it has others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import CorrectAndSmooth, LabelPropagation

from neuraltrees.data.splits import Split, citation_split
from neuraltrees.datasets import CitationNetwork
from neuraltrees.experiments.cells import Log
from neuraltrees.experiments.citation_networks import Citations, Recipe, train
from neuraltrees.experiments.citations_page import BOUNDS, draw
from neuraltrees.experiments.experiment import Experiment, Scale
from neuraltrees.inference import MarkovNetwork, loopy_marginals
from neuraltrees.nn import PottsPosterior, Strengths
from neuraltrees.objectives.calibration import Calibration
from neuraltrees.tuning.record import machine
from neuraltrees.tuning.store import Name, Results, open_store

FIRST_SEED, FIRST_SEED_BESIDE = 10, 40  # without and with an MLP beside the network
LEARNED = 2  # treewidth up to which strengths are learned; they hardly change beyond
RECIPES: dict[tuple[str, int | None, str], Recipe] = {
    ("Cora", 20, "GCN"): Recipe(None, weight_decay=1e-3),
    ("Cora", 20, "APPNP"): Recipe(0.1, weight_decay=5e-3),
    ("Cora", None, "GCN"): Recipe(None),
    ("Cora", None, "APPNP"): Recipe(0.2, weight_decay=1e-3),
    ("CiteSeer", 20, "GCN"): Recipe(None, weight_decay=1e-3),
    ("CiteSeer", 20, "APPNP"): Recipe(0.2, weight_decay=5e-3, lr=0.01),
    ("CiteSeer", None, "GCN"): Recipe(None, lr=0.01),
    ("CiteSeer", None, "APPNP"): Recipe(0.2, weight_decay=1e-3),
    ("PubMed", None, "GCN"): Recipe(None, hidden=16, dropout=0.2, lr=0.05, weight_decay=5e-5),
    ("PubMed", None, "APPNP"): Recipe(0.4, hidden=32, dropout=0.2, lr=0.05, weight_decay=5e-5),
    ("PubMed", 20, "GCN"): Recipe(None, hidden=16, lr=0.05),
    ("PubMed", 20, "APPNP"): Recipe(0.1, hidden=32, lr=0.05),
}
MLP = Recipe(1.0)
BUDGETS = {"Cora": (1000, 80), "CiteSeer": (1000, 80), "PubMed": (400, 50)}  # epochs and patience


def names(scale: Scale) -> Iterator[Name]:
    """All trainings: every network on its splits, then the same with an MLP beside it."""
    parts: list[tuple[int, int, Name]] = [(FIRST_SEED, 30, {}), (FIRST_SEED_BESIDE, 20, {"beside": "MLP"})]
    for (first, most, beside), data, nodes in product(parts, BUDGETS, (20, None)):
        runs = scale.runs or (2 if scale.quick else most)
        for seed, network in product(range(first, first + runs), ("GCN", "APPNP")):
            if not scale.quick or (data, nodes) == ("Cora", 20):
                yield {"data": data, "nodes": nodes, "network": network, "seed": seed, **beside}


def measure(scale: Scale, path: Path, tell: Log) -> Results:
    """Trains and corrects what is missing in the JSON file."""
    listed = list(names(scale))
    bounds = BOUNDS[:2] if scale.quick else BOUNDS
    loaded: dict[str, Citations] = {}
    with open_store(path, "structured-citations", {"bounds": bounds, "epochs": scale.epochs}) as store:
        for number, name in enumerate(listed, start=1):
            data, nodes, network = str(name["data"]), name["nodes"], str(name["network"])
            assert nodes is None or isinstance(nodes, int)
            recipe = RECIPES[data, nodes, network]
            if store.get(name, recipe.as_dict()) is not None or not scale.wants(name):
                continue
            if data not in loaded:
                loaded = {data: Citations(CitationNetwork(data, scale.data_root)[0], scale.device)}
            started, seed = time.perf_counter(), int(name["seed"] or 0)
            citations = loaded[data]
            split = citation_split(citations.y, nodes, seed=seed)
            epochs, patience = BUDGETS[data]
            network_says, epoch = train(citations, split, recipe, seed, scale.epochs or epochs, patience)
            case = Case(citations, split, network_says)
            if "beside" in name:
                own, _ = train(citations, split, MLP, seed, scale.epochs or epochs, patience)
                found = compare_beside(case, own)
            else:
                found = compare(case, bounds)
            seconds = round(time.perf_counter() - started, 2)
            record = {"split": list(split.counts), "best_epoch": epoch, **found, "seconds": seconds}
            store.add(name, record | machine(scale.device), recipe.as_dict())
            tests = {method: each["test"] for method, each in found["methods"].items()}
            tell(
                f"{number}/{len(listed)} {network} on {data}, {nodes or 'all'}, seed {seed}: "
                f"{100 * tests['network']:.1f} %, with the posterior {100 * tests['k = 1']:.1f} %, in {seconds:.0f} s"
            )
    return store.results


@dataclass(frozen=True, eq=False)
class Case:
    """A citation network, a split, and the predictions of a network for its nodes.

    Shapes: network (log-probabilities) :math:`(n, C)`
    """

    citations: Citations
    split: Split
    network: Tensor

    def part(self, mask: Tensor) -> Tensor:
        """The labels of some nodes, -1 elsewhere."""
        return torch.where(mask.to(self.citations.y.device), self.citations.y, -1)

    def judge(self, probabilities: Tensor) -> dict[str, float]:
        """Accuracies on validation and test nodes; calibration error and log-loss on test nodes."""
        device = probabilities.device
        val, test = self.split.val.to(device), self.split.test.to(device)
        y = self.citations.y
        right = (probabilities.argmax(1) == y).double()
        chosen = probabilities[test].gather(1, y[test].unsqueeze(1))
        return {
            "val": float(right[val].mean()),
            "test": float(right[test].mean()),
            "calibration_error": Calibration.of(probabilities[test], y[test]).error,
            "log_loss": float(-chosen.clamp(min=1e-12).log().mean()),
        }


def compare(case: Case, bounds: tuple[int, ...]) -> dict[str, Any]:
    """All methods on top of one network, and what was learned."""
    known, held_out = case.part(case.split.train), case.part(case.split.val)
    methods = {"network": case.judge(case.network.exp())}
    learned: dict[str, dict[str, Any]] = {}
    strengths = Strengths()
    for k in bounds:
        posterior = PottsPosterior(case.citations.graph, max_treewidth=k, careful=False)
        if k <= LEARNED:
            posterior.fit(case.network, known, held_out)
            assert posterior.strengths is not None
            strengths = posterior.strengths
            learned[f"k = {k}"] = what_was_learned(posterior)
        posterior.strengths = strengths
        methods[f"k = {k}"] = case.judge(posterior(case.network, known))
        if k == bounds[0]:
            assert posterior.alone is not None and posterior.gain is not None
            methods["temperature"] = case.judge((posterior.alone.network * case.network).softmax(1))
            # What the careful posterior, the default, chooses by the same fit.
            clear = posterior.gain > log(int(case.split.val.sum()))
            methods["careful"] = methods[f"k = {k}" if clear else "temperature"]
    methods["loopy"] = case.judge(loopy(case, strengths, known))
    methods["correct and smooth"] = case.judge(correct_and_smooth(case))
    methods["label propagation"] = case.judge(label_propagation(case))
    return {"methods": methods, "learned": learned}


def compare_beside(case: Case, own: Tensor) -> dict[str, Any]:
    """A network alone, an MLP alone, both without edges, and the posterior on top of both; and what was learned.

    Shapes: own (log-probabilities) :math:`(n, C)`
    """
    known, held_out = case.part(case.split.train), case.part(case.split.val)
    both, learned = [case.network, own], {}
    methods = {"network": case.judge(case.network.exp()), "MLP": case.judge(own.exp())}
    for name, careful in (("k = 1", False), ("careful", True)):
        posterior = PottsPosterior(case.citations.graph, careful=careful).fit(both, known, held_out)
        methods[name], learned[name] = case.judge(posterior(both, known)), what_was_learned(posterior)
        if not careful:
            posterior.strengths = posterior.alone
            methods["no edges"] = case.judge(posterior(both, known))
    return {"methods": methods, "learned": learned}


def what_was_learned(posterior: PottsPosterior) -> dict[str, Any]:
    """The strengths that `fit` learned, and its gain, as a record has them."""
    assert posterior.strengths is not None
    found: dict[str, Any] = {**vars(posterior.strengths), "gain": posterior.gain}
    others = list(found.pop("others"))
    return found | ({"others": others} if others else {})


def loopy(case: Case, strengths: Strengths, known: Tensor) -> Tensor:
    """Loopy belief propagation with given strengths, on all edges between unknown nodes. Shapes: → :math:`(n, C)`"""
    labels = case.network.shape[1]
    source, target = case.citations.edge_index
    same = torch.eye(labels, device=known.device)
    given = known[source] >= 0
    counts = torch.zeros_like(case.network).index_add(0, target[given], same[known[source[given]]])
    unary = strengths.network * case.network + strengths.known * counts
    free = (known < 0).nonzero().flatten()
    place = torch.full_like(known, -1).index_put((free,), torch.arange(len(free), device=known.device))
    inner = (place[source] >= 0) & (place[target] >= 0) & (source < target)
    edges = list(zip(place[source[inner]].tolist(), place[target[inner]].tolist(), strict=True))
    cliques = [*((node,) for node in range(len(free))), *edges]
    tables = [*unary[free].unbind(0), *[strengths.edge * same] * len(edges)]
    found = loopy_marginals(MarkovNetwork([labels] * len(free), cliques, tables), iterations=50)
    return same[known.clamp(min=0)].index_copy(0, free, torch.stack(found))


def correct_and_smooth(case: Case) -> Tensor:
    """PyG's `CorrectAndSmooth`, with the best options of a grid by validation accuracy. Shapes: → :math:`(n, C)`"""
    citations, train_mask = case.citations, case.split.train.to(case.network.device)
    source, target = citations.edge_index
    scale = torch.bincount(source, minlength=citations.num_nodes).clamp(min=1).float().rsqrt()
    given = (citations.y[train_mask], train_mask, citations.edge_index, scale[source] * scale[target])
    best, kept = -1.0, torch.empty(0)
    for first, autoscale in product((0.5, 0.9), (True, False)):
        method = CorrectAndSmooth(20, first, 20, 0.5, autoscale=autoscale, scale=1.0)
        corrected = method.correct(case.network.exp(), *given)
        for second in (0.3, 0.6, 0.9):
            method = CorrectAndSmooth(20, first, 20, second, autoscale=autoscale, scale=1.0)
            smoothed = _distribution(method.smooth(corrected, *given))
            val = case.judge(smoothed)["val"]
            if val > best:
                best, kept = val, smoothed
    return kept


def label_propagation(case: Case) -> Tensor:
    """PyG's `LabelPropagation`, with the best share by validation accuracy; no network. Shapes: → :math:`(n, C)`"""
    train_mask = case.split.train.to(case.network.device)
    best, kept = -1.0, torch.empty(0)
    for share in (0.5, 0.8, 0.9, 0.95):
        found = LabelPropagation(50, share)(case.citations.y, case.citations.edge_index, mask=train_mask)
        found = _distribution(found)
        val = case.judge(found)["val"]
        if val > best:
            best, kept = val, found
    return kept


def _distribution(scores: Tensor) -> Tensor:
    """Scores as probabilities, uniform where all are zero."""
    positive = scores.clamp(min=0) + 1e-12
    return positive / positive.sum(1, keepdim=True)


EXPERIMENT = Experiment(
    "structured-citations",
    "citation networks: GCN and APPNP alone, with a Potts posterior, and with other corrections",
    measure,
    draw,
    divides=True,
)
