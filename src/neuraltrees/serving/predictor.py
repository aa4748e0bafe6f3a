"""Predictions of a trained network, built once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from threading import Lock

import torch
from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.checks import check_at_least
from neuraltrees.data.task import check_graph, listed, type_of, with_trees
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.nn.plan import Plan
from neuraltrees.objectives import Prediction
from neuraltrees.training.batches import edge_columns, feature_columns, joined_graphs
from neuraltrees.training.bundle import Bundle
from neuraltrees.training.device import check_device

PLANS = 32  # that are kept


class Predictor:
    """Predicts with a trained network; building it and planning graphs seen before is done once.

    Args:
        bundle: the trained network.
        device: where to compute.

    >>> from neuraltrees.training import NetworkSpec, Run, Task, TrainingSpec, fit
    >>> graph = Data(x=torch.eye(10), y=torch.arange(10) % 2, edge_index=torch.tensor([[0, 1], [1, 2]]))
    >>> task = Task([graph], ("even", "odd"))
    >>> fitted = fit(task, NetworkSpec(hidden=4, layers=2), TrainingSpec(epochs=1), [Run(0, task.split(0))])
    >>> Predictor(Bundle.of(fitted)).label([graph])[0][0].label in ("even", "odd")
    True
    """

    def __init__(self, bundle: Bundle, device: torch.device | str = "cpu") -> None:
        if not isinstance(bundle, Bundle):
            raise InputError(
                f"Expected a Bundle; got {type(bundle).__name__}. Use Predictor.load(path), or Bundle.of(fitted)."
            )
        self._lock = Lock()
        self.bundle, self.device = bundle, check_device(device)
        self.network = bundle.build().to(self.device)
        self._plans: OrderedDict[str, Plan] = OrderedDict()

    @classmethod
    def load(cls, path: PathLike, device: torch.device | str = "cpu", allow: Sequence[str] = ()) -> Predictor:
        """The predictor of a file that `Bundle.save` or `neuraltrees train` wrote; see `Bundle.load`."""
        return cls(Bundle.load(path, allow), device)

    @torch.no_grad()
    def predict(self, graphs: Iterable[Data]) -> list[Tensor]:
        """Probabilities of the labels, or numbers, of every node of each graph, or of each graph.

        Shapes: a list of :math:`(n, C)`, where C is the largest number of labels of a node type; per graph
        :math:`(1, C)`
        """
        scaled = self._checked(graphs)
        if not scaled:
            return []
        like = next(self.network.parameters())
        edges = edge_columns(scaled, like) if self.network.reads_edges else None
        answers = self.network(feature_columns(scaled, like), self._plan(scaled), edge_attr=edges)
        predicted = self.bundle.objective.predict(answers.squeeze(1)).cpu()
        per_node = self.bundle.objective.level == "node"
        return list(predicted.split_with_sizes([graph.num_nodes if per_node else 1 for graph in scaled]))

    def label(self, graphs: Iterable[Data], top: int = 1) -> list[list[Prediction]]:
        """The same in words: for each graph the predictions of its nodes, or its own.

        Args:
            graphs: as for `predict`.
            top: how many labels to list, the most probable first.
        """
        check_at_least("top", top, 1)
        graphs = listed(graphs)
        return [
            self.bundle.objective.describe(rows, type_of(graph, self.bundle.types).tolist(), top)
            for graph, rows in zip(graphs, self.predict(graphs), strict=True)
        ]

    def _checked(self, graphs: Iterable[Data]) -> list[Data]:
        scaled: list[Data] = []
        bundle = self.bundle
        for number, graph in enumerate(listed(graphs)):
            try:
                check_graph(graph, bundle.features, bundle.edge_features, bundle.types)
                scaled.append(bundle.scaling.apply(graph))
            except InputError as error:
                raise InputError(f"Graph {number}: {error}") from None
        return scaled

    def _plan(self, graphs: Sequence[Data]) -> Plan:
        """The plan of the graphs, from those kept if all but their features is the same."""
        digest = sha256()
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
            plan = self._plans.pop(key, None)
            if plan is None:
                if self.network.needs_tree:
                    graphs = with_trees(graphs, self.bundle.max_treewidth, self.bundle.seed, self.bundle.sampler)
                plan = self.network.plan(joined_graphs(graphs, self.bundle.types))
            self._plans[key] = plan
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)
        return plan
