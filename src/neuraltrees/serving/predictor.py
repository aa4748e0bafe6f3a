"""Predictions of a trained network, built once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from threading import Lock
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least, count_threads
from neuraltrees.data.graph_checks import check_graph, listed, type_of
from neuraltrees.data.trees import TreeSettings, with_trees
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.nn.plan import Plan
from neuraltrees.objectives import Prediction
from neuraltrees.serving.shipped import find_model
from neuraltrees.training.batches import edge_columns, feature_columns, joined_graphs
from neuraltrees.training.bundle import Bundle
from neuraltrees.training.device import check_device
from neuraltrees.training.threads import computing_with, threads_for

PLANS, PLAN_NODES = 32, 500_000  # plans that are kept, and nodes of all their graphs


class Predictor:
    """Predicts with a trained network. The network is built once, and the plans of the latest graphs are kept.

    Args:
        bundle: the trained network.
        device: where to compute.
        threads: CPU threads to compute with; by default one for small graphs, see `Trainer`.

    >>> from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit
    >>> graph = Data(x=torch.eye(10), y=torch.arange(10) % 2, edge_index=torch.tensor([[0, 1], [1, 2]]))
    >>> task = Task([graph], ("even", "odd"))
    >>> fitted = fit(task, NetworkSpec(hidden=4, layers=2), TrainingSpec(epochs=1), [Run(0, task.split(0))])
    >>> Predictor(Bundle.of(fitted)).label([graph])[0][0].label in ("even", "odd")
    True
    """

    def __init__(self, bundle: Bundle, device: torch.device | str = "cpu", threads: int | None = None) -> None:
        if not isinstance(bundle, Bundle):
            raise InputError(
                f"Expected a Bundle; got {type(bundle).__name__}. Use Predictor.load(path), or Bundle.of(fitted)."
            )
        self._lock = Lock()
        self.threads = None if threads is None else count_threads(threads)
        self.bundle, self.device = bundle, check_device(device)
        self.network = bundle.build().to(self.device)
        self._plans: OrderedDict[str, tuple[Plan, int]] = OrderedDict()  # with the number of nodes

    def __repr__(self) -> str:
        objective = type(self.bundle.objective).__name__
        return f"{type(self).__name__}({self.bundle.network.name}, {objective}, device={self.device})"

    @classmethod
    def load(
        cls,
        path: PathLike,
        device: torch.device | str = "cpu",
        allow: Sequence[str] = (),
        threads: int | None = None,
    ) -> Predictor:
        """The predictor of a file that `Bundle.save` or `neuraltrees train` wrote; see `Bundle.load`.

        Args:
            path: the file; or the name of a model that comes with the package: "scenes" or "solubility".
            device: where to compute.
            allow: code that the file may import, as MODULE:NAME.
            threads: CPU threads to compute with.

        >>> Predictor.load("solubility")
        Predictor(neural-tree + bags (graph+tree), Regression, device=cpu)
        """
        return cls(Bundle.load(find_model(path), allow), device, threads)

    @torch.no_grad()
    def predict(self, graphs: Iterable[Data], known: Sequence[Tensor] | None = None) -> list[Tensor]:
        """Probabilities of the labels, or predicted numbers, per node or per graph.

        Args:
            graphs: with features as in training.
            known: for a network that reads labels (`CRFHead`): the known labels of every graph, -1 for the other nodes,
                whose probabilities are then conditional on them.

        Shapes: a list of :math:`(n, C)`, where C is the largest number of labels of a node type; per graph
        :math:`(1, C)`
        """
        scaled = self.prepared(graphs)
        if known is not None:
            self._check_known(known, scaled)
        if not scaled:
            return []
        like = next(self.network.parameters())
        edges = edge_columns(scaled, like) if self.network.reads_edges else None
        plan = self._plan(scaled, known)
        with computing_with(self.threads or threads_for(self.network, plan)):
            answers = self.network(feature_columns(scaled, like), plan, edge_attr=edges)
        predicted = self.bundle.objective.predict(answers).mean(1).cpu()
        per_node = self.bundle.objective.level == "node"
        return list(predicted.split_with_sizes([graph.num_nodes if per_node else 1 for graph in scaled]))

    def label(
        self, graphs: Iterable[Data], top: int = 1, known: Sequence[Tensor] | None = None
    ) -> list[list[Prediction]]:
        """Predictions by the names of labels: for each graph a list, with one per node, or one for the graph.

        Args:
            graphs: as for `predict`.
            top: how many labels to list, the most probable first.
            known: as for `predict`.
        """
        check_at_least("top", top, 1)
        graphs = listed(graphs)
        return [
            self.bundle.objective.describe(rows, type_of(graph, self.bundle.types).tolist(), top)
            for graph, rows in zip(graphs, self.predict(graphs, known), strict=True)
        ]

    def prepared(self, graphs: Iterable[Data]) -> list[Data]:
        """The graphs with their features scaled as in training; a graph of another form raises `InputError`."""
        scaled: list[Data] = []
        bundle = self.bundle
        for number, graph in enumerate(listed(graphs)):
            try:
                check_graph(graph, bundle.given_features, bundle.given_edge_features, bundle.types)
                scaled.append(bundle.scaling.apply(graph))
            except InputError as error:
                raise InputError(f"Graph {number}: {error}") from None
        return scaled

    def _check_known(self, known: Any, graphs: Sequence[Data]) -> None:
        if not self.network.reads_labels:
            raise InputError(
                f"Expected no known labels for a network whose head is {type(self.network.head).__name__}, which reads "
                f'none; got some. Train with head="crf".'
            )
        if isinstance(known, Tensor) or not isinstance(known, Sequence) or len(known) != len(graphs):
            came = f"{len(known)} of them" if isinstance(known, Sequence) else type(known).__name__
            raise InputError(f"Expected known as a list of {len(graphs)} tensors, one per graph; got {came}.")
        for number, (labels, graph) in enumerate(zip(known, graphs, strict=True)):
            if not isinstance(labels, Tensor) or labels.shape != (graph.num_nodes,) or labels.is_floating_point():
                came = f"{labels.dtype} of shape {tuple(labels.shape)}" if isinstance(labels, Tensor) else repr(labels)
                raise InputError(
                    f"Graph {number}: expected known as {graph.num_nodes} integers, a label or -1 per node; got {came}."
                )

    def _plan(self, graphs: Sequence[Data], known: Sequence[Tensor] | None = None) -> Plan:
        """The plan of the graphs: a kept one if they differ from earlier graphs in features and labels alone."""
        digest = sha256()
        labels = None if known is None else torch.cat([each.long().cpu() for each in known])
        if labels is not None:
            digest.update(b"known " + labels.numpy().tobytes())
        for graph in graphs:
            for name in sorted(set(graph.keys()) - {"x", "y"}):
                value = graph[name]
                digest.update(f"{name} {graph.num_nodes} {getattr(value, 'shape', value)} ".encode())
                if isinstance(value, Tensor):
                    digest.update(
                        value.detach().cpu().to_dense().contiguous().flatten().view(torch.uint8).numpy().tobytes()
                    )
        key = digest.hexdigest()
        with self._lock:
            plan, nodes = self._plans.pop(key, (None, 0))
            if plan is None:
                nodes = sum(graph.num_nodes for graph in graphs)
                if self.network.needs_tree:
                    graphs = with_trees(graphs, TreeSettings.of(self.bundle))
                joined = joined_graphs(graphs, self.bundle.types)
                plan = self.network.plan(joined) if labels is None else self.network.plan(joined, labels)
            self._plans[key] = plan, nodes
            while len(self._plans) > PLANS or (
                len(self._plans) > 1 and sum(count for _, count in self._plans.values()) > PLAN_NODES
            ):
                self._plans.popitem(last=False)
        return plan
