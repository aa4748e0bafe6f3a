"""The service of a model: for scenes, or for graphs."""

from __future__ import annotations

from collections.abc import Sequence

from neuraltrees.files import PathLike
from neuraltrees.scenes.format import SceneFormat
from neuraltrees.serving.predictor import Predictor
from neuraltrees.serving.scene_labeller import SceneLabeller
from neuraltrees.serving.server.graphs import GraphService
from neuraltrees.serving.server.limits import Limits
from neuraltrees.serving.server.scenes import SceneService
from neuraltrees.serving.server.service import Service
from neuraltrees.serving.shipped import find_model
from neuraltrees.training.bundle import Bundle


def open_service(
    path: PathLike, limits: Limits, device: str = "cpu", allow: Sequence[str] = (), threads: int = 1
) -> Service:
    """The service of a model file, or of a model that comes with the package, by its name; see `Bundle.load`."""
    return service_of(Bundle.load(find_model(path), allow), limits, device, threads)


def service_of(bundle: Bundle, limits: Limits, device: str = "cpu", threads: int = 1) -> Service:
    """The service of a trained network: `SceneService` if it was trained on scenes, else `GraphService`."""
    if isinstance(bundle.inputs, SceneFormat):
        return SceneService(SceneLabeller(bundle, device, threads), limits, bundle.network.name)
    return GraphService(Predictor(bundle, device, threads), limits)
