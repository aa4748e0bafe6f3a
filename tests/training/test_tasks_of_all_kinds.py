"""Every objective is learned by the one trainer: per node and per graph, with missing labels, kept and predicted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import neuraltrees as nt
from neuraltrees.objectives import Classification, MultiLabel, Objective, Regression
from neuraltrees.training import Bundle, NetworkSpec, Run, Task, Trainer, TrainingSpec, fit

COUNT = 60
SPEC = NetworkSpec(hidden=16, layers=2, dropout=0.0)
TRAINING = TrainingSpec(epochs=30, batches=3, lr=0.02, weight_decay=0.0, every_class=False)


def rings(categories: bool = False) -> list[Data]:
    """Rings and paths of four to seven nodes with features of nodes and edges."""
    draw = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(COUNT):
        size = 4 + number % 4
        index = torch.arange(size)
        edges = torch.stack([index, (index + 1) % size])[:, : size - number % 2]
        both = torch.cat([edges, edges.flip(0)], 1)
        x = torch.randint(0, 3, (size, 2), generator=draw) if categories else torch.randn(size, 3, generator=draw)
        attr = torch.randint(0, 2, (edges.shape[1], 1), generator=draw)
        attr = torch.cat([attr, attr])
        graphs.append(Data(x=x, edge_index=both, edge_attr=attr if categories else attr.float()))
    return graphs


def labelled(objective: Objective, categories: bool = False) -> Task:
    """Labels that depend on the sum of the features, on being a ring and on the features of the edges."""
    graphs = rings(categories)
    for number, graph in enumerate(graphs):
        x = graph.x.float()
        ring = float(number % 2 == 0)
        per_node = torch.stack([x[:, 0] + x[:, 1], x[:, 1] - ring], 1)
        per_graph = torch.stack([x[:, 0].mean(), torch.tensor(ring) + graph.edge_attr.float().mean()])
        values = per_node if objective.level == "node" else per_graph.unsqueeze(0)
        match objective:
            case Classification():
                graph.y = (values[:, 0] > values[:, 1]).long()
                graph.y[0] = -1 if number == 5 else graph.y[0]
            case MultiLabel():
                graph.y = (values > torch.tensor([0.0, 0.7])).float()
                graph.y[0, 0] = torch.nan if number % 7 == 0 else graph.y[0, 0]
            case _:
                graph.y = values.clone()
                graph.y[0, 1] = torch.nan if number % 7 == 0 else graph.y[0, 1]
    return Task(graphs, objective)


OBJECTIVES = {
    "node classes": Classification(("low", "high"), metric="macro-f1"),
    "graph classes": Classification(("low", "high"), level="graph"),
    "weighted classes": Classification(("low", "high"), level="graph", class_weights=(1.0, 3.0)),
    "node labels": MultiLabel(("a", "b"), level="node", metric="roc-auc"),
    "graph labels": MultiLabel(("a", "b"), metric="average-precision"),
    "node numbers": Regression(("a", "b"), level="node", metric="rmse"),
    "graph numbers": Regression(("a", "b"), metric="mae"),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("model", ["neural-tree", "gnn"])
def test_it_is_learned(name: str, model: str) -> None:
    task = labelled(OBJECTIVES[name])
    runs = [Run(seed, task.split(seed)) for seed in (0, 1)]
    fitted = fit(task, SPEC.replace(model=model), TRAINING, runs)
    metric = task.objective.metric
    assert (fitted.loss_curve[-1] < 0.75 * fitted.loss_curve[0]).all()
    best = fitted.val_curve.amax(0) if metric.higher_is_better else fitted.val_curve.amin(0)
    assert torch.equal(fitted.val, best)
    assert fitted.test.isfinite().all()


@pytest.mark.parametrize("name", ["graph classes", "graph labels", "node numbers"])
def test_runs_at_once_equal_runs_one_by_one(name: str) -> None:
    task = labelled(OBJECTIVES[name])
    runs = [Run(seed, task.split(seed)) for seed in (4, 2)]
    training = TRAINING.replace(epochs=3)
    together = fit(task, SPEC.replace(dropout=0.3), training, runs)
    for number, run in enumerate(runs):
        alone = fit(task, SPEC.replace(dropout=0.3), training, [run])
        torch.testing.assert_close(together.loss_curve[:, number], alone.loss_curve[:, 0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(together.val_curve[:, number], alone.val_curve[:, 0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("conv", ["gcn", "sage", "gat", "gin"])
def test_categories_of_nodes_and_edges(conv: str) -> None:
    graphs = rings(categories=True)
    for graph in graphs:
        graph.y = graph.edge_attr.float().mean().view(1)
    task = Task(graphs, Regression(("share",)))
    assert (task.features, task.edge_features) == (nt.Categories((3, 3)), nt.Categories((2,)))
    fitted = fit(task, SPEC.replace(conv=conv, heads=2), TRAINING, [Run(0, task.split(0))])
    blind = fit(task, SPEC.replace(conv=conv, heads=2, edge_features=False), TRAINING, [Run(0, task.split(0))])
    assert fitted.network.reads_edges and not blind.network.reads_edges
    assert fitted.loss_curve[-1] < 0.6 * blind.loss_curve[-1], "the labels depend on the edges alone"


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_bundle_predicts_what_training_measured(name: str, tmp_path: Path) -> None:
    task = labelled(OBJECTIVES[name])
    run = Run(0, task.split(0))
    fitted = fit(task, SPEC, TRAINING.replace(epochs=4), [run])
    path = tmp_path / "model.safetensors"
    Bundle.of(fitted).save(path)
    predictor = nt.Predictor.load(path)
    predicted = torch.cat(predictor.predict(task.graphs))
    torch.testing.assert_close(predicted, task.objective.predict(fitted.answers()[:, 0]), atol=1e-5, rtol=1e-4)
    described = predictor.label(task.graphs[:2])
    per_graph = [1, 1] if task.objective.level == "graph" else [graph.num_nodes for graph in task.graphs[:2]]
    assert [len(each) for each in described] == per_graph


def test_training_goes_on_from_a_state_as_if_never_broken() -> None:
    task = labelled(OBJECTIVES["graph labels"])
    runs = [Run(seed, task.split(seed)) for seed in (0, 1)]
    training = TRAINING.replace(epochs=4, warmup=2, cosine=True, clip=0.5, optimiser="adamw", weight_decay=0.1)
    whole = fit(task, SPEC, training, runs)
    first, again = (Trainer(task, SPEC, training, runs) for _ in range(2))
    for epoch in range(2):
        first.run_epoch(epoch)
    again.restore(first.state())
    again.train()
    assert torch.equal(again.result().loss_curve, whole.loss_curve)


def test_types_of_other_sizes() -> None:
    """Rooms have two features and objects four: what stands in a room's other columns does not matter."""
    draw = torch.Generator().manual_seed(0)
    graphs = []
    for _ in range(40):
        x = torch.randn(5, 4, generator=draw)
        kinds = torch.tensor([0, 1, 1, 1, 1])
        y = torch.where(kinds == 0, (x[:, 1] > 0).long(), (x[:, 3] > 0).long() + (x[:, 0] > 0).long())
        x[0, 2:] = 1e6
        star = torch.tensor([[0, 0, 0, 0], [1, 2, 3, 4]])
        graphs.append(Data(x=x, y=y, node_type=kinds, edge_index=torch.cat([star, star.flip(0)], 1)))
    labels = {"room": ("no", "yes"), "object": ("none", "one", "both")}
    task = Task(graphs, labels, features={"room": 2, "object": 4})
    fitted = fit(task, SPEC, TRAINING.replace(epochs=60), [Run(0, task.split(0))])
    assert fitted.test[0] > 0.8


