"""Generated scenes, and their exact posterior against sums over every labelling."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor
from torch_geometric.data import Batch

import neuraltrees as nt
from neuraltrees.data import ToHTree
from neuraltrees.datasets import SyntheticScenes
from neuraltrees.datasets.scene_labels import SceneLabels
from neuraltrees.datasets.scene_model import BoxModel, SceneModel
from tests.oracle import scene_posterior as oracle


@dataclass(frozen=True)
class TinyScene:
    """A random model of few labels, a random partial 2-tree, and evidence."""

    model: SceneModel
    host: list[int]
    kept: Tensor
    room: Tensor
    objects: Tensor

    def labels(self) -> SceneLabels:
        edges = [(0, 1 + i) for i in range(len(self.objects))] + [(1 + i, 1 + j) for i, j in self.edges()]
        node_type = torch.tensor([0] + [1] * len(self.objects))
        return SceneLabels.of(self.model, torch.tensor(edges).T, node_type, torch.zeros_like(node_type))

    def evidence(self) -> Tensor:
        """As one table; entries that nobody reads are nan."""
        table = self.room.new_full((1 + len(self.objects), max(self.model.log_object.shape)), torch.nan)
        table[0, : len(self.room)], table[1:, : self.objects.size(1)] = self.room, self.objects
        return table

    def answer(self) -> tuple[float, list[list[float]]]:
        """Log Z, and the marginals of the room and the objects."""
        labels = self.labels()
        answer = labels.forest.run(*labels.potentials(self.evidence()))
        rooms, objects = self.model.log_object.shape
        room, *others = answer.marginals.tolist()
        return float(answer.log_partition), [room[:rooms], *(row[:objects] for row in others)]

    def edges(self) -> list[tuple[int, int]]:
        return [edge for edge, kept in zip(oracle.two_tree(self.host), self.kept, strict=True) if kept]

    def joint(self) -> dict[tuple[int, ...], float]:
        model = self.model
        tables = model.log_room, model.log_object, model.affinity, model.coupling
        return oracle.log_joint(*tables, self.edges(), self.room, self.objects)


def tiny_scene(
    seed: int, rooms: int, labels: int, size: int, coupling: float, strength: float, known: float
) -> TinyScene:
    random = np.random.default_rng(seed)
    affinity = np.tril(random.uniform(-1, 1, (labels, labels)))
    affinity += np.tril(affinity, -1).T
    room, objects = strength * random.standard_normal(rooms), strength * random.standard_normal((size, labels))
    for row in (room, *objects):
        if random.random() < known:
            row[np.arange(len(row)) != random.integers(len(row))] = -np.inf
    any_box = BoxModel(torch.zeros(1, 6), torch.ones(1, 6))
    return TinyScene(
        SceneModel(
            torch.from_numpy(np.log(random.dirichlet(np.ones(rooms)))),
            torch.from_numpy(np.log(random.dirichlet(np.ones(labels), rooms))),
            *(torch.from_numpy(affinity), coupling, any_box, any_box),
        ),
        [int(random.integers(2 * i - 3)) for i in range(2, size)],
        torch.from_numpy(random.random(2 * size - 3) < 0.7),
        *(torch.from_numpy(room), torch.from_numpy(objects)),
    )


def tiny_scenes(most: int) -> st.SearchStrategy[TinyScene]:
    return st.builds(
        tiny_scene,
        seed=st.integers(0, 2**32 - 1),
        rooms=st.integers(1, 3),
        labels=st.integers(1, 3),
        size=st.integers(2, most),
        coupling=st.sampled_from([0.0, 1.0, 3.0, 10.0]),
        strength=st.sampled_from([0.0, 1.0, 1e3]),
        known=st.sampled_from([0.0, 0.4]),
    )


@given(tiny_scenes(most=5))
@settings(deadline=None, max_examples=60)
def test_marginals_and_partition_are_sums_over_all_labellings(scene: TinyScene) -> None:
    joint = scene.joint()
    log_partition, marginals = scene.answer()
    assert log_partition == pytest.approx(oracle.log_partition(joint), rel=1e-12, abs=1e-12)
    for position, row in enumerate(marginals):
        assert row == pytest.approx(oracle.marginal(joint, position, len(row)), abs=1e-11)


@given(tiny_scenes(most=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_samples_follow_the_conditionals_of_all_labellings(scene: TinyScene, seed: int) -> None:
    prior = replace(scene, room=torch.zeros_like(scene.room), objects=torch.zeros_like(scene.objects))
    uniform = torch.from_numpy(np.random.default_rng(seed).random(1 + len(scene.objects)))
    assert tuple(scene.labels().sample(uniform).tolist()) == oracle.sample(prior.joint(), uniform.tolist())


@given(tiny_scenes(most=14))
@settings(deadline=None, max_examples=60)
def test_no_step_has_more_than_two_objects_and_the_room_besides(scene: TinyScene) -> None:
    assert scene.labels().forest.structure.elimination.width <= 3


def test_the_partition_counts_what_a_label_is_worth() -> None:
    scene = tiny_scene(seed=5, rooms=3, labels=3, size=4, coupling=2.0, strength=1.0, known=0.0)
    free, marginals = scene.answer()
    ruled_out = scene.objects.clone()
    ruled_out[2, [0, 2]] = -torch.inf
    fixed, _ = replace(scene, objects=ruled_out).answer()
    assert math.exp(fixed - free) == pytest.approx(marginals[3][1])


def test_samples_have_the_right_frequencies() -> None:
    scene = tiny_scene(seed=1, rooms=2, labels=2, size=3, coupling=3.0, strength=0.0, known=0.0)
    uniform = torch.from_numpy(np.random.default_rng(0).random((20_000, 4)))
    counts = Counter(map(tuple, scene.labels().sample(uniform).tolist()))
    joint = scene.joint()
    total = oracle.log_partition(joint)
    labellings = list(product(range(2), repeat=4))
    expected = [len(uniform) * math.exp(joint[labelling] - total) for labelling in labellings]
    assert chisquare([counts[labelling] for labelling in labellings], expected).pvalue > 1e-3


@pytest.mark.parametrize("strength", [1.0, 1e5])
def test_nothing_underflows(strength: float) -> None:
    """Twelve objects at both others, all strongly coupled: still no step needs logarithms."""
    random = np.random.default_rng(0)
    objects = strength * random.standard_normal((14, 35))
    objects[::2, 1:] = -np.inf
    room, objects = torch.from_numpy(strength * random.standard_normal(15)), torch.from_numpy(objects)
    scene = TinyScene(SceneModel.default(coupling=10), [0] * 12, torch.ones(25), room, objects)
    labels = scene.labels()
    labels.forest.__dict__["_log_chunks"] = None
    answer = labels.forest.run(*labels.potentials(scene.evidence()))
    assert answer.log_partition.isfinite().all()
    torch.testing.assert_close(answer.marginals.sum(-1), torch.ones(15, dtype=torch.float64))


@pytest.fixture(scope="module")
def scenes() -> SyntheticScenes:
    return SyntheticScenes(250, seed=7)


@pytest.fixture(scope="module")
def posterior(scenes: SyntheticScenes) -> Tensor:
    return scenes.posterior()


def every(scenes: SyntheticScenes, value: bool = True) -> Tensor:
    return torch.full((sum(scene.num_nodes for scene in scenes),), value)


def test_the_dataset(scenes: SyntheticScenes) -> None:
    assert repr(scenes) == "SyntheticScenes(250, coupling=1.0, seed=7)"
    assert SyntheticScenes.classes == {"room": 15, "object": 35}
    for scene in scenes:
        assert scene.x.shape == (scene.num_nodes, 6) and scene.x.dtype == torch.float32
        assert scene.x[:, 3:].min() > 0
        assert scene.node_type.tolist() == [0] + [1] * (scene.num_nodes - 1)
        assert scene.edge_index.equal(nt.Graph.from_data(scene).edge_index)
        assert (scene.edge_index[0] == 0).sum() == scene.num_nodes - 1
    sizes = [scene.num_nodes - 1 for scene in scenes]
    assert min(sizes) >= 2 and max(sizes) <= 14 and 6.5 < np.mean(sizes) < 7.5
    batch = Batch.from_data_list(list(scenes))
    assert batch.y[batch.node_type == 0].bincount(minlength=15).min() > 0
    assert len(batch.y[batch.node_type == 1].unique()) == 35
    assert len(batch.x[batch.node_type == 0, :2].unique(dim=0)) == len(scenes)


def test_scenes_have_treewidth_3_and_their_objects_2(scenes: SyntheticScenes) -> None:
    widths: Counter[tuple[str, int]] = Counter()
    for scene in scenes:
        objects = scene.subgraph(scene.node_type == 1)
        widths["scene", nt.decompose(nt.Graph.from_data(scene), "exact").width] += 1
        widths["objects", nt.decompose(nt.Graph.from_data(objects), "exact").width] += 1
    assert max(width for kind, width in widths if kind == "scene") == 3
    assert max(width for kind, width in widths if kind == "objects") == 2


def same(one: Any, other: Any) -> bool:
    return all(one[name].equal(other[name]) for name in ("x", "y", "edge_index", "node_type"))


def test_scenes_do_not_depend_on_how_many_are_made(scenes: SyntheticScenes) -> None:
    fewer = SyntheticScenes(23, seed=7)
    assert all(same(one, other) for one, other in zip(fewer, scenes[:23], strict=True))
    assert same(SyntheticScenes(1, seed=7)[0], scenes[0])


def test_scenes_depend_on_the_seed_alone(scenes: SyntheticScenes) -> None:
    threads = torch.get_num_threads()
    torch.manual_seed(99)
    torch.set_num_threads(2 if threads == 1 else 1)
    try:
        again = SyntheticScenes(40, seed=7)
        assert all(same(one, other) for one, other in zip(again, scenes[:40], strict=True))
    finally:
        torch.set_num_threads(threads)
    other_seed = SyntheticScenes(40, seed=8)
    assert not any(torch.isin(one.x, other.x).any() for one, other in zip(other_seed, scenes[:40], strict=True))


def test_every_seed_has_its_own_scenes() -> None:
    seeds = (0, 1, 2, 3, 2**32, 2**63, 2**64 - 1)
    assert len({float(SyntheticScenes(1, seed=seed)[0].x[0, 0]) for seed in seeds}) == len(seeds)


def test_the_first_scene_never_changes() -> None:
    scene = SyntheticScenes(1)[0]
    labels = [SyntheticScenes.labels["object"][y] for y in scene.y[1:]]
    assert SyntheticScenes.labels["room"][scene.y[0]] == "bathroom"
    assert labels == ["book", "plant", "cup", "cup", "clock"]
    assert scene.x[0].tolist() == pytest.approx([0.61086, -0.19664, 1.47782, 1.91232, 1.06594, 1.96932], abs=1e-4)


def test_posterior_of_small_scenes_is_a_sum_over_all_labellings(scenes: SyntheticScenes) -> None:
    model = scenes.model
    small = scenes[[i for i, scene in enumerate(scenes) if scene.num_nodes == 3][:3]]
    known = torch.tensor([False] * 6 + [False, True, False])
    rows = small.posterior(known).split(3)
    for scene, row, given_labels in zip(small, rows, known.split(3), strict=True):
        boxes = [model.room_box, model.object_box, model.object_box]
        evidence = [oracle.box_log_density(x, box.mean, box.std) for x, box in zip(scene.x, boxes, strict=True)]
        for values, y, fixed in zip(evidence, scene.y, given_labels, strict=True):
            if fixed:
                values[np.arange(len(values)) != int(y)] = -np.inf
        edges = [(0, 1)] if nt.Graph.from_data(scene).num_edges == 3 else []
        tables = model.log_room, model.log_object, model.affinity, model.coupling
        joint = oracle.log_joint(*tables, edges, evidence[0], evidence[1:])
        for node, classes in enumerate([15, 35, 35]):
            expected = oracle.marginal(joint, node, classes) + [0.0] * (35 - classes)
            assert row[node].tolist() == pytest.approx(expected, abs=1e-10)


def test_posterior_is_a_distribution_over_the_classes_of_the_type(scenes: SyntheticScenes, posterior: Tensor) -> None:
    batch = Batch.from_data_list(list(scenes))
    assert posterior.shape == (batch.num_nodes, 35)
    assert posterior.min() >= 0
    torch.testing.assert_close(posterior.sum(1), torch.ones(batch.num_nodes, dtype=torch.float64))
    assert posterior[batch.node_type == 0, 15:].max() == 0


def test_posterior_is_calibrated(scenes: SyntheticScenes, posterior: Tensor) -> None:
    batch = Batch.from_data_list(list(scenes))
    known = torch.rand(batch.num_nodes, generator=torch.Generator().manual_seed(0)) < 0.5
    for marginal, nodes in ((posterior, every(scenes)), (scenes.posterior(known), ~known)):
        sure, guess = marginal[nodes].max(1)
        correct = (guess == batch.y[nodes]).double()
        per_scene = torch.zeros(len(scenes), dtype=torch.float64).index_add(0, batch.batch[nodes], correct - sure)
        assert abs(per_scene.sum()) < 4 * per_scene.square().sum().sqrt()
        for low in (0.0, 0.5, 0.9):
            part = (sure > low) & (sure <= low + 0.4)
            spread = (sure[part] * (1 - sure[part])).sum().sqrt()
            assert abs((correct - sure)[part].sum()) < 5 * spread


def test_known_labels_help(scenes: SyntheticScenes) -> None:
    draw = torch.rand(len(every(scenes)), generator=torch.Generator().manual_seed(3))
    nodes = draw < 0.3
    few, many = draw > 0.65, draw > 0.3
    error = (0.25 / int(nodes.sum())) ** 0.5
    none_known, few_known, many_known = (scenes.optimum(nodes, known) for known in (None, few, many))
    assert few_known > none_known - error and many_known > few_known - error
    sure = [float(scenes.posterior(known)[nodes].max(1).values.mean()) for known in (None, few, many)]
    assert sure[1] > sure[0] + 0.005 and sure[2] > sure[1] + 0.005


def test_known_rows_are_their_labels(scenes: SyntheticScenes) -> None:
    few = scenes[:20]
    known = torch.arange(len(every(few))) % 2 == 0
    labels = Batch.from_data_list(list(few)).y
    assert few.posterior(known)[known].equal(torch.nn.functional.one_hot(labels[known], 35).double())
    assert few.optimum(known, known) == 1
    assert few.optimum(every(few), every(few)) == 1


def test_posterior_follows_the_scenes_that_are_taken(scenes: SyntheticScenes, posterior: Tensor) -> None:
    rows = posterior.split([scene.num_nodes for scene in scenes])
    order = [40, 3, 17]
    expected = torch.cat([rows[index] for index in order])
    torch.testing.assert_close(scenes[order].posterior(), expected)
    torch.testing.assert_close(scenes.copy(order).posterior(), expected)
    torch.testing.assert_close(scenes[3:4].copy().posterior(), rows[3])


def test_without_coupling_objects_depend_on_the_room_alone() -> None:
    scenes = SyntheticScenes(30, coupling=0, seed=1)
    batch = Batch.from_data_list(list(scenes))
    is_room = batch.node_type == 0
    room = batch.y[is_room][batch.batch]
    expected = (scenes.model.log_object[room] + scenes.model.object_box.log_likelihood(batch.x)).softmax(1)
    torch.testing.assert_close(scenes.posterior(is_room)[~is_room], expected[~is_room])
    some = is_room | (torch.arange(len(is_room)) % 3 == 0)
    torch.testing.assert_close(scenes.posterior(some)[~some], expected[~some])


def test_coupling_tells_more() -> None:
    weak, strong = (SyntheticScenes(150, coupling=coupling) for coupling in (0, 3))
    assert weak.optimum(every(weak)) + 0.1 < strong.optimum(every(strong))


def test_as_pyg_uses_it() -> None:
    scenes = SyntheticScenes(5, transform=ToHTree())
    assert scenes[3].htree.num_graph_nodes == scenes[3].num_nodes
    assert scenes.posterior().shape == (sum(scene.num_nodes for scene in scenes), 35)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_scenes": 0}, "Expected num_scenes as an integer of at least 1; got 0"),
        ({"num_scenes": 2.5}, "Expected num_scenes as an integer"),
        ({"coupling": -0.1}, "Expected a coupling between 0 and 10; got -0.1"),
        ({"coupling": math.nan}, "Expected a coupling between 0 and 10; got nan"),
        ({"coupling": math.inf}, "Expected a coupling between 0 and 10; got inf"),
        ({"coupling": "strong"}, "Expected a coupling between 0 and 10; got 'strong'"),
        ({"seed": -1}, "Expected a seed between 0 and"),
    ],
)
def test_wrong_parameters(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(nt.InputError, match=message):
        SyntheticScenes(**arguments)


def test_wrong_masks() -> None:
    scenes = SyntheticScenes(2)
    right = every(scenes)
    for wrong in (right.long(), right[1:], right[None], right.tolist()):
        with pytest.raises(nt.InputError, match=rf"Expected known as a torch.bool mask of shape \({len(right)},\)"):
            scenes.posterior(wrong)  # type: ignore[arg-type]
        with pytest.raises(nt.InputError, match=r"Expected nodes as a torch\.bool mask"):
            scenes.optimum(wrong)  # type: ignore[arg-type]
    with pytest.raises(nt.InputError, match="Expected at least one node to score"):
        scenes.optimum(~right)


def test_wrong_affinities() -> None:
    scene = tiny_scene(seed=0, rooms=2, labels=2, size=2, coupling=1.0, strength=0.0, known=0.0)
    model = scene.model
    for affinity in (torch.tensor([[0.0, 0.5], [0.4, 0.0]]), torch.tensor([[0.0, 1.5], [1.5, 0.0]])):
        with pytest.raises(nt.InputError, match="Expected a symmetric affinity between -1 and 1"):
            SceneModel(model.log_room, model.log_object, affinity, 1.0, model.room_box, model.object_box)
