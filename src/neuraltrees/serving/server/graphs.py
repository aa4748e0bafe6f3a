"""Predictions for graphs in the JSON that `neuraltrees predict` reads, by any model that was not trained on scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from neuraltrees.data.graph_checks import type_of
from neuraltrees.data.json_graphs import graphs_of
from neuraltrees.data.known_labels import known_of
from neuraltrees.errors import InputError
from neuraltrees.serving.predictor import Predictor
from neuraltrees.serving.server.fast_json import read_json, write_json
from neuraltrees.serving.server.limits import Limits, too_large
from neuraltrees.serving.server.service import Reply, Wants


@dataclass(frozen=True, eq=False)
class GraphQuestion:
    graphs: list[Data]
    names: list[list[str]]
    known: list[Tensor] | None


class GraphService:
    """Predicts labels or numbers of graphs, or of their nodes.

    A request is a graph as for `neuraltrees predict`, or several under "graphs"; beside them "known" has the labels
    that are known, as in the file for `--known`. The answer is what `neuraltrees predict --json` prints.

    Args:
        predictor: the model.
        limits: how many nodes a request may have.
    """

    what = "graphs"

    def __init__(self, predictor: Predictor, limits: Limits) -> None:
        self.predictor, self.limits = predictor, limits

    @property
    def model(self) -> str:
        return self.predictor.bundle.network.name

    def read(self, body: bytes, wants: Wants) -> GraphQuestion:
        if wants.output == "scene":
            raise InputError("Expected output=labels for a model of graphs; got output=scene. Leave it out.")
        content = read_json(body)
        trained, known = self.predictor.bundle, None
        if isinstance(content, dict) and "known" in content:
            known = content.pop("known")
        several = isinstance(content, dict) and "graphs" in content
        _check_nodes(content["graphs"] if several else [content], self.limits.nodes)
        graphs, names = graphs_of(
            content,
            "the request",
            trained.types,
            trained.given_edge_features is not None,
            ragged=isinstance(trained.given_features, Mapping),
        )
        if known is not None:
            known = {"graphs": known} if isinstance(known, list) else known
            known = known_of(known, "known", graphs, names, trained.labels)
        question = GraphQuestion(graphs, names, known)
        self.predictor.prepared(graphs)  # raises what is wrong with these alone
        return question

    def answer(self, questions: Sequence[GraphQuestion]) -> list[list[Tensor]]:
        answers: list[list[Tensor]] = [[] for _ in questions]
        for given in (False, True):
            which = [i for i, each in enumerate(questions) if (each.known is not None) is given]
            if not which:
                continue
            graphs = [graph for i in which for graph in questions[i].graphs]
            known = [labels for i in which for labels in questions[i].known or ()] if given else None
            rows = iter(self.predictor.predict(graphs, known))
            for i in which:
                answers[i] = [next(rows) for _ in questions[i].graphs]
        return answers

    def write(self, question: GraphQuestion, answer: list[Tensor], wants: Wants) -> Reply:
        objective, types = self.predictor.bundle.objective, self.predictor.bundle.types
        listed: list[dict[str, Any]] = []
        for graph, names, rows in zip(question.graphs, question.names, answer, strict=True):
            found = objective.describe(rows, type_of(graph, types).tolist(), wants.top)
            named = names if objective.level == "node" else ["graph"]
            each = [{"name": name, **one.as_dict()} for name, one in zip(named, found, strict=True)]
            listed.append({"nodes": each} if objective.level == "node" else each[0])
        return Reply(write_json({"graphs": listed}))


def _check_nodes(graphs: Any, most: int) -> None:
    """Raises `Refusal` for too many nodes, before the graphs are built."""
    listed = graphs if isinstance(graphs, list) else []
    nodes = [each.get("nodes") for each in listed if isinstance(each, dict)]
    count = sum(len(each) for each in nodes if isinstance(each, list))
    if count > most:
        raise too_large("nodes", most, f"{count:,}", "a larger --max-nodes")