def test_labels_that_are_missing_everywhere() -> None:
    objective = Regression(("a", "b"))
    task = labelled(objective)
    split = task.split(0)
    for number in split.val.nonzero().flatten().tolist():
        task.graphs[number].y[:] = torch.nan
    with pytest.raises(nt.InputError, match="Expected at least one validation graph with a label; all 6 have none"):
        fit(task, SPEC, TRAINING, [Run(0, split)])


BAD_FEATURES = {
    "edges of another number": ({"edge_attr": torch.zeros(1, 1)}, "Expected edge_attr of .* edges; got 1 rows"),
    "edges of another size": ({"edge_attr": torch.zeros(8, 2)}, "Expected 1 features per edge; got 2"),
    "infinite edges": ({"edge_attr": torch.full((8, 1), torch.inf)}, "Expected finite features; got NaN or infinity"),
}


@pytest.mark.parametrize(("changes", "message"), BAD_FEATURES.values(), ids=BAD_FEATURES)
def test_bad_features(changes: dict[str, torch.Tensor], message: str) -> None:
    task = labelled(Regression(("a", "b")))
    graph = task.graphs[4].clone()
    assert graph.edge_index.shape[1] == 8
    graph.update(changes)
    with pytest.raises(nt.InputError, match=f"Graph 4: {message}"):
        Task([*task.graphs[:4], graph], task.objective, edge_features=1)


