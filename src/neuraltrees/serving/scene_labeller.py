"""Labels of scenes by a trained network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from neuraltrees.checks import count_threads
from neuraltrees.errors import InputError
from neuraltrees.files import PathLike
from neuraltrees.scenes.format import SceneFormat, own_space
from neuraltrees.scenes.scene import NodeId, Scene
from neuraltrees.scenes.scene_data import SceneData
from neuraltrees.scenes.tracker import SceneTracker
from neuraltrees.serving.scene_labels import KindLabels, SceneLabels
from neuraltrees.serving.shipped import find_model
from neuraltrees.training.bundle import Bundle
from neuraltrees.training.device import check_device
from neuraltrees.training.threads import computing_with


class SceneLabeller:
    """Labels scenes with a network that was trained on scenes.

    >>> from neuraltrees.scenes import Scene, SceneNode, SceneTracker, scene_task
    >>> from neuraltrees.training import NetworkSpec, Run, TrainingSpec, fit
    >>> nodes = [SceneNode(i, "object", name=("tub", "sink")[i % 2], position=(i, 0, 0)) for i in range(10)]
    >>> task = scene_task([Scene.of(nodes, [(i, i + 1) for i in range(9)])])
    >>> spec, training = NetworkSpec(schedule="typed", hidden=4, layers=1), TrainingSpec(epochs=1, every_class=False)
    >>> labeller = SceneLabeller(Bundle.of(fit(task, spec, training, [Run(0, task.split(0))])))

    A scene at a time, or several:

    >>> (labels,) = labeller.label([Scene.of(nodes)])
    >>> labels[0].name in ("tub", "sink", "unknown")
    True

    A map that grows, after every update:

    >>> tracker = SceneTracker(spec=labeller.format.spec)
    >>> for node in nodes[:3]:
    ...     tracker.update([node])
    ...     labels = labeller.label_tracker(tracker)
    >>> sorted(labels)
    [0, 1, 2]

    Args:
        bundle: the trained network.
        device: where to compute.
        threads: CPU threads to compute with; one is fastest for a single scene.
    """

    def __init__(self, bundle: Bundle, device: torch.device | str = "cpu", threads: int = 1) -> None:
        if not isinstance(bundle, Bundle):
            raise InputError(
                f"Expected a Bundle; got {type(bundle).__name__}. Use SceneLabeller.load(path), or Bundle.of(fitted)."
            )
        if not isinstance(bundle.inputs, SceneFormat):
            raise InputError(
                "Expected a network that was trained on scenes; got one trained on graphs. Train it with "
                "--dataset scenes:FOLDER, or use Predictor."
            )
        self.bundle, self.format, self.device = bundle, bundle.inputs, check_device(device)
        self.threads = count_threads(threads)
        self.network = bundle.build().to(self.device).requires_grad_(False)

    @classmethod
    def load(
        cls, path: PathLike, device: torch.device | str = "cpu", allow: Sequence[str] = (), threads: int = 1
    ) -> SceneLabeller:
        """The labeller of a model file that `Bundle.save` or `neuraltrees train` wrote; see `Bundle.load`.

        Args:
            path: the file; or "scenes", the model that comes with the package.
            device: where to compute.
            allow: code that the file may import, as MODULE:NAME.
            threads: CPU threads to compute with.

        >>> SceneLabeller.load("scenes").format
        SceneFormat(object: 36 labels, room: 16 labels; 5 relations)
        """
        return cls(Bundle.load(find_model(path), allow), device, threads)

    @property
    def reads_labels(self) -> bool:
        """Whether known labels change the others: whether the network has a CRF head."""
        return self.network.reads_labels

    @torch.inference_mode()
    def label(self, scenes: Sequence[Scene], known: Sequence[Mapping[NodeId, str]] | None = None) -> list[SceneLabels]:
        """The labels of all nodes of the types that the network was trained to label, scene by scene.

        With a CRF head, probabilities are exact marginals. The number of a label is the one that the scene's own
        metadata has for its name, or else the one of the label space that the network was trained with.

        Args:
            scenes: the scenes; all are computed in one batch.
            known: for a network with a CRF head: the known labels by node id, a mapping per scene. A known label has
                probability 1.
        """
        scenes = self._checked(scenes, known)
        if not scenes:
            return []
        form = self.format
        graphs = [form.typed_graph(scene) for scene in scenes]
        labels = None
        if known is not None:
            given = zip(scenes, graphs, known, strict=True)
            labels = torch.from_numpy(np.concatenate([form.known(*each) for each in given]))
        with computing_with(self.threads):
            rows = self._probabilities(form.union(scenes, graphs), labels)
        found, first = [], 0
        for scene, graph in zip(scenes, graphs, strict=True):
            mine = rows[first : first + graph.num_nodes]
            found.append(self._named(scene, graph.ids, graph.node_type, mine))
            first += graph.num_nodes
        return found

    @torch.inference_mode()
    def label_tracker(self, tracker: SceneTracker, known: Mapping[NodeId, str] | None = None) -> SceneLabels:
        """The labels of a map that grows, as it is now: those that `label([tracker.scene])` gives, in less time.

        It uses the typed H-tree of the tracker, in which an update rebuilds only the rooms that have changed.

        Args:
            tracker: with the spec of the network: `SceneTracker(scene, labeller.format.spec)`.
            known: as for `label`, by node id.
        """
        if not isinstance(tracker, SceneTracker) or tracker.spec != self.format.spec:
            came = f"one with {tracker.spec}" if isinstance(tracker, SceneTracker) else type(tracker).__name__
            raise InputError(
                f"Expected a SceneTracker with the spec of the network; got {came}. Make it by "
                f"SceneTracker(scene, labeller.format.spec)."
            )
        form, tree, scene = self.format, tracker.tree, tracker.typed_scene
        self._checked([scene], None if known is None else [known])
        labels = None if known is None else torch.from_numpy(form.known(scene, tree.graph, known))
        with computing_with(self.threads):
            rows = self._probabilities(form.tracked(scene, tree), labels)
        return self._named(scene, tree.graph.ids, tree.graph.node_type, rows)

    def _probabilities(self, data: SceneData, known: torch.Tensor | None) -> np.ndarray:
        """Shapes: known :math:`(n)` → :math:`(n, C)`"""
        if data.num_nodes == 0:
            return np.zeros((0, max(map(len, self.format.labels.values()))))
        plan = self.network.plan(data) if known is None else self.network.plan(data, known)
        answers = self.network(data.x.to(next(self.network.parameters())), plan)
        predicted: np.ndarray = self.bundle.objective.predict(answers).mean(1).double().cpu().numpy()
        return predicted

    def _checked(self, scenes: Sequence[Scene], known: Sequence[Mapping[NodeId, str]] | None) -> list[Scene]:
        if isinstance(scenes, Scene) or not all(isinstance(scene, Scene) for scene in scenes):
            raise InputError("Expected a list of scenes; got something else. Put a single scene in brackets.")
        if known is None:
            return list(scenes)
        if not self.reads_labels:
            raise InputError(
                f"Expected no known labels for a network whose head is {type(self.network.head).__name__}, which reads "
                f'none; got some. Train with head="crf".'
            )
        if len(known) != len(scenes) or not all(isinstance(each, Mapping) for each in known):
            raise InputError(
                f"Expected known labels as a list of {len(scenes)} mappings, one per scene; got {known!r:.80}."
            )
        return list(scenes)

    def _named(self, scene: Scene, ids: Sequence[NodeId], node_type: np.ndarray, rows: np.ndarray) -> SceneLabels:
        found = []
        for kind in self.format.targets:
            mine = np.flatnonzero(node_type == self.format.types.index(kind))
            space = self.format.labels[kind]
            own = own_space(scene, kind)
            numbers = space.numbers_in_order
            if own is not None:
                both = zip(space.names, numbers, strict=True)
                numbers = tuple(own.number(name) if name in own else number for name, number in both)
            shares = np.clip(rows[mine, : len(space)], 0.0, 1.0)
            chosen = [ids[i] for i in mine.tolist()]
            found.append(KindLabels(chosen, space.names, numbers, shares, shares.argmax(1)))
        return SceneLabels(found)
