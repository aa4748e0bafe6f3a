"""The program of a network that was trained on scenes: from the tensors of a typed H-tree to labels."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from neuraltrees.errors import InputError
from neuraltrees.nn.ensemble.backend import SCATTER
from neuraltrees.nn.head import Places
from neuraltrees.nn.network import Network
from neuraltrees.nn.plan import Plan
from neuraltrees.nn.schedule import TypedRounds
from neuraltrees.nn.schedule.typed.structure import GEOMETRY, TypedStructure
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.scenes.scene import Scene, SceneNode
from neuraltrees.serving.export.program import Program, Shape, about
from neuraltrees.training.bundle import Bundle

# All but the first two are fields of `TypedStructure`.
SHAPES: dict[str, Shape] = {
    "x": ("nodes", None),
    "node_type": ("nodes",),
    "leaf": ("leaves",),
    "bag": ("bags",),
    "kappa": ("leaves",),
    "leaf_edge": ("leaves",),
    "kind": ("size",),
    "edge_index": (2, "tree edges"),
    "edge_type": ("tree edges",),
    "offset": ("tree edges", 3),
    "ends": (2, "edges"),
    "home": ("edges",),
    "relation": ("edges",),
    "geometry": ("edges", GEOMETRY),
}


def scene_program(bundle: Bundle) -> Program:
    """The program of a network on typed H-trees; a network that reads more than plain tensors raises `InputError`."""
    form, network = bundle.inputs, bundle.build().requires_grad_(False)
    assert isinstance(form, SceneFormat)
    schedule, head = network.schedule, network.head
    if not isinstance(schedule, TypedRounds) or not schedule.typed:
        raise InputError(
            f"Expected typed rounds for a program of scenes; got the schedule {type(schedule).__name__}. Train with "
            f"--schedule typed, or serve it by neuraltrees serve."
        )
    if head.reads_labels or head.reads_edges or head.reads_bags:
        raise InputError(
            f"Expected a head that predicts from states alone; got {type(head).__name__}, which also reads edges, bags "
            f"or labels. Train with another head, or serve it by neuraltrees serve."
        )
    shapes = {name: shape for name, shape in SHAPES.items() if schedule.geometry or name not in _GEOMETRY}
    return Program(
        _Module(bundle, network, tuple(shapes)),
        shapes,
        about(bundle, list(shapes)) | {"relations": [*form.relations, "other"]},
        lambda scene: _prepared(form, scene),
        _example(form),
    )


_GEOMETRY = ("offset", "ends", "home", "relation", "geometry")


class _Module(nn.Module):
    """The network on the tensors of a typed H-tree, and the mean of the predictions of its runs."""

    def __init__(self, bundle: Bundle, network: Network, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.network, self.inputs, self.objective = network, inputs, bundle.objective

    def forward(self, *given: Tensor) -> Tensor:
        """Shapes: see `SHAPES` → :math:`(n, C)`"""
        named = dict(zip(self.inputs, given, strict=True))
        x, node_type = named.pop("x"), named.pop("node_type")
        nothing = x.new_zeros(0)  # stands for fields that a network without geometry does not read
        tree = TypedStructure(x.shape[0], **dict.fromkeys(_GEOMETRY, nothing) | named)
        schedule = self.network.schedule
        assert isinstance(schedule, TypedRounds)
        plan = Plan(schedule.bound(tree, SCATTER), Places(node_type), node_type)
        return self.objective.predict(self.network.answers(x, plan)).mean(1)


def _prepared(form: SceneFormat, scene: Scene) -> Mapping[str, Tensor]:
    """All inputs for a scene; rows of answers are the nodes of its typed graph, in order."""
    if not isinstance(scene, Scene):
        raise InputError(f"Expected a scene; got {type(scene).__name__}.")
    data = form.union([scene])
    tree = TypedStructure.of(data)
    found = {name: getattr(tree, name) for name in SHAPES if name not in ("x", "node_type")}
    return found | {"x": data.x, "node_type": data.node_type}


def _example(form: SceneFormat) -> Scene:
    """Nodes of every type, in two rooms where there are rooms, so that no size is 0 or 1."""
    nodes, edges = [], []
    for i in range(3):
        for kind in form.types:
            at = (1.5 * i, 0.3 * i, 0.5)
            nodes.append(SceneNode(f"{kind} {i}", kind, position=at, size=(1.0, 1.0, 1.0)))
        edges += [(f"{a} {i}", f"{b} {i}") for a, b in zip(form.types, form.types[1:], strict=False)]
        edges += [(f"{kind} {i - 1}", f"{kind} {i}") for kind in form.types if i]
    return Scene.of(nodes, edges)