def test_categories_out_of_range() -> None:
    task = labelled(OBJECTIVES["graph numbers"], categories=True)
    predictor = nt.Predictor(Bundle.of(fit(task, SPEC, TRAINING.replace(epochs=1), [Run(0, task.split(0))])))
    graph = task.graphs[0].clone()
    graph.x[1, 0] = 3
    with pytest.raises(nt.InputError, match="Graph 0: Expected x with integers between 0 and 2 in column 0; got 3 in"):
        predictor.predict([graph])


def test_types_are_numbered_as_the_labels_list_them() -> None:
    graph = Data(
        x=torch.randn(4, 6),
        y=torch.tensor([0, 1, 0, 0]),
        node_type=torch.tensor([0, 1, 1, 0]),
        edge_index=torch.tensor([[0], [1]]),
    )
    labels = {"room": ("a",), "object": ("b", "c")}
    task = Task([graph], labels, features={"object": 3, "room": 6})
    assert task.types == ("room", "object") and list(task.features) == ["room", "object"]
    with pytest.raises(nt.InputError, match="Expected features of the node types room, object, which have labels"):
        Task([graph], labels, features={"room": 6, "thing": 3})


def test_graphs_without_edges_have_no_edge_features_and_still_count() -> None:
    task = labelled(Regression(("a", "b")))
    lonely = Data(x=torch.randn(1, 3), edge_index=torch.zeros(2, 0, dtype=torch.int64), edge_attr=torch.zeros(0, 1))
    lonely.y = torch.zeros(1, 2)
    several = Task([*task.graphs, lonely], task.objective)
    fitted = fit(several, SPEC, TRAINING.replace(epochs=2), [Run(0, several.split(0))])
    assert fitted.answers().isfinite().all()


def test_graphs_without_nodes_are_answered_as_the_predictor_answers_them() -> None:
    task = labelled(Regression(("a", "b")))
    nothing = Data(x=torch.zeros(0, 3), edge_index=torch.zeros(2, 0, dtype=torch.int64), edge_attr=torch.zeros(0, 1))
    nothing.y = torch.full((1, 2), 100.0)
    several = Task([*task.graphs, nothing], task.objective)
    last = torch.arange(COUNT + 1) == COUNT
    split = nt.Split(torch.arange(COUNT + 1) < 40, (torch.arange(COUNT + 1) >= 40) & ~last, last)
    fitted = fit(several, SPEC, TRAINING.replace(epochs=2), [Run(0, split)])
    predicted = nt.Predictor(Bundle.of(fitted)).predict([nothing])[0]
    torch.testing.assert_close(fitted.answers()[-1, 0], predicted[0])
    assert float(fitted.test[0]) == pytest.approx(float((predicted - 100).abs().mean()), rel=1e-5)


def test_edge_features_of_some_graphs_alone_are_refused() -> None:
    task = labelled(Regression(("a", "b")))
    graph = task.graphs[3].clone()
    del graph.edge_attr
    with pytest.raises(nt.InputError, match="Expected edge_attr of all graphs or of none; graph 2 has none"):
        Task([*task.graphs[:2], graph], task.objective)


