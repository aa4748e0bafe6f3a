"""What answers for a model: by its kind."""

from __future__ import annotations

from collections.abc import Sequence

from neuraltrees.files import PathLike
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
    """The service of a model that `neuraltrees train` wrote, or of one of the package by name; see `Bundle.load`."""
    return service_of(Bundle.load(find_model(path), allow), limits, device, threads)


def service_of(bundle: Bundle, limits: Limits, device: str = "cpu", threads: int = 1) -> Service:
    """The service of a trained network: of scenes, if it was trained on them."""
    if bundle.inputs is not None:
        return SceneService(SceneLabeller(bundle, device, threads), limits, bundle.network.name)
    return GraphService(Predictor(bundle, device, threads), limits)
