"""Fused rounds on typed H-trees: they compute what typed rounds compute, and only in inference mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraltrees._core import native
from neuraltrees.errors import InputError
from neuraltrees.nn import NeuralTree, TypedRounds
from neuraltrees.nn.schedule.typed.fused import FusedPlan
from neuraltrees.nn.schedule.typed.geometry import by_relation
from neuraltrees.scenes import LabelSpace, Scene, SceneFormat
from tests.scenes.scenes import building, scenes

SPACES = {"object": LabelSpace([f"thing {i}" for i in range(9)]), "room": LabelSpace(["bath", "hall"])}


def network(form: SceneFormat, layers: int = 3, runs: int | None = 1, conv: str = "sage", **options: Any) -> NeuralTree:
    torch.manual_seed(0)
    schedule = TypedRounds.of(len(form.types), form.num_relations, form.geometry)
    out = {kind: len(names) for kind, names in form.objective.labels.items()}
    made = NeuralTree(form.features, 8, out, layers, conv, 0.5, runs=runs, schedule=schedule, **options)
    for parameter in made.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return made.eval()


@settings(deadline=None, max_examples=60)
@given(scenes(), st.booleans(), st.booleans(), st.sampled_from([None, 1]), st.integers(1, 3))
def test_equals_typed_rounds(scene: Scene, geometry: bool, residual: bool, runs: int | None, layers: int) -> None:
    form = SceneFormat(SPACES, ("object", "room"), geometry=geometry)
    model = network(form, layers, runs, residual=residual)
    data = form.graph(scene)
    if not data.num_nodes:
        return
    with torch.no_grad():
        expected = model(data.x, model.plan(data))
    with torch.inference_mode():
        plan = model.plan(data)
        assert isinstance(plan.rounds, FusedPlan)
        found = model(data.x, plan)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"conv": "gin"}, {"relations": True}, {"layer_norm": True}, {"runs": 2}])
def test_other_networks_have_general_plans(options: dict[str, Any]) -> None:
    form = SceneFormat(SPACES, ("object", "room"))
    model, data = network(form, **options), form.graph(building("grid", 4, 5))
    with torch.no_grad():
        expected = model(data.x, model.plan(data))
    with torch.inference_mode():
        plan = model.plan(data)
        assert not isinstance(plan.rounds, FusedPlan)
        torch.testing.assert_close(model(data.x, plan), expected)


def test_a_fused_plan_also_serves_outside_of_inference_mode() -> None:
    form = SceneFormat(SPACES, ("object", "room"))
    model, data = network(form), form.graph(building("grid", 4, 5))
    with torch.inference_mode():
        plan = model.plan(data)
        expected = model(data.x, plan)
    assert isinstance(plan.rounds, FusedPlan)
    torch.testing.assert_close(model(data.x, plan), expected.clone())


def test_moved_to_another_device_it_is_the_general_plan() -> None:
    form = SceneFormat(SPACES, ("object", "room"))
    with torch.inference_mode():
        plan = network(form).plan(form.graph(building("grid", 2, 2)))
        assert isinstance(plan.to("cpu").rounds, FusedPlan)
        assert not isinstance(plan.to("meta").rounds, FusedPlan)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 6), st.integers(1, 70), st.booleans())
def test_gated_means_one_message_at_a_time(seed: int, states: int, rows: int, channels: int, gated: bool) -> None:
    random = np.random.default_rng(seed)
    start = np.concatenate([[0], random.integers(0, 4, rows).cumsum()]).astype(np.int64)
    count = int(start[-1])
    source, relation = random.integers(0, states, count), random.integers(0, 3, count)
    h, gates = (random.normal(size=(size, channels)).astype(np.float32) for size in (states, 3))
    out = np.full((rows, channels), np.nan, np.float32)
    native.gated_means(source, relation if gated else None, start, h, gates if gated else None, out)
    for v in range(rows):
        sent = [h[source[e]] * (gates[relation[e]] if gated else 1) for e in range(start[v], start[v + 1])]
        np.testing.assert_allclose(out[v], np.mean(sent, 0) if sent else 0, rtol=1e-5, atol=1e-5)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 12), st.integers(1, 70))
def test_add_rows_one_at_a_time(seed: int, rows: int, count: int, channels: int) -> None:
    random = np.random.default_rng(seed)
    target, weight = random.integers(0, rows, count), random.normal(size=count).astype(np.float32)
    h = random.normal(size=(count, channels)).astype(np.float32)
    out = np.zeros((rows, channels), np.float32)
    expected = np.zeros((rows, channels))
    native.add_rows(target, weight, h, out)
    for e in range(count):
        expected[target[e]] += weight[e] * h[e].astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 40))
def test_edge_states_by_the_columns_of_relations(seed: int, count: int, channels: int) -> None:
    random = np.random.default_rng(seed)
    geometry = random.normal(size=(count, 13), scale=3).astype(np.float32)
    geometry[:, 10:] = random.integers(0, 2, (count, 3))
    relation, weight = random.integers(0, 4, count), random.normal(size=(4 * 23, channels)).astype(np.float32)
    out = np.full((count, channels), np.nan, np.float32)
    native.edge_states(relation, geometry, weight, out)
    rows = by_relation(torch.from_numpy(geometry), torch.from_numpy(relation), 4)
    expected = (rows @ torch.from_numpy(weight)).relu().numpy()
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_numbers_out_of_range_are_refused() -> None:
    h, out = np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)
    one, start = np.array([1]), np.array([0, 1])
    for source, relation, begin in ((one + 1, one, start), (one, one + 1, start), (one, one, start + 1)):
        with pytest.raises(InputError, match="Expected"):
            native.gated_means(source, relation, begin, h, h, out)
    with pytest.raises(InputError, match="width"):
        native.gated_means(one, one, start, h, h, np.zeros((2, 3), np.float32))
    with pytest.raises(InputError, match="targets"):
        native.add_rows(np.array([0, 1]), np.ones(2, np.float32), h, out)
    with pytest.raises(InputError, match="per row"):
        native.add_rows(one, np.ones(1, np.float32), h, out)
    geometry, weight = np.zeros((1, 13), np.float32), np.zeros((23, 3), np.float32)
    with pytest.raises(InputError, match="weights"):
        native.edge_states(one, geometry, weight, out)
    with pytest.raises(InputError, match="per edge"):
        native.edge_states(one - 1, geometry[:, 1:].copy(), weight, out)