class PlainHead(nt.Head):
    """As a PyG user would write it: its weights are not those of several runs."""

    level = "graph"

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None) -> None:
        super().__init__(in_channels, out_channels, runs)
        self.lin = torch.nn.Linear(in_channels, out_channels)

    def forward(self, h: torch.Tensor, places: object) -> torch.Tensor:
        return self.lin(h)


class DroppingHead(nt.GraphHead):
    """With dropout of torch's own."""

    def __init__(self, in_channels: int, out_channels: int, runs: int | None = None) -> None:
        super().__init__(in_channels, out_channels, runs)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, h: torch.Tensor, places: object) -> torch.Tensor:
        return super().forward(self.drop(h), places)  # type: ignore[arg-type]


@pytest.mark.parametrize("runs", [1, 2])
def test_weights_without_a_dimension_of_runs_are_refused(runs: int) -> None:
    task = labelled(Regression(("a", "b")))
    with pytest.raises(nt.InputError, match=r"in the first dimension of head.lin.*Build your own parts"):
        fit(task, SPEC.replace(head=PlainHead), TRAINING, [Run(seed, task.split(seed)) for seed in range(runs)])


def test_a_head_of_the_wrong_level_is_refused() -> None:
    task = labelled(Regression(("a", "b"), level="node"))
    with pytest.raises(nt.InputError, match=r"Expected a head that answers per node, .*; got GraphHead"):
        fit(task, SPEC.replace(head="graph"), TRAINING, [Run(0, task.split(0))])


def test_dropout_of_torch_depends_on_the_seed_alone() -> None:
    task = labelled(Regression(("a", "b")))
    curves = []
    for caller in (0, 1):
        torch.manual_seed(caller)
        spec = SPEC.replace(head=DroppingHead)
        curves.append(fit(task, spec, TRAINING.replace(epochs=2), [Run(0, task.split(0))]).loss_curve)
    assert torch.equal(*curves)


def test_a_ranking_needs_both_kinds_of_items() -> None:
    task = labelled(MultiLabel(("a", "b")))
    split = task.split(0)
    for number in split.val.nonzero().flatten().tolist():
        task.graphs[number].y[:] = 1.0
    with pytest.raises(nt.InputError, match="Expected validation graphs with and without some label"):
        fit(task, SPEC, TRAINING, [Run(0, split)])


NOT_TASKS = {
    "a list": (lambda t: fit(t.graphs, SPEC, TRAINING, []), "Expected task as Task; got list"),
    "swapped": (lambda t: fit(t, TRAINING, SPEC, []), "Expected network as NetworkSpec; got TrainingSpec"),
    "numpy": (lambda t: Task([Data(x=t.graphs[0].x.numpy())], ("a",)), "got ndarray"),
    "a path": (lambda t: nt.Predictor("model.safetensors"), "Expected a Bundle; got str"),
    "an instance": (
        lambda t: NetworkSpec(head=PlainHead(1, 1)),
        "head as a class; got an instance of PlainHead",
    ),
    "no head": (
        lambda t: NetworkSpec(head="tree"),
        "head out of node, graph, crf, labels, none or MODULE:NAME; got",
    ),
    "no schedule": (
        lambda t: NetworkSpec(schedule="sweep"),
        "Expected schedule out of bags, typed or MODULE:NAME; got 'sweep'",
    ),
    "no runs": (lambda t: nt.GNN(3, 4, 5, runs=0), "Expected runs of at least 1; got 0"),
    "relations": (
        lambda t: nt.GNN(3, 4, 5, relations=True),
        "Expected relations only for networks on H-trees; got relations=True for GNN",
    ),
    "a width": (lambda t: nt.GNN(3, 4, 5)(torch.ones(2, 4), torch.tensor([[0], [1]])), "Expected 3 features per node"),
    "integers": (lambda t: nt.GNN(1, 4, 5)(torch.ones(2, 1).long(), torch.tensor([[0], [1]])), "x as floats; got"),
    "no data": (lambda t: nt.GNN(3, 4, 5).plan([1]), "Expected a graph as .*Data; got list"),
}


@pytest.mark.parametrize(("call", "message"), NOT_TASKS.values(), ids=NOT_TASKS)
def test_what_is_something_else(call: object, message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        call(labelled(Regression(("a", "b"))))  # type: ignore[operator]
